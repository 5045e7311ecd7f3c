"""What is shown of a search or a training: its phases, its events and its outcome."""

import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.table import Table

from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.cli.console import (
    Bars,
    make_table,
    print_fitting,
    print_sentence,
    print_whole,
    unbroken,
)
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.config.units import ANY
from workflow_rl.estimates import number_text
from workflow_rl.evaluation.behaviour import WAITING
from workflow_rl.evaluation.result import with_fixes
from workflow_rl.evaluation.selection import Games
from workflow_rl.nets.policy_file import RECOMMENDED_FILE
from workflow_rl.pages.snapshot import planned_updates
from workflow_rl.pages.words import speed, value_of
from workflow_rl.runs.holding import BEST_RESPONSE
from workflow_rl.runs.pool import Done, Event, Failed, Retried, Row, Rows, Started
from workflow_rl.runs.store import BASE, POLISH, TRAINING, RunDirectory, is_response
from workflow_rl.runs.train import TrainingRun, workflow_named
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trials import SearchOutcome, Trial, spread_of, tried_in
from workflow_rl.scenario.summary import about_game_on
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import Orders, orders_of
from workflow_rl.workflow.units import TYPE_UNITS, units_of

_WORKFLOWS = "workflows"  # the bar's name


# --- the start


def print_start(console: Console, directory: RunDirectory) -> None:
    """Prints what is about to run, and where."""
    config = directory.config
    print_whole(
        console,
        f"red {config.game.red_agent}, rules {config.game.rules}, seed {config.seed}; "
        f"run directory {unbroken(directory.path)}",
    )
    print_network(console, config.game)
    if config.train.units != TYPE_UNITS.kind:
        given = config.train.units
        shown = given if given == ANY else units_of(given, config.game.network)
        print_whole(console, f"units: {shown}")
    if config.train.require:
        print_whole(console, f"required: {', '.join(config.train.require)}")


def print_network(console: Console, game: GameConfig) -> None:
    """Prints what there is to say of another network than Scenario2, a sentence a line."""
    if not game.is_scenario2:
        for sentence in about_game_on(game.network):
            print_whole(console, sentence)


def print_phases(console: Console, config: ExperimentConfig) -> None:
    """Prints which phases a search has, and what each is for."""
    search = config.search
    phases = [
        f"trials: {search.n_workflows} workflows, picked by {search.strategy}; a policy is trained "
        f"for each, at most {config.train.max_episodes} episodes in {config.train.n_envs} "
        "environments"
    ]
    if search.warm_start == UNIVERSAL:
        phases[0] += ", from the policy universal"
    if search.warm_start == "common":
        against = ", against all attackers" if config.handed_over == "common" else ""
        base = f"base: {search.base_updates} updates of one policy on all orders{against}, which "
        base += "every trial"
        how = ", as documented (--warm-start universal needs none)"
        phases.insert(0, f"{base} starts from{how if config.game.is_scenario2 else ''}")
    if config.polish_updates:
        what = {
            "universal": "of the policy universal for the recommended order, against all attackers",
            "common": "of the base policy for the recommended order, against all attackers",
            "documented": "of the recommended order's policy",
        }[config.polish]
        phases.append(f"polish: {config.polish_updates} further updates {what}")
    phases.append(
        f"score: {search.score_games:,} held-out games against each red agent; then the report"
    )
    if config.responses:
        phases[-1] = phases[-1].removesuffix("; then the report")
        phases.append(
            f"best responses: {config.responses} trained against that policy, "
            f"{search.response_transitions:,} transitions each; then the report"
        )
    for number, phase in enumerate(phases, 1):
        print_sentence(console, f"{number}. {phase}", indent="   ")
    if short := orders_of(config.train, config.game.network).units.legend:
        print_whole(console, f"short: {short}")


# --- events


def notice_of(event: Event | Games) -> str | None:
    """Returns what is out of the ordinary about an event, in words."""
    if isinstance(event, Retried):
        return f"{event.task.name} is done again: {event.reason}"
    if isinstance(event, Failed):
        named = event.task.job.workflow or "all orders"
        return f"{event.task.name} failed and is left out: {event.reason} ({named})"
    return None


def show_task(bars: Bars, name: str, event: Event, done: int, where: str = "") -> None:
    """Shows an event of one of many tasks, at the bar that counts them.

    Args:
        bars: where.
        name: of the bar.
        event: what happened.
        done: tasks that are through.
        where: said before the task's name.
    """
    news = f"{where}{event.task.name}"
    if isinstance(event, Rows) and "env_reward" in (row := event.rows[-1]):
        news += f", {row['transitions']:,} transitions: reward {float(row['env_reward']):.1f}"
    elif notice := notice_of(event):
        print_whole(bars.console, notice)
    bars.move(name, done, news)


