"""A batch of environments: the arrays that hold it and the loops that run the rules over it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array, is_plain
from workflow_rl.config import MAX_ENVS, GameConfig, whole_number
from workflow_rl.config.reds import GIVEN, MAX_REDS
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import compile_message, entry_of, kernel, rule, use_threads
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY, Tables, tables_of
from workflow_rl.sim.blue import decoys_changed
from workflow_rl.sim.checks import checked_actions
from workflow_rl.sim.draws import LAST_OUTCOME, WORDS, Draws, philox
from workflow_rl.sim.memory import remember
from workflow_rl.sim.observation import simulated
from workflow_rl.sim.observe import write_decoy_mask, write_observation, write_red_access
from workflow_rl.sim.red_given import NOT_GIVEN, is_legal, legal_actions, red_actions_of
from workflow_rl.sim.red_view import (
    begin_red,
    red_memory_dtype,
    red_view_size,
    remember_red,
    write_legal,
    write_red_view,
)
from workflow_rl.sim.reward import reward_of
from workflow_rl.sim.state import (
    SETTINGS_DTYPE,
    RedAgent,
    Settings,
    State,
    initial_state,
    state_dtype,
)
from workflow_rl.sim.turn import play_turn, start_episode

_DRAWS: Final = (~LAST_OUTCOME, WORDS - 1)  # recorded outcomes below 0, random words
NO_DRAWS: Final = np.empty((0, len(Draws._fields)), dtype=np.int64)
_NO_ACTIONS: Final = np.empty(0, np.int64)
_GIVEN: Final = int(RedAgent.GIVEN)
_FIRST_DECOY_WORD: Final = 1 << 30  # a counter of draws that no step reaches


class Params(NamedTuple):
    """What is the same for every environment of a batch, one record each."""

    net: NDArray[np.void]  # Tables
    initial: NDArray[np.void]  # State
    settings: NDArray[np.void]  # Settings


class Outputs(NamedTuple):
    """What a step gives, one row per environment."""

    observation: NDArray[np.int8]  # (n, its size) what Blue sees now
    reward: NDArray[np.float64]  # (n,) of the step just played
    reward_tenths: NDArray[np.int16]  # (n, 3) its parts: confidentiality, availability, action cost
    red_access: NDArray[np.int8]  # (n, hosts) true access now: before the next action
    action_mask: NDArray[np.bool_]  # (n, actions) False: a decoy refused now
    truncated: NDArray[np.bool_]  # (n,) the episode ended; the rows above show the next one
    final_observation: NDArray[np.int8]  # (n, as above) of episodes that ended, else stale
    final_red_access: NDArray[np.int8]  # (n, hosts) of episodes that ended, else stale

    @classmethod
    def empty(cls, network: Network, num_envs: int, observation_size: int) -> Self:
        """Allocates the outputs of a batch."""
        hosts, actions = len(network.hosts), actions_of(network).size
        return cls(
            observation=np.zeros((num_envs, observation_size), np.int8),
            reward=np.zeros(num_envs, np.float64),
            reward_tenths=np.zeros((num_envs, 3), np.int16),
            red_access=np.zeros((num_envs, hosts), np.int8),
            action_mask=np.ones((num_envs, actions), np.bool_),
            truncated=np.zeros(num_envs, np.bool_),
            final_observation=np.zeros((num_envs, observation_size), np.int8),
            final_red_access=np.zeros((num_envs, hosts), np.int8),
        )

    def with_new_rows(self) -> Self:
        """Returns the outputs with a new array for the observations: a step writes them all."""
        return type(self)(np.empty_like(self.observation), *self[1:])


class RedSide(NamedTuple):
    """Red's side of a batch, one row per environment; no rows where nobody looks at it."""

    memory: NDArray[np.void]  # (n,) what Red was told
    observation: NDArray[np.int8]  # (n, `red_view_size`) what Red sees now
    legal: NDArray[np.bool_]  # (n, red actions) what it may do now, by positions
    final_observation: NDArray[np.int8]  # (n, as above) of episodes that ended, else stale

    @classmethod
    def empty(cls, network: Network, num_envs: int) -> Self:
        """Allocates Red's side of a batch."""
        size, actions = red_view_size(network), red_actions_of(network).size
        return cls(
            memory=np.zeros(num_envs, red_memory_dtype(network)),
            observation=np.zeros((num_envs, size), np.int8),
            legal=np.zeros((num_envs, actions), np.bool_),
            final_observation=np.zeros((num_envs, size), np.int8),
        )


