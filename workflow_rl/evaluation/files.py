"""The files of an evaluation: everything as JSON, and the challenge's own text file."""

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workflow_rl import __version__
from workflow_rl.config import MIXED
from workflow_rl.envs.observations import observation_of
from workflow_rl.errors import InvalidInputError, in_line
from workflow_rl.evaluation.result import Cell, Evaluation
from workflow_rl.files import check_folder, write_json, write_named
from workflow_rl.provenance import git_revision, package_versions
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.sim.observation import Observation

JSON_NAME: Final = "evaluation.json"
TEXT_NAME: Final = "evaluation.txt"
FOLDER: Final = "evaluations"
_RED_CLASSES: Final = {
    "bline": "B_lineAgent",
    "meander": "RedMeanderAgent",
    "sleep": "SleepAgent",
    MIXED: "one of the three, drawn for each episode",
}


def default_directory(what: str, agent: str, rules: str) -> Path:
    """Returns where an evaluation is written by default: inside a run's directory, or here."""
    parent = Path(what) if Path(what).is_dir() else Path()
    name = re.sub(r"[^\w.-]+", "_", agent)
    return parent / FOLDER / f"{name}_{rules}_{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}"


def checked_directory(path: Path) -> Path:
    """Returns the directory if an evaluation can be written there, else InvalidInputError."""
    check_folder(path)
    for name in (JSON_NAME, TEXT_NAME):
        if (path / name).exists():
            raise InvalidInputError(f"{path} already holds an evaluation: choose another directory")
    return path


def write_evaluation(
    evaluation: Evaluation, directory: Path, *, author: str = "", team: str = ""
) -> tuple[Path, Path]:
    """Writes both files, each atomically, and returns their paths.

    The directory is made if need be; author and team stand in the text file's second line.
    """
    text = "".join(challenge_lines(evaluation, author=author, team=team))
    noted = {
        "command": sys.argv,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "git_revision": git_revision(),
        "packages": package_versions(),
    }
    paths = directory / JSON_NAME, directory / TEXT_NAME
    write_named(paths[1], text)
    write_json(paths[0], evaluation.as_json() | noted)
    return paths


def challenge_lines(evaluation: Evaluation, *, author: str = "", team: str = "") -> Iterator[str]:
    """Yields the lines of the challenge's evaluation file.

    Three lines say what was evaluated; each cell has a line with its mean and standard deviation,
    then one for each episode with every (Blue, Red) pair of actions and the total reward. Red's
    targets are given by name, not by address, and only the first episodes' actions are listed.
    """
    yield (
        f"workflow-rl v{__version__} ({evaluation.backend}, rules {evaluation.rules}"
        f"{', Green active' if evaluation.green_agent == 'active' else ''}), "
        f"{_network_name(evaluation.cells[0].game.network)}, "
        f"Commit Hash: {git_revision() or 'unknown'}\n"
    )
    yield in_line(f"author: {author}, team: {team}, technique: {evaluation.agent}") + "\n"
    seen = observation_of(evaluation.observation, evaluation.cells[0].game.network)
    yield f"wrappers: {_wrapper(seen)}\n"
    for cell in evaluation.cells:
        red = _RED_CLASSES.get(cell.red_agent, cell.red_agent)
        yield (
            f"steps: {cell.steps}, adversary: {red}, mean: {cell.mean}, "
            f"standard deviation {cell.sd}\n"
        )
        yield from _episode_lines(cell)


def _network_name(network: Network) -> str:
    return "Scenario2" if network == SCENARIO2 else network.name


def _wrapper(observation: Observation) -> str:
    """Says what Blue saw, as the challenge's own wrapper where it is that."""
    if observation.name == "challenge":
        return "ChallengeWrapper(env=env, agent_name='Blue')"
    truth = "; it shows the truth, which no defender sees" if observation.is_privileged else ""
    return f"the {observation.name} observation of {observation.size} values{truth}"


def _episode_lines(cell: Cell) -> Iterator[str]:
    log = cell.log
    names = actions_of(cell.game.network).names
    for episode, total in enumerate(cell.returns.tolist()):
        pairs = []
        if episode < log.blue.shape[1]:
            played = zip(log.blue[:, episode].tolist(), log.red[:, episode].tolist(), strict=True)
            pairs = [(names[blue], log.red_names[red]) for blue, red in played]
        yield f"actions: {pairs}, total reward: {total}\n"
