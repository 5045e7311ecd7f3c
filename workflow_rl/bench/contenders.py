"""The simulators and trainers that benchmarks measure, each as a work that counts its steps."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.bench.measure import Work
from workflow_rl.config import GameConfig, PPOConfig
from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.envs.cyborg_import import load_cyborg, silence_gym
from workflow_rl.envs.single import Cage2Env
from workflow_rl.envs.vector import Cage2VectorEnv
from workflow_rl.errors import MissingDependencyError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.batch import Batch
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import TYPES

EPISODE_LENGTH: Final = 100
_POOL: Final = 4_000_000  # random actions are drawn beforehand, so that drawing is not measured
_CHUNK_STEPS: Final = 20_000


def _random_actions(num_envs: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    rows = min(2_000, max(EPISODE_LENGTH, _POOL // num_envs))
    return list(np.random.default_rng(0).integers(0, NUM_ACTIONS, (rows, num_envs)))


def _stepping(step: Callable[[Any], object], actions: list[Any], num_envs: int) -> Work:
    """Returns the work of stepping through a list of actions, a chunk at a time."""
    chunk = max(1, min(len(actions), _CHUNK_STEPS // num_envs))
    position = 0

    def work() -> int:
        nonlocal position
        part = actions[position : position + chunk]
        position = (position + chunk) % (len(actions) - chunk + 1)
        for row in part:
            step(row)
        return len(part) * num_envs

    work()
    return work


def simulator(num_envs: int, num_threads: int, config: GameConfig) -> Work:
    """The batch of rules itself."""
    batch = Batch(num_envs, config, num_threads=num_threads)
    batch.reset(seed=0)
    return _stepping(batch.step, _random_actions(num_envs), num_envs)


def vector_env(num_envs: int, config: GameConfig) -> Work:
    """The Gymnasium vector environment, with its infos and copies."""
    env = Cage2VectorEnv(
        num_envs, red_agent=config.red_agent, rules=config.rules, observation=config.observation
    )
    env.reset(seed=0)
    return _stepping(env.step, _random_actions(num_envs), num_envs)


def single_env(config: GameConfig) -> Work:
    """The Gymnasium environment, one step at a time, resets included."""
    env = Cage2Env(red_agent=config.red_agent, rules=config.rules, observation=config.observation)
    env.reset(seed=0)

    def step(action: int) -> None:
        if env.step(action)[3]:
            env.reset()

    return _stepping(step, [int(row[0]) for row in _random_actions(1)], 1)


def memory_copy(num_envs: int, config: GameConfig) -> Work:
    """NumPy copying as many bytes as a step writes: no simulator can take less time."""
    out = Batch(num_envs, config).out
    given = (
        out.observation,
        out.reward,
        out.reward_tenths,
        out.red_access,
        out.action_mask,
        out.truncated,
    )
    source = np.ones(sum(array.nbytes for array in given), np.uint8)
    target = np.empty_like(source)

    def work() -> int:
        for _ in range(100):
            np.copyto(target, source)
        return 100 * num_envs

    return work


def make_cyborg(config: GameConfig) -> Any:
    """Returns the real CybORG behind its challenge wrapper.

    Raises:
        MissingDependencyError: it cannot be imported.
    """
    classes = load_cyborg()
    agents = {"Red": classes.red_agents[config.red_agent]}
    inner = classes.environment(classes.scenario, "sim", agents=agents)
    return classes.challenge_wrapper(env=inner, agent_name="Blue")


def cyborg(config: GameConfig) -> Work:
    """One process of the real CybORG, resets included.

    Raises:
        MissingDependencyError: it cannot be imported.
    """
    env = make_cyborg(config)
    env.reset()
    played = 0

    def work() -> int:
        nonlocal played
        env.step(random.randrange(NUM_ACTIONS))
        played += 1
        if played % EPISODE_LENGTH == 0:
            env.reset()
        return 1

    return work


def cyborg_env(config: GameConfig) -> Work:
    """The same CybORG behind our adapter, resets included.

    Raises:
        MissingDependencyError: it cannot be imported.
        InvalidInputError: it plays other rules.
    """
    env = CyborgEnv(red_agent=config.red_agent, rules=config.rules)
    env.reset(seed=0)

    def work() -> int:
        if env.step(random.randrange(NUM_ACTIONS))[3]:
            env.reset()
        return 1

    return work


def sb3_ppo(
    num_envs: int, config: GameConfig, order: int, settings: PPOConfig, hidden: Sequence[int]
) -> Work:
    """Whole iterations of Stable-Baselines3's PPO on our vector environment, with equal settings.

    The order is appended to its observations, so that its networks have the size of ours; what
    does not exist there (compliance, masked actions) is not done.

    Args:
        num_envs: environments; each plays an episode per update.
        config: the game.
        order: shown to the policy.
        settings: of PPO.
        hidden: units of the hidden layers.

    Raises:
        MissingDependencyError: it is not installed.
    """
    shown = OrderEncoding("onehot", TYPES.units).order_bits(TYPES.host_ranks([order]))[0]
    env = _sb3_env(num_envs, config, shown)
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.logger import Logger
    except ImportError as error:
        raise MissingDependencyError(f"Stable-Baselines3 cannot be imported ({error})") from error
    from torch import nn

    transitions = EPISODE_LENGTH * num_envs
    longest = settings.max_gradient_norm
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=settings.learning_rate,
        n_steps=EPISODE_LENGTH,
        batch_size=settings.step_samples(transitions),
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=1.0 if settings.gae_lambda is None else settings.gae_lambda,
        clip_range=settings.clip,
        normalize_advantage=settings.gae_lambda is not None,
        ent_coef=settings.entropy_weight,
        vf_coef=settings.value_weight,
        max_grad_norm=math.inf if longest is None else longest,
        policy_kwargs={
            "net_arch": {"pi": list(hidden), "vf": list(hidden)},
            "activation_fn": nn.Tanh if settings.activation == "tanh" else nn.ReLU,
        },
        seed=0,
        device="cpu",
    )
    model.set_logger(Logger(folder=None, output_formats=[]))  # it would leave a folder behind

    def work() -> int:
        model.learn(transitions, log_interval=None, reset_num_timesteps=False)
        return transitions

    work()
    return work


def _sb3_env(num_envs: int, config: GameConfig, order: NDArray[Any]) -> Any:
    """Returns our environments for Stable-Baselines3, the encoded order after each observation."""
    silence_gym()
    from workflow_rl.envs.sb3 import Sb3VecEnv

    class WithOrder(Sb3VecEnv):
        def reset(self) -> NDArray[np.int8]:
            return self._with_order(super().reset())

        def step_wait(
            self,
        ) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
            observation, reward, done, infos = super().step_wait()
            for k in np.flatnonzero(done):
                last = infos[k]["terminal_observation"]
                infos[k]["terminal_observation"] = np.concatenate([last, order])
            return self._with_order(observation), reward, done, infos

        def _with_order(self, observation: NDArray[np.int8]) -> NDArray[np.int8]:
            return np.concatenate([observation, np.tile(order, (num_envs, 1))], axis=1)

    env = Cage2VectorEnv(
        num_envs, red_agent=config.red_agent, rules=config.rules, observation=config.observation
    )
    space: Any = env.single_observation_space
    high = np.concatenate([space.high, np.ones_like(order)])
    venv = WithOrder(env)
    venv.observation_space = type(space)(np.zeros_like(high), high, dtype=np.int8)
    return venv


def mini_cage(num_envs: int, config: GameConfig) -> Work:
    """CybORG++'s mini_CAGE with its own 53 actions, resets included.

    Raises:
        MissingDependencyError: it cannot be imported.
    """
    try:
        from mini_CAGE import B_line_minimal, Meander_minimal, SimplifiedCAGE
    except ImportError as error:
        raise MissingDependencyError(f"mini_CAGE cannot be imported ({error})") from error
    env = SimplifiedCAGE(num_envs=num_envs, remove_bugs=False)
    red = (Meander_minimal if config.red_agent == "meander" else B_line_minimal)()
    state, _ = env.reset()
    rng = np.random.default_rng(0)
    pool = [rng.integers(0, 53, (num_envs, 1)) for _ in range(EPISODE_LENGTH)]
    played = 0

    def work() -> int:
        nonlocal state, played
        red_action = red.get_action(observation=state["Red"])
        state, *_ = env.step(red_action=red_action, blue_action=pool[played % EPISODE_LENGTH])
        played += 1
        if played % EPISODE_LENGTH == 0:
            state, _ = env.reset()
        return num_envs

    work()
    return work
