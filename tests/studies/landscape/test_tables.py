import io
from dataclasses import replace

import numpy as np
from rich.console import Console

from tests.studies.landscape.lands import made_up, truth
from workflow_rl.cli.landscape_tables import print_analysis
from workflow_rl.config import SearchConfig
from workflow_rl.studies.landscape.analysis import analyse_landscape
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

NOTHING = np.full(NUM_ORDERS, -30.0)


def told(land: Landscape) -> str:
    """What is printed of a landscape, without replays of searches."""
    out = io.StringIO()
    analysis = analyse_landscape(land, SearchConfig(), replays=0)
    print_analysis(Console(file=out, width=80, highlight=False), analysis)
    text = out.getvalue()
    assert "…" not in text  # nothing was cut
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def test_where_the_order_matters_that_is_said_with_its_share() -> None:
    shown = told(made_up(truth(2.0), noise=0.5))
    assert "120 of 120 orders complied for every seed." in shown
    assert ": the order matters." in shown
    assert "% of the variance of single trainings (95 % interval " in shown
    assert "Equal orders" not in shown  # against meander no two are


def test_where_it_does_not_no_effect_is_claimed() -> None:
    assert ": no effect of the order shows." in told(made_up(NOTHING, noise=0.5))


def test_without_noise_there_is_nothing_to_compare_with() -> None:
    assert "There is no noise to compare the orders with." in told(made_up(NOTHING))


def test_where_hardly_any_order_complies_the_effect_is_left_open() -> None:
    land = made_up(truth(2.0), noise=0.5)
    complied = np.zeros_like(land.is_compliant)
    complied[:, 3] = True
    shown = told(replace(land, is_compliant=complied))
    assert "1 of 120 orders complied for every seed." in shown
    assert "cannot be told: fewer than two orders complied for every seed." in shown
    assert " 3/3 " in shown
    assert "No order complied in most of its trainings" not in shown


def test_where_no_order_complies_that_is_said_first() -> None:
    shown = told(made_up(truth(2.0), noise=0.5, compliance=np.full(NUM_ORDERS, 0.4)))
    assert shown.startswith(
        "No order complied in most of its trainings, so none can be recommended"
    )


def test_equals_that_are_equal_are_said_to_be_and_listed_by_class() -> None:
    by_class = truth(2.0)[TYPES.classes_of_equals("bline")]  # the same for all of a class
    shown = told(made_up(by_class, noise=0.5, red_agent="bline"))
    assert "Equal orders (6 classes)" in shown
    assert "Over seeds, equals differ no more than noise explains" in shown
    assert "Classes of equal orders, by the units whose places matter" in shown
    assert shown.count("enterprise > op_server > user ") == 1


def test_equals_that_are_not_equal_are_said_to_differ() -> None:
    shown = told(made_up(truth(2.0), noise=0.5, red_agent="bline"))
    assert "Over seeds, equals differ more than noise explains" in shown
