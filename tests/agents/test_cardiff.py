import numpy as np
import pytest

from workflow_rl.agents.cardiff import (
    IS_RESTORE,
    MACRO_LISTS,
    NUM_OUTPUTS,
    PLAIN_ACTIONS,
    START_OUTPUTS,
    acceptable_output,
    due_output,
    is_exhausted,
    perform,
)

# The winner's table, output by output: actions 0..26, then the lists of macros 1000..1008.
PLAIN = [133, 134, 135, 139, 3, 4, 5, 9, 16, 17, 18, 22, 11, 12, 13, 14]
PLAIN += [141, 142, 143, 144, 132, 2, 15, 24, 25, 26, 27]
MACROS = [[55, 107, 120, 29], [43], [44], [37, 115, 76, 102], [51, 116, 38, 90]]
MACROS += [[130, 91], [131], [54, 106, 28, 119], [61, 35, 113, 126]]


def test_the_table_is_the_winners() -> None:
    assert PLAIN_ACTIONS.tolist() == PLAIN
    assert [list(decoys) for decoys in MACRO_LISTS] == MACROS
    assert NUM_OUTPUTS == 36
    assert np.flatnonzero(IS_RESTORE).tolist() == [0, 1, 2, 3, 16, 17, 18, 19, 20]


def test_the_start_is_femitter_and_tomcat_on_user2_then_haraka_on_enterprise0() -> None:
    placed = np.zeros(9, np.int8)
    assert START_OUTPUTS == (31, 31, 27)
    assert [perform(due_output(5, step), placed) for step in range(4)] == [51, 116, 55, 4]
    assert placed.tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 0]
    assert [due_output(5, step) for step in (4, 5, 99)] == [5, 5, 5]


def test_a_restore_starts_that_hosts_list_over_and_no_other() -> None:
    placed = np.zeros(9, np.int8)
    outputs = [27, 27, 31, 0, 27, 31]  # two decoys on Enterprise0, one on User2, Restore, ...
    assert [perform(output, placed) for output in outputs] == [55, 107, 51, 133, 55, 116]


@pytest.mark.parametrize(
    ("restore", "macro"),
    [(0, 0), (1, 1), (2, 2), (3, 8), (16, 3), (17, 4), (18, 5), (19, 6), (20, 7)],
)
def test_each_restore_is_of_its_hosts_list(restore: int, macro: int) -> None:
    placed = np.ones(9, np.int8)
    perform(restore, placed)
    assert np.flatnonzero(placed == 0).tolist() == [macro]


@pytest.mark.parametrize("macro", range(9))
def test_a_list_is_used_up_after_its_last_decoy_and_then_repeats_its_first(macro: int) -> None:
    placed, output = np.zeros(9, np.int8), 27 + macro
    for decoy in MACROS[macro]:
        assert not is_exhausted(output, placed)
        assert perform(output, placed) == decoy
    assert is_exhausted(output, placed)
    assert perform(output, placed) == MACROS[macro][0]
    assert not any(is_exhausted(plain, np.full(9, 4, np.int8)) for plain in range(27))


def test_an_exhausted_favourite_gives_way_to_the_next_best_but_a_restore() -> None:
    scores = np.zeros(36)
    scores[[28, 1, 29, 9]] = [4, 3, 2, 1]  # Femitter on Enterprise1, a Restore, a macro, Remove
    placed = np.zeros(9, np.int8)
    assert acceptable_output(28, scores, placed) == 28
    assert acceptable_output(1, scores, placed) == 1  # the favourite may be a Restore
    placed[1] = 1
    assert acceptable_output(28, scores, placed) == 29
    placed[2] = 1
    assert acceptable_output(28, scores, placed) == 9


@pytest.mark.parametrize("favourite", [27, 35])
def test_of_equal_scores_the_first_that_is_acceptable_is_taken(favourite: int) -> None:
    scores, used_up = np.zeros(36), np.full(9, 4, np.int8)
    assert acceptable_output(favourite, scores, used_up) == 4  # those before it restore
    scores[favourite] = 2
    scores[0] = 1  # a Restore
    assert acceptable_output(favourite, scores, used_up) == 4
    scores[26] = 0.5
    assert acceptable_output(favourite, scores, used_up) == 26
