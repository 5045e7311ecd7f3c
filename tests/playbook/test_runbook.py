"""What the runbook tells people, from hand-written runs and from a real one."""

from pathlib import Path

from tests.playbook.runs import finished, mixed, trained
from workflow_rl.playbook.handout import handout_of
from workflow_rl.playbook.writing import runbook
from workflow_rl.workflow.orders import TYPES


def told(path: Path) -> str:
    return runbook(handout_of(path))


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0]


def test_it_says_what_to_fix_first_with_the_hosts_of_each_unit(tmp_path: Path) -> None:
    text = told(finished(tmp_path / "exp"))
    assert text.startswith("# Repair order: enterprise > op_server > user > op_host > defender\n")
    assert section(text, "What to fix first").splitlines() == [
        "1. **enterprise**: Enterprise0, Enterprise1, Enterprise2",
        "2. **op_server**: Op_Server0",
        "3. **user**: User1, User2, User3, User4",
        "4. **op_host**: Op_Host0, Op_Host1, Op_Host2",
        "5. **defender**: Defender",
    ]


def test_costs_are_those_of_the_rules(tmp_path: Path) -> None:
    costs = section(told(finished(tmp_path / "exp")), "What each step costs")
    assert "| enterprise | 1.0 a host | 0, on Enterprise1, Enterprise2 only | 1.0 |" in costs
    assert "| op_host | 0.1 a host | does not help | 1.0 |" in costs
    assert "OT service on Op_Server0 costs 10.0 in every step" in costs


def test_it_says_which_part_of_the_order_matters_and_which_does_not(tmp_path: Path) -> None:
    matters = section(told(finished(tmp_path / "exp")), "Which part of the order matters")
    found, _, first, rest = matters.split("\n", 3)
    assert found.startswith("Enterprise before user; the rest makes no difference that shows: 60")
    assert first.startswith("- enterprise before user: worth 10.1 (95 % interval ")
    assert "The place of op_host and of defender makes no difference" in rest
    assert "bline leaves no mark there" in rest
    assert "    - enterprise, op_server (" in rest
    assert "op_host, defender" not in rest


def test_neighbours_whose_other_arrangement_never_complied_are_not_offered_to_change(
    tmp_path: Path,
) -> None:
    def complies(order: int) -> bool:
        return TYPES[order].index("enterprise") < TYPES[order].index("op_server")

    run = finished(tmp_path / "exp", complies)
    matters = section(told(run), "Which part of the order matters")
    assert " trials with op_server before enterprise complied.\n" in matters
    assert "    - enterprise, op_server (" not in matters


def test_against_meander_no_place_is_free_by_the_rules(tmp_path: Path) -> None:
    matters = section(told(mixed(tmp_path / "exp")), "Which part of the order matters")
    assert "makes no difference, by the rules" not in matters
    assert "    - op_host, defender (" in matters


def test_the_evidence_names_trials_scores_intervals_and_attackers(tmp_path: Path) -> None:
    text = told(finished(tmp_path / "exp"))
    evidence = section(text, "The evidence")
    assert "22 trials of 21 orders, a policy trained in each; 22 reached" in evidence
    assert "-15.40 ± 0.20 points per 100 steps (mean of 2,000 fresh games" in evidence
    assert "| bline | yes | -15.40 ± 0.20 | 97.0 % | -20.00 ± 0.20 |" in evidence
    assert "| meander | no | -90.00 ± 0.20 | 97.0 % | -20.00 ± 0.20 |" in evidence
    assert "Found by `workflow-rl search --red-agent bline`, seed 0." in evidence
    holds = section(text, "For which attackers it holds")
    assert "searched against bline, under the rules main, with 100 steps" in holds
    assert "Unfit for meander: -90.0" in holds
    assert "Unfit for bline" not in holds


def test_several_attackers_are_listed_as_people_write_them(tmp_path: Path) -> None:
    holds = section(told(mixed(tmp_path / "exp")), "For which attackers it holds")
    assert "searched against bline, meander and sleep, under the rules main" in holds


def test_a_training_of_one_workflow_has_a_runbook_that_claims_no_search(tmp_path: Path) -> None:
    text = told(trained(tmp_path / "exp"))
    assert "as given to the run `exp`" in text
    assert "Too few trials have ended" in text
    assert "The order was trained for against bline" in text
    assert "(mean of the last 12 training episodes, 95 % interval" in text


def test_a_hostile_name_stays_within_its_line(tmp_path: Path) -> None:
    text = told(finished(tmp_path / "a`b\n# c"))
    assert "the run `a'b?# c` of 2026-01-01" in text
