"""Collecting transitions: a vector of environments played by a policy table.

The rollout keeps, for each step and environment, the table row of the input instead of the input,
and everything compliance needs. Environments keep playing from one rollout to the next.
"""

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.world import World
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.outputs import AllActions, Outputs
from workflow_rl.ppo.table import PolicyTable
from workflow_rl.workflow.compliance import judge_observed, judge_true
from workflow_rl.workflow.orders import ENCODING_SIZE, ENCODINGS, NUM_ORDERS, SEQUENCES

_ACTIONS, _ORDERS, _FIRST_ORDERS = range(3)  # what a generator is for
_EVERYWHERE = slice(None)


@dataclass(frozen=True)
class Rollout:
    """T steps of B environments; U distinct inputs."""

    inputs: NDArray[np.int8]  # (U, width) the distinct inputs
    probabilities: NDArray[np.float32]  # (U, actions) of the policy that played
    values: NDArray[np.float32]  # (U,) its critic's
    rows: NDArray[np.int32]  # (T, B) which input
    last_rows: NDArray[np.int32]  # (B,) the inputs after the last step
    actions: NDArray[np.int64]  # (T, B) the policy's choice among its outputs
    env_reward: NDArray[np.float32]  # (T, B)
    ends: NDArray[np.bool_]  # (T, B) the step was its episode's last
    orders: NDArray[np.int16]  # (T, B) index of the order in force
    any_open: NDArray[np.bool_]  # (T, B, 2) a host was open, observed and true view
    verdict: NDArray[np.int8]  # (T, B, 2) of the action, observed and true view
    masks: NDArray[np.bool_] | None = None  # (T, B, actions) what was allowed, if masked
    allowed_mass: NDArray[np.float32] | None = None  # (T, B) probability of what was allowed
    left_out: NDArray[np.bool_] | None = None  # (T, B) of episodes broken off: not to learn from
    simulate_seconds: float = 0.0  # spent in the simulator; the rest went into acting and judging

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays, by the name of their field."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v for k, v in values.items() if isinstance(v, np.ndarray)}

    @property
    def transitions(self) -> int:
        """Steps of all environments together."""
        return self.actions.size


