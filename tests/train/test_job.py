from dataclasses import asdict, replace

from tests.runs.work import job, result
from workflow_rl.config import TrainConfig
from workflow_rl.train.job import TrainResult


def test_a_job_names_the_order_that_it_trains_by_its_own_units() -> None:
    some = job(7)
    assert str(some.workflow) == "defender > op_server > enterprise > user > op_host"
    assert replace(some, order=None).workflow is None
    groups = {"jewels": ("Op_Server0",), "laptops": ("User1", "User2")}
    own = replace(some, train=TrainConfig(units=groups), order=5)
    assert own.workflow == ("rest", "laptops", "jewels")


def test_a_result_is_shown_with_the_names_of_its_order() -> None:
    found = replace(result(7, -12.5), workflow="rest > laptops > jewels")
    assert repr(found).startswith("TrainResult(rest > laptops > jewels: reward -12.50 ")
    assert TrainResult.from_json(asdict(found)) == found


def test_a_result_stored_without_the_names_is_read_and_shown_by_number() -> None:
    stored = asdict(result(7, -12.5))
    del stored["workflow"]
    assert repr(TrainResult.from_json(stored)).startswith("TrainResult(order 7: reward -12.50 ")


def test_what_is_shown_of_a_result_is_one_line_that_says_it() -> None:
    found = replace(result(7, -12.5, compliance=0.96), alignment_weights=[30.0] * 120)
    assert repr(found) == (
        "TrainResult(order 7: reward -12.50 ± 0.49 over 12 episodes, compliance 0.960 "
        "(true 0.960), compliant, stopped: compliant, 3 updates, 360 transitions)"
    )
    assert repr(replace(found, order=None)).startswith("TrainResult(every order: ")
