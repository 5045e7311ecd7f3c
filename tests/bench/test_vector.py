import pytest

from workflow_rl.bench.measure import Rate
from workflow_rl.bench.vector import VectorRow, ratios_of
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


def row(
    work: str, contender: str, rate: float, size: int = 200, memory: int | None = None
) -> VectorRow:
    return VectorRow(
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


def test_ratios_are_of_rows_with_as_many_environments_of_the_same_work() -> None:
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
    expected = {
        "zero: sync / gym-pipes": 40.0,
        "zero: sync / gym-shared": 20.0,
        "zero: processor time, gym-pipes / sync": 1.0,
        "cyborg: sync / 2 x single": 60 / 62,
        "cyborg: sync / apart": 60 / 64,
        "cyborg: processor time, gym-pipes / sync": 1.0,
    }  # memory is not known
    ratios = {ratio.name: ratio.value for ratio in ratios_of(rows, cores=2)}
    assert ratios == pytest.approx(
        {f"{name}, {size} envs": value for name, value in expected.items() for size in (25, 200)}
    )


def test_memory_is_compared_with_a_process_for_each_environment() -> None:
    rows = [
        row(ZERO, SYNC, 60.0, memory=70),
        row(ZERO, ASYNC, 60.0, memory=71),
        row(ZERO, GYM_PIPES, 1.5, memory=1_000),
    ]
    ratios = {ratio.name: ratio.value for ratio in ratios_of(rows, cores=2)}
    assert ratios["zero: memory, sync / gym-pipes, 200 envs"] == 0.07
    assert "zero: memory, async / gym-pipes, 200 envs" not in ratios


def test_stable_baselines_is_compared_on_environments_that_do_nothing() -> None:
    rows = [
        row(work, name, rate)
        for work in (ZERO, CYBORG)
        for name, rate in ((SYNC, 60.0), (SB3, 3.0))
    ]
    (ratio,) = ratios_of(rows, cores=2)
    assert (ratio.name, ratio.value) == ("zero: sync / sb3, 200 envs", 20.0)


@pytest.mark.parametrize("name", [name for name in LABELS if name != SB3])
def test_a_contender_plays_whole_steps_and_leaves_none_under_way(name: str) -> None:
    contender = Contender(name, [ZeroWork] * 6, num_workers=2)
    try:
        others = {SINGLE: 0, APART: 2, SERIAL: 0, SYNC: 2, ASYNC: 2}
        assert len(contender.pids) == others.get(name, 6)
        once = 1 if name == SINGLE else 6
        assert contender.play(0) == once
        played = [contender.play(0.01) for _ in range(3)]
        assert any(steps > once for steps in played) or contender.play(2.0) > once
        assert min(played) >= once
        if name not in (APART, ASYNC):
            assert all(steps % once == 0 for steps in played)
    finally:
        contender.close()
