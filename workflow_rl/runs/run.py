"""A whole search: base policy, trials, polish, summary; resumable at any point."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json, write_json
from workflow_rl.ordersearch.loop import Done, Failed, Trial, search
from workflow_rl.ordersearch.recommend import Recommendation, recommend
from workflow_rl.ordersearch.strategies import Decision, Observation, make_strategy
from workflow_rl.runs.decisions import decision_rows
from workflow_rl.runs.execution import Execution, open_workers
from workflow_rl.runs.listener import Listener
from workflow_rl.runs.logs import CsvLog, Row, TensorBoardLog, write_episodes
from workflow_rl.runs.spread import spread_of
from workflow_rl.runs.store import BASE, POLISH, RunDirectory
from workflow_rl.runs.tasks import Task, TrialExecutor, Workers
from workflow_rl.runs.training import (
    TrainingFolder,
    result_numbers,
    run_training,
    save_trained,
)
from workflow_rl.runs.trials import TrialBook, trial_name
from workflow_rl.train.loop import TrainJob, TrainResult, Weights, one_thread
from workflow_rl.workflow.orders import format_order, kendall_distance

_REBUILD_EVERY: Final = 30.0  # seconds between writings of episodes.parquet


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found."""

    path: Path
    trials: list[Done[TrainResult]]
    recommendation: Recommendation
    polished: TrainResult | None
    seconds: float
    transitions: int


def observe(result: TrainResult) -> Observation:
    """Returns what the strategy is told of a training."""
    assert result.order is not None
    return Observation(result.order, result.env_reward, result.compliance, result.is_compliant)


def seed_of(config: ExperimentConfig, *purpose: int) -> int:
    """Returns the seed of one training, from the run's seed and what the training is."""
    return int(np.random.SeedSequence([config.seed, *purpose]).generate_state(1, np.uint32)[0])


