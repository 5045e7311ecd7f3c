"""The red agent path: B_line's chain, which goes on where CybORG's B_line cannot."""

from typing import Any

import numpy as np
import pytest

from tests.envs.networks import OFFICE, OTHERS
from tests.scenario.networks import scenario
from workflow_rl import Cage2Env, Cage2VectorEnv, evaluate
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.network import Network
from workflow_rl.sim.state import RedAction, RedAgent

N = 20
REACHED = {name: OTHERS[name] for name in ("office", "plant", "cage1")} | {"scenario2": SCENARIO2}


def undefended(network: Network, red_agent: str, steps: int = 60) -> Any:
    """The batch of games in which Blue sleeps."""
    env = Cage2VectorEnv(N, network=network, red_agent=red_agent, episode_length=steps + 1)
    env.reset(seed=0)
    for _ in range(steps):
        env.step(np.full(N, env.actions.index("Sleep")))
    return env.batch


@pytest.mark.parametrize("network", REACHED.values(), ids=REACHED)
def test_undefended_it_stops_the_service_of_a_target_in_every_game(network: Network) -> None:
    state = undefended(network, "path").state
    assert (state["red_agent"] == RedAgent.PATH).all()
    targets = sum(1 << network.number(name) for name in network.roles.targets)
    assert (state["ot_down"] & targets != 0).all()
    assert (state["red_action"] == RedAction.IMPACT).any()


@pytest.mark.parametrize("name", ["crash_04", "net_01", "net_04"])
def test_it_goes_on_where_cyborg_s_bline_raises(name: str) -> None:
    network = network_of(scenario(name))
    bline, path = (undefended(network, red).state for red in ("bline", "path"))
    assert (bline["red_raised"] != 0).all()
    assert (bline["red_action"] == RedAction.SLEEP).all()
    assert not bline["ot_down"].any()
    assert not path["red_raised"].any()
    assert (path["ot_down"] != 0).mean() > 0.5  # exploits fail, too


def test_patience_and_mixtures_go_with_it() -> None:
    patient = Cage2Env(network="office", red_agent="patient:4:path", render_mode="ansi")
    patient.reset(seed=0)
    did = []
    for _ in range(6):
        patient.step(0)
        did.append(RedAction(patient.batch.state["red_action"][0]))
    assert did[:4] == [RedAction.SLEEP] * 4
    assert did[4:] == [RedAction.DISCOVER_REMOTE_SYSTEMS, RedAction.DISCOVER_NETWORK_SERVICES]
    assert "red patient:4:path" in str(patient.render())
    drawn = undefended(OFFICE, "path=1,meander=1", steps=1).state["red_agent"]
    assert set(drawn.tolist()) == {RedAgent.PATH, RedAgent.MEANDER}


def test_its_score_stands_under_its_name() -> None:
    found = evaluate("sleep", network="office", red_agents=["path"], steps=[30], episodes=20)
    (cell,) = found.cells
    assert cell.red_agent == "path"
    names = [cell.log.red_names[code] for code in cell.log.red[:, 0]]
    assert names[0].startswith("DiscoverRemoteSystems office")
    assert "Impact billing" in names
    assert cell.result.reward.mean < -50
