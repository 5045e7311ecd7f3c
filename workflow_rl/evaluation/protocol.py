"""The official protocol: 30, 50 and 100 steps against each red agent, raw environment reward."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.agent import BlueAgent, CyborgAgent, CyborgStyleAgent, as_agent
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.scripts import RandomAgent
from workflow_rl.config import (
    BACKENDS,
    MAX_EPISODE_LENGTH,
    RED_AGENTS,
    GameConfig,
    one_of,
    red_agent_name,
    whole_number,
)
from workflow_rl.config.checks import several
from workflow_rl.config.units import read_groups
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import EnvFactory, EpisodesPlayed, Play
from workflow_rl.evaluation.result import (
    OFFICIAL_EPISODES,
    OFFICIAL_STEPS,
    Cell,
    Evaluation,
)
from workflow_rl.workflow.orders import Order, read_order
from workflow_rl.workflow.units import Units, units_of

LOGGED_EPISODES: Final = 100  # of each cell, whose actions the text file lists
_MAX_EPISODES: Final = 1_000_000

Workflow = str | Sequence[str]
Evaluable = str | Path | Policy | BlueAgent | CyborgStyleAgent
Event = EpisodesPlayed | Cell | Evaluation
OnCell = Callable[[Cell], object]
OnEpisodes = Callable[[int], object]


def protocol_games(
    steps: Sequence[int] = OFFICIAL_STEPS,
    red_agents: Sequence[str] = RED_AGENTS,
    **settings: Any,
) -> tuple[GameConfig, ...]:
    """Returns the games of every length against every red agent; by default the official nine.

    Args:
        steps: the lengths.
        red_agents: the attackers.
        **settings: others of every `GameConfig`.

    Raises:
        InvalidInputError: one of them is no game, or named twice.
    """
    lengths = [whole_number("steps", n, 1, MAX_EPISODE_LENGTH) for n in several("steps", steps)]
    names = [red_agent_name(name) for name in several("red_agents", red_agents)]
    for what, values in (("steps", lengths), ("red agents", names)):
        if not values or len(set(values)) != len(values):
            raise InvalidInputError(f"{what} must be one or more, each named once, not {values}")
    return tuple(
        GameConfig(red_agent=red, episode_length=length, **settings)
        for length in lengths
        for red in names
    )


@dataclass(frozen=True)
class EvaluationSettings:
    """Which games an agent plays, and how; see `evaluate`. Checked when it is made."""

    games: tuple[GameConfig, ...] = field(default_factory=protocol_games)
    episodes: int = OFFICIAL_EPISODES
    workflow: Workflow | None = None
    units: str | Path | Mapping[str, Sequence[str]] | Units | None = None
    sampled: bool = False
    seed: int = 0
    backend: str = "cage2"
    cyborg_path: str | Path | None = None
    make_env: EnvFactory | None = None
    logged_episodes: int = LOGGED_EPISODES

    def __post_init__(self) -> None:
        """Checks every field.

        Raises:
            InvalidInputError: one is not allowed.
        """
        put = partial(object.__setattr__, self)
        one_of("backend", self.backend, BACKENDS)
        put("episodes", whole_number("episodes", self.episodes, 2, _MAX_EPISODES))
        logged = whole_number("logged_episodes", self.logged_episodes, 0, _MAX_EPISODES)
        put("logged_episodes", logged)
        put("seed", whole_number("seed", self.seed, 0, 2**63 - 1))
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

    def environments(self, game: GameConfig) -> EnvFactory | None:
        """Returns what makes the single environments of a game; None: the simulator's batch."""
        if self.make_env is not None or self.backend != "cyborg":
            return self.make_env
        from workflow_rl.envs.cyborg import CyborgEnv

        return partial(
            CyborgEnv,
            cyborg_path=self.cyborg_path,
            rules=game.rules,
            green_agent=game.green_agent,
            red_probabilities=game.red_probabilities,
        )

    def agent(self, what: Evaluable) -> BlueAgent:
        """Returns the agent that is to be evaluated."""
        if isinstance(what, str | Path | Policy):
            assert self.units is None or isinstance(self.units, Units)
            game = self.games[0]
            return make_agent(
                what,
                self.workflow,
                units=self.units,
                sampled=self.sampled,
                rules=game.rules,
                observation=game.observation,
            )
        return as_agent(what)


def evaluation_events(agent: BlueAgent, settings: EvaluationSettings) -> Iterator[Event]:
    """Evaluates an agent, and yields what happens as it happens.

    Yields:
        How many more episodes were played; each cell as it is done; the evaluation at last.
    """
    started = time.perf_counter()
    order = settings.order_for(agent)
    environments = [settings.environments(game) for game in settings.games]  # before any game
    cells = []
    for game, make_env in zip(settings.games, environments, strict=True):
        play = Play(agent, game, settings.seed, settings.episodes, order, settings.logged_episodes)
        if make_env is not None:
            yield from play.on(make_env)
        elif isinstance(agent, CyborgAgent):
            yield from play.in_turn()
        else:
            play.at_once()
            yield EpisodesPlayed(settings.episodes)
        cells.append(play.cell())
        yield cells[-1]
    yield Evaluation(
        agent=agent.name,
        observation=agent.observation,
        order=order,
        backend=settings.backend,
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
    green_agent: str = "sleep",
    observation: str = "challenge",
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
        green_agent: sleep, as in the challenge, or active.
        observation: what a model of SB3 was trained on, which its file does not say; every other
            agent has its own.
        workflow: the order to follow, and by which compliance is judged; by default the
            policy's own.
        units: what the workflow names: types, hosts, subnets, a TOML file or groups of hosts; by
            default the policy's own units, or the five types.
        sampled: whether policies draw their actions; by default they take the most probable.
        seed: of everything; agents evaluated with the same seed meet the same games.
        backend: cage2 (our simulator) or cyborg (the original, which must play the rules named).
        cyborg_path: with cyborg, where the original is.
        make_env: makes another single environment to play on, by the keywords red_agent,
            episode_length, observation and seed; its own rules and its own Green apply.
        logged_episodes: of how many episodes of each cell the actions are kept.
        on_cell: told of each cell as it is done.
        on_episodes: told how many more episodes were played.

    Returns:
        Every cell with the return and the compliance of each episode.

    Raises:
        InvalidInputError: an argument is not allowed; nothing was played.
    """
    settings = EvaluationSettings(
        games=protocol_games(
            steps, red_agents, rules=rules, green_agent=green_agent, observation=observation
        ),
        episodes=episodes,
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
