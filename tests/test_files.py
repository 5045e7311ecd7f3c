import json
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save

from tests.refused import refusal, refused
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
    write_named,
)

KIND = "toy"
ARRAYS = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "b.c": np.array([True, False])}
WITH_FOLDER = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def load_toy(path: Path) -> object:
    return load_arrays(path, KIND)


def unread(path: Path, read: Callable[[Path], object] = load_toy) -> str:
    """The one sentence with which a file is refused; it names the file."""
    message = refusal(read, path)
    assert str(path) in message
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
    arrays |= {f"{name}.T": array.T for name, array in arrays.items()}  # not contiguous
    save_arrays(path, KIND, arrays, description)
    loaded, about = load_arrays(path, KIND)
    assert repr(about) == repr(description)  # NaN equals itself in this way
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (loaded[name].dtype, loaded[name].shape) == (array.dtype, array.shape)
        assert loaded[name].tobytes() == array.tobytes()


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def described(text: str) -> bytes:
    """A file whose description is the given text, with a digest that fits."""
    header = json.dumps({"content": text, "digest": digest_of(ARRAYS, text)})
    return save(ARRAYS, metadata={"workflow_rl": header})


def content(description: str = "{}", kind: str = KIND, number: int = FORMAT) -> str:
    return f'{{"format": {number}, "kind": "{kind}", "description": {description}}}'


BF16 = b'{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'  # which numpy does not have
NOT_OURS: dict[str, tuple[bytes, str]] = {
    "zeros": (bytes(100), "is damaged or not a toy file"),
    "numbers": (len(BF16).to_bytes(8, "little") + BF16 + bytes(4), "is damaged or not a toy file"),
    "another kind": (described(content(kind="policy")), "holds a policy, not a toy"),
    "another format": (
        described(content(number=FORMAT + 1)),
        f"is of format {FORMAT + 1}; this version reads format {FORMAT}",
    ),
    "no metadata": (save(ARRAYS), "was not written by workflow"),
    **{
        f"header {text}"[:60]: (save(ARRAYS, metadata={"workflow_rl": text}), "was not written by")
        for text in ("no JSON", "[1, 2]", content(), nested(200_000))
    },
    **{
        f"description {text}"[:60]: (described(content(text)), "was not written by workflow-rl")
        for text in (nested(100_000), '{"a": 1%s}' % ("0" * 400), "null", "[1]")
    },
}


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, name: str) -> None:
    data, reason = NOT_OURS[name]
    (tmp_path / "file").write_bytes(data)
    assert reason in unread(tmp_path / "file")


@WITH_FOLDER
@given(data=st.data())
def test_a_file_changed_anywhere_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "file"
    save_arrays(path, KIND, ARRAYS, {"name": "x"})
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    extra = data.draw(st.binary(min_size=1, max_size=20))
    for damaged in (whole[:at], whole + extra, changed):
        path.write_bytes(damaged)
        unread(path)
    path.write_bytes(whole[:at])
    assert "damaged" in unread(path)


@pytest.mark.parametrize("read", [load_toy, read_json])
def test_only_files_of_some_size_are_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")  # which would wait for ever
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        assert "is not a file" in unread(path, read)
    assert "there is no file" in unread(tmp_path / "nothing", read)
    refused("a file must be a path of at most 3,000 bytes", read, tmp_path / ("x" * 5_000))
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, 5_000_000_000)
    assert "5,000,000,000 bytes" in unread(huge, read)


# --- writing


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


def test_text_is_written_whatever_is_in_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "é\udce9\ud800")
    append(tmp_path / "file", "\udce9\n")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "é???\n"


# --- JSON


@pytest.mark.parametrize(
    "damage",
    [
        *(b"", b"{", b'{"a": 1', b"\xff\xfe", b"hello", b"[" * 200_000, nested(200_000).encode()),
        *(b"NaN", b"[Infinity]", b'{"a": 1e999}', b"9" * 400, b"-" + b"9" * 5_000),
    ],
    ids=lambda damage: repr(damage[:9]),
)
def test_damaged_json_is_one_sentence(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "file").write_bytes(damage)
    assert "is damaged: it is not JSON" in unread(tmp_path / "file", read_json)


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
    refused("is not a file that can be replaced", write_atomically, tmp_path / "pipe", b"x")
    for path, reason in (
        (Path("/dev/null"), "is a device or the like: name a file"),
        (tmp_path / "pipe", "is a device or the like: name a file"),
        (tmp_path, "is a directory: name a file"),
        (tmp_path / "ring", "is a link that leads nowhere"),
        (tmp_path / "file" / "below", "is not writable"),
        (tmp_path / ("x" * 5_000), "an output must be a path of at most 3,000 bytes"),
    ):
        refused(reason, named_output, path)
    refused("255 between slashes", check_folder, tmp_path / ("x" * 256) / "y")


def test_an_output_may_lie_in_a_thousand_folders_that_are_made(tmp_path: Path) -> None:
    path = Path(tmp_path, *"a" * 1_200, "file")
    assert named_output(path) == path
    for _ in range(2):
        write_named(path, b"x")
    assert path.read_bytes() == b"x"
    assert not subprocess.run(["rm", "-r", tmp_path / "a"], check=False).returncode  # pytest cannot
    refused("at most 3,000 bytes", named_output, Path(tmp_path, *"a" * 2_000, "file"))


def test_no_write_follows_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("dear")
    temporary = tmp_path / f".file.{os.getpid()}.tmp"
    for link in (temporary, tmp_path / "file", tmp_path / "log"):
        link.symlink_to(victim)
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    refused("log is a link", append, tmp_path / "log", b"more")
    assert victim.read_text() == "dear"
    assert not temporary.exists()


def test_links_out_of_a_folder_are_refused_and_those_within_are_not(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "below").mkdir(parents=True)
    (run / "below" / "inside").symlink_to("..")
    refuse_links_out_of(run)
    (run / "below" / "out").symlink_to("../../elsewhere")
    refused("below/out leads out of", refuse_links_out_of, run)


def test_only_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    gone = tmp_path / "below" / ".trials.json.4194999.tmp"  # beyond the largest process number
    kept = [tmp_path / f".log.{os.getpid()}.tmp", tmp_path / ".mine.tmp", tmp_path / "x.1.tmp"]
    folder = tmp_path / ".exp_1.4194999.tmp"
    folder.mkdir()
    for path in (gone, folder / "file", *kept):
        path.write_text("")
    sweep(tmp_path)
    assert not gone.exists()
    assert not folder.exists()
    assert all(path.exists() for path in kept)


def test_a_folder_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    write_atomically(tmp_path / "run" / "file", b"")
    for write in (write_atomically, append):
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "removed" / "trainings" / "file", b"")
    assert not (tmp_path / "removed").exists()
