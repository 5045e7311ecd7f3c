"""A whole search: base policy, trials, polish, summary; resumable at any point."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.config import Execution, ExperimentConfig, GameConfig
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.evaluation.scoring import Score, choose, score_policy
from workflow_rl.files import json_text, read_json, write_json
from workflow_rl.ordersearch.finding import Finding, conclude
from workflow_rl.ordersearch.recommend import Recommendation, recommend
from workflow_rl.ordersearch.strategies import Strategy, make_strategy
from workflow_rl.processes import one_thread
from workflow_rl.runs.jobs import base_task, polish_task, trial_task
from workflow_rl.runs.logs import CsvLog
from workflow_rl.runs.opening import open_run
from workflow_rl.runs.pool import Done, Event, Failed, Pool, Retried, Rows, SerialPool
from workflow_rl.runs.store import (
    BASE,
    DECISION_LOG,
    EPISODES_FILE,
    POLISH,
    RECOMMENDED,
    SUMMARY_FILE,
    TRAINING_LOG,
    TRIALS_FILE,
    RunDirectory,
)
from workflow_rl.runs.summary import SearchOutcome, summarise
from workflow_rl.runs.tables import RunTables
from workflow_rl.runs.training import TrainTask, check_begun, describe_trained, save_trained
from workflow_rl.runs.trial import Trial, TrialFile, with_status
from workflow_rl.train.job import TrainResult
from workflow_rl.workflow.orders import Orders, orders_of

_REBUILD_EVERY: Final = 30.0  # seconds between writings of episodes.parquet


class Search:
    """A search in its directory, on a pool that trains its workflows."""

    def __init__(self, directory: RunDirectory, pool: Pool, *, retry_failed: bool = False) -> None:
        """Reads what earlier attempts left.

        Args:
            directory: of the run.
            pool: trains the workflows.
            retry_failed: whether trials that failed in an earlier attempt are tried once more.

        Raises:
            InvalidInputError: what was left is damaged.
        """
        self.directory = directory
        self.config = directory.config
        self.orders = orders_of(directory.config.train)
        self.outcome: SearchOutcome | None = None  # once the events are through
        self._pool = pool
        self._file = TrialFile(directory.path / TRIALS_FILE, self.orders)
        self._file.read(retry_failed)
        self._check_results()
        self._check_logs()
        self._arrived = [trial.number for trial in self.done]  # in which results came in
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

    def events(self) -> Iterator[Event]:
        """Runs, or goes on with, the whole search, and yields what happens once it is noted.

        Nothing happens to a finished one.
        """
        if self.is_finished:
            self.outcome = self._stored_outcome()
            return
        with one_thread(), closing(RunTables(self.directory)) as self._tables:
            self._rebuild()
            if self.config.search.warm_start == "common":
                for event in self._train_here(base_task(self.directory)):
                    yield event
                    if isinstance(event, Failed):
                        raise TrainingFailedError(f"there is no base policy: {event.reason}")
            strategy = _strategy(self.config, self.orders)
            ordered = self.config.search.ordered_results
            with closing(self._pool.events(self._tasks(strategy), ordered=ordered)) as events:
                for event in events:
                    self._note(event)
                    yield event
            yield from self._conclude()

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to train, and everything that a search hands over."""
        path = self.directory.path
        files = (path / name for name in (SUMMARY_FILE, TRAINING_LOG, EPISODES_FILE, DECISION_LOG))
        return (
            all(file.exists() for file in (*files, self.directory.policy(RECOMMENDED)))
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

        To the strategy a failed trial is one that is still running: it tells nothing, and is not
        tried again at once.
        """
        seen = [trial.observation for trial in self.trials if trial.observation is not None]
        running = [trial.order for trial in with_status(self.trials, "running")]
        failed = [trial.order for trial in with_status(self.trials, "failed")]
        began = time.perf_counter()
        decision = strategy.pick(seen, running + failed)
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
        """Returns the training that a new trial goes on from, by what is done by now."""
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
        if len(self.trials) >= self.config.search.n_workflows:
            return False
        limit = self.config.search.total_episodes
        played = sum(trial.result.episodes_per_env for trial in self.done if trial.result)
        return limit is None or played * self.config.train.n_envs < limit

    def _train_here(self, task: TrainTask) -> Iterator[Event]:
        """Runs one training in this process, where it can go on from its last update."""
        with closing(SerialPool().events([task])) as events:
            for event in events:
                self._note(event)
                yield event

    # --- what is noted on the way

    def _note(self, event: Event) -> None:
        if isinstance(event, Rows):
            self._tables.add(event.rows)
        elif isinstance(event, Retried):
            self._rebuild()  # no row of the lost attempt may count twice
        elif isinstance(event, Done):
            task: TrainTask = event.task
            _, best = self.directory.training(task.name).load_result()
            save_trained(self.directory.policy(task.name), task.job, best, event.result)
            self._end(task, result=event.result)
        elif isinstance(event, Failed):
            self._end(event.task, failure=event.reason)

    def _end(self, task: TrainTask, **how: Any) -> None:
        """Notes how a trial ended, if the task is one."""
        trial = next((trial for trial in self.trials if trial.name == task.name), None)
        if trial is None:
            return
        self._file.put(replace(trial, run_seconds=self._seconds(), **how))
        if "result" in how:
            self._arrived.append(trial.number)
        if self._tables.age > _REBUILD_EVERY:
            self._rebuild()

    def _rebuild(self) -> None:
        self._tables.rebuild(self._trainings())
        if self.trials:
            self._decisions.rewrite(trial.decision_row(self.orders) for trial in self.trials)

    def _trainings(self) -> list[str]:
        return [BASE, *(trial.name for trial in self.trials), POLISH]

    def _check_results(self) -> None:
        for trial in self.done:
            assert trial.result is not None
            folder = self.directory.training(trial.name)
            if not folder.path.exists():  # taken away because it was damaged: trained again
                self._file.put(replace(trial, result=None))
                continue
            found = folder.load_result()[0]
            if json_text(asdict(found)) != json_text(asdict(trial.result)):
                raise InvalidInputError(
                    f"{folder.result} is not the result that {TRIALS_FILE} tells of"
                )

    def _check_logs(self) -> None:
        for name in self._trainings():
            folder = self.directory.training(name)
            folder.check_logs()
            check_begun(folder)

    def _seconds(self) -> float:
        """Returns how long the run has taken, all attempts together."""
        return time.perf_counter() - self._started

    def _seconds_noted(self) -> float:
        """Returns how long earlier attempts took."""
        path = self.directory.path / SUMMARY_FILE
        if not path.exists():
            return max((trial.run_seconds for trial in self.trials), default=0.0)
        summary = read_json(path)
        try:
            return float(summary["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{path} is not of this version") from error

    # --- the end

    def _polished(self) -> TrainResult | None:
        """Returns what polishing gave, unless it failed or was not asked for."""
        folder = self.directory.training(POLISH)
        if not self.config.polish_updates or not folder.result.exists():
            return None
        return folder.load_result()[0]

    def _stored_outcome(self) -> SearchOutcome:
        """Returns what the finished search found."""
        path = self.directory.path / SUMMARY_FILE
        summary = read_json(path)
        try:
            transitions = int(summary["transitions"])
            scores = tuple(Score.from_json(score) for score in summary["policy_scores"])
            further = bool(summary["policy_trained_further"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{path} is not of this version") from error
        polished, seconds = self._polished(), self._seconds_noted()
        answer = self._answer()
        return SearchOutcome(
            path.parent, self.done, *answer, polished, further, scores, seconds, transitions
        )

    def _conclude(self) -> Iterator[Event]:
        """Recommends an order, polishes its policy, and sums everything up."""
        done = self.done
        if not done:
            failed = with_status(self.trials, "failed")
            raise TrainingFailedError(f"every workflow failed; the last: {failed[-1].failure}")
        finding, chosen = self._answer()
        best = max((t for t in done if t.order == chosen.order), key=_rank)
        task, polished = trial_task(self.directory, best), None
        policies = [self._policy_of(task)]
        if self.config.polish_updates:
            task = polish_task(self.directory, best)
            yield from self._train_here(task)
            polished = self._polished()
            if self.config.polish == UNIVERSAL:
                assert task.job.base is not None
                policies = [Policy(task.job.base, describe_trained(task.job, None))]
            if polished is not None:
                policies.append(self._policy_of(task, last=self.config.polish == UNIVERSAL))
        further, scores = self._hand_over(policies, task.job.game)
        self._rebuild()
        path, transitions = self.directory.path, self._tables.transitions
        found = SearchOutcome(
            path, done, finding, chosen, polished, further, scores, self._seconds(), transitions
        )
        write_json(path / SUMMARY_FILE, summarise(self.config, found, self.trials))
        self.outcome = found

    def _answer(self) -> tuple[Finding, Recommendation]:
        """Returns what the trials tell of orders, and the one to hand over."""
        seen = [trial.observation for trial in self.done if trial.observation is not None]
        finding = conclude(self.orders, seen, self.config.game.red_agent)
        return finding, recommend(self.orders, seen, finding.equals)

    def _policy_of(self, task: TrainTask, *, last: bool = False) -> Policy:
        """Returns the best policy that a training met, or its last one, if that was kept."""
        folder = self.directory.training(task.name)
        result, weights = folder.load_result()
        if last:
            return load_policy(folder.snapshot(result.updates))
        return Policy(weights, describe_trained(task.job, result))

    def _hand_over(
        self, policies: Sequence[Policy], game: GameConfig
    ) -> tuple[bool, tuple[Score, ...]]:
        """Saves the best of some policies, by games of their own.

        Args:
            policies: one, and what further training made of it, if there was any.
            game: in which they are compared.

        Returns:
            Whether it is the one that was trained further, and its scores.
        """
        config = self.config
        games, threshold = config.search.score_games, config.train.compliance_threshold
        chosen = choose(policies, game, threshold, games)
        policy = policies[chosen]
        scores = tuple(score_policy(policy, game, games))
        policy.description["scores"] = [score.as_json() for score in scores]
        policy.save(self.directory.policy(RECOMMENDED))
        return chosen > 0, scores


def _strategy(config: ExperimentConfig, orders: Orders) -> Strategy:
    search = config.search
    return make_strategy(
        search.strategy,
        orders,
        beta=search.gp_beta,
        threshold=config.train.compliance_threshold,
        design=min(search.initial_design, search.n_workflows),
        seed=config.seed,
        trials=search.n_workflows,
    )


def _rank(trial: Trial) -> tuple[bool, float]:
    assert trial.result is not None
    return trial.result.is_compliant, trial.result.best_env_reward


def _settled(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the configuration of a new search; raises as `open_search`."""
    orders = orders_of(config.train)
    _strategy(config, orders)  # refuses what it cannot pick from
    if config.game.observation == "truth":
        raise InvalidInputError(
            "a search recommends policies that can be used, so none that sees the truth: choose "
            "another observation than truth (train and evaluate take it, for measuring)"
        )
    if orders.count > 1:
        return config
    search = replace(config.search, n_workflows=1)
    if search.warm_start != UNIVERSAL:  # there is nothing else to start from
        search = replace(search, warm_start="none")
    return replace(config, search=search)


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
        InvalidInputError: what it would recommend sees the truth, which no defender can; or its
            units, or what is required of them, allow no order.
    """
    if isinstance(config, ExperimentConfig):
        config = _settled(config)
    with open_run(config, checkpoint_dir=checkpoint_dir, resume=resume, execution=execution) as (
        directory,
        pool,
    ):
        yield Search(directory, pool)
