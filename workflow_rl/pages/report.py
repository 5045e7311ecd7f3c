"""The report: every section of every run, as one page."""

import math
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.standing_orders import sentences_of, standing_orders_of
from workflow_rl.config import RED_AGENTS, Asked, ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import write_named
from workflow_rl.pages import figures, words
from workflow_rl.pages.findings import Findings, Step, find
from workflow_rl.pages.history import cost_figure, curves_figure, path_figure
from workflow_rl.pages.page import render
from workflow_rl.pages.rundata import Curve, RunData, read_run, refuse_no_run
from workflow_rl.runs.store import BASE, CONFIG_FILE, POLISH, REPLAY_FILE, is_response
from workflow_rl.scenario.loading import SCENARIO2, stored_network

# What keeps any report within 8 MB; most runs are far below.
_MOST_RUNS: Final = 8
_MOST_CURVES: Final = 240  # of all runs together, as the two below
_MOST_DECISIONS: Final = 480
_MOST_POINTS: Final = 24_000  # of curves


@dataclass(frozen=True)
class RunPage:
    """What the template shows of one run."""

    id: str
    found: Findings
    figures: dict[str, Any]  # by the element's id
    decisions: list[Step]  # the last ones
    curves: list[Curve]  # of trials, those that one can highlight
    replay: str | None  # relative address of the replay, if there is one

    @property
    def settings(self) -> list[tuple[str, str, bool]]:
        """Every setting: name, value, whether it is the default."""
        return _settings(self.found.run)

    @property
    def steps(self) -> list[tuple[str, str]]:
        """What to do next, and the text to copy for it."""
        return next_steps(self.found.run)

    def figure_id(self, name: str) -> str | None:
        """Returns the id of one of the run's figures; None if there is nothing to draw."""
        key = f"{self.id}-{name}"
        return key if key in self.figures else None


def write_report(runs: Sequence[Path], output: Path, landscape: Path | None = None) -> Path:
    """Writes the report of one run, or a comparison of several, as one HTML file.

    Args:
        runs: their directories.
        output: the file.
        landscape: a file with every order's mean, to tell regret by.

    Raises:
        InvalidInputError: a directory does not exist or holds no run, or there are too many.
    """
    if not 1 <= len(runs) <= _MOST_RUNS:
        raise InvalidInputError(f"a report shows 1 to {_MOST_RUNS} runs, not {len(runs)}")
    for path in runs:
        refuse_no_run(path)
    found = [find(read_run(path, landscape)) for path in runs]
    write_named(output, report_html(found, output.parent))
    return output


def report_html(runs: Sequence[Findings], folder: Path, written: str | None = None) -> str:
    """Returns the page.

    Args:
        runs: what each run found.
        folder: where the page will be, for links to the replays.
        written: when, by default now.
    """
    pages = [
        _run_page(f"run{number}", found, folder, 1 / len(runs))
        for number, found in enumerate(runs, 1)
    ]
    compared = {}
    if len(runs) > 1:
        made = {
            "compare-rewards": figures.rewards_figure(runs),
            "compare-paths": figures.paths_figure(runs),
            "compare-effects": figures.effects_figure(runs),
        }
        compared = {key: figure for key, figure in made.items() if figure is not None}
    return render(
        "report.html",
        assets=("report.css", "report.js"),
        data={"highlight": {page.id: _first_highlight(page) for page in pages}},
        figures=compared | {key: figure for page in pages for key, figure in page.figures.items()},
        pages=pages,
        compared=compared,
        is_comparable=len({words.game_of(found.run) for found in runs}) == 1,
        words=words,
        standing_orders=_standing_orders(runs),
        written=written or time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    )


def _standing_orders(runs: Sequence[Findings]) -> list[str]:
    """Returns the standing orders of the runs' network; none if they have several."""
    networks = {found.run.config.game.network for found in runs if found.run.config}
    if len(networks) > 1:
        return []
    return sentences_of(standing_orders_of(*(networks or {SCENARIO2})))


