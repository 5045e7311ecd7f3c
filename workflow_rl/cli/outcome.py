"""How the outcome of a search is shown: what was found first, then one order, then its policy."""

from rich.console import Console
from rich.table import Table

from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.cli.console import make_table, print_sentence, print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.config.units import ANY
from workflow_rl.runs.store import RECOMMENDED, RunDirectory
from workflow_rl.runs.trials import SearchOutcome, spread_of, tried_in
from workflow_rl.workflow.orders import Orders, orders_of
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
    if short := orders_of(config.train).units.legend:
        print_whole(console, f"short: {short}")


def print_outcome(console: Console, outcome: SearchOutcome, directory: RunDirectory) -> None:
    """Prints the ranking, what was found, one order and where everything is."""
    config = directory.config
    game, orders = config.game, orders_of(config.train)
    short = orders.units.legend
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
        f"{outcome.transitions:,} transitions in {outcome.policy.seconds:.0f} s; policy: "
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
    worth = outcome.policy.result(config.game)
    if config.handed_over == UNIVERSAL:
        how = (
            "trained further for it against all attackers"
            if outcome.policy.trained_further
            else "as it comes with the package; training it further made it no better"
        )
        print_sentence(console, f"handed over: the policy universal, {how}")
    print_sentence(
        console,
        f"its policy: reward {worth.reward}, compliance {worth.compliance.mean:.3f} (true "
        f"{worth.compliance_true.mean:.3f}), in {worth.games:,} fresh games of "
        f"{config.game.episode_length} steps",
    )
    headings = ("against", "reward, 95 %", "drawing", "compliance", "true", "untrained")
    table = make_table("", headings)
    for score in outcome.policy.scores:
        table.add_row(
            score.red_agent,
            str(score.deterministic.reward),
            str(score.sampled.reward),
            f"{score.deterministic.compliance.mean:.3f}",
            f"{score.deterministic.compliance_true.mean:.3f}",
            str(score.greedy.reward),
        )
    console.print(table)
    print_sentence(
        console,
        "drawing: actions drawn by their probability, as in training; untrained: repairing by the "
        "order without any training.",
    )
    for score in outcome.policy.scores:
        if score.is_unfit:
            print_sentence(
                console,
                f"unfit for {score.red_agent}: {score.deterministic.reward.mean:.1f}, where "
                f"repairing by the order without any training gets {score.greedy.reward.mean:.1f}",
            )


def _ranking(outcome: SearchOutcome, orders: Orders, title: str) -> Table:
    """Returns the table of all trials, the compliant ones first, then by reward."""
    headings = ("", "workflow", "reward, 95 %", "complied", "true", "ep.", "ended")
    table = make_table(title, headings, left=headings[1:], space=1)
    done = [(trial.order, found) for trial in outcome.trials if (found := trial.outcome)]
    done.sort(key=lambda pair: (not pair[1].is_compliant, -pair[1].objective.reward.mean))
    for rank, (order, found) in enumerate(done, 1):
        result = found.objective
        table.add_row(
            str(rank),
            orders[order].short,
            str(result.reward),
            f"{result.compliance.mean:.3f}" + ("" if found.is_compliant else " no"),
            f"{result.compliance_true.mean:.3f}",
            str(found.episodes_per_env),
            found.stopped.removesuffix(" used"),
        )
    return table


def _print_spread(console: Console, outcome: SearchOutcome, orders: Orders, red_agent: str) -> None:
    """Says how much rewards differ between orders, and between equal ones by chance."""
    spread = spread_of(tried_in(outcome.trials), red_agent, orders)
    if spread.equals and spread.classes > 1:
        print_sentence(
            console,
            f"how much the order matters: rewards differ by {spread.between:.2f} (standard "
            f"deviation) between {spread.classes} different orders, by {spread.within:.2f} between "
            "equal ones, which is noise",
        )
