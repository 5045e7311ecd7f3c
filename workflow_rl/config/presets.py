"""The documented rollout strategies, and how requested settings override them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from workflow_rl.config.checks import not_allowed
from workflow_rl.config.ppo import DEFAULT_PPO, PPO_FORM, PPO_FORMS, PPOFormName
from workflow_rl.config.reds import GIVEN, MIXED
from workflow_rl.config.setting import Setting, current_names
from workflow_rl.config.train import TrainConfig
from workflow_rl.config.units import ANY

PresetName = Literal[
    "episode",
    "hybrid",
    "minibatch",
    "standard",
    "parallel25",
    "parallel200",
    "original",
    "strongest",
    "universal",
    "best-response",
    "robust",
    "robust-universal",
    "own-network",
]
Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Preset:
    """A rollout strategy: the settings that differ from the defaults."""

    train: Changes = field(default_factory=dict)
    ppo: Changes = field(default_factory=dict)
    game: Changes = field(default_factory=dict)
    form: PPOFormName | None = None
    """The form of PPO, where it is not the default one."""
    population: Changes = field(default_factory=dict)

    def changed(self, by: "Preset") -> "Preset":
        """Returns the preset with another's settings in place of its own."""
        return Preset(
            {**self.train, **by.train},
            {**self.ppo, **by.ppo},
            {**self.game, **by.game},
            by.form or self.form,
            {**self.population, **by.population},
        )


_WITH_MEMORY: Final[Changes] = {
    "n_envs": 384,
    "max_episodes": 800,
    "alignment": "fixed",
    "alignment_lambda": 0.0,
    "stop_at": "budget",
    "removal_bonus": 0.5,
    "hidden": (128, 128),
    "action_space": "useful",
    "snapshot_every": 20,
}
_ANY_ORDER: Final[Changes] = {"order_encoding": "ranks+due", "follow": "shielded"}
_AGAINST_ANSWERS: Final[Changes] = {
    "removal_bonus": 0.0,
    "snapshot_every": 0,
    "acts": "sampled",  # an attacker that answers a deterministic policy knows when it restores
}
AGAINST_ALL: Final[Changes] = {
    "observation": "memory",
    "red_agent": "mixed",
    # Against a Red that sleeps there is little to learn: not to repair.
    "red_probabilities": {"bline": 0.45, "meander": 0.45, "sleep": 0.1},
}
PRESETS: Final[Mapping[PresetName, Preset]] = MappingProxyType(
    {
        "episode": Preset({"n_envs": 1}, {"epochs": 4}),
        "hybrid": Preset({"n_envs": 1, "update_episodes": 5}, {"epochs": 4}),
        "minibatch": Preset({"n_envs": 1, "update_episodes": 10}, {"epochs": 4}),
        "standard": Preset({"n_envs": 8, "update_steps": 2_048}, {"minibatch_size": 64}),
        "parallel25": Preset({"n_envs": 25, "max_episodes": 400, "min_updates": 10}),
        "parallel200": Preset(),
        "original": Preset(
            {
                "update_steps": 20_000,
                "max_episodes": 500,
                "conditioned": False,
                "alignment": "fixed",
                "alignment_lambda": 0.0,
                "stop_at": "budget",
                "action_space": "cardiff",
                "snapshot_every": 1,
            },
            {"epochs": 6},
            {"observation": "cardiff"},
            "documented",
        ),
        "strongest": Preset({**_WITH_MEMORY, "conditioned": False}, {}, AGAINST_ALL, "modern"),
        "robust": Preset(
            {**_WITH_MEMORY, **_AGAINST_ANSWERS, "conditioned": False},
            {"learning_rate": 7e-4},
            {"observation": "recall"},
            "modern",
            {"rounds": 60},
        ),
        "robust-universal": Preset(
            {
                **_WITH_MEMORY,
                **_AGAINST_ANSWERS,
                **_ANY_ORDER,
                "units": ANY,
                "alignment_lambda": 10.0,  # less, and a stochastic policy may look away
            },
            {"learning_rate": 2e-4, "entropy_weight": 0.003},  # it starts near its goal
            {"observation": "recall"},
            "modern",
            {"rounds": 50, "start": "robust", "script_share": 0.45, "anneal_rounds": 50},
        ),
        "best-response": Preset(
            {
                "n_envs": 384,
                "max_episodes": 130,  # 5 million transitions
                "alignment": "fixed",
                "alignment_lambda": 0.0,
                "stop_at": "budget",
                "hidden": (128, 128),
                "conditioned": False,
                "side": "red",
            },
            {},
            {"red_agent": GIVEN},
            "modern",
        ),
        "universal": Preset(
            # A little weight on compliance: without it some games end without any fix.
            {**_WITH_MEMORY, **_ANY_ORDER, "units": ANY, "alignment_lambda": 5.0},
            {},
            AGAINST_ALL,
            "modern",
        ),
        "own-network": Preset(
            {
                **{name: _WITH_MEMORY[name] for name in ("hidden", "action_space")},
                **_ANY_ORDER,
                "n_envs": 50,
                "min_updates": 3,
                "alignment": "fixed",
                "alignment_lambda": 5.0,
            },
            {"learning_rate": 7e-4, "epochs": 2},
            {"observation": "memory"},
            "modern",
        ),
    }
)
# A training that goes on from the policy `universal`: what is not to be changed, and the rest.
OF_UNIVERSAL: Final = Preset(
    {name: _WITH_MEMORY[name] for name in ("hidden", "action_space")} | dict(_ANY_ORDER),
    {"activation": PPO_FORMS["modern"].activation},
    {"observation": "recall"},
)
FROM_UNIVERSAL: Final = OF_UNIVERSAL.changed(
    Preset(
        {"n_envs": 50, "min_updates": 3, "alignment": "fixed", "alignment_lambda": 5.0},
        {"learning_rate": 3e-4, "epochs": 1},
        form="modern",
    )
)
# What a search has on another network than scenario2, for which there is no policy `universal`.
OWN_NETWORK: Final[PresetName] = "own-network"
# The documented ones, which `compare-updates` compares.
UPDATE_STRATEGIES: Final = tuple(
    name
    for name in PRESETS
    if PRESETS[name].game is not AGAINST_ALL
    and name != OWN_NETWORK
    and "side" not in PRESETS[name].train
    and not PRESETS[name].population
)
DEFAULT_PRESET: Final[PresetName] = "parallel200"
PRESET: Final = Setting(
    "rollout strategy", ("--preset",), DEFAULT_PRESET, basic=True, name="preset", hint=PresetName
)
MAX_SEED: Final = 2**63 - 1
SEED: Final = Setting(
    "random seed",
    ("--seed",),
    0,
    basic=True,
    within=(0, MAX_SEED),
    name="seed",
    hint=int,
)


