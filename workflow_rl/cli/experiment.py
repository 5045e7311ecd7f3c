"""The flags of `search` and `train`, and how they become a configuration."""

import argparse
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from workflow_rl.cli.arguments import add_red_agent, add_rules
from workflow_rl.cli.execution import add_execution_flags
from workflow_rl.cli.resuming import refuse_flags
from workflow_rl.config import (
    ACTION_SPACES,
    ALIGNMENTS,
    BACKENDS,
    DEFAULT_PPO,
    GREEN_AGENTS,
    OBSERVATIONS,
    PPO_FORMS,
    PRESETS,
    STOPS,
    STRATEGIES,
    VECTORS,
    VIEWS,
    WARM_STARTS,
    BackendConfig,
    ExperimentConfig,
    GameConfig,
    PPOConfig,
    SearchConfig,
    TrainConfig,
    one_of,
    red_agent_name,
)
from workflow_rl.errors import InvalidInputError

DEFAULT_PRESET: Final = "parallel200"


@dataclass(frozen=True)
class Flag:
    """A flag that sets one field of a configuration."""

    name: str
    field: str
    kind: Any
    help: str
    metavar: str = "N"

    def add_to(self, group: Any, defaults: Any) -> None:
        """Adds the flag, with the field's default in its help; not given it sets nothing."""
        default = getattr(defaults, self.field)
        if isinstance(default, tuple):
            default = ",".join(map(str, default))
        group.add_argument(
            self.name,
            dest=f"{type(defaults).__name__}.{self.field}",
            type=self.kind,
            default=argparse.SUPPRESS,
            metavar=self.metavar,
            help=self.help + ("" if default is None else f" (default: {default})"),
        )


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace("x", ",").split(",") if part)


TRAIN_FLAGS: Final = (
    Flag("--n-envs", "n_envs", int, "environments that play side by side"),
    Flag("--max-episodes", "max_episodes", int, "episodes per environment at most"),
    Flag("--min-episodes", "min_episodes", int, "updates before compliance may end a training"),
    Flag(
        "--update-steps",
        "update_steps",
        int,
        "transitions per update, all environments together (default: whole episodes of each)",
    ),
    Flag("--update-episodes", "update_episodes", int, "episodes per environment of an update"),
    Flag(
        "--compliance-threshold",
        "compliance_threshold",
        float,
        "mean compliance that ends a training, 0 to 1",
        "X",
    ),
    Flag(
        "--compliance-view",
        "compliance_view",
        str,
        f"judge fixes by what Blue saw or by the truth: {' or '.join(VIEWS)}",
        "NAME",
    ),
    Flag(
        "--alignment",
        "alignment",
        str,
        f"weight of compliance in the reward: {' or '.join(ALIGNMENTS)}",
        "NAME",
    ),
    Flag(
        "--alignment-lambda",
        "alignment_lambda",
        float,
        "that weight, in reward per episode; with adaptive its start",
        "X",
    ),
    Flag("--stop-at", "stop_at", str, f"when a training ends: {' or '.join(STOPS)}", "NAME"),
    Flag("--replay-rollouts", "replay_rollouts", int, "earlier rollouts kept in each batch"),
    Flag(
        "--action-space",
        "action_space",
        str,
        f"what the policy chooses from: {' or '.join(ACTION_SPACES)}",
        "NAME",
    ),
    Flag(
        "--snapshot-every",
        "snapshot_every",
        int,
        "updates after which the policy is kept each time; 0 for never",
    ),
    Flag("--hidden", "hidden", _sizes, "units of the hidden layers, e.g. 64,64", "N,N"),
)
PPO_FLAGS: Final = (
    Flag("--epochs", "epochs", int, "passes over the batch at each update"),
    Flag("--minibatch-size", "minibatch_size", int, "samples of a gradient step (default: all)"),
    Flag("--learning-rate", "learning_rate", float, "of Adam", "X"),
    Flag("--gamma", "gamma", float, "discount per step", "X"),
    Flag(
        "--gae-lambda",
        "gae_lambda",
        float,
        "generalised advantages with this lambda (default: none)",
        "X",
    ),
    Flag("--entropy-weight", "entropy_weight", float, "weight of the entropy bonus", "X"),
)
BACKEND_FLAGS: Final = (
    Flag("--backend", "name", str, f"what plays the game: {' or '.join(BACKENDS)}", "NAME"),
    Flag("--cyborg-path", "cyborg_path", str, "where CybORG is (default: CYBORG_PATH)", "DIR"),
    Flag(
        "--vector",
        "vector",
        str,
        f"with cyborg, how environments are carried: {', '.join(VECTORS)}",
        "NAME",
    ),
    Flag(
        "--vector-mode",
        "vector_mode",
        str,
        "with cyborg: sync (all step together) or async (whoever is ready goes on)",
        "NAME",
    ),
    Flag("--env-workers", "env_workers", int, "with cyborg, processes (default: one per core)"),
    Flag(
        "--step-timeout",
        "step_timeout",
        float,
        "with cyborg, seconds a step may take (default: for ever)",
        "X",
    ),
    Flag("--max-restarts", "max_restarts", int, "with cyborg, dead processes that are replaced"),
)
SEARCH_FLAGS: Final = (
    Flag("--n-workflows", "n_workflows", int, "workflows to try"),
    Flag("--strategy", "strategy", str, f"how to pick: {', '.join(STRATEGIES)}", "NAME"),
    Flag("--gp-beta", "gp_beta", float, "weight of uncertainty in the UCB", "X"),
    Flag("--initial-design", "initial_design", int, "first picks, spread out over all orders"),
    Flag(
        "--warm-start",
        "warm_start",
        str,
        f"what each training starts from: {', '.join(WARM_STARTS)}",
        "NAME",
    ),
    Flag("--base-updates", "base_updates", int, "updates of the common base policy"),
    Flag("--polish-updates", "polish_updates", int, "further updates of the recommended policy"),
    Flag("--parallel-workflows", "parallel_workflows", int, "trainings side by side"),
    Flag(
        "--total-episodes",
        "total_episodes",
        int,
        "end the search after so many episodes of all environments (default: no limit)",
    ),
)


