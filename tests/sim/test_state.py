from typing import get_type_hints

import numpy as np

from workflow_rl.config.reds import BUILT_IN, GIVEN, RED_AGENTS
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.records import PADDING, record_dtype
from workflow_rl.sim.memory import Memory
from workflow_rl.sim.state import (
    SETTINGS_DTYPE,
    Activity,
    Mark,
    RedAgent,
    Settings,
    State,
    state_dtype,
)

STATE_DTYPE, MEMORY_DTYPE = state_dtype(SCENARIO2), record_dtype(Memory)


def names_of(layout: np.dtype[np.void]) -> tuple[str, ...]:
    assert layout.names is not None
    return tuple(name for name in layout.names if not name.startswith(PADDING))


def test_the_record_of_an_environment_has_exactly_the_fields_of_state() -> None:
    for dtype, layout in ((STATE_DTYPE, State), (SETTINGS_DTYPE, Settings)):
        assert names_of(dtype) == tuple(get_type_hints(layout))


def test_all_numbers_are_signed_so_that_compiled_arithmetic_stays_whole() -> None:
    def kinds(layout: np.dtype[np.void]) -> set[str]:
        return {layout[name].base.kind for name in names_of(layout)}

    assert kinds(SETTINGS_DTYPE) <= {"i", "b", "f"}
    assert kinds(MEMORY_DTYPE) == {"i"}
    assert kinds(STATE_DTYPE) == {"i", "b", "V"}  # V: the memory


def test_activity_and_mark_are_numbered_by_their_bits_in_the_vector() -> None:
    def bits(code: int) -> tuple[int, int]:
        return code & 1, code >> 1

    activities = {code.name: bits(code) for code in Activity}
    assert activities == {"NONE": (0, 0), "SCAN": (1, 0), "EXPLOIT": (1, 1)}
    marks = {code.name: bits(code) for code in Mark}
    assert marks == {"NO": (0, 0), "UNKNOWN": (1, 0), "USER": (0, 1), "PRIVILEGED": (1, 1)}


def test_red_agents_are_numbered_as_the_configuration_names_them() -> None:
    before_path = [name for name in BUILT_IN if name != "path"]
    assert [agent.name.lower() for agent in RedAgent] == [*before_path, GIVEN, "path"]
    assert BUILT_IN[: len(RED_AGENTS)] == RED_AGENTS
