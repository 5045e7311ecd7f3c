"""Speed of training on one thread, compared with Stable-Baselines3 and, where importable, CybORG.

python -m benchmarks.train --cyborg-path DIR
python -m benchmarks.train --observation memory

What an update costs depends on how many distinct inputs its transitions hold, so the documented
form is measured twice: *fresh*, in the first updates of a policy, and *settled*, after some
training. To stay there, the weights are restored every few updates; environments play on.
*modern* is the modern form with larger networks, in its first updates.
"""

import copy
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks.measure import Benchmark, Rounds, Row, Work, counted, number
from benchmarks.sim import EPISODE_LENGTH, cyborg, simulator, slow_steps
from workflow_rl.config import PPO_FORMS, GameConfig, PPOConfig, TrainConfig
from workflow_rl.envs.cyborg_import import silence_gym
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.vector import Cage2VectorEnv
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.errors import MissingDependencyError
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.ppo.samples import samples_of
from workflow_rl.ppo.update import Learner
from workflow_rl.processes import one_thread
from workflow_rl.sim.network import held_hosts
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training
from workflow_rl.workflow.compliance import judge_observed, judge_true
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import TYPES

ORDER: Final = TYPES.index(("op_server", "enterprise", "op_host", "user", "defender"))
CYBORG: Final = "CybORG, one process"


class Form(NamedTuple):
    """What a stage trains with, and its name in the comparison with Stable-Baselines3."""

    ppo: PPOConfig
    hidden: tuple[int, ...]
    sb3: str


DOCUMENTED: Final = Form(PPO_FORMS["documented"], TrainConfig.hidden, "Stable-Baselines3 PPO")
MODERN: Final = Form(PPO_FORMS["modern"], (128, 128), "Stable-Baselines3 PPO, modern")
FORMS: Final = {"fresh": DOCUMENTED, "settled": DOCUMENTED, "modern": MODERN}
_VIEW: Final = TrainConfig.compliance_view
_PEAK_SIZE: Final = 1024
PEAK: Final = f"sgemm {_PEAK_SIZE}^3"


