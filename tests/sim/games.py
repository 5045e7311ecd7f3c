"""Random games, for what must hold whatever is played."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from workflow_rl.config import RULE_SETS
from workflow_rl.config.reds import BUILT_IN
from workflow_rl.scenario.scenario2 import NUM_ACTIONS

GAMES = st.fixed_dictionaries(
    {
        "red_agent": st.sampled_from([*BUILT_IN, "mixed", "patient:9:meander=1,bait=1"]),
        "rules": st.sampled_from(RULE_SETS),
        "green_agent": st.sampled_from(["sleep", "active"]),
        "observation": st.sampled_from(["challenge", "cardiff"]),
        "episode_length": st.sampled_from([7, 50, 1000]),
    }
)
SEEDS = st.integers(0, 2**32)
ACTING = st.sampled_from([0.0, 0.05, 0.3, 1.0])  # how often Blue does not sleep
N = 12
STEPS = 80
FEW = 5  # environments where one would nearly do: interpreted, a step takes its time


def random_actions(
    seed: int, acting: float, n: int, steps: int, number: int = NUM_ACTIONS
) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(seed)
    actions = generator.integers(0, number, (steps, n))
    actions[generator.random((steps, n)) > acting] = 0
    return actions
