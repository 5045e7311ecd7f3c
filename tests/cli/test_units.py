"""Units of one's own and what is required of orders, from the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.run import TOY_SEARCH, TOY_TRAIN, Patch, flags, run_here
from tests.runs.toy import the_run
from workflow_rl import load_policy
from workflow_rl.scenario.scenario2 import HOST_NAMES

FIXABLE = [name for name in HOST_NAMES if name != "User0"]
GROUPS = 'jewels = ["Op_Server0", "Enterprise2"]\nlaptops = ["User1", "User2"]\n'
UNITS = ("--units", "units.toml")
SEARCH = ["search", *TOY_SEARCH]
SEARCH += flags("--n-workflows 3 --initial-design 2 --compliance-threshold 0.01")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "units.toml").write_text(GROUPS)
    return tmp_path


def test_a_search_of_one_s_own_units_keeps_them_without_the_file(folder: Path) -> None:
    out = run_here(*SEARCH, *UNITS, "--require", "jewels > laptops", cwd=folder)
    assert "units: jewels: Enterprise2, Op_Server0; laptops: User1, User2; rest: Defender" in out
    assert "required: jewels > laptops" in out
    (folder / "units.toml").unlink()
    run = the_run(folder / "logs")
    summary = json.loads((run / "summary.json").read_text())
    assert summary["units"] == {
        "jewels": ["Op_Server0", "Enterprise2"],
        "laptops": ["User1", "User2"],
    }
    assert summary["required"] == ["jewels > laptops"]
    for trial in summary["trials"]:
        names = trial["workflow"].split(" > ")
        assert sorted(names) == ["jewels", "laptops", "rest"]
        assert names.index("jewels") < names.index("laptops")
    assert f"recommended: {summary['recommended']}" in run_here(
        "search", "--resume", str(run), "--no-report", cwd=folder
    )
    page = (run / "report.html").read_text()
    assert "Units: jewels: Enterprise2, Op_Server0" in page
    assert "Required: jewels &gt; laptops" in page
    few = ("--episodes", "3", "--steps", "20", "--red-agent", "bline")
    told = run_here("evaluate", str(run), *few, cwd=folder)
    assert f"compliance by: {summary['recommended']}" in told
    other = run_here("evaluate", str(run), *few, "--workflow", "rest laptops jewels", cwd=folder)
    assert "compliance by: rest > laptops > jewels" in other
    run_here("replay", str(run), cwd=folder)
    assert "jewels" in (run / "replay.html").read_text()


def test_an_order_that_is_required_from_first_to_last_is_simply_trained(folder: Path) -> None:
    whole = ("--require", "rest > jewels > laptops")
    out = run_here(*SEARCH, *UNITS, *whole, "--no-report", cwd=folder)
    summary = json.loads((the_run(folder / "logs") / "summary.json").read_text())
    assert summary["workflows"] == 1
    assert summary["recommended"] == "rest > jewels > laptops"
    assert not (the_run(folder / "logs") / "policies" / "base.safetensors").exists()
    assert "recommended: rest > jewels > laptops" in out
    told = run_here("train", *TOY_TRAIN, *UNITS, *whole, "--checkpoint-dir", "one", cwd=folder)
    assert "rest > jewels > laptops: reward" in told


def test_a_policy_of_any_units_is_told_any_order(folder: Path) -> None:
    modern = ("--units", "any", "--ppo", "modern", "--follow", "shielded")
    run_here("train", *TOY_TRAIN, *modern, cwd=folder)
    run = the_run(folder / "logs")
    policy = load_policy(run)
    assert (policy.units, policy.order, policy.is_shielded) == (None, None, True)
    few = ("--episodes", "5", "--steps", "20", "--red-agent", "bline", "--output", "found")
    order = " > ".join(FIXABLE)
    run_here("evaluate", str(run), *few, "--units", "hosts", "--workflow", order, cwd=folder)
    found = json.loads((folder / "found" / "evaluation.json").read_text())
    assert (found["workflow"], found["units"]) == (order, "hosts")
    assert set(found["cells"][0]["episode_compliance_observed"]) <= {0.0, 1.0}  # none violates