@rule
def begin_episode(
    states: NDArray[np.void], k: int, params: Params, out: Outputs, red: RedSide
) -> None:
    """Starts environment k's next episode and writes what holds before its first step."""
    env: State = states[k]
    net: Tables = params.net[0]
    settings: Settings = params.settings[0]
    words = philox(0, env.episode, env.index, settings.key[0], settings.key[1])
    start_episode(states, k, params.initial, settings, words.first)
    if len(red.memory):
        begin_red(red.memory[k], env, net, settings)
        write_red_view(red.memory[k], env, net, red.observation, k)
        write_legal(red.memory[k], env, net, red.legal, k)
    write_observation(env, net, settings, out.observation, k)
    write_red_access(env, net, out.red_access, k)
    for host in range(net.num_hosts):
        write_decoy_mask(env, net, host, out.action_mask, k)


@rule
def draws_of(
    env: State, net: Tables, settings: Settings, given: NDArray[np.int64], k: int
) -> Draws:
    """Returns the given draws of environment k, or else those of its own stream."""
    if len(given):
        return Draws(given[k, 0], given[k, 1], given[k, 2], given[k, 3], given[k, 4])
    key = settings.key
    words = philox(env.step + 1, env.episode, env.index, key[0], key[1])
    decoy: int = np.int64(0)  # type: ignore[assignment]
    if net.misinforms:
        counter = _FIRST_DECOY_WORD + env.step
        decoy = philox(counter, env.episode, env.index, key[0], key[1]).first
    return Draws(words.first, words.second, words.third, words.fourth, decoy)


@kernel()
def _reset(states: NDArray[np.void], params: Params, out: Outputs, red: RedSide) -> None:
    for k in range(len(states)):
        begin_episode(states, k, params, out, red)


@rule
def end_episode(
    states: NDArray[np.void], k: int, params: Params, out: Outputs, red: RedSide
) -> None:
    """Keeps what was seen last and starts environment k's next episode."""
    out.final_observation[k] = out.observation[k]
    out.final_red_access[k] = out.red_access[k]
    if len(red.memory):
        red.final_observation[k] = red.observation[k]
    env: State = states[k]
    env.episode += 1
    begin_episode(states, k, params, out, red)


@rule
def step_range(
    states: NDArray[np.void],
    params: Params,
    actions: NDArray[np.int64],
    red_actions: NDArray[np.int64],
    given: NDArray[np.int64],
    out: Outputs,
    red: RedSide,
    start: int,
    stop: int,
) -> int:
    """Plays a turn of environments start..stop-1; returns how many episodes ended."""
    # Taken apart once per range: inside the loop every access would count references.
    observation, reward, reward_tenths, red_access, action_mask, truncated, _, _ = out
    net: Tables = params.net[0]
    settings: Settings = params.settings[0]
    ended = 0
    for k in range(start, stop):
        env = states[k]
        action = actions[k]
        red_action = red_actions[k] if len(red_actions) else NOT_GIVEN
        draws = draws_of(env, net, settings, given, k)
        play_turn(env, net, settings, action, red_action, draws)
        reward[k] = reward_of(env)
        reward_tenths[k, 0] = env.confidentiality
        reward_tenths[k, 1] = env.availability
        reward_tenths[k, 2] = env.action_cost
        if settings.memory:
            remember(env.memory, net, env.table, action)
        write_observation(env, net, settings, observation, k)
        write_red_access(env, net, red_access, k)
        if len(red.memory):
            remember_red(red.memory[k], env, net)
            write_red_view(red.memory[k], env, net, red.observation, k)
            write_legal(red.memory[k], env, net, red.legal, k)
        if decoys_changed(env, net):
            write_decoy_mask(env, net, net.action_host[action], action_mask, k)
        truncated[k] = env.step >= settings.episode_length
        if truncated[k]:
            ended += 1
            if settings.autoreset:
                end_episode(states, k, params, out, red)
    return ended


