"""Scores to set a policy beside: evaluations in the run, shipped agents, published and recorded."""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.named import make_agent
from workflow_rl.agents.shipped import WITHOUT_ORDER
from workflow_rl.config import RED_AGENTS, RULE_SETS
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.leaderboard import LEADERBOARD, RERUN, Row
from workflow_rl.evaluation.playing import Game, play_batch
from workflow_rl.evaluation.results import OFFICIAL_STEPS
from workflow_rl.evaluation.scoring import SCORING_SEED
from workflow_rl.files import read_json


@dataclass(frozen=True)
class GameScore:
    """Somebody's mean reward in one game."""

    who: str
    rules: str
    red_agent: str
    steps: int
    reward: Estimate
    source: str


_GAMES: Final = 1_000  # that an agent of the package plays
_MOST_STEPS: Final = 1_000  # of such a game: longer ones take too long
_PUBLISHED: Final = "published leaderboard of 2022"
_RERUN: Final = "the winner's own agent on today's CybORG, 200 episodes"
_RECORDED: Final = "the real CybORG, 400 episodes"
_SHOWN: Final = {  # teams of the leaderboard and how they are called beside ours
    "CardiffUni": "winner (Cardiff)",
    "CCS Heuristic": "react-restore",
    "CCS Random": "random",
    "CCS Sleeper": "sleep",
}
# By rules `main`: mean and standard error after 30, 50 and 100 steps.
_RECORDINGS: Final = {
    "restore the first marked host": {
        "bline": ((-14.91, 0.13), (-27.51, 0.42), (-64.66, 1.52)),
        "meander": ((-12.30, 0.04), (-24.14, 0.13), (-59.28, 0.63)),
    },
    "random": {
        "bline": ((-151.90, 3.91), (-333.11, 8.11), (-727.06, 18.16)),
        "meander": ((-33.21, 0.72), (-165.00, 4.41), (-584.90, 14.20)),
    },
    "sleep": {
        "bline": ((-216.30, 1.04), (-478.30, 1.04), (-1133.30, 1.04)),
        "meander": ((-40.04, 1.07), (-267.02, 3.57), (-970.27, 3.52)),
    },
}


def _of_leaderboard(row: Row, who: str, source: str) -> list[GameScore]:
    """Returns a row's scores against the red agents that attack."""
    return [
        GameScore(
            who,
            row.rules,
            red,
            steps,
            Estimate.from_error(row.cell(steps, red), row.error(steps, red)),
            source,
        )
        for red in ("bline", "meander")
        for steps in OFFICIAL_STEPS
    ]


def _of_recordings(who: str) -> list[GameScore]:
    return [
        GameScore(who, "main", red, steps, Estimate.from_error(*pair), _RECORDED)
        for red, pairs in _RECORDINGS[who].items()
        for steps, pair in zip(OFFICIAL_STEPS, pairs, strict=True)
    ]


KNOWN: Final[tuple[GameScore, ...]] = (
    *(
        score
        for row in LEADERBOARD
        if row.team in _SHOWN
        for score in _of_leaderboard(row, _SHOWN[row.team], _PUBLISHED)
    ),
    *_of_leaderboard(RERUN, _SHOWN["CardiffUni"], _RERUN),
    *(score for who in _RECORDINGS for score in _of_recordings(who)),
)


def known_scores(red_agent: str, steps: int) -> list[GameScore]:
    """Returns the published and recorded scores of one game, under every rule set."""
    return [s for s in KNOWN if (s.red_agent, s.steps) == (red_agent, steps)]


@cache
def shipped_scores(red_agent: str, steps: int, rules: str) -> tuple[GameScore, ...]:
    """Returns what agents that come with the package score in one game, played here and now.

    The games are those that a search scores its own policy on.
    """
    if red_agent not in RED_AGENTS or steps > _MOST_STEPS:
        return ()
    game = Game(steps, red_agent, rules, SCORING_SEED, None)
    scores = []
    for name in WITHOUT_ORDER:
        cell = play_batch(make_agent(name, rules=rules), game, _GAMES, logged=0)
        source = f"comes with the package, {_GAMES:,} fresh games"
        scores.append(GameScore(name, rules, red_agent, steps, cell.estimate, source))
    return tuple(scores)


def evaluated_scores(run: Path) -> list[GameScore]:
    """Returns the scores of evaluations in a run's directory: `evaluations/*.json`, at any depth.

    An evaluation names its `agent`, its `rules` and, if known, whether the `policy` was sampled,
    and lists `cells` with `red_agent`, `steps`, `mean` and, if known, `half_width_95`; whatever
    else is in the file is not looked at, and other files are passed over.
    """
    scores = []
    for path in sorted((run / "evaluations").rglob("*.json")):
        try:
            data = read_json(path)
            scores += [_evaluated(path, data, cell) for cell in data["cells"]]
        except (ValueError, KeyError, TypeError):  # ValueError: also a damaged file
            continue
    return scores


def _evaluated(path: Path, data: dict[str, Any], cell: dict[str, Any]) -> GameScore:
    rules = str(data["rules"])
    if rules not in RULE_SETS:
        raise ValueError(rules)
    who = str(data.get("agent", path.stem))
    how = f", {data['policy']}" if "policy" in data else ""
    return GameScore(
        who=who,
        rules=rules,
        red_agent=str(cell["red_agent"]),
        steps=int(cell["steps"]),
        reward=Estimate(float(cell["mean"]), float(cell.get("half_width_95", math.nan))),
        source=f"evaluated here{how}",
    )
