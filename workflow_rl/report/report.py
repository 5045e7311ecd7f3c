"""The report: every section of every run, as one page."""

import math
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.config import RED_AGENTS, ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import write_named
from workflow_rl.report import words
from workflow_rl.report.course import Step
from workflow_rl.report.figures.compare import effects_figure, paths_figure, rewards_figure
from workflow_rl.report.figures.history import cost_figure, curves_figure, path_figure
from workflow_rl.report.figures.orders import (
    orders_figure,
    pairs_figure,
    positions_figure,
    scores_figure,
)
from workflow_rl.report.findings import Findings, find
from workflow_rl.report.page import PLOTLY, render
from workflow_rl.report.rundata import Curve, RunData, read_run, refuse_no_run
from workflow_rl.runs.store import BASE, POLISH, REPLAY_FILE

# What keeps any report within 8 MB; most runs are far below.
_MOST_RUNS: Final = 8
_MOST_CURVES: Final = 240  # of all runs together, as the two below
_MOST_DECISIONS: Final = 480
_MOST_POINTS: Final = 24_000  # of curves


@dataclass(frozen=True)
class NextStep:
    """One thing to do."""

    what: str
    text: str  # to copy


@dataclass(frozen=True)
class RunPage:
    """What the template shows of one run."""

    id: str
    number: int
    found: Findings
    sentences: dict[str, Any]
    figures: dict[str, Any]  # by the element's id
    decisions: list[Step]
    trainings: list[tuple[str, str]]  # (name, label) of the curves one can highlight
    settings: list[tuple[str, str, bool]]  # (name, value, whether it is the default)
    command: str | None
    steps: list[NextStep]
    replay: str | None  # relative address of the replay, if there is one

    def figure_id(self, name: str) -> str | None:
        """Returns the id of one of the run's figures; None if there is nothing to draw."""
        key = f"{self.id}-{name}"
        return key if key in self.figures else None


