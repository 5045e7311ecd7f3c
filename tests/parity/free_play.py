"""Plays the free-running game as the reference statistics were recorded, and counts the same."""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, red_agent_name
from workflow_rl.scenario.images import EXPLOIT_NAMES, SSH_BRUTE_FORCE
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import FIRST_RESTORE, HOST_NAMES, NUM_ACTIONS, NUM_HOSTS, SLEEP
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import first
from workflow_rl.sim.red_actions import exploit_options
from workflow_rl.sim.state import Activity, Outcome, RedAction

STEPS = 100
OUTCOME_NAMES = {
    Outcome.SUCCESS: "success",
    Outcome.HIT_DECOY: "hit_decoy",
    Outcome.NO_ROUTE: "no_route",
    Outcome.SERVICE_ABSENT: "service_absent",
    Outcome.NO_ACCOUNT: "no_bruteforceable_user",
    Outcome.NOT_SCANNED: "target_not_scanned",
}

REFERENCE: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "reference_returns.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Play:
    """Episodes of the simulator, (episodes, steps)."""

    rewards: NDArray[np.float64]
    ot_down: NDArray[np.bool_]
    red_action: NDArray[np.int8]
    red_target: NDArray[np.int8]
    red_exploit: NDArray[np.int8]
    red_outcome: NDArray[np.int8]
    red_options: NDArray[np.int8]
    table: NDArray[np.int64]
    ports: NDArray[np.int16]  # (episodes, steps, hosts)

    def top_choices(self) -> NDArray[np.bool_]:
        """Of every choice between several exploits, whether Red took its favourite."""
        chose = (self.red_action == RedAction.EXPLOIT) & (self.red_options >= 2)
        ports = self.ports[chose, self.red_target[chose]]
        return np.array(
            [
                first(exploit_options(int(remembered))) == exploit
                for remembered, exploit in zip(ports, self.red_exploit[chose], strict=True)
            ]
        )

    def detections(self) -> NDArray[np.bool_]:
        """Of every reverse shell, whether it was shown as an exploit (Blue placing no decoys)."""
        shell = (
            (self.red_action == RedAction.EXPLOIT)
            & (self.red_outcome == Outcome.SUCCESS)
            & (self.red_exploit != SSH_BRUTE_FORCE)
        )
        shown = self.table[shell][:, 0] >> 4 * self.red_target[shell].astype(np.int64) & 0b11
        return np.asarray(shown == Activity.EXPLOIT)

    def action_counts(self) -> dict[str, NDArray[np.int64]]:
        """Per episode, how often Red took each action against each target."""
        counts = {}
        for action in RedAction:
            for target in np.unique(self.red_target[self.red_action == action]):
                name = f"{action.name.lower()} {_target_name(action, target)}"
                chosen = (self.red_action == action) & (self.red_target == target)
                counts[name] = chosen.sum(axis=1)
        return counts

    def exploit_counts(self) -> dict[str, NDArray[np.int64]]:
        """Per episode, how often each exploit of each host ended in each way."""
        keys = (
            self.red_target.astype(int) * 10_000
            + self.red_exploit.astype(int) * 100
            + self.red_outcome
        )
        exploited = (self.red_action == RedAction.EXPLOIT) & (self.red_exploit >= 0)
        counts = {}
        for key in np.unique(keys[exploited]):
            host, exploit, outcome = key // 10_000, key // 100 % 100, key % 100
            name = f"{HOST_NAMES[host]} {EXPLOIT_NAMES[exploit]} {OUTCOME_NAMES[Outcome(outcome)]}"
            counts[name] = ((keys == key) & exploited).sum(axis=1)
        return counts


def _target_name(action: RedAction, target: int) -> str:
    if target < 0:
        return "none"
    if action is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return SCENARIO2.zone_names[target]
    return HOST_NAMES[target]


def reference_action_counts(cell: str) -> Counter[str]:
    """The reference's total counts, named as in `Play.action_counts`."""
    actions = REFERENCE[cell]["red_action_target_counts"]
    return Counter({f"{a} {t}": n for a, targets in actions.items() for t, n in targets.items()})


def reference_exploit_counts(cell: str) -> Counter[str]:
    """The reference's total counts, named as in `Play.exploit_counts`."""
    hosts = REFERENCE[cell]["exploit_counts_host_concrete_outcome"]
    return Counter(
        {
            f"{host} {exploit} {outcome}": n
            for host, exploits in hosts.items()
            for exploit, outcomes in exploits.items()
            for outcome, n in outcomes.items()
            if exploit != "none"
        }
    )


@cache
def play(cell: str, episodes: int) -> Play:
    """Plays `red/policy` of the reference."""
    red_agent, policy = cell.split("/")
    config = GameConfig(red_agent=red_agent_name(red_agent), episode_length=STEPS)
    batch = Batch(episodes, config, autoreset=False)
    batch.reset(seed=2022)
    rng = np.random.default_rng(2022)
    fields = tuple(name for name in Play.__dataclass_fields__ if name != "rewards")
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in ("rewards", *fields)}
    for _ in range(STEPS):
        batch.step(_choose(policy, batch.observation, rng))
        rows["rewards"].append(batch.out.reward.copy())
        for name in fields:
            rows[name].append(batch.state[name].copy())
    return Play(**{name: np.stack(values, axis=1) for name, values in rows.items()})


def _choose(
    policy: str, observation: NDArray[np.int8], rng: np.random.Generator
) -> NDArray[np.int64]:
    n = len(observation)
    if policy == "sleep":
        return np.full(n, SLEEP, np.int64)
    if policy == "random145":
        return rng.integers(0, NUM_ACTIONS, n)
    assert policy == "react_restore"  # the lowest host that Blue's table marks, if any
    marked = np.asarray(observation.reshape(n, NUM_HOSTS, 4)[:, :, 2:].any(axis=2))
    return np.where(marked.any(axis=1), FIRST_RESTORE + marked.argmax(axis=1), SLEEP)
