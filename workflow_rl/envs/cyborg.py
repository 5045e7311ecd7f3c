"""The real CybORG as a Gymnasium environment, with the interface of `Cage2Env`."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.cyborg_import import Cyborg, load_cyborg
from workflow_rl.envs.cyborg_red import GuardedRed, MirroredRed
from workflow_rl.envs.cyborg_state import Truth, played_rules, reward_parts
from workflow_rl.envs.observations import TRACKED, make_tracker, observation_of
from workflow_rl.envs.single import Info, Played, SingleEnv
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.cyborg_writer import scenario_of
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.network import Network
from workflow_rl.sim.memory import BEGIN
from workflow_rl.sim.observe import SCAN_SLOTS


class CyborgEnv(SingleEnv):
    """One CybORG, driven and observed as the challenge does it.

    Spaces, arguments and infos are those of `Cage2Env`; one info is added:
        removable: (hosts,) where a Remove would kill a session of Red's.

    Where CybORG's red agent raises an exception, the episode goes on with a Red that sleeps.

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
        scenario_file: str | Path | None = None,
        **settings: Any,
    ) -> None:
        """Makes the environment.

        Args:
            game: what is played; its rules must be those of the installed CybORG, its network one
                that CybORG can play, and its observation none that shows the truth.
            seed: of the first `reset` that is given none.
            render_mode: None, or ansi: `render` returns CybORG's tables of Blue and of the truth.
            dtype: of observations: int8 or float32.
            cyborg_path: folder of CybORG; None: CYBORG_PATH, then Python's module path.
            scenario_file: what CybORG reads, which must hold the game's network; None: its own
                Scenario2, or the network written for it.
            **settings: of the game: network, red_agent, episode_length, rules, observation,
                green_agent, red_probabilities (docs/settings.md).

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
        network = self.config.network
        actions = actions_of(network)
        self._action_host = actions.hosts
        self._is_decoy = actions.kinds >= ActionKind.FIRST_DECOY
        self._changes_decoys = self._is_decoy | (actions.kinds == ActionKind.RESTORE)
        self._place = {host: place for place, host in enumerate(network.observed)}
        with self._random:
            self._build(cyborg_path, scenario_file)
        self._tracker = make_tracker(1, self.config)

    def _build(self, path: str | Path | None, scenario_file: str | Path | None) -> None:
        """Makes CybORG and checks that it has our actions and plays our rules."""
        classes, network = load_cyborg(path), self.config.network
        if (played := played_rules(classes.folder)) != self.config.rules:
            raise InvalidInputError(
                f"the CybORG in {classes.folder} plays the rule set {played!r}, not "
                f"{self.config.rules!r}"
            )
        agents = {"Red": classes.red_agents["sleep"]}  # exchanged at every reset
        if self.config.green_agent == "active":
            agents["Green"] = classes.active_green
        with scenario_path(classes, network, scenario_file) as scenario:
            self.cyborg = classes.environment(scenario, "sim", agents=agents)
        self.truth = Truth(network, self.controller)
        self._red_agents: list[GuardedRed | MirroredRed] = [
            GuardedRed(classes.red_agents[red.name](), classes.red_actions["Sleep"])
            if red.name in classes.red_agents
            else MirroredRed(classes, self.truth, self.config.changed(red_agent=red.name))
            for red in self.config.reds
        ]
        self._table = classes.blue_table(self.cyborg, output_mode="vector")
        numbered = classes.action_list(self._table)
        numbered.get_action_space("Blue")
        self._actions: list[Any] = numbered.possible_actions
        if tuple(map(str, self._actions)) != self.actions:
            raise InvalidInputError(f"the CybORG in {classes.folder} has other actions for Blue")
        self._whole_true_state = self.controller.INFO_DICT["True"]
        self._short_true_state = self.truth.short_request()
        self._mask = np.ones(len(self._actions), np.bool_)
        for host in range(len(self.hosts)):
            self.truth.write_decoy_mask(self._actions, host, self._mask)
        self._first_mask = self._mask.copy()

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
        self._red = self.controller.agent_interfaces["Red"].agent = self._red_agents[red]
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
        if self._changes_decoys[action] and self._mask[action]:
            self.truth.write_decoy_mask(self._actions, self._action_host[action], self._mask)
        tenths = np.array([round(10 * part) for part in reward_parts(controller)], np.int16)
        return self._observation(result.observation, action), float(result.reward), tenths

    def _info(self) -> Info:
        access, removable = self.truth.red_presence()
        return {
            "red_access": access,
            "action_mask": self._mask.copy(),
            "red_raised": self._red.raised,
            "removable": removable,
        }

    def _rendered(self) -> str:
        return f"{self._table.get_table()}\n{self._table.get_table('true_table')}"

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (actions,) which would be accepted, for sb3-contrib's MaskablePPO."""
        return self._mask.copy()

    def hides_scan(self, action: int) -> bool:
        """Says whether the decoy that the last action placed hides other events on its host.

        The official table shows no activity there, the cardiff observation a scan.
        """
        if action == BEGIN or not self._is_decoy[action]:
            return False
        host = self.hosts[self._action_host[action]]
        if host not in self._place:
            return False
        seen = self.controller.observation["Blue"].data.get(host, {}).get("Processes", ())
        return self._table.info[host][-2] == "None" and any("Connections" in p for p in seen)

    def place_of(self, action: int) -> int:
        """Returns the place in the observation of the host of an action that Blue sees."""
        return self._place[self.hosts[self._action_host[action]]]

    def _observation(self, table: NDArray[Any], action: int) -> NDArray[np.int8]:
        """Returns Blue's observation, given CybORG's bits after an action or at the BEGIN."""
        observation = table.astype(np.int8)
        if self.config.observation == "challenge":
            return observation
        if self.config.observation in TRACKED:
            rows = self._tracker.update(observation[None], np.array([action]))
            return np.asarray(rows[0].copy())
        if self.hides_scan(action):
            observation[4 * self.place_of(action)] = 1
        activity = observation.reshape(-1, 4)[SCAN_SLOTS, :2]
        scanned = np.flatnonzero((activity == (1, 0)).all(axis=1))
        if len(scanned):
            np.minimum(self._scans, 1, out=self._scans)
            self._scans[scanned[0]] = 2
        return np.concatenate([observation, self._scans])


@contextmanager
def scenario_path(
    cyborg: Cyborg, network: Network, scenario_file: str | Path | None = None
) -> Iterator[str]:
    """Yields the path of a file from which CybORG reads a network."""
    if scenario_file is not None:
        if network_of(scenario_file).digest != network.digest:
            raise InvalidInputError(f"{scenario_file} holds another network than {network.name}")
        yield str(scenario_file)
    elif network.digest == SCENARIO2.digest:
        yield cyborg.scenario
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "scenario.yaml")
            path.write_text(scenario_of(network), encoding="utf-8")
            yield str(path)


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
