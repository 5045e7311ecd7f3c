from pathlib import Path

import pytest
from workflow_rl.ordersearch.loop import Failed, Trial
from workflow_rl.runs.tasks import (
    MOST_LATE,
    MOST_LOSSES,
    Attempts,
    SerialWorkers,
    Task,
    TrialExecutor,
    train_all,
)

from tests.runs.work import LONG, Told, job, task
from workflow_rl.train.job import TrainResult


class Backwards(SerialWorkers):
    """Several at a time, of which the last one begun ends first."""

    def __init__(self, number: int) -> None:
        self.capacity = number
        self.most = 0

    def wait(self, among, news):  # type: ignore[no-untyped-def]
        self.most = max(self.most, len(among))
        return super().wait(among[::-1], news)


def test_independent_trainings_are_taken_when_there_is_room(tmp_path: Path) -> None:
    taken: list[str] = []

    def tasks():  # type: ignore[no-untyped-def]
        for order in range(5):
            taken.append(f"order_{order}")
            yield task(tmp_path, order, updates=1)

    workers = Backwards(2)
    ended = []
    for one, result in train_all(workers, tasks(), Told()):
        assert isinstance(result, TrainResult)
        assert f"order_{result.order}" == one.name
        ended.append(one.name)
        assert len(taken) - len(ended) < 2
    assert workers.most == 2
    assert ended == ["order_1", "order_2", "order_3", "order_4", "order_0"]


def test_a_trial_gets_the_result_of_its_own_training(tmp_path: Path) -> None:
    told = Told()
    executor = TrialExecutor(Backwards(3), lambda trial: task(tmp_path, trial.order, 1), told)
    trials = [Trial(number, order, 0) for number, order in enumerate((8, 6, 7))]
    for trial in trials:
        executor.submit(trial)
    for trial in reversed(trials):
        ended, result = executor.wait(trials[: trial.number + 1])
        assert ended == trial
        assert isinstance(result, TrainResult)
        assert result.order == trial.order
    assert len(told.updates) == 3


@pytest.mark.parametrize("late", [False, True])
def test_attempts_are_numbered_by_what_ended_them(late: bool) -> None:
    attempts = Attempts(Task("one", job(5, LONG, base=False), Path("nowhere")))
    outcomes = []
    for _ in range(MOST_LATE if late else MOST_LOSSES):
        outcomes.append(attempts.after_limit(9) if late else attempts.after_loss("it rained"))
    assert outcomes[:-1] == [None] * (len(outcomes) - 1)
    assert isinstance(outcomes[-1], Failed)
    assert ("9 s" if late else "it rained") in outcomes[-1].reason
    # The other kind has its own count.
    assert (attempts.after_loss("x") if late else attempts.after_limit(9)) is None
