"""Scores to set a policy beside: evaluations found in the run, and published or recorded ones."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.config import RULE_SETS
from workflow_rl.report.intervals import Z95, Estimate

_LENGTHS: Final = (30, 50, 100)


@dataclass(frozen=True)
class Score:
    """Somebody's mean reward in one game."""

    who: str
    rules: str
    red_agent: str
    steps: int
    reward: Estimate
    source: str


def _scores(
    who: str, rules: str, source: str, means: dict[str, tuple[float | tuple[float, float], ...]]
) -> list[Score]:
    """Returns the scores of one agent: for each red agent those of its last columns of lengths."""
    rows = []
    for red_agent, values in means.items():
        for steps, value in zip(_LENGTHS[-len(values) :], values, strict=True):
            pair = value if isinstance(value, tuple) else (value, math.nan)
            rows.append(Score(who, rules, red_agent, steps, Estimate(*pair), source))
    return rows


_PUBLISHED: Final = "published leaderboard of 2022"
_RECORDED: Final = "the real CybORG, 400 episodes"
_RERUN: Final = "the winner's own agent on today's CybORG, 200 episodes"
KNOWN: Final[tuple[Score, ...]] = (
    *_scores(
        "winner (Cardiff)",
        "competition",
        _PUBLISHED,
        {"bline": (-3.47, -6.41, -13.76), "meander": (-5.64, -8.69, -16.60)},
    ),
    *_scores(
        "react-restore",
        "competition",
        _PUBLISHED,
        {"bline": (-184.34,), "meander": (-192.63,)},
    ),
    *_scores(
        "random",
        "competition",
        _PUBLISHED,
        {"bline": (-726.92,), "meander": (-566.41,)},
    ),
    *_scores(
        "sleep",
        "competition",
        _PUBLISHED,
        {"bline": (-1134.03,), "meander": (-972.43,)},
    ),
    *_scores(
        "winner (Cardiff)",
        "main",
        _RERUN,
        {
            "bline": ((-5.18, 0.28), (-12.20, 0.57), (-36.16, 1.13)),
            "meander": ((-5.43, 0.09), (-8.76, 0.15), (-16.18, 0.28)),
        },
    ),
    *_scores(
        "restore the first marked host",
        "main",
        _RECORDED,
        {
            "bline": ((-14.91, 0.13), (-27.51, 0.42), (-64.66, 1.52)),
            "meander": ((-12.30, 0.04), (-24.14, 0.13), (-59.28, 0.63)),
        },
    ),
    *_scores(
        "random",
        "main",
        _RECORDED,
        {
            "bline": ((-151.90, 3.91), (-333.11, 8.11), (-727.06, 18.16)),
            "meander": ((-33.21, 0.72), (-165.00, 4.41), (-584.90, 14.20)),
        },
    ),
    *_scores(
        "sleep",
        "main",
        _RECORDED,
        {
            "bline": ((-216.30, 1.04), (-478.30, 1.04), (-1133.30, 1.04)),
            "meander": ((-40.04, 1.07), (-267.02, 3.57), (-970.27, 3.52)),
        },
    ),
)


def known_scores(red_agent: str, steps: int) -> list[Score]:
    """Returns the published and recorded scores of one game, under every rule set."""
    return [s for s in KNOWN if (s.red_agent, s.steps) == (red_agent, steps)]


def evaluated_scores(run: Path) -> list[Score]:
    """Returns the scores of evaluations in a run's directory: `evaluations/*.json`, at any depth.

    An evaluation names its `agent`, its `rules` and, if known, whether the `policy` was sampled,
    and lists `cells` with `red_agent`, `steps`, `mean` and, if known, `half_width_95`; whatever
    else is in the file is not looked at, and other files are passed over.
    """
    scores = []
    for path in sorted((run / "evaluations").rglob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            scores += [_evaluated(path, data, cell) for cell in data["cells"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return scores


def _evaluated(path: Path, data: dict[str, Any], cell: dict[str, Any]) -> Score:
    rules = str(data["rules"])
    if rules not in RULE_SETS:
        raise ValueError(rules)
    error = float(cell.get("half_width_95", math.nan)) / Z95
    who = str(data.get("agent", path.stem))
    how = f", {data['policy']}" if "policy" in data else ""
    return Score(
        who=who,
        rules=rules,
        red_agent=str(cell["red_agent"]),
        steps=int(cell["steps"]),
        reward=Estimate(float(cell["mean"]), error),
        source=f"evaluated here{how}",
    )
