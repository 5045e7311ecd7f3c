"""The official protocol: 30, 50 and 100 steps against each red agent, raw environment reward."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.cyborg_style import CyborgAgent, as_agent
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.simple import RandomAgent
from workflow_rl.config import (
    BACKENDS,
    MAX_EPISODE_LENGTH,
    RED_AGENTS,
    RULE_SETS,
    one_of,
    red_agent_name,
    whole_number,
)
from workflow_rl.config.checks import several
from workflow_rl.config.units import read_groups
from workflow_rl.envs.agents import CyborgStyleAgent
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import (
    EnvFactory,
    EpisodesPlayed,
    Game,
    play_batch,
    play_in_turn,
    play_one_by_one,
)
from workflow_rl.evaluation.results import (
    OFFICIAL_EPISODES,
    OFFICIAL_STEPS,
    Cell,
    Evaluation,
)
from workflow_rl.workflow.orders import Order, read_order
from workflow_rl.workflow.units import Units, units_of

LOGGED_EPISODES: Final = 100  # of each cell, whose actions the text file lists
_MAX_EPISODES: Final = 1_000_000

_Value = TypeVar("_Value", int, str)
Workflow = str | Sequence[str]
Evaluable = str | Path | Policy | BlueAgent | CyborgStyleAgent
Event = EpisodesPlayed | Cell | Evaluation
OnCell = Callable[[Cell], object]
OnEpisodes = Callable[[int], object]


@dataclass(frozen=True)
class EvaluationSettings:
    """How an agent is evaluated; see `evaluate` for the fields. Checked when it is made."""

    episodes: int = OFFICIAL_EPISODES
    rules: str = "main"
    steps: Sequence[int] = OFFICIAL_STEPS
    red_agents: Sequence[str] = RED_AGENTS
    workflow: Workflow | None = None
    sampled: bool = False
    seed: int = 0
    backend: str = "cage2"
    cyborg_path: str | Path | None = None
    make_env: EnvFactory | None = None
    logged_episodes: int = LOGGED_EPISODES
    units: str | Path | Mapping[str, Sequence[str]] | Units | None = None

    def __post_init__(self) -> None:
        """Checks every field.

        Raises:
            InvalidInputError: one is not allowed.
        """
        put = partial(object.__setattr__, self)
        one_of("rule set", self.rules, RULE_SETS)
        one_of("backend", self.backend, BACKENDS)
        put("episodes", whole_number("episodes", self.episodes, 2, _MAX_EPISODES))
        logged = whole_number("logged_episodes", self.logged_episodes, 0, _MAX_EPISODES)
        put("logged_episodes", logged)
        put("seed", whole_number("seed", self.seed, 0, 2**63 - 1))
        steps = [
            whole_number("steps", n, 1, MAX_EPISODE_LENGTH) for n in several("steps", self.steps)
        ]
        put("steps", _distinct("steps", steps))
        names = several("red_agents", self.red_agents)
        put("red_agents", _distinct("red agents", [red_agent_name(name) for name in names]))
        if self.units is not None and not isinstance(self.units, Units):
            put("units", units_of(read_groups(self.units)))
        if self.units is not None and self.workflow is None:
            raise InvalidInputError("units say what a workflow names: name the workflow, too")

    def order_for(self, agent: BlueAgent) -> Order | None:
        """Returns the order by which an agent's fixes are judged, if any.

        Raises:
            InvalidInputError: the workflow that was given is none.
        """
        followed = None if agent.order is None else read_order(agent.order)
        if self.workflow is None:
            return followed
        assert self.units is None or isinstance(self.units, Units)
        return read_order(self.workflow, self.units or (followed.units if followed else None))

    @property
    def environments(self) -> EnvFactory | None:
        """What makes the single environments to play on; None: the simulator's batch."""
        if self.make_env is not None or self.backend != "cyborg":
            return self.make_env
        from workflow_rl.envs.cyborg import CyborgEnv

        rules = one_of("rule set", self.rules, RULE_SETS)
        return partial(CyborgEnv, cyborg_path=self.cyborg_path, rules=rules)

    def agent(self, what: Evaluable) -> BlueAgent:
        """Returns the agent that is to be evaluated."""
        if isinstance(what, str | Path | Policy):
            assert self.units is None or isinstance(self.units, Units)
            return make_agent(
                what, self.workflow, units=self.units, sampled=self.sampled, rules=self.rules
            )
        return as_agent(what)

    def games(self, order: Order | None) -> Iterator[Game]:
        """Yields the game of each cell, judged by an order."""
        for length in self.steps:
            for red in self.red_agents:
                yield Game(length, red, self.rules, self.seed, order)


