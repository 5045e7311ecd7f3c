"""`workflow-rl bench train`: the speed of learning beside Stable-Baselines3 and CybORG.

Everything runs on one thread. What an update costs depends on how many different inputs its
transitions hold, so rollout, update and training are measured twice: *fresh*, in the first updates
of a policy, and *settled*, after some training. To stay there, the weights are restored every few
updates; environments play on. Both are the documented form; *modern* is the modern form with larger
networks, in its first updates. With the observation memory hardly any input comes twice.
"""

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from workflow_rl.belief.observation import make_batch
from workflow_rl.bench import contenders
from workflow_rl.bench.measure import (
    Rate,
    Ratio,
    Work,
    busy_processes,
    describe_machine,
    measure,
)
from workflow_rl.config import PPO_FORMS, GameConfig, TrainConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.errors import MissingDependencyError
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.ppo.update import samples_of
from workflow_rl.processes import one_thread
from workflow_rl.sim.network import held_hosts
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training
from workflow_rl.workflow.compliance import judge_observed, judge_true
from workflow_rl.workflow.orders import TYPES

NUM_ENVS: Final = 200
ORDER: Final = ("op_server", "enterprise", "op_host", "user", "defender")
STAGES: Final = ("fresh", "settled")  # of the documented form
MODERN: Final = "modern"
MODERN_HIDDEN: Final = (128, 128)
PHASES: Final = ("simulate", "infer and sample", "compliance", "update")
_VIEW: Final = TrainConfig.compliance_view
_UPDATES_PER_RESTORE: Final = 5  # updates after which the stage's weights are restored
_SHOWN: Final = ("rollout", "update", "training")
_PEAK_SIZE: Final = 1024
SIMULATOR: Final = "simulator"
PEAK: Final = f"sgemm {_PEAK_SIZE}^3"
SB3: Final = "Stable-Baselines3 PPO"
SB3_MODERN: Final = "Stable-Baselines3 PPO, modern"
CYBORG: Final = "CybORG, one process"


@dataclass(frozen=True)
class Stage:
    """A policy at the stage it was measured at."""

    name: str
    updates: int  # of training before it
    distinct_inputs: int  # among the transitions of a rollout
    update_flop: int  # multiplications and additions of an update, on the inputs it runs on
    naive_flop: int  # the same with every transition's whole input run for itself
    env_reward: float
    compliance: float
    phase_seconds: dict[str, float] = field(default_factory=dict)  # of an update, by PHASES


@dataclass(frozen=True)
class TrainReport:
    """All that one run measured."""

    config: GameConfig
    machine: dict[str, Any]
    load: int
    num_envs: int
    rates: dict[str, Rate]  # transitions per second; of PEAK: FLOP per second
    stages: list[Stage]
    skipped: list[str]
    ratios: list[Ratio]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def transitions(self) -> int:
        """Transitions of an update."""
        return self.num_envs * GameConfig.episode_length

    def update_flops(self, stage: Stage, *, naive: bool = False) -> float:
        """Returns the FLOP/s of updates at a stage.

        Args:
            stage: measured.
            naive: count the arithmetic of every transition, not of the distinct inputs alone.
        """
        flop = stage.naive_flop if naive else stage.update_flop
        return flop * self.rates[f"update, {stage.name}"].median / self.transitions

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return {
            "benchmark": "train",
            "rules": self.config.rules,
            "red_agent": self.config.red_agent,
            "observation": self.config.observation,
            "order": " > ".join(ORDER),
            "num_envs": self.num_envs,
            "transitions_per_update": self.transitions,
            "machine": self.machine,
            "busy_processes": self.load,
            **self.settings,
            "rows": [
                {"name": name, "per_second": rate.median, "repeats": list(rate.repeats)}
                for name, rate in self.rates.items()
                if name != PEAK
            ],
            "sgemm_flops": self.rates[PEAK].median,
            "stages": [
                vars(stage)
                | {
                    "update_flops": self.update_flops(stage),
                    "update_flops_naive": self.update_flops(stage, naive=True),
                }
                for stage in self.stages
            ],
            "skipped": self.skipped,
            "ratios": [vars(ratio) for ratio in self.ratios],
        }


