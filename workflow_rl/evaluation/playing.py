"""Playing a game many times over: at once or in turn on the simulator, or on another environment.

Episode k depends on the game, the seed and k alone, however it is played.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent, CyborgAgent
from workflow_rl.arrays import numbers
from workflow_rl.config import MIXED, OBSERVATIONS, RED_AGENTS, VIEWS, GameConfig, one_of
from workflow_rl.envs.observations import make_batch, observation_of
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.behaviour import ActionCounter
from workflow_rl.evaluation.result import ActionLog, Cell
from workflow_rl.jit import compile_message
from workflow_rl.scenario.network import Network
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.checks import checked_actions, checked_mask
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

# (red_agent=, episode_length=, observation=, seed=) -> gymnasium.Env
EnvFactory = Callable[..., Any]
# Limited by memory. Every batch gives the agent another seed.
EPISODES_AT_ONCE: Final = 65_536
UNKNOWN_ACTION: Final = "unknown"  # what Red did, where the environment does not tell

_RED_NAMES: Final = {
    RedAction.SLEEP: "Sleep",
    RedAction.DISCOVER_REMOTE_SYSTEMS: "DiscoverRemoteSystems",
    RedAction.DISCOVER_NETWORK_SERVICES: "DiscoverNetworkServices",
    RedAction.EXPLOIT: "ExploitRemoteService",
    RedAction.PRIVILEGE_ESCALATE: "PrivilegeEscalate",
    RedAction.IMPACT: "Impact",
}


def _red_name(network: Network, action: RedAction, target: int) -> str:
    """Writes a red action as CybORG does, but with names in place of its random addresses."""
    if target < 0:
        return _RED_NAMES[action]
    swept = action is RedAction.DISCOVER_REMOTE_SYSTEMS
    names = network.zone_names if swept else network.host_names
    return f"{_RED_NAMES[action]} {names[target]}" if target < len(names) else UNKNOWN_ACTION


def _targets(network: Network) -> int:
    """Returns how many targets a red action can have, and none."""
    return max(len(network.hosts), len(network.zones)) + 1


@cache
def red_names(network: Network) -> tuple[str, ...]:
    """Returns what Red did, by the number action * targets + target + 1."""
    targets = range(-1, _targets(network) - 1)
    return tuple(_red_name(network, action, target) for action in RedAction for target in targets)


def game_seed(game: GameConfig, seed: int) -> int:
    """Returns the seed of a game's episodes: independent between games, the same for all agents."""
    return _derived_seed(game, seed, 0)


def agent_seed(game: GameConfig, seed: int) -> int:
    """Returns the seed of the agent's own samples."""
    return _derived_seed(game, seed, 1)


def _derived_seed(game: GameConfig, seed: int, purpose: int) -> int:
    named = (*RED_AGENTS, MIXED)
    if game.red_agent in named:
        red = named.index(game.red_agent)
    else:  # wherever the files of policies are
        reds = ",".join(f"{Path(red.name).name}={red.weight:g}" for red in game.reds)
        red = crc32(reds.encode())
    numbers = [seed, game.episode_length, red, purpose]
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


