"""Orders compared without training any: one policy that follows them all plays each.

Of orders that can be listed that gives a landscape like the trained one, a seed being games of its
own; of more, a sample of them, and what strategies find by letting the policy play. What was played
is kept line by line in the run's directory, so an interrupted run can be resumed.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.config import ExperimentConfig, SearchConfig, whole_number
from workflow_rl.config.checks import instance, instance_or_default
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Result
from workflow_rl.files import append, digest_of, json_text, write_atomically
from workflow_rl.ordersearch.finding import Finding, conclude
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.runs.store import (
    CONFIG_FILE,
    PLAYED_FILE,
    SEARCHED_FILE,
    RunDirectory,
    describe_run,
    open_run,
    stored_config,
)
from workflow_rl.scenario.network import check_network
from workflow_rl.studies.landscape_run import MAX_SEEDS, check_listable
from workflow_rl.studies.regret import REPLAYED_STRATEGIES, search_course
from workflow_rl.workflow.orders import Orders, orders_of

PURPOSE: Final = "landscape --policy"
SEARCHES_ASKED: Final = (
    20,
    60,
    200,
)  # trials after which the order that a search recommends is scored
_MOST: Final = 10**6  # games, or orders of a sample
_TRIAL_GAMES: Final = 50  # of a trial of a search by playing
_JUDGING_GAMES: Final = 1_000  # by which the order that such a search hands over is judged
_ORDERS, _TRIALS, _JUDGING = range(3)  # what games are for
Searches = Mapping[str, Sequence[Sequence[TriedOrder]]]  # strategy -> search -> when it was asked


@dataclass(frozen=True)
class PlayedPlan:
    """What is played, beyond the configuration."""

    policy: str
    games: int = 100  # under each order for each seed
    sample: int | None = None  # orders that are drawn; None: all
    seeds: int = 3  # sets of games of each order, the first by the configuration's seed
    policy_sha256: str | None = None  # of its weights; None: whatever the policy has now

    def __post_init__(self) -> None:
        """Checks the numbers."""
        whole_number("--games", self.games, 2, _MOST)
        whole_number("--seeds", self.seeds, 1, MAX_SEEDS)
        if self.sample is not None:
            whole_number("--sample", self.sample, 1, _MOST)
            object.__setattr__(self, "seeds", 1)

    @classmethod
    def stored(cls, path: Path) -> Self:
        """Returns the plan that a landscape was begun with.

        Raises:
            InvalidInputError: its directory does not say so.
        """
        plan: Any = describe_run(path).get("plan")
        try:
            return cls(**{**plan, "policy": str(plan["policy"]), "seeds": len(plan["seeds"])})
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"{path} does not say what is played") from error


class OrderPlayer:
    """A policy that plays under any of some orders."""

    def __init__(self, policy: Policy, name: str, config: ExperimentConfig) -> None:
        """Notes who plays what: the game, the orders and the threshold are the configuration's.

        Raises:
            InvalidInputError: the policy does not follow these orders, or any, or is of another
                network.
        """
        if not policy.is_conditioned or policy.order is not None:
            raise InvalidInputError(
                f"{name} does not follow any order it is told, so it cannot compare orders: the "
                f"policy {UNIVERSAL} does"
            )
        check_network(name, policy.network, config.game.network)
        self.name = name
        self.orders = orders_of(config.train, config.game.network)
        self.game = config.game
        self.threshold = config.train.compliance_threshold
        self._policy = policy
        policy.read_order(self.orders[int(self.orders.nth(np.zeros(1, np.int64))[0])])

    def play(self, order: int, seed: int, games: int) -> TriedOrder:
        """Plays a number of games under one order."""
        return self._play(order, (_ORDERS, seed), games)

    def search(
        self, config: SearchConfig, seed: int, asked: Sequence[int] = SEARCHES_ASKED
    ) -> Iterator[TriedOrder]:
        """Searches, every trial a few games; after `asked` trials, judges what it hands over."""

        def trial(order: int, number: int) -> TriedOrder:
            return self._play(order, (_TRIALS, seed, number), _TRIAL_GAMES)

        course = search_course(config, self.orders, self.threshold, trial, asked, seed)
        for _, recommended in course:
            yield self._play(recommended, (_JUDGING, seed), _JUDGING_GAMES)

    def _play(self, order: int, purpose: Sequence[int], games: int) -> TriedOrder:
        """Plays games that are of this order and purpose alone, independent of all others."""
        seed = np.random.SeedSequence([*purpose, order]).generate_state(1, np.uint64)[0]
        told = self.orders[order]
        agent = PolicyAgent(self._policy, "policy", told)
        result = play_batch(agent, self.game, int(seed), games, told).result
        return TriedOrder(order, result, result.compliance.mean >= self.threshold)


def sampled_orders(orders: Orders, number: int, seed: int) -> list[int]:
    """Samples distinct orders uniformly; all if there are no more."""
    rng = np.random.default_rng([seed, 128])
    if orders.is_listable:
        number = min(number, orders.count)
        return sorted(rng.choice(orders.listed(), number, replace=False).tolist())
    found: dict[int, None] = {}
    while len(found) < number:
        found |= dict.fromkeys(orders.draw(rng, number - len(found)).tolist())
    return sorted(found)


@dataclass(frozen=True)
class PlayedSample:
    """Orders that a policy played, and what strategies found by letting it play."""

    player: OrderPlayer
    played: Sequence[TriedOrder]
    searches: Searches = field(default_factory=dict)

    @cached_property
    def finding(self) -> Finding:
        """What the orders tell together."""
        return conclude(self.player.orders, self.played, self.player.game.red_agent)

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        player, orders = self.player, self.player.orders
        strategies = {
            strategy: [[_row(one, orders) for one in search] for search in searches]
            for strategy, searches in self.searches.items()
        }
        asked = {"asked": list(SEARCHES_ASKED), "strategies": strategies}
        return {
            "red_agent": player.game.red_agent,
            "rules": player.game.rules,
            "policy": player.name,
            "compliance_threshold": player.threshold,
            "units": orders.units.setting,
            "required": orders.required.texts,
            "orders": [_row(one, orders) for one in self.played],
            "finding": self.finding.as_json(),
            "searches": asked if strategies else {},
        }


def _row(one: TriedOrder, orders: Orders) -> dict[str, Any]:
    result = one.result
    return {
        "workflow": orders.format(one.order),
        "mean": result.reward.mean,
        "half_width_95": result.reward.half_width,
        "compliance": result.compliance.mean,
        "compliance_true": result.compliance_true.mean,
        "is_compliant": one.is_compliant,
    }


# --- in its directory


class PlayedRun:
    """A landscape by playing; its `play` and `search` go on with what was done before."""

    def __init__(self, directory: RunDirectory, plan: PlayedPlan, player: OrderPlayer) -> None:
        """Lists what is played; raises InvalidInputError if what was played is damaged."""
        directory.check_sealed()
        config, orders = directory.config, player.orders
        self.directory = directory
        self.plan = plan
        self.player = player
        self.seeds = range(config.seed, config.seed + plan.seeds)
        drawn = plan.sample and sampled_orders(orders, plan.sample, config.seed)
        self.orders: list[int] = drawn or orders.listed().tolist()

    @property
    def number(self) -> int:
        """How many sets of games there are."""
        return len(self.orders) * len(self.seeds)

    def play(self, show: Callable[[int], None]) -> dict[int, list[TriedOrder]]:
        """Plays every order for every seed, and returns what each order gave for each seed.

        Args:
            show: called with the number of sets of games that are done.

        Raises:
            InvalidInputError: what earlier attempts left is damaged.
        """
        orders, file = self.player.orders, self.directory.path / PLAYED_FILE
        kept = _read_lines(file, lambda line: (int(line["seed"]), _tried(line, orders)))
        found = {(seed, one.order): one for seed, one in kept}
        for seed in self.seeds:
            for order in self.orders:
                if (seed, order) not in found:
                    one = self.player.play(order, seed, self.plan.games)
                    self.directory.unseal()
                    _append_line(file, _line(one, orders) | {"seed": seed})
                    found[seed, order] = one
                    show(len(found))
        return {seed: [found[seed, order] for order in self.orders] for seed in self.seeds}

    def search(self, number: int, show: Callable[[int], None]) -> Searches:
        """Searches so often with each strategy, every trial a few games.

        Args:
            number: of searches.
            show: called with the number of searches that are done.

        Raises:
            InvalidInputError: what earlier attempts left is damaged.
        """
        orders, config = self.player.orders, self.directory.config.search
        file = self.directory.path / SEARCHED_FILE

        def searched(line: Any) -> tuple[tuple[str, int], list[TriedOrder]]:
            return (line["strategy"], line["seed"]), [_tried(one, orders) for one in line["found"]]

        kept = dict(_read_lines(file, searched))
        wanted = [(strategy, seed) for strategy in REPLAYED_STRATEGIES for seed in range(number)]
        for done, (strategy, seed) in enumerate(wanted, 1):
            if (strategy, seed) not in kept:
                chosen = replace(config, strategy=strategy)
                found = kept[strategy, seed] = list(self.player.search(chosen, seed))
                lines = [_line(one, orders) for one in found]
                self.directory.unseal()
                _append_line(file, {"strategy": strategy, "seed": seed, "found": lines})
                show(done)
        return {
            strategy: [kept[strategy, seed] for seed in range(number)]
            for strategy in (REPLAYED_STRATEGIES if number else ())
        }


def _append_line(path: Path, entry: Mapping[str, Any]) -> None:
    append(path, f"{json_text(entry)}\n")


def _read_lines(path: Path, of: Callable[[Any], Any]) -> list[Any]:
    """Returns the entries of a file, one a line; drops the last from it if that was cut off."""
    if not path.exists():
        return []
    whole, _, rest = path.read_bytes().rpartition(b"\n")
    try:
        entries = [of(json.loads(line)) for line in whole.decode().splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{path} is damaged: remove it, and its games are played again"
        ) from error
    if rest:
        write_atomically(path, whole + b"\n" if whole else b"")
    return entries


def _line(one: TriedOrder, orders: Orders) -> dict[str, Any]:
    return {
        "workflow": orders.format(one.order),
        "result": one.result.as_json(),
        "is_compliant": one.is_compliant,
    }


def _tried(line: Any, orders: Orders) -> TriedOrder:
    result = Result.from_json(line["result"])
    return TriedOrder(orders.index(line["workflow"]), result, bool(line["is_compliant"]))


def is_played(path: Path) -> bool:
    """Returns whether a directory is that of a landscape by playing."""
    noted = describe_run(path) if (path / CONFIG_FILE).is_file() else {}
    return isinstance(noted, dict) and noted.get("purpose") == PURPOSE


@contextmanager
def open_played(
    config: ExperimentConfig | None = None,
    plan: PlayedPlan | None = None,
    *,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
) -> Iterator[PlayedRun]:
    """Gives a landscape by playing, new or resumed.

    Arguments as `open_run`; by default `universal` plays all orders.

    Raises:
        InvalidInputError: it cannot be played, or the landscape cannot be opened.
    """
    if resume is not None:
        config, plan = stored_config(resume, PURPOSE), PlayedPlan.stored(resume)
    config = instance_or_default("config", config, ExperimentConfig)
    plan = PlayedPlan("universal") if plan is None else instance("plan", plan, PlayedPlan)
    policy = load_policy(plan.policy, rules=config.game.rules)
    player = OrderPlayer(policy, plan.policy, config)
    if plan.sample is None:
        check_listable(player.orders, "play a --sample of them")
    else:
        whole_number("--sample", plan.sample, 1, min(_MOST, player.orders.count))
    digest = digest_of(dict(policy.weights))
    if plan.policy_sha256 not in (None, digest):
        raise InvalidInputError(f"{plan.policy} is not the policy that the landscape began with")
    seeds = list(range(config.seed, config.seed + plan.seeds))
    noted = asdict(plan) | {"seeds": seeds, "policy_sha256": digest}
    with open_run(
        config, purpose=PURPOSE, plan=noted, checkpoint_dir=checkpoint_dir, resume=resume
    ) as (directory, _):
        yield PlayedRun(directory, plan, player)
