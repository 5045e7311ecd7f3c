"""A defender against a growing population of attackers, round by round.

In every round a few attackers, each a *lineage* that goes on from its last one, are trained
against the defender; from time to time a lineage begins from scratch. Then the defender is trained
against a mixture of all attackers so far, weighted by what each takes from it (prioritised
fictitious self-play), and of scripts. Many short rounds: the attackers follow the defender closely,
so that it cannot go on with an answer to a single one of them.
"""

import json
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.config.units import ANY
from workflow_rl.envs.observations import observation_of
from workflow_rl.envs.reds import RedPolicy
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.evaluation.payoffs import Payoffs
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.files import append, write_json
from workflow_rl.nets.policy_file import Weights
from workflow_rl.processes import one_thread
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Event, Failed, Pool, Rows
from workflow_rl.runs.store import (
    EPISODES_FILE,
    RECOMMENDED,
    ROUNDS_FILE,
    SUMMARY_FILE,
    TRAINING_LOG,
    RunDirectory,
    open_run,
)
from workflow_rl.runs.tables import RunTables
from workflow_rl.runs.train import PURPOSE
from workflow_rl.runs.training import TrainTask, job_of, seed_of
from workflow_rl.scenario.network import check_network
from workflow_rl.train.loop import Training
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import Orders
from workflow_rl.workflow.units import units_of

# Scripts in the defender's mixture: how much of their share each has.
SCRIPTS: Final = {
    "bline": 0.36,
    "meander": 0.36,
    "sleep": 0.06,
    "bait": 0.06,
    "patient:3:bline": 0.08,
    "random": 0.08,
}
FROM_SCRATCH: Final = "none"  # where the defender starts
_SHOWN: Final = ("bline", "meander")  # scripts that a round is judged by as well
_MOST_REDS: Final = 22  # learned attackers of a mixture
_GAMES: Final = 100  # in which a round's defender meets each attacker
_LONGER: Final = 3  # times as many updates has an attacker from scratch
_RED_ENVS: Final = 192
_FREE: Final = 15.0  # what every attacker takes anyway: it adds no weight
_LEAST: Final = 1.0  # for an attacker that takes no more than that
_SHARPNESS: Final = 1.5  # how much those that take most are preferred
_RED, _BLUE, _JUDGE = 6, 7, 8  # purposes of seeds


@dataclass(frozen=True)
class Round:
    """The defender before a round's own training, against the attackers so far."""

    number: int
    scores: dict[str, float]  # Blue's mean score against each, by its name

    @property
    def worst(self) -> float:
        """Its lowest score."""
        return min(self.scores.values())

    def __str__(self) -> str:
        """Says how the defender stands, in one line."""
        scripts = ", ".join(f"{name} {self.scores[name]:.1f}" for name in _SHOWN)
        learned = [score for name, score in self.scores.items() if name not in _SHOWN]
        return (
            f"{scripts}; {len(learned)} attackers: mean {np.mean(learned):.1f}, worst "
            f"{min(learned):.1f}"
        )