def run(
    config: GameConfig,
    *,
    repeats: int,
    seconds: float,
    settle: int,
    load: int = 0,
    num_envs: int = NUM_ENVS,
    progress: Callable[[str], None] = lambda name: None,
) -> TrainReport:
    """Measures everything that can be measured here.

    Args:
        config: the game.
        repeats: rounds.
        seconds: minimum duration of each row in each round.
        settle: updates before a policy counts as settled.
        load: busy processes to run beside it.
        num_envs: environments; each plays an episode per update.
        progress: called with what is being done.
    """
    with one_thread():
        subjects = [
            _subject_at(stage, updates, config, num_envs, progress)
            for stage, updates in zip(STAGES, (0, settle), strict=True)
        ]
        subjects.append(_subject_at(MODERN, 0, config, num_envs, progress))
        progress("preparing")
        works: dict[str, Work] = {SIMULATOR: contenders.simulator(num_envs, 1, config)}
        for subject in subjects:
            works |= subject.works()
        others, skipped = _others(config, num_envs)
        with busy_processes(load) if load else nullcontext():
            measured = measure(works | others, repeats=repeats, seconds=seconds, progress=progress)
        shown = [f"{what}, {stage}" for what in _SHOWN for stage in (*STAGES, MODERN)]
        rates = {name: measured[name] for name in (SIMULATOR, *shown, *others)}
        stages = [subject.stage(measured) for subject in subjects]
    return TrainReport(
        config=config,
        machine=describe_machine(),
        load=load,
        num_envs=num_envs,
        rates=rates,
        stages=stages,
        skipped=skipped,
        ratios=ratios_of(rates),
        settings={
            "repeat_count": repeats,
            "seconds_per_repeat": seconds,
            "settle_updates": settle,
            "modern_hidden": list(MODERN_HIDDEN),
        },
    )


class Subject:
    """A training that is measured at one stage."""

    def __init__(self, name: str, config: GameConfig, num_envs: int) -> None:
        """Starts a training in the form that the stage is of."""
        self.name = name
        train = TrainConfig(n_envs=num_envs, max_episodes=10**9, stop_at="budget")
        ppo = PPO_FORMS["documented"]
        if name == MODERN:
            ppo, train = PPO_FORMS["modern"], replace(train, hidden=MODERN_HIDDEN)
        self.training = Training(TrainJob(config, ppo, train, 0, TYPES.index(ORDER)))
        self._updates_per_restore = 1 if name == MODERN else _UPDATES_PER_RESTORE

    def save(self) -> None:
        """Saves the present policy and optimiser as the stage, and collects one rollout of it."""
        training, learner = self.training, self.training.learner
        self._updates = training.updates_made
        self._collect(training.player, learner.network)  # tells the player whether inputs repeat
        self._rollout = self._collect(training.player, learner.network)
        scorekeeper = Scorekeeper(training.job.train.n_envs)
        self._reward, self._episodes = scorekeeper.score(
            self._rollout, training.weight.of(self._rollout.orders), _VIEW
        )
        parameters = list(learner.network.parameters())
        is_new = not learner.optimiser.state
        self._saved = [(tensor, tensor.detach().clone()) for tensor in parameters]
        if is_new:  # an optimiser's memory begins with its first update, as zeros
            learner.update([(self._rollout, self._reward)], np.random.default_rng(0))
        for memory in learner.optimiser.state.values():
            for tensor in memory.values():
                self._saved.append((tensor, tensor.clone() if not is_new else tensor.clone() * 0))
        self.restore()

    def works(self) -> dict[str, Work]:
        """Returns what is measured, by name; each call does the work of one or more updates."""
        training, learner = self.training, self.training.learner
        rollout, reward, game = self._rollout, self._reward, training.job.game
        size, envs = rollout.transitions, training.job.train.n_envs
        network = copy.deepcopy(learner.network)
        player = Player(SimulatorWorld(make_batch(envs, game)), training.job.order, seed=1)
        batch = make_batch(envs, game)
        batch.reset(seed=training.job.seed)
        actions = [np.ascontiguousarray(row) for row in rollout.actions]
        ranks = TYPES.host_ranks(rollout.orders[0])
        scorekeeper = Scorekeeper(envs)
        rng = np.random.default_rng(0)

        def collect() -> int:
            return self._collect(player, network).transitions

        def update() -> int:
            self.restore()
            learner.update([(rollout, reward)], rng)
            return size

        def train() -> int:
            self.restore()
            for _ in range(self._updates_per_restore):
                training.update()
            return self._updates_per_restore * size

        def simulate() -> int:
            for row in actions:
                batch.step(row)
            return size

        def judge() -> int:
            state = batch.state
            for row in actions:
                judge_observed(state["table"], row, ranks)
                judge_true(held_hosts(state), state["removable"], row, ranks)
            return size

        def score() -> int:
            scorekeeper.score(rollout, training.weight.of(rollout.orders), _VIEW)
            return size

        works: dict[str, Work] = {"rollout": collect, "update": update, "training": train}
        works |= {"simulate": simulate, "judge": judge, "score": score}
        for work in works.values():
            work()
        return {f"{what}, {self.name}": work for what, work in works.items()}

    def stage(self, rates: dict[str, Rate]) -> Stage:
        """Returns the stage's description, given the rates measured at it."""
        learner, rollout = self.training.learner, self._rollout
        inputs = samples_of([(rollout, self._reward)], learner.config).inputs
        every = rollout.transitions * flop_per_input(learner.network)
        if learner.needs_distinct:
            run = len(inputs) * flop_per_input(learner.network)
        else:  # every transition, in the first layer what is not 0
            nonzero = np.count_nonzero(rollout.inputs, axis=1)[rollout.rows].mean()
            run = rollout.transitions * flop_per_input(learner.network, nonzero)
        seconds = {
            what: rollout.transitions / rates[f"{what}, {self.name}"].median
            for what in ("rollout", "update", "simulate", "judge", "score")
        }
        acting = seconds["rollout"] - seconds["simulate"] - seconds["judge"]
        compliance = seconds["judge"] + seconds["score"]
        shares = (seconds["simulate"], max(acting, 0.0), compliance, seconds["update"])
        return Stage(
            name=self.name,
            updates=self._updates,
            distinct_inputs=len(rollout.inputs),
            update_flop=round(learner.config.epochs * run),
            naive_flop=round(learner.config.epochs * every),
            env_reward=float(self._episodes.env_reward.mean()),
            compliance=float(self._episodes.compliance(_VIEW).mean()),
            phase_seconds=dict(zip(PHASES, shares, strict=True)),
        )

    def _collect(self, player: Player, network: ActorCritic) -> Rollout:
        training = self.training
        return player.collect(
            network,
            training.steps,
            masked=training.job.ppo.mask_actions,
            distinct=training.learner.needs_distinct,
        )

    def restore(self) -> None:
        """Sets the policy and its optimiser back to what `save` saved."""
        with torch.no_grad():
            for tensor, saved in self._saved:
                tensor.copy_(saved)


