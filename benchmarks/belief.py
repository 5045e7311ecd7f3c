"""How right the belief about Red is on fresh games, and how fast.

python -m benchmarks.belief
python -m benchmarks.belief --blue greedy ppo --red-agent meander --green-agent active
python -m benchmarks.belief --network FILE --blue random
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Benchmark, Row, Work, number
from workflow_rl.agents.named import make_agent
from workflow_rl.belief.belief import Belief
from workflow_rl.config import MAX_SEED, MIXED, GameConfig
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.estimates import Estimate
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.state import Access, Mark

TIMED_ENVS: Final = 256
TIMED_PARTICLES: Final = (100, 1_000)
_CERTAIN: Final = 1e-9  # a probability this near to 0 or 1 is none any more
_BINS: Final = {  # by label, up to what; sure of no, unsure in steps, sure of yes
    "0": _CERTAIN,
    "to 0.1": 0.1,
    "0.1 to 0.3": 0.3,
    "0.3 to 0.5": 0.5,
    "0.5 to 0.7": 0.7,
    "0.7 to 0.9": 0.9,
    "above 0.9": 1 - _CERTAIN,
    "1": np.inf,
}
_LABELS, _UP_TO = list(_BINS), np.array(list(_BINS.values()))


class Forecasts:
    """Forecasts of whether something is so, gathered step by step over games side by side."""

    def __init__(self, games: int) -> None:
        """Begins without any."""
        self._games = games
        self._totals = np.zeros((3, games, len(_UP_TO)))  # forecasts, their sum, came true
        self._squares = 0.0

    def add(self, forecast: NDArray[np.float64], outcome: NDArray[np.bool_]) -> None:
        """Takes in (games, ...) probabilities and what was true."""
        forecast = np.asarray(forecast, np.float64).reshape(self._games, -1)
        outcome = outcome.reshape(self._games, -1)
        self._squares += float(((forecast - outcome) ** 2).sum())
        bins = len(_UP_TO)
        where = np.searchsorted(_UP_TO, forecast) + bins * np.arange(self._games)[:, None]
        for total, weights in zip(
            self._totals, (np.ones_like(forecast), forecast, outcome), strict=True
        ):
            total += np.bincount(where.ravel(), weights.ravel(), total.size).reshape(total.shape)

    @classmethod
    def together(cls, several: Sequence["Forecasts"]) -> Self:
        """Returns the forecasts of all their games."""
        whole = cls(sum(one._games for one in several))
        whole._totals = np.concatenate([one._totals for one in several], axis=1)
        whole._squares = sum(one._squares for one in several)
        return whole

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._totals[0].sum())

    @property
    def brier(self) -> float:
        """The mean squared difference from what was true: 0 is perfect, 0.25 a coin."""
        return self._squares / self.count

    def rows(self) -> list[Row]:
        """Returns what came of the forecasts, by their size: the rows of a table.

        The steps of a game depend on each other, so the interval takes a game as one observation.
        """
        rows: list[Row] = []
        for i in np.flatnonzero(self._totals[0].any(axis=0)):
            count, probability, yes = self._totals[:, :, i]
            number = float(count.sum())
            rate = float(yes.sum()) / number
            error = float(np.sqrt(((yes - rate * count) ** 2).sum())) / number
            rows.append(
                {
                    "probability": _LABELS[i],
                    "forecasts": int(number),
                    "mean": float(probability.sum()) / number,
                    "came true": rate,
                    "half-width": Estimate.from_error(rate, error).half_width,
                }
            )
        return rows


def brier_of_groups(groups: NDArray[np.integer[Any]], outcome: NDArray[np.bool_]) -> float:
    """Returns the Brier score of forecasting, in each group, how often it was so in that group.

    No forecast that knows only the group does better on these outcomes.
    """
    count = np.bincount(groups.ravel())
    yes = np.bincount(groups.ravel(), outcome.ravel().astype(np.float64))
    rate = yes / np.maximum(count, 1)
    return float((count * rate * (1 - rate)).sum() / count.sum())


@dataclass(frozen=True)
class PlayedStep:
    """What Blue did and saw in a step of many games, and the truth after it."""

    actions: NDArray[np.int64]
    observation: NDArray[np.int8]
    access: NDArray[np.int8]
    ot_stopped: NDArray[np.bool_]
    red_agent: NDArray[np.int8]


def play(agent: Any, game: GameConfig, games: int, seed: int) -> Iterator[PlayedStep]:
    """Yields the steps of some games as an agent plays them."""
    batch = Batch(games, game, autoreset=False)
    batch.reset(seed)
    agent.begin(games, seed)
    for step in range(game.episode_length):
        actions = agent.act(batch.observation, batch.out.action_mask, step).astype(np.int64)
        batch.step(actions)
        yield PlayedStep(
            actions,
            batch.observation.copy(),
            batch.out.red_access.copy(),
            batch.state["ot_down"] != 0,
            batch.state["red_agent"].copy(),
        )


def make_belief(game: GameConfig, num_envs: int, particles: int) -> Belief:
    """Returns a belief that knows what the game's rules are and how Red was drawn."""
    return Belief(
        num_envs,
        network=game.network,
        rules=game.rules,
        red_agents={red.name: red.weight for red in game.reds},
        particles=particles,
        observation=game.observation,
        green_agent=game.green_agent,
    )


