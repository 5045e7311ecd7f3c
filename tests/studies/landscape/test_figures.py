import html
from pathlib import Path

import pytest

from tests.studies.landscape.lands import made_up, truth
from workflow_rl.config import SearchConfig
from workflow_rl.report.page import write_page
from workflow_rl.studies.landscape.analysis import analyse_landscape, answer_of
from workflow_rl.studies.landscape.figures import landscape_figures
from workflow_rl.studies.landscape.tables import ranking_table
from workflow_rl.workflow.orders import TYPES


@pytest.mark.parametrize(("seeds", "replays", "number"), [(3, 1, 6), (2, 0, 3), (1, 0, 2)])
def test_every_landscape_can_be_drawn(
    tmp_path: Path, seeds: int, replays: int, number: int
) -> None:
    land = made_up(truth(2.0), seeds, noise=0.5)
    plots = landscape_figures(
        analyse_landscape(land, SearchConfig(), replays=replays, checkpoints=(2, 3))
    )
    assert len(plots) == number
    write_page(tmp_path / "page.html", "Landscape", plots)


def test_the_page_opens_with_the_answer_and_names_every_order(tmp_path: Path) -> None:
    analysis = analyse_landscape(made_up(truth(2.0), noise=0.5), SearchConfig(), replays=0)
    plots = landscape_figures(analysis)
    page, answer, table = tmp_path / "page.html", answer_of(analysis), ranking_table(analysis)
    write_page(page, "Landscape", plots, answer=answer, tables=[table])
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert text.index("the order matters.") < text.index("All orders") < text.index("The best and")
    assert all(text.count(f". {TYPES.format(order)}<") == 1 for order in range(120))
    ends = plots[0].layout["yaxis"]["ticktext"]
    assert len(ends) == 20
    assert ends[0] == f"1. {TYPES[analysis.standings[0].order].short}"


def test_the_ranking_shows_every_training_of_every_order() -> None:
    land = made_up(truth(2.0), noise=0.5)
    ranking = landscape_figures(analyse_landscape(land, SearchConfig(), replays=0))[1]
    *seeds, means = ranking.traces
    assert [trace["name"] for trace in seeds] == ["seed 0", "seed 1", "seed 2"]
    assert all(len(trace["x"]) == len(trace["y"]) == 120 for trace in ranking.traces)
    assert sorted(seeds[1]["y"]) == sorted(land.reward[1].tolist())
    assert means["y"] == sorted(means["y"], reverse=True)
