"""`python -m tests.chaos [POINTS]`: every kind of fault at seeded random points of toy searches."""

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.faults import KINDS
from tests.chaos.points import SIDE_BY_SIDE, SMALL, counted, survives

_SIDE_BY_SIDE_EVERY = 50  # its workers take seconds to begin


def main(points: int) -> None:
    """Tries so many points, and says how many of each kind held."""
    rng, held = random.Random(0), Counter[str]()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        searches = {
            "serial": (SMALL, *counted(SMALL, folder / "serial")),
            "processes": (SIDE_BY_SIDE, *counted(SIDE_BY_SIDE, folder / "processes")),
        }
        for number in range(points):
            where = "processes" if number % _SIDE_BY_SIDE_EVERY == 0 else "serial"
            config, operations, whole = searches[where]
            at, kind = rng.randint(1, operations), KINDS[number % len(KINDS)]
            try:
                survives(config, at, kind, whole, folder / f"point_{number}")
            except BaseException:
                print(f"{where}: {kind} at operation {at} of {operations} did not hold")
                raise
            held[f"{where}, {kind}"] += 1
    seconds = time.perf_counter() - started
    print(f"{points} points held in {seconds:.0f} s: {dict(sorted(held.items()))}")
    print({name: operations for name, (_, operations, _) in searches.items()}, "operations each")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 520)
