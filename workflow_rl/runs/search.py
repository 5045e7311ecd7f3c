"""A whole search: base policy, trials, polish, summary; resumable at any point."""

import math
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.config import Execution, ExperimentConfig, responses_of
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.evaluation.pair_worth import WORTH_GAMES, PairWorth, pair_worth
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.selection import (
    CHOOSING,
    SCORING,
    Games,
    Score,
    choose,
    games_to_score,
    score_policy,
)
from workflow_rl.files import write_json
from workflow_rl.ordersearch.finding import Finding
from workflow_rl.ordersearch.strategies import Strategy, make_strategy
from workflow_rl.processes import one_thread
from workflow_rl.runs.answer import ByHand, answer_of, score_by_hand
from workflow_rl.runs.exploit import BestResponses
from workflow_rl.runs.folder import CsvLog
from workflow_rl.runs.pool import Done, Event, Failed, Pool, Retried, Rows, SerialPool
from workflow_rl.runs.store import (
    BASE,
    BY_HAND_FILE,
    DECISION_LOG,
    EPISODES_FILE,
    POLISH,
    RECOMMENDED,
    SCORES_FILE,
    SUMMARY_FILE,
    TRAINING_LOG,
    TRIALS_FILE,
    RunDirectory,
    open_run,
    response_name,
)
from workflow_rl.runs.tables import RunTables
from workflow_rl.runs.training import TrainTask, base_task, check_begun, polish_task, trial_task
from workflow_rl.runs.trials import (
    HandedOver,
    SearchOutcome,
    Trial,
    TrialFile,
    summarise,
    tried_in,
    with_status,
)
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import Orders, orders_of

_TABLES: Final = (TRAINING_LOG, EPISODES_FILE, DECISION_LOG)
_MOST_MEASURED: Final = 4  # pairs whose worth to the policy is measured
_REBUILD_EVERY: Final = 30.0  # seconds between writings of episodes.parquet