@rule
def first_invalid(actions: NDArray[np.int64], number: int) -> int:
    """Returns the index of the first action that is not one of 0..number - 1, or NOBODY."""
    for k in range(len(actions)):
        if actions[k] < 0 or actions[k] >= number:
            return k
    return NOBODY


@rule
def first_illegal(states: NDArray[np.void], net: Tables, red_actions: NDArray[np.int64]) -> int:
    """Returns the first environment whose Red is given an action that it may not take, or NOBODY.

    A Red that waits, or chooses by itself, takes no action that is given.
    """
    for k in range(len(states)):
        env: State = states[k]
        if env.red_agent == _GIVEN and env.step >= env.red_wait:
            if not len(red_actions):
                return k
            action = red_actions[k]
            if action < 0 or not is_legal(env, net, action):
                return k
    return NOBODY


@rule
def first_wrong(
    states: NDArray[np.void],
    params: Params,
    actions: NDArray[np.int64],
    red_actions: NDArray[np.int64],
) -> int:
    """Returns the first wrong action: k of Blue's, n + k of Red's, or NOBODY."""
    net: Tables = params.net[0]
    invalid = first_invalid(actions, net.num_actions)
    if invalid == NOBODY and params.settings[0].red_given:
        illegal = first_illegal(states, net, red_actions)
        return len(states) + illegal if illegal != NOBODY else NOBODY
    return invalid


# The kernels return how many episodes ended or, if something is wrong, ~ of what `first_wrong`
# returns: nothing was played.


@kernel()
def _step(
    states: NDArray[np.void],
    params: Params,
    actions: NDArray[np.int64],
    red_actions: NDArray[np.int64],
    given: NDArray[np.int64],
    out: Outputs,
    red: RedSide,
) -> int:
    wrong = first_wrong(states, params, actions, red_actions)
    if wrong != NOBODY:
        return ~wrong
    n = len(states)
    return step_range(states, params, actions, red_actions, given, out, red, 0, n)


@kernel(parallel=True)
def _step_parallel(
    states: NDArray[np.void],
    params: Params,
    actions: NDArray[np.int64],
    red_actions: NDArray[np.int64],
    given: NDArray[np.int64],
    out: Outputs,
    red: RedSide,
    parts: int,
) -> int:
    wrong = first_wrong(states, params, actions, red_actions)
    if wrong != NOBODY:
        return ~wrong
    n = len(states)
    ended = 0
    for part in numba.prange(parts):
        start, stop = part * n // parts, (part + 1) * n // parts
        ended += step_range(states, params, actions, red_actions, given, out, red, start, stop)
    return ended


@kernel()
def _uniforms(
    states: NDArray[np.void], settings: NDArray[np.void], stream: int, numbers: NDArray[np.float32]
) -> None:
    key = settings[0].key
    for k in range(len(states)):
        env: State = states[k]
        words = philox(stream + env.step, env.episode, env.index, key[0], key[1])
        numbers[k] = np.float32(words.first >> 8) * np.float32(2.0**-24)


# The machine code of `_reset` and `_step` for each size class, once a batch has used it.
_ENTRIES: Final[dict[tuple[Callable[..., int | None], np.dtype[np.void]], Any]] = {}


