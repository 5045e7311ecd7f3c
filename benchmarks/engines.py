"""A whole training by each engine of PPO, one update of each in turn.

python -m benchmarks.engines
python -m benchmarks.engines --preset universal --updates 50
"""

import sys
import time
from collections import defaultdict
from dataclasses import replace

from benchmarks.measure import Benchmark, Rounds, number
from workflow_rl.config import ExperimentConfig
from workflow_rl.processes import one_thread
from workflow_rl.runs.training import job_of
from workflow_rl.train.loop import Training


def measure(bench: Benchmark) -> None:
    """Trains with equal settings by every engine; the engines take turns after each update."""
    config = ExperimentConfig.preset(bench.args.preset)
    seconds: dict[str, list[float]] = defaultdict(list)
    with one_thread():
        trainings = {
            engine: Training(job_of(replace(config, ppo=replace(config.ppo, engine=engine)), None))
            for engine in ("autograd", "fused")
        }
        total = next(iter(trainings.values())).max_updates
        updates = min(bench.args.updates or total, total)
        for update in range(updates):
            for engine, training in trainings.items():
                bench.tell(f"update {update + 1} of {updates}, {engine}")
                started = time.perf_counter()
                record, _ = training.update()
                seconds[engine].append(time.perf_counter() - started)
                if update == updates - 1:
                    bench.tables.setdefault(f"{bench.args.preset}, whole training", []).append(
                        {
                            "engine": engine,
                            "updates": updates,
                            "seconds": sum(seconds[engine]),
                            "seconds per update": Rounds(tuple(seconds[engine])),
                            "transitions": record.transitions,
                            "reward": record.env_reward,
                        }
                    )
    slow, fast = (sum(seconds[engine]) for engine in ("autograd", "fused"))
    bench.ratios["whole training, autograd / fused"] = Rounds((slow / fast,))


def main() -> int:
    """Runs the benchmark."""
    bench = Benchmark(
        "engines",
        "train once by each engine of PPO, in turns, and compare the time",
        game_flags=(),
        repeats=0,
    )
    bench.flag("--preset", choices=("strongest", "universal"), default="strongest", help="what")
    limit = "updates of each training; 0: all of the preset"
    bench.flag("--updates", type=number(0, 100_000), default=0, help=limit)
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
