import math

import numpy as np
import pytest
import torch

from workflow_rl.bench.measure import Rate
from workflow_rl.bench.train import (
    CYBORG,
    MODERN,
    PEAK,
    PHASES,
    SB3,
    SB3_MODERN,
    SIMULATOR,
    STAGES,
    Subject,
    TrainReport,
    flop_per_input,
    ratios_of,
    run,
    sgemm_peak,
)
from workflow_rl.config import GameConfig
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.processes import one_thread
from workflow_rl.scenario.actions import NUM_ACTIONS

ENVS = 4
OTHERS = (SB3, SB3_MODERN, CYBORG)


@pytest.fixture(scope="module")
def tiny_run() -> tuple[TrainReport, list[str]]:
    told: list[str] = []
    config = GameConfig(red_agent="meander", rules="competition")
    report = run(config, repeats=2, seconds=0.01, settle=3, num_envs=ENVS, progress=told.append)
    return report, told


def test_every_part_is_measured_at_both_stages(tiny_run: tuple[TrainReport, list[str]]) -> None:
    report, _ = tiny_run
    stages = (*STAGES, MODERN)
    parts = {f"{what}, {stage}" for what in ("rollout", "update", "training") for stage in stages}
    assert set(report.rates) - set(OTHERS) == {SIMULATOR, PEAK} | parts
    assert all(len(rate.repeats) == 2 and rate.median > 0 for rate in report.rates.values())
    assert len(report.skipped) == sum(name not in report.rates for name in OTHERS)


def test_settling_is_shown_and_counted(tiny_run: tuple[TrainReport, list[str]]) -> None:
    report, told = tiny_run
    assert told[:3] == [f"settling the policy, update {n} of 3" for n in (1, 2, 3)]
    assert [stage.updates for stage in report.stages] == [0, 3, 0]
    assert told.count("training, settled") == 2


def test_phases_and_arithmetic_of_each_stage_are_there(
    tiny_run: tuple[TrainReport, list[str]],
) -> None:
    report, _ = tiny_run
    for stage in report.stages:
        assert tuple(stage.phase_seconds) == PHASES
        assert all(seconds >= 0 for seconds in stage.phase_seconds.values())
        assert 0 < stage.distinct_inputs <= report.transitions == 100 * ENVS
        assert 0 < stage.update_flop <= stage.naive_flop
        assert report.update_flops(stage) <= report.update_flops(stage, naive=True)
        assert stage.env_reward < 0 <= stage.compliance <= 1


def test_figures_are_plain_data_and_name_the_game(tiny_run: tuple[TrainReport, list[str]]) -> None:
    figures = tiny_run[0].as_json()
    assert (figures["benchmark"], figures["rules"]) == ("train", "competition")
    assert (figures["red_agent"], figures["num_envs"]) == ("meander", ENVS)
    assert (figures["repeat_count"], figures["settle_updates"]) == (2, 3)
    assert figures["transitions_per_update"] == 100 * ENVS
    assert PEAK not in {row["name"] for row in figures["rows"]}
    assert figures["sgemm_flops"] > 1e8
    assert "torch" in figures["machine"]["packages"]
    assert [stage["name"] for stage in figures["stages"]] == [*STAGES, MODERN]
    assert figures["observation"] == "challenge"
    assert all(set(ratio) == {"name", "value"} for ratio in figures["ratios"])


def test_the_documented_update_is_11_6_gflop() -> None:
    per_input = flop_per_input(ActorCritic(77, NUM_ACTIONS))
    weights = [77 * 64, 64 * 64, 64 * NUM_ACTIONS, 77 * 64, 64 * 64, 64]
    assert per_input == 6 * sum(weights) - 2 * 2 * 77 * 64
    assert 4 * 20_000 * per_input == pytest.approx(11.6e9, rel=0.01)


def test_in_the_first_layer_of_the_modern_form_counts_what_is_not_0() -> None:
    network = ActorCritic(300, NUM_ACTIONS, (128, 128))
    assert flop_per_input(network, 300) == flop_per_input(network)
    fewer = flop_per_input(network) - flop_per_input(network, 45)
    assert fewer == 4 * (300 - 45) * 2 * 128


@pytest.mark.parametrize(("name", "updates"), [("settled", 5), (MODERN, 1)])
def test_measuring_leaves_the_stage_as_it_was(name: str, updates: int) -> None:
    subject = Subject(name, GameConfig(), ENVS)
    for _ in range(2):
        subject.training.update()
    network = subject.training.learner.network
    before = [tensor.detach().clone() for tensor in network.parameters()]
    memory = {k: v.copy() for k, v in subject.training.learner.state().items()}
    subject.save()
    works = subject.works()
    assert works[f"training, {name}"]() == updates * 100 * ENVS
    assert any(not torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))
    subject.restore()
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))
    after = subject.training.learner.state()
    assert set(after) == set(memory)
    for name, array in memory.items():
        np.testing.assert_array_equal(after[name], array)


def test_a_fresh_optimiser_is_restored_to_its_beginning() -> None:
    subject = Subject("fresh", GameConfig(), ENVS)
    subject.save()
    subject.works()["update, fresh"]()
    subject.restore()
    assert all(not array.any() for array in subject.training.learner.state().values())


def test_torch_gets_its_threads_back() -> None:
    def fails() -> None:
        with one_thread():
            assert torch.get_num_threads() == 1
            raise KeyError

    before = torch.get_num_threads()
    with pytest.raises(KeyError):
        fails()
    assert torch.get_num_threads() == before


def test_a_matrix_product_counts_its_operations() -> None:
    assert sgemm_peak()() == 2 * 1024**3


def rates(**given: float) -> dict[str, Rate]:
    stages = (*STAGES, MODERN)
    names = {f"{what}, {stage}" for what in ("rollout", "training") for stage in stages}
    others = {"sb3": SB3, "sb3_modern": SB3_MODERN, "cyborg": CYBORG}
    return {name: Rate((1e6,)) for name in names} | {
        others[name]: Rate((value,)) for name, value in given.items()
    }


def test_ratios_are_ours_over_cyborgs_at_every_stage() -> None:
    ratios = ratios_of(rates(cyborg=500.0))
    stages = (*STAGES, MODERN)
    parts = [f"{what}, {stage}" for stage in stages for what in ("rollout", "training")]
    assert [ratio.name for ratio in ratios] == [f"{part} / {CYBORG}" for part in parts]
    assert all(math.isclose(ratio.value, 2000.0) for ratio in ratios)


def test_ratios_need_the_other_side() -> None:
    assert ratios_of(rates()) == []
    ratios = ratios_of(rates(sb3=4e4))
    assert [ratio.name for ratio in ratios] == [f"training, {stage} / {SB3}" for stage in STAGES]
    assert all(math.isclose(ratio.value, 25.0) for ratio in ratios)
    (ratio,) = ratios_of(rates(sb3_modern=2e5))
    assert ratio.name == f"training, modern / {SB3_MODERN}"
    assert ratio.value == pytest.approx(5)
