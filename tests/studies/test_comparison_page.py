import io
import math
import re
from pathlib import Path

from rich.console import Console

from tests.studies.test_comparison import PLAN, RISING, measured, two_presets
from workflow_rl.cli.console import print_table
from workflow_rl.pages.page import write_page
from workflow_rl.pages.style import log_axis
from workflow_rl.studies.comparison import Comparison, answer_of, summarise
from workflow_rl.studies.comparison_page import comparison_figures, comparison_tables
from workflow_rl.studies.gradient_noise import GradientNoise


def told(found: Comparison) -> list[str]:
    """The lines that are printed of a comparison, with one space between words."""
    out = io.StringIO()
    console = Console(file=out, width=80)
    for table in comparison_tables(found):
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


def test_the_answer_names_the_best_and_the_quickest() -> None:
    told = " ".join(answer_of(two_presets()))
    assert re.match(r"After [\d,]+ transitions (quick|slow) has the highest reward, -\d", told)
    assert "The quickest is quick: " in told


def test_a_comparison_can_be_drawn(tmp_path: Path) -> None:
    trainings = [measured(p, s, RISING, rate=100.0) for s in (0, 1) for p in ("one", "two")]
    nan = float("nan")
    noise = {"one": GradientNoise(5, 20, 2.0, 1.5, 2.6), "two": GradientNoise(5, 20, nan, nan, nan)}
    plots = comparison_figures(summarise(PLAN, trainings, noise, [-100.0]))
    write_page(tmp_path / "page.html", "Comparison", plots)
    traces = plots[0].traces
    assert [trace["showlegend"] for trace in traces] == [True, False, True, False]
    assert (traces[0]["name"], traces[0]["x"][-1], traces[0]["y"][-1]) == ("one", 10_000, -20)
    assert plots[3].traces[0]["x"] == [2.0, None]


def test_ticks_of_a_log_axis_can_be_read_and_nothing_is_cut() -> None:
    wide = log_axis("transitions", [200.0, 3_000_000.0])
    inside = [
        text
        for text, value in zip(wide["ticktext"], wide["tickvals"], strict=True)
        if wide["range"][0] <= math.log10(value) <= wide["range"][1]
    ]
    assert inside == ["1k", "10k", "100k", "1M"]
    narrow = log_axis("noise", [0.3, 4.0])
    assert {"0.5", "1", "2"} <= set(narrow["ticktext"])
    assert 10 ** narrow["range"][0] < 0.3 < 4.0 < 10 ** narrow["range"][1]
    assert log_axis("nothing", [])["range"][0] < log_axis("nothing", [])["range"][1]
