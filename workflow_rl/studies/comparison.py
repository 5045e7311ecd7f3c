"""The results of a comparison: the means of each preset over seeds, and their summary."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import numpy as np

from workflow_rl.config import ComparisonConfig, TrainConfig
from workflow_rl.estimates import MeanAndDeviation
from workflow_rl.studies.gradient_noise import GradientNoise
from workflow_rl.studies.measured_training import Measured

_WINDOW: Final = 600  # episodes of the final moving average: the objective's, at 200 environments
EARLY_WINDOW: Final = 100  # episodes of a moving average during training
BLOCK: Final = 200  # episodes of a block, and how many blocks, for the variability
BLOCKS: Final = 10
EPISODES: Final = 50  # that the documents give a workflow, per environment


@dataclass(frozen=True)
class Reach:
    """When the recent reward reached a threshold, over the seeds for which it did."""

    threshold: float
    seeds: int
    transitions: MeanAndDeviation
    seconds: MeanAndDeviation

    @classmethod
    def of(cls, runs: Sequence[Measured], threshold: float) -> Self:
        """Returns when some trainings reached a threshold."""
        first = [m.curve.first_reach(threshold, EARLY_WINDOW) for m in runs]
        first = [pair for pair in first if math.isfinite(pair[0])]
        return cls(threshold, len(first), *_both(first))


@dataclass(frozen=True)
class Summary:
    """One preset, over its seeds."""

    preset: str
    seeds: int
    transitions_per_update: int
    updates: int
    gradient_steps: int
    transitions: int
    rate: float  # transitions a second of one core, median
    seconds: float  # of a training, median
    peak_mb: float  # median
    added_mb: float  # median
    reward: MeanAndDeviation  # of the last episodes
    compliance: MeanAndDeviation
    reward_at_time: MeanAndDeviation  # of the last episodes when the fastest preset had finished
    compliance_at_time: MeanAndDeviation
    reach: tuple[Reach, ...]  # of each threshold
    unrest: float  # of the mean reward of the last blocks
    reward_at_episodes: MeanAndDeviation  # after 50 episodes per environment, or all there are
    compliance_at_episodes: MeanAndDeviation
    episodes_per_env: int  # that those are
    noise: GradientNoise | None

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return asdict(self) | {"noise": self.noise and self.noise.as_json()}


@dataclass(frozen=True)
class Comparison:
    """What a comparison found."""

    plan: ComparisonConfig
    trainings: Sequence[Measured]
    summaries: Sequence[Summary]  # of each preset
    seconds: float  # of the fastest preset, at which all are compared


def summarise(
    plan: ComparisonConfig,
    trainings: Sequence[Measured],
    noise: Mapping[str, GradientNoise],
    thresholds: Sequence[float],
) -> Comparison:
    """Summarises a comparison.

    Args:
        plan: what was compared.
        trainings: all of them; of each preset the same number.
        noise: each preset's gradient noise, where it was measured.
        thresholds: rewards whose first reaching is told.
    """
    by_preset: dict[str, list[Measured]] = {}
    for measured in trainings:
        by_preset.setdefault(measured.preset, []).append(measured)
    quickest = min(_median(runs, "seconds") for runs in by_preset.values())
    summaries = [
        _summary(runs, noise.get(preset), thresholds, quickest)
        for preset, runs in by_preset.items()
    ]
    return Comparison(plan, trainings, summaries, quickest)


def _summary(
    runs: Sequence[Measured],
    noise: GradientNoise | None,
    thresholds: Sequence[float],
    seconds: float,
) -> Summary:
    first = runs[0]
    episodes = min(EPISODES, first.transitions // (first.n_envs * first.episode_length))
    ends = [m.curve.at("transitions", math.inf, min(_WINDOW, m.curve.total)) for m in runs]
    reward, compliance = _both(ends)
    timed = [m.curve.at("seconds", seconds, EARLY_WINDOW) for m in runs]
    reward_at_time, compliance_at_time = _both(timed)
    early = [_after(m, episodes) for m in runs]
    reward_at_episodes, compliance_at_episodes = _both(early)
    return Summary(
        preset=first.preset,
        seeds=len(runs),
        transitions_per_update=first.transitions_per_update,
        updates=first.updates,
        gradient_steps=first.gradient_steps,
        transitions=first.transitions,
        rate=float(np.median([m.transitions / m.seconds for m in runs])),
        seconds=_median(runs, "seconds"),
        peak_mb=_median(runs, "peak_mb"),
        added_mb=_median(runs, "added_mb"),
        reward=reward,
        compliance=compliance,
        reward_at_time=reward_at_time,
        compliance_at_time=compliance_at_time,
        reach=tuple(Reach.of(runs, threshold) for threshold in thresholds),
        unrest=float(np.mean([m.curve.unrest(BLOCK, BLOCKS) for m in runs])),
        reward_at_episodes=reward_at_episodes,
        compliance_at_episodes=compliance_at_episodes,
        episodes_per_env=episodes,
        noise=noise,
    )


def _both(pairs: Sequence[tuple[float, float]]) -> tuple[MeanAndDeviation, MeanAndDeviation]:
    """Returns mean and deviation over seeds of the first of each pair, and of the second."""
    return (
        MeanAndDeviation.of([first for first, _ in pairs]),
        MeanAndDeviation.of([second for _, second in pairs]),
    )


def _median(runs: Sequence[Measured], name: str) -> float:
    return float(np.median([getattr(m, name) for m in runs]))


def _after(measured: Measured, episodes: int) -> tuple[float, float]:
    """Returns recent reward and compliance after a number of episodes per environment."""
    played = episodes * measured.n_envs
    window = min(EARLY_WINDOW, max(played // 5, 1))
    return measured.curve.at("transitions", played * measured.episode_length, window)


def refusal_of_large_updates() -> str:
    """Returns the refusal of updates of 20,000 steps within 50 episodes of one environment."""
    train = TrainConfig(n_envs=1, update_steps=20_000, max_episodes=EPISODES)
    return train.why_no_update(episode_length=100) or ""


# --- in sentences


def answer_of(comparison: Comparison) -> list[str]:
    """Returns the answer: which preset is best at equal transitions, at equal time, and why."""
    plan, summaries, told = comparison.plan, comparison.summaries, []
    if best := _best(summaries, lambda s: s.reward.mean):
        told.append(
            f"After {plan.transitions:,} transitions {best.preset} has the highest reward, "
            f"{over_seeds(best.reward, 1)}, at a compliance of {over_seeds(best.compliance, 3)} "
            f"(± is the standard deviation of {len(plan.seeds)} seeds)."
        )
    if best := _best(summaries, lambda s: s.reward_at_time.mean):
        told.append(
            f"After {comparison.seconds:.1f} s on one core, when the quickest was through, "
            f"{best.preset} has: {over_seeds(best.reward_at_time, 1)}."
        )
    if best := _best(summaries, lambda s: s.compliance.mean):
        told.append(
            f"The order is followed most by {best.preset}: {over_seeds(best.compliance, 3)}."
        )
    if best := _best(summaries, lambda s: -s.noise.noise if s.noise else math.nan):
        assert best.noise is not None
        told.append(f"A step's gradient is least noisy in {best.preset} ({best.noise.noise:.2g}).")
    if best := _best(summaries, lambda s: s.rate):
        told.append(f"The quickest is {best.preset}: {best.rate:,.0f} transitions a second.")
    return told


def _best(summaries: Sequence[Summary], value: Callable[[Summary], float]) -> Summary | None:
    """Returns the preset with the highest value; None if there is nothing to compare."""
    known = [s for s in summaries if not math.isnan(value(s))]
    return max(known, key=value) if len(known) > 1 else None


def over_seeds(value: MeanAndDeviation, decimals: int) -> str:
    """Writes a mean over seeds with their standard deviation."""
    if math.isnan(value.mean):
        return "-"
    mean = f"{value.mean:,.{decimals}f}"
    if math.isnan(value.deviation):
        return mean
    return f"{mean} ± {value.deviation:,.{decimals}f}"
