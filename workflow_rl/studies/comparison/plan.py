"""What is compared: presets at an equal number of transitions, from scratch, for several seeds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from workflow_rl.config import (
    DEFAULT_PPO,
    PPO_FORMS,
    PRESETS,
    GameConfig,
    TrainConfig,
    one_of,
    whole_number,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.train.job import TrainJob
from workflow_rl.workflow.orders import NUM_ORDERS, order_index, parse_order

ORDER: Final = order_index(parse_order("op_server > enterprise > op_host > user > defender"))
TRANSITIONS: Final = 1_000_000  # the whole budget of parallel200: 50 episodes of 200 environments
_MOST_SEED: Final = 2**63 - 1


@dataclass(frozen=True)
class Plan:
    """Everything a comparison depends on."""

    red_agent: str = "bline"
    rules: str = "main"
    episode_length: int = 100
    order: int = ORDER
    ppo: str = DEFAULT_PPO
    transitions: int = TRANSITIONS
    presets: tuple[str, ...] = tuple(PRESETS)
    seeds: tuple[int, ...] = (0, 1, 2)

    def __post_init__(self) -> None:
        """Checks every field, and that every preset updates at all."""
        put = object.__setattr__
        put(self, "red_agent", self.game.red_agent)
        whole_number("the order", self.order, 0, NUM_ORDERS - 1)
        one_of("form of PPO", self.ppo, tuple(PPO_FORMS))
        whole_number("--transitions", self.transitions, 1, 10**12)
        for name in self.presets:
            one_of("preset", name, tuple(PRESETS))
        if not self.presets or len(set(self.presets)) != len(self.presets):
            raise InvalidInputError("--presets must name at least one preset, and each only once")
        if not self.seeds:
            raise InvalidInputError("there must be at least one seed")
        for name in self.presets:
            for seed in self.seeds:
                self.job(name, seed)

    @property
    def game(self) -> GameConfig:
        """The game, but for what a preset observes."""
        return GameConfig(
            red_agent=self.red_agent, rules=self.rules, episode_length=self.episode_length
        )

    def job(self, preset: str, seed: int) -> TrainJob:
        """Returns the training of a preset for a seed.

        Raises:
            InvalidInputError: so few transitions are not one update.
        """
        whole_number("a seed", seed, 0, _MOST_SEED)
        chosen = PRESETS[preset]
        fields = {"snapshot_every": 0, "stop_at": "budget", "min_episodes": 1}
        train = TrainConfig(**(dict(chosen.train) | fields))
        steps = train.rollout_steps(self.episode_length)
        updates = self.transitions // (steps * train.n_envs)
        if not updates:
            raise InvalidInputError(
                f"the preset {preset} would never update: an update needs "
                f"{steps * train.n_envs:,} transitions, and there are {self.transitions:,}"
            )
        episodes = -(-updates * steps // self.episode_length)
        return TrainJob(
            game=replace(self.game, **chosen.game),
            ppo=replace(PPO_FORMS[chosen.form or self.ppo], **chosen.ppo),
            train=replace(train, max_episodes=episodes),
            seed=seed,
            order=self.order,
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the plan as plain data."""
        return asdict(self) | {"presets": list(self.presets), "seeds": list(self.seeds)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the plan that `as_json` gave.

        Raises:
            InvalidInputError: it is not such data.
        """
        try:
            lists = {name: tuple(data[name]) for name in ("presets", "seeds")}
            return cls(**(dict(data) | lists))
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"not a comparison of this version ({error})") from error