class SearchRun:
    """A search in its directory."""

    def __init__(
        self,
        directory: RunDirectory,
        listener: Listener,
        workers: Workers | None = None,
        *,
        retry_failed: bool = False,
    ) -> None:
        """Notes where, and by whom.

        Args:
            directory: of the run, perhaps with what earlier attempts left.
            listener: told how the search goes.
            workers: train the workflows; by default here, or in processes if several at a time.
            retry_failed: whether trials that failed in an earlier attempt are tried once more.
        """
        self.directory = directory
        self.config = directory.config
        self._listener = listener
        self._workers = workers
        self._retry_failed = retry_failed
        self._book = TrialBook(directory)
        self._log = CsvLog(directory.path / "training_log.csv")
        self._decisions = CsvLog(directory.path / "gp_sampling_log.csv")
        self._board: TensorBoardLog | None = None
        self._base: TrainResult | None = None
        self._done: list[Done[TrainResult]] = []
        self._transitions = 0  # of the whole run
        self._transitions_here = 0  # of this attempt
        self._started = time.perf_counter()
        self._seconds_before = 0.0  # of earlier attempts
        self._rebuilt = 0.0

    def run(self) -> SearchOutcome:
        """Runs, or goes on with, the whole search."""
        with one_thread():
            if self._workers is not None:
                return self._run(self._workers)
            with open_workers(Execution(), self.config.search.parallel_workflows) as workers:
                return self._run(workers)

    def _run(self, workers: Workers) -> SearchOutcome:
        config = self.config
        earlier = self._book.read(self._retry_failed)
        self._seconds_before = self._seconds_noted() or earlier.seconds
        self._rebuild_logs()
        self._board = TensorBoardLog(self.directory.path / "tensorboard")
        try:
            if config.search.warm_start == "common":
                self._base = self._train(BASE, self._base_job())
            self._listener.began("search", f"{config.search.n_workflows} workflows")
            strategy = make_strategy(
                config.search.strategy,
                beta=config.search.gp_beta,
                threshold=config.train.compliance_threshold,
                design=min(config.search.initial_design, config.search.n_workflows),
                seed=config.seed,
            )
            for done in earlier.done:
                self._done.append(done)
                self._listener.finished(done.trial, done.result, len(self._done))
            for trial, _ in earlier.begun:
                self._listener.began(trial_name(trial), format_order(trial.order))
            self._picks = _Timed(strategy.pick)
            all_done = search(
                self._picks,
                TrialExecutor(workers, self._task, self),
                observe,
                config.search.n_workflows if self._may_go_on() else len(self._book.entries),
                ordered=config.search.ordered_results,
                earlier=earlier.done,
                failed=earlier.failed,
                begun=earlier.begun,
                on_pick=self._on_pick,
                on_done=self._on_done,
                on_failed=self._on_failed,
            )
            return self._conclude(all_done)
        finally:
            self._board.close()

    # --- trainings

    def _base_job(self) -> TrainJob:
        config = self.config
        train = replace(
            config.train,
            max_episodes=_episodes_for(config, config.search.base_updates),
            min_updates=1,
            stop_at="budget",
        )
        return TrainJob(
            config.game, config.ppo, train, seed_of(config, 1), None, None, config.backend
        )

    def _trial_job(self, trial: Trial) -> TrainJob:
        config = self.config
        seed = seed_of(config, 2, trial.order, trial.repeat)
        start = self._start_of(trial)
        train = config.train
        if start is not None and train.alignment == "adaptive":
            train = replace(train, alignment_lambda=start.alignment_weight(trial.order))
        base = None if start is None else start.best
        return TrainJob(config.game, config.ppo, train, seed, trial.order, base, config.backend)

    def _choose_start(self, trial: Trial) -> str | None:
        """Returns the name of the training a new trial goes on from, by what is done by now."""
        mode = self.config.search.warm_start
        if mode == "common":
            return BASE
        if mode == "none" or not self._done:
            return None
        if mode == "previous":
            return trial_name(self._done[-1].trial)

        def distance(done: Done[TrainResult]) -> tuple[int, int]:
            return kendall_distance(done.trial.order, trial.order), done.trial.number

        return trial_name(min(self._done, key=distance).trial)

    def _start_of(self, trial: Trial) -> TrainResult | None:
        """Returns the training a trial goes on from, as noted when it was decided."""
        name = self._book.start_of(trial)
        if name == BASE:
            return self._base
        return next((d.result for d in self._done if trial_name(d.trial) == name), None)

    def _train(self, name: str, job: TrainJob) -> TrainResult:
        folder = self.directory.trial(name)
        self._listener.began(name, "all orders" if job.order is None else format_order(job.order))
        result = run_training(name, job, folder, self.rows)
        self._save_policy(name, job, result.best, result)
        return result

    def _task(self, trial: Trial) -> Task:
        name = trial_name(trial)
        return Task(name, self._trial_job(trial), self.directory.trial(name))

    def _save_policy(self, name: str, job: TrainJob, weights: Weights, result: TrainResult) -> None:
        save_trained(self.directory.policy(name), job, weights, result)

    # --- what is noted on the way

    def rows(self, *rows: Row) -> None:
        """Notes updates."""
        self._log.append(*rows)
        played = self.config.train.n_envs * self.config.train.rollout_steps(
            self.config.game.episode_length
        )
        for row in rows:
            self._transitions += played
            self._transitions_here += played
            if self._board is not None:
                sps = self._transitions_here / (time.perf_counter() - self._started)
                self._board.add(row, self._transitions, sps)
            self._listener.updated(row)

    def again(self, task: Task, reason: str) -> None:
        """Notes that a training is done once more: no row of it may count twice."""
        self._rebuild_logs()
        self._listener.noticed(f"{task.name} is done again: {reason}")

    def _on_pick(self, trial: Trial, decision: Decision) -> None:
        self._listener.began(trial_name(trial), format_order(trial.order))
        start, took = self._choose_start(trial), self._picks.last_seconds
        self._book.pick(trial, decision, start, took, self._seconds())
        self._decisions.append(decision_rows(self._book.entries[-1:])[0])

    def _on_done(self, done: Done[TrainResult]) -> bool:
        self._done.append(done)
        job = self._trial_job(done.trial)
        self._save_policy(trial_name(done.trial), job, done.result.best, done.result)
        self._book.end(done.trial, done.result, self._seconds())
        if time.perf_counter() - self._rebuilt > _REBUILD_EVERY:
            self._rebuild_logs()
        self._listener.finished(done.trial, done.result, len(self._done))
        return self._may_go_on()

    def _on_failed(self, trial: Trial, failure: Failed) -> None:
        self._book.end(trial, failure, self._seconds())
        self._listener.noticed(
            f"{trial_name(trial)} failed and is left out: {failure.reason} "
            f"({format_order(trial.order)})"
        )

    def _may_go_on(self) -> bool:
        """Returns whether the trials done leave something of the budget."""
        limit = self.config.search.total_episodes
        played = sum(d.result.episodes_per_env for d in self._done) * self.config.train.n_envs
        return limit is None or played < limit

    def _seconds(self) -> float:
        """Returns how long the run has taken, all attempts together."""
        return self._seconds_before + time.perf_counter() - self._started

    def _seconds_noted(self) -> float | None:
        """Returns how long the run took, if it is over."""
        try:
            if not self._summary_path.exists():
                return None
            return float(read_json(self._summary_path)["seconds"])
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"{self._summary_path} is not of this version") from error

    def _rebuild_logs(self) -> None:
        """Makes the run's tables out of the trainings' raw logs."""
        rows: list[Row] = []
        parts: dict[str, NDArray[np.void]] = {}
        self._transitions = 0
        for name in (BASE, *self._book.names, POLISH):
            folder = TrainingFolder(self.directory.trial(name))
            updates = folder.updates.rows()
            rows += updates
            self._transitions += int(updates[-1]["transitions"]) if updates else 0
            parts[name] = folder.episodes.read()
        self._rebuilt = time.perf_counter()
        if rows:
            self._log.rewrite(rows)
            write_episodes(self.directory.path / "episodes.parquet", parts)
        if self._book.entries:
            self._decisions.rewrite(decision_rows(self._book.entries))

    # --- the end

    def _conclude(self, done: list[Done[TrainResult]]) -> SearchOutcome:
        config = self.config
        if not done:
            raise InvalidInputError(
                f"every workflow failed; the last: {self._book.failures[-1][1]}"
            )
        chosen = recommend([observe(d.result) for d in done])
        best = max(
            (d for d in done if d.trial.order == chosen.order),
            key=lambda d: (d.result.is_compliant, d.result.best_env_reward),
        )
        job = self._trial_job(best.trial)
        polished = None
        if config.search.polish_updates:
            train = replace(
                config.train,
                max_episodes=_episodes_for(config, config.search.polish_updates),
                min_updates=1,
                stop_at="budget",
            )
            if train.alignment == "adaptive":
                train = replace(train, alignment_lambda=best.result.alignment_weight(chosen.order))
            job = replace(
                job, train=train, base=best.result.best, seed=seed_of(config, 3, chosen.order)
            )
            polished = self._train(POLISH, job)
        source = best.result
        if polished is not None and _is_better(
            polished, best.result, config.train.compliance_threshold
        ):
            source = polished
        self._save_policy("recommended", job, source.best, source)
        self._rebuild_logs()
        outcome = SearchOutcome(
            path=self.directory.path,
            trials=done,
            recommendation=chosen,
            polished=polished,
            seconds=self._seconds(),
            transitions=self._transitions,
        )
        write_json(self._summary_path, self._summary(outcome, source))
        return outcome

    @property
    def _summary_path(self) -> Path:
        return self.directory.path / "summary.json"

    def _summary(self, outcome: SearchOutcome, source: TrainResult) -> dict[str, Any]:
        return {
            "rules": self.config.game.rules,
            "red_agent": self.config.game.red_agent,
            "recommended": format_order(outcome.recommendation.order),
            "recommendation": asdict(outcome.recommendation),
            "policy_env_reward": source.best_env_reward,
            "policy_compliance": source.best_compliance,
            "compliant_workflows": sum(d.result.is_compliant for d in outcome.trials),
            "spread": asdict(spread_of(outcome.trials, self.config.game.red_agent)),
            "workflows": len(outcome.trials),
            "failed": [
                {"workflow": format_order(order), "reason": reason}
                for order, reason in self._book.failures
            ],
            "seconds": outcome.seconds,
            "transitions": outcome.transitions,
            "search_seconds": sum(entry["pick_seconds"] for entry in self._book.entries),
            "trials": [
                {
                    "workflow": format_order(d.trial.order),
                    "reason": d.decision.reason,
                    **result_numbers(d.result),
                }
                for d in outcome.trials
            ],
            "polished": result_numbers(outcome.polished) if outcome.polished else None,
        }


class _Timed:
    """A strategy that notes how long its last pick took."""

    def __init__(self, pick: Callable[..., Decision]) -> None:
        self._pick = pick
        self.last_seconds = 0.0

    def pick(self, seen: Any, pending: Any) -> Decision:
        start = time.perf_counter()
        decision = self._pick(seen, pending)
        self.last_seconds = time.perf_counter() - start
        return decision


def _episodes_for(config: ExperimentConfig, updates: int) -> int:
    """Returns the episodes per environment that a number of updates, or one episode, needs."""
    length = config.game.episode_length
    steps = config.train.rollout_steps(length)
    updates = max(updates, -(-length // steps))
    return -(-updates * steps // length)


def _is_better(polished: TrainResult, before: TrainResult, threshold: float) -> bool:
    """Returns whether polishing gained reward without losing compliance that is asked for."""
    complies = polished.best_compliance >= min(before.best_compliance, threshold)
    return complies and polished.best_env_reward >= before.best_env_reward
