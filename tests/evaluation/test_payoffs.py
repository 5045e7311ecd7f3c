import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refusal
from workflow_rl.evaluation.payoffs import Payoffs

SCORES = st.dictionaries(st.sampled_from("abcd"), st.floats(-100, 0), min_size=1)


@given(st.dictionaries(st.text(max_size=3), SCORES, min_size=1, max_size=5))
def test_a_matrix_is_read_as_written_and_its_best_row_has_the_best_worst_attacker(
    rows: dict[str, dict[str, float]],
) -> None:
    matrix = Payoffs.of(rows)
    assert matrix.as_json() == rows
    again = Payoffs.from_json(matrix.as_json())
    assert (again.rows, again.attackers) == (matrix.rows, matrix.attackers)
    np.testing.assert_array_equal(again.scores, matrix.scores)
    worst = [min(row.values()) for row in rows.values()]
    np.testing.assert_array_equal(matrix.worst, worst)
    assert worst[matrix.best_row] == max(worst)
    part = matrix.kept([matrix.best_row], range(len(matrix.attackers)))
    np.testing.assert_array_equal(part.scores[0], matrix.scores[matrix.best_row])


def test_what_is_no_matrix_is_refused() -> None:
    for data in (3, {"a": 1}, {"a": {"b": "x"}}):
        assert "no matrix of scores" in refusal(Payoffs.from_json, data)
