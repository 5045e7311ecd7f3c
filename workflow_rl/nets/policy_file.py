"""The file of a policy, Blue's or Red's: its weights, and how it was trained."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from workflow_rl.config import PolicyConfig, SideName, restored, stored
from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.mlp import Floats

POLICY_KIND: Final = "policy"
RECOMMENDED_FILE: Final = Path("policies", "recommended.safetensors")  # of a run's directory
_TRAINED: Final = "trained"  # of a file's description: how; the rest are facts about the policy
_WHAT: Final[Mapping[SideName, str]] = {
    "blue": "a policy of Blue, which defends",
    "red": "a policy of Red, which attacks",
}

Weights = dict[str, Floats]


def save_policy(
    path: str | Path, weights: Weights, config: PolicyConfig, facts: Mapping[str, Any]
) -> None:
    """Writes a policy, and its description in a JSON file next to it."""
    from workflow_rl.files import make_folder, save_arrays, write_json  # needs safetensors

    path = file_path("a policy", path)
    make_folder(path.parent)
    description = {**facts, _TRAINED: stored(config)}
    save_arrays(path, POLICY_KIND, dict(weights), description)
    write_json(path.with_suffix(".json"), description)


def read_policy(path: Path, side: SideName) -> tuple[Weights, PolicyConfig, dict[str, Any]]:
    """Returns the weights of a policy, its configuration and the facts about it.

    Args:
        path: its file, or the directory of a run, whose recommended policy is read.
        side: whose policy it must be.

    Raises:
        InvalidInputError: the file is damaged, foreign, of another version or of the other side.
    """
    from workflow_rl.files import check_manifest, load_arrays  # needs safetensors

    if path.is_dir():
        check_manifest(path, RECOMMENDED_FILE.as_posix())
        path = path / RECOMMENDED_FILE
    weights, description = load_arrays(path, POLICY_KIND)
    if _TRAINED not in description:
        raise InvalidInputError(
            f"{path} is not a policy of this version: it does not say how it was trained"
        )
    try:
        config = restored(PolicyConfig, description.pop(_TRAINED), "policy")
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} does not hold a policy: {error}") from error
    if config.train.side != side:
        raise InvalidInputError(f"{path} is {_WHAT[config.train.side]}; {_WHAT[side]}, is needed")
    return weights, config, description