class Calibration:
    """How the belief did in the games of one Blue agent, on observed hosts but the foothold."""

    def __init__(self, steps: Iterator[PlayedStep], game: GameConfig, games: int) -> None:
        """Follows the games and compares what could be believed with what was true."""
        belief = make_belief(game, games, max(TIMED_PARTICLES))
        observed = game.network.observed
        places = [place for place, name in enumerate(observed) if name != game.network.foothold]
        others = [game.network.number(observed[place]) for place in places]
        self.held, self.privileged = Forecasts(games), Forecasts(games)
        ot_stopped = Forecasts(games)
        bits, truths, states = [], [], []
        for step in steps:
            belief.update(step.observation, step.actions)
            access, is_held = belief.access[:, others], (step.access != Access.NONE)[:, others]
            self.held.add(1.0 - access[..., Access.NONE], is_held)
            is_privileged = (step.access == Access.PRIVILEGED)[:, others]
            self.privileged.add(access[..., Access.PRIVILEGED], is_privileged)
            ot_stopped.add(belief.ot_stopped, step.ot_stopped)
            table = step.observation[:, : 4 * len(observed)]
            shown = table.reshape(games, len(observed), 4)[:, places]
            bits.append((shown @ (1 << np.arange(4))).astype(np.int8))
            truths.append(is_held)
            states.append(belief.num_states)
        shown_bits, truth = np.stack(bits), np.stack(truths)
        self.scores: Row = {
            "held": self.held.brier,
            "held, by the mark": float(np.mean((shown_bits >> 2 != Mark.NO) != truth)),
            "held, by four bits": brier_of_groups(shown_bits, truth),
            "privileged": self.privileged.brier,
            "OT stopped": ot_stopped.brier,
        }
        self.known: Row = {
            "red agent": float(belief.red_agent[np.arange(games), step.red_agent].mean()),
            "states": float(np.mean(states)),
            "most": int(np.max(states)),
            "exact": float(belief.is_exact.mean()),
        }


def following(game: GameConfig, steps: Sequence[PlayedStep], particles: int) -> tuple[Work, float]:
    """Returns the work of following some games, a step a call, and how many states that keeps."""
    belief = make_belief(game, TIMED_ENVS, particles)
    states = []
    for step in steps:
        belief.update(step.observation, step.actions)
        states.append(belief.num_states.mean())
    at = len(steps)

    def work() -> int:
        nonlocal at
        if at == len(steps):
            belief.reset()
            at = 0
        belief.update(steps[at].observation, steps[at].actions)
        at += 1
        return TIMED_ENVS

    return work, float(np.mean(states))


def measure(bench: Benchmark) -> None:
    """Measures the belief in the games of every Blue agent."""
    args = bench.args
    agents = {
        name: make_agent(name, rules=bench.game.rules, network=bench.game.network)
        for name in args.blue
    }
    found: dict[str, Calibration] = {}
    works: dict[tuple[str, int], Work] = {}
    states: dict[tuple[str, int], float] = {}
    for k, (blue, agent) in enumerate(agents.items()):
        bench.tell(f"games of {blue}")
        game = replace(bench.game, observation=agent.observation)
        played = play(agent, game, args.games, derived_seed(args.seed, 2 * k))
        found[blue] = Calibration(played, game, args.games)
        steps = list(play(agent, game, TIMED_ENVS, derived_seed(args.seed, 2 * k + 1)))
        for particles in TIMED_PARTICLES:
            key = blue, particles
            works[key], states[key] = following(game, steps, particles)
    several = list(found.values())
    tables = bench.tables
    tables["Red holds the host"] = Forecasts.together([one.held for one in several]).rows()
    privileged = Forecasts.together([one.privileged for one in several])
    tables["Red holds it with privileges"] = privileged.rows()
    tables[
        "Brier scores: 0 is perfect; by four bits: how often a host that shows them was held"
    ] = [{"Blue": blue, **one.scores} for blue, one in found.items()]
    tables["what is known at the end; states that explain what was seen"] = [
        {"Blue": blue, **one.known} for blue, one in found.items()
    ]
    rates = bench.rates(works)
    tables[f"updates, {TIMED_ENVS} environments side by side, one thread"] = [
        {"Blue": key[0], "particles": key[1], "states": states[key], "updates per second": rate}
        for key, rate in rates.items()
    ]
    few, many = TIMED_PARTICLES
    for blue in agents:
        bench.ratios[f"{blue}: {few} / {many} particles"] = rates[blue, few] / rates[blue, many]


def main() -> int:
    """Runs the benchmark."""
    bench = Benchmark(
        "belief",
        "measure how right the belief about Red is on fresh games, and how fast",
        game_flags=("network", "red_agent", "rules", "green_agent", "episode_length"),
        seconds=0.3,
        mixed=True,
    )
    bench.parser.set_defaults(red_agent=MIXED)
    everybody = ["random", "greedy", "ppo", "cardiff"]
    bench.flag("--blue", nargs="+", default=everybody, help="who defends: what `evaluate` takes")
    bench.flag("--games", type=number(2, 100_000), default=1_000, help="of each of them")
    bench.flag("--seed", type=number(0, MAX_SEED), default=0, help="which games are played")
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
