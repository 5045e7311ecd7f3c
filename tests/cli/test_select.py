from pathlib import Path

from tests.cli.run import Capture
from tests.runs.toy import the_run
from workflow_rl.agents.policy import load_policy
from workflow_rl.cli import main

TRAIN = ["train", "--preset", "original", "--n-envs", "4", "--update-steps", "80"]
TRAIN += ["--max-steps", "20", "--max-episodes", "6", "--hidden", "8"]


def test_the_selected_policy_is_one_of_the_last(tmp_path: Path, capsys: Capture) -> None:
    assert main([*TRAIN, "--checkpoint-dir", str(tmp_path)]) == 0
    trained = the_run(tmp_path)
    capsys.readouterr()
    paths = sorted(trained.glob("**/snapshots/*.safetensors"))
    assert [path.stem for path in paths] == [f"update_{k:06d}" for k in range(1, 7)]
    for path in paths:
        policy = load_policy(path)
        assert (policy.action_space.name, policy.observation.name) == ("cardiff", "cardiff")
        assert not policy.is_conditioned
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
