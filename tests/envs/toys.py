"""Environments for tests of worker processes; importable, so that spawned processes find them."""

import copy
import ctypes
import multiprocessing
import os
import signal
import sys
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

Env = gymnasium.Env[Any, Any]
PLAIN = spaces.Box(-1, 1, (3,), np.float32)


class Toy(Env):
    """Plays samples of its spaces, drawn from its own generator, whatever the actions."""

    def __init__(
        self, observation: spaces.Space[Any] = PLAIN, action: spaces.Space[Any] | None = None
    ) -> None:
        self.observation_space = copy.deepcopy(observation)  # whose generator is its own
        self.action_space = action or spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {"clock": 0, "options": options, **self.info()}

    def info(self) -> dict[str, Any]:
        return {"noise": self.np_random.normal(size=(2,))}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(np.asarray(action))
        reward = float(np.sum(action)) + self.np_random.normal()
        terminated, truncated = (bool(p < 0.1) for p in self.np_random.random(2))
        return self.observation_space.sample(), reward, terminated, truncated, self.info()


class Zero(Toy):
    """Does nothing, gives the same again and again; `episode_length` steps make an episode."""

    def __init__(self, episode_length: int = 1_000_000) -> None:
        super().__init__(spaces.Box(0, 1_000_000, (), np.int64), spaces.Discrete(1_000))
        self.length = episode_length
        self.clock = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.clock = 0
        return np.int64(0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.clock += 1
        self.act(int(action))
        return np.int64(self.clock), 1.0, False, self.clock >= self.length, {}

    def act(self, action: int) -> None:
        """Does what the action says, where there are actions."""


KILL, RAISE, SLEEP, HOLD, QUIT, END, NAP, EXIT = range(9, 17)


class Troubled(Zero):
    """A clock that does to its process what the action says, in mid-step.

    Or, in a worker, when it is made, reset or called.
    """

    def __init__(self, made: int = 0, reset: int = 0, called: int = 0) -> None:
        super().__init__()
        self.on_reset, self.on_call = reset, called
        self.act_in_worker(made)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset()
        self.act_in_worker((options or {}).get("do", self.on_reset))
        return np.int64(0 if seed is None else seed % 1_000), {}

    def render(self) -> None:
        self.act_in_worker(self.on_call)

    def act_in_worker(self, action: int) -> None:
        if multiprocessing.parent_process() is not None:
            self.act(action)

    def act(self, action: int) -> None:
        if action == EXIT:
            os._exit(7)
        elif action == KILL:
            print("these are my last words", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == RAISE:
            raise ArithmeticError("two and two are five")
        elif action == SLEEP:
            time.sleep(3)
        elif action == NAP:
            time.sleep(0.3)
        elif action == HOLD:
            ctypes.PyDLL(None).sleep(1_000)  # and no other thread runs meanwhile
        elif action == QUIT:
            sys.exit(3)