def write_report(runs: Sequence[Path], output: Path, landscape: Path | None = None) -> Path:
    """Writes the report of one run, or of several side by side, as one HTML file.

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
    write_named(output, report_html(found, output.parent).encode())
    return output


def report_html(runs: Sequence[Findings], folder: Path, written: str | None = None) -> str:
    """Returns the page.

    Args:
        runs: what each run found.
        folder: where the page will be, for links to the replays.
        written: when, by default now.
    """
    share = 1 / len(runs)
    pages = [_run_page(number, found, folder, share) for number, found in enumerate(runs, 1)]
    figures = {key: figure for page in pages for key, figure in page.figures.items()}
    compared = {}
    if len(runs) > 1:
        made = {
            "compare-rewards": rewards_figure(list(runs)),
            "compare-paths": paths_figure(list(runs)),
            "compare-effects": effects_figure(list(runs)),
        }
        compared = {key: figure for key, figure in made.items() if figure is not None}
    return render(
        "report.html",
        scripts=(PLOTLY, "page.js", "report.js"),
        styles=("page.css", "report.css"),
        data={"highlight": {page.id: _first_highlight(page) for page in pages}},
        figures=figures | compared,
        pages=pages,
        compared=compared,
        is_comparable=len({words.game_of(found.run) for found in runs}) == 1,
        words=words,
        written=written or time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    )


def _run_page(number: int, found: Findings, folder: Path, share: float) -> RunPage:
    """Returns what is shown of a run that may take the given share of the page."""
    run, key = found.run, f"run{number}"
    trained = [c for c in run.curves if c.name not in (BASE, POLISH)]
    trials = _best(trained, int(share * _MOST_CURVES))
    stages = [c for c in run.curves if c.name in (BASE, POLISH)]
    threshold = run.config.train.compliance_threshold if run.config else None
    points = int(share * _MOST_POINTS) // max(len(trials), 1)
    decisions = found.path[-int(share * _MOST_DECISIONS) :]
    made = {
        "scores": scores_figure(found),
        "orders": orders_figure(found),
        "pairs": pairs_figure(found),
        "positions": positions_figure(found),
        "path": path_figure(decisions),
        "curves": curves_figure(trials, threshold, points=points),
        "stages": curves_figure(stages, threshold, named=True),
        "cost": cost_figure(found),
    }
    replay = run.path / REPLAY_FILE
    return RunPage(
        id=key,
        number=number,
        found=found,
        sentences={
            "finding": words.about_finding(found),
            "recommendation": words.about_recommendation(found),
            "scores": words.about_scores(found),
            "beliefs": words.about_beliefs(found),
            "pairs": words.about_pairs(found),
            "path": words.about_path(found),
            "trainings": words.about_trainings(run, len(trials), len(trained)),
            "cost": words.about_cost(found),
        },
        figures={f"{key}-{name}": figure for name, figure in made.items() if figure is not None},
        decisions=decisions,
        trainings=[(curve.name, curve.label) for curve in trials],
        settings=_settings(found),
        command=words.command_of(run.noted),
        steps=next_steps(run),
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
    matching = [c for c in page.found.run.curves if c.order == order and c.name != POLISH]
    best = max(matching, key=_last_reward, default=None)
    if best is not None:
        return best.name
    return page.trainings[0][0] if page.trainings else ""


def _last_reward(curve: Curve) -> float:
    last = float(curve.columns["env_reward"][-1]) if len(curve) else math.nan
    return -math.inf if math.isnan(last) else last


def _settings(found: Findings) -> list[tuple[str, str, bool]]:
    """Returns every setting of a run, flat, and whether it is what a plain search uses."""
    config, noted = found.run.config, found.run.noted.get("config")
    if config is not None:
        noted = config.as_json()
    if not isinstance(noted, dict):  # of another version: shown as it is
        return []
    default = asdict(ExperimentConfig())
    rows = []
    for group, values in noted.items():
        named = values if isinstance(values, dict) else {"": values}
        usual = default.get(group)
        for name, value in named.items():
            expected = usual.get(name) if isinstance(usual, dict) else usual
            if isinstance(expected, tuple):
                expected = list(expected)
            rows.append((f"{group}.{name}".rstrip("."), _shown(value), value == expected))
    return rows


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)


def next_steps(run: RunData) -> list[NextStep]:
    """Returns what to do with the policy of a finished search; nothing before its end."""
    if run.config is None or not run.is_finished or not run.is_search:
        return []
    path, game = shlex.quote(run.path.as_posix()), run.config.game
    other = next(red for red in RED_AGENTS if red != game.red_agent)
    python = (
        "from workflow_rl import Cage2Env, load_policy\n\n"
        f"policy = load_policy({run.path.as_posix()!r})\n"
        f"env = Cage2Env(red_agent={other!r}, observation={game.observation!r})\n"
        "observation, info = env.reset(seed=0)\n"
        "action = policy.get_action(observation)\n"
        "observation, reward, terminated, truncated, info = env.step(action)"
    )
    return [
        NextStep(
            "Score the policy by the challenge's own protocol, beside the leaderboard",
            f"workflow-rl evaluate {path}",
        ),
        NextStep(
            "Watch it defend the network, against another attacker and in another game",
            f"workflow-rl replay {path} --red-agent {other} --seed 7 --output replay_{other}.html",
        ),
        NextStep(
            "Search for a policy against another attacker, or against all of them",
            f"workflow-rl search --red-agent {other}\nworkflow-rl search --red-agent mixed",
        ),
        NextStep(
            "Train every order for several seeds, which tells apart what a search cannot",
            f"workflow-rl landscape --red-agent {game.red_agent}",
        ),
        NextStep(
            "Hand the order over: a runbook for people and a security playbook (CACAO)",
            f"workflow-rl playbook {path}",
        ),
        NextStep("Use the policy in Python", python),
    ]
