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

from workflow_rl.config import RULE_SETS, RuleSetName, one_of, red_agent_name
from workflow_rl.config.reds import BUILT_IN, PATIENT, reds_of
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.images import EXPLOIT_NAMES
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.network import Network
from workflow_rl.sim.red_given import red_actions_of
from workflow_rl.sim.state import EXCEPTIONS, Raised

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


def inputs_of(network: Network) -> dict[str, tuple[int, int]]:
    """Returns what a replay is given, with the lowest and the highest value."""
    hosts = len(network.hosts)
    return {
        "blue_action": (0, actions_of(network).size - 1),
        "green_type": (0, 1),
        "green_target": (-1, hosts - 1),
        "red_type": (0, 5),
        "red_target": (-1, max(hosts, len(network.zones)) - 1),
        "exploit_took_top": (-1, 1),
        "exploit_other": (-1, len(TRACE_EXPLOIT_NAMES) - 1),
        "exploit_detected": (-1, 1),
    }


def outputs_of(network: Network) -> dict[str, tuple[int, ...]]:
    """Returns what is compared, with its shape behind (episodes, steps)."""
    host, zone = (len(network.hosts),), (len(network.zones),)
    return {
        "obs": (4 * len(network.observed),),
        "reward": (),
        "conf_penalty": (),
        "avail_penalty": (),
        "blue_success": (),
        "red_concrete": (),
        "exploit_n_options": (),
        "red_success": (),
        "red_outcome": (),
        "red_decoy_hit": (),
        "red_access": host,
        "red_session_kinds": (*host, 4),
        "malware": host,
        "decoys": host,
        "open_ports": host,
        "ot_down": host,
        "ot_stoppable": host,
        "ot_known": (),
        "red_ip_known": host,
        "red_host_known": host,
        "red_subnet_known": zone,
        "red_scanned": host,
        "red_ports": host,
        "bline_state": (),
        "meander_scanned": host,
        "meander_exploited": host,
        "meander_escalated": host,
    }


def optional_outputs_of(network: Network) -> dict[str, tuple[int, ...]]:
    """Returns what is compared where a recording, or live play, has it."""
    host = (len(network.hosts),)
    return {
        "obs_cw2": (4 * len(network.observed),),
        "blue_valid": (),
        "vsftpd_count": host,
        "meander_mapped": host,
        "meander_subnets": (len(network.zones),),
        "red_legal": (red_actions_of(network).size + 1,),
    }


_RAISED: Final = {name: Raised(code) for code, name in enumerate(EXCEPTIONS) if name}
_VERSION_KEYS = ("meta_version", "meta_format", "format_version", "version")
_VERSION = 1


@dataclass(frozen=True)
class Trace:
    """One file: a batch of recorded episodes."""

    name: str
    network: Network
    rules: RuleSetName | None  # by which it was recorded, if it says so
    red_agent: str
    episodes: int
    steps: int  # of the longest episode
    lengths: NDArray[np.int64]  # (episodes,) steps of each
    raised: NDArray[np.int64]  # (episodes,) Raised by Red in the step after them
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


def find_networks(folder: Path) -> dict[Path, Network]:
    """Returns the networks of a folder of networks: each has one, with its scenario file."""
    files = sorted(folder.glob("*/scenario.yaml")) + sorted(folder.glob("scenario.yaml"))
    return {path.parent: network_of(path) for path in files}


def load_trace(path: Path, network: Network = SCENARIO2) -> Trace:
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
    return checked_trace(path.name, arrays, network)


def checked_trace(
    name: str, arrays: dict[str, NDArray[Any]], network: Network = SCENARIO2
) -> Trace:
    """Returns the arrays of a recording as a trace, if they are one.

    Raises:
        InvalidInputError: something a replay relies on is missing or out of range.
    """
    for key in _VERSION_KEYS:
        if key in arrays and str(arrays[key]) != str(_VERSION):
            raise InvalidInputError(
                f"{name} is a trace of version {shown(str(arrays[key]))}; known is only {_VERSION}"
            )
    inputs, optional = inputs_of(network), optional_outputs_of(network)
    required = {**dict.fromkeys(inputs, ()), **outputs_of(network)}
    required |= {key: shape for key, shape in optional.items() if key in arrays}
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
    hosts, zones = arrays.get("hosts", ()), arrays.get("subnets", ())
    for names, known in ((hosts, network.host_names), (zones, network.zone_names)):
        if len(names) and tuple(map(str, names)) != known:
            raise InvalidInputError(f"{name} was recorded on another network than {network.name}")
    for key in ("ot_down", "ot_stoppable"):  # recordings of Scenario2 have one host's
        if arrays[key].shape == shape:
            runs = np.array([h in network.roles.targets for h in network.host_names])
            arrays[key] = arrays[key][..., None] * runs
    for key, trailing in required.items():
        kinds, what = ("iu", "whole numbers") if key in inputs else ("iuf", "numbers")
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
    for key, (low, high) in inputs.items():
        values = np.where(valid, arrays[key], 0)  # what lies behind an episode's end is padding
        if values.min() < low or values.max() > high:
            raise InvalidInputError(f"{name} is damaged: {key} leaves the range {low} to {high}")
    green = arrays["green_target"][valid & (arrays["green_type"] == 1)]
    scanned = {-1 if host is None else network.number(host) for host in network.roles.green}
    if not scanned >= set(green.tolist()):
        raise InvalidInputError(f"{name} is damaged: Green scans a host that it never scans")
    raised = _raised(name, arrays, shape[0])
    for key, (low, high) in inputs.items():  # the step in which Red raised is played, too
        arrays[key] = np.where(valid, arrays[key], np.clip(arrays[key], low, high))
    lengths = lengths.astype(np.int64)
    rules: RuleSetName | None = None
    if "meta_rules" in arrays:
        rules = one_of(f"rule set of {name}", str(arrays["meta_rules"]), RULE_SETS)
    return Trace(name, network, rules, red_agent, *shape, lengths, raised, arrays)


def _raised(name: str, arrays: dict[str, NDArray[Any]], episodes: int) -> NDArray[np.int64]:
    """Returns (episodes,) the exception that ended each, a Raised."""
    if "error" not in arrays:
        return np.zeros(episodes, np.int64)
    kinds = [str(error).partition(":")[0] for error in arrays["error"]]
    unknown = [kind for kind in kinds if kind and kind not in _RAISED]
    if unknown or len(kinds) != episodes:
        raise InvalidInputError(f"{name} is not a trace of this format: error is not per episode")
    return np.array([_RAISED.get(kind, Raised.NOTHING) for kind in kinds], np.int64)


def _is_one_red(name: str) -> bool:
    """Says whether a name is that of one red agent, as it is stored."""
    try:
        return red_agent_name(name) == name and len(reds_of(name)) == 1
    except InvalidInputError:
        return False
