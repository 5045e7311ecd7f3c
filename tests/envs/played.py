"""`Cage2Env` as a Python environment to train in, and one that can be made to die."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

from workflow_rl.envs.single import Cage2Env
from workflow_rl.scenario.scenario2 import NUM_HOSTS

_HOSTS = np.arange(NUM_HOSTS)


class PlayedEnv(Cage2Env):
    """Tells what `CyborgEnv` tells."""

    def _info(self) -> dict[str, Any]:
        removable = int(self.batch.state["removable"][0])
        return super()._info() | {"removable": (removable >> _HOSTS & 1).astype(np.bool_)}


class MortalEnv(PlayedEnv):
    """Kills its process at its given step, once: a file tells that it did."""

    def __init__(self, grave: Path, at: int, **game: Any) -> None:
        super().__init__(**game)
        self.grave, self.left = grave, at

    def step(self, action: Any) -> Any:
        self.left -= 1
        if self.left == 0 and not self.grave.exists():
            self.grave.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)