class RobustRun:
    """The rounds in their directory; its `events` train, or go on."""

    def __init__(self, directory: RunDirectory, pool: Pool) -> None:
        """Takes a directory whose configuration has rounds."""
        self.directory = directory
        self.rounds: list[Round] = []  # so far
        self._pool = pool
        self._population = directory.config.population
        self._given = {f"given_{i}": file for i, file in enumerate(self._population.attackers)}

    @property
    def updates(self) -> int:
        """The updates of all trainings together."""
        plan = self._population
        fresh = sum(self._is_fresh(r, k) for r in range(plan.rounds) for k in range(plan.lineages))
        reds = plan.rounds * plan.lineages + fresh * (_LONGER - 1)
        return reds * plan.response_updates + plan.rounds * plan.blue_updates

    def events(self) -> Iterator[Event | Round]:
        """Trains round by round; yields each event after it is recorded.

        Raises:
            TrainingFailedError: losses or weights stopped being finite.
        """
        directory = self.directory
        (directory.path / ROUNDS_FILE).unlink(missing_ok=True)  # written anew, from results
        tables = RunTables(directory)
        directory.unseal()
        for name, file in self._given.items():
            if not directory.policy(name).exists():
                RedPolicy.load(Path(file)).save(directory.policy(name))
        names: list[str] = []
        blue = self._first()
        for number in range(self._population.rounds):
            defender = directory.policy(f"blue_{number}")
            blue.save(defender)
            reds = [self._red_task(number, k, defender) for k in range(self._population.lineages)]
            yield from self._trained(reds, tables, names)
            for task in reds:
                RedPolicy.load(_last(task)).save(directory.policy(task.name))
            found = self._meet(number, blue)
            self.rounds.append(found)
            line = {"round": number, "scores": found.scores}
            append(directory.path / ROUNDS_FILE, json.dumps(line) + "\n")
            yield found
            task = self._blue_task(number, blue.weights, found)
            yield from self._trained([task], tables, names)
            blue = load_policy(_last(task))
        _with_short_names(blue).save(directory.policy(RECOMMENDED))
        matrix = Payoffs.of({f"round {one.number}": one.scores for one in self.rounds})
        summary = {"rules": directory.config.game.rules, "payoffs": matrix.as_json()}
        write_json(directory.path / SUMMARY_FILE, summary | {"worst": matrix.worst.tolist()})
        directory.seal(TRAINING_LOG, EPISODES_FILE, ROUNDS_FILE, SUMMARY_FILE)

    def _trained(
        self, tasks: list[TrainTask], tables: RunTables, names: list[str]
    ) -> Iterator[Event]:
        names += [task.name for task in tasks]
        with closing(self._pool.events(tasks)) as events:
            for event in events:
                if isinstance(event, Rows):
                    tables.add(event.rows)
                yield event
                if isinstance(event, Failed):
                    raise TrainingFailedError(event.reason)
        tables.rebuild(names)

    def _first(self) -> Policy:
        """Returns the defender that the first round meets."""
        config = self.directory.config
        if config.population.start != FROM_SCRATCH:
            return _fitted(load_policy(config.population.start, rules=config.game.rules), config)
        job = job_of(config, None, seed=seed_of(config, _BLUE))
        with one_thread(), closing(Training(job)) as training:
            return job.policy(training.best)

    def _is_fresh(self, number: int, lineage: int) -> bool:
        """Returns whether a lineage begins from scratch in a round; they take turns."""
        every = self._population.restart_every
        return number == 0 or (number + lineage * every // self._population.lineages) % every == 0

    def _red_task(self, number: int, lineage: int, defender: Path) -> TrainTask:
        config, plan = self.directory.config, self._population
        name = _red(number, lineage)
        against = {"against": str(defender), "against_workflow": self._order(name)}
        usual = ExperimentConfig.preset("best-response", train=against)
        updates, base = plan.response_updates * _LONGER, None
        if not self._is_fresh(number, lineage):
            updates = plan.response_updates
            before = self.directory.policy(_red(number - 1, lineage))
            base = RedPolicy.load(before).weights
        envs = min(_RED_ENVS, config.train.n_envs)
        train = replace(usual.train, max_episodes=updates, n_envs=envs, hidden=config.train.hidden)
        train = replace(train, min_updates=1, snapshot_every=updates)
        ppo = replace(usual.ppo, anneal=False, anneal_entropy=False)
        game = replace(config.game, red_agent=usual.game.red_agent, red_probabilities=None)
        seed = seed_of(config, _RED, number, lineage)
        job = replace(job_of(config, None, train=train, seed=seed), game=game, ppo=ppo, base=base)
        return TrainTask(name, job, self.directory.training(name).path)

    def _meet(self, number: int, blue: Policy) -> Round:
        """Plays the defender against the attackers so far."""
        game, lineages = self.directory.config.game, range(self._population.lineages)
        reds = [*self._given, *(_red(r, k) for r in range(number + 1) for k in lineages)]
        files = {name: str(self.directory.policy(name)) for name in reds}
        seed = seed_of(self.directory.config, _JUDGE)
        scores = {}
        for name, red in {**{name: name for name in _SHOWN}, **files}.items():
            agent = PolicyAgent(blue, RECOMMENDED, self._order(name))
            played = replace(game, red_agent=red, red_probabilities=None)
            scores[name] = float(play_batch(agent, played, seed, _GAMES).returns.mean())
        return Round(number, scores)

    def _order(self, attacker: str) -> str | None:
        """Returns the order that the defender follows against an attacker, if it follows any."""
        if not self.directory.config.train.conditioned:
            return None
        under, last = self._population.under, f"_{self._population.lineages - 1}"
        if under is not None and not attacker.endswith(last):
            return under
        rng = np.random.default_rng([self.directory.config.seed, zlib.crc32(attacker.encode())])
        orders = Orders.of(units_of("types", self.directory.config.game.network), ())
        return orders.format(int(orders.draw(rng, 1)[0]))

    def _blue_task(self, number: int, base: Weights, found: Round) -> TrainTask:
        config, plan = self.directory.config, self._population
        left = min(1.0, (plan.rounds - number) / plan.anneal_rounds)
        ppo = replace(
            config.ppo,
            learning_rate=config.ppo.learning_rate * left,
            entropy_weight=config.ppo.entropy_weight * left,
            anneal=False,
            anneal_entropy=False,
        )
        updates = plan.blue_updates
        train = replace(config.train, max_episodes=updates, min_updates=1, snapshot_every=updates)
        seed = seed_of(config, _BLUE, number)
        job = job_of(config, None, train=train, seed=seed)
        job = replace(job, game=self._mixture(number, found), ppo=ppo, base=base)
        name = f"blue_{number}"
        return TrainTask(name, job, self.directory.training(name).path)

    def _mixture(self, number: int, found: Round) -> GameConfig:
        """Returns the game of the defender's training: scripts, and attackers by what they take."""
        plan, game = self._population, self.directory.config.game
        latest = [_red(number, k) for k in range(plan.lineages)]
        learned = sorted((n for n in found.scores if n not in _SHOWN), key=found.scores.__getitem__)
        kept = list(dict.fromkeys([*latest, *learned[:_MOST_REDS]]))
        taken = np.array([max(-found.scores[name] - _FREE, _LEAST) for name in kept])
        weights = taken**_SHARPNESS
        weights *= (1 - plan.script_share) / weights.sum()
        parts = {name: share * plan.script_share for name, share in SCRIPTS.items()}
        parts |= {
            str(self.directory.policy(name)): float(weight)
            for name, weight in zip(kept, weights, strict=True)
        }
        mixed = ",".join(f"{name}={weight:.6g}" for name, weight in parts.items())
        return replace(game, red_agent=mixed, red_probabilities=None)


def _fitted(policy: Policy, config: ExperimentConfig) -> Policy:
    """Returns a policy that plays the same and is shown more: what is new has no weight yet."""
    network = config.game.network
    new = observation_of(config.game.observation, network).size - policy.observation.size
    follows = config.train.conditioned and not policy.is_conditioned
    if not new and not follows:
        return policy
    units = None if config.train.units == ANY else units_of(config.train.units, network)
    order = OrderEncoding(config.train.shown_order, units, network).size if follows else 0
    weights = dict(policy.weights)
    for name in ("actor.0.weight", "critic.0.weight"):
        seen, rest = np.split(weights[name], [policy.observation.size], axis=1)
        unseen, unordered = (np.zeros((len(seen), size), seen.dtype) for size in (new, order))
        weights[name] = np.concatenate([seen, unseen, rest, unordered], axis=1)
    if follows:
        return job_of(config, None).policy(weights, **policy.facts)
    game = policy.config.game.changed(observation=config.game.observation)
    return Policy(weights, replace(policy.config, game=game), policy.facts)


def _last(task: TrainTask) -> Path:
    """Returns the file of a training's last policy."""
    return TrainingFolder(task.folder).snapshot(task.job.train.snapshot_every)


def _with_short_names(policy: Policy) -> Policy:
    """Returns a policy whose description names attackers by their files, without folders."""
    game = policy.config.game
    short = ",".join(part.rpartition("/")[2] for part in game.red_agent.split(","))
    config = replace(policy.config, game=game.changed(red_agent=short))
    return Policy(policy.weights, config, policy.facts)


def _red(number: int, lineage: int) -> str:
    return f"red_{number}_{lineage}"


@contextmanager
def open_robust(
    config: ExperimentConfig | None = None,
    *,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    parallel: int = 1,
) -> Iterator[RobustRun]:
    """Gives a robust training, new or resumed; loop over its `events`.

    Raises:
        InvalidInputError: the run cannot be opened, or the first policy does not fit.
    """
    if config is not None:
        _check_start(config)
    with open_run(
        config,
        purpose=PURPOSE,
        plan={"workflow": None},
        checkpoint_dir=checkpoint_dir,
        resume=resume,
        parallel=parallel,
    ) as (directory, pool):
        yield RobustRun(directory, pool)


def _check_start(config: ExperimentConfig) -> None:
    """Checks the order, and that the defender can go on from the policy that it starts from."""
    if config.population.under is not None:
        Orders.of(units_of("types", config.game.network), ()).read(config.population.under)
    if config.population.start == FROM_SCRATCH:
        return
    start = load_policy(config.population.start, rules=config.game.rules)
    check_network(config.population.start, start.network, config.game.network)
    seen, now = start.observation, observation_of(config.game.observation, config.game.network)
    sees_as_much = now.entries[: len(seen.entries)] == seen.entries
    mine: dict[str, Any] = {
        "observation": seen.name if sees_as_much else now.name,
        "action_space": config.train.action_space,
        "hidden": config.train.hidden,
    }
    theirs: dict[str, Any] = {
        "observation": start.config.game.observation,
        "action_space": start.config.train.action_space,
        "hidden": start.config.train.hidden,
    }
    if start.is_conditioned or start.order is not None:
        # A start that knows no order may learn to follow any.
        for name in ("conditioned", "order_encoding", "follow"):
            mine[name] = getattr(config.train, name)
            theirs[name] = getattr(start.config.train, name)
    for name, value in mine.items():
        if theirs[name] != value:
            raise InvalidInputError(
                f"a training that starts from {config.population.start} needs {name} "
                f"{theirs[name]}, not {value}"
            )
