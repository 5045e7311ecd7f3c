"""Recordings of the real CybORG: reading and checking a trace file.

A trace is an `.npz` of arrays of shape (episodes, steps, ...): what was done, how chance fell,
and what came out. `docs/parity.md` describes the arrays that are used.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import red_agent_name
from workflow_rl.config.reds import BUILT_IN, PATIENT, reds_of
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.scenario.tables import (
    EXPLOIT_NAMES,
    GREEN_SCAN_TARGETS,
    NUM_HOSTS,
    NUM_SUBNETS,
)
from workflow_rl.sim.red_given import NUM_RED_ACTIONS

# The traces number the exploits in another order than ours; 0 is none.
TRACE_EXPLOIT_NAMES: Final = (
    None,
    "SSHBruteForce",
    "EternalBlue",
    "BlueKeep",
    "HTTPRFI",
    "HTTPSRFI",
    "SQLInjection",
    "HarakaRCE",
    "FTPDirectoryTraversal",
    "JuicyPotato",
    "V4L2KernelExploit",
)
# (code,) -> our exploit, -1 for none; and (our exploit,) -> code
EXPLOIT_OF_CODE: Final = np.array(
    [EXPLOIT_NAMES.index(n) if n in EXPLOIT_NAMES else -1 for n in TRACE_EXPLOIT_NAMES],
    dtype=np.int8,
)
CODE_OF_EXPLOIT: Final = np.array(
    [TRACE_EXPLOIT_NAMES.index(name) for name in EXPLOIT_NAMES], dtype=np.int8
)

_HOST = (NUM_HOSTS,)
INPUTS: Final[dict[str, tuple[int, int]]] = {  # lowest and highest value
    "blue_action": (0, NUM_ACTIONS - 1),
    "green_type": (0, 1),
    "green_target": (-1, NUM_HOSTS - 1),
    "red_type": (0, 5),
    "red_target": (-1, NUM_HOSTS - 1),
    "exploit_took_top": (-1, 1),
    "exploit_other": (-1, len(TRACE_EXPLOIT_NAMES) - 1),
    "exploit_detected": (-1, 1),
}
OUTPUTS: Final[dict[str, tuple[int, ...]]] = {  # shape behind (episodes, steps)
    "obs": (4 * NUM_HOSTS,),
    "obs_cw2": (4 * NUM_HOSTS,),
    "reward": (),
    "conf_penalty": (),
    "avail_penalty": (),
    "blue_success": (),
    "red_concrete": (),
    "exploit_n_options": (),
    "red_success": (),
    "red_outcome": (),
    "red_decoy_hit": (),
    "red_access": _HOST,
    "red_session_kinds": (NUM_HOSTS, 4),
    "malware": _HOST,
    "decoys": _HOST,
    "open_ports": _HOST,
    "ot_down": (),
    "ot_stoppable": (),
    "ot_known": (),
    "red_ip_known": _HOST,
    "red_host_known": _HOST,
    "red_subnet_known": (NUM_SUBNETS,),
    "red_scanned": _HOST,
    "red_ports": _HOST,
    "bline_state": (),
    "meander_scanned": _HOST,
    "meander_exploited": _HOST,
    "meander_escalated": _HOST,
}
LIVE_OUTPUTS: Final[dict[str, tuple[int, ...]]] = {  # of live play; recordings lack them
    "red_legal": (NUM_RED_ACTIONS + 1,)
}
_VERSION_KEYS = ("meta_version", "meta_format", "format_version", "version")
_VERSION = 1


@dataclass(frozen=True)
class Trace:
    """One file: a batch of recorded episodes."""

    name: str
    red_agent: str
    episodes: int
    steps: int  # of the longest episode
    lengths: NDArray[np.int64]  # (episodes,) steps of each
    arrays: dict[str, NDArray[Any]]  # (episodes, steps, ...)


def find_traces(path: Path) -> list[Path]:
    """Returns the trace files of a folder, or the file itself.

    Raises:
        InvalidInputError: there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInputError(f"no such folder: {path} (give a folder with .npz traces)")
    files = sorted(path.glob("*.npz"))
    if not files:
        raise InvalidInputError(f"no .npz traces in {path}")
    return files


