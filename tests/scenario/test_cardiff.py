from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.scenario.cardiff import (
    IS_RESTORE,
    MACRO_LISTS,
    NUM_OUTPUTS,
    PLAIN_ACTIONS,
    START_OUTPUTS,
    DecoyLists,
)

# The winner's table, output by output: actions 0..26, then the lists of macros 1000..1008.
PLAIN = [133, 134, 135, 139, 3, 4, 5, 9, 16, 17, 18, 22, 11, 12, 13, 14]
PLAIN += [141, 142, 143, 144, 132, 2, 15, 24, 25, 26, 27]
MACROS = [
    [55, 107, 120, 29],
    [43],
    [44],
    [37, 115, 76, 102],
    [51, 116, 38, 90],
    [130, 91],
    [131],
    [54, 106, 28, 119],
    [61, 35, 113, 126],
]
RESTORED = {133: 0, 134: 1, 135: 2, 141: 3, 142: 4, 143: 5, 144: 6, 132: 7, 139: 8}


class Slow:
    """One environment by the description: a list of used decoys for each macro."""

    def __init__(self) -> None:
        self.used: list[list[int]] = [[] for _ in MACROS]

    def left(self, output: int) -> list[int]:
        return [a for a in MACROS[output - 27] if a not in self.used[output - 27]]

    def action(self, output: int) -> int:
        if output < 27:
            if PLAIN[output] in RESTORED:
                self.used[RESTORED[PLAIN[output]]] = []
            return PLAIN[output]
        if not self.left(output):
            return MACROS[output - 27][0]
        self.used[output - 27].append(self.left(output)[0])
        return self.used[output - 27][-1]

    def evaluated(self, scores: Any) -> int:
        ranking = sorted(range(36), key=lambda output: -scores[output])
        if ranking[0] < 27 or self.left(ranking[0]):
            return self.action(ranking[0])
        for output in ranking:
            if output < 27 and PLAIN[output] < 132:
                return self.action(output)
            if output >= 27 and self.left(output):
                return self.action(output)
        raise AssertionError("there is always an Analyse")


def test_the_table_is_the_winners() -> None:
    assert PLAIN_ACTIONS.tolist() == PLAIN
    assert [list(decoys) for decoys in MACRO_LISTS] == MACROS
    assert NUM_OUTPUTS == 36
    assert np.flatnonzero(IS_RESTORE).tolist() == [0, 1, 2, 3, 16, 17, 18, 19, 20]


def test_the_start_is_femitter_and_tomcat_on_user2_then_haraka_on_enterprise0() -> None:
    lists = DecoyLists(2)
    played = [lists.actions(np.full(2, output)).tolist() for output in START_OUTPUTS]
    assert played == [[51, 51], [116, 116], [55, 55]]
    assert lists.placed.tolist() == [[1, 0, 0, 0, 2, 0, 0, 0, 0]] * 2


def test_a_restore_starts_that_hosts_list_over_and_no_other() -> None:
    lists = DecoyLists(1)
    outputs = [27, 27, 31, 0, 27, 31]  # two decoys on Enterprise0, one on User2, Restore, ...
    played = [int(lists.actions(np.array([output]))[0]) for output in outputs]
    assert played == [55, 107, 51, 133, 55, 116]


def test_lists_are_cleared_where_an_episode_ended() -> None:
    lists = DecoyLists(3)
    lists.actions(np.array([31, 31, 31]))
    lists.clear(np.array([True, False, True]))
    assert lists.actions(np.array([31, 31, 31])).tolist() == [51, 116, 51]
    lists.clear()
    assert not lists.placed.any()


@settings(max_examples=40, deadline=None)
@given(outputs=st.lists(st.lists(st.integers(0, 35), min_size=4, max_size=4), max_size=60))
def test_training_equals_the_description(outputs: list[list[int]]) -> None:
    lists, slow = DecoyLists(4), [Slow() for _ in range(4)]
    for step in outputs:
        expected = [one.action(output) for one, output in zip(slow, step, strict=True)]
        assert lists.actions(np.array(step)).tolist() == expected


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), few=st.integers(1, 9))
def test_evaluation_equals_the_description(seed: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((6, 36))
    scores[:, rng.choice(36, few, replace=False)] += 1  # a few favourites, so that lists run out
    lists, slow = DecoyLists(6), [Slow() for _ in range(6)]
    for _ in range(40):
        rows = rng.integers(0, 6, 6)
        expected = [one.evaluated(scores[row]) for one, row in zip(slow, rows, strict=True)]
        assert lists.best_actions(scores, rows).tolist() == expected


def test_an_exhausted_favourite_gives_way_to_the_next_best_but_a_restore() -> None:
    scores = np.zeros((1, 36))
    scores[0, [28, 1, 0, 9]] = [4, 3, 2, 1]  # Femitter on Enterprise1, two Restores, Remove
    lists, rows = DecoyLists(1), np.array([0])
    assert [int(lists.best_actions(scores, rows)[0]) for _ in range(3)] == [43, 17, 17]


@pytest.mark.parametrize("output", [-1, 36])
def test_what_is_no_output_is_refused_and_nothing_is_noted(output: int) -> None:
    lists = DecoyLists(2)
    with pytest.raises(ValueError, match=f"output {output} is not one of 0 to 35"):
        lists.actions(np.array([31, output]))
    assert not lists.placed.any()
