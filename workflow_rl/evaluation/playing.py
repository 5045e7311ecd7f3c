"""Playing a cell: on the simulator as one batch or in turn, or one by one on another environment.

`Game` says what is played; all ways give the same kind of `Cell`.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.belief.observation import make_batch, observation_size
from workflow_rl.config import (
    MIXED,
    OBSERVATIONS,
    RED_AGENTS,
    RULE_SETS,
    VIEWS,
    GameConfig,
    ViewName,
    one_of,
    red_agent_name,
)
from workflow_rl.config.checks import not_allowed
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.results import ActionLog, Cell
from workflow_rl.jit import compile_message
from workflow_rl.scenario.tables import HOST_NAMES, NUM_HOSTS, Subnet
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.state import RedAction
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import (
    Judgement,
    Tally,
    compliance_shares,
    judge_observed,
    judge_true,
)
from workflow_rl.workflow.orders import Order

EnvFactory = Callable[
    ..., Any
]  # (red_agent=, episode_length=, observation=, seed=) -> gymnasium.Env
UNKNOWN_ACTION: Final = "unknown"  # what Red did, where the environment does not tell

_OBSERVED, _TRUE = VIEWS
_PER_ACTION: Final = NUM_HOSTS + 1  # targets, and none
_RED_NAMES: Final = {
    RedAction.SLEEP: "Sleep",
    RedAction.DISCOVER_REMOTE_SYSTEMS: "DiscoverRemoteSystems",
    RedAction.DISCOVER_NETWORK_SERVICES: "DiscoverNetworkServices",
    RedAction.EXPLOIT: "ExploitRemoteService",
    RedAction.PRIVILEGE_ESCALATE: "PrivilegeEscalate",
    RedAction.IMPACT: "Impact",
}


def _red_name(action: RedAction, target: int) -> str:
    """Writes a red action as CybORG does, but with names in place of its random addresses."""
    if target < 0:
        return _RED_NAMES[action]
    if action is RedAction.DISCOVER_REMOTE_SYSTEMS:
        names = [subnet.name.capitalize() for subnet in Subnet]
        return f"{_RED_NAMES[action]} {names[target]}" if target < len(names) else UNKNOWN_ACTION
    return f"{_RED_NAMES[action]} {HOST_NAMES[target]}"


# (action * 14 + target + 1,) what Red did
RED_NAMES: Final = tuple(
    _red_name(action, target) for action in RedAction for target in range(-1, NUM_HOSTS)
)


@dataclass(frozen=True)
class Game:
    """What is played in a cell."""

    steps: int
    red_agent: str
    rules: str
    seed: int  # of the whole evaluation
    order: Order | None  # by which compliance is judged

    @property
    def cell_seed(self) -> int:
        """The seed of this cell's games: cells are independent, agents meet the same games."""
        return self._seed(0)

    @property
    def agent_seed(self) -> int:
        """The seed of the agent's own draws."""
        return self._seed(1)

    def _seed(self, purpose: int) -> int:
        numbers = [self.seed, self.steps, (*RED_AGENTS, MIXED).index(self.red_agent), purpose]
        return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class EpisodesPlayed:
    """So many more episodes of a cell were played."""

    number: int


