from pathlib import Path

import pytest

from tests.studies.landscape.lands import made_up, truth
from workflow_rl.config import SearchConfig
from workflow_rl.report.plots import write_page
from workflow_rl.studies.landscape.analysis import analyse_landscape
from workflow_rl.studies.landscape.figures import landscape_figures


@pytest.mark.parametrize(("seeds", "replays", "number"), [(3, 1, 5), (2, 0, 2), (1, 0, 1)])
def test_every_landscape_can_be_drawn(
    tmp_path: Path, seeds: int, replays: int, number: int
) -> None:
    land = made_up(truth(2.0), seeds, noise=0.5)
    plots = landscape_figures(
        analyse_landscape(land, SearchConfig(), replays=replays, checkpoints=(2, 3))
    )
    assert len(plots) == number
    write_page(tmp_path / "page.html", "Landscape", plots)


def test_the_ranking_shows_every_training_of_every_order() -> None:
    land = made_up(truth(2.0), noise=0.5)
    ranking = landscape_figures(analyse_landscape(land, SearchConfig(), replays=0))[0]
    *seeds, means = ranking.traces
    assert [trace["name"] for trace in seeds] == ["seed 0", "seed 1", "seed 2"]
    assert all(len(trace["x"]) == len(trace["y"]) == 120 for trace in ranking.traces)
    assert sorted(seeds[1]["y"]) == sorted(land.reward[1].tolist())
    assert means["y"] == sorted(means["y"], reverse=True)