@dataclass(frozen=True)
class Asked:
    """Settings requested by one source (flags, a file); the rest comes from the preset."""

    preset: str | None = None
    form: str | None = None
    """Of PPO."""
    seed: int | None = None
    sections: Mapping[str, Changes] = field(default_factory=dict)

    def over(self, other: "Asked") -> "Asked":
        """Returns both merged; these settings take precedence over the other's."""
        return Asked(
            self.preset if self.preset is not None else other.preset,
            self.form if self.form is not None else other.form,
            self.seed if self.seed is not None else other.seed,
            {
                name: {**other.sections.get(name, {}), **self.sections.get(name, {})}
                for name in {**other.sections, **self.sections}
            },
        )

    def settings(self) -> dict[str, dict[str, Any]]:
        """Returns the settings of each section by their names; those left out stay as they are.

        A section takes precedence over the preset, and the preset over the form of PPO; a
        requested form takes precedence over the preset's own. The warm start `universal` brings
        the network of that policy, and short trainings. With a preset, `min_updates` is at most
        a requested `max_episodes`.

        Raises:
            InvalidInputError: there is no such preset or form, or a section is no table.
        """
        for name, changes in self.sections.items():
            if not isinstance(changes, Mapping):
                raise not_allowed(name, changes, "a table of settings")
        sections = {name: dict(changes) for name, changes in self.sections.items()}
        strategy = Preset() if self.preset is None else PRESETS[PRESET.check(self.preset)]
        if sections.get("search", {}).get("warm_start") == "universal":
            strategy = strategy.changed(FROM_UNIVERSAL)
        form = self.form
        if form is None:
            form = strategy.form or (None if self.preset is None else DEFAULT_PPO)
        learns = {} if form is None else asdict(PPO_FORMS[PPO_FORM.check(form)])
        sections["ppo"] = learns | dict(strategy.ppo) | sections.get("ppo", {})
        game = dict(strategy.game)
        if sections.get("game", {}).get("red_agent", MIXED) != MIXED:
            game.pop("red_probabilities", None)  # which go with mixed only
        sections["game"] = game | sections.get("game", {})
        changed = current_names(TrainConfig, sections.get("train", {}))
        train = dict(strategy.train) | changed
        if self.preset is not None and "max_episodes" in changed and "min_updates" not in changed:
            least = train.get("min_updates", TrainConfig.min_updates)
            train["min_updates"] = min(least, train["max_episodes"])
        sections["train"] = train
        sections["population"] = dict(strategy.population) | sections.get("population", {})
        return sections
