"""Landscapes to test with: recorded ones, and made-up ones whose truth is known."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.studies.landscape import Landscape
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

DATA = Path(__file__).parent / "data"
CLASSES = TYPES.classes_of_equals("bline")  # six; against meander no two orders are equal
PAIRS = TYPES.pairs
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))
FLAT = np.full(NUM_ORDERS, -20.0)  # the order does not matter


@cache
def recorded(red_agent: str) -> Landscape:
    """What `workflow-rl landscape --red-agent RED` gave: three seeds of 50 updates, rounded."""
    return Landscape.from_json(json.loads((DATA / f"{red_agent}.json").read_text()))


def truth(deviation: float, seed: int = 0) -> NDArray[np.float64]:
    """Values of all orders: what each pair's arrangement is worth, added up."""
    worth = PRECEDENCE @ np.random.default_rng([seed, 1]).normal(size=len(PAIRS))
    return np.asarray(-30 + deviation * (worth - worth.mean()) / worth.std())


def made_up(
    values: NDArray[np.float64],
    seeds: int = 3,
    *,
    noise: float = 0.0,
    level: float = 0.0,
    red_agent: str = "meander",
    seed: int = 0,
    compliance: NDArray[np.float64] | float = 0.97,
) -> Landscape:
    """A landscape of given true values; `noise` is a training's deviation, `level` a seed's."""
    rng = np.random.default_rng([seed, 2])
    shape = (seeds, NUM_ORDERS)
    reward = values + level * rng.normal(size=(seeds, 1)) + noise * rng.normal(size=shape)
    rates = np.broadcast_to(compliance, shape).copy()
    return Landscape(
        red_agent=red_agent,
        rules="main",
        threshold=0.95,
        seeds=tuple(range(seeds)),
        reward=reward,
        error=np.full(shape, 0.2),
        compliance=rates,
        compliance_true=rates - 0.05,
        is_compliant=rates >= 0.95,
    )


def failing(land: Landscape, where: Any, reward: float | None = None) -> Landscape:
    """The landscape in which some cells do not comply, perhaps with another reward."""
    complied, rewards = land.is_compliant.copy(), land.reward.copy()
    complied[where] = False
    if reward is not None:
        rewards[where] = reward
    return replace(land, is_compliant=complied, reward=rewards)