class Stage:
    """A training that is measured at one stage of its policy."""

    def __init__(self, name: str, bench: Benchmark, updates: int = 0) -> None:
        """Trains for a number of updates, then saves policy and optimiser as the stage."""
        self.name, self.form = name, FORMS[name]
        envs, hidden = bench.args.n_envs, self.form.hidden
        train = TrainConfig(n_envs=envs, max_episodes=10**9, stop_at="budget", hidden=hidden)
        self.training = Training(TrainJob(bench.game, self.form.ppo, train, 0, ORDER))
        for update in range(updates):
            bench.tell(f"settling the policy, update {update + 1} of {updates}")
            self.training.update()
        self._updates = updates
        training, learner = self.training, self.training.learner
        self._collect(training.player, learner)  # tells the player whether inputs repeat
        self.rollout = self._collect(training.player, learner)
        self._reward, self._episodes = Scorekeeper(envs).score(
            self.rollout, training.weight.of(self.rollout.orders), _VIEW
        )
        is_new = not learner.optimiser.state
        self._saved = [(tensor, tensor.detach().clone()) for tensor in learner.network.parameters()]
        if is_new:  # an optimiser's memory begins with its first update, as zeros
            learner.update([(self.rollout, self._reward)], np.random.default_rng(0))
        for memory in learner.optimiser.state.values():
            self._saved += [
                (t, torch.zeros_like(t) if is_new else t.clone()) for t in memory.values()
            ]
        self.restore()

    def restore(self) -> None:
        """Sets the policy and its optimiser back to what they were at the stage."""
        with torch.no_grad():
            for tensor, saved in self._saved:
                tensor.copy_(saved)

    def _collect(self, player: Player, learner: Learner) -> Rollout:
        return player.collect(
            learner.network,
            self.training.steps,
            masked=learner.config.mask_actions,
            networks=learner.fused,
        )

    def works(self) -> dict[str, Work]:
        """Returns what is measured, by name; each call does the work of one or more updates."""
        training, learner, rollout = self.training, self.training.learner, self.rollout
        game, envs = training.job.game, training.job.train.n_envs
        frozen = Learner(copy.deepcopy(learner.network), learner.config)
        player = Player(SimulatorWorld(make_batch(envs, game)), training.job.order, seed=1)
        batch = make_batch(envs, game)
        batch.reset(seed=training.job.seed)
        actions = [np.ascontiguousarray(row) for row in rollout.actions]
        ranks = TYPES.host_ranks(rollout.orders[0])
        scorekeeper = Scorekeeper(envs)
        rng = np.random.default_rng(0)

        def update() -> None:
            self.restore()
            learner.update([(rollout, self._reward)], rng)

        def train() -> None:
            self.restore()
            for _ in range(updates):
                training.update()

        def simulate() -> None:
            for row in actions:
                batch.step(row)

        def judge() -> None:
            state = batch.state
            for row in actions:
                judge_observed(state["table"], row, ranks)
                judge_true(held_hosts(state), state["removable"], row, ranks)

        def score() -> None:
            scorekeeper.score(rollout, training.weight.of(rollout.orders), _VIEW)

        updates = 1 if self.form == MODERN else 5  # after which the weights are restored
        works: dict[str, Callable[[], object]] = {
            "rollout": lambda: self._collect(player, frozen),
            "update": update,
            "simulate": simulate,
            "judge": judge,
            "score": score,
        }
        size = rollout.transitions
        found = {f"{what}, {self.name}": counted(do, size) for what, do in works.items()}
        return found | {f"training, {self.name}": counted(train, updates * size)}

    def row(self, rates: dict[str, Rounds]) -> Row:
        """Returns what an update at the stage is made of: time by phase, and arithmetic."""
        learner, rollout = self.training.learner, self.rollout
        plain = rollout.transitions * flop_per_input(learner.network)
        if learner.fused is None:
            inputs = samples_of([(rollout, self._reward)], learner.config).inputs
            done = len(inputs) * flop_per_input(learner.network)
        else:  # every transition, in the first layer what is not 0
            nonzero = np.count_nonzero(rollout.inputs, axis=1)[rollout.rows].mean()
            done = rollout.transitions * flop_per_input(learner.network, nonzero)
        ms = {
            what: 1e3 * rollout.transitions / rates[f"{what}, {self.name}"].median
            for what in ("rollout", "update", "simulate", "judge", "score")
        }
        per_second = learner.config.epochs / (ms["update"] / 1e3) / 1e9
        peak = rates[PEAK].median / 1e9
        return {
            "policy": self.name,
            "updates": self._updates,
            "simulate, ms": ms["simulate"],
            "infer and sample, ms": max(ms["rollout"] - ms["simulate"] - ms["judge"], 0.0),
            "compliance, ms": ms["judge"] + ms["score"],
            "update, ms": ms["update"],
            "distinct inputs": len(rollout.inputs),
            "GFLOP/s": done * per_second,
            "of sgemm": done * per_second / peak,
            "GFLOP/s as if plain": plain * per_second,
            "reward": float(self._episodes.env_reward.mean()),
            "compliance": float(self._episodes.compliance(_VIEW).mean()),
        }


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
    return counted(lambda: torch.mm(a, b, out=out), 2 * _PEAK_SIZE**3)


