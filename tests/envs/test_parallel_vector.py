from typing import Any

import numpy as np
import pytest

from tests.refused import refused
from workflow_rl import Cage2Env, Cage2ParallelVectorEnv, Cage2VectorEnv
from workflow_rl.errors import NotResetError
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.red_given import red_actions_of

N = 16
RED = red_actions_of(SCENARIO2)


def legal(masks: Any, rng: np.random.Generator) -> Any:
    """A legal action for each row of masks."""
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def on_positions(env: Cage2ParallelVectorEnv, actions: Any) -> Any:
    """Red's actions on hosts as Red itself names them."""
    on_host = RED.is_on_host(actions)
    host = np.where(on_host, RED.targets[actions], 0)
    place = env.batch.red.memory["place"][np.arange(N), host]
    return np.where(on_host, actions - host + place, actions)


@pytest.mark.parametrize("rules", ["main", "competition"])
@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_a_script_played_from_outside_gives_its_own_games(red_agent: str, rules: Any) -> None:
    script = Cage2VectorEnv(N, red_agent=red_agent, rules=rules, episode_length=70)
    env = Cage2ParallelVectorEnv(N, rules=rules, episode_length=70, illegal="error")
    script.reset(seed=5), env.reset(seed=5)
    for blue in np.random.default_rng(0).integers(0, 145, (60, N)):
        seen, reward, *_, infos = script.step(blue)
        state = script.batch.state
        red = on_positions(env, RED.numbers(state["red_action"], state["red_target"]))
        shown, rewards, *_, told = env.step({"blue": blue, "red": red})
        np.testing.assert_array_equal(shown["blue"], seen)
        np.testing.assert_array_equal([rewards["blue"], -rewards["red"]], [reward, reward])
        for name in ("action_mask", "red_access", "reward_tenths"):
            np.testing.assert_array_equal(told["blue"][name], infos[name])


def test_an_action_that_is_not_legal_is_sleep_or_an_error() -> None:
    actions: Any = {"blue": [0, 0], "red": [0, 31]}
    lenient, strict = (Cage2ParallelVectorEnv(2, seed=0, illegal=i) for i in ("sleep", "error"))
    with pytest.raises(NotResetError):
        strict.step(actions)
    lenient.reset(), strict.reset()
    assert lenient.step(actions)[-1]["red"]["illegal"].tolist() == [False, True]
    assert (lenient.batch.state["red_action"] == 0).all()
    before = strict.batch.state.tobytes()
    says = "red action 31 PrivilegeEscalate Enterprise0 is not legal in environment 1; legal are 0"
    refused(says, strict.step, actions)
    refused("red actions must be whole numbers from 0", strict.step, actions | {"red": [56, 0]})
    refused("{'blue': ..., 'red': ...}, not {'blue'", strict.step, {"blue": [0, 0]})
    assert strict.batch.state.tobytes() == before


def test_wrong_arguments_are_refused() -> None:
    make = Cage2ParallelVectorEnv
    refused("there is no red_agent to choose", make, red_agent="bline")
    refused("unknown illegal 'skip': choose one of sleep, error", make, illegal="skip")
    refused("a model of bline, meander, sleep, and none of 'given'", make, observation="belief")
    refused("'given' does what it is told: workflow_rl.parallel_env", Cage2Env, red_agent="given")