class _Judge:
    """Collects the verdicts of a cell and sums them up to each episode's compliance."""

    def __init__(self, order: Order | None, steps: int, episodes: int) -> None:
        self._ranks = None if order is None else np.tile(order.host_ranks, (episodes, 1))
        self._any_open = {view: np.zeros((steps, episodes), np.bool_) for view in VIEWS}
        self._verdict = {view: np.zeros((steps, episodes), np.int8) for view in VIEWS}
        self._noted: set[ViewName] = set()

    def judge_state(
        self, step: int, state: NDArray[np.void], actions: NDArray[np.int64], episodes: slice
    ) -> None:
        """Judges a step's actions by the simulator's state before them, in both views."""
        if self._ranks is None:
            return
        ranks = self._ranks[: len(actions)]
        self._note(_OBSERVED, step, judge_observed(state["table"], actions, ranks), episodes)
        judged = judge_true(held_hosts(state), state["removable"], actions, ranks)
        self._note(_TRUE, step, judged, episodes)

    def judge_seen(
        self, step: int, episode: int, observation: NDArray[np.int8], action: int
    ) -> None:
        """Judges one action by the observation before it."""
        if self._ranks is None:
            return
        table = packed_tables(observation[None])
        judged = judge_observed(table, np.array([action], np.int64), self._ranks[:1])
        self._note(_OBSERVED, step, judged, slice(episode, episode + 1))

    def rates(self) -> dict[str, NDArray[np.float64]]:
        """Returns each episode's compliance, in the views that were judged."""
        rates: dict[str, NDArray[np.float64]] = {}
        for view in self._noted:
            ends = np.zeros(self._verdict[view].shape, np.bool_)
            ends[-1] = True
            tally = Tally.zeros(ends.shape[1])
            scored = compliance_shares(self._verdict[view], self._any_open[view], ends, tally)
            rates[view] = scored.rates[-1]
        return rates

    def _note(self, view: ViewName, step: int, judged: Judgement, episodes: slice) -> None:
        self._noted.add(view)
        self._any_open[view][step, episodes] = judged.any_open
        self._verdict[view][step, episodes] = judged.verdict


class _Score:
    """A cell under way: what its episodes, played together or one by one, have brought so far."""

    def __init__(self, game: Game, episodes: int, logged: int) -> None:
        self._game = game
        self._judge = _Judge(game.order, game.steps, episodes)
        self._tenths = np.zeros(episodes, np.int64)
        self._blue = np.zeros((game.steps, min(logged, episodes)), np.int16)
        self._red = np.zeros_like(self._blue)

    def play(self, agent: BlueAgent, batch: Batch, episodes: slice) -> None:
        """Plays the cell's episodes of these numbers, one in each environment of the batch."""
        batch.state["index"] = np.arange(episodes.start, episodes.stop)
        batch.reset(self._game.cell_seed)
        agent.begin(batch.num_envs, self._game.agent_seed + episodes.start)
        logged = slice(episodes.start, min(episodes.stop, self._blue.shape[1]))
        kept = slice(max(0, logged.stop - logged.start))
        for step in range(self._game.steps):
            is_first = step == episodes.start == 0
            with compile_message() if is_first else nullcontext():
                chosen = agent.act(batch.observation, batch.out.action_mask, step)
                actions = as_actions(chosen, batch.num_envs)
                self._judge.judge_state(step, batch.state, actions, episodes)
                batch.step(actions)
            self._tenths[episodes] += batch.out.reward_tenths.sum(axis=1)
            self._blue[step, logged] = actions[kept]
            red = batch.state["red_action"][kept] * np.int16(_PER_ACTION)
            self._red[step, logged] = red + batch.state["red_target"][kept] + np.int16(1)

    def cell(self) -> Cell:
        """Returns the cell, all of whose episodes have been played."""
        return Cell(
            self._game.steps,
            self._game.red_agent,
            self._game.cell_seed,
            self._tenths / 10,
            self._judge.rates(),
            ActionLog(self._blue, self._red, RED_NAMES),
        )


def _batch(agent: BlueAgent, game: Game, num_envs: int) -> Batch:
    config = GameConfig(
        red_agent=red_agent_name(game.red_agent),
        episode_length=game.steps,
        rules=one_of("rule set", game.rules, RULE_SETS),
        observation=one_of("observation", agent.observation, OBSERVATIONS),
    )
    return make_batch(num_envs, config, autoreset=False)