def add_experiment_flags(
    parser: argparse.ArgumentParser,
    *,
    search: bool,
    without: Collection[str] = (),
    train: TrainConfig | None = None,
) -> None:
    """Adds the flags, in groups.

    Args:
        parser: the command's.
        search: whether there is a search.
        without: fields of the search that the command decides itself.
        train: the command's own defaults of a training.
    """
    game = parser.add_argument_group("the game")
    add_red_agent(game)
    add_rules(game)
    game.add_argument(
        "--observation",
        default=argparse.SUPPRESS,
        metavar="NAME",
        help=f"what Blue sees: {' or '.join(OBSERVATIONS)} (default: challenge; the preset "
        "original: cardiff)",
    )
    game.add_argument(
        "--green-agent", default="sleep", metavar="NAME", help=f"Green: {' or '.join(GREEN_AGENTS)}"
    )
    game.add_argument("--max-steps", type=int, default=100, metavar="N", help="steps per episode")
    training = parser.add_argument_group("training (an explicit flag wins over the preset)")
    training.add_argument(
        "--preset",
        default=DEFAULT_PRESET,
        metavar="NAME",
        help=f"rollout strategy: {', '.join(PRESETS)}",
    )
    for flag in TRAIN_FLAGS:
        flag.add_to(training, train or TrainConfig())
    ppo = parser.add_argument_group("PPO")
    ppo.add_argument(
        "--ppo",
        default=argparse.SUPPRESS,
        metavar="NAME",
        help="documented; tuned (with gamma 0.95 and a baseline for alignment); or modern "
        f"(default: {DEFAULT_PPO}; the preset original: documented)",
    )
    for flag in PPO_FLAGS:
        flag.add_to(ppo, PPO_FORMS[DEFAULT_PPO])
    if search:
        group = parser.add_argument_group("search")
        for flag in SEARCH_FLAGS:
            if flag.field not in without:
                flag.add_to(group, SearchConfig())
        if "ordered_results" not in without:
            group.add_argument(
                "--ordered-results",
                dest="SearchConfig.ordered_results",
                action="store_true",
                default=argparse.SUPPRESS,
                help="wait for results in the order of picks, so that several at a time pick the "
                "same each time (default: take each when it arrives)",
            )
        add_execution_flags(parser)
    backend = parser.add_argument_group("backend (docs/cyborg.md)")
    for flag in BACKEND_FLAGS:
        flag.add_to(backend, BackendConfig())
    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same result")
    run.add_argument(
        "--checkpoint-dir", default="logs", metavar="DIR", help="where run directories are made"
    )
    run.add_argument("--device", default="cpu", metavar="NAME", help="cpu, the only one supported")