class Batch:
    """`num_envs` environments of one game, stepped together.

    Rows of `out` are overwritten by the next step: copy what must last.
    """

    def __init__(
        self,
        num_envs: int,
        config: GameConfig,
        *,
        num_threads: int = 1,
        autoreset: bool = True,
        new_rows: bool = False,
        red_view: bool = False,
    ) -> None:
        """Allocates the batch; `reset` must come before the first `step`.

        Args:
            num_envs: how many environments.
            config: the game they play.
            num_threads: threads of the loop over them.
            autoreset: whether an ended episode is followed by the next within the same step; if
                not, `truncated` stays set and the caller resets.
            new_rows: whether every step writes its observations to a new array, so that those of
                earlier steps last without a copy.
            red_view: whether `red` holds what Red sees and may do.

        Raises:
            InvalidInputError: a count is out of range.
        """
        self.num_envs = whole_number("num_envs", num_envs, 1, MAX_ENVS)
        self.num_threads = whole_number("num_threads", num_threads, 1, max_threads())
        self.config = config
        self._new_rows = new_rows
        self.network = config.network
        self.observation_size = simulated(config.observation, self.network).size
        self.out = Outputs.empty(self.network, self.num_envs, self.observation_size)
        self.red = RedSide.empty(self.network, self.num_envs if red_view else 0)
        self.state = np.zeros(self.num_envs, state_dtype(self.network))
        self.state["index"] = np.arange(self.num_envs)
        self._settings = settings_of(config, autoreset)
        self._params = Params(tables_of(self.network), initial_state(self.network), self._settings)

    def reset(self, seed: int | None = None) -> None:
        """Starts an episode in every environment.

        Args:
            seed: starts every stream anew, at episode 0; None goes on to the next episode.
        """
        if seed is not None:
            self._settings["key"] = np.random.SeedSequence(seed).generate_state(2)
            self.state["episode"] = 0
        else:
            self.state["episode"] += 1
        self.out = self._next_out()
        arguments = self.state, self._params, self.out, self.red
        if (entry := _ENTRIES.get((_reset, self.state.dtype))) is None:
            with compile_message():
                entry = _ENTRIES[_reset, self.state.dtype] = entry_of(_reset, *arguments)
        entry(*arguments)

    def step(
        self,
        actions: NDArray[np.integer[Any]],
        draws: NDArray[np.int64] = NO_DRAWS,
        red_actions: NDArray[np.integer[Any]] = _NO_ACTIONS,
    ) -> int:
        """Plays one turn in every environment and returns how many episodes ended.

        Args:
            actions: (n,) Blue's actions.
            draws: (n, 5) outcomes of chance to use instead of the environments' own streams:
                random words or recorded outcomes (`draws.py`).
            red_actions: (n,) actions on hosts (`red_given.py`) of each Red whose choice is given;
                the others' are not looked at.

        Raises:
            InvalidInputError: an action or a draw is not allowed, they are no such arrays, or
                threads cannot be used (`use_threads`); nothing was played.
        """
        if not is_plain(actions, (self.num_envs,), np.int64):  # the kernel looks at their range
            actions = checked_actions(self.network, actions, (self.num_envs,))
        if draws is not NO_DRAWS:  # the rules index arrays by them
            shape = self.num_envs, len(Draws._fields)
            draws = checked_array("draws", draws, shape, np.int64, _DRAWS)
        if red_actions is not _NO_ACTIONS:  # the kernel looks at what is legal
            red_actions = checked_array("red_actions", red_actions, (self.num_envs,), np.int64)
        ended: int
        out = self._next_out()
        arguments: tuple[Any, ...] = (
            self.state,
            self._params,
            actions,
            red_actions,
            draws,
            out,
            self.red,
        )
        if self.num_threads == 1:
            if (entry := _ENTRIES.get((_step, self.state.dtype))) is None:
                entry = _ENTRIES[_step, self.state.dtype] = entry_of(_step, *arguments)
            ended = entry(*arguments)
        else:
            use_threads(self.num_threads)
            parallel: Callable[..., int] = _step_parallel
            ended = parallel(*arguments, self.num_threads)
        if ended < 0:
            checked_actions(self.network, actions, (self.num_envs,))  # raises, unless it is Red's
            raise self._illegal(~ended - self.num_envs, red_actions)
        self.out = out
        return ended

    def _illegal(self, env: int, red_actions: NDArray[Any]) -> InvalidInputError:
        """Returns what to say of an environment's red action, which is not legal."""
        if not len(red_actions):
            return InvalidInputError(
                f"Red's action in environment {env} is missing: give red_actions"
            )
        legal = legal_actions(self.network, self.state[env])
        names = np.array(red_actions_of(self.network).names)[legal]
        return InvalidInputError(
            f"red action {red_actions[env]} is not legal in environment {env}; legal are "
            f"{', '.join(names)}"
        )

    def uniforms(self, stream: int) -> NDArray[np.float32]:
        """Returns (n,) numbers in [0, 1) by seed, environment, episode and step alone.

        Args:
            stream: added to the step; streams at least an episode's length apart are independent.
        """
        numbers = np.empty(self.num_envs, np.float32)
        _uniforms(self.state, self._settings, stream, numbers)
        return numbers

    def compile(self) -> None:
        """Compiles, or loads from the cache, what the first `step` would otherwise wait for."""
        spare = type(self)(1, self.config, num_threads=self.num_threads)
        spare.reset(seed=0)
        with compile_message():
            spare.step(np.zeros(1, np.int64))

    def saved(self) -> dict[str, NDArray[Any]]:
        """Returns copies of what `load` continues from."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continues from what was saved.

        Raises:
            InvalidInputError: it was saved from another batch; nothing has changed.
        """
        given = {
            name: checked_array(name, arrays.get(name), array.shape, array.dtype.type)
            for name, array in self._arrays().items()
        }
        self.out = self._next_out()
        for name, array in self._arrays().items():
            array[:] = given[name]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"states": self.state.view(np.uint8)}
        arrays |= {f"out.{name}": array for name, array in self.out._asdict().items()}
        if len(self.red.memory):
            arrays |= {f"red.{n}": array.view(np.uint8) for n, array in self.red._asdict().items()}
        return arrays

    def _next_out(self) -> Outputs:
        """Returns where the next outputs go."""
        return self.out.with_new_rows() if self._new_rows else self.out

    @property
    def observation(self) -> NDArray[np.int8]:
        """(n, observation_size) what Blue sees now."""
        return self.out.observation

    @property
    def final_observation(self) -> NDArray[np.int8]:
        """(n, observation_size) what Blue saw last, of the episodes that ended in this step."""
        return self.out.final_observation