class SearchProgress(Bars):
    """A bar over workflows and one over the updates of a training; a line for each that ends."""

    def __init__(
        self, console: Console, config: ExperimentConfig, earlier: Sequence[Trial] = ()
    ) -> None:
        """Prepares the bars of a run, some of whose trials may have been done before."""
        super().__init__(console)
        self._config = config
        self._earlier = earlier
        self._training = ""  # whose updates are shown
        self._best = float("-inf")
        self._done = 0
        self._transitions = 0
        self._since = time.perf_counter()

    def __enter__(self) -> Self:
        """Starts showing, with what was done before."""
        super().__enter__()
        for trial in self._earlier:
            assert trial.outcome is not None
            self._finish(trial.order, trial.outcome)
        return self

    def show(self, event: Event | Games) -> None:
        """Shows what happened."""
        if isinstance(event, Started):
            self._start(event.task)
        elif isinstance(event, Rows):
            for row in event.rows:
                self._update(event.task.name, row)
        elif isinstance(event, Done) and not _is_apart(event.task.name):
            self._finish(event.task.job.order, event.result)
        elif isinstance(event, Games):
            self._count(event)
        elif notice := notice_of(event):
            print_whole(self.console, notice)

    def _short(self, order: int) -> str:
        """Returns an order as tables show it."""
        return orders_of(self._config.train, self._config.game.network)[order].short

    def _start(self, task: TrainTask) -> None:
        if task.name not in (BASE, TRAINING):
            self.begin(_WORKFLOWS, self._config.search.n_workflows)
        self._follow(task.name, planned_updates(self._config, task.name))
        order = task.job.order
        named = workflow_named(self._config, order)
        if order is not None and task.name != TRAINING:
            named = self._short(order)
        if is_response(task.name):
            named = f"an attacker, against the policy for {named}"
        print_whole(self.console, f"{task.name}: {named}")

    def _follow(self, name: str, total: int, news: str = "") -> None:
        """Shows a new bar in place of the last one."""
        self.end(self._training)
        self._training = name
        self.begin(name, total, news=news)

    def _update(self, training: str, row: Row) -> None:
        """Moves the bar of a training, if it is the one that is shown."""
        self._transitions += int(row["transitions"]) // int(row["update"])
        rate = self._transitions / max(time.perf_counter() - self._since, 1e-9)
        reward = float(row["env_reward"])
        compliance = float(row[f"compliance_{self._config.train.compliance_view}"])
        scores = f"reward {reward:.1f} compliance {compliance:.3f}"
        if is_response(training):
            scores = f"the policy's score {-reward:.1f}"
        news = f"{scores if row['episodes'] else 'no episode ended'} {speed(rate)}"
        if training == self._training:
            self.move(training, int(row["update"]), news)

    def _count(self, games: Games) -> None:
        """Shows how many games have been played to choose or to score a policy."""
        if games.purpose != self._training:
            self._follow(games.purpose, games.total)
        self.move(games.purpose, games.done, "games played")

    def _finish(self, order: int, found: TrainOutcome) -> None:
        """Moves the bar of the search and notes the best so far."""
        total, result = self._config.search.n_workflows, found.objective
        self.begin(_WORKFLOWS, total)
        self._done += 1
        if found.is_compliant:
            self._best = max(self._best, result.reward.mean)
        has_best = self._best > float("-inf")
        news = f"best {self._best:.1f}" if has_best else "none compliant yet"
        self.move(_WORKFLOWS, self._done, news)
        print_whole(
            self.console,
            f"{self._done}/{total} {self._short(order)}: "
            f"{result.reward}, compliance {result.compliance.mean:.3f}"
            f"{'' if found.is_compliant else ', too low'}",
        )


def _is_apart(training: str) -> bool:
    """Returns whether a training is no trial of a search."""
    return training in (BASE, POLISH, TRAINING) or is_response(training)


# --- the outcome


def print_training(console: Console, training: TrainingRun) -> None:
    """Prints how a training of one workflow ended, and where its policy is."""
    found, selected = training.outcome, training.selected
    assert found is not None
    result = found.objective
    config, met = training.directory.config, found.best
    complied, best = "", f"reward {met.reward.mean:.2f}"
    if config.train.side == "blue":
        true = result.compliance_true.mean
        complied = f", compliance {result.compliance.mean:.3f} (true {true:.3f})"
        best += f", compliance {met.compliance.mean:.3f}"
    print_sentence(
        console,
        f"{workflow_named(config, training.order)}: reward of the last episodes {result.reward} "
        f"(95 %){complied}, {found.updates} updates, {found.stopped}",
    )
    if selected is not None:
        games = f"{selected.result.games} games"
        best = f"the best of those kept, reward {selected.result.reward.mean:.2f} in {games}"
    where = f"{RECOMMENDED_FILE} in {unbroken(training.directory.path)}"
    print_whole(console, f"best policy: {best}: {where}")