def _subject_at(
    stage: str,
    updates: int,
    config: GameConfig,
    num_envs: int,
    progress: Callable[[str], None],
) -> Subject:
    """Returns a training that has done so many updates and saved that as its stage."""
    subject = Subject(stage, config, num_envs)
    for update in range(updates):
        progress(f"settling the policy, update {update + 1} of {updates}")
        subject.training.update()
    subject.save()
    return subject


def flop_per_input(network: ActorCritic, nonzero: float | None = None) -> float:
    """Returns the multiplications and additions of one input's forward and backward pass.

    Of each linear layer: its outputs, the gradient of its weights and, but for the first layer,
    that of its inputs, with two operations for each weight.

    Args:
        network: actor and critic.
        nonzero: how many of an input's numbers count; None: all.
    """
    total = 0.0
    for stack in (network.actor, network.critic):
        first, *rest = [layer for layer in stack if isinstance(layer, nn.Linear)]
        counted = first.in_features if nonzero is None else nonzero
        total += 4 * counted * first.out_features + 6 * sum(x.weight.numel() for x in rest)
    return total


def sgemm_peak() -> Work:
    """Returns the product of large matrices, about this machine's peak, counted in FLOP."""
    a, b = torch.rand(2, _PEAK_SIZE, _PEAK_SIZE)
    out = torch.empty_like(a)

    def work() -> int:
        torch.mm(a, b, out=out)
        return 2 * _PEAK_SIZE**3

    work()
    return work


def _others(config: GameConfig, num_envs: int) -> tuple[dict[str, Work], list[str]]:
    works: dict[str, Work] = {PEAK: sgemm_peak()}
    skipped = []
    order = TYPES.index(ORDER)
    makers: dict[str, Callable[[], Work]] = {
        SB3: lambda: contenders.sb3_ppo(
            num_envs, config, order, PPO_FORMS["documented"], TrainConfig.hidden
        ),
        SB3_MODERN: lambda: contenders.sb3_ppo(
            num_envs, config, order, PPO_FORMS["modern"], MODERN_HIDDEN
        ),
        CYBORG: lambda: contenders.cyborg(config),
    }
    for name, make in makers.items():
        try:
            works[name] = make()
        except MissingDependencyError as error:
            skipped.append(str(error))
    return works, skipped


def sb3_beside(name: str) -> str:
    """Returns which rate of Stable-Baselines3 has the settings of a row."""
    return SB3_MODERN if name.endswith(MODERN) else SB3


def ratios_of(rates: dict[str, Rate]) -> list[Ratio]:
    """Returns our rates over the others', of those that were measured."""
    pairs = []
    for stage in (*STAGES, MODERN):
        if CYBORG in rates:
            pairs += [(f"rollout, {stage}", CYBORG), (f"training, {stage}", CYBORG)]
        beside = sb3_beside(stage)
        if beside in rates:
            pairs.append((f"training, {stage}", beside))
    return [
        Ratio(f"{ours} / {theirs}", rates[ours].median / rates[theirs].median)
        for ours, theirs in pairs
    ]
