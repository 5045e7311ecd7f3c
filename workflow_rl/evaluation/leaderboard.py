"""What others scored, each with the rules it was scored by and where the figures stand."""

import math
from dataclasses import dataclass
from typing import Final

from workflow_rl.config import RED_AGENTS
from workflow_rl.evaluation.result import OFFICIAL_STEPS

LEADERBOARD_SOURCE: Final = "README of cage-challenge/cage-challenge-2, 'Leader Board (final)'"
RERUN_SOURCE: Final = "the winner's own agent on CybORG commit 26ce1c1, 200 episodes a cell"

# Team | method | total and its interval | cells: 30 steps bline, meander, sleep; 50; 100.
# UTS_CIBCI's cells add up to -145.76; the total is given as it was published.
_PUBLISHED: Final = """
CardiffUni | PPO + Greedy Decoys | -54.57 0.43 | -3.47 -5.64 0 -6.41 -8.69 0 -13.76 -16.6 0
Keeping it RL | Ensemble of Ensembles | -56.9 0.59 | -3.48 -6.47 0 -5.85 -10.33 0 -11.39 -19.38 0
Mindrake | HIPPO Float Observations | -57.05 0.56 | -3.53 -6.76 0 -6.2 -10.13 0 -12.78 -17.65 0
Mindrake | HIPPO-Heuristic | -57.29 0.59 | -3.69 -6.81 0 -6.24 -10.09 0 -12.86 -17.6 0
Mindrake | HIPPO Bandit Controller | -57.46 0.74 | -3.73 -6.85 0 -6.65 -9.98 0 -12.86 -17.39 0
Keeping it RL | Ensemble | -58.68 0.61 | -3.62 -6.57 0 -6.1 -10.32 0 -11.9 -20.16 0
UoA | Belief Ensemble | -69.88 0.88 | -3.87 -6.54 0 -6.74 -12.01 0 -14.63 -26.09 0
Keeping it RL | Transfer Learning | -70.12 0.71 | -5.54 -6.4 0 -9.74 -10.21 0 -19.57 -18.65 0
Keeping it RL | Action Masking | -72.17 1.6 | -4.61 -6.45 0 -7.92 -11.22 0 -17.75 -24.22 0
Keeping it RL | PPO | -73.98 0.94 | -4.76 -8.03 0 -8.13 -12.91 0 -17.19 -22.94 -0.01
SRG Raytheon | HPPO | -75.7 1.29 | -4.44 -6.57 0 -7.7 -11.78 0 -15.68 -29.52 0
UoA | Ensemble | -81.83 0.86 | -6.02 -6.23 0 -10.19 -11.74 0 -22.09 -25.55 0
CCS RL Benchmark | PPO | -95.47 1.36 | -8.75 -7.31 -0.01 -14.92 -12.04 -0.01 -30.19 -22.21 -0.03
Keeping it RL | HPPO | -119.7 1.63 | -4.64 -9.15 0 -8.45 -22.3 0 -17.44 -57.72 0
Reward is not Enough | ACME IMPALA CAGE 2 | -122.91 1.11 | \
-6 -9.27 -0.12 -10.25 -22.27 -0.16 -19.72 -54.79 -0.33
KingMatthew | PPO with RE3 Exploration | -137.79 3.89 | \
-12.48 -6.99 0 -23.33 -12.26 -0.01 -54.01 -28.69 -0.02
UTS_CIBCI | Ensembled DDDQN | -154.71 1.95 | -5.87 -10.93 0 -10.82 -26.29 0 -23.96 -67.89 0
CCS Heuristic | Blue React Restore | -823.89 1.03 | \
-58.83 -44.29 -27 -93.05 -85.75 -46 -184.34 -192.63 -92
CCS Random | Random Agent | -2015.61 30.93 | \
-154.06 -33.43 -2.8 -347.1 -171.49 -4.45 -726.92 -566.41 -8.94
CCS Sleeper | Sleeping Agent | -3112.2 6.67 | -218.65 -39.31 0 -480.17 -267.6 0 -1134.03 -972.43 0
"""


@dataclass(frozen=True)
class Row:
    """Nine mean returns and their sum."""

    team: str
    method: str
    rules: str
    total: float
    half_width: float | None  # of the total's 95 % interval, where it was published
    cells: tuple[float, ...]  # 30 steps against bline, meander, sleep, then 50, then 100
    source: str
    errors: tuple[float, ...] | None = None  # standard errors of the cells, where known

    def cell(self, steps: int, red_agent: str) -> float:
        """Returns one of the nine means."""
        return self.cells[_index(steps, red_agent)]

    def error(self, steps: int, red_agent: str) -> float:
        """Returns the standard error of one of the nine means, nan where it is not known."""
        return math.nan if self.errors is None else self.errors[_index(steps, red_agent)]


def _index(steps: int, red_agent: str) -> int:
    return OFFICIAL_STEPS.index(steps) * 3 + RED_AGENTS.index(red_agent)


def _row(line: str) -> Row:
    team, method, total, cells = (part.strip() for part in line.split("|"))
    mean, half_width = map(float, total.split())
    values = tuple(map(float, cells.split()))
    return Row(team, method, "competition", mean, half_width, values, LEADERBOARD_SOURCE)


# The 20 rows of the final leaderboard, best first; its 1,000 episodes a cell were played by the
# rules before the fixes of August 2022.
LEADERBOARD: Final = tuple(_row(line) for line in _PUBLISHED.strip().splitlines())
# The winner again, by today's rules.
RERUN: Final = Row(
    "CardiffUni, run again",
    "PPO + Greedy Decoys",
    "main",
    -83.91,
    None,
    (-5.18, -5.43, 0.0, -12.20, -8.76, 0.0, -36.16, -16.18, 0.0),
    RERUN_SOURCE,
    errors=(0.28, 0.09, 0.0, 0.57, 0.15, 0.0, 1.13, 0.28, 0.0),
)
