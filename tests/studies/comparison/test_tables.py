import io
import re

from rich.console import Console

from tests.studies.comparison.test_summary import measured, two_presets
from workflow_rl.cli.console import print_table
from workflow_rl.config import ComparisonConfig
from workflow_rl.studies.comparison.summary import Summary, answer_of, summarise
from workflow_rl.studies.comparison.tables import comparison_tables


def told(found: tuple[list[Summary], float]) -> list[str]:
    """The lines that are printed of a comparison, with one space between words."""
    out = io.StringIO()
    console = Console(file=out, width=80)
    for table in comparison_tables(ComparisonConfig(seeds=(0, 1, 2)), *found):
        print_table(console, table)
    assert "…" not in out.getvalue()  # nothing was cut
    return [re.sub(" +", " ", line.strip()) for line in out.getvalue().splitlines()]


def rows_of(preset: str, lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(f"{preset} ")]


def test_figures_come_with_their_spread_and_what_is_unknown_is_a_dash() -> None:
    lines = told(two_presets())
    outcome, cost, _, *reach, _ = rows_of("quick", lines)
    assert outcome == "quick 500 20 80 -21.0 ± 1.0 0.722 ± 0.000"
    assert cost.startswith("quick 2 (1.5 to 2.6) ")
    assert reach[-1] == "quick -10 - - 0 of 3"  # no seed ever reached -10
    outcome, cost, _, *reach, _ = rows_of("slow", lines)
    assert cost.startswith("slow - - 100 ")  # whose gradients were not measured
    assert reach[-1] == "slow -10 - - 0 of 3"


def test_a_threshold_that_some_seeds_reach_says_how_many() -> None:
    trainings = [
        measured("mixed", seed, [-50.0, last], rate=100.0) for seed, last in ((0, -5.0), (1, -40.0))
    ]
    (_, _, _, reach, _) = rows_of("mixed", told(summarise(trainings, {}, [-10.0])))
    assert reach.endswith(" 1 of 2")


def test_the_answer_names_the_best_and_the_quickest() -> None:
    told = " ".join(answer_of(ComparisonConfig(seeds=(0, 1, 2)), *two_presets()))
    assert re.match(r"After [\d,]+ transitions (quick|slow) has the highest reward, -\d", told)
    assert "The quickest is quick: " in told


def test_one_seed_has_no_spread() -> None:
    trainings = [measured("alone", 0, [-50.0, -20.0], rate=100.0)]
    outcome, *_ = rows_of("alone", told(summarise(trainings, {}, [-30.0])))
    assert "±" not in outcome
