from dataclasses import replace

from tests.runs.work import result


def test_what_is_shown_of_a_result_is_one_line_that_says_it() -> None:
    found = replace(result(7, -12.5, compliance=0.96), alignment_weights=[30.0] * 120)
    assert repr(found) == (
        "TrainResult(order 7: reward -12.50 ± 0.49 over 12 episodes, compliance 0.960 "
        "(true 0.960), compliant, stopped: compliant, 3 updates, 360 transitions)"
    )
    assert repr(replace(found, order=None)).startswith("TrainResult(every order: ")
