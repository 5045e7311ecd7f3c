"""Prints coverage's JSON as one line per package, and the modules that are covered least."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

SHOWN = 15  # modules, the least covered first


class Counts(NamedTuple):
    """Statements and branches, and how many of each were reached."""

    statements: int = 0
    reached: int = 0
    branches: int = 0
    taken: int = 0

    def plus(self, other: "Counts") -> "Counts":
        """Returns the sum of two."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def share(self) -> float:
        """How much of both was reached."""
        return (self.reached + self.taken) / (self.statements + self.branches)

    def line(self, name: str) -> str:
        """Returns a line of the table."""
        both = f"{self.reached:6}/{self.statements:<6}{self.taken:6}/{self.branches:<6}"
        return f"{name:44}{both}{self.share:7.1%}"


def by_module(report: Path) -> dict[str, Counts]:
    """Returns the counts of every module, such as `sim/reward.py`."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    names = ("num_statements", "covered_lines", "num_branches", "covered_branches")
    return {
        path.partition("workflow_rl/")[2]: Counts(*(content["summary"][name] for name in names))
        for path, content in files.items()
        if content["summary"]["num_statements"]
    }


def main(report: Path) -> None:
    """Prints the tables."""
    modules = by_module(report)
    packages: dict[str, Counts] = defaultdict(Counts)
    for name, counts in modules.items():
        package = name.rpartition("/")[0] or "(the package's root)"
        packages[package] = packages[package].plus(counts)
        packages["all"] = packages["all"].plus(counts)
    print(f"{'package':44}{'statements':>13}{'branches':>13}")
    for name in sorted(packages, key=lambda name: (name == "all", name)):
        print(packages[name].line(name))
    print(f"\nthe {SHOWN} modules covered least")
    for name in sorted(modules, key=lambda name: modules[name].share)[:SHOWN]:
        print(modules[name].line(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
