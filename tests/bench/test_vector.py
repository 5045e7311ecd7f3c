import pytest

from workflow_rl.bench.measure import Rate
from workflow_rl.bench.vector import Row, ratios_of
from workflow_rl.bench.vector_contenders import (
    APART,
    ASYNC,
    CYBORG,
    GYM_PIPES,
    GYM_SHARED,
    LABELS,
    SB3,
    SERIAL,
    SINGLE,
    SYNC,
    ZERO,
    Contender,
    ZeroWork,
)


def row(work: str, contender: str, rate: float, size: int = 200, memory: int | None = None) -> Row:
    return Row(
        work=work,
        contender=contender,
        num_envs=size,
        processes=1,
        rate=Rate((rate,)),
        steps=1,
        cpu_cores=1.0,
        cpu_seconds=2.0,
        memory_bytes=memory,
        start_seconds=0.1,
        group=size,
    )


def test_aims_are_set_for_200_environments_alone() -> None:
    rows = [
        row(work, contender, rate, size)
        for work in (ZERO, CYBORG)
        for size in (25, 200)
        for contender, rate in (
            (SYNC, 60.0),
            (GYM_PIPES, 1.5),
            (GYM_SHARED, 3.0),
            (SINGLE, 31.0),
            (APART, 64.0),
        )
    ]
    ratios = {ratio.name: ratio for ratio in ratios_of(rows, cores=2)}
    assert ratios["zero: sync / gym-pipes, 200 envs"].value == pytest.approx(40.0)
    assert ratios["zero: sync / gym-pipes, 200 envs"].met is True
    assert ratios["zero: sync / gym-shared, 200 envs"].met is False
    assert ratios["zero: sync / gym-pipes, 25 envs"].met is None
    assert ratios["cyborg: sync / 2 x single, 200 envs"].value == pytest.approx(60 / 62)
    assert ratios["cyborg: sync / 2 x single, 200 envs"].met is True
    assert ratios["cyborg: sync / 2 x single, 25 envs"].target == "-"
    assert ratios["zero: processor time, gym-pipes / sync, 200 envs"].value == pytest.approx(1.0)
    assert ratios["cyborg: sync / apart, 200 envs"].value == pytest.approx(60 / 64)
    assert ratios["cyborg: sync / apart, 200 envs"].met is False
    assert len(ratios) == 12  # memory is not known


def test_memory_is_compared_with_a_process_for_each_environment() -> None:
    rows = [
        row(ZERO, SYNC, 60.0, memory=70),
        row(ZERO, ASYNC, 60.0, memory=71),
        row(ZERO, GYM_PIPES, 1.5, memory=1_000),
    ]
    ratios = {ratio.name: ratio for ratio in ratios_of(rows, cores=2)}
    memory = ratios["zero: memory, sync / gym-pipes, 200 envs"]
    assert (memory.value, memory.target, memory.met) == (0.07, "at most 0.1x", True)


def test_there_is_no_aim_beside_stable_baselines() -> None:
    (ratio,) = ratios_of([row(ZERO, SYNC, 60.0), row(ZERO, SB3, 3.0)], cores=2)
    assert (ratio.value, ratio.target, ratio.met) == (20.0, "-", None)


@pytest.mark.parametrize("name", [name for name in LABELS if name != SB3])
def test_a_contender_plays_whole_steps_and_leaves_none_under_way(name: str) -> None:
    contender = Contender(name, [ZeroWork] * 6, num_workers=2)
    try:
        others = {SINGLE: 0, APART: 2, SERIAL: 0, SYNC: 2, ASYNC: 2}
        assert len(contender.pids) == others.get(name, 6)
        assert contender.play(0) == (1 if name == SINGLE else 6)
        for _ in range(3):
            steps = contender.play(0.01)
            assert steps > 6
            if name not in (SINGLE, APART, ASYNC):
                assert steps % 6 == 0
    finally:
        contender.close()
