"""What every benchmark shares: flags, timing in turns, ratios with their spread, table and JSON."""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import psutil

from workflow_rl.config import MIXED, RED_AGENTS, GameConfig, setting_fields
from workflow_rl.envs.cyborg_import import PATH_VARIABLE, load_cyborg
from workflow_rl.errors import InvalidInputError, WorkerDiedError
from workflow_rl.files import json_text, named_output, write_named
from workflow_rl.provenance import git_revision
from workflow_rl.scenario.network import Network

RESULTS: Final = Path(__file__).resolve().parent / "results"
_SHOWN: Final = ("workflow-rl", "numpy", "numba", "gymnasium", "torch", "stable-baselines3", "ray")
_USER_ERROR: Final = 2
_INTERRUPTED: Final = 130
_CLEAR_LINE: Final = "\r\x1b[K"

Key = TypeVar("Key", bound=Hashable)
Work = Callable[[], int]  # does a chunk of work and returns how many steps that was
Row = Mapping[str, Any]  # a row of a table: by column, text, numbers or `Rounds`


@dataclass(frozen=True)
class Rounds:
    """One figure, measured once per round: a rate, or the ratio of two of them."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.values)

    def __truediv__(self, other: "Rounds | float") -> "Rounds":
        """Returns the ratio, round by round: both sides met the same moment of the machine."""
        others = other.values if isinstance(other, Rounds) else (other,) * len(self.values)
        return Rounds(tuple(a / b for a, b in zip(self.values, others, strict=True)))

    def as_json(self) -> dict[str, Any]:
        """Returns the median, the spread and the rounds as plain data."""
        low, high = min(self.values), max(self.values)
        return {"median": self.median, "low": low, "high": high, "rounds": list(self.values)}


def best(several: Sequence[Rounds]) -> Rounds:
    """Returns the one with the highest median."""
    return max(several, key=lambda one: one.median)


def counted(do: Callable[[], object], steps: int = 1) -> Work:
    """Returns the work of doing something that counts as that many steps, warmed up."""

    def work() -> int:
        do()
        return steps

    work()
    return work


class Parser(argparse.ArgumentParser):
    """A parser that answers a wrong flag with one sentence."""

    def error(self, message: str) -> NoReturn:
        """Prints the sentence and exits."""
        self.exit(_USER_ERROR, f"{self.prog}: error: {message}\n")


@dataclass
class Benchmark:
    """One benchmark: its flags, then what it measured so far."""

    name: str
    summary: str
    game_flags: Sequence[str] = ("red_agent",)  # settings of the game that have a flag
    seconds: float = 0.5  # of each row in each round, by default
    repeats: int = 5  # rounds, by default; 0: nothing is timed in rounds
    cyborg: bool = False  # whether the real CybORG is measured too
    mixed: bool = False  # whether several red agents may play
    args: argparse.Namespace = field(init=False)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    ratios: dict[str, Rounds] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)  # plain data for the file alone
    skipped: list[str] = field(default_factory=list)
    code: int = 0  # the exit code once the figures are written

    def __post_init__(self) -> None:
        """Makes the parser, with the flags that every benchmark has."""
        self.parser = Parser(
            prog=f"python -m benchmarks.{self.name}",
            description=self.summary,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        settings = setting_fields(GameConfig)
        for name in self.game_flags:
            setting = settings[name]
            kind = setting.type if setting.type is int else str
            flags = setting.flags
            self.flag(*flags, dest=name, type=kind, default=setting.default, help=setting.help)
        if self.cyborg:
            self.flag("--cyborg-path", metavar="DIR", help="a clone of CAGE Challenge 2")
        if self.repeats:
            self.flag("--repeats", type=number(1, 1_000), default=self.repeats, help="rounds")
            per_round = "seconds of each row in each round"
            self.flag(
                "--seconds", type=number(0.01, 60, float), default=self.seconds, help=per_round
            )
            beside = "busy processes to run at the same time"
            self.flag("--load", type=number(0, 1_000), default=0, help=beside)
        self.flag(
            "--output",
            type=Path,
            default=RESULTS / f"{self.name}.json",
            metavar="FILE",
            help="where the figures go",
        )

    def flag(self, *names: str, **settings: Any) -> None:
        """Adds a flag."""
        self.parser.add_argument(*names, **settings)

    @property
    def game(self) -> GameConfig:
        """The game that the flags describe."""
        return GameConfig(**{name: getattr(self.args, name) for name in self.game_flags})

    def run(self, measure: Callable[["Benchmark"], None], argv: Sequence[str] | None = None) -> int:
        """Parses the flags, measures, prints the tables and writes the figures.

        Returns:
            The exit code: 2 after a wrong flag, 1 if the work failed, 130 if interrupted.
        """
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self.args = self.parser.parse_args(argv)
        try:
            output = self._checked()
            machine = describe_machine()  # whose load is not ours yet
            try:
                measure(self)
            finally:
                self.tell("")
            self.skipped = list(dict.fromkeys(self.skipped))  # each reason once
            self._print(machine)
            write_named(output, (self._as_json(machine) + "\n").encode())
            print(f"figures: {self.args.output}")
            return self.code
        except InvalidInputError as error:
            print(f"{self.parser.prog}: error: {error}", file=sys.stderr)
            return _USER_ERROR
        except (WorkerDiedError, OSError) as error:
            print(f"{self.parser.prog}: error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f"{self.parser.prog}: interrupted", file=sys.stderr)
            return _INTERRUPTED

    def tell(self, text: str) -> None:
        """Shows what is being done, where somebody watches."""
        if sys.stderr.isatty():
            print(f"{_CLEAR_LINE}{text}", end="", file=sys.stderr, flush=True)

    def rates(self, works: Mapping[Key, Work]) -> dict[Key, Rounds]:
        """Returns steps per second; works take turns, so that a slow moment hits all of them.

        Args:
            works: what to measure, by name; each has been warmed up by its maker.
        """
        rates: dict[Key, list[float]] = {name: [] for name in works}
        with self.loaded():
            for _ in range(self.args.repeats):
                for name, work in works.items():
                    self.tell(f"measuring {name}")
                    steps = 0
                    start = time.perf_counter()
                    while (elapsed := time.perf_counter() - start) < self.args.seconds:
                        steps += work()
                    rates[name].append(steps / elapsed)
        return {name: Rounds(tuple(values)) for name, values in rates.items()}

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """Keeps `--load` processes computing during the block, as other programs would.

        Each ends by itself when this process is gone, even if it was killed.
        """
        compute = f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10**5))"
        command = [sys.executable, "-c", compute]
        processes = [
            subprocess.Popen(command, start_new_session=True) for _ in range(self.args.load)
        ]
        try:
            yield
        finally:
            for process in processes:
                process.kill()
                process.wait()

    def _checked(self) -> Path:
        """Checks what argparse cannot and returns the file that the figures go to."""
        if self.game.red_agent == MIXED and not self.mixed:
            raise InvalidInputError(f"it needs one red agent: {', '.join(RED_AGENTS)}")
        if self.cyborg and self.args.cyborg_path is not None:
            load_cyborg(self.args.cyborg_path)  # says so if there is none
            os.environ[PATH_VARIABLE] = self.args.cyborg_path
        return named_output(self.args.output)

    def _as_json(self, machine: Mapping[str, Any]) -> str:
        figures = {
            "benchmark": self.name,
            "settings": {
                k: str(v) if isinstance(v, Path | Network) else v
                for k, v in vars(self.args).items()
            },
            "machine": machine,
            "tables": self.tables,
            "ratios": self.ratios,
            "found": self.found,
            "skipped": self.skipped,
        }
        plain = json.loads(json.dumps(figures, default=lambda rounds: rounds.as_json()))
        return json_text(plain, indent=2)

    def _print(self, machine: Mapping[str, Any]) -> None:
        """Prints every table; of a figure its median, of a ratio the spread too."""
        ratios: list[Row] = [{"ratio": name, **r.as_json()} for name, r in self.ratios.items()]
        for title, rows in (self.tables | {"ratios": ratios}).items():
            if not rows:
                continue
            columns = {name: "" for row in rows for name in row if name != "rounds"}
            lines = [list(columns), *([_cell(row.get(c, "")) for c in columns] for row in rows)]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            sides = [str.ljust if isinstance(rows[0].get(c), str) else str.rjust for c in columns]
            lines.insert(1, ["-" * width for width in widths])
            print(f"\n{title}\n")
            for line in lines:
                cells = [side(c, w) for side, c, w in zip(sides, line, widths, strict=True)]
                print(f"| {' | '.join(cells)} |")
        print()
        for reason in self.skipped:
            print(f"not measured: {reason}")
        rounds = f"medians of {self.args.repeats} rounds; " if self.repeats else ""
        load = f"load average {machine['load_average'][0]} before it"
        print(f"{rounds}{machine['cores']} cores, {machine['processor']}, {load}")


def _cell(value: Any) -> str:
    """Returns a value as a table shows it: at least four digits."""
    number = value.median if isinstance(value, Rounds) else value
    if isinstance(number, float):
        return f"{number:,.0f}" if abs(number) >= 1_000 else f"{number:.4g}"
    return f"{number:,}" if isinstance(number, int) else str(number)


def number(low: float, high: float, kind: Callable[[str], float] = int) -> Callable[[str], Any]:
    """Returns what reads a number of a range, for argparse."""

    def read(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be from {low} to {high}, not {text}")
        return value

    read.__name__ = "whole number" if kind is int else "number"  # argparse names it so
    return read


def memory_bytes(pids: Sequence[int]) -> int:
    """Returns the memory of this process and others, in which a shared page counts once."""
    processes = [psutil.Process(pid) for pid in (os.getpid(), *pids)]
    return sum(int(process.memory_full_info().pss) for process in processes)


def describe_machine() -> dict[str, Any]:
    """Returns what a reader needs to judge a figure: processor, cores, load, versions."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "packages": {d.name: d.version for d in distributions() if d.name in _SHOWN},
        "revision": git_revision(),
    }
