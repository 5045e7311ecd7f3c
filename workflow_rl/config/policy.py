"""What a policy sees, does and follows: how it was trained, as its file says."""

from typing import Annotated

from workflow_rl.config.file import MAX_SEED
from workflow_rl.config.game import GameConfig
from workflow_rl.config.ppo import PPOConfig
from workflow_rl.config.setting import Setting, settings
from workflow_rl.config.train import TrainConfig


@settings
class PolicyConfig:
    """The training that made a policy: its game, its settings, its order."""

    game: GameConfig = GameConfig()
    train: TrainConfig = TrainConfig()
    ppo: PPOConfig = PPOConfig()
    order: Annotated[str | None, Setting("the order it follows", unset="any, or none")] = None
    seed: Annotated[int, Setting("of its training", low=0, high=MAX_SEED)] = 0
