"""Everything a run was asked for."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from workflow_rl.config.backend import BackendConfig
from workflow_rl.config.checks import whole_number
from workflow_rl.config.game import GameConfig
from workflow_rl.config.ppo import DEFAULT_PPO, PPO_FORMS, PPOConfig
from workflow_rl.config.search import SearchConfig
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError


@dataclass(frozen=True)
class ExperimentConfig:
    """Everything a run depends on."""

    game: GameConfig = field(default_factory=GameConfig)
    ppo: PPOConfig = field(default_factory=lambda: PPO_FORMS[DEFAULT_PPO])
    train: TrainConfig = field(default_factory=TrainConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks what only the parts together show."""
        whole_number("seed", self.seed, 0, 2**63 - 1)
        self.train.max_updates(self.game.episode_length)
        if self.ppo.mask_actions and self.train.action_space != "all":
            raise InvalidInputError(
                "decoys cannot be masked in the action space cardiff, which places them by list: "
                "use another form of PPO than modern"
            )
        if self.backend.vector_mode == "async" and self.train.action_space != "all":
            raise InvalidInputError("the action space cardiff goes with the vector mode sync only")

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as plain data."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ExperimentConfig":
        """Returns the configuration that `as_json` gave.

        Raises:
            InvalidInputError: it is not such data.
        """
        try:
            ppo = dict(data["ppo"])
            train = dict(data["train"])
            return cls(
                game=GameConfig(**data["game"]),
                ppo=PPOConfig(**(ppo | {"betas": tuple(ppo["betas"])})),
                train=TrainConfig(**(train | {"hidden": tuple(train["hidden"])})),
                search=SearchConfig(**data["search"]),
                backend=BackendConfig(**data["backend"]),
                seed=data["seed"],
            )
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"not a configuration of this version ({error})") from error
