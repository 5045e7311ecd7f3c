"""`workflow-rl bench scale`: what a search gains by workers, and what its one driver costs."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from workflow_rl.bench.measure import Ratio, busy_processes, describe_machine, measure
from workflow_rl.bench.scale_model import Constants, Forecast, forecast
from workflow_rl.bench.scale_runs import (
    FEW,
    MANY,
    MeasuredSearch,
    ScalePlan,
    Tiny,
    measure_searches,
    measure_tiny,
)
from workflow_rl.config import GameConfig
from workflow_rl.errors import MissingDependencyError, explain_missing
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.ordersearch.strategies import Observation, Strategy, make_strategy
from workflow_rl.processes import one_thread
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import units_of

FORECAST_NODES: Final = (10, 100, 1_000)
FIT: Final = "fit"
PICK: Final = "pick"
BESIDE: Final = "pick beside as many pending"
PICK_OF_HOSTS: Final = "pick, orders of 12 hosts"


@dataclass(frozen=True)
class ScaleReport:
    """All that one run measured."""

    config: GameConfig
    machine: dict[str, Any]
    plan: ScalePlan
    searches: list[MeasuredSearch]
    tiny: list[Tiny]
    gp: dict[str, dict[int, float]]  # FIT, PICK, ... -> observations -> median seconds
    skipped: list[str]
    ratios: list[Ratio]
    constants: Constants | None  # None: not all of them were measured
    forecasts: list[Forecast] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return {
            "benchmark": "scale",
            "red_agent": self.config.red_agent,
            "machine": self.machine,
            "plan": asdict(self.plan),
            "searches": [
                {
                    "executor": row.executor,
                    "workers": row.workers,
                    "whole_transitions_per_second": row.whole.median,
                    "whole_repeats": list(row.whole.repeats),
                    "workflows_transitions_per_second": row.trials.median,
                    "workflows_repeats": list(row.trials.repeats),
                }
                for row in self.searches
            ],
            "tiny": [asdict(row) for row in self.tiny],
            "gp": self.gp,
            "constants": None if self.constants is None else asdict(self.constants),
            "forecasts": [asdict(one) for one in self.forecasts],
            "skipped": self.skipped,
            "ratios": [vars(ratio) for ratio in self.ratios],
        }


def run(
    config: GameConfig, plan: ScalePlan, progress: Callable[[str], None] = lambda name: None
) -> ScaleReport:
    """Measures everything; searches with different workers take turns."""
    machine = describe_machine()
    skipped: list[str] = []
    executors = list(plan.executors)
    nodes = list(plan.nodes)
    try:
        with explain_missing("the executor ray"):
            import workflow_rl.runs.ray  # noqa: F401
    except MissingDependencyError as error:
        executors = [name for name in executors if name != "ray"]
        nodes = []
        skipped.append(str(error))
    with busy_processes(plan.load) if plan.load else nullcontext():
        searches = measure_searches(config, plan, executors, progress)
        tiny = [row for number in nodes for row in measure_tiny(config, plan, number, progress)]
        gp = _measure_gp(plan, progress)
    constants = _constants(config, plan, searches, tiny, gp)
    cores = machine["cores"] or 1
    return ScaleReport(
        config=config,
        machine=machine,
        plan=plan,
        searches=searches,
        tiny=tiny,
        gp=gp,
        skipped=skipped,
        ratios=ratios_of(searches),
        constants=constants,
        forecasts=[
            forecast(constants, number, cores, strategy)
            for strategy in ("gp-ucb", "exhaustive")
            for number in FORECAST_NODES
        ]
        if constants
        else [],
    )


def ratios_of(searches: Sequence[MeasuredSearch]) -> list[Ratio]:
    """Returns the rate of several workers over as many times that of one."""
    one = {row.executor: row for row in searches if row.workers == 1}
    ratios = []
    for row in searches:
        if row.workers > 1 and row.executor in one:
            alone = one[row.executor]
            name = f"{row.executor}: {row.workers} workers / {row.workers} x 1 worker"
            for part, mine, ones in (
                ("whole search", row.whole, alone.whole),
                ("workflows alone", row.trials, alone.trials),
            ):
                value = mine.median / (row.workers * ones.median)
                ratios.append(Ratio(f"{name}, {part}", value))
    return ratios


def _measure_gp(plan: ScalePlan, progress: Callable[[str], None]) -> dict[str, dict[int, float]]:
    """Returns the median seconds of fits and picks, each by number of observations.

    Of the five types' 120 orders, many are observed several times; of 12 hosts' none is.
    """
    found: dict[str, dict[int, float]] = {FIT: {}, PICK: {}, BESIDE: {}, PICK_OF_HOSTS: {}}
    hosts = Orders(units_of("hosts"))
    for number in plan.observations:
        of_types, of_hosts = _made_up(TYPES, number), _made_up(hosts, number)
        strategy, of_many = _gp_ucb(TYPES), _gp_ucb(hosts)
        pending = TYPES.draw(np.random.default_rng([1, number]), number).tolist()

        def fit(seen: Sequence[Observation] = of_types) -> int:
            OrderGP(TYPES, [o.order for o in seen], [o.value for o in seen])
            return 1

        def pick(seen: Sequence[Observation] = of_types, by: Strategy = strategy) -> int:
            by.pick(seen, [])
            return 1

        works: Mapping[str, Callable[[], int]] = {
            FIT: fit,
            PICK: pick,
            BESIDE: lambda seen=of_types, by=strategy, pending=pending: bool(  # type: ignore[misc]
                by.pick(seen, pending)
            ),
            PICK_OF_HOSTS: lambda seen=of_hosts, by=of_many: pick(seen, by),  # type: ignore[misc]
        }
        with one_thread():
            for work in works.values():
                work()
            rates = measure(
                works,
                repeats=plan.repeats,
                seconds=plan.seconds,
                progress=lambda name, number=number: progress(  # type: ignore[misc]
                    f"{name} at {number} observations"
                ),
            )
        for name, rate in rates.items():
            found[name][number] = 1 / rate.median
    return found


def _made_up(orders: Orders, number: int) -> list[Observation]:
    """Returns observations of orders drawn at random, whose values are sums over pairs."""
    rng = np.random.default_rng([0, number])
    drawn = orders.draw(rng, number)
    values = orders.precedence(drawn) @ rng.normal(size=len(orders.pairs))
    values += 0.3 * rng.normal(size=number)
    return [
        Observation(order, value, 0.97, True)
        for order, value in zip(drawn.tolist(), values.tolist(), strict=True)
    ]


def _gp_ucb(orders: Orders) -> Strategy:
    return make_strategy("gp-ucb", orders, beta=2.0, threshold=0.95, design=5, seed=0)


def _constants(
    config: GameConfig,
    plan: ScalePlan,
    searches: Sequence[MeasuredSearch],
    tiny: Sequence[Tiny],
    gp: dict[str, dict[int, float]],
) -> Constants | None:
    """Returns what a forecast needs, of the largest cluster; None if something is missing."""
    alone = [row.trials.median for row in searches if row.workers == 1]
    if not alone or not tiny:
        return None
    transitions = plan.updates * plan.envs * config.episode_length
    largest = max(row.nodes for row in tiny)
    driver = {row.updates: row.driver for row in tiny if row.nodes == largest}
    row = max((driver[MANY] - driver[FEW]) / (MANY - FEW), 0.0)
    return Constants(
        training=transitions / statistics.median(alone),
        updates=plan.updates,
        scheduling=max(driver[FEW] - FEW * row, 0.0),
        row=row,
        picks=gp[BESIDE],
    )
