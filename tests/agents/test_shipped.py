import pytest

from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.shipped import SHIPPED, shipped_policy
from workflow_rl.config import RULE_SETS
from workflow_rl.evaluation.leaderboard import LEADERBOARD
from workflow_rl.evaluation.protocol import evaluate


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_each_policy_says_what_it_was_trained_for(name: str, rules: str, red_agent: str) -> None:
    policy = load_policy(shipped_policy(name, rules, red_agent))
    assert (policy.description["rules"], policy.description["red_agent"]) == (rules, red_agent)
    assert not policy.is_conditioned
    assert policy.outputs == {"cardiff": 36, "ppo": 145}[name]


def test_cardiff_scores_what_the_leaderboards_winner_scored() -> None:
    found = evaluate("cardiff", rules="competition", episodes=500)
    winner = LEADERBOARD[0]
    # 500 episodes a cell: half of the total's 95 % interval is 0.6.
    assert found.total.mean == pytest.approx(winner.total, abs=2.0)
    for red_agent in ("bline", "meander"):
        mean = found.cell(100, red_agent).estimate.mean
        assert mean == pytest.approx(winner.cell(100, red_agent), abs=2.0)
    assert found.cell(100, "sleep").estimate.mean == 0


@pytest.mark.parametrize("name", SHIPPED)
def test_policies_of_the_rule_set_that_is_played_are_taken(name: str) -> None:
    """Those trained on the leaderboard's rules lose points on today's."""
    means = {}
    for rules in RULE_SETS:
        found = evaluate(name, rules=rules, episodes=300, steps=[100], red_agents=["bline"])
        means[rules] = found.cell(100, "bline").estimate.mean
    assert min(means.values()) > -20, means
