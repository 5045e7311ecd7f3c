"""Collecting transitions: a vector of environments played by a policy.

The rollout keeps, for each step and environment, which input there was, what was done, and
everything compliance needs. Environments keep playing from one rollout to the next.
"""

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.action_space import action_space_of
from workflow_rl.config import TrainConfig
from workflow_rl.envs.world import World
from workflow_rl.ppo.acting import Forward, PlainPolicy, PolicyTable
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.workflow.compliance import (
    NOT_A_FIX,
    judge_observed,
    judge_true,
    without_violations,
)
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.episode_orders import episode_orders_of
from workflow_rl.workflow.orders import Orders

_ACTIONS, _ORDERS, _FIRST_ORDERS = range(3)  # what a generator is for
_EVERYWHERE = slice(None)
_FEW_REPEAT = 1 / 3  # above this share of distinct inputs, looking them up costs more than it saves
_LOOK_EVERY = 8  # rollouts after which inputs that were run as they came are counted again
_LEAST_PROBABILITY = np.float32(1e-30)
_DEFAULT = TrainConfig()

Policy = PolicyTable | PlainPolicy


@dataclass
class Rollout:
    """T steps of B environments; U inputs, each distinct one once or each as it came."""

    inputs: NDArray[np.int8]  # (U, width) the inputs
    rows: NDArray[np.int32]  # (T, B) which input
    actions: NDArray[np.int64]  # (T, B) the policy's choice among its outputs
    log_probability: NDArray[np.float32]  # (T, B) of it, among what was allowed
    values: NDArray[np.float32]  # (T, B) the critic's, before the step
    last_values: NDArray[np.float32]  # (B,) the critic's, after the last step
    env_reward: NDArray[np.float32]  # (T, B)
    ends: NDArray[np.bool_]  # (T, B) the step was its episode's last
    orders: NDArray[np.int64]  # (T, B) number of the order in force
    any_open: NDArray[np.bool_]  # (T, B, 2) a host was open, observed and true view
    verdict: NDArray[np.int8]  # (T, B, 2) of the action, observed and true view
    removed: NDArray[np.bool_]  # (T, B) the action was a Remove that ended a session of Red's
    masks: NDArray[np.bool_] | None = None  # (T, B, actions) what was allowed, if masked
    left_out: NDArray[np.bool_] | None = None  # (T, B) of episodes broken off: not to learn from
    simulate_seconds: float = 0.0  # spent in the simulator; the rest went into acting and judging

    @classmethod
    def empty(cls, steps: int, num_envs: int, outputs: int, *, masked: bool) -> Self:
        """Returns a rollout that is still to be played."""
        shape = (steps, num_envs)
        return cls(
            inputs=np.empty((0, 0), np.int8),
            rows=np.empty(shape, np.int32),
            actions=np.empty(shape, np.int64),
            log_probability=np.empty(shape, np.float32),
            values=np.empty(shape, np.float32),
            last_values=np.empty(num_envs, np.float32),
            env_reward=np.empty(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            orders=np.empty(shape, np.int64),
            any_open=np.zeros((*shape, 2), np.bool_),
            verdict=np.full((*shape, 2), NOT_A_FIX, np.int8),
            removed=np.zeros(shape, np.bool_),
            masks=np.empty((*shape, outputs), np.bool_) if masked else None,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays, by the name of their field."""
        return {k: v for k, v in vars(self).items() if isinstance(v, np.ndarray)}

    @property
    def transitions(self) -> int:
        """Steps of all environments together."""
        return self.actions.size

    def leave_out(self, lost: NDArray[np.bool_], t: int) -> None:
        """Marks the steps of episodes that broke off at step t, and ends them there."""
        if self.left_out is None:
            self.left_out = np.zeros(self.ends.shape, np.bool_)
        for env in np.flatnonzero(lost):
            earlier = np.flatnonzero(self.ends[:t, env])
            start = int(earlier[-1]) + 1 if len(earlier) else 0
            self.left_out[start : t + 1, env] = True
            self.ends[t, env] = True


@dataclass(frozen=True)
class _Plan:
    """Random numbers of a rollout, sampled before it: they depend on step and environment alone."""

    policy: Policy
    uniforms: NDArray[np.float32]  # (T, B) for the actions
    orders: NDArray[np.int64]  # (T, B) of an episode that begins after the step


class _Situations:
    """What judging a rollout's actions needs: the actions and how it stood before each."""

    def __init__(self, steps: int, world: World) -> None:
        shape = (steps, world.num_envs)
        self._network = world.network
        self._is_remove = actions_of(self._network).kinds == ActionKind.REMOVE
        self.played = np.empty(shape, np.int64)
        self.table = np.empty((*shape, *world.table.shape[1:]), np.int64)
        self.held = np.empty(shape, np.int64)
        self.removable = np.empty(shape, np.int64)
        self.ranks = np.empty((*shape, len(self._network.hosts)), np.int8)

    def judge(self, rollout: Rollout) -> None:
        """Writes which actions followed the order, in both views, into the rollout."""
        played, network = self.played.reshape(-1), self._network
        ranks = self.ranks.reshape(-1, self.ranks.shape[-1])
        tables = self.table.reshape(-1, self.table.shape[-1])
        seen = judge_observed(tables, played, ranks, network)
        held, removable = self.held.reshape(-1), self.removable.reshape(-1)
        true = judge_true(held, removable, played, ranks, network)
        shape = self.played.shape
        for view, judgement in enumerate((seen, true)):
            rollout.any_open[..., view] = judgement.any_open.reshape(shape)
            rollout.verdict[..., view] = judgement.verdict.reshape(shape)
        rollout.removed[:] = (true.counted & self._is_remove[played]).reshape(shape)


class Player:
    """Environments, and the order each of them plays under."""

    def __init__(
        self, world: World, order: int | None, seed: int, train: TrainConfig = _DEFAULT
    ) -> None:
        """Starts an episode everywhere.

        Args:
            world: the environments.
            order: the order of every episode; None samples one for each episode.
            seed: of the games, the sampled orders and the sampled actions.
            train: which orders there are, how the policy is shown one, what it chooses from.
        """
        self.world = world
        self.action_space = action_space_of(train, world.network)
        self.orders = episode_orders_of(train, world.network)  # from which orders are sampled
        units = self.orders.units if isinstance(self.orders, Orders) else None
        self._encoding: OrderEncoding | None = None
        if train.conditioned:
            self._encoding = OrderEncoding(train.shown_order, units, world.network)
        self._shielded = train.follow == "shielded"
        self._acting = self.action_space.begin(world.num_envs)
        self._fixed = order
        self._seed = seed
        self._rollouts = 0
        self._table: PolicyTable | None = None  # kept for its memory
        self._is_plain = True  # whether inputs hardly repeat, as far as is known
        n = world.num_envs
        self.width = world.observation_size + (self._encoding.size if self._encoding else 0)
        self._input = np.zeros((n, self.width), np.int8)
        self._before = _Situations(0, world)  # kept: fresh memory costs as much as the judging
        self._orders = np.full(n, 0 if order is None else order, np.int64)
        self._ranks = np.zeros(
            (n, len(world.network.hosts)), np.int8
        )  # each host's place in the order
        world.reset(seed)
        self._new_orders(
            _EVERYWHERE, self._generator(_FIRST_ORDERS).integers(0, self.orders.count, n)
        )

    def collect(
        self,
        network: ActorCritic,
        steps: int,
        *,
        masked: bool = False,
        networks: Forward | None = None,
    ) -> Rollout:
        """Plays `steps` steps in every environment by the network's current weights.

        Args:
            network: actor and critic.
            steps: how many.
            masked: whether decoys that would be refused are never chosen, nor what a shield masks.
            networks: runs the network where inputs hardly repeat, and the rollout then holds them
                as they came; None: the rollout shall hold each distinct input once.
        """
        n = self.world.num_envs
        policy = self._policy(network, steps, networks)
        plan = _Plan(
            policy,
            uniforms=self._generator(_ACTIONS).random((steps, n), np.float32),
            orders=self._generator(_ORDERS).integers(0, self.orders.count, (steps, n)),
        )
        self._rollouts += 1
        rollout = Rollout.empty(steps, n, self.action_space.size, masked=masked)
        play = self._play_as_ready if self.world.asynchronous else self._play_together
        if self._before.played.shape != (steps, n):
            self._before = _Situations(steps, self.world)
        play(plan, rollout)
        if self.world.is_judged:
            self._before.judge(rollout)
        self._look(_EVERYWHERE)
        rollout.last_values = policy.values_of(self._input)
        rollout.inputs = policy.rows  # which may be more by then
        probability = rollout.log_probability  # until here
        np.log(np.maximum(probability, _LEAST_PROBABILITY), out=probability)
        if not self._is_plain or self._rollouts % _LOOK_EVERY == 1:
            self._is_plain = policy.distinct_share > _FEW_REPEAT
        return rollout

    def _policy(self, network: ActorCritic, steps: int, networks: Forward | None) -> Policy:
        """Returns what chooses actions: the one place that decides between the two ways.

        Where environments are ready one by one, the table's answer to an input does not depend on
        what else is asked with it; so trajectories do not, either.
        """
        if networks is None or self.world.asynchronous or not self._is_plain:
            if self._table is None:
                self._table = PolicyTable(network, self.width)
            else:
                self._table.renew(network)
            return self._table
        return PlainPolicy(networks, self.width, self.world.num_envs, steps)

    def _play_together(self, plan: _Plan, rollout: Rollout) -> None:
        """Plays step after step in all environments."""
        world = self.world
        for t in range(len(plan.uniforms)):
            played = self._choose(plan, rollout, (t, _EVERYWHERE))
            start = time.perf_counter()
            ended = world.step(played)
            rollout.simulate_seconds += time.perf_counter() - start
            rollout.env_reward[t] = world.reward
            rollout.ends[t] = world.ended
            ends = rollout.ends[t]
            if world.lost is not None:
                rollout.leave_out(world.lost, t)
            if ended:
                self._acting.end(ends)
                if self._fixed is None:
                    self._new_orders(ends, plan.orders[t, ends])

    def _play_as_ready(self, plan: _Plan, rollout: Rollout) -> None:
        """Plays whichever environments are ready; each plays the same steps either way.

        An output stands for one action here: the configuration allows no lists.
        """
        world = self.world
        at = np.zeros(world.num_envs, np.int64)  # the step each environment is at
        ready = np.arange(world.num_envs)
        under_way = 0
        while len(ready) or under_way:
            if len(ready):
                world.send(self._choose(plan, rollout, (at[ready], ready)), ready)
                under_way += len(ready)
            start = time.perf_counter()
            envs = world.receive(under_way)
            rollout.simulate_seconds += time.perf_counter() - start
            under_way -= len(envs)
            t = at[envs]
            rollout.env_reward[t, envs] = world.reward[envs]
            ended = world.ended[envs]
            rollout.ends[t, envs] = ended
            if world.lost is not None:
                for env in np.flatnonzero(world.lost):
                    rollout.leave_out(np.arange(world.num_envs) == env, int(at[env]))
            if self._fixed is None and ended.any():
                self._new_orders(envs[ended], plan.orders[t[ended], envs[ended]])
            at[envs] += 1
            ready = envs[at[envs] < len(plan.uniforms)]

    def _choose(self, plan: _Plan, rollout: Rollout, at: tuple[Any, Any]) -> NDArray[np.int64]:
        """Chooses actions, in all environments at one step or in some at their own."""
        world, before, envs = self.world, self._before, at[1]
        self._look(envs)
        masks = None if rollout.masks is None else self._allowed(envs)
        choice = plan.policy.choose(self._input[envs], masks, plan.uniforms[at])
        rollout.rows[at] = choice.rows
        rollout.actions[at] = choice.actions
        rollout.log_probability[at] = choice.probability  # its logarithm at the end
        rollout.values[at] = choice.values
        if rollout.masks is not None:
            rollout.masks[at] = masks
        rollout.orders[at] = self._orders[envs]
        played = self._acting.actions(choice.actions)
        if not world.is_judged:
            return played
        before.played[at] = played
        before.table[at] = world.table[envs]
        before.held[at] = world.held[envs]
        before.removable[at] = world.removable[envs]
        before.ranks[at] = self._ranks[envs]
        return played

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns the state from which to continue."""
        arrays: dict[str, NDArray[Any]] = {
            "rollouts": np.array([self._rollouts]),
            "orders": self._orders.copy(),
            "input": self._input.copy(),
            "is_plain": np.array([self._is_plain]),
        }
        arrays |= {f"world.{name}": array for name, array in self.world.state().items()}
        return arrays | {f"outputs.{name}": a for name, a in self._acting.state().items()}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continues from a saved state."""
        self._rollouts = int(arrays["rollouts"][0])
        self._orders[:] = arrays["orders"]
        self._ranks[:] = self.orders.host_ranks(self._orders)
        self._input[:] = arrays["input"]
        self._is_plain = bool(arrays["is_plain"][0])
        for name, owner in (("world.", self.world), ("outputs.", self._acting)):
            kept = {k.removeprefix(name): v for k, v in arrays.items() if k.startswith(name)}
            owner.load_state(kept)

    def _generator(self, purpose: int) -> np.random.Generator:
        """Returns a generator that depends on the seed, the purpose and the rollout alone."""
        return np.random.default_rng([self._seed, purpose, self._rollouts])

    def _new_orders(self, envs: Any, drawn: NDArray[np.int64]) -> None:
        """Gives environments whose episode begins their order and shows it in the input."""
        if self._fixed is None:
            self._orders[envs] = self.orders.nth(drawn)
        ranks = self._ranks[envs] = self.orders.host_ranks(self._orders[envs])
        if self._encoding is not None:
            size = self.world.observation_size
            lasting = slice(size, size + self._encoding.lasting)
            self._input[envs, lasting] = self._encoding.order_bits(ranks)

    def _look(self, envs: Any) -> None:
        """Takes what Blue sees in some environments into the input, and what is due there."""
        world = self.world
        self._input[envs, : world.observation_size] = world.observation[envs]
        if self._encoding is not None and self._encoding.of_step:
            due = self._encoding.step_bits(world.table[envs], self._ranks[envs])
            self._input[envs, -self._encoding.of_step :] = due

    def _allowed(self, envs: Any) -> NDArray[np.bool_]:
        """Returns which outputs may be chosen in some environments."""
        mask = self.world.action_mask[envs]
        if self._shielded:
            tables, ranks = self.world.table[envs], self._ranks[envs]
            mask = without_violations(mask, tables, ranks, self.world.network)
        return self._acting.allowed(mask)
