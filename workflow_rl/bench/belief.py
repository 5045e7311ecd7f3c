"""`workflow-rl bench belief`: is the belief right, and how fast is it?"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.named import make_agent
from workflow_rl.belief.belief import Belief
from workflow_rl.bench.calibration import Forecasts, brier_of_groups
from workflow_rl.bench.measure import Rate, Work, busy_processes, describe_machine, measure
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.scenario.tables import NUM_HOSTS, USER0
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.observe import CHALLENGE_SIZE
from workflow_rl.sim.state import Access, Mark

TIMED_ENVS: Final = 256
TIMED_PARTICLES: Final = (100, 1_000)
_OTHERS: Final = np.arange(NUM_HOSTS) != USER0  # Red holds User0 in every game


@dataclass(frozen=True)
class BeliefPlan:
    """What is measured, and for how long."""

    blue: Sequence[str]  # the agents that defend
    games: int  # of each of them
    repeats: int
    seconds: float
    load: int
    seed: int


@dataclass(frozen=True)
class Calibration:
    """How the belief did in the games of one Blue agent; hosts are all but User0."""

    blue: str
    held: Forecasts  # that Red holds a host
    privileged: Forecasts  # that it does so with privileges
    ot_stopped: Forecasts  # that the OT service is stopped
    marked: float  # Brier score of a mark taken as a yes
    shown: float  # Brier score of the best forecast by a host's four bits, on these very games
    red_agent: float  # mean probability given to the red agent that played, at the end
    states: float  # kept on average
    most_states: int
    exact: float  # share of the games in which no state was left out


@dataclass(frozen=True)
class Speed:
    """How fast it is in the games of one Blue agent."""

    blue: str
    particles: int
    states: float  # kept on average
    rate: Rate  # updates of one environment per second


@dataclass(frozen=True)
class BeliefReport:
    """All that one run measured."""

    config: GameConfig
    plan: BeliefPlan
    machine: dict[str, Any]
    calibrations: list[Calibration]
    speeds: list[Speed]

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        forecasts = ("held", "privileged", "ot_stopped")
        return {
            "benchmark": "belief",
            "rules": self.config.rules,
            "red_agent": self.config.red_agent,
            "green_agent": self.config.green_agent,
            "episode_length": self.config.episode_length,
            "games": self.plan.games,
            "seed": self.plan.seed,
            "machine": self.machine,
            "busy_processes": self.plan.load,
            "repeat_count": self.plan.repeats,
            "seconds_per_repeat": self.plan.seconds,
            "calibration": [
                vars(it) | {name: getattr(it, name).as_json() for name in forecasts}
                for it in self.calibrations
            ],
            "speed": [
                {
                    "blue": row.blue,
                    "num_envs": TIMED_ENVS,
                    "particles": row.particles,
                    "states": row.states,
                    "updates_per_second": row.rate.median,
                    "repeats": list(row.rate.repeats),
                }
                for row in self.speeds
            ],
        }


@dataclass(frozen=True)
class PlayedStep:
    """What Blue did and saw in a step of many games, and the truth after it."""

    actions: NDArray[np.int64]
    observation: NDArray[np.int8]
    access: NDArray[np.int8]
    ot_stopped: NDArray[np.bool_]
    red_agent: NDArray[np.int8]


def play(
    blue: str, config: GameConfig, games: int, seed: int
) -> tuple[GameConfig, Iterator[PlayedStep]]:
    """Returns the game as the agent sees it, and the steps as it plays them."""
    agent = make_agent(blue, rules=config.rules)
    config = replace(config, observation=agent.observation)
    return config, _steps(agent, config, games, seed)


def _steps(agent: Any, config: GameConfig, games: int, seed: int) -> Iterator[PlayedStep]:
    batch = Batch(games, config, autoreset=False)
    batch.reset(seed)
    agent.begin(games, seed)
    for step in range(config.episode_length):
        actions = agent.act(batch.observation, batch.out.action_mask, step).astype(np.int64)
        batch.step(actions)
        yield PlayedStep(
            actions,
            batch.observation.copy(),
            batch.out.red_access.copy(),
            ~batch.state["ot_running"],
            batch.state["red_agent"].copy(),
        )


def _belief(config: GameConfig, num_envs: int, particles: int) -> Belief:
    """Returns a belief that knows what the game's rules are and how Red was drawn."""
    return Belief(
        num_envs,
        rules=config.rules,
        red_agents=dict(zip(RED_AGENTS, config.red_weights, strict=True)),
        particles=particles,
        observation=config.observation,
        green_agent=config.green_agent,
    )