def as_actions(chosen: object, episodes: int) -> NDArray[np.int64]:
    """Returns what an agent chose as the batch takes it.

    Raises:
        InvalidInputError: it is not a whole number for each episode.
    """
    try:
        actions = np.ascontiguousarray(chosen)
    except ValueError:  # rows of different lengths
        actions = np.empty(0)
    if actions.dtype.kind not in "iu" or actions.shape != (episodes,):
        raise not_allowed("an agent's actions", chosen, f"{episodes} whole numbers")
    return actions.astype(np.int64, copy=False)


def play_batch(agent: BlueAgent, game: Game, episodes: int, logged: int) -> Cell:
    """Plays a cell on the simulator, every episode in an environment of its own.

    Args:
        agent: who defends.
        game: what is played.
        episodes: how many.
        logged: of how many episodes the actions are kept.
    """
    score = _Score(game, episodes, logged)
    score.play(agent, _batch(agent, game, episodes), slice(0, episodes))
    return score.cell()


def play_in_turn(
    agent: BlueAgent, game: Game, episodes: int, logged: int
) -> Iterator[EpisodesPlayed | Cell]:
    """Plays the games of `play_batch` one after the other, for an agent that knows only one.

    Args:
        agent: who defends.
        game: what is played.
        episodes: how many.
        logged: of how many episodes the actions are kept.

    Yields:
        Each episode as it is over, and the cell at last.
    """
    score = _Score(game, episodes, logged)
    batch = _batch(agent, game, 1)
    for episode in range(episodes):
        score.play(agent, batch, slice(episode, episode + 1))
        yield EpisodesPlayed(1)
    yield score.cell()


def play_one_by_one(
    agent: BlueAgent, game: Game, episodes: int, logged: int, make_env: EnvFactory
) -> Iterator[EpisodesPlayed | Cell]:
    """Plays a cell on a single environment with `Cage2Env`'s spaces; yields every episode.

    Compliance is judged by what Blue saw only: such an environment does not tell which sessions
    Remove would kill.

    Args:
        agent: who defends.
        game: what is played; the environment's own rules apply.
        episodes: how many.
        logged: of how many episodes the actions are kept.
        make_env: makes the environment.

    Yields:
        Each episode as it is over, and the cell at last.

    Raises:
        InvalidInputError: the environment does not show what the agent needs.
    """
    env = make_env(
        red_agent=game.red_agent,
        episode_length=game.steps,
        observation=agent.observation,
        seed=game.cell_seed,
    )
    judge = _Judge(game.order, game.steps, episodes)
    returns = np.zeros(episodes)
    blue = np.zeros((game.steps, min(logged, episodes)), np.int16)
    red = np.zeros_like(blue)
    names: dict[str, int] = {}
    with closing(env):
        for episode in range(episodes):
            observation, info = env.reset(seed=game.cell_seed if episode == 0 else None)
            _check_shown(observation, agent)
            agent.begin(1, game.agent_seed + episode)
            for step in range(game.steps):
                mask = np.asarray(info["action_mask"], np.bool_)
                seen = np.asarray(observation, np.int8)
                action = int(agent.act(seen[None], mask[None], step)[0])
                judge.judge_seen(step, episode, seen, action)
                observation, reward, _, _, info = env.step(action)
                returns[episode] += float(info.get("env_reward", reward))
                if episode < blue.shape[1]:
                    name = str(info.get("red_action", UNKNOWN_ACTION))
                    blue[step, episode] = action
                    red[step, episode] = names.setdefault(name, len(names))
            yield EpisodesPlayed(1)
    log = ActionLog(blue, red, tuple(names))
    yield Cell(game.steps, game.red_agent, game.cell_seed, returns.round(1), judge.rates(), log)


def _check_shown(observation: Any, agent: BlueAgent) -> None:
    """Checks that an environment shows what an agent needs.

    Raises:
        InvalidInputError: it shows something of another size.
    """
    needed = one_of("observation", agent.observation, OBSERVATIONS)
    if np.shape(observation) != (observation_size(needed),):
        raise InvalidInputError(
            f"{agent.name} needs the observation {needed} of {observation_size(needed)} values, "
            f"and the environment shows it {np.shape(observation)}"
        )
