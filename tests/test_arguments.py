"""Wrong types at the public Python functions: one sentence that names the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workflow_rl
from tests.refused import refusal
from workflow_rl.errors import NotResetError

CONFIG = workflow_rl.ExperimentConfig
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: CONFIG(search=-1), "search must be a SearchConfig, not -1"),  # type: ignore[arg-type]
    (lambda: CONFIG.preset("hybrid", game=3), "game must be a table of settings"),  # type: ignore[arg-type]
    (lambda: CONFIG.preset("hybrid", search=3), "search must be a table of settings"),  # type: ignore[arg-type]
    (lambda: workflow_rl.train_workflow(3), "3 is not a workflow"),  # type: ignore[arg-type]
    (lambda: workflow_rl.train_workflow([3]), "3 is not a workflow"),  # type: ignore[list-item]
    (lambda: workflow_rl.search(checkpoint_dir=3), "checkpoint_dir must be a path"),
    (lambda: workflow_rl.search(resume=3), "resume must be a path, not 3"),
    (lambda: workflow_rl.load_policy(3), "a policy must be a path, not 3"),  # type: ignore[arg-type]
    (lambda: workflow_rl.Policy({}, 4), "the config of a policy must be a PolicyConfig"),  # type: ignore[arg-type]
    (lambda: workflow_rl.evaluate(3), "an agent must be a name, a path"),  # type: ignore[arg-type]
    (lambda: workflow_rl.evaluate("sleep", steps=3), "steps must be a list"),  # type: ignore[arg-type]
    (lambda: workflow_rl.evaluate("sleep", red_agents=3), "red_agents must be a list"),  # type: ignore[arg-type]
    (lambda: workflow_rl.evaluate("sleep", workflow=3), "3 is not a workflow"),  # type: ignore[arg-type]
    (lambda: workflow_rl.SharedMemoryVectorEnv(3), "env_fns must be a list"),  # type: ignore[arg-type]
    (lambda: workflow_rl.CyborgEnv(cyborg_path=3), "cyborg_path must be a path"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_a_wrong_type_is_named_in_a_sentence(call: Callable[[], Any], sentence: str) -> None:
    assert sentence in refusal(call)


def test_there_is_no_step_after_close() -> None:
    one, many = workflow_rl.Cage2Env(), workflow_rl.Cage2VectorEnv(2)
    one.reset(seed=0)
    many.reset(seed=0)
    one.close()
    many.close()
    with pytest.raises(NotResetError):
        one.step(0)
    with pytest.raises(NotResetError):
        many.step(np.zeros(2, np.int64))