def print_outcome(console: Console, outcome: SearchOutcome, directory: RunDirectory) -> None:
    """Prints the ranking, what was found, one order and where everything is."""
    config = directory.config
    game, orders = config.game, orders_of(config.train, config.game.network)
    short = orders.units.legend
    ranking = _ranking(
        outcome, orders, f"workflows tried: red {game.red_agent}, rules {game.rules}"
    )
    print_fitting(console, ranking, "ended", "ep.", "true")
    print_sentence(
        console,
        f"{short and f'{short}; '}reward {value_of(config.train)}; "
        "complied: share of fixes that followed the order; true: the same by the true state (5 % "
        "of Red's shells are never observed, which bounds it, most where user hosts come early); "
        "ep.: episodes of each environment.",
    )
    compliant = outcome.finding.compliant
    print_sentence(console, f"{compliant} of {outcome.finding.tried} workflows compliant.")
    _print_spread(console, outcome, orders, game.red_agent)
    console.print()
    _print_answer(console, outcome, orders)
    _print_scores(console, outcome, config)
    print_whole(
        console,
        f"{outcome.transitions:,} transitions in {outcome.handed_over.seconds:.0f} s; everything "
        f"is in {unbroken(directory.path)}, the policy in {RECOMMENDED_FILE} there",
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


def _print_answer(console: Console, outcome: SearchOutcome, orders: Orders) -> None:
    """Prints what was found about orders, then the one that is recommended."""
    finding, order = outcome.finding, outcome.recommendation.order
    for sentence in (f"found: {finding.headline}.", *finding.details):
        print_sentence(console, sentence)
    named = orders.format(order)
    if not finding.compliant:
        named = f"none; closest: {named}"
    elif finding.best_orders > 1 and order in finding.best:
        named += f" (one of {finding.best_orders:,})"
    console.print(f"recommended: {named}")
    if finding.compliant:
        print_sentence(console, f"why this one: {outcome.recommendation.reason}")


def _print_scores(console: Console, outcome: SearchOutcome, config: ExperimentConfig) -> None:
    """Prints the score of the policy that is handed over against each red agent."""
    scored = outcome.handed_over.result(config.game)
    if config.follows_any:
        name = "the policy universal" if config.handed_over == UNIVERSAL else "the base policy"
        came = "as it comes with the package" if config.handed_over == UNIVERSAL else "as it was"
        how = (
            "trained further for it against all attackers"
            if outcome.handed_over.trained_further
            else f"{came}; training it further made it no better"
        )
        print_sentence(console, f"handed over: {name}, {how}")
    print_sentence(
        console,
        f"its policy: reward {scored.reward}, compliance {scored.compliance.mean:.3f} of "
        f"{number_text(scored.fixes, 1)} repairs a game (true {scored.compliance_true.mean:.3f} of "
        f"{number_text(scored.fixes_true, 1)}), in {scored.games:,} held-out games of "
        f"{config.game.episode_length} steps",
    )
    headings = ("against", "reward, 95 %", "stochastic", "compliance", "true", "by hand")
    table = make_table("", headings, space=1)
    unfit: list[str] = []
    for score in outcome.handed_over.scores:
        played, by_hand = score.deterministic, score.greedy.reward
        table.add_row(
            score.red_agent,
            str(played.reward),
            str(score.sampled.reward),
            with_fixes(f"{played.compliance.mean:.3f}", played.fixes),
            with_fixes(f"{played.compliance_true.mean:.3f}", played.fixes_true),
            str(by_hand),
        )
        if score.is_unfit:
            unfit.append(
                f"unfit for {score.red_agent}: {played.reward.mean:.1f}, where "
                f"following the order by hand gets {by_hand.mean:.1f}"
            )
    holding = outcome.handed_over.holding(config)
    for result in () if holding is None else holding.responses:
        rates = (
            (result.compliance.mean, result.fixes),
            (result.compliance_true.mean, result.fixes_true),
        )
        shown = [with_fixes(f"{rate:.3f}", fixes) for rate, fixes in rates]
        table.add_row(BEST_RESPONSE, str(result.reward), "-", *shown, "-")
    print_fitting(console, table, "stochastic", "true")
    sampled = "stochastic: actions are sampled, as in training; by hand: standing orders that a"
    told = (
        f"{sampled} person can follow, under this order, without the policy (see the playbook).",
        "In brackets: the repairs a game that compliance judges.",
    )
    for sentence in (*told, *unfit, *(() if holding is None else holding.sentences)):
        print_sentence(console, sentence)
    if (does := outcome.handed_over.behaviour(config.game)) is not None:
        print_sentence(console, f"what it does, by steps: {does} (wait: {WAITING})")