def evaluation_events(agent: BlueAgent, settings: EvaluationSettings) -> Iterator[Event]:
    """Evaluates an agent, and yields what happens as it happens.

    Yields:
        How many more episodes were played; each cell as it is done; the evaluation at last.
    """
    started = time.perf_counter()
    order = settings.order_for(agent)
    environments = settings.environments
    cells = []
    for game in settings.games(order):
        for event in _play(agent, game, settings, environments):
            if isinstance(event, Cell):
                cells.append(event)
            yield event
    yield Evaluation(
        agent=agent.name,
        observation=agent.observation,
        order=order,
        rules=settings.rules,
        backend=settings.backend,
        episodes=settings.episodes,
        seed=settings.seed,
        is_sampled=settings.sampled or isinstance(agent, RandomAgent),
        cells=tuple(cells),
        seconds=time.perf_counter() - started,
    )


def evaluate(
    what: Evaluable,
    *,
    episodes: int = OFFICIAL_EPISODES,
    rules: str = "main",
    steps: Sequence[int] = OFFICIAL_STEPS,
    red_agents: Sequence[str] = RED_AGENTS,
    workflow: Workflow | None = None,
    units: str | Path | Mapping[str, Sequence[str]] | None = None,
    sampled: bool = False,
    seed: int = 0,
    backend: str = "cage2",
    cyborg_path: str | Path | None = None,
    make_env: EnvFactory | None = None,
    logged_episodes: int = LOGGED_EPISODES,
    on_cell: OnCell | None = None,
    on_episodes: OnEpisodes | None = None,
) -> Evaluation:
    """Evaluates an agent by the challenge's protocol, as `workflow-rl evaluate` does.

    Args:
        what: a baseline's name (sleep, random, react-restore, greedy, best, cardiff, ppo, or
            universal, which follows the workflow it is told); a run directory, whose recommended
            policy plays; a policy file; a model of SB3's PPO (`.zip`); `bline=PATH,meander=PATH`,
            a policy for each red agent; a policy; a `BlueAgent`; or an agent written for CybORG,
            with `get_action(observation, action_space)` and perhaps
            `end_episode()`, which plays the same games one after the other.
        episodes: of each cell.
        rules: main (the official repository today) or competition (the 2022 leaderboard).
        steps: the lengths of episodes.
        red_agents: who attacks; mixed is one of the three, drawn for each episode.
        workflow: the order to follow, and by which compliance is judged; by default the
            policy's own.
        units: what the workflow names: types, hosts, subnets, a TOML file or groups of hosts; by
            default the policy's own units, or the five types.
        sampled: whether policies draw their actions; by default they take the most probable.
        seed: of everything; agents evaluated with the same seed meet the same games.
        backend: cage2 (our simulator) or cyborg (the original, which must play the rules named).
        cyborg_path: with cyborg, where the original is.
        make_env: makes another single environment to play on, by the keywords red_agent,
            episode_length, observation and seed.
        logged_episodes: of how many episodes of each cell the actions are kept.
        on_cell: told of each cell as it is done.
        on_episodes: told how many more episodes were played.

    Returns:
        Every cell with the return and the compliance of each episode.

    Raises:
        InvalidInputError: an argument is not allowed; nothing was played.
    """
    settings = EvaluationSettings(
        episodes=episodes,
        rules=rules,
        steps=steps,
        red_agents=red_agents,
        workflow=workflow,
        units=units,
        sampled=sampled,
        seed=seed,
        backend=backend,
        cyborg_path=cyborg_path,
        make_env=make_env,
        logged_episodes=logged_episodes,
    )
    return _told(evaluation_events(settings.agent(what), settings), on_cell, on_episodes)


def _told(
    events: Iterator[Event], on_cell: OnCell | None, on_episodes: OnEpisodes | None
) -> Evaluation:
    """Tells the listeners of an evaluation's events, and returns the evaluation."""
    for event in events:
        if isinstance(event, EpisodesPlayed) and on_episodes is not None:
            on_episodes(event.number)
        if isinstance(event, Cell) and on_cell is not None:
            on_cell(event)
    assert isinstance(event, Evaluation)  # the last event
    return event


def _play(
    agent: BlueAgent, game: Game, settings: EvaluationSettings, environments: EnvFactory | None
) -> Iterator[EpisodesPlayed | Cell]:
    episodes, logged = settings.episodes, settings.logged_episodes
    if environments is not None:
        yield from play_one_by_one(agent, game, episodes, logged, environments)
        return
    if isinstance(agent, CyborgAgent):
        yield from play_in_turn(agent, game, episodes, logged)
        return
    cell = play_batch(agent, game, episodes, logged)
    yield EpisodesPlayed(episodes)
    yield cell


def _distinct(what: str, values: list[_Value]) -> tuple[_Value, ...]:
    if not values or len(set(values)) != len(values):
        raise InvalidInputError(f"{what} must be one or more, each named once, not {values}")
    return tuple(values)