class Player:
    """Environments, and the order each of them plays under."""

    def __init__(
        self,
        world: World,
        order: int | None,
        seed: int,
        *,
        conditioned: bool = True,
        outputs: Outputs | None = None,
    ) -> None:
        """Starts an episode everywhere.

        Args:
            world: the environments.
            order: the order of every episode; None draws one for each episode.
            seed: of the games, the drawn orders and the sampled actions.
            conditioned: whether the policy is shown the order.
            outputs: what the policy's outputs mean; by default the 145 actions.
        """
        self.world = world
        self.outputs = outputs or AllActions()
        self._fixed = order
        self._seed = seed
        self._conditioned = conditioned
        self._rollouts = 0
        n = world.num_envs
        self.width = world.observation_size + (ENCODING_SIZE if conditioned else 0)
        self._input = np.zeros((n, self.width), np.int8)
        self._orders = np.full(n, 0 if order is None else order, np.int16)
        world.reset(seed)
        self._new_orders(_EVERYWHERE, self._generator(_FIRST_ORDERS).integers(0, NUM_ORDERS, n))

    def collect(self, network: ActorCritic, steps: int, *, masked: bool = False) -> Rollout:
        """Plays `steps` steps in every environment by the network's present weights."""
        world, n = self.world, self.world.num_envs
        table = PolicyTable(network, self.width)
        uniforms = self._generator(_ACTIONS).random((steps, n), np.float32)
        new_orders = self._generator(_ORDERS).integers(0, NUM_ORDERS, (steps, n))
        self._rollouts += 1
        rows = np.empty((steps, n), np.int32)
        actions = np.empty((steps, n), np.int64)
        masks = np.empty((steps, *world.action_mask.shape), np.bool_) if masked else None
        mass = np.empty((steps, n), np.float32) if masked else None
        reward = np.empty((steps, n), np.float32)
        ends = np.empty((steps, n), np.bool_)
        orders = np.empty((steps, n), np.int16)
        any_open = np.empty((steps, n, 2), np.bool_)
        verdict = np.empty((steps, n, 2), np.int8)
        left_out: NDArray[np.bool_] | None = None
        sequences = SEQUENCES[self._orders]
        simulating = 0.0
        for t in range(steps):
            self._input[:, : world.observation_size] = world.observation
            rows[t] = table.number(self._input)
            if masks is None or mass is None:
                actions[t] = table.sample(rows[t], uniforms[t])
            else:
                masks[t] = world.action_mask
                actions[t], mass[t] = table.sample_masked(rows[t], masks[t], uniforms[t])
            played = self.outputs.actions(actions[t])
            seen = judge_observed(world.table, played, sequences)
            true = judge_true(world.held, world.removable, played, sequences)
            any_open[t, :, 0], verdict[t, :, 0] = seen
            any_open[t, :, 1], verdict[t, :, 1] = true
            orders[t] = self._orders
            before = time.perf_counter()
            ended = world.step(played)
            simulating += time.perf_counter() - before
            reward[t] = world.reward
            ends[t] = world.ended
            if world.lost is not None:
                if left_out is None:
                    left_out = np.zeros((steps, n), np.bool_)
                _leave_out(world.lost, t, ends, left_out)
            if ended:
                self.outputs.end(ends[t])
                if self._fixed is None:
                    self._new_orders(ends[t], new_orders[t, ends[t]])
                    sequences = SEQUENCES[self._orders]
        self._input[:, : world.observation_size] = world.observation
        last_rows = table.number(self._input)
        size = len(table.inputs)
        return Rollout(
            inputs=table.inputs.rows,
            probabilities=table.probabilities[:size],
            values=table.values[:size],
            rows=rows,
            last_rows=last_rows,
            actions=actions,
            masks=masks,
            allowed_mass=mass,
            env_reward=reward,
            ends=ends,
            orders=orders,
            any_open=any_open,
            verdict=verdict,
            left_out=left_out,
            simulate_seconds=simulating,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns what must be kept to go on later."""
        arrays: dict[str, NDArray[Any]] = {
            "rollouts": np.array([self._rollouts]),
            "orders": self._orders.copy(),
            "input": self._input.copy(),
        }
        arrays |= {f"world.{name}": array for name, array in self.world.state().items()}
        return arrays | {f"outputs.{name}": a for name, a in self.outputs.state().items()}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Goes on from a kept state."""
        self._rollouts = int(arrays["rollouts"][0])
        self._orders[:] = arrays["orders"]
        self._input[:] = arrays["input"]
        for name, owner in (("world.", self.world), ("outputs.", self.outputs)):
            kept = {k.removeprefix(name): v for k, v in arrays.items() if k.startswith(name)}
            owner.load_state(kept)

    def _generator(self, purpose: int) -> np.random.Generator:
        """Returns a generator that depends on the seed, the purpose and the rollout alone."""
        return np.random.default_rng([self._seed, purpose, self._rollouts])

    def _new_orders(self, envs: Any, drawn: NDArray[np.int64]) -> None:
        """Gives environments whose episode begins their order and shows it in the input."""
        if self._fixed is None:
            self._orders[envs] = drawn
        if self._conditioned:
            self._input[envs, -ENCODING_SIZE:] = ENCODINGS[self._orders[envs]]


def _leave_out(
    lost: NDArray[np.bool_], t: int, ends: NDArray[np.bool_], left_out: NDArray[np.bool_]
) -> None:
    """Marks the steps of episodes that broke off at step t, and ends them there."""
    for env in np.flatnonzero(lost):
        earlier = np.flatnonzero(ends[:t, env])
        start = int(earlier[-1]) + 1 if len(earlier) else 0
        left_out[start : t + 1, env] = True
        ends[t, env] = True
