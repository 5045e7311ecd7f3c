"""Score-keeping: the training reward of a rollout, and a row for each episode that ended in it."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array, is_plain
from workflow_rl.config import VIEWS, PPOConfig, ViewName
from workflow_rl.config.checks import not_allowed
from workflow_rl.jit import kernel
from workflow_rl.ppo.rollout import Rollout
from workflow_rl.train.alignment import without_expected
from workflow_rl.workflow.compliance import NOT_A_FIX, VIOLATION, Tally, compliance_shares


@dataclass(frozen=True)
class Episodes:
    """Episodes that ended, in the order in which they did; (E,) each."""

    env: NDArray[np.int32]
    order: NDArray[np.int64]
    env_reward: NDArray[np.float32]  # sum of the environment's own rewards
    alignment: NDArray[np.float32]  # compliance times the weight in force when it ended
    compliance_observed: NDArray[np.float64]
    compliance_true: NDArray[np.float64]
    fixes: NDArray[np.int32]  # Removes and Restores
    judged_observed: NDArray[np.int32]  # those that compliance is the share of
    judged_true: NDArray[np.int32]

    def __len__(self) -> int:
        """Returns the number of episodes."""
        return len(self.env)

    def compliance(self, view: str) -> NDArray[np.float64]:
        """Returns the compliance of each in one view."""
        rates: NDArray[np.float64] = getattr(self, f"compliance_{view}")
        return rates

    def judged(self, view: str) -> NDArray[np.int32]:
        """Returns how many fixes of each that is the share of."""
        counts: NDArray[np.int32] = getattr(self, f"judged_{view}")
        return counts


@kernel()
def _sums(
    values: NDArray[Any], ends: NDArray[Any], running: NDArray[Any], out: NDArray[Any]
) -> None:
    for b in range(values.shape[1]):
        for t in range(values.shape[0]):
            running[b] += values[t, b]
            if ends[t, b]:
                out[t, b] = running[b]
                running[b] = 0


def episode_sums(
    values: NDArray[Any], ends: NDArray[np.bool_], running: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns (T, B) each episode's sum where it ends, else 0; `running` (B,) is carried on."""
    values = checked_array("values", values, (None, None), np.float32)
    ends = checked_array("ends", ends, values.shape, np.bool_)
    if not is_plain(running, values.shape[1:], np.float64):
        raise not_allowed("running sums", running, f"64-bit floats of shape {values.shape[1:]}")
    out = np.zeros(values.shape, np.float64)
    _sums(values, ends, running, out)
    return out


class Scorekeeper:
    """Follows each environment's running episode from rollout to rollout."""

    def __init__(self, num_envs: int) -> None:
        """Starts with every episode just begun."""
        self.tallies = {view: Tally.zeros(num_envs) for view in VIEWS}
        self.running_reward = np.zeros(num_envs)
        self.running_fixes = np.zeros(num_envs)

    def score(
        self,
        rollout: Rollout,
        weight: float | NDArray[np.float64],
        view: ViewName,
        *,
        ppo: PPOConfig | None = None,
        removal_bonus: float = 0.0,
    ) -> tuple[NDArray[np.float32], Episodes]:
        """Scores a rollout.

        Args:
            rollout: what was played.
            weight: of the alignment reward, or (T, B) one for each step, by its order.
            view: by which compliance is trained.
            ppo: whether the expected alignment reward is subtracted (`without_expected`), and for
                which returns; None subtracts nothing.
            removal_bonus: for each Remove that ended a session of Red's.

        Returns:
            (T, B) the reward to train on, environment plus alignment plus bonus, and the ended
            episodes.
        """
        ends = rollout.ends
        scored, judged = {}, {}
        for i, name in enumerate(VIEWS):
            verdict = np.ascontiguousarray(rollout.verdict[:, :, i])
            any_open = np.ascontiguousarray(rollout.any_open[:, :, i])
            scored[name] = compliance_shares(verdict, any_open, ends, self.tallies[name])
            judged[name] = scored[name].counted_before + (verdict >= VIOLATION)
        fixes = (rollout.verdict[:, :, 0] != NOT_A_FIX).astype(np.float32)
        whole = ends if rollout.left_out is None else ends & ~rollout.left_out
        where = np.nonzero(whole)
        weights = np.broadcast_to(np.asarray(weight, np.float32), rollout.orders.shape)
        reward_sums = episode_sums(rollout.env_reward, ends, self.running_reward)
        episodes = Episodes(
            env=where[1].astype(np.int32),
            order=rollout.orders[where],
            env_reward=reward_sums[where].astype(np.float32),
            alignment=(weights[where] * scored[view].rates[where]).astype(np.float32),
            compliance_observed=scored["observed"].rates[where],
            compliance_true=scored["true"].rates[where],
            fixes=episode_sums(fixes, ends, self.running_fixes)[where].astype(np.int32),
            judged_observed=judged["observed"][where],
            judged_true=judged["true"][where],
        )
        shares = scored[view].shares
        if ppo is not None and ppo.alignment_baseline:
            going_on = None if ppo.gae_lambda is None else self.tallies[view]
            shares = without_expected(scored[view], ends, ppo.gamma, going_on)
        reward = rollout.env_reward + weights * shares
        if removal_bonus:
            reward += np.float32(removal_bonus) * rollout.removed
        return reward, episodes

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns the state from which to continue."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"running_reward": self.running_reward, "running_fixes": self.running_fixes}
        for view, tally in self.tallies.items():
            arrays |= {f"{view}.{name}": array for name, array in tally._asdict().items()}
        return arrays

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Returns a scorekeeper that continues from a saved state."""
        keeper = cls(len(arrays["running_reward"]))
        for name, array in keeper._arrays().items():
            array[:] = arrays[name]
        return keeper
