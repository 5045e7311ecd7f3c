"""The pages of a landscape and of a comparison in a real browser."""

from typing import Any

import pytest

from tests.pages.browser import AUDIT, SCREENS, Opened, drawn, open_file, screen
from tests.studies.lands import made_up, truth
from tests.studies.test_comparison import RISING, measured
from workflow_rl.config import ComparisonConfig, PresetName, SearchConfig
from workflow_rl.pages.page import write_page
from workflow_rl.studies import comparison
from workflow_rl.studies.comparison_page import comparison_figures, comparison_tables
from workflow_rl.studies.gradient_noise import GradientNoise
from workflow_rl.studies.landscape_analysis import analyse_landscape, answer_of
from workflow_rl.studies.landscape_page import landscape_figures, ranking_table

PRESETS: tuple[PresetName, ...] = ("parallel25", "standard")


@pytest.fixture(scope="module")
def landscape(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    analysis = analyse_landscape(made_up(truth(2.0), noise=0.5), SearchConfig(), replays=0)
    file = tmp_path_factory.mktemp("landscape") / "landscape.html"
    plots, answer = landscape_figures(analysis), answer_of(analysis)
    write_page(file, "Landscape", plots, answer=answer, tables=[ranking_table(analysis)])
    return open_file(browser, file)


@pytest.fixture(scope="module")
def compared(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    trainings = [
        measured(preset, seed, [r - seed for r in RISING], rate=rate)
        for seed in (0, 1)
        for preset, rate in zip(PRESETS, (1_000.0, 70.0), strict=True)
    ]
    noise = {
        "parallel25": GradientNoise(5, 20, 2.0, 1.5, 2.6),
        "standard": GradientNoise(5, 20, 0.3, 0.2, 0.4),
    }
    plan = ComparisonConfig(presets=PRESETS, seeds=(0, 1))
    found = comparison.summarise(plan, trainings, noise, [-100.0])
    file = tmp_path_factory.mktemp("compared") / "comparison.html"
    write_page(
        file,
        "Comparison",
        comparison_figures(found),
        answer=comparison.answer_of(found),
        tables=comparison_tables(found),
    )
    return open_file(browser, file)


@pytest.mark.parametrize("name", ["landscape", "compared"])
def test_a_page_opens_with_the_answer_and_a_table_and_every_figure_draws(
    name: str, request: pytest.FixtureRequest
) -> None:
    opened: Opened = request.getfixturevalue(name)
    page = opened.page
    screen(page, 1280, "light")
    assert opened.said == []
    assert len(opened.asked) == 1
    marks = drawn(page)
    assert len(marks) >= 3
    assert all(count > 0 for count in marks.values()), marks
    lead, table, figure = (
        page.locator(part).first.bounding_box()["y"] for part in (".lead", "table", "[data-figure]")
    )
    assert lead < min(table, figure)
    assert lead < 300


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize("name", ["landscape", "compared"])
def test_a_page_is_readable(
    name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    opened: Opened = request.getfixturevalue(name)
    screen(opened.page, width, scheme)
    found = opened.page.evaluate(AUDIT)
    assert found["problems"] == []
    assert found["texts"] > 50
    assert opened.said == []
