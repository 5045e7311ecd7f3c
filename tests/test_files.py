import json
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save

from workflow_rl.errors import InvalidInputError
from workflow_rl.files import (
    FORMAT,
    append,
    check_folder,
    digest_of,
    load_arrays,
    named_output,
    read_json,
    refuse_links_out_of,
    save_arrays,
    sweep,
    write_atomically,
    write_json,
)

KIND = "toy"
WITH_FOLDER = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.safetensors"
    arrays = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "b.c": np.array([True, False])}
    save_arrays(path, KIND, arrays, {"name": "x"})
    return path


def refusal(path: Path) -> str:
    """The one sentence with which a file is refused; it names the file."""
    with pytest.raises(InvalidInputError) as caught:
        load_arrays(path, KIND)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


# --- arrays and their description


@WITH_FOLDER
@given(
    arrays=st.dictionaries(
        st.text("abc._0", min_size=1, max_size=8),
        st.sampled_from([np.int8, np.bool_, np.int16, np.float32, np.int64, np.uint8]).flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_side=0, max_dims=3, max_side=4))
        ),
        max_size=4,
    ),
    description=st.dictionaries(
        st.text(max_size=5), st.none() | st.integers() | st.floats() | st.text(max_size=5)
    ),
)
def test_arrays_and_their_description_come_back_bit_by_bit(
    tmp_path: Path, arrays: dict[str, Any], description: dict[str, Any]
) -> None:
    path = tmp_path / "file"
    save_arrays(path, KIND, arrays, description)
    loaded, about = load_arrays(path, KIND)
    assert repr(about) == repr(description)  # NaN equals itself in this way
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (loaded[name].dtype, loaded[name].shape) == (array.dtype, array.shape)
        assert loaded[name].tobytes() == array.tobytes()


def test_arrays_that_are_not_contiguous_come_back_as_they_were(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.int16).reshape(4, 6)[::2, ::-3]
    save_arrays(tmp_path / "file", KIND, {"a": array, "t": array.T}, {})
    loaded, _ = load_arrays(tmp_path / "file", KIND)
    np.testing.assert_array_equal(loaded["a"], array)
    np.testing.assert_array_equal(loaded["t"], array.T)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "no file" in refusal(tmp_path / "nothing")


def test_a_file_of_another_kind_says_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_arrays(path, "policy", {"a": np.zeros(2)}, {})
    message = refusal(path)
    assert "policy" in message
    assert KIND in message


def test_a_file_of_another_format_says_which_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    arrays = {"a": np.zeros(2)}
    text = json.dumps({"format": FORMAT + 1, "kind": KIND, "description": {}})
    header = json.dumps({"content": text, "digest": digest_of(arrays, text)})
    path.write_bytes(save(arrays, metadata={"workflow_rl": header}))
    message = refusal(path)
    assert f"format {FORMAT + 1}" in message
    assert f"format {FORMAT}" in message


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"somebody": "else"},
        {"workflow_rl": "not JSON"},
        pytest.param(
            {"workflow_rl": "[1, 2]"},
        ),
        pytest.param(
            {"workflow_rl": '"text"'},
        ),
        pytest.param(
            {"workflow_rl": f'{{"format": {FORMAT}, "kind": "{KIND}"}}'},
        ),
    ],
)
def test_a_foreign_file_of_the_same_container_is_refused(
    tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    path = tmp_path / "file"
    path.write_bytes(save({"a": np.zeros(2)}, metadata=metadata))
    assert "workflow-rl" in refusal(path)


def test_other_files_and_folders_are_refused(tmp_path: Path) -> None:
    for name, data in {"empty": b"", "text": b"hello\n", "zeros": bytes(100)}.items():
        (tmp_path / name).write_bytes(data)
        refusal(tmp_path / name)
    np.savez(tmp_path / "numpy.npz", a=np.zeros(3))
    refusal(tmp_path / "numpy.npz")
    (tmp_path / "folder").mkdir()
    refusal(tmp_path / "folder")


@WITH_FOLDER
@given(data=st.data())
def test_a_file_cut_anywhere_is_refused(good: Path, data: st.DataObject) -> None:
    whole = good.read_bytes()
    damaged = good.with_name("cut")
    damaged.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert "damaged" in refusal(damaged)


@WITH_FOLDER
@given(extra=st.binary(min_size=1, max_size=20))
def test_a_file_with_something_behind_it_is_refused(good: Path, extra: bytes) -> None:
    longer = good.with_name("longer")
    longer.write_bytes(good.read_bytes() + extra)
    refusal(longer)


@WITH_FOLDER
@given(data=st.data())
def test_a_file_with_a_changed_byte_is_refused(good: Path, data: st.DataObject) -> None:
    damaged = bytearray(good.read_bytes())
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    other = good.with_name("changed")
    other.write_bytes(damaged)
    refusal(other)


# --- writing


def test_a_write_replaces_the_old_file_makes_folders_and_leaves_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))  # fails like a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomically(path, bytes(1_000_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_sees_the_old_or_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old" * 1_000)
    with path.open("rb") as reader:
        first = reader.read(3)
        write_atomically(path, b"new" * 1_000)
        assert first + reader.read() == b"old" * 1_000
    assert path.read_bytes() == b"new" * 1_000


