"""The pages of a landscape and of a comparison in a real browser."""

from typing import Any

import pytest

from tests.pages.browser import AUDIT, SCREENS, Opened, drawn, open_file, screen
from tests.studies.lands import made_up, truth
from tests.studies.test_comparison import two_presets
from workflow_rl.config import SearchConfig
from workflow_rl.pages.page import write_page
from workflow_rl.studies import comparison
from workflow_rl.studies.comparison_page import comparison_figures, comparison_tables
from workflow_rl.studies.landscape_analysis import analyse_landscape, answer_of
from workflow_rl.studies.landscape_page import landscape_figures, ranking_table


@pytest.fixture(scope="module", params=["landscape", "compared"])
def opened(
    request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Opened:
    file = tmp_path_factory.mktemp("pages") / "page.html"
    if request.param == "landscape":
        analysis = analyse_landscape(made_up(truth(2.0), noise=0.5), SearchConfig(), replays=0)
        plots, tables = landscape_figures(analysis), [ranking_table(analysis)]
        write_page(file, "Landscape", plots, answer=answer_of(analysis), tables=tables)
    else:
        found = two_presets()
        plots, tables = comparison_figures(found), comparison_tables(found)
        write_page(file, "Comparison", plots, answer=comparison.answer_of(found), tables=tables)
    return open_file(browser, file)


def test_a_page_opens_with_the_answer_and_a_table_and_every_figure_draws(opened: Opened) -> None:
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
def test_a_page_is_readable(opened: Opened, width: int, scheme: str) -> None:
    screen(opened.page, width, scheme)
    found = opened.page.evaluate(AUDIT)
    assert found["problems"] == []
    assert found["texts"] > 50
    assert opened.said == []
