import math
from pathlib import Path

from tests.studies.comparison.test_summary import RISING, measured
from workflow_rl.report.page import write_page
from workflow_rl.report.style import log_axis
from workflow_rl.studies.comparison.figures import comparison_figures
from workflow_rl.studies.comparison.gradient import GradientNoise
from workflow_rl.studies.comparison.summary import summarise


def test_a_comparison_can_be_drawn(tmp_path: Path) -> None:
    trainings = [measured(p, s, RISING, rate=100.0) for s in (0, 1) for p in ("one", "two")]
    nan = float("nan")
    noise = {"one": GradientNoise(5, 20, 2.0, 1.5, 2.6), "two": GradientNoise(5, 20, nan, nan, nan)}
    summaries, _ = summarise(trainings, noise, [-100.0])
    plots = comparison_figures(trainings, summaries)
    write_page(tmp_path / "page.html", "Comparison", plots)
    reward = plots[0]
    assert [trace["name"] for trace in reward.traces] == ["one", "one", "two", "two"]
    assert [trace["showlegend"] for trace in reward.traces] == [True, False, True, False]
    assert reward.traces[0]["x"][-1] == 10_000
    assert reward.traces[0]["y"][-1] == -20
    noise_plot = plots[3]
    assert noise_plot.traces[0]["x"] == [2.0, None]
    assert noise_plot.layout["yaxis"]["ticktext"] == ["one", "two"]


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