class Search:
    """A search in its directory, on a pool that trains its workflows."""

    def __init__(self, directory: RunDirectory, pool: Pool, *, retry_failed: bool = False) -> None:
        """Reads what earlier attempts left; `retry_failed` tries their failed trials once more.

        Raises:
            InvalidInputError: what was left is damaged.
        """
        self.directory = directory
        self.config = directory.config
        self.orders = orders_of(directory.config.train, directory.config.game.network)
        self.outcome: SearchOutcome | None = None  # after the last event
        self._pool = pool
        self._file = TrialFile(directory.path, self.orders, retry_failed=retry_failed)
        self._check_trainings()
        self._sealed = directory.check_sealed()
        self._arrived = [trial.number for trial in self.done]  # in the order of arrival
        self._decisions = CsvLog(directory.path / DECISION_LOG)
        self._started = time.perf_counter() - self._seconds_noted()

    @property
    def trials(self) -> list[Trial]:
        """Every trial decided on so far, by number."""
        return self._file.trials

    @property
    def done(self) -> list[Trial]:
        """The trials that gave a result, by number."""
        return with_status(self.trials, "done")

    def events(self) -> Iterator[Event | Games]:
        """Runs or resumes the whole search; yields each event after it is recorded.

        A finished search is left as it is.
        """
        if self.is_finished:
            self.outcome = self._outcome()
            return
        self.directory.unseal()
        self._tables = RunTables(self.directory)
        with one_thread():
            self._rebuild()
            for trial in self.done:  # one may have been killed between its result and its policy
                kept = self.directory.policy(trial.name)
                is_kept = kept.exists() and kept.with_suffix(".json").exists()
                if not is_kept and self._can_start(trial):
                    self._keep_policy(trial_task(self.directory, trial))
            if self.config.search.warm_start == "common":
                for event in self._noted(SerialPool(), [base_task(self.directory)]):
                    yield event
                    if isinstance(event, Failed):
                        raise TrainingFailedError(f"there is no base policy: {event.reason}")
            yield from self._noted(self._pool, self._tasks(_strategy(self.config, self.orders)))
            yield from self._conclude()

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to train, and everything that a search hands over."""
        return (
            self._sealed
            and bool(self.done)
            and not with_status(self.trials, "running")
            and not self._has_budget()
        )

    # --- what is trained

    def _tasks(self, strategy: Strategy) -> Iterator[TrainTask]:
        """Yields trials that an earlier attempt began, then new ones while there is budget."""
        for trial in with_status(self.trials, "running"):
            yield trial_task(self.directory, trial)
        while self._has_budget():
            yield trial_task(self.directory, self._pick(strategy))

    def _pick(self, strategy: Strategy) -> Trial:
        """Decides on the next trial and notes it.

        To the strategy a failed trial is one that is still running: it has no result, and is not
        tried again at once.
        """
        seen = tried_in(self.trials)
        pending = with_status(self.trials, "running") + with_status(self.trials, "failed")
        began = time.perf_counter()
        decision = strategy.pick(seen, [trial.order for trial in pending])
        took = time.perf_counter() - began
        trial = Trial(
            number=len(self.trials),
            order=decision.order,
            repeat=sum(trial.order == decision.order for trial in self.trials),
            decision=decision,
            start=self._choose_start(decision.order),
            pick_seconds=took,
            run_seconds=self._seconds(),
        )
        self._file.put(trial)
        self._decisions.append(trial.decision_row(self.orders))
        return trial

    def _choose_start(self, order: int) -> str | None:
        """Returns the training whose policy is the warm start of a new trial."""
        mode = self.config.search.warm_start
        if mode == "common":
            return BASE
        if mode == UNIVERSAL:
            return UNIVERSAL
        if mode == "none" or not self._arrived:
            return None
        if mode == "previous":
            return self.trials[self._arrived[-1]].name
        nearest = min(self.done, key=lambda t: (self.orders.distance(t.order, order), t.number))
        return nearest.name

    def _has_budget(self) -> bool:
        """Returns whether there is a trial to come, by their number and the budget of episodes."""
        search = self.config.search
        played = sum(trial.outcome.episodes_per_env for trial in self.done if trial.outcome)
        limit = math.inf if search.total_episodes is None else search.total_episodes
        return len(self.trials) < search.n_workflows and played * self.config.train.n_envs < limit

    # --- what is noted on the way

    def _noted(self, pool: Pool, tasks: Iterable[TrainTask]) -> Iterator[Event]:
        """Trains on a pool; yields each event after it is recorded."""
        ordered = self.config.search.ordered_results
        with closing(pool.events(tasks, ordered=ordered)) as events:
            for event in events:
                self._note(event)
                yield event

    def _note(self, event: Event) -> None:
        if isinstance(event, Rows):
            self._tables.add(event.rows)
        elif isinstance(event, Retried):
            self._rebuild()  # no row of the lost attempt may count twice
        elif isinstance(event, Done):
            self._keep_policy(event.task)
            self._end(event.task, outcome=event.result)
        elif isinstance(event, Failed):
            self._end(event.task, failure=event.reason)

    def _keep_policy(self, task: TrainTask) -> None:
        """Saves the best policy of a finished training with the run's."""
        _, weights = self.directory.training(task.name).load_result()
        task.job.save_policy(self.directory.policy(task.name), weights)

    def _end(self, task: TrainTask, **how: Any) -> None:
        """Notes how a trial ended, if the task is one."""
        trial = next((trial for trial in self.trials if trial.name == task.name), None)
        if trial is None:
            return
        self._file.put(replace(trial, run_seconds=self._seconds(), **how))
        if "outcome" in how:
            self._arrived.append(trial.number)
        if self._tables.age > _REBUILD_EVERY:
            self._rebuild()

    def _rebuild(self) -> None:
        self._tables.rebuild(self._trainings())
        if self.trials:
            self._decisions.rewrite(trial.decision_row(self.orders) for trial in self.trials)

    def _trainings(self) -> list[str]:
        responses = map(response_name, range(self.config.responses))
        return [BASE, *(trial.name for trial in self.trials), POLISH, *responses]

    def _check_trainings(self) -> None:
        """Checks that what trainings have left is theirs, and undamaged."""
        for name in self._trainings():
            folder = self.directory.training(name)
            folder.check_logs()
            check_begun(folder)
        for trial in self.done:
            if self._can_start(trial):  # else its start was taken away, to be trained again
                trial_task(self.directory, trial).stored()

    def _can_start(self, trial: Trial) -> bool:
        start = trial.start
        return start in (None, UNIVERSAL) or self.directory.training(str(start)).result.exists()

    def _seconds(self) -> float:
        """Returns the seconds that the run has taken, all attempts together."""
        return time.perf_counter() - self._started

    def _seconds_noted(self) -> float:
        """Returns the seconds that earlier attempts took."""
        if (self.directory.path / SCORES_FILE).exists():
            return HandedOver.load(self.directory.path).seconds
        return max((trial.run_seconds for trial in self.trials), default=0.0)

    # --- the end

    def _conclude(self) -> Iterator[Event | Games]:
        """Recommends an order, polishes its policy, answers it, and sums everything up."""
        if not self.done:
            failed = with_status(self.trials, "failed")
            raise TrainingFailedError(f"every workflow failed; the last: {failed[-1].failure}")
        path, seen = self.directory.path, tried_in(self.trials)
        by_hand = score_by_hand(path, self.config, self.orders, seen)
        finding, chosen = answer_of(self.config, self.orders, seen, by_hand)
        best = max((t for t in self.done if t.order == chosen.order), key=_rank, default=None)
        policies = [] if best is None else [self._policy_of(trial_task(self.directory, best))]
        if self.config.polish_updates:
            task = polish_task(self.directory, chosen.order, best)
            yield from self._noted(SerialPool(), [task])
            if self.config.follows_any:
                assert task.job.base is not None
                policies = [task.job.policy(task.job.base)]
            if self._polished() is not None:
                policies.append(self._policy_of(task, last=self.config.follows_any))
        yield from self._hand_over(policies, finding, chosen.order)
        self._rebuild()
        self.outcome = self._outcome()
        summary = summarise(self.config, self.outcome, self.trials)
        write_json(path / SUMMARY_FILE, summary)
        self.directory.seal(*_TABLES, TRIALS_FILE, BY_HAND_FILE, SCORES_FILE, SUMMARY_FILE)
        self._sealed = True

    def _outcome(self) -> SearchOutcome:
        """Returns what the search found, by its files."""
        path = self.directory.path
        transitions = sum(self.directory.training(n).transitions for n in self._trainings())
        policy, by_hand = HandedOver.load(path), ByHand.load(path, self.orders)
        finding, chosen = answer_of(self.config, self.orders, tried_in(self.trials), by_hand)
        finding = replace(finding, measured=policy.worth)
        return SearchOutcome(
            path, self.done, finding, chosen, self._polished(), policy, transitions
        )

    def _polished(self) -> TrainOutcome | None:
        """Returns the outcome of polishing, unless it failed or was not asked for."""
        folder = self.directory.training(POLISH)
        if not self.config.polish_updates or not folder.result.exists():
            return None
        return folder.load_result()[0]

    def _policy_of(self, task: TrainTask, *, last: bool = False) -> Policy:
        """Returns the best policy that a training met, or its last one, if that was kept."""
        folder = self.directory.training(task.name)
        result, weights = folder.load_result()
        if last:
            return load_policy(folder.snapshot(result.updates))
        return task.job.policy(weights)

    def _hand_over(
        self, policies: Sequence[Policy], finding: Finding, order: int
    ) -> Iterator[Event | Games]:
        """Selects a policy on validation games, scores it on held-out games, and saves both.

        The first is the policy before polishing. Yields how many games have been played, and how
        the trainings of best responses go.
        """
        config = self.config
        games, threshold = config.search.score_games, config.train.compliance_threshold
        yield Games(CHOOSING, 0, games * len(policies))
        by_worst = config.train.objective == "worst"
        chosen = choose(policies, config.game, threshold, games, by_worst=by_worst)
        policy = policies[chosen]
        policy.save(self.directory.policy(RECOMMENDED))
        scores: list[Score] = []
        total = games_to_score(games, config.game)
        yield Games(SCORING, 0, total)
        for score in score_policy(policy, config.game, games):
            scores.append(score)
            yield Games(SCORING, total * len(scores) // len(config.game.scored_reds), total)
        worth = tuple(self._worth(policy, finding))
        responses = yield from self._answered(policy, order)
        noted = HandedOver(chosen > 0, tuple(scores), self._seconds(), worth, responses)
        noted.save(self.directory.path)

    def _answered(
        self, policy: Policy, order: int
    ) -> Generator[Event | Games, None, tuple[Result, ...]]:
        """Trains best responses to the policy that is handed over; returns its results.

        One whose training failed is left out.
        """
        config, found = self.config, []
        if not config.responses:
            return ()
        trained = responses_of(config, RECOMMENDED)
        responses = BestResponses(
            self.directory, trained, config.responses, defender=policy, order=order
        )
        yield from self._noted(self._pool, responses.tasks)
        games, done = config.search.score_games, [t for t in responses.tasks if t.stored()]
        for number, task in enumerate(done, 1):
            found.append(responses.result_of(task, responses.judge(task, games)))
            yield Games(SCORING, number * games, len(done) * games)
        return tuple(found)

    def _worth(self, policy: Policy, finding: Finding) -> Iterator[PairWorth]:
        """Measures what the pairs that matter are worth to the policy that is handed over.

        One that was trained for its order alone does not follow others: then it is measured with
        the policy that its trial started from, if that follows any order.
        """
        config, whose = self.config, "the policy that is handed over"
        if not config.follows_any:
            whose = f"the policy that its training started from, {config.search.warm_start}"
            if config.search.warm_start == UNIVERSAL:
                policy = load_policy(UNIVERSAL, rules=config.game.rules)
            elif config.search.warm_start == "common":
                policy = self._policy_of(base_task(self.directory))
            else:
                return
        games = min(WORTH_GAMES, config.search.score_games)
        for pair in (*finding.clear, *finding.either)[:_MOST_MEASURED]:
            names = pair.first, pair.second
            found = pair_worth(policy, self.orders, *names, config.game, games)
            if not math.isnan(found.half_width):
                yield PairWorth(*names, found.mean, found.half_width, whose)


def _strategy(config: ExperimentConfig, orders: Orders) -> Strategy:
    threshold = config.train.compliance_threshold
    return make_strategy(config.search, orders, threshold=threshold, seed=config.seed)


def _rank(trial: Trial) -> tuple[bool, float]:
    assert trial.outcome is not None
    return trial.outcome.is_compliant, trial.outcome.best.reward.mean


def checked_search(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration of a new search; raises as `open_search`."""
    orders = orders_of(config.train, config.game.network)
    _strategy(config, orders)  # refuses what it cannot pick from
    if config.game.observation == "truth":
        raise InvalidInputError(
            "a search recommends policies without privileged information: choose another "
            "observation than truth (train and evaluate take it, as an upper bound)"
        )
    if config.responses:
        _check_responses(config)
    if orders.count > 1:
        return config
    search = replace(config.search, n_workflows=1)
    if search.warm_start != UNIVERSAL:  # there is nothing else to start from
        search = replace(search, warm_start="none")
    return replace(config, search=search)


def _check_responses(config: ExperimentConfig) -> None:
    """Checks that best responses can be trained to the policy that a search hands over."""
    responses_of(config, RECOMMENDED)
    if config.handed_over != UNIVERSAL and config.game.observation == "belief":
        raise InvalidInputError(
            "the belief has no model of attackers that are trained: for best responses choose "
            "another observation, or none of them with --responses 0"
        )


@contextmanager
def open_search(
    config: ExperimentConfig | None = None,
    *,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    execution: Execution | None = None,
) -> Iterator[Search]:
    """Gives a search, new or resumed; loop over its `events`. For the arguments see `open_run`.

    Where one order alone agrees with what is required, it is simply trained: once, from scratch
    unless from the policy `universal`.

    Raises:
        InvalidInputError: its policies would have privileged information (observation `truth`);
            its units, or what is required of them, allow no order; or no best response can be
            trained to its policy.
    """
    if isinstance(config, ExperimentConfig):
        config = checked_search(config)
    with open_run(config, checkpoint_dir=checkpoint_dir, resume=resume, execution=execution) as (
        directory,
        pool,
    ):
        yield Search(directory, pool)
