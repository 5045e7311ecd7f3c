"""Scores to compare a policy with: evaluations in the run, shipped agents, published, recorded."""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.named import make_agent
from workflow_rl.agents.shipped import WITHOUT_ORDER
from workflow_rl.config import RULE_SETS, GameConfig
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.leaderboard import LEADERBOARD, RERUN
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import OFFICIAL_EPISODES, OFFICIAL_STEPS, Result
from workflow_rl.evaluation.selection import SCORING_SEED
from workflow_rl.files import read_json


@dataclass(frozen=True)
class GameScore:
    """The score of one agent in one game."""

    who: str
    rules: str
    steps: int
    result: Result
    source: str


_GAMES: Final = 1_000  # that an agent of the package plays
_MOST_STEPS: Final = 1_000  # of such a game: longer ones take too long
_RERUN_EPISODES: Final = 200
_RECORDED_EPISODES: Final = 400
_SHOWN: Final = {  # teams of the leaderboard and what the report calls them
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


def known_scores(game: GameConfig) -> list[GameScore]:
    """Returns the published and recorded scores of a game, under every rule set.

    In all of them Green sleeps, and the network is Scenario2.
    """
    red, steps = game.red_agent, game.episode_length
    known = red in ("bline", "meander") and steps in OFFICIAL_STEPS
    if not known or game.green_agent != "sleep" or not game.is_scenario2:
        return []

    def score(who: str, rules: str, reward: Estimate, source: str, episodes: int) -> GameScore:
        return GameScore(who, rules, steps, Result(red, episodes, reward), source)

    published = "published leaderboard of 2022"
    rerun = f"the winner's own agent on today's CybORG, {_RERUN_EPISODES} episodes"
    recorded = f"the real CybORG, {_RECORDED_EPISODES} episodes"
    rows = [(_SHOWN[row.team], row, published) for row in LEADERBOARD if row.team in _SHOWN]
    scores = []
    for who, row, source in [*rows, (_SHOWN["CardiffUni"], RERUN, rerun)]:
        reward = Estimate.from_error(row.cell(steps, red), row.error(steps, red))
        episodes = _RERUN_EPISODES if row is RERUN else OFFICIAL_EPISODES
        scores.append(score(who, row.rules, reward, source, episodes))
    for who, by_red in _RECORDINGS.items():
        reward = Estimate.from_error(*by_red[red][OFFICIAL_STEPS.index(steps)])
        scores.append(score(who, "main", reward, recorded, _RECORDED_EPISODES))
    return scores


def shipped_scores(game: GameConfig) -> list[GameScore]:
    """Returns what agents that come with the package score in a game, played here and now.

    The games are those that a search scores its own policy on, which are none of a mixture; each is
    played once. On another network than Scenario2 these agents do not play.
    """
    if not game.is_scenario2:
        return []
    if len(game.reds) > 1 or game.episode_length > _MOST_STEPS:
        return []
    source = f"shipped with the package, {_GAMES:,} held-out games"
    return [
        GameScore(name, game.rules, game.episode_length, _played(name, game), source)
        for name in WITHOUT_ORDER
    ]


@cache
def _played(name: str, game: GameConfig) -> Result:
    return play_batch(make_agent(name, rules=game.rules), game, SCORING_SEED, _GAMES).result


def evaluated_scores(run: Path, game: GameConfig) -> list[GameScore]:
    """Returns the scores in a game, under any rules, of evaluations in a run's directory.

    Those are `evaluations/*.json`, at any depth. An evaluation names its `agent`, its `rules` and,
    if known, its `green_agent` and whether the `policy` was sampled, and lists `cells` with
    `red_agent`, `steps`, `mean` and, if known, `half_width_95`; whatever else is in the file is not
    looked at, and other files are passed over.
    """
    scores = []
    played = game.red_agent, game.episode_length
    for path in sorted((run / "evaluations").rglob("*.json")):
        try:
            data = read_json(path)
            cells = [*data["cells"], *data.get("deviating", ())]
            found = [_evaluated(path, data, cell) for cell in cells]
            green = data.get("green_agent", "sleep")
        except (ValueError, KeyError, TypeError, AttributeError):  # also a damaged file
            continue
        if green == game.green_agent:
            scores += [s for s in found if (s.result.red_agent, s.steps) == played]
    return scores


def _evaluated(path: Path, data: dict[str, Any], cell: dict[str, Any]) -> GameScore:
    rules = str(data["rules"])
    if rules not in RULE_SETS:
        raise ValueError(rules)
    who = str(data.get("agent", path.stem))
    how = f", {data['policy']}" if "policy" in data else ""
    reward = Estimate(float(cell["mean"]), float(cell.get("half_width_95", math.nan)))
    games = len(cell.get("returns", ()))
    result = Result(str(cell["red_agent"]), games, reward)
    return GameScore(who, rules, int(cell["steps"]), result, f"evaluated here{how}")