def experiment_config(args: argparse.Namespace) -> ExperimentConfig:
    """Returns the configuration that the flags ask for.

    Raises:
        InvalidInputError: a flag is wrong, or two contradict each other.
    """
    if args.device != "cpu":
        raise InvalidInputError(
            f"unknown device {args.device!r}: this project trains on the processor, choose cpu"
        )
    preset = PRESETS[one_of("preset", args.preset, tuple(PRESETS))]
    name = args.ppo if "ppo" in args else preset.form or DEFAULT_PPO
    form = PPO_FORMS[one_of("form of PPO", name, tuple(PPO_FORMS))]
    given = _given(args, TrainConfig)
    train = dict(preset.train) | given
    if "max_episodes" in given and "min_episodes" not in given:
        least = train.get("min_episodes", TrainConfig().min_episodes)
        train["min_episodes"] = min(least, train["max_episodes"])
    config = ExperimentConfig(
        game=GameConfig(
            red_agent=args.red_agent,
            rules=args.rules,
            green_agent=args.green_agent,
            episode_length=args.max_steps,
            **(dict(preset.game) | _plain(args, "observation")),
        ),
        ppo=replace(form, **(dict(preset.ppo) | _given(args, PPOConfig))),
        train=TrainConfig(**train),
        search=SearchConfig(**_given(args, SearchConfig)),
        backend=BackendConfig(**_given(args, BackendConfig)),
        seed=args.seed,
    )
    if config.backend.name != "cage2":
        from workflow_rl.envs.python_world import check_backend

        check_backend(config.game, config.backend)
    return config


def _plain(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(args, name) for name in names if name in args}


def _given(args: argparse.Namespace, owner: type[Any]) -> dict[str, Any]:
    prefix = f"{owner.__name__}."
    return {k.removeprefix(prefix): v for k, v in vars(args).items() if k.startswith(prefix)}


def refuse_other_settings(args: argparse.Namespace, config: ExperimentConfig) -> None:
    """Checks that flags given beside --resume say what the run was begun with.

    Raises:
        InvalidInputError: one says something else, which would silently be ignored.
    """
    parts = (config.train, config.ppo, config.search, config.backend)
    begun: dict[str, Any] = {
        f"{type(part).__name__}.{name}": value
        for part in parts
        for name, value in vars(part).items()
    }
    begun |= vars(config.game) | {"seed": config.seed, "max_steps": config.game.episode_length}
    fresh: dict[str, Any] = {"red_agent": "bline", "rules": "main", "observation": None}
    fresh |= {"green_agent": "sleep", "max_steps": 100, "seed": 0}
    given = {k: v for k, v in vars(args).items() if "." in k or (k in fresh and v != fresh[k])}
    given |= {"red_agent": red_agent_name(given["red_agent"])} if "red_agent" in given else {}
    others = sorted(k for k, value in given.items() if value != begun[k])
    others += ["preset"] if args.preset != DEFAULT_PRESET else []
    others += ["ppo"] if "ppo" in args else []
    refuse_flags(["--" + k.split(".")[-1].replace("_", "-") for k in others])
