"""What a search gains by workers, and what its one driver costs; forecasts of larger clusters.

python -m benchmarks.scale
python -m benchmarks.scale --executors processes --nodes 0

Whole searches with one worker and two take turns. Tiny workflows on a simulated Ray cluster, many
nodes on this machine, show what scheduling costs.
"""

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.measure import Benchmark, Rounds, Row, Work, counted, number
from workflow_rl.config import Execution, ExperimentConfig, GameConfig, SearchConfig, TrainConfig
from workflow_rl.errors import MissingDependencyError, explain_missing
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import Result
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.ordersearch.strategies import TriedOrder, make_strategy
from workflow_rl.processes import interrupts_blocked, one_thread
from workflow_rl.runs.pool import Done
from workflow_rl.runs.search import open_search
from workflow_rl.runs.store import BASE
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import units_of

WORKERS: Final = (1, 2)
FEW, MANY = 1, 11  # updates of tiny workflows: the difference is what a row costs
FORECAST_NODES: Final = (10, 100, 1_000)
PENDING: Final = "pick with as many pending"
_OBJECT_STORE: Final = 80_000_000  # bytes, of each node of a simulated cluster


class Searched(NamedTuple):
    """What one search took; its trials begin when the base policy is done."""

    rate: float  # transitions per second of the whole search
    trial_rate: float
    trial_seconds: float
    driver_seconds: float  # processor time of this process during the trials


def search(
    game: GameConfig, envs: int, updates: int, settings: SearchConfig, execution: Execution
) -> Searched:
    """Runs a whole search in a temporary folder."""
    train = TrainConfig(n_envs=envs, max_episodes=updates, min_updates=1, stop_at="budget")
    experiment = ExperimentConfig(
        game=game, train=train, search=replace(settings, polish_updates=0)
    )
    transitions, began, now = 0, (0.0, 0.0), (0.0, 0.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_search(experiment, checkpoint_dir=Path(folder), execution=execution) as run,
    ):
        for event in run.events():
            if isinstance(event, Done):
                now = time.perf_counter(), time.process_time()
                if event.task.name == BASE:
                    began = now
                else:
                    transitions += event.result.transitions
        assert run.outcome is not None
        seconds, used = now[0] - began[0], now[1] - began[1]
        whole = run.outcome.transitions / run.outcome.handed_over.seconds
        return Searched(whole, transitions / seconds, seconds, used)


def measure_searches(bench: Benchmark, executors: Sequence[Any]) -> float | None:
    """Measures searches with each executor and number of workers, which take turns.

    Returns:
        Seconds of a workflow on one worker, or None if there was no executor.
    """
    args = bench.args
    found: dict[tuple[Any, int], list[Searched]] = {
        (executor, workers): [] for executor in executors for workers in WORKERS
    }
    for _ in range(args.repeats):
        for (executor, workers), several in found.items():
            bench.tell(f"searching with {workers} of {executor}")
            settings = SearchConfig(
                n_workflows=args.workflows,
                base_updates=2 * args.updates,
                parallel_workflows=workers,
            )
            execution = Execution(executor)
            several.append(search(bench.game, args.envs, args.updates, settings, execution))
    parts = {
        "whole search": {k: Rounds(tuple(s.rate for s in v)) for k, v in found.items()},
        "workflows alone": {k: Rounds(tuple(s.trial_rate for s in v)) for k, v in found.items()},
    }
    bench.tables["searches, transitions per second"] = [
        {"executor": k[0], "workers": k[1]} | {name: rates[k] for name, rates in parts.items()}
        for k in found
    ]
    for executor, workers in found:
        if workers > 1:
            name = f"{executor}: {workers} workers / {workers} x 1 worker"
            for part, rates in parts.items():
                ratio = rates[executor, workers] / rates[executor, 1] / workers
                bench.ratios[f"{name}, {part}"] = ratio
    alone = [rate.median for key, rate in parts["workflows alone"].items() if key[1] == 1]
    transitions = args.updates * args.envs * bench.game.episode_length
    return transitions / statistics.median(alone) if alone else None


