"""The real CybORG as a Gymnasium environment, with the interface of `Cage2Env`."""

import random
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.envs.cyborg_red import MirroredRed
from workflow_rl.envs.cyborg_state import (
    played_rules,
    red_presence,
    reward_parts,
    short_true_state,
    write_decoy_mask,
)
from workflow_rl.envs.observations import TRACKED, make_tracker, observation_of
from workflow_rl.envs.single import Info, Played, SingleEnv
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.scenario2 import (
    ACTION_HOST,
    ACTION_KIND,
    ACTION_NAMES,
    HOST_NAMES,
    NUM_HOSTS,
)
from workflow_rl.sim.memory import BEGIN
from workflow_rl.sim.observe import SCAN_SLOTS

_CHANGES_DECOYS = ACTION_KIND >= ActionKind.RESTORE  # (action,) Restore and the decoys
_IS_DECOY = ACTION_KIND >= ActionKind.FIRST_DECOY


class CyborgEnv(SingleEnv):
    """One CybORG, driven and observed as the challenge does it.

    Spaces, arguments and infos are those of `Cage2Env`; one info is added:
        removable: (13,) where a Remove would kill a session of Red's.

    `reset(seed=s)` begins the episode that CybORG plays after `random.seed(s)`; a reset without a
    seed goes on from there. CybORG draws from Python's global generator: its state is swapped for
    the environment's own during each call, so that environments of one process disturb neither
    each other nor anyone else.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        dtype: str = "int8",
        cyborg_path: str | Path | None = None,
        **settings: Any,
    ) -> None:
        """Makes the environment.

        Args:
            game: what is played; its rules must be those of the installed CybORG, and its
                observation none that shows the truth.
            seed: of the first `reset` that is given none.
            render_mode: None, or ansi: `render` returns CybORG's tables of Blue and of the truth.
            dtype: of observations: int8 or float32.
            cyborg_path: folder of CybORG; None: CYBORG_PATH, then Python's module path.
            **settings: of the game: red_agent, episode_length, rules, observation, green_agent,
                red_probabilities (docs/settings.md).

        Raises:
            MissingDependencyError: CybORG, or a module it needs, is not installed.
            InvalidInputError: an argument is not allowed.
        """
        super().__init__(game, seed, render_mode, dtype, settings)
        if observation_of(self.config.observation, self.config.network).is_privileged:
            raise InvalidInputError(
                f"the observation {self.config.observation!r} is the simulator's: not CybORG's"
            )
        self._random = _SwappedGenerator()
        with self._random:
            self._build(cyborg_path)
        self._tracker = make_tracker(1, self.config)

    def _build(self, path: str | Path | None) -> None:
        """Makes CybORG and checks that it has our actions and plays our rules."""
        classes = load_cyborg(path)
        agents = {"Red": classes.red_agents["sleep"]}  # exchanged at every reset
        if self.config.green_agent == "active":
            agents["Green"] = classes.active_green
        self.cyborg = classes.environment(classes.scenario, "sim", agents=agents)
        self._red_agents = [
            classes.red_agents[red.name]()
            if red.name in classes.red_agents
            else MirroredRed(classes, self.controller, self.config.changed(red_agent=red.name))
            for red in self.config.reds
        ]
        self._table = classes.blue_table(self.cyborg, output_mode="vector")
        numbered = classes.action_list(self._table)
        numbered.get_action_space("Blue")
        self._actions: list[Any] = numbered.possible_actions
        if tuple(map(str, self._actions)) != ACTION_NAMES:
            raise InvalidInputError(f"the CybORG in {classes.folder} has other actions for Blue")
        controller = self.controller
        self._whole_true_state = controller.INFO_DICT["True"]
        self._short_true_state = short_true_state()
        self._mask = np.ones(len(self._actions), np.bool_)
        for host in range(NUM_HOSTS):
            write_decoy_mask(controller.state, self._actions, host, self._mask)
        self._first_mask = self._mask.copy()
        played = played_rules(classes, controller, self._actions)
        if played != self.config.rules:
            raise InvalidInputError(
                f"the CybORG in {classes.folder} plays the rule set {played!r}, not "
                f"{self.config.rules!r}"
            )

    def __reduce__(self) -> Any:
        """Refuses to be copied or pickled: CybORG cannot be."""
        raise InvalidInputError(
            "a CyborgEnv cannot be copied or pickled, since CybORG cannot: make another one and "
            "play the same seed and actions in it"
        )

    @property
    def controller(self) -> Any:
        """CybORG's environment controller: its state, its agents, their last actions."""
        return self.cyborg.environment_controller

    def _start(self, seed: int | None) -> NDArray[np.int8]:
        if seed is not None:
            self._random.seed(seed)
        weights = [red.weight for red in self.config.reds]
        red = self.np_random.choice(len(weights), p=weights) if len(weights) > 1 else 0
        self.controller.agent_interfaces["Red"].agent = self._red_agents[red]
        with self._random:
            result = self._table.reset("Blue")
        self._step = 0
        self._mask[:] = self._first_mask
        self._scans = np.zeros(len(SCAN_SLOTS), np.int8)
        return self._observation(result.observation, BEGIN)

    def _play(self, action: int) -> Played:
        controller = self.controller
        # The calculators look for the OT service in an episode's first step, and everywhere.
        controller.INFO_DICT["True"] = (
            self._short_true_state if self._step else self._whole_true_state
        )
        try:
            with self._random:
                result = self._table.step("Blue", self._actions[action])
        finally:
            controller.INFO_DICT["True"] = self._whole_true_state
        self._step += 1
        self._ended = self._step >= self.config.episode_length
        if _CHANGES_DECOYS[action] and self._mask[action]:
            write_decoy_mask(controller.state, self._actions, ACTION_HOST[action], self._mask)
        tenths = np.array([round(10 * part) for part in reward_parts(controller)], np.int16)
        return self._observation(result.observation, action), float(result.reward), tenths

    def _info(self) -> Info:
        access, removable = red_presence(self.controller.state)
        return {"red_access": access, "action_mask": self._mask.copy(), "removable": removable}

    def _rendered(self) -> str:
        return f"{self._table.get_table()}\n{self._table.get_table('true_table')}"

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (145,) which actions would be accepted, for sb3-contrib's MaskablePPO."""
        return self._mask.copy()

    def hides_scan(self, action: int) -> bool:
        """Says whether the decoy that the last action placed hides other events on its host.

        The official table shows no activity there, the cardiff observation a scan.
        """
        if action == BEGIN or not _IS_DECOY[action]:
            return False
        host = HOST_NAMES[ACTION_HOST[action]]
        seen = self.controller.observation["Blue"].data.get(host, {}).get("Processes", ())
        return self._table.info[host][-2] == "None" and any("Connections" in p for p in seen)

    def _observation(self, table: NDArray[Any], action: int) -> NDArray[np.int8]:
        """Returns Blue's observation, given CybORG's 52 bits after an action or at the BEGIN."""
        observation = table.astype(np.int8)
        if self.config.observation == "challenge":
            return observation
        if self.config.observation in TRACKED:
            rows = self._tracker.update(observation[None], np.array([action]))
            return np.asarray(rows[0].copy())
        if self.hides_scan(action):
            observation[4 * ACTION_HOST[action]] = 1
        activity = observation.reshape(NUM_HOSTS, 4)[SCAN_SLOTS, :2]
        scanned = np.flatnonzero((activity == (1, 0)).all(axis=1))
        if len(scanned):
            np.minimum(self._scans, 1, out=self._scans)
            self._scans[scanned[0]] = 2
        return np.concatenate([observation, self._scans])


class _SwappedGenerator:
    """A state of its own for Python's global generator, in place during a `with`."""

    def __init__(self) -> None:
        self._state = random.Random().getstate()

    def seed(self, seed: int) -> None:
        """Seeds the state."""
        self._state = random.Random(seed).getstate()

    def __enter__(self) -> None:
        """Swaps the state in."""
        self._outer_state = random.getstate()
        random.setstate(self._state)

    def __exit__(self, *_: object) -> None:
        """Swaps the former state back."""
        self._state = random.getstate()
        random.setstate(self._outer_state)
