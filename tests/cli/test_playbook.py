from pathlib import Path

from tests.cli.run import run_here
from tests.playbook.plans import written
from tests.playbook.runs import finished
from workflow_rl.files import write_json
from workflow_rl.playbook.plan import Unit
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.workflow.units import fixable

ORDER = "enterprise > op_server > user > op_host > defender"


def test_a_run_s_playbook_is_written_and_its_order_read_back(tmp_path: Path) -> None:
    run = finished(tmp_path / "exp")
    said = run_here("playbook", str(run), cwd=tmp_path)
    assert said.startswith(f"playbook: {run}/playbook.md\nplaybook: {run}/playbook.json\n")
    runbook = (run / "playbook.md").read_text("utf-8")
    assert all(rule.strip() in runbook for rule in said.splitlines()[3:])  # standing orders
    assert run_here("playbook", "--from", "exp/playbook.json", cwd=tmp_path) == f"{ORDER}\n"


def test_units_that_are_not_the_five_types_are_shown_with_their_hosts(tmp_path: Path) -> None:
    plan = (Unit("crown-jewels", fixable(SCENARIO2)[:7]), Unit("the-rest", fixable(SCENARIO2)[7:]))
    write_json(tmp_path / "p.json", written(plan))
    said = run_here("playbook", "--from", "p.json", cwd=tmp_path).splitlines()
    assert said[0] == "crown-jewels > the-rest"
    assert said[2] == "the-rest: Op_Server0, User1, User2, User3, User4"