class _Judge:
    """Adds up the verdicts of a cell's steps to each episode's compliance."""

    def __init__(self, order: Order | None, network: Network, steps: int, episodes: int) -> None:
        self._network = network
        self._ranks = None if order is None else np.tile(order.host_ranks, (episodes, 1))
        self._last = steps - 1
        self._tallies = [Tally.zeros(episodes) for _ in VIEWS]
        self._rates = np.zeros((len(VIEWS), episodes))
        self._fixes = np.zeros((len(VIEWS), episodes), np.int32)  # that count
        self._views = 0  # how many are judged

    def judge_state(
        self, step: int, state: NDArray[np.void], actions: NDArray[np.int64], episodes: slice
    ) -> None:
        """Judges a step's actions by the simulator's state before them, in both views."""
        if self._ranks is not None:
            ranks = self._ranks[: len(actions)]
            seen = judge_observed(state["table"], actions, ranks, self._network)
            true = judge_true(held_hosts(state), state["removable"], actions, ranks, self._network)
            self._note(step, episodes, seen, true)

    def judge_seen(
        self, step: int, observation: NDArray[np.int8], actions: NDArray[np.int64], episode: int
    ) -> None:
        """Judges one action (1,) by the observation (1, its size) before it."""
        if self._ranks is not None:
            tables = packed_tables(self._network, observation)
            seen = judge_observed(tables, actions, self._ranks[:1], self._network)
            self._note(step, slice(episode, episode + 1), seen)

    def _note(self, step: int, episodes: slice, *judged: Judgement) -> None:
        self._views = len(judged)
        ends = np.full((1, len(judged[0].verdict)), step == self._last)
        for view, judgement in enumerate(judged):
            any_open, verdict = judgement
            self._fixes[view, episodes] += judgement.counted
            compliant, counted, ever_open = self._tallies[view]
            tally = Tally(compliant[episodes], counted[episodes], ever_open[episodes])
            scored = compliance_shares(verdict[None], any_open[None], ends, tally)
            self._rates[view, episodes] = scored.rates[0]

    def rates(self) -> dict[str, NDArray[np.float64]]:
        """Returns each episode's compliance, in the views that were judged."""
        return dict(zip(VIEWS, self._rates[: self._views], strict=False))

    def fixes(self) -> dict[str, NDArray[np.int32]]:
        """Returns how many fixes of each episode were judged, in the same views."""
        return dict(zip(VIEWS, self._fixes[: self._views], strict=False))


