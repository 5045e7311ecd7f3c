"""Selects, from a folder of recordings, the few episodes that show everything the folder shows.

    python -m tests.parity.select_fixtures TRACES OUT

TRACES holds the `.npz` recordings of one rule set, OUT receives one file for each red agent, with
and without Green (`bline.npz`, `green_meander.npz`, ...), in the same format; files of these names
are overwritten. The features are those of `features.py`. Episodes are chosen greedily: always the
one that adds most features per compressed byte, first among those with a sleeping Green (the
challenge), then, for what is still missing, among the others; at the end every episode that the
others have made superfluous is dropped again. A group from which nothing is needed still gives
its cheapest episode. The result depends on nothing but the recordings.

Shorter episodes are padded with zeros behind their `n_steps`.
"""

import argparse
import itertools
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.parity.features import Feature, features_of
from workflow_rl.parity.trace import Trace, find_traces, load_trace

_META = ("meta_red", "meta_policy", "meta_T", "meta_green")


@dataclass(frozen=True)
class Candidate:
    """One recorded episode."""

    trace: Trace
    episode: int
    features: frozenset[Feature]
    cost: int  # bytes

    @property
    def group(self) -> str:
        return ("green_" if self.has_green else "") + self.trace.red_agent

    @property
    def has_green(self) -> bool:
        return bool(self.trace.arrays["meta_green"])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        arrays = self.trace.arrays.items()
        return {name: values[self.episode] for name, values in arrays if name not in _META}


def candidates(folder: Path) -> list[Candidate]:
    found = []
    for path in find_traces(folder):
        trace = load_trace(path)
        for episode, features in enumerate(features_of(trace)):
            bare = Candidate(trace, episode, frozenset(features), 0)
            content = b"".join(array.tobytes() for array in bare.arrays.values())
            cost = len(zlib.compress(content))
            found.append(Candidate(trace, episode, bare.features, cost))
    return found


def cover(pool: Iterable[Candidate], start: list[Candidate]) -> list[Candidate]:
    """Returns the start and, from the pool, what is needed to show all that the pool shows."""
    pool = list(pool)
    chosen = list(start)
    missing = set().union(*(c.features for c in pool)) - set().union(*(c.features for c in chosen))
    while missing:
        best = max(pool, key=lambda c: len(c.features & missing) / c.cost)
        chosen.append(best)
        missing -= best.features
    return chosen


def without_superfluous(chosen: list[Candidate]) -> list[Candidate]:
    """Drops, the most expensive first, every episode whose features others show too."""
    shown = Counter(itertools.chain.from_iterable(c.features for c in chosen))
    kept = []
    for candidate in sorted(chosen, key=lambda c: -c.cost):
        if all(shown[feature] > 1 for feature in candidate.features):
            shown.subtract(candidate.features)
        else:
            kept.append(candidate)
    return kept


def select(pool: list[Candidate]) -> dict[str, list[Candidate]]:
    """Returns the chosen episodes of each group."""
    chosen = cover((c for c in pool if not c.has_green), [])
    chosen = without_superfluous(cover(pool, chosen))
    groups = {}
    for name in sorted({c.group for c in pool}):
        members = [c for c in chosen if c.group == name]
        groups[name] = members or [min((c for c in pool if c.group == name), key=lambda c: c.cost)]
    return groups


def write(path: Path, members: list[Candidate]) -> None:
    longest = max(c.trace.steps for c in members)
    padded: dict[str, list[NDArray[Any]]] = {}
    for candidate in members:
        for name, values in candidate.arrays.items():
            per_step = values.ndim > 0 and not name.startswith("init_")
            behind = (longest - len(values) if per_step else 0, *[0] * (values.ndim - 1))
            widths = [(0, width) for width in behind[: values.ndim]]
            padded.setdefault(name, []).append(np.pad(values, widths) if widths else values)
    first = members[0].trace.arrays
    arrays: dict[str, Any] = {name: np.stack(values) for name, values in padded.items()}
    np.savez_compressed(
        path,
        **arrays,
        meta_red=first["meta_red"],
        meta_policy=np.array("selection"),
        meta_T=np.array(longest),
        meta_green=first["meta_green"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", metavar="TRACES", type=Path)
    parser.add_argument("out", metavar="OUT", type=Path)
    args = parser.parse_args()
    pool = candidates(args.traces)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, members in select(pool).items():
        path = args.out / f"{name}.npz"
        write(path, members)
        steps = sum(int(c.trace.lengths[c.episode]) for c in members)
        print(f"{path}: {len(members)} episodes, {steps} steps, {path.stat().st_size} bytes")
    print(f"{len(set().union(*(c.features for c in pool)))} features of {len(pool)} episodes")


if __name__ == "__main__":
    main()
