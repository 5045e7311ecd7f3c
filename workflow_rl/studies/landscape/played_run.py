"""A landscape by playing, in its directory: what was played is kept line by line, and goes on."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from workflow_rl.agents.policy import load_policy
from workflow_rl.config import ExperimentConfig, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.result import Result
from workflow_rl.files import append, digest_of, json_text, write_atomically
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.runs.store import CONFIG_FILE, RunDirectory, describe_run, open_run, stored_config
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.played import (
    OrderPlayer,
    Searches,
    sampled_orders,
    search_by_playing,
)
from workflow_rl.studies.landscape.regret import REPLAYED_STRATEGIES
from workflow_rl.studies.landscape.run import MAX_SEEDS, check_listable
from workflow_rl.workflow.orders import Orders, orders_of

PURPOSE: Final = "landscape --policy"
_PLAYED, _SEARCHED = "played.jsonl", "searched.jsonl"
_MOST: Final = 10**6  # games, or orders of a sample


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


class PlayedRun:
    """A landscape by playing; its `play` and `search` go on with what was done before."""

    def __init__(self, directory: RunDirectory, plan: PlayedPlan, player: OrderPlayer) -> None:
        """Reads what earlier attempts left.

        Raises:
            InvalidInputError: it is damaged.
        """
        config, orders = directory.config, player.orders
        self.directory = directory
        self.plan = plan
        self.player = player
        self.seeds = range(config.seed, config.seed + plan.seeds)
        drawn = plan.sample and sampled_orders(orders, plan.sample, config.seed)
        self.orders: list[int] = drawn or orders.listed().tolist()
        self._log = _Lines(directory.path / _PLAYED)
        self._searches = _Lines(directory.path / _SEARCHED)

    @property
    def number(self) -> int:
        """How many sets of games there are."""
        return len(self.orders) * len(self.seeds)

    def play(self, show: Callable[[int], None]) -> dict[int, list[TriedOrder]]:
        """Plays every order for every seed, and tells how many sets of games are done.

        Returns:
            Of each seed, what every order gave.

        Raises:
            InvalidInputError: what earlier attempts left is damaged.
        """
        orders = self.player.orders
        kept = self._log.read(lambda line: (int(line["seed"]), _tried(line, orders)))
        found = {(seed, one.order): one for seed, one in kept}
        for seed in self.seeds:
            for order in self.orders:
                if (seed, order) not in found:
                    one = self.player.play(order, seed, self.plan.games)
                    self._log.append(_line(one, orders) | {"seed": seed})
                    found[seed, order] = one
                    show(len(found))
        return {seed: [found[seed, order] for order in self.orders] for seed in self.seeds}

    def landscape(self, played: Mapping[int, Sequence[TriedOrder]]) -> Landscape:
        """Returns the landscape of what `play` gave, if that is every order."""
        player = self.player
        return Landscape.of_tried(player.game, player.threshold, played, player.orders, player.name)

    def search(self, number: int, show: Callable[[int], None]) -> Searches:
        """Searches so often with each strategy, every trial a few games; tells how many are done.

        Raises:
            InvalidInputError: what earlier attempts left is damaged.
        """
        orders, config = self.player.orders, self.directory.config.search

        def searched(line: Any) -> tuple[tuple[str, int], list[TriedOrder]]:
            return (line["strategy"], line["seed"]), [_tried(one, orders) for one in line["found"]]

        kept = dict(self._searches.read(searched))
        wanted = [(strategy, seed) for strategy in REPLAYED_STRATEGIES for seed in range(number)]
        for done, (strategy, seed) in enumerate(wanted, 1):
            if (strategy, seed) not in kept:
                one = list(search_by_playing(self.player, strategy, config, seed))
                found = [_line(played, orders) for played in one]
                self._searches.append({"strategy": strategy, "seed": seed, "found": found})
                kept[strategy, seed] = one
                show(done)
        return {
            strategy: [kept[strategy, seed] for seed in range(number)]
            for strategy in (REPLAYED_STRATEGIES if number else ())
        }


class _Lines:
    """A file of JSON, an entry a line; the last one may have been cut off."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, entry: Mapping[str, Any]) -> None:
        append(self._path, f"{json_text(entry)}\n".encode())

    def read(self, of: Callable[[Any], Any]) -> list[Any]:
        """Returns the entries, and drops one that was cut off."""
        if not self._path.exists():
            return []
        whole, _, rest = self._path.read_bytes().rpartition(b"\n")
        try:
            entries = [of(json.loads(line)) for line in whole.decode().splitlines()]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(
                f"{self._path} is damaged: remove it, and its games are played again"
            ) from error
        if rest:
            write_atomically(self._path, whole + b"\n" if whole else b"")
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

    Args:
        config: the game, the orders and what makes them compliant, of a new one.
        plan: what a new one plays; by default `universal` all orders.
        checkpoint_dir: where the directory of a new one is made.
        resume: the directory of an interrupted one to go on with.

    Raises:
        InvalidInputError: it cannot be played, or the landscape cannot be opened.
    """
    if resume is not None:
        config, plan = stored_config(resume, PURPOSE), PlayedPlan.stored(resume)
    config, plan = config or ExperimentConfig(), plan or PlayedPlan("universal")
    orders = orders_of(config.train)
    if plan.sample is None:
        check_listable(orders, "play a --sample of them")
    else:
        whole_number("--sample", plan.sample, 1, min(_MOST, orders.count))
    policy = load_policy(plan.policy, rules=config.game.rules)
    digest = digest_of(dict(policy.weights))
    if plan.policy_sha256 not in (None, digest):
        raise InvalidInputError(f"{plan.policy} is not the policy that the landscape began with")
    threshold = config.train.compliance_threshold
    player = OrderPlayer(policy, plan.policy, orders, config.game, threshold)
    seeds = list(range(config.seed, config.seed + plan.seeds))
    noted = asdict(plan) | {"seeds": seeds, "policy_sha256": digest}
    with open_run(
        config, purpose=PURPOSE, plan=noted, checkpoint_dir=checkpoint_dir, resume=resume
    ) as (directory, _):
        yield PlayedRun(directory, plan, player)
