from hypothesis import given, settings

from tests.playbook.cacao_rules import broken_rules
from tests.playbook.plans import plans, written
from workflow_rl.playbook.cacao import EXTENSION
from workflow_rl.playbook.plan import Plan, plan_of
from workflow_rl.workflow.orders import ORDERS

TYPES = plan_of(ORDERS[69])


@settings(max_examples=50, deadline=None)
@given(plan=plans())
def test_a_playbook_of_any_units_keeps_the_rules_of_the_standard(plan: Plan) -> None:
    assert broken_rules(written(plan)) == []


def test_the_same_content_has_the_same_identifiers_and_other_content_others() -> None:
    first, again = written(TYPES, run={"seed": 1}), written(TYPES, run={"seed": 1})
    assert first == again
    others = (written(TYPES, run={"seed": 2}), written(TYPES[::-1], run={"seed": 1}))
    for other in others:
        assert other["id"] != first["id"]
        assert not set(other["workflow"]) & set(first["workflow"])


def test_numbers_that_json_has_no_word_for_become_null() -> None:
    kept = written(TYPES, evidence={"reward": float("nan")})["playbook_extensions"][EXTENSION]
    assert kept["evidence"] == {"reward": None}
