"""Trainings on networks that are not Scenario2."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.envs.networks import OFFICE, STRANGE
from tests.refused import refused
from tests.train.toys import MODERN, assert_same, final, job, trained
from workflow_rl import Cage2Env, evaluate, load_policy
from workflow_rl.config import ExperimentConfig, GameConfig, TrainConfig
from workflow_rl.envs.reds import RedPolicy
from workflow_rl.runs.train import train_workflow
from workflow_rl.runs.training import job_of
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.train.loop import Training
from workflow_rl.workflow.orders import orders_of
from workflow_rl.workflow.units import units_of

ORDER = "billing > backup > servers > owner > desks"


def config(network: Network, **train: Any) -> ExperimentConfig:
    return ExperimentConfig(
        game=GameConfig(network=network, red_agent="meander", episode_length=20),
        train=TrainConfig(
            n_envs=6, max_episodes=3, min_updates=1, hidden=(8,), stop_at="budget", **train
        ),
    )


@pytest.fixture(scope="module")
def policy() -> Any:
    found, outcome = train_workflow(ORDER, config(OFFICE))
    assert outcome.updates == 3
    return found


def test_a_policy_of_the_office_is_stored_loaded_and_played_there(
    policy: Any, tmp_path: Path
) -> None:
    policy.save(tmp_path / "office.safetensors")
    again = load_policy(tmp_path / "office.safetensors")
    for one in (policy, again):
        assert one.config.game.network == OFFICE
        assert one.network.digest == OFFICE.digest
        assert str(one.order) == ORDER
        assert one.order is not None
        assert one.order.units == units_of("types", OFFICE)
    env = Cage2Env(network="office", red_agent="path", seed=1)
    seen, _ = env.reset()
    for _ in range(30):
        action = again.get_action(seen)
        assert action == policy.get_action(seen)
        assert 0 <= action < actions_of(OFFICE).size
        seen, *_ = env.step(action)
    few: Any = {"steps": [20], "episodes": 3, "red_agents": ["meander", "path"]}
    one, other = (evaluate(what, **few) for what in (policy, tmp_path / "office.safetensors"))
    assert [c.returns.tolist() for c in one.cells] == [c.returns.tolist() for c in other.cells]
    assert [c.game.network for c in one.cells] == [OFFICE, OFFICE]


def test_it_is_refused_on_scenario2(policy: Any) -> None:
    says = "was trained on the network office, and the game is played on scenario2: its hosts and"
    refused(says, evaluate, policy, network="scenario2")
    env = Cage2Env()
    refused("an observation of this policy has 32 values", policy.get_action, env.reset(seed=0)[0])


@pytest.mark.parametrize("network", [OFFICE, STRANGE], ids=["office", "strange"])
@pytest.mark.parametrize("form", ["documented", "modern"])
def test_a_training_goes_on_exactly_from_its_checkpoint(
    network: Network, form: str, tmp_path: Path
) -> None:
    game = {"network": network, "observation": "memory", "red_agent": "mixed"}
    over: dict[str, Any] = {"game": game, "order": None}
    some = job(**over) if form == "documented" else job(MODERN, action_space="useful", **over)
    whole, first = trained(some), Training(some)
    for _ in first.updates():
        break
    first.save(tmp_path / "checkpoint")
    resumed = Training.load(tmp_path / "checkpoint", some)
    for _ in resumed.updates():
        pass
    assert_same(whole, resumed)
    assert all(np.isfinite(weights).all() for weights in final(whole).values())


def test_a_training_on_any_order_shows_the_hosts_of_its_network() -> None:
    some = job(order=None, units="any", game={"network": OFFICE})
    training = trained(some)
    found = training.job.policy(final(training))
    assert found.encoding is not None
    fixable = len(OFFICE.hosts) - 1
    assert found.encoding.size == fixable * fixable + fixable
    order = orders_of(TrainConfig(units="hosts"), OFFICE)[5]
    seen = training.player.world.observation
    assert found.logits(seen, order).shape == (len(seen), actions_of(OFFICE).size)


def test_what_is_of_scenario2_alone_is_refused_before_anything_is_trained() -> None:
    says = "is of the network scenario2 alone"
    refused(
        f"the action space cardiff {says}",
        train_workflow,
        None,
        config(OFFICE, action_space="cardiff", conditioned=False),
    )
    seen = config(OFFICE)
    seen = replace(seen, game=replace(seen.game, observation="cardiff"))
    refused(f"the observation cardiff {says}", train_workflow, None, seen)
    refused(
        "User0|user",
        train_workflow,
        "op_server > enterprise > op_host > user > defender",
        config(OFFICE),
    )


def test_red_is_trained_on_a_network_and_refused_on_another(tmp_path: Path) -> None:
    settings = ExperimentConfig.preset(
        "best-response",
        train={"n_envs": 10, "max_episodes": 2, "hidden": (8,), "against": "greedy"},
        game={"episode_length": 15, "network": OFFICE},
    )
    some = job_of(settings, None)
    training = Training(some)
    for _ in training.updates():
        pass
    path = tmp_path / "red.safetensors"
    some.save_policy(path, training.best)
    assert RedPolicy.load(path).config.game.network == OFFICE
    found = evaluate("greedy", network="office", red_agents=[str(path)], steps=[15], episodes=3)
    assert found.cells[0].returns.shape == (3,)
    refused(
        "was trained on the network office, and the game is played on scenario2",
        Cage2Env,
        network=SCENARIO2,
        red_agent=str(path),
    )