@contextmanager
def simulated_cluster(nodes: int) -> Iterator[str]:
    """Yields the address of a Ray cluster whose nodes have one processor each, the head none."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    store: dict[str, Any] = {"object_store_memory": _OBJECT_STORE}
    with interrupts_blocked():
        head = {"num_cpus": 0, "include_dashboard": False, **store}
        cluster: Any = Cluster(initialize_head=True, head_node_args=head)
    try:
        with interrupts_blocked():
            for _ in range(nodes):
                cluster.add_node(num_cpus=1, **store)
        yield cluster.address
    finally:
        cluster.shutdown()


def measure_tiny(bench: Benchmark, nodes: int) -> dict[int, float]:
    """Measures searches of workflows that take no time, so that the driver's share shows.

    Returns:
        The driver's seconds for each workflow, by its updates.
    """
    from workflow_rl.runs.cluster import connected

    game = GameConfig(red_agent=bench.args.red_agent, episode_length=5)
    bench.tell(f"starting a cluster of {nodes} nodes")
    driver: dict[int, float] = {}
    # One connection for all: every new one starts new workers.
    with simulated_cluster(nodes) as address, connected(address, nodes):
        for updates in (FEW, MANY):
            found = []
            for repeat in range(1 + bench.args.repeats):  # the first warms the workers up
                bench.tell(f"{bench.args.tiny} tiny workflows on {nodes} nodes")
                settings = SearchConfig(
                    n_workflows=bench.args.tiny if repeat else 4 * nodes,
                    strategy="exhaustive",
                    base_updates=1,
                    parallel_workflows=nodes,
                )
                found.append(search(game, 2, updates, settings, Execution("ray", address)))
            wall = Rounds(tuple(s.trial_seconds / bench.args.tiny for s in found[1:]))
            used = Rounds(tuple(s.driver_seconds / bench.args.tiny for s in found[1:]))
            driver[updates] = used.median
            row: Row = {"nodes": nodes, "updates of each": updates, "wall, s": wall}
            rows = bench.tables.setdefault("tiny workflows on a simulated cluster, each", [])
            rows.append({**row, "driver's processor time, s": used})
    return driver


def measure_gp(bench: Benchmark) -> dict[int, float]:
    """Measures fits and picks by number of observations.

    Of the five types' 120 orders, many are observed several times; of 12 hosts' none is.

    Returns:
        Seconds of a pick with as many pending, by observations.
    """
    picks: dict[int, float] = {}
    hosts = Orders(units_of("hosts"))
    rows: list[Row] = []
    for count in bench.args.observations:
        types, of_hosts = made_up(TYPES, count), made_up(hosts, count)
        pending = TYPES.draw(np.random.default_rng([1, count]), count).tolist()
        orders, values = [o.order for o in types], [o.value for o in types]
        works = {
            "fit": counted(lambda o=orders, v=values: OrderGP(TYPES, o, v)),  # type: ignore[misc]
            "pick": picking(TYPES, types, []),
            PENDING: picking(TYPES, types, pending),
            "pick, orders of 12 hosts": picking(hosts, of_hosts, []),
        }
        with one_thread():
            seconds = {name: 1 / rate.median for name, rate in bench.rates(works).items()}
        rows.append({"observations": count, **seconds})
        picks[count] = seconds[PENDING]
    bench.tables["the Gaussian process, s"] = rows
    return picks


def picking(orders: Orders, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Work:
    """Returns the work of one pick."""
    strategy = make_strategy(SearchConfig(), orders, threshold=0.95, seed=0)
    return counted(lambda: strategy.pick(seen, pending))


def made_up(orders: Orders, count: int) -> list[TriedOrder]:
    """Returns observations of orders drawn at random, whose values are sums over pairs."""
    rng = np.random.default_rng([0, count])
    drawn = orders.draw(rng, count)
    values = orders.precedence(drawn) @ rng.normal(size=len(orders.pairs))
    values += 0.3 * rng.normal(size=count)
    pairs = zip(drawn.tolist(), values.tolist(), strict=True)
    return [
        TriedOrder(order, Result("bline", 1, Estimate(value), Estimate(0.97)), True)
        for order, value in pairs
    ]


@dataclass(frozen=True)
class Constants:
    """Seconds that one workflow costs: a worker, and the one driver."""

    training: float  # on one core
    updates: int  # of a training, each a row that the driver notes
    scheduling: float  # the driver's: submitting, receiving, noting, all but rows and picks
    row: float  # the driver's, for each update
    picks: Mapping[int, float]  # observations -> one pick, with as many trainings pending

    def pick(self, observations: float) -> float:
        """Returns the seconds of a pick, along lines between the measured points in log-log."""
        known = sorted(self.picks)
        if len(known) == 1 or observations <= known[0]:
            return self.picks[known[0]]
        logs = [math.log(self.picks[n]) for n in known]
        at, marks = math.log(observations), [math.log(n) for n in known]
        if observations > known[-1]:  # on, as steeply as between the last two
            slope = (logs[-1] - logs[-2]) / (marks[-1] - marks[-2])
            return math.exp(logs[-1] + slope * (at - marks[-1]))
        return math.exp(float(np.interp(at, marks, logs)))


def forecast(constants: Constants, nodes: int, cores: int, strategy: str) -> Row:
    """Forecasts a cluster in which every slot has trained one workflow and trains another.

    Args:
        constants: measured.
        nodes: of the cluster.
        cores: of each node; one training runs on one.
        strategy: gp-ucb, whose picks take longer the more is known; or any other, whose do not.
    """
    slots = nodes * cores
    parts = {
        "scheduling": constants.scheduling,
        "updates": constants.updates * constants.row,
        "picks": constants.pick(slots) if strategy == "gp-ucb" else 0.0,
    }
    driver = sum(parts.values())
    busy = min(1.0, constants.training / driver / slots)
    return {
        "strategy": strategy,
        "nodes": nodes,
        "trainings at a time": slots,
        "driver, s per workflow": driver,
        "it can feed": constants.training / driver,
        "share of workers busy": busy,
        "workflows per hour": 3_600 * busy * slots / constants.training,
        "bottleneck": "training" if busy == 1.0 else max(parts, key=lambda name: parts[name]),
    }


def measure(bench: Benchmark) -> None:
    """Measures everything, then forecasts larger clusters."""
    args = bench.args
    executors, nodes = args.executors, [count for count in args.nodes if count]
    try:
        with explain_missing("the executor ray"):
            import workflow_rl.runs.ray  # noqa: F401
    except MissingDependencyError as error:
        executors, nodes = [name for name in executors if name != "ray"], []
        bench.skipped.append(str(error))
    with bench.loaded():
        training = measure_searches(bench, executors)
        tiny = [measure_tiny(bench, count) for count in sorted(nodes)]
    picks = measure_gp(bench)
    if training is None or not tiny:
        return
    driver = tiny[-1]  # of the largest cluster
    row = max((driver[MANY] - driver[FEW]) / (MANY - FEW), 0.0)
    scheduling = max(driver[FEW] - FEW * row, 0.0)
    constants = Constants(training, args.updates, scheduling, row, picks)
    bench.tables["a workflow, s"] = [
        {"of a core": training, "of the driver": scheduling, "for each of its updates": row}
    ]
    cores = os.cpu_count() or 1
    bench.tables[f"forecast for nodes of {cores} cores like these"] = [
        forecast(constants, count, cores, strategy)
        for strategy in ("gp-ucb", "exhaustive")
        for count in FORECAST_NODES
    ]


def main() -> int:
    """Runs the benchmark."""
    bench = Benchmark(
        "scale",
        "measure a whole search with 1 and 2 workers, the driver's time for tiny workflows on a "
        "simulated Ray cluster, and the Gaussian process; forecast larger clusters from that",
        repeats=3,
    )
    names = ("processes", "ray")
    bench.flag("--executors", nargs="+", choices=names, default=names, help="of whole searches")
    count = number(1, 100_000)
    bench.flag("--workflows", type=count, default=12, help="of a whole search")
    each = "of each workflow; the base policy has twice as many"
    bench.flag("--updates", type=count, default=50, help=each)
    bench.flag("--envs", type=count, default=200, help="environments of each training")
    clusters = "nodes of simulated clusters with tiny workflows; 0 leaves them out"
    bench.flag("--nodes", type=number(0, 1_000), nargs="+", default=[8, 16], help=clusters)
    bench.flag("--tiny", type=count, default=200, help="tiny workflows on each of them")
    fitted = "observations that the Gaussian process is fitted to"
    at_least_two = number(2, 10_000)
    bench.flag(
        "--observations", type=at_least_two, nargs="+", default=[20, 120, 1_000], help=fitted
    )
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
