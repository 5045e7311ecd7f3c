"""The stored recordings, and small changes to them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workflow_rl.config import RULE_SETS
from workflow_rl.parity.trace import Trace, load_trace

TRACES = Path(__file__).parent / "traces"
FILES = [(rules, path) for rules in RULE_SETS for path in sorted((TRACES / rules).glob("*.npz"))]
MAIN_BLINE = TRACES / "main" / "bline.npz"
MAIN_MEANDER = TRACES / "main" / "meander.npz"
MAIN_SLEEP = TRACES / "main" / "sleep.npz"


def file_id(value: object) -> str:
    return value.stem if isinstance(value, Path) else str(value)


def episodes_of(path: Path, episodes: Sequence[int]) -> Trace:
    """Loads some episodes of a file."""
    trace = load_trace(path)
    arrays = {
        name: values[list(episodes)] if values.ndim else values
        for name, values in trace.arrays.items()
    }
    lengths, raised = trace.lengths[list(episodes)], trace.raised[list(episodes)]
    return replace(trace, episodes=len(lengths), lengths=lengths, raised=raised, arrays=arrays)


def changed(trace: Trace, name: str, index: tuple[int, ...], value: Any) -> Trace:
    """Returns the trace with one value of one array replaced."""
    values = trace.arrays[name].copy()
    values[index] = value
    assert values[index] != trace.arrays[name][index]
    return replace(trace, arrays=trace.arrays | {name: values})


def corrupted(trace: Trace, name: str, index: tuple[int, ...]) -> Trace:
    """Returns the trace with one value made wrong: a tenth less, or the lowest bit flipped."""
    old = trace.arrays[name][index]
    return changed(trace, name, index, old - 0.1 if np.issubdtype(old.dtype, float) else old ^ 1)
