"""How the outcome of a search is shown: what was found first, then one order, then its policy."""

from typing import Literal

from rich.console import Console
from rich.table import Table

from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.cli.console import print_sentence, print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.config.units import ANY
from workflow_rl.estimates import Estimate
from workflow_rl.runs.store import RECOMMENDED, RunDirectory
from workflow_rl.runs.summary import SearchOutcome, spread_of
from workflow_rl.workflow.orders import Orders, orders_of
from workflow_rl.workflow.short_names import legend, short_order
from workflow_rl.workflow.units import TYPE_UNITS, units_of


def print_start(console: Console, directory: RunDirectory) -> None:
    """Prints what is about to run, and where."""
    config = directory.config
    print_whole(
        console,
        f"red {config.game.red_agent}, rules {config.game.rules}, seed {config.seed}; "
        f"run directory {directory.path}",
    )
    if config.train.units != TYPE_UNITS.kind:
        shown = config.train.units if config.train.units == ANY else units_of(config.train.units)
        print_whole(console, f"units: {shown}")
    if config.train.require:
        print_whole(console, f"required: {', '.join(config.train.require)}")


def print_phases(console: Console, config: ExperimentConfig) -> None:
    """Prints which phases a search has, and what each is for."""
    search = config.search
    phases = [
        f"trials: {search.n_workflows} workflows, picked by {search.strategy}; a policy is trained "
        f"for each, at most {config.train.max_episodes} episodes in {config.train.n_envs} "
        "environments"
    ]
    if search.warm_start == "common":
        phases.insert(
            0,
            f"base: {search.base_updates} updates of one policy on all orders, which every trial "
            "starts from",
        )
    if search.warm_start == UNIVERSAL:
        phases[0] += ", from the policy universal"
    if config.polish_updates:
        what = (
            "of the policy universal for the recommended order, against all attackers"
            if config.polish == UNIVERSAL
            else "of the recommended order's policy"
        )
        phases.append(f"polish: {config.polish_updates} further updates {what}")
    phases.append(
        f"score: {search.score_games:,} fresh games of it against each red agent; then the report"
    )
    for number, phase in enumerate(phases, 1):
        print_sentence(console, f"{number}. {phase}", indent="   ")
    if short := legend(orders_of(config.train).units):
        print_whole(console, f"short: {short}")


def print_outcome(console: Console, outcome: SearchOutcome, directory: RunDirectory) -> None:
    """Prints the ranking, what was found, one order and where everything is."""
    config = directory.config
    game, orders = config.game, orders_of(config.train)
    short = legend(orders.units)
    console.print(
        _ranking(outcome, orders, f"workflows tried: red {game.red_agent}, rules {game.rules}")
    )
    print_sentence(
        console,
        f"{short and f'{short}; '}reward of each environment's last 3 training episodes; "
        "complied: share of fixes that followed the order, true: by where Red really is (nobody "
        "sees 5 % of its shells, which bounds it, most where user hosts come early); ep.: episodes "
        "of each environment.",
    )
    compliant = outcome.finding.compliant
    print_sentence(console, f"{compliant} of {outcome.finding.tried} workflows compliant.")
    _print_spread(console, outcome, orders, game.red_agent)
    console.print()
    _print_answer(console, outcome, orders)
    _print_scores(console, outcome, config)
    print_whole(
        console,
        f"{outcome.transitions:,} transitions in {outcome.seconds:.0f} s; policy: "
        f"{directory.policy(RECOMMENDED)}; everything: {directory.path}",
    )


def _print_answer(console: Console, outcome: SearchOutcome, orders: Orders) -> None:
    """Prints what was found about orders, then one of those that are equal."""
    finding, order = outcome.finding, outcome.recommendation.order
    print_sentence(console, f"found: {finding.headline}.")
    for sentence in finding.details:
        print_sentence(console, sentence)
    if not finding.compliant:
        console.print(f"recommended: none; closest: {orders.format(order)}")
    elif finding.equal_orders > 1 and order in finding.equals:
        console.print(f"recommended: {orders.format(order)} (one of {finding.equal_orders:,})")
    else:
        console.print(f"recommended: {orders.format(order)}")


def _print_scores(console: Console, outcome: SearchOutcome, config: ExperimentConfig) -> None:
    """Prints what the policy that is handed over is worth against each red agent."""
    worth = outcome.worth(config)
    if config.handed_over == UNIVERSAL:
        how = (
            "trained further for it against all attackers"
            if outcome.trained_further
            else "as it comes with the package; training it further made it no better"
        )
        print_sentence(console, f"handed over: the policy universal, {how}")
    print_sentence(
        console,
        f"its policy: reward {worth.reward}, compliance {worth.compliance:.3f} (true "
        f"{worth.compliance_true:.3f}), in {worth.games:,} fresh games of "
        f"{config.game.episode_length} steps",
    )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("against", "reward, 95 %", "drawing", "compliance", "true", "untrained"):
        table.add_column(heading, no_wrap=True)
    for score in outcome.scores:
        table.add_row(
            score.red_agent,
            str(score.deterministic),
            str(score.drawn),
            f"{score.compliance:.3f}",
            f"{score.compliance_true:.3f}",
            str(score.untrained),
        )
    console.print(table)
    print_sentence(
        console,
        "drawing: actions drawn by their probability, as in training; untrained: repairing by the "
        "order without any training.",
    )
    for score in outcome.scores:
        if score.is_unfit:
            print_sentence(
                console,
                f"unfit for {score.red_agent}: {score.deterministic.mean:.1f}, where repairing by "
                f"the order without any training gets {score.untrained.mean:.1f}",
            )


def _ranking(outcome: SearchOutcome, orders: Orders, title: str) -> Table:
    """Returns the table of all trials, the compliant ones first, then by reward."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0), header_style="underline")
    for heading in ("", "workflow", "reward, 95 %", "complied", "true", "ep.", "ended"):
        justify: Literal["left", "right"] = "right" if heading == "" else "left"
        table.add_column(heading, justify=justify, no_wrap=True)
    done = [(trial.order, trial.result) for trial in outcome.trials if trial.result is not None]
    ranking = sorted(done, key=lambda pair: (not pair[1].is_compliant, -pair[1].env_reward))
    for rank, (order, result) in enumerate(ranking, 1):
        table.add_row(
            str(rank),
            short_order(orders[order]),
            str(Estimate.from_error(result.env_reward, result.env_reward_error)),
            f"{result.compliance:.3f}" + ("" if result.is_compliant else " no"),
            f"{result.compliance_true:.3f}",
            str(result.episodes_per_env),
            result.stopped.removesuffix(" used"),
        )
    return table


def _print_spread(console: Console, outcome: SearchOutcome, orders: Orders, red_agent: str) -> None:
    """Says how much rewards differ between orders, and between equal ones by chance."""
    spread = spread_of(outcome.trials, red_agent, orders)
    if spread.equals and spread.classes > 1:
        print_sentence(
            console,
            f"how much the order matters: rewards differ by {spread.between:.2f} (standard "
            f"deviation) between {spread.classes} different orders, by {spread.within:.2f} between "
            "equal ones, which is noise",
        )