def _run_page(key: str, found: Findings, folder: Path, share: float) -> RunPage:
    """Returns what is shown of a run that may take the given share of the page."""
    run = found.run
    trials = _best(run.trial_curves, int(share * _MOST_CURVES))
    stages = [c for c in run.curves if c.name in (BASE, POLISH)]
    threshold = run.config.train.compliance_threshold if run.config else None
    points = int(share * _MOST_POINTS) // max(len(trials), 1)
    decisions = found.path[-int(share * _MOST_DECISIONS) :]
    made = {
        "scores": figures.scores_figure(found),
        "does": figures.behaviour_figure(found),
        "orders": figures.orders_figure(found),
        "pairs": figures.pairs_figure(found),
        "positions": figures.positions_figure(found),
        "payoffs": figures.payoffs_figure(found),
        "path": path_figure(decisions),
        "curves": curves_figure(trials, threshold, points=points),
        "stages": curves_figure(stages, threshold, named=True),
        "cost": cost_figure(found.cost),
    }
    replay = run.path / REPLAY_FILE
    return RunPage(
        id=key,
        found=found,
        figures={f"{key}-{name}": figure for name, figure in made.items() if figure is not None},
        decisions=decisions,
        curves=trials,
        replay=_relative(replay, folder) if replay.exists() else None,
    )


def _best(curves: list[Curve], number: int) -> list[Curve]:
    """Returns the trainings that ended with the highest rewards, in the order they came."""
    kept = sorted(curves, key=_last_reward, reverse=True)[:number]
    return [curve for curve in curves if curve in kept] if len(kept) < len(curves) else curves


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _first_highlight(page: RunPage) -> str:
    """Returns the training to highlight at first: the recommended order's best trial."""
    mine = page.found.recommended
    order = mine.order if mine else None
    trained = [c for c in page.found.run.curves if c.name != POLISH and not is_response(c.name)]
    matching = [c for c in trained if c.order == order]
    best = max(matching, key=_last_reward, default=None)
    if best is not None:
        return best.name
    return page.curves[0].name if page.curves else ""


def _last_reward(curve: Curve) -> float:
    last = float(curve.columns["env_reward"][-1]) if len(curve) else math.nan
    return -math.inf if math.isnan(last) else last


def _settings(run: RunData) -> list[tuple[str, str, bool]]:
    """Returns every setting of a run, flat, and whether it is what a plain search uses."""
    noted = run.noted.get("config") if run.config is None else run.config.as_json()
    if not isinstance(noted, dict):  # of another version: shown as it is
        return []
    plain = ExperimentConfig.for_search(Asked()) if run.is_search else ExperimentConfig()
    default = plain.as_json()
    rows = []
    for group, values in noted.items():
        named = values if isinstance(values, dict) else {"": values}
        usual = default.get(group)
        for name, value in named.items():
            expected = usual.get(name) if isinstance(usual, dict) else usual
            if name == "network" and run.config is not None:
                value = run.config.game.network.name
            rows.append((f"{group}.{name}".rstrip("."), _shown(value), value == expected))
    return rows


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)


def next_steps(run: RunData) -> list[tuple[str, str]]:
    """Returns what to do with the policy of a finished search, and how; nothing before its end."""
    if run.config is None or not run.is_finished or not run.is_search:
        return []
    path, game = shlex.quote(run.path.as_posix()), run.config.game
    on = again = ""
    evaluated = "Evaluate the policy against each red agent, in games of 30, 50 and 100 steps"
    if game.is_scenario2:
        evaluated = (
            "Evaluate the policy by the challenge's protocol and compare it with the leaderboard"
        )
    else:
        on = "network=policy.network, "
        again = f" --network {game.network.name}"
        if "\n" in stored_network(game.network):  # of a file, which may be gone
            again = f" --config {path}/{CONFIG_FILE}"
    other = next(red for red in RED_AGENTS if red != game.red_agent)
    python = (
        "from workflow_rl import Cage2Env, load_policy\n\n"
        f"policy = load_policy({run.path.as_posix()!r})\n"
        f"env = Cage2Env({on}red_agent={other!r}, observation={game.observation!r})\n"
        "observation, info = env.reset(seed=0)\n"
        "action = policy.get_action(observation)\n"
        "observation, reward, terminated, truncated, info = env.step(action)"
    )
    return [
        (
            evaluated,
            f"workflow-rl evaluate {path}",
        ),
        (
            "Write the order as a runbook for people and as a security playbook (CACAO)",
            f"workflow-rl playbook {path}",
        ),
        (
            "Step through a game and see what the policy would do, and why",
            f"workflow-rl play --policy {path}",
        ),
        (
            "Replay a game against another attacker",
            f"workflow-rl replay {path} --red-agent {other} --seed 7 --output replay_{other}.html",
        ),
        (
            "Search for a policy against another attacker, or against all of them",
            f"workflow-rl search --red-agent {other}{again}\n"
            f"workflow-rl search --red-agent mixed{again}",
        ),
        (
            "Train every order with several seeds, to separate effects that a search cannot",
            f"workflow-rl landscape --red-agent {shlex.quote(game.red_agent)}{again}",
        ),
        ("Use the policy in Python", python),
    ]
