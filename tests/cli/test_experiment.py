import pytest

from workflow_rl.cli import build_parser
from workflow_rl.cli.experiment import experiment_config, refuse_other_settings
from workflow_rl.config import (
    PRESETS,
    ExperimentConfig,
    GameConfig,
    PPOConfig,
    PresetName,
    SearchConfig,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError


def parsed(*flags: str) -> ExperimentConfig:
    return experiment_config(build_parser().parse_args(["search", *flags]))


# --- what the flags mean


def test_no_flags_are_the_documented_defaults() -> None:
    config = parsed()
    assert config == ExperimentConfig()
    train = config.train
    assert (train.n_envs, train.max_episodes, train.min_updates) == (200, 50, 5)
    assert train.n_envs * train.rollout_steps(config.game.episode_length) == 20_000
    assert train.compliance_threshold == 0.95
    assert (config.search.n_workflows, config.search.gp_beta) == (20, 2.0)
    assert (config.game.red_agent, config.game.rules, config.seed) == ("bline", "main", 0)


def test_the_documented_examples_mean_what_they_say() -> None:
    first = "--n-envs 200 --n-workflows 20 --max-episodes 50 --min-episodes 5 --red-agent bline"
    assert parsed(*first.split()) == ExperimentConfig()
    for envs, longest, least in ((50, 100, 10), (500, 20, 3)):
        flags = f"--n-envs {envs} --max-episodes {longest} --min-episodes {least}"
        assert parsed(*flags.split()) == ExperimentConfig(
            train=TrainConfig(n_envs=envs, max_episodes=longest, min_updates=least)
        )


@pytest.mark.parametrize("spelling", ["meander", "RedMeanderAgent", "REDMEANDERAGENT"])
def test_a_red_agent_goes_by_either_spelling(spelling: str) -> None:
    assert parsed("--red-agent", spelling).game.red_agent == "meander"


def test_every_flag_reaches_its_field() -> None:
    flags = (
        "--red-agent mixed --rules competition --observation cardiff --green-agent active "
        "--episode-length 30 --n-envs 4 --max-episodes 9 --min-updates 2 --update-steps 60 "
        "--compliance-threshold 0.8 --compliance-view true --alignment fixed "
        "--alignment-lambda 12.5 --stop-at budget --replay-rollouts 2 --hidden 32,16 "
        "--ppo documented --epochs 3 --minibatch-size 50 --learning-rate 0.01 --gamma 0.9 "
        "--gae-lambda 0.8 --entropy-weight 0.02 --n-workflows 7 --strategy random --gp-beta 1.5 "
        "--initial-design 3 --warm-start nearest --base-updates 11 --polish-updates 0 "
        "--parallel-workflows 2 --ordered-results --total-episodes 99 --seed 13"
    )
    assert parsed(*flags.split()) == ExperimentConfig(
        game=GameConfig(
            red_agent="mixed",
            rules="competition",
            observation="cardiff",
            green_agent="active",
            episode_length=30,
        ),
        ppo=PPOConfig(
            epochs=3,
            minibatch_size=50,
            learning_rate=0.01,
            gamma=0.9,
            gae_lambda=0.8,
            entropy_weight=0.02,
        ),
        train=TrainConfig(
            n_envs=4,
            max_episodes=9,
            min_updates=2,
            update_steps=60,
            compliance_threshold=0.8,
            compliance_view="true",
            alignment="fixed",
            alignment_lambda=12.5,
            stop_at="budget",
            replay_rollouts=2,
            hidden=(32, 16),
        ),
        search=SearchConfig(
            n_workflows=7,
            strategy="random",
            gp_beta=1.5,
            initial_design=3,
            warm_start="nearest",
            base_updates=11,
            polish_updates=0,
            parallel_workflows=2,
            ordered_results=True,
            total_episodes=99,
        ),
        seed=13,
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_the_same_from_python(preset: PresetName) -> None:
    assert parsed("--preset", preset) == ExperimentConfig.preset(preset)


def test_an_explicit_flag_wins_over_the_preset() -> None:
    assert parsed("--preset", "parallel25", "--n-envs", "30").train.n_envs == 30
    assert parsed("--preset", "parallel25", "--min-episodes", "3").train.min_updates == 3
    assert parsed("--preset", "hybrid", "--update-steps", "700").train.update_steps == 700
    assert parsed("--preset", "original", "--epochs", "2").ppo.epochs == 2
    assert parsed("--preset", "standard", "--minibatch-size", "32").ppo.minibatch_size == 32
    for value in ("200", "50"):  # also when it is the default
        assert parsed("--preset", "parallel25", "--n-envs", value).train.n_envs == int(value)


@pytest.mark.parametrize(("preset", "least"), [("parallel200", 5), ("parallel25", 10)])
def test_a_short_training_needs_no_flag_for_its_least_length(preset: str, least: int) -> None:
    for longest in (1, 4, 40):
        train = parsed("--preset", preset, "--max-episodes", str(longest)).train
        assert (train.max_episodes, train.min_updates) == (longest, min(longest, least))


# --- beside --resume


def others(flags: str, config: ExperimentConfig) -> str:
    """The flags that are refused, or nothing."""
    args = build_parser().parse_args(["search", *flags.split()])
    try:
        refuse_other_settings(args, config)
    except InvalidInputError as error:
        return str(error).partition("leave out ")[2]
    return ""


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--preset parallel25",
        "--preset parallel25 --n-envs 30 --hidden 8x8 --red-agent RedMeanderAgent --seed 3",
        "--preset parallel25 --max-episodes 7 --ppo modern",
        "--preset standard --min-episodes 2 --max-steps 30 --ordered-results --gae-lambda 0.5",
    ],
)
def test_the_flags_a_run_was_begun_with_are_accepted_again(flags: str) -> None:
    assert others(flags, parsed(*flags.split())) == ""
    for flag in flags.split("--")[1:]:
        if not flag.startswith(("preset", "ppo")):
            assert others(f"--{flag}", parsed(*flags.split())) == ""


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--seed 9", "--seed"),
        ("--seed 0 --n-envs 200", "--n-envs, --seed"),
        ("--preset hybrid", "--preset"),
        ("--preset hybrid --n-envs 30", "--preset"),
        ("--ppo documented", "--ppo"),
        ("--ppo tuned --min-episodes 5", "--min-updates"),
        ("--max-steps 30 --red-agent sleep", "--episode-length, --red-agent"),
        ("--rules main --observation cardiff", "--observation"),
        ("--vector pipes --strategy random --gamma 0.5", "--gamma, --strategy, --vector"),
    ],
)
def test_flags_that_say_something_else_are_named(flags: str, named: str) -> None:
    begun = parsed("--preset", "parallel25", "--n-envs", "30", "--seed", "3")
    assert others(flags, begun) == named
