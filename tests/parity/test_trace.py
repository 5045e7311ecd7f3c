import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.refused
from tests.parity.fixtures import MAIN_BLINE, MAIN_SLEEP
from tests.refused import refused
from workflow_rl.errors import InvalidInputError
from workflow_rl.parity.replay import compare
from workflow_rl.parity.trace import find_traces, inputs_of, load_trace, outputs_of
from workflow_rl.scenario.loading import SCENARIO2

Arrays = dict[str, np.ndarray]
INPUTS, OUTPUTS = inputs_of(SCENARIO2), outputs_of(SCENARIO2)
GOOD = MAIN_BLINE.read_bytes()


def arrays_of(path: Path = MAIN_SLEEP) -> Arrays:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def saved(folder: Path, arrays: dict[str, Any]) -> Path:
    path = folder / "odd.npz"
    np.savez(path, **arrays)
    return path


def refusal(path: Path) -> str:
    """Returns the sentence with which a file is refused."""
    message = tests.refused.refusal(load_trace, path)
    assert message.startswith(path.name)
    return message


def archive(**members: str) -> bytes:
    """A zip archive of texts."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, text in members.items():
            file.writestr(f"{name}.npy", text)
    return content.getvalue()


def single_array() -> bytes:
    content = io.BytesIO()
    np.save(content, np.zeros((2, 3)))
    return content.getvalue()


MIDDLE = len(GOOD) // 3
NO_TRACES = {
    "text": (b"step,action\n1,2\n", "not a "),
    "pickle": (b"\x80\x04K\x01.", "not a "),
    "one array": (single_array(), "no .npz archive"),
    "damaged member": (GOOD[:MIDDLE] + bytes(64) + GOOD[MIDDLE + 64 :], "damaged"),
    "something else": (archive(readme="hello", blue_action="no array"), "lacks green_type, gree"),
    "raw bytes": (archive(**dict.fromkeys(arrays_of(), "no array")), ""),
}


@pytest.mark.parametrize("name", NO_TRACES)
def test_what_is_no_trace_is_refused(tmp_path: Path, name: str) -> None:
    content, words = NO_TRACES[name]
    (tmp_path / "odd.npz").write_bytes(content)
    message = refusal(tmp_path / "odd.npz")
    assert words in message
    assert "pickle" not in message  # nobody asked for that


@pytest.mark.parametrize("name", [*INPUTS, *OUTPUTS, "n_steps", "meta_red"])
def test_a_missing_array_is_named(tmp_path: Path, name: str) -> None:
    arrays = arrays_of()
    del arrays[name]
    assert refusal(saved(tmp_path, arrays)).endswith(f"it lacks {name}")


@pytest.mark.parametrize("name", ["blue_action", "green_target", "reward", "obs", "red_ports"])
@pytest.mark.parametrize(
    "wrong",
    [lambda a: a[:, :-1], lambda a: a[:0], lambda a: a[..., None], lambda a: a.astype(str)],
    ids=["a step less", "no episode", "a dimension more", "strings"],
)
def test_a_wrong_shape_or_type_is_refused(
    tmp_path: Path, name: str, wrong: Callable[[np.ndarray], np.ndarray]
) -> None:
    arrays = arrays_of()
    arrays[name] = wrong(arrays[name])
    assert "not a trace of this format" in refusal(saved(tmp_path, arrays))


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("name", ["blue_action", "reward", "seed", "meta_red", "surprise"])
def test_objects_are_never_unpickled(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "mark"
    bomb = np.empty((2, 100), dtype=object)
    bomb[...] = Bomb(mark)
    refusal(saved(tmp_path, arrays_of() | {name: bomb}))
    assert not mark.exists()


@pytest.mark.parametrize(("name", "limits"), INPUTS.items())
def test_values_out_of_range_or_not_whole_are_refused(
    tmp_path: Path, name: str, limits: tuple[int, int]
) -> None:
    low, high = limits
    halves = np.full(arrays_of()[name].shape, 0.5)
    assert f"{name} is float64" in refusal(saved(tmp_path, arrays_of() | {name: halves}))
    for value in (low - 1, high + 1):
        arrays = arrays_of()
        arrays[name] = arrays[name].astype(np.int64)
        arrays[name][0, 7] = value
        assert f"{name} leaves the range {low} to {high}" in refusal(saved(tmp_path, arrays))


def test_green_scans_only_the_hosts_it_knows(tmp_path: Path) -> None:
    for host in (-1, 0, 7):
        arrays = arrays_of()
        arrays["green_type"][0, 3] = 1
        arrays["green_target"][0, 3] = host
        assert "Green" in refusal(saved(tmp_path, arrays))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *(
            ("meta_red", red, f"red agent {red!r}; known are bline, meander, sleep")
            for red in ("blue", "mixed", "", "b\nline")
        ),
        *(("n_steps", lengths, "n_steps") for lengths in ([101], [-1], [100] * 2, [100.0], [])),
        *(("meta_version", value, "version") for value in (2, 0, "two", [[1, 1], [1, 1]])),
        *((key, 2, "version") for key in ("meta_format", "format_version", "version")),
    ],
)
def test_wrong_facts_are_refused(tmp_path: Path, name: str, value: object, words: str) -> None:
    message = refusal(saved(tmp_path, arrays_of() | {name: np.array(value)}))
    assert words in message
    load_trace(saved(tmp_path, arrays_of() | {"meta_version": np.array(1)}))  # this one


def test_what_lies_behind_the_end_of_an_episode_may_be_anything(tmp_path: Path) -> None:
    arrays = arrays_of(MAIN_BLINE)
    arrays["n_steps"][:] = 20
    for name in INPUTS:
        arrays[name][:, 20:] = 99
    arrays["blue_action"][:, 20:] = 255
    arrays["reward"][:, 20:] = np.nan
    result = compare(load_trace(saved(tmp_path, arrays)), "main")
    assert result.mismatches == 0
    assert result.steps == 20 * result.episodes


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, len(GOOD) - 1), flip=st.integers(1, 255))
def test_a_cut_file_is_refused_and_a_flipped_byte_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(GOOD[:at])
    refusal(path)
    path.write_bytes(GOOD[:at] + bytes([GOOD[at] ^ flip]) + GOOD[at + 1 :])
    with suppress(InvalidInputError):
        load_trace(path)
        return
    refusal(path)


def test_traces_are_found_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.npz", "a.npz", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_traces(tmp_path)] == ["a.npz", "b.npz"]
    assert find_traces(tmp_path / "b.npz") == [tmp_path / "b.npz"]
    (tmp_path / "empty").mkdir()
    refused(r"no \.npz traces in ", find_traces, tmp_path / "empty")
    refused(r"no such folder: .*missing", find_traces, tmp_path / "missing")
