"""What an attacker is trained in: the simulator, with a fixed defender."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig, RedRewardName
from workflow_rl.config.reds import GIVEN
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.envs.world import Arrays, World
from workflow_rl.scenario.network import check_network
from workflow_rl.sim.red_view import actions_on_hosts, red_view_size
from workflow_rl.train.job import TrainJob

_HARM: Final = slice(0, 2)  # of `Outputs.reward_tenths`: all but the price of Blue's actions
_TENTHS: Final = 10


class RedWorld(World):
    """Environments in which Red acts and a fixed Blue defends; episodes are in step."""

    is_exact = True
    is_judged = False

    def __init__(
        self, game: GameConfig, num_envs: int, blue: BlueAgent, reward: RedRewardName
    ) -> None:
        """Makes the environments.

        Args:
            game: its red agent and observation aside, which are Red's here and Blue's own.
            num_envs: how many.
            blue: the defender.
            reward: what Red is rewarded for.
        """
        game = replace(game, red_agent=GIVEN, observation=blue.observation)
        self._batch = make_batch(num_envs, game, red_view=True)
        self._blue, self._of = blue, reward
        self.network = game.network
        self.num_envs = num_envs
        self.observation_size = red_view_size(game.network)
        self.observation = self._batch.red.observation
        self.action_mask = self._batch.red.legal
        self.reward = np.zeros(num_envs)
        self.ended = self._batch.out.truncated
        self.table = self._batch.state["table"]
        self.removable = np.zeros(num_envs, np.int64)
        self._seed = 0
        self._step = 0  # of the episodes, which are in step

    @property
    def held(self) -> NDArray[np.int64]:
        """(n,) no hosts: nothing is judged here."""
        return self.removable

    def reset(self, seed: int) -> None:
        """Starts every environment anew."""
        self._seed = seed
        self._batch.reset(seed)
        self._begin()

    def step(self, actions: NDArray[np.int64]) -> int:
        """Plays a step everywhere and returns how many episodes ended."""
        batch = self._batch
        blue = self._blue.act(batch.observation, batch.out.action_mask, self._step)
        red = actions_on_hosts(self.network, actions, batch.red.memory)
        ended = batch.step(blue, red_actions=red)
        if self._of == "score":
            np.negative(batch.out.reward, out=self.reward)
        else:
            self.reward[:] = batch.out.reward_tenths[:, _HARM].sum(axis=1) / -_TENTHS
        self._step += 1
        if ended:
            self._begin()
        return ended

    def _begin(self) -> None:
        self._step = 0
        episode = int(self._batch.state["episode"][0])
        self._blue.begin(self.num_envs, derived_seed(self._seed, episode))

    def state(self) -> Arrays:
        """Returns what `load_state` continues from: updates end with episodes."""
        return self._batch.saved()

    def load_state(self, arrays: Arrays) -> None:
        """Continues from a saved state."""
        self._batch.load(arrays)
        self._begin()


def defender_of(job: TrainJob) -> BlueAgent:
    """Returns the defender of a training of Red; InvalidInputError if there is no such."""
    against, order = job.train.against, job.train.against_workflow
    assert against is not None
    if job.defender is not None:
        check_network(against, job.defender.network, job.game.network)
        return PolicyAgent(job.defender, against, order)
    return make_agent(against, order, rules=job.game.rules, network=job.game.network)


def make_red_world(job: TrainJob) -> RedWorld:
    """Returns the environments of a training of Red.

    Raises:
        InvalidInputError: there is no such defender.
    """
    return RedWorld(job.game, job.train.n_envs, defender_of(job), job.train.red_reward)
