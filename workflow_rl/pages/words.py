"""How numbers are written, and the sentences that several pages share."""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from workflow_rl.config import TrainConfig
from workflow_rl.evaluation.behaviour import KINDS as KINDS
from workflow_rl.evaluation.behaviour import WAITING as WAITING
from workflow_rl.evaluation.behaviour import Behaviour
from workflow_rl.evaluation.result import with_fixes as with_fixes
from workflow_rl.evaluation.selection import Score
from workflow_rl.ordersearch.finding import listed
from workflow_rl.pages.findings import HANDED_OVER as HANDED_OVER
from workflow_rl.pages.findings import Findings
from workflow_rl.pages.rundata import RunData
from workflow_rl.runs.holding import BEST_RESPONSE as BEST_RESPONSE
from workflow_rl.scenario.summary import reachability_of

HOST_HEADINGS: Final = ("host", *(f"#{kind}" for kind in KINDS[:-1]))
_DOES: Final = {
    "decoy": "places decoys",
    "remove": "removes",
    "analyse": "analyses",
    "restore": "restores",
    "wait": "waits",
}
_SMALLEST: Final = 0.005  # share of steps that is named
_BUSIEST: Final = 3  # hosts that are named
_BLOCKS: Final = "▁▂▃▄▅▆▇█"


def points(value: float) -> str:
    """Writes a reward."""
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def percent(value: float) -> str:
    """Writes a share."""
    return "unknown" if math.isnan(value) else f"{100 * value:.1f} %"


def of_repairs(fixes: float) -> str:
    """Says how many repairs compliance is the share of, if they were counted."""
    return "of its repairs" if math.isnan(fixes) else f"of {fixes:.1f} repairs per game"


def duration(seconds: float) -> str:
    """Writes a time."""
    if math.isnan(seconds):
        return "unknown"
    whole = round(seconds)
    if whole < 120:
        return f"{seconds:.0f} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def amount(value: float) -> str:
    """Writes a large number."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} million"
    return f"{value:,.0f}"


def speed(rate: float) -> str:
    """Writes steps per second, in thousands where there are many."""
    return f"{rate / 1000:,.0f}k steps/s" if rate >= 10_000 else f"{rate:,.0f} steps/s"


def sparkline(values: Sequence[float]) -> str:
    """Draws numbers as a line of blocks, the lowest as the lowest block."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    low, span = min(finite), (max(finite) - min(finite)) or 1.0
    last = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(last * (value - low) / span)] for value in finite)


def kept_together(text: str) -> str:
    """Returns a sentence that never breaks between a number and its sign."""
    return text.replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def status_of(run: RunData) -> str:
    """Says in a word or two how far a run is."""
    if run.is_under_way:
        return "under way"
    return "finished" if run.is_finished else "interrupted"


def game_of(run: RunData) -> str:
    """Says which game a run was played on."""
    if run.config is None:
        return "the game is not known"
    game = run.config.game
    red: str = game.red_agent
    if game.red_probabilities is not None:
        shares = (f"{name} {percent(share)}" for name, share in game.red_probabilities.items())
        red += f" ({', '.join(shares)})"
    green = ", Green active" if game.green_agent == "active" else ""
    where = ""
    if not game.is_scenario2:
        where = f", network {game.network.name}, {reachability_of(game.network)}"
    return f"red agent {red}, rules {game.rules}, {game.episode_length} steps{green}{where}"


def about_finding(found: Findings) -> list[str]:
    """Says what was found about orders: the headline, then what else there is to say."""
    if not found.run.is_search:
        return []
    if not found.run.tried:
        return ["Nothing can be recommended yet: no trial has ended."]
    finding = found.finding
    so_far = "" if found.run.is_finished else "So far: "
    headline = finding.headline if so_far else finding.headline[:1].upper() + finding.headline[1:]
    return [f"{so_far}{headline}.", *finding.details]


def about_behaviour(does: Behaviour) -> str:
    """Says what a policy does: by kind of action, in the first phase of the game, and where."""
    by_kind = sorted(does.shares.items(), key=lambda item: -item[1])
    parts = [
        f"{_DOES[kind]} in {100 * share:.0f} %" for kind, share in by_kind if share >= _SMALLEST
    ]
    parts[0] += " of the steps"
    first = dict(zip(KINDS, does.phase_shares[0], strict=True))
    most = max(first, key=first.__getitem__)
    hosts = list(does.host_times)[:_BUSIEST]
    told = f"It {listed(parts)}. In steps {does.phases[0]} it mostly {_DOES[most]}"
    told += f" ({100 * first[most]:.0f} %)."
    return f"{told} Most of its actions are on {listed(hosts)}." if hosts else told


def value_of(train: TrainConfig) -> str:
    """Says what the reward of a trial is."""
    if train.objective == "episodes":
        return "over the last 3 training episodes of each environment"
    games = f"in {train.objective_games:,} fresh games against each attacker"
    if train.objective == "worst":
        return f"against the attacker that takes most, {games}"
    return f"on average over the attackers, {games}"


def by_hand(scores: Sequence[Score]) -> str:
    """Says what a person gets who follows the order without the policy, against each attacker."""
    mine = [(s.red_agent, s.greedy.reward.mean) for s in scores if s.red_agent != "sleep"]
    told = [f"{reward:.1f} against {red}" for red, reward in mine]
    return f"{listed(told)}, without the policy."


def unfit_for(score: Score) -> str:
    """Says that a policy fails against a red agent."""
    return (
        f"Unfit for {score.red_agent}: {score.deterministic.reward.mean:.1f}, where following the "
        f"order by hand gets {score.greedy.reward.mean:.1f}."
    )


def command_of(noted: Mapping[str, Any]) -> str | None:
    """Returns the command that repeats a run; None if it was not started from the command line.

    A search from a base policy says so: the command `search` does without one by default.
    """
    command = noted.get("command")
    if not isinstance(command, list) or not command:
        return None
    program, *given = map(str, command)
    if (name := PurePath(program).name) == "parallel_train_workflow_rl.py":
        given.insert(0, "search")
    elif name not in ("workflow-rl", "__main__.py"):
        return None
    start = ["--warm-start", "common"]
    is_told = any(word.startswith(start[0]) for word in given)
    if given[:1] == ["search"] and not is_told and _from_base(noted):
        given[1:1] = start
    return shlex.join(["workflow-rl", *given])


def _from_base(noted: Mapping[str, Any]) -> bool:
    """Returns whether the trials of a run start from a base policy, by its configuration."""
    try:
        return bool(noted["config"]["search"]["warm_start"] == "common")
    except (KeyError, TypeError):
        return False
