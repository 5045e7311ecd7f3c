"""Prints coverage's JSON as one line per package, and the modules that are covered least."""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

SHOWN = 15  # modules, the least covered first
REACHED, THERE = ("covered_lines", "covered_branches"), ("num_statements", "num_branches")


def share(counts: Counter[str]) -> float:
    """How much of statements and branches was reached."""
    return sum(counts[name] for name in REACHED) / sum(counts[name] for name in THERE)


def line(name: str, counts: Counter[str]) -> str:
    both = "".join(f"{counts[a]:6}/{counts[b]:<6}" for a, b in zip(REACHED, THERE, strict=True))
    return f"{name:44}{both}{share(counts):7.1%}"


def main(report: Path) -> None:
    """Prints the tables."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    modules: dict[str, Counter[str]] = {}
    packages: dict[str, Counter[str]] = defaultdict(Counter)
    for path, content in files.items():
        counts = Counter({name: content["summary"][name] for name in (*REACHED, *THERE)})
        if counts["num_statements"]:
            name = path.partition("workflow_rl/")[2]
            modules[name] = counts
            for group in (name.rpartition("/")[0] or "(the package's root)", "all"):
                packages[group].update(counts)
    print(f"{'package':44}{'statements':>13}{'branches':>13}")
    for name in sorted(packages, key=lambda name: (name == "all", name)):
        print(line(name, packages[name]))
    print(f"\nthe {SHOWN} modules covered least")
    for name in sorted(modules, key=lambda name: share(modules[name]))[:SHOWN]:
        print(line(name, modules[name]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
