"""How a landscape, trained or played, is told: in the terminal, as a page and as data."""

from itertools import count

from rich.console import Console

from workflow_rl.cli.console import Bars, print_sentence, print_table, print_whole
from workflow_rl.report.page import write_page
from workflow_rl.runs.store import RunDirectory
from workflow_rl.studies.landscape.analysis import Analysis, analyse_landscape, answer_of
from workflow_rl.studies.landscape.figures import landscape_figures
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.played import PlayedSample
from workflow_rl.studies.landscape.played_run import PlayedRun
from workflow_rl.studies.landscape.ranking import rank_agreement
from workflow_rl.studies.landscape.regret import REPLAYED_STRATEGIES
from workflow_rl.studies.landscape.run import write_landscape
from workflow_rl.studies.landscape.tables import landscape_tables, ranking_table, sample_tables


def tell_landscape(
    console: Console, directory: RunDirectory, found: Landscape, replays: int
) -> None:
    """Analyses a landscape, prints what it says and writes figures and data."""
    config = directory.config
    with Bars(console) as bars:
        bars.begin("replays", replays * len(REPLAYED_STRATEGIES))
        done = count(1)
        analysis = analyse_landscape(
            found,
            config.search,
            replays=replays,
            seed=config.seed,
            on_replay=lambda: bars.move("replays", next(done), "of searches on this landscape"),
        )
    print_analysis(console, analysis)
    data = write_landscape(directory, analysis.as_json())
    page = directory.path / "landscape.html"
    by = f", played by {found.policy}" if found.policy else ""
    write_page(
        page,
        f"Landscape: red {found.red_agent}, rules {found.rules}{by}",
        landscape_figures(analysis),
        answer=answer_of(analysis),
        tables=[ranking_table(analysis)],
    )
    print_whole(console, f"written: {data}, {page}")


def print_analysis(console: Console, analysis: Analysis) -> None:
    """Prints everything a landscape says, the answer first."""
    for sentence in answer_of(analysis):
        print_sentence(console, sentence)
    for table in landscape_tables(analysis):
        print_table(console, table)


def tell_played(
    console: Console, run: PlayedRun, replays: int, beside: Landscape | None = None
) -> None:
    """Plays, prints what that says and writes figures and data.

    Args:
        console: where.
        run: what is played.
        replays: searches of each strategy.
        beside: a landscape of the same orders to compare with.
    """
    with Bars(console) as bars:
        bars.begin("orders", run.number)
        played = run.play(lambda done: bars.move("orders", done, "played"))
    lowest = min(one.compliance for those in played.values() for one in those)
    least = f"least compliance of an order: {lowest:.3f}"
    if run.plan.sample is not None:
        with Bars(console) as bars:
            bars.begin("searches", replays * len(REPLAYED_STRATEGIES))
            searches = run.search(replays, lambda done: bars.move("searches", done, "by playing"))
        sample = PlayedSample(run.player, played[run.seeds[0]], searches)
        for table in sample_tables(sample):
            print_table(console, table)
        for sentence in (f"found: {sample.finding.headline}.", *sample.finding.details, least):
            print_sentence(console, sentence)
        print_whole(console, f"written: {write_landscape(run.directory, sample.as_json())}")
        return
    found = run.landscape(played)
    tell_landscape(console, run.directory, found, replays)
    print_sentence(console, least)
    if beside is not None:
        how = f"played by {beside.policy}" if beside.policy else "trained"
        print_sentence(
            console,
            f"rank correlation (Spearman) with the orders {how}, red {beside.red_agent}, rules "
            f"{beside.rules}: {rank_agreement(found, beside):.3f}",
        )
