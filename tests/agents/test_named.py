import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import ORDER, new_policy, policy_file
from tests.refused import refusal
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import FingerprintAgent
from workflow_rl.agents.shipped import SHIPPED, WITHOUT_ORDER, shipped_policy
from workflow_rl.config import RULE_SETS
from workflow_rl.evaluation.leaderboard import LEADERBOARD
from workflow_rl.evaluation.protocol import evaluate
from workflow_rl.nets.policy_file import RECOMMENDED_FILE
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.workflow.orders import ORDERS
from workflow_rl.workflow.units import fixable


def test_a_policy_is_found_by_file_and_by_run_directory(tmp_path: Path) -> None:
    policy = new_policy(order=ORDER, conditioned=True)
    run = tmp_path / "exp_1"
    path = policy_file(run / "policies" / "recommended.safetensors", policy)
    seen = np.random.default_rng(0).integers(0, 2, (9, 52)).astype(np.int8)
    for what, name in ((path, "recommended"), (run, "exp_1"), (policy, "policy")):
        agent = make_agent(what)
        assert (agent.name, agent.order) == (name, ORDERS[ORDER])
        assert (agent.act(seen, np.ones((9, 145), np.bool_), 0) == policy.act(seen)).all()
    assert load_policy(str(run)).order == ORDERS[ORDER]
    missing = tmp_path / RECOMMENDED_FILE
    assert refusal(make_agent, tmp_path) == f"there is no file {missing}"
    (tmp_path / "notes.txt").write_text("notes")
    assert "damaged or not a policy" in refusal(make_agent, tmp_path / "notes.txt")


def test_two_policies_make_one_agent(tmp_path: Path) -> None:
    one = policy_file(tmp_path / "one.safetensors", new_policy("cardiff", "cardiff"))
    other = policy_file(tmp_path / "other.safetensors", new_policy("cardiff", "cardiff", seed=1))
    plain = policy_file(tmp_path / "plain.safetensors", new_policy("cardiff"))
    agent = make_agent(f"bline={one},meander={other}")
    assert isinstance(agent, FingerprintAgent)
    assert (agent.name, agent.observation) == ("cardiff", "cardiff")
    assert make_agent(f"bline={one},meander={plain}").name == "fingerprint"


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("nobody", "nobody is no run directory, no policy file and no baseline: baselines are sl"),
        ("bline=a", "write bline=PATH,meander=PATH"),
        ("bline=a,meander=", "write bline=PATH,meander=PATH"),
        ("bline=a,meander=b,sleep=c", "write bline=PATH,meander=PATH"),
        ("bline=a,meander=b", "a is no run directory"),
        ("universal", "the policy universal follows any workflow: say which one"),
        (3, "an agent must be a name, a path or a policy, not 3"),
    ],
)
def test_what_stands_for_nothing_is_answered_with_what_would(what: Any, text: str) -> None:
    assert text in refusal(make_agent, what)


def test_a_run_or_a_file_may_have_the_name_of_a_shipped_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    policy_file(tmp_path / "universal", new_policy(conditioned=True, order=ORDER))
    assert load_policy(Path("universal")).order == ORDERS[ORDER]
    assert make_agent("./universal").order == ORDERS[ORDER]
    assert load_policy("universal").order is None


# --- the policies that come with the package


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize(
    ("name", "red_agent", "observation", "action_space"),
    [
        *(("cardiff", red, "cardiff", "cardiff") for red in ("bline", "meander")),
        *(("ppo", red, "challenge", "all") for red in ("bline", "meander")),
        ("best", None, "memory", "useful"),
        ("universal", None, "recall", "useful"),
    ],
)
def test_each_policy_says_what_it_was_trained_for(
    name: str, red_agent: str | None, observation: str, action_space: str, rules: str
) -> None:
    policy = load_policy(shipped_policy(name, rules, red_agent))
    game = policy.config.game
    assert game.rules == rules
    scripts = {"bline", "meander"} if red_agent is None else {red_agent}
    assert scripts <= {red.name for red in game.reds}
    assert (policy.observation.name, policy.action_space.name) == (observation, action_space)
    follows = name == "universal"  # any order of any units
    assert (policy.is_conditioned, policy.is_shielded) == (follows, follows)
    assert policy.order is None
    assert (policy.units is None) == follows
    assert name in SHIPPED
    assert "unknown rule set 'newest'" in refusal(make_agent, name, rules="newest")


def test_cardiff_scores_as_the_leaderboards_winner_and_best_above_every_entry() -> None:
    best, cardiff = (
        evaluate(name, rules="competition", episodes=500) for name in ("best", "cardiff")
    )
    cells = [(steps, red) for steps in (30, 50, 100) for red in ("bline", "meander")]
    best_cells = sum(max(row.cell(*cell) for row in LEADERBOARD) for cell in cells)
    assert best_cells == pytest.approx(-51.64)
    assert best.total.mean - best.total.half_width > best_cells
    # 500 episodes a cell: half of the total's 95 % interval is 0.6.
    winner = LEADERBOARD[0]
    assert cardiff.total.mean == pytest.approx(winner.total, abs=2.0)
    for red in ("bline", "meander"):
        assert cardiff.cell(100, red).mean == pytest.approx(winner.cell(100, red), abs=2.0)
    assert best.cell(100, "sleep").mean == cardiff.cell(100, "sleep").mean == 0


@pytest.mark.parametrize("rules", RULE_SETS)
def test_universal_follows_any_order_of_any_units_against_all_attackers(rules: str) -> None:
    for workflow, units in (
        ("user > op_host > defender > enterprise > op_server", None),
        (tuple(reversed(fixable(SCENARIO2))), "hosts"),
    ):
        found = evaluate(
            "universal", workflow=workflow, units=units, rules=rules, steps=[100], episodes=300
        )
        for cell in found.cells:
            assert cell.mean > -25, cell
            assert (cell.result.compliance.mean or 0) > 0.95, cell


def test_policies_of_the_rule_set_that_is_played_are_taken() -> None:
    """Those trained on the leaderboard's rules lose points on today's."""
    for name, rules in itertools.product(WITHOUT_ORDER, RULE_SETS):
        found = evaluate(name, rules=rules, episodes=300, steps=[100], red_agents=["bline"])
        assert found.cell(100, "bline").mean > -20, (name, rules)