class Play:
    """Many episodes of one game by one agent, and their results so far."""

    def __init__(
        self,
        agent: BlueAgent,
        game: GameConfig,
        seed: int,
        episodes: int,
        order: Order | None = None,
        logged: int = 0,
    ) -> None:
        """Plays nothing yet.

        Args:
            agent: the defender; its own observation replaces the game's.
            game: what is played.
            seed: the seeds of the game and of the agent are derived from it.
            episodes: how many.
            order: by which compliance is judged.
            logged: of how many episodes the actions are kept.
        """
        self._agent = agent
        seen = one_of("observation", agent.observation, OBSERVATIONS)
        self._game = replace(game, observation=seen)
        self._seed = game_seed(game, seed)
        self._agent_seed = agent_seed(game, seed)
        self._judge = _Judge(order, game.network, game.episode_length, episodes)
        self._counter = ActionCounter(game.network, game.episode_length)
        self._returns = np.zeros(episodes)
        self._blue = np.zeros((game.episode_length, min(logged, episodes)), np.int16)
        self._red = np.zeros_like(self._blue)
        self._red_names: tuple[str, ...] = red_names(game.network)

    def episodes(self) -> Iterator[int]:
        """Plays on the simulator; yields how many more episodes were played.

        They are played in batches, or one by one if the agent can only do that.
        """
        at_once = 1 if isinstance(self._agent, CyborgAgent) else EPISODES_AT_ONCE
        batch = None
        for first in range(0, len(self._returns), at_once):
            number = min(at_once, len(self._returns) - first)
            if batch is None or batch.num_envs != number:
                batch = make_batch(number, self._game, autoreset=False)
            self._play_batch(batch, first)
            yield number

    def episodes_on(self, make_env: EnvFactory) -> Iterator[int]:
        """Plays on a single environment with `Cage2Env`'s spaces; yields 1 after each episode.

        The environment's own rules apply. Compliance is judged by what Blue saw only: such an
        environment does not tell which sessions Remove would kill.

        Raises:
            InvalidInputError: the environment does not show what the agent needs.
        """
        game = self._game
        env = make_env(
            red_agent=game.red_agent,
            episode_length=game.episode_length,
            observation=game.observation,
            seed=self._seed,
        )
        names: dict[str, int] = {}
        with closing(env):
            for episode in range(len(self._returns)):
                total = self._play_env(env, episode, names)
                self._returns[episode] = np.round(total, 1)
                yield 1
        self._red_names = tuple(names)

    def cell(self) -> Cell:
        """Returns the cell, all of whose episodes have been played."""
        log = ActionLog(self._blue, self._red, self._red_names)
        judge = self._judge
        return Cell(
            self._game,
            self._seed,
            self._returns,
            judge.rates(),
            judge.fixes(),
            log,
            self._counter.behaviour(),
        )

    def _play_batch(self, batch: Batch, first: int) -> None:
        """Plays the episodes from a number on, one in each environment of the batch."""
        episodes = slice(first, first + batch.num_envs)
        batch.state["index"] = np.arange(episodes.start, episodes.stop)
        batch.reset(self._seed)
        self._agent.begin(batch.num_envs, self._agent_seed + first)
        logged = slice(first, min(episodes.stop, self._blue.shape[1]))
        kept = slice(max(0, logged.stop - logged.start))
        tenths = np.zeros(batch.num_envs, np.int64)
        for step in range(self._game.episode_length):
            is_first = step == first == 0
            with compile_message() if is_first else nullcontext():
                chosen = self._agent.act(batch.observation, batch.out.action_mask, step)
                actions = self._checked(chosen, batch.num_envs)
                self._judge.judge_state(step, batch.state, actions, episodes)
                decoys = batch.state["decoys"].copy()
                batch.step(actions)
            self._counter.count(step, actions, decoys, batch.state["decoys"])
            tenths += batch.out.reward_tenths.sum(axis=1)
            self._blue[step, logged] = actions[kept]
            red = batch.state["red_action"][kept] * np.int16(_targets(batch.network))
            self._red[step, logged] = red + batch.state["red_target"][kept] + np.int16(1)
        self._returns[episodes] = tenths / 10

    def _play_env(self, env: Any, episode: int, names: dict[str, int]) -> float:
        """Plays one episode on an environment, notes Red's actions by name, returns the return."""
        observation, info = env.reset(seed=self._seed if episode == 0 else None)
        self._agent.begin(1, self._agent_seed + episode)
        total = 0.0
        for step in range(self._game.episode_length):
            seen = self._seen(observation)[None]
            mask = checked_mask(self._game.network, [info["action_mask"]], 1)
            actions = self._checked(self._agent.act(seen, mask, step), 1)
            self._judge.judge_seen(step, seen, actions, episode)
            action = int(actions[0])
            observation, reward, _, _, info = env.step(action)
            total += float(info.get("env_reward", reward))
            if episode < self._blue.shape[1]:
                name = str(info.get("red_action", UNKNOWN_ACTION))
                self._blue[step, episode] = action
                self._red[step, episode] = names.setdefault(name, len(names))
        return total

    def _seen(self, observation: object) -> NDArray[np.int8]:
        """Returns what an environment shows, if it is what the agent needs."""
        size = observation_of(self._game.observation, self._game.network).size
        needs = (
            f"{self._agent.name} needs the observation {self._game.observation} of {size} values"
        )
        seen = numbers(needs, observation)
        if seen.shape != (size,):
            raise InvalidInputError(f"{needs}, and the environment shows it {seen.shape}")
        return seen.astype(np.int8)

    def _checked(self, chosen: object, episodes: int) -> NDArray[np.int64]:
        """Returns what the agent chose as one of Blue's actions for each episode."""
        what = f"the actions of {self._agent.name}"
        return checked_actions(self._game.network, chosen, (episodes,), what)


def play_batch(
    agent: BlueAgent,
    game: GameConfig,
    seed: int,
    episodes: int,
    order: Order | None = None,
    logged: int = 0,
) -> Cell:
    """Plays a game on the simulator; arguments as of `Play`."""
    play = Play(agent, game, seed, episodes, order, logged)
    for _ in play.episodes():
        pass
    return play.cell()
