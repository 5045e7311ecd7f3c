import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parity.fixtures import MAIN_BLINE, MAIN_SLEEP
from workflow_rl.errors import InvalidInputError
from workflow_rl.parity.replay import compare
from workflow_rl.parity.trace import INPUTS, OUTPUTS, find_traces, load_trace

Arrays = dict[str, np.ndarray]
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
    with pytest.raises(InvalidInputError) as caught:
        load_trace(path)
    message = str(caught.value)
    assert message.startswith(path.name)
    assert "\n" not in message
    return message


def test_a_good_file_is_read() -> None:
    trace = load_trace(MAIN_BLINE)
    assert (trace.name, trace.red_agent) == ("bline.npz", "bline")
    assert trace.arrays["obs"].shape == (trace.episodes, trace.steps, 52)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        GOOD[:-1],
        GOOD[: len(GOOD) // 2],
        GOOD[:4],
        GOOD[4:],
        b"step,action\n1,2\n",
        b"\x80\x04K\x01.",
        b"PK\x03\x04",
    ],
    ids=["empty", "short", "half", "magic", "beheaded", "text", "pickle", "zip head"],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.npz"
    path.write_bytes(content)
    message = refusal(path)
    assert "not a trace" in message or "not a readable trace" in message
    assert "pickle" not in message  # nobody asked for that


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.npy"
    np.save(path, np.zeros((2, 3)))
    assert "no .npz archive" in refusal(path)


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    middle = len(GOOD) // 3
    path.write_bytes(GOOD[:middle] + bytes(64) + GOOD[middle + 64 :])
    assert "damaged" in refusal(path)


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
        archive.writestr("blue_action.npy", "no array")
    assert "lacks green_type, green_target, red_type, red_target and " in refusal(path)


def test_an_archive_with_raw_bytes_for_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in arrays_of():
            archive.writestr(f"{name}.npy", "no array")
    refusal(path)


@pytest.mark.parametrize("name", [*INPUTS, *OUTPUTS, "n_steps", "meta_red"])
def test_a_missing_array_is_named(tmp_path: Path, name: str) -> None:
    arrays = arrays_of()
    del arrays[name]
    assert refusal(saved(tmp_path, arrays)).endswith(f"it lacks {name}")


@pytest.mark.parametrize("name", [*INPUTS, *OUTPUTS])
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


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("value", [np.nan, 0.5])
def test_what_is_fed_must_be_whole_numbers(tmp_path: Path, name: str, value: float) -> None:
    arrays = arrays_of()
    arrays[name] = np.full(arrays[name].shape, value)
    message = refusal(saved(tmp_path, arrays))
    assert f"{name} is float64" in message
    assert "whole numbers" in message


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
def test_values_out_of_range_are_refused(
    tmp_path: Path, name: str, limits: tuple[int, int]
) -> None:
    low, high = limits
    for value in (low - 1, high + 1):
        arrays = arrays_of()
        arrays[name] = arrays[name].astype(np.int64)
        arrays[name][0, 7] = value
        message = refusal(saved(tmp_path, arrays))
        assert f"{name} leaves the range {low} to {high}" in message


def test_green_scans_only_the_hosts_it_knows(tmp_path: Path) -> None:
    for host in (-1, 0, 7):
        arrays = arrays_of()
        arrays["green_type"][0, 3] = 1
        arrays["green_target"][0, 3] = host
        assert "Green" in refusal(saved(tmp_path, arrays))


@pytest.mark.parametrize("red", ["blue", "mixed", "", "b\nline"])
def test_an_unknown_red_agent_is_named(tmp_path: Path, red: str) -> None:
    message = refusal(saved(tmp_path, arrays_of() | {"meta_red": np.array(red)}))
    assert f"red agent {red!r}" in message
    assert "bline, meander, sleep" in message


@pytest.mark.parametrize("key", ["meta_version", "meta_format", "format_version", "version"])
@pytest.mark.parametrize("value", [2, 0, "two", [[1, 1], [1, 1]]])
def test_another_version_is_refused(tmp_path: Path, key: str, value: object) -> None:
    message = refusal(saved(tmp_path, arrays_of() | {key: np.array(value)}))
    assert "version" in message


def test_this_version_may_be_named(tmp_path: Path) -> None:
    load_trace(saved(tmp_path, arrays_of() | {"meta_version": np.array(1)}))


@pytest.mark.parametrize(
    "lengths", [[101], [-1], [100, 100], [100.0], ["100"], []], ids=lambda value: str(value)
)
def test_wrong_lengths_are_refused(tmp_path: Path, lengths: list[Any]) -> None:
    message = refusal(saved(tmp_path, arrays_of() | {"n_steps": np.array(lengths)}))
    assert "n_steps" in message


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
@given(cut=st.integers(0, len(GOOD) - 1))
def test_a_cut_file_is_always_refused(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.npz"
    path.write_bytes(GOOD[:cut])
    refusal(path)


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, len(GOOD) - 1), flip=st.integers(1, 255))
def test_a_flipped_byte_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    path.write_bytes(GOOD[:at] + bytes([GOOD[at] ^ flip]) + GOOD[at + 1 :])
    message = path.name
    try:
        load_trace(path)
    except InvalidInputError as error:
        message = str(error)
    assert message.startswith(path.name)
    assert "\n" not in message


def test_traces_are_found_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.npz", "a.npz", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_traces(tmp_path)] == ["a.npz", "b.npz"]
    assert find_traces(tmp_path / "b.npz") == [tmp_path / "b.npz"]


def test_a_folder_without_traces_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no \.npz traces in "):
        find_traces(tmp_path)
    with pytest.raises(InvalidInputError, match=r"no such folder: .*missing"):
        find_traces(tmp_path / "missing")