def load_trace(path: Path) -> Trace:
    """Reads a trace and checks all of it that a replay relies on.

    Raises:
        InvalidInputError: the file is damaged, of another version or not a trace.
    """
    if not zipfile.is_zipfile(path):
        raise InvalidInputError(
            f"{path.name} is not a trace: it is empty, truncated or no .npz archive"
        )
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {key: np.asanyarray(file[key]) for key in file.files}
    except Exception as error:  # zip, zlib, header or pickle trouble: numpy raises many kinds
        raise InvalidInputError(
            f"{path.name} is not a readable trace: it is damaged or holds more than plain arrays"
        ) from error
    return checked_trace(path.name, arrays)


def checked_trace(name: str, arrays: dict[str, NDArray[Any]]) -> Trace:
    """Returns the arrays of a recording as a trace, if they are one.

    Raises:
        InvalidInputError: something a replay relies on is missing or out of range.
    """
    for key in _VERSION_KEYS:
        if key in arrays and str(arrays[key]) != str(_VERSION):
            raise InvalidInputError(
                f"{name} is a trace of version {shown(str(arrays[key]))}; known is only {_VERSION}"
            )
    required = {**dict.fromkeys(INPUTS, ()), **OUTPUTS}
    missing = [key for key in (*required, "n_steps", "meta_red") if key not in arrays]
    if missing:
        raise InvalidInputError(
            f"{name} is not a trace of this format: it lacks {', '.join(missing[:4])}"
            + (f" and {len(missing) - 4} more arrays" if len(missing) > 4 else "")
        )
    shape = arrays["blue_action"].shape
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(
            f"{name} is not a trace of this format: no (episodes, steps) inside"
        )
    for key, trailing in required.items():
        kinds, what = ("iu", "whole numbers") if key in INPUTS else ("iuf", "numbers")
        if arrays[key].shape != (*shape, *trailing) or arrays[key].dtype.kind not in kinds:
            raise InvalidInputError(
                f"{name} is not a trace of this format: {key} is {arrays[key].dtype} of shape "
                f"{arrays[key].shape}, expected {what} of shape {(*shape, *trailing)}"
            )
    lengths = np.atleast_1d(arrays["n_steps"])
    if lengths.shape != shape[:1] or lengths.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} is not a trace of this format: n_steps is not per episode")
    if lengths.min() < 0 or lengths.max() > shape[1]:
        raise InvalidInputError(f"{name} is damaged: n_steps reaches beyond the recorded steps")
    red_agent = str(arrays["meta_red"])
    if not _is_one_red(red_agent):
        raise InvalidInputError(
            f"{name} was recorded with red agent {shown(red_agent)}; known are "
            f"{', '.join((*BUILT_IN, PATIENT))}"
        )
    valid = np.arange(shape[1]) < lengths[:, None]
    for key, (low, high) in INPUTS.items():
        values = np.where(valid, arrays[key], 0)  # what lies behind an episode's end is padding
        if values.min() < low or values.max() > high:
            raise InvalidInputError(f"{name} is damaged: {key} leaves the range {low} to {high}")
        arrays[key] = values
    green = arrays["green_target"][valid & (arrays["green_type"] == 1)]
    if any(not (host >= 0 and GREEN_SCAN_TARGETS >> int(host) & 1) for host in np.unique(green)):
        raise InvalidInputError(f"{name} is damaged: Green scans a host that it never scans")
    return Trace(name, red_agent, shape[0], shape[1], lengths.astype(np.int64), arrays)


def _is_one_red(name: str) -> bool:
    """Says whether a name is that of one red agent, as it is stored."""
    try:
        return red_agent_name(name) == name and len(reds_of(name)) == 1
    except InvalidInputError:
        return False