def max_threads() -> int:
    """Returns the most threads a batch can use here."""
    return int(numba.config.NUMBA_NUM_THREADS)


def settings_of(config: GameConfig, autoreset: bool) -> NDArray[np.void]:
    """Returns (1,) the record of what is the same for every environment; its key is still 0."""
    reds = config.reds
    weights = np.array([red.weight for red in reds])
    up_to = np.ones(MAX_REDS)
    up_to[: len(weights)] = np.cumsum(weights)
    up_to[np.flatnonzero(weights)[-1] :] = 1.0  # whatever the rounding of the sum
    settings = np.zeros(1, SETTINGS_DTYPE)
    settings["episode_length"] = config.episode_length
    settings["autoreset"] = autoreset
    settings["red_up_to"] = up_to
    settings["red_agents"][0, : len(reds)] = [RedAgent[red.agent.upper()] for red in reds]
    settings["red_waits"][0, : len(reds)] = [red.wait for red in reds]
    settings["red_given"] = any(red.agent == GIVEN for red in reds)
    settings["green_active"] = config.green_agent == "active"
    settings["rescan_unites_ports"] = config.rules == "competition"
    settings["haraka_breaks"] = config.rules == "competition"
    settings["cardiff"] = config.observation == "cardiff"
    settings["memory"] = config.observation in ("memory", "recall", "truth")
    settings["recall"] = config.observation == "recall"
    settings["truth"] = config.observation == "truth"
    return settings
