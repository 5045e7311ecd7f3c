import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.pages.browser import open_file, screen
from tests.studies.lands import CLASSES, FLAT, failing, made_up, truth
from workflow_rl.cli.console import print_table
from workflow_rl.config import SearchConfig
from workflow_rl.pages.page import write_page
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.landscape_analysis import Analysis, analyse_landscape, answer_of
from workflow_rl.studies.landscape_page import landscape_figures, landscape_tables, ranking_table

LAND = made_up(truth(2.0), noise=0.5)


def analysed(land: Landscape, replays: int = 0) -> Analysis:
    return analyse_landscape(land, SearchConfig(), replays=replays, checkpoints=(2, 3))


NONE_COMPLIES = "No order complied in most of its trainings, so none can be recommended"


@pytest.mark.parametrize(
    ("land", "told", "untold"),
    [
        (
            LAND,
            "The order matters: |variance of single trainings (95 % interval |"
            "120 of 120 orders complied for every seed.",
            "Equal orders",  # against meander no two are
        ),
        (made_up(FLAT, noise=0.5), "No effect of the order was found.", "The order matters"),
        (made_up(FLAT), "There is no noise to compare the orders with.", "The order matters"),
        (
            made_up(FLAT, seeds=1),
            "One seed cannot separate the effect of the order from noise.",
            "variance",
        ),
        (
            failing(LAND, (slice(None), np.arange(120) != 3)),
            "cannot be estimated: fewer than two orders complied for every seed.|"
            "1 of 120 orders complied for every seed.",
            NONE_COMPLIES,
        ),
        (made_up(truth(2.0), noise=0.5, compliance=0.4), NONE_COMPLIES, "The order matters"),
        (
            made_up(truth(2.0)[CLASSES], noise=0.5, red_agent="bline"),
            "Equal orders (6 classes)|equals differ no more than noise explains",
            "differ more than",
        ),
        (
            made_up(truth(2.0), noise=0.5, red_agent="bline"),
            "equals differ more than noise explains",
            "no more than",
        ),
    ],
    ids=["matters", "flat", "exact", "one seed", "few", "none", "equals", "unequal"],
)
def test_the_answer_says_whether_the_order_matters(land: Landscape, told: str, untold: str) -> None:
    sentences = answer_of(analysed(land))
    assert all(part in " ".join(sentences) for part in told.split("|"))
    assert untold not in " ".join(sentences)
    if told == NONE_COMPLIES:
        assert sentences[0].startswith(told)


def test_tables_fit_a_terminal_and_list_equals_by_class() -> None:
    out = io.StringIO()
    for table in landscape_tables(analysed(made_up(truth(2.0), noise=0.5, red_agent="bline"))):
        print_table(Console(file=out, width=80, highlight=False), table)
    assert "…" not in out.getvalue()  # nothing was cut
    assert max(map(len, out.getvalue().splitlines())) <= 80
    shown = " ".join(out.getvalue().split())
    assert "Classes of equal orders, by the units whose places matter" in shown
    assert shown.count("enterprise > op_server > user ") == 1
    assert " 3/3 " in shown


@pytest.mark.parametrize(("seeds", "replays", "number"), [(3, 1, 6), (2, 0, 3), (1, 0, 2)])
def test_every_landscape_can_be_drawn(
    tmp_path: Path, seeds: int, replays: int, number: int
) -> None:
    plots = landscape_figures(analysed(made_up(truth(2.0), seeds, noise=0.5), replays))
    assert len(plots) == number
    write_page(tmp_path / "page.html", "Landscape", plots)


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_page_opens_with_the_finding_and_a_chart(
    browser: Any, tmp_path: Path, width: int, height: int
) -> None:
    analysis, file = analysed(LAND), tmp_path / "page.html"
    answer, tables = answer_of(analysis), [ranking_table(analysis)]
    write_page(file, "Landscape", landscape_figures(analysis), answer=answer, tables=tables)
    page = open_file(browser, file).page
    screen(page, width, "light")
    assert page.locator(".lead").inner_text().startswith("The order matters: ")
    lead, chart, table = (
        page.locator(part).first.bounding_box() for part in (".lead", ".plot svg", "table")
    )
    assert lead["y"] < chart["y"] < table["y"]
    assert chart["y"] + chart["height"] <= height
