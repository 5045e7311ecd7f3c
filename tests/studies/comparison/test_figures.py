from pathlib import Path

from tests.studies.comparison.test_summary import RISING, measured
from workflow_rl.report.plots import write_page
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
    assert plots[3].traces[0]["y"] == [2.0, None]
