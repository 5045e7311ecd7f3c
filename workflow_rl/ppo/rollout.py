"""Collecting transitions: a vector of environments played by a policy table.

The rollout keeps, for each step and environment, the table row of the input instead of the input,
and everything compliance needs. Environments keep playing from one rollout to the next.
"""

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.table import PolicyTable
from workflow_rl.sim.batch import Batch
from workflow_rl.workflow.compliance import judge_observed, judge_true
from workflow_rl.workflow.orders import ENCODING_SIZE, ENCODINGS, NUM_ORDERS, SEQUENCES

_ACTIONS, _ORDERS, _FIRST_ORDERS = range(3)  # what a generator is for


@dataclass(frozen=True)
class Rollout:
    """T steps of B environments; U distinct inputs."""

    inputs: NDArray[np.int8]  # (U, width) the distinct inputs
    probabilities: NDArray[np.float32]  # (U, actions) of the policy that played
    values: NDArray[np.float32]  # (U,) its critic's
    rows: NDArray[np.int32]  # (T, B) which input
    last_rows: NDArray[np.int32]  # (B,) the inputs after the last step
    actions: NDArray[np.int64]  # (T, B)
    env_reward: NDArray[np.float32]  # (T, B)
    ends: NDArray[np.bool_]  # (T, B) the step was its episode's last
    orders: NDArray[np.int16]  # (T, B) index of the order in force
    any_open: NDArray[np.bool_]  # (T, B, 2) a host was open, observed and true view
    verdict: NDArray[np.int8]  # (T, B, 2) of the action, observed and true view
    masks: NDArray[np.bool_] | None = None  # (T, B, actions) what was allowed, if masked
    allowed_mass: NDArray[np.float32] | None = None  # (T, B) probability of what was allowed
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
        self, batch: Batch, order: int | None, seed: int, *, conditioned: bool = True
    ) -> None:
        """Starts an episode everywhere.

        Args:
            batch: the environments.
            order: the order of every episode; None draws one for each episode.
            seed: of the games, the drawn orders and the sampled actions.
            conditioned: whether the policy is shown the order.
        """
        self.batch = batch
        self._fixed = order
        self._seed = seed
        self._conditioned = conditioned
        self._rollouts = 0
        self.width = batch.observation_size + (ENCODING_SIZE if conditioned else 0)
        self._input = np.zeros((batch.num_envs, self.width), np.int8)
        self._orders = np.full(batch.num_envs, 0 if order is None else order, np.int16)
        batch.reset(seed)
        self._new_orders(np.arange(batch.num_envs), self._generator(_FIRST_ORDERS))

    def collect(self, network: ActorCritic, steps: int, *, masked: bool = False) -> Rollout:
        """Plays `steps` steps in every environment by the network's present weights."""
        batch, n = self.batch, self.batch.num_envs
        table = PolicyTable(network, self.width)
        uniforms = self._generator(_ACTIONS).random((steps, n), np.float32)
        order_rng = self._generator(_ORDERS)
        self._rollouts += 1
        rows = np.empty((steps, n), np.int32)
        actions = np.empty((steps, n), np.int64)
        masks = np.empty((steps, *batch.out.action_mask.shape), np.bool_) if masked else None
        mass = np.empty((steps, n), np.float32) if masked else None
        reward = np.empty((steps, n), np.float32)
        ends = np.empty((steps, n), np.bool_)
        orders = np.empty((steps, n), np.int16)
        any_open = np.empty((steps, n, 2), np.bool_)
        verdict = np.empty((steps, n, 2), np.int8)
        sequences = SEQUENCES[self._orders]
        simulating = 0.0
        for t in range(steps):
            self._input[:, : batch.observation_size] = batch.observation
            rows[t] = table.number(self._input)
            if masks is None or mass is None:
                actions[t] = table.sample(rows[t], uniforms[t])
            else:
                masks[t] = batch.out.action_mask
                actions[t], mass[t] = table.sample_masked(rows[t], masks[t], uniforms[t])
            state = batch.state
            seen = judge_observed(state["table"], actions[t], sequences)
            held = state["privileged"] | state["removable"] | state["persistent"]
            true = judge_true(held, state["removable"], actions[t], sequences)
            any_open[t, :, 0], verdict[t, :, 0] = seen
            any_open[t, :, 1], verdict[t, :, 1] = true
            orders[t] = self._orders
            before = time.perf_counter()
            ended = batch.step(actions[t])
            simulating += time.perf_counter() - before
            reward[t] = batch.out.reward
            ends[t] = batch.out.truncated
            if ended and self._fixed is None:
                self._new_orders(np.flatnonzero(ends[t]), order_rng)
                sequences = SEQUENCES[self._orders]
        self._input[:, : batch.observation_size] = batch.observation
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
            simulate_seconds=simulating,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns what must be kept to go on later."""
        arrays: dict[str, NDArray[Any]] = {
            "rollouts": np.array([self._rollouts]),
            "orders": self._orders,
            "input": self._input,
            "states": self.batch.state.view(np.uint8),
        }
        arrays |= {f"out.{k}": v for k, v in self.batch.out._asdict().items()}
        return {name: array.copy() for name, array in arrays.items()}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Goes on from a kept state."""
        self._rollouts = int(arrays["rollouts"][0])
        self._orders[:] = arrays["orders"]
        self._input[:] = arrays["input"]
        self.batch.state.view(np.uint8)[:] = arrays["states"]
        for name, array in self.batch.out._asdict().items():
            array[:] = arrays[f"out.{name}"]

    def _generator(self, purpose: int) -> np.random.Generator:
        """Returns a generator that depends on the seed, the purpose and the rollout alone."""
        return np.random.default_rng([self._seed, purpose, self._rollouts])

    def _new_orders(self, envs: NDArray[np.int64], rng: np.random.Generator) -> None:
        """Gives environments whose episode begins their order and shows it in the input."""
        if self._fixed is None:
            self._orders[envs] = rng.integers(0, NUM_ORDERS, len(envs))
        if self._conditioned:
            self._input[envs, -ENCODING_SIZE:] = ENCODINGS[self._orders[envs]]
