from pathlib import Path

import pytest

from tests.cli.run import Capture
from workflow_rl.agents.policy import load_policy
from workflow_rl.cli import main

TRAIN = ["train", "--preset", "original", "--n-envs", "4", "--update-steps", "80"]
TRAIN += ["--max-steps", "20", "--max-episodes", "6", "--hidden", "8"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    assert main([*TRAIN, "--checkpoint-dir", str(folder)]) == 0
    (run,) = folder.iterdir()
    return run


def test_the_original_trainer_keeps_a_policy_of_36_outputs_at_every_update(trained: Path) -> None:
    paths = sorted(trained.glob("**/snapshots/*.safetensors"))
    assert [path.stem for path in paths] == [f"update_{k:06d}" for k in range(1, 7)]
    for path in paths:
        policy = load_policy(path)
        assert (policy.action_space.name, policy.observation.name) == ("cardiff", "cardiff")
        assert not policy.is_conditioned
        assert path.with_suffix(".json").exists()
    assert load_policy(paths[-1]).facts == {"update": 6}


def test_the_selected_policy_is_one_of_the_last(trained: Path, capsys: Capture) -> None:
    assert main(["select", str(trained), "--steps", "20", "--episodes", "100", "--last", "5"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("5 saved policies\n1. update_")
    selected = trained / "policies" / "selected.safetensors"
    assert f"selected: {selected}" in out
    name = out.split("1. ")[1].split(":")[0]
    chosen = next(trained.glob(f"**/snapshots/{name}.safetensors"))
    assert load_policy(selected).facts == load_policy(chosen).facts
    arguments = ["--episodes", "5", "--steps", "20", "--output", str(trained / "evaluation")]
    assert main(["evaluate", str(selected), *arguments]) == 0
