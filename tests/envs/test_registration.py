import subprocess
import sys

import gymnasium
import pytest

import workflow_rl
from workflow_rl.envs.registration import CYBORG_ENV_IDS, ENV_IDS


@pytest.mark.parametrize(("rules", "name"), ENV_IDS.items())
def test_every_rule_set_has_a_name_of_its_own(rules: str, name: str) -> None:
    single = gymnasium.make(name, red_agent="meander").unwrapped
    several = gymnasium.make_vec(name, num_envs=2)
    assert isinstance(single, workflow_rl.Cage2Env)
    assert isinstance(several, workflow_rl.Cage2VectorEnv)
    assert (single.config.rules, several.config.rules) == (rules, rules)
    assert single.config.red_agent == "meander"


def test_the_real_cyborg_has_the_same_names() -> None:
    for rules, name in CYBORG_ENV_IDS.items():
        assert gymnasium.spec(name).kwargs == {"rules": rules}


def test_gymnasium_finds_a_name_that_says_where_it_is_from() -> None:
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('workflow_rl:workflow_rl/Cage2Competition-v0')\n"
        "print(env.unwrapped.config.rules, env.spec.id)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["competition", "workflow_rl/Cage2Competition-v0"]