def sb3_ppo(form: Form, num_envs: int, game: GameConfig) -> Work:
    """Whole iterations of Stable-Baselines3's PPO on our vector environment, with equal settings.

    The order is appended to its observations, so that its networks have the size of ours; what
    does not exist there (compliance, masked actions) is not done.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.logger import Logger
    except ImportError as error:
        raise MissingDependencyError(f"Stable-Baselines3 cannot be imported ({error})") from error
    settings, hidden = form.ppo, list(form.hidden)
    longest = settings.max_gradient_norm
    transitions = EPISODE_LENGTH * num_envs
    model = PPO(
        "MlpPolicy",
        _sb3_env(num_envs, game),
        learning_rate=settings.learning_rate,
        n_steps=EPISODE_LENGTH,
        batch_size=settings.step_samples(transitions),
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=1.0 if settings.gae_lambda is None else settings.gae_lambda,
        clip_range=settings.clip,
        normalize_advantage=settings.gae_lambda is not None,
        ent_coef=settings.entropy_weight,
        vf_coef=settings.value_weight,
        max_grad_norm=math.inf if longest is None else longest,
        policy_kwargs={
            "net_arch": {"pi": hidden, "vf": hidden},
            "activation_fn": nn.Tanh if settings.activation == "tanh" else nn.ReLU,
        },
        seed=0,
        device="cpu",
    )
    model.set_logger(Logger(folder=None, output_formats=[]))  # it would leave a folder behind
    learn = partial(model.learn, transitions, log_interval=None, reset_num_timesteps=False)
    return counted(learn, transitions)


def _sb3_env(num_envs: int, game: GameConfig) -> Any:
    """Returns our environments for Stable-Baselines3, the encoded order after each observation."""
    silence_gym()
    from workflow_rl.envs.sb3 import Sb3VecEnv

    order = OrderEncoding("onehot", TYPES.units).order_bits(TYPES.host_ranks([ORDER]))[0]

    class WithOrder(Sb3VecEnv):
        def reset(self) -> NDArray[np.int8]:
            return self._with_order(super().reset())

        def step_wait(self) -> Any:
            observation, reward, done, infos = super().step_wait()
            for k in np.flatnonzero(done):
                last = infos[k]["terminal_observation"]
                infos[k]["terminal_observation"] = np.concatenate([last, order])
            return self._with_order(observation), reward, done, infos

        def _with_order(self, observation: NDArray[np.int8]) -> NDArray[np.int8]:
            return np.concatenate([observation, np.tile(order, (num_envs, 1))], axis=1)

    env = Cage2VectorEnv(num_envs, game=game)
    space: Any = env.single_observation_space
    high = np.concatenate([space.high, np.ones_like(order)])
    venv = WithOrder(env)
    venv.observation_space = type(space)(np.zeros_like(high), high, dtype=np.int8)
    return venv


def others(bench: Benchmark) -> dict[str, Work]:
    """Returns the contenders that are here; why the others are not goes to `bench.skipped`."""
    game, envs = bench.game, bench.args.n_envs
    works = {PEAK: sgemm_peak()}
    makers: dict[str, Callable[[], Work]] = {
        DOCUMENTED.sb3: lambda: sb3_ppo(DOCUMENTED, envs, game),
        MODERN.sb3: lambda: sb3_ppo(MODERN, envs, game),
        CYBORG: lambda: slow_steps(cyborg(game)),
    }
    for name, make in makers.items():
        try:
            works[name] = make()
        except MissingDependencyError as error:
            bench.skipped.append(str(error))
    return works


def measure(bench: Benchmark) -> None:
    """Measures everything that is here."""
    envs = bench.args.n_envs
    with one_thread():
        settled = {"settled": bench.args.settle}
        stages = [Stage(name, bench, settled.get(name, 0)) for name in FORMS]
        bench.tell("preparing")
        works = {"simulator": simulator(envs, 1, bench.game)}
        for stage in stages:
            works |= stage.works()
        rates = bench.rates(works | others(bench))
    parts = {name for name in rates if name.startswith(("simulate,", "judge,", "score,"))}
    bench.tables["speed"] = [
        {
            "name": name,
            "transitions per second": rate,
            "ms per update": 1e3 * EPISODE_LENGTH * envs / rate.median,
        }
        for name, rate in rates.items()
        if name not in parts | {PEAK}
    ]
    bench.tables[f"an update of {envs} environments"] = [stage.row(rates) for stage in stages]
    bench.tables["peak"] = [{"name": PEAK, "FLOP per second": rates[PEAK]}]
    for stage in stages:
        pairs = (("rollout", CYBORG), ("training", CYBORG), ("training", stage.form.sb3))
        for ours, theirs in pairs:
            if theirs in rates:
                name = f"{ours}, {stage.name}"
                bench.ratios[f"{name} / {theirs}"] = rates[name] / rates[theirs]


def main() -> int:
    """Runs the benchmark."""
    bench = Benchmark(
        "train",
        "compare training, on one thread, with Stable-Baselines3 and, where importable, CybORG",
        game_flags=("red_agent", "rules", "observation"),
        cyborg=True,
    )
    after = "updates of training after which a policy counts as settled"
    bench.flag("--settle", type=number(0, 1_000_000), default=150, help=after)
    side_by_side = "environments, each of which plays an episode per update"
    bench.flag("--n-envs", type=number(1, 100_000), default=200, help=side_by_side)
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
