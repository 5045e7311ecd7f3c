"""What it costs to step Python environments in other processes.

python -m benchmarks.vector --cyborg-path DIR
python -m benchmarks.vector --work zero --envs 200 --contenders sync gym-pipes
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.measure import Benchmark, Rounds, number
from benchmarks.stepping import CONTENDERS, PROCESS_PER_ENV, ContenderProcess, Start
from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.envs.shared import usable_cores
from workflow_rl.errors import MissingDependencyError

Processes = dict[str, ContenderProcess]  # by contender


def measure(bench: Benchmark) -> None:
    """Measures the contenders of each size side by side: they take turns, the others sleep."""
    args = bench.args
    for work in args.work:
        try:
            if work == "cyborg":
                load_cyborg()
        except MissingDependencyError as error:
            bench.skipped.append(str(error))
            continue
        for size in args.envs:
            with ExitStack() as stack:
                measured = start_all(bench, work, size, stack)
                with bench.loaded():
                    for _ in range(args.repeats):
                        for one in measured.values():
                            bench.tell(f"measuring {one.start}")
                            one.play(args.seconds)
            bench.tables.setdefault(work, []).extend(one.row for one in measured.values())
            for name, ratio in ratios(work, measured, args.workers or usable_cores()):
                bench.ratios[f"{work}, {size} envs: {name}"] = ratio
    bench.tables["names"] = [{"name": name, "what": CONTENDERS[name]} for name in args.contenders]


def start_all(bench: Benchmark, work: str, size: int, stack: ExitStack) -> Processes:
    """Starts one contender after the other; reasons for missing ones go to `bench.skipped`."""
    args = bench.args
    measured: Processes = {}
    for name in args.contenders:
        start = Start(work, name, size, args.red_agent, args.workers)
        if work == "cyborg" and name in PROCESS_PER_ENV and size > args.process_limit:
            bench.skipped.append(f"{start}: more than {args.process_limit} processes")
            continue
        bench.tell(f"starting {start}")
        try:
            measured[name] = stack.enter_context(ContenderProcess(start))
        except MissingDependencyError as error:
            bench.skipped.append(str(error))
    return measured


def ratios(work: str, measured: Processes, cores: int) -> Iterator[tuple[str, Rounds]]:
    """Yields each ratio of ours to what took turns with it.

    Args:
        work: what the environments do.
        measured: by contender.
        cores: that our workers use; one environment alone uses one.
    """
    for ours in (name for name in ("sync", "async") if name in measured):
        mine = measured[ours]
        beside = ("single", "apart", "serial") if work == "cyborg" else PROCESS_PER_ENV
        for theirs in (name for name in beside if name in measured):
            times = cores if theirs in ("single", "serial") else 1
            other = theirs if times == 1 else f"{times} x {theirs}"
            yield f"{ours} / {other}", mine.rate / measured[theirs].rate / times
        if pipes := measured.get("gym-pipes"):
            yield f"processor time, gym-pipes / {ours}", pipes.cpu / mine.cpu
            memory = mine.started.memory_bytes / pipes.started.memory_bytes
            yield f"memory, {ours} / gym-pipes", Rounds((memory,))


def main() -> int:
    """Runs the benchmark."""
    bench = Benchmark(
        "vector",
        "compare environments in worker processes with Gymnasium's and Stable-Baselines3's",
        seconds=1.0,
        cyborg=True,
    )
    size = number(1, 100_000)
    bench.flag("--envs", type=size, nargs="+", default=[25, 200, 500], help="their numbers")
    bench.flag(
        "--work",
        nargs="+",
        choices=("zero", "cyborg"),
        default=["zero", "cyborg"],
        help="environments that do nothing, and the real CybORG where importable",
    )
    bench.flag(
        "--contenders",
        nargs="+",
        choices=CONTENDERS,
        default=list(CONTENDERS),
        help="; ".join(f"{name}: {label}" for name, label in CONTENDERS.items()),
    )
    limit = "of CybORG, start no contender with more processes, which take seconds and megabytes"
    bench.flag("--process-limit", type=number(0, 100_000), default=200, help=limit)
    bench.flag("--workers", type=size, help="processes of ours; without it one for each core")
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