# --- JSON


def test_json_comes_back(tmp_path: Path) -> None:
    data = {"a": [1, 2.5, None, "ü"], "b": {"c": True}}
    write_json(tmp_path / "file", data)
    assert read_json(tmp_path / "file") == data
    assert (tmp_path / "file").read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.parametrize("damage", [b"", b"{", b'{"a": 1', b"\xff\xfe", b"hello"])
def test_damaged_json_is_one_sentence(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(damage)
    with pytest.raises(InvalidInputError) as caught:
        read_json(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_json_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no file"):
        read_json(tmp_path / "nothing")


# --- where things may be written


def test_an_output_goes_where_links_lead(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/file")
    (tmp_path / "folder").symlink_to("real")
    assert named_output(tmp_path / "link") == tmp_path / "real" / "file"
    assert named_output(tmp_path / "folder" / "other") == tmp_path / "real" / "other"
    write_atomically(named_output(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_bytes() == b"new"
    assert named_output(tmp_path / "not" / "yet" / "made") == tmp_path / "not" / "yet" / "made"


def test_nothing_but_a_file_is_taken_for_an_output(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "ring").symlink_to("ring")
    (tmp_path / "file").write_text("")
    for path, reason in (
        (Path("/dev/null"), "is a device or the like: name a file"),
        (tmp_path / "pipe", "is a device or the like: name a file"),
        (tmp_path, "is a directory: name a file"),
        (tmp_path / "ring", "is a link that leads nowhere"),
        (tmp_path / "file" / "below", "is not writable"),
        (tmp_path / ("x" * 5_000), "File name too long"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            named_output(path)
    with pytest.raises(InvalidInputError, match="File name too long"):
        check_folder(tmp_path / ("x" * 5_000) / "y")


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(InvalidInputError, match="is not a file that can be replaced"):
            write_atomically(tmp_path / name, b"x")
    assert (tmp_path / "pipe").is_fifo()


def test_no_write_follows_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("dear")
    temporary = tmp_path / f".file.{os.getpid()}.tmp"
    for link in (temporary, tmp_path / "file", tmp_path / "log"):
        link.symlink_to(victim)
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    with pytest.raises(InvalidInputError, match="log is a link"):
        append(tmp_path / "log", b"more")
    assert victim.read_text() == "dear"
    assert not temporary.exists()


def test_links_out_of_a_folder_are_refused_and_those_within_are_not(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "below").mkdir(parents=True)
    (run / "below" / "inside").symlink_to("..")
    refuse_links_out_of(run)
    (run / "below" / "out").symlink_to("../../elsewhere")
    with pytest.raises(InvalidInputError, match="below/out leads out of"):
        refuse_links_out_of(run)


def test_only_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    gone = tmp_path / "below" / ".trials.json.4194999.tmp"  # beyond the largest process number
    kept = [tmp_path / f".log.{os.getpid()}.tmp", tmp_path / ".mine.tmp", tmp_path / "x.1.tmp"]
    for path in (gone, *kept):
        path.write_text("")
    sweep(tmp_path)
    assert not gone.exists()
    assert all(path.exists() for path in kept)


def test_a_folder_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    write_atomically(tmp_path / "run" / "file", b"")
    for write in (write_atomically, append):
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "removed" / "trainings" / "file", b"")
    assert not (tmp_path / "removed").exists()


# --- files that are made to be trouble


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_brackets_in_brackets_are_no_json_of_ours(tmp_path: Path) -> None:
    for text in ("[" * 200_000, nested(200_000)):
        (tmp_path / "deep.json").write_text(text)
        with pytest.raises(InvalidInputError, match="is damaged: it is not JSON"):
            read_json(tmp_path / "deep.json")


@pytest.mark.parametrize("description", [nested(100_000), "null", "[1]", '"text"', "3"])
def test_a_description_is_plain_data_of_a_reasonable_depth(
    tmp_path: Path, description: str
) -> None:
    arrays = {"a": np.zeros(3, np.float32)}
    text = f'{{"format": {FORMAT}, "kind": "{KIND}", "description": {description}}}'
    header = json.dumps({"content": text, "digest": digest_of(arrays, text)})
    path = tmp_path / "file.safetensors"
    path.write_bytes(save(arrays, metadata={"workflow_rl": header}))
    assert "was not written by workflow-rl" in refusal(path)
    path.write_bytes(save(arrays, metadata={"workflow_rl": nested(200_000)}))
    assert "was not written by workflow-rl" in refusal(path)


def test_numbers_that_numpy_does_not_have_are_refused(tmp_path: Path) -> None:
    header = b'{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    path = tmp_path / "file.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    refusal(path)


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # which would wait for ever
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidInputError, match="is not a file"):
            read_json(path)
        refusal(path)
    with pytest.raises(InvalidInputError, match="cannot be read: File name too long"):
        read_json(tmp_path / ("x" * 5_000))
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, 5_000_000_000)
    with pytest.raises(InvalidInputError, match="5,000,000,000 bytes"):
        read_json(huge)