def calibrate(blue: str, config: GameConfig, games: int, seed: int) -> Calibration:
    """Lets an agent play and compares what could be believed with what was true."""
    config, steps = play(blue, config, games, seed)
    belief = _belief(config, games, max(TIMED_PARTICLES))
    held, privileged, ot_stopped = Forecasts(games), Forecasts(games), Forecasts(games)
    bits, truths, states = [], [], []
    for step in steps:
        belief.update(step.observation, step.actions)
        is_held = (step.access != Access.NONE)[:, _OTHERS]
        held.add(1.0 - belief.access[:, _OTHERS, Access.NONE], is_held)
        privileged.add(
            belief.access[:, _OTHERS, Access.PRIVILEGED],
            (step.access == Access.PRIVILEGED)[:, _OTHERS],
        )
        ot_stopped.add(belief.ot_stopped, step.ot_stopped)
        shown = step.observation[:, :CHALLENGE_SIZE].reshape(games, NUM_HOSTS, 4)[:, _OTHERS]
        bits.append((shown @ (1 << np.arange(4))).astype(np.int8))
        truths.append(is_held)
        states.append(belief.num_states)
    shown_bits, truth = np.stack(bits), np.stack(truths)
    return Calibration(
        blue=blue,
        held=held,
        privileged=privileged,
        ot_stopped=ot_stopped,
        marked=float(np.mean((shown_bits >> 2 != Mark.NO) != truth)),
        shown=brier_of_groups(shown_bits, truth),
        red_agent=float(belief.red_agent[np.arange(games), step.red_agent].mean()),
        states=float(np.mean(states)),
        most_states=int(np.max(states)),
        exact=float(belief.is_exact.mean()),
    )


def _timed(config: GameConfig, steps: Sequence[PlayedStep], particles: int) -> tuple[Work, float]:
    """Returns the work of following some games, a step a call, and how many states that keeps."""
    belief = _belief(config, TIMED_ENVS, particles)
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


def run(
    config: GameConfig, plan: BeliefPlan, progress: Callable[[str], None] = lambda name: None
) -> BeliefReport:
    """Measures the belief in the games of every Blue agent."""
    calibrations = []
    works: dict[tuple[str, int], tuple[Work, float]] = {}
    for number, blue in enumerate(plan.blue):
        progress(f"games of {blue}")
        seed, another = derived_seed(plan.seed, 2 * number), derived_seed(plan.seed, 2 * number + 1)
        calibrations.append(calibrate(blue, config, plan.games, seed))
        seen, steps = play(blue, config, TIMED_ENVS, another)
        played = list(steps)
        for particles in TIMED_PARTICLES:
            works[blue, particles] = _timed(seen, played, particles)
    names = {f"{blue}, {particles} particles": (blue, particles) for blue, particles in works}
    with busy_processes(plan.load) if plan.load else nullcontext():
        rates = measure(
            {name: works[key][0] for name, key in names.items()},
            repeats=plan.repeats,
            seconds=plan.seconds,
            progress=lambda name: progress(f"measuring {name}"),
        )
    return BeliefReport(
        config=config,
        plan=plan,
        machine=describe_machine(),
        calibrations=calibrations,
        speeds=[Speed(*key, works[key][1], rates[name]) for name, key in names.items()],
    )
