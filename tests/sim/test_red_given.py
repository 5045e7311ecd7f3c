import numpy as np
import pytest

from tests.refused import refused
from tests.sim.board import View
from tests.sim.games import N, random_actions
from workflow_rl.config import RULE_SETS, GameConfig, RuleSetName
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.red_given import legal_actions, red_actions_of
from workflow_rl.sim.state import state_dtype

GIVEN = "red.safetensors"
ACTIONS = red_actions_of(SCENARIO2)
PLANS = ("red_agent", "red_wait", "bline_", "meander_")
NOT_PLANS = [name for name in state_dtype(SCENARIO2).names or () if not name.startswith(PLANS)]


def test_legal_is_what_cyborg_offers_for_the_subnets_addresses_and_names_that_red_knows() -> None:
    view = View(red_agent="sleep").put("addresses_known", "U0", "OpS").put("names_known", "Def")
    legal = legal_actions(SCENARIO2, view.arrange(subnets_known=0b110).state)
    assert [name for name, may in zip(ACTIONS.names, legal, strict=True) if may] == [
        *("Sleep", *ACTIONS.names[2:4]),
        *("DiscoverNetworkServices Op_Server0", "DiscoverNetworkServices User0"),
        *("ExploitRemoteService Op_Server0", "ExploitRemoteService User0"),
        *("PrivilegeEscalate Defender", "Impact Defender"),
    ]


@pytest.mark.parametrize("red", ["bline", "meander", "bait", "patient:4:random"])
@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_script_whose_actions_are_given_plays_the_same_games(
    red: str, rules: RuleSetName
) -> None:
    script, given = (
        Batch(N, GameConfig(red_agent=who, rules=rules, green_agent="active"))
        for who in (red, GIVEN)
    )
    script.reset(seed=3)
    given.reset(seed=3)
    for actions in random_actions(3, 0.3, N, 99):
        script.step(actions)
        kinds, targets = script.state["red_action"], script.state["red_target"]
        given.step(actions, red_actions=ACTIONS.numbers(kinds, targets))
        for mine, its in zip(given.out, script.out, strict=True):
            np.testing.assert_array_equal(mine, its)
        assert (given.state[NOT_PLANS] == script.state[NOT_PLANS]).all()


def test_an_action_that_is_not_legal_is_refused_and_nothing_is_played() -> None:
    batch = Batch(3, GameConfig(red_agent=GIVEN))
    batch.reset(seed=0)
    before, blue = batch.state.copy(), np.zeros(3, np.int64)
    legal = "legal are Sleep, DiscoverRemoteSystems User, DiscoverNetworkServices User0"
    for wrong in (5, -1, 56, 2**40):
        sentence = f"red action {wrong} is not legal in environment 2; {legal}"
        refused(sentence, batch.step, blue, red_actions=np.array([0, 1, wrong]))
    refused("Red's action in environment 0 is missing: give red_actions", batch.step, blue)
    assert (batch.state == before).all()
