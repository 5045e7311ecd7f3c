from typing import Any, get_type_hints

import numpy as np
import pytest

from workflow_rl.config import RED_AGENTS
from workflow_rl.sim.memory import MEMORY_DTYPE
from workflow_rl.sim.records import PADDING
from workflow_rl.sim.state import (
    INITIAL_STATE,
    SETTINGS_DTYPE,
    STATE_DTYPE,
    Activity,
    Mark,
    RedAgent,
    Settings,
    State,
)


def names_of(layout: np.dtype[np.void]) -> tuple[str, ...]:
    assert layout.names is not None
    return tuple(name for name in layout.names if not name.startswith(PADDING))


def test_the_record_of_an_environment_has_exactly_the_fields_of_state() -> None:
    for dtype, layout in ((STATE_DTYPE, State), (SETTINGS_DTYPE, Settings)):
        assert names_of(dtype) == tuple(get_type_hints(layout))


def test_no_byte_of_a_record_is_without_a_name() -> None:
    for dtype in (STATE_DTYPE, SETTINGS_DTYPE):
        assert dtype.fields is not None
        assert sum(kind.itemsize for kind, *_ in dtype.fields.values()) == dtype.itemsize
        assert dtype.isalignedstruct


def test_fields_have_their_type_and_shape() -> None:
    fields: dict[str, tuple[Any, Any]] = {
        name: (STATE_DTYPE[name].base, STATE_DTYPE[name].shape) for name in names_of(STATE_DTYPE)
    }
    assert fields["table"] == (np.int64, ())
    assert fields["privileged"] == (np.int16, ())
    assert fields["ot_running"] == (np.bool_, ())
    per_host = {name: base for name, (base, shape) in fields.items() if shape == (13,)}
    assert per_host == {
        "decoys": np.int16,
        "event_count": np.int8,
        "event_ports": np.int16,
        "ports": np.int16,
    }
    assert {shape for _, shape in fields.values()} == {(), (13,)}


def test_the_initial_state_holds_the_value_that_every_field_states() -> None:
    assert INITIAL_STATE.dtype == STATE_DTYPE
    for name in names_of(STATE_DTYPE):
        assert np.array_equal(INITIAL_STATE[name][0], getattr(State, name)), name
    with pytest.raises(ValueError, match="read-only"):
        INITIAL_STATE["privileged"] = 0


def test_all_numbers_are_signed_so_that_compiled_arithmetic_stays_whole() -> None:
    def kinds(layout: np.dtype[np.void]) -> set[str]:
        return {layout[name].base.kind for name in names_of(layout)}

    assert kinds(SETTINGS_DTYPE) <= {"i", "b", "f"}
    assert kinds(MEMORY_DTYPE) == {"i"}
    assert kinds(STATE_DTYPE) == {"i", "b", "V"}  # V: the memory


def test_activity_and_mark_are_numbered_by_their_bits_in_the_vector() -> None:
    def bits(code: int) -> tuple[int, int]:
        return code & 1, code >> 1

    assert {code.name: bits(code) for code in Activity} == {
        "NONE": (0, 0),
        "SCAN": (1, 0),
        "EXPLOIT": (1, 1),
    }
    assert {code.name: bits(code) for code in Mark} == {
        "NO": (0, 0),
        "UNKNOWN": (1, 0),
        "USER": (0, 1),
        "PRIVILEGED": (1, 1),
    }


def test_red_agents_are_numbered_as_the_configuration_names_them() -> None:
    assert [agent.name.lower() for agent in RedAgent] == list(RED_AGENTS)
