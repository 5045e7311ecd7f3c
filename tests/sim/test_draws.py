from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.scenario.images import SHELL_DETECTION_PROBABILITY
from workflow_rl.scenario.tables import signed
from workflow_rl.sim.draws import (
    CHOSE_NOBODY,
    FAVOURITE_BELOW,
    LAST_OUTCOME,
    TOOK_FAVOURITE,
    WORDS,
    choose,
    choose_exploit,
    count,
    first,
    happens,
    philox,
    recorded,
)

WORD = st.integers(0, WORDS - 1)
ALL = 2**64 - 1
SOME = st.one_of(st.integers(1, 2**13 - 1), st.integers(1, ALL)).map(signed)  # not empty


def members(a_set: int) -> list[int]:
    return [i for i in range(64) if a_set >> i & 1]


def even_words(n: int) -> list[int]:
    return [(2 * i + 1) * WORDS // (2 * n) for i in range(n)]


def reference_philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 as its paper writes it, for any counter."""
    x, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * x[0], WORDS)
        high1, low1 = divmod(0xCD9E8D57 * x[2], WORDS)
        x = [high1 ^ x[1] ^ k[0], low1, high0 ^ x[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % WORDS, (k[1] + 0xBB67AE85) % WORDS]
    return x


@pytest.mark.parametrize(
    "vector",  # counter, key and words
    [
        "0 0 0 0 0 0 6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        f"{'ffffffff ' * 6} 408f276d 41c83b0e a20bc7c6 6d5451fd",
        "243f6a88 85a308d3 13198a2e 3707344 a4093822 299f31d0 d16cfe09 94fdcceb 5001e420 24126ea1",
    ],
    ids=["zeros", "ones", "pi"],
)
def test_the_plain_philox_of_these_tests_gives_the_published_vectors(vector: str) -> None:
    numbers = [int(word, base=16) for word in vector.split()]
    assert reference_philox(numbers[:4], numbers[4:6]) == numbers[6:]


@settings(deadline=None, max_examples=300)
@given(step=WORD, episode=WORD, index=WORD, key0=WORD, key1=WORD)
def test_philox_equals_the_plain_one(
    step: int, episode: int, index: int, key0: int, key1: int
) -> None:
    got = philox(step, episode, index, key0, key1)
    assert list(got) == reference_philox([step, episode, index, 0], [key0, key1])


@settings(deadline=None)
@given(a_set=SOME)
def test_count_and_first_of_a_set(a_set: int) -> None:
    assert (count(a_set), first(a_set)) == (len(members(a_set)), min(members(a_set)))
    assert count(0) == 0


@pytest.mark.parametrize(
    "eligible", [0b1, 0b10, 0b1111000000000, 0b1011, 0b1111111111111, -1, -(2**63)]
)
def test_a_choice_is_uniform(eligible: int) -> None:
    n = len(members(eligible))
    chosen = Counter(choose(word, eligible) for word in even_words(100 * n))
    assert chosen == dict.fromkeys(members(eligible), 100)


@settings(deadline=None)
@given(word=WORD, eligible=SOME)
def test_a_choice_is_eligible_whatever_the_word(word: int, eligible: int) -> None:
    assert choose(word, eligible) in members(eligible)


@settings(deadline=None)
@given(eligible=SOME, outcome=st.integers(0, 63))
def test_a_recorded_choice_is_followed_or_else_the_lowest_is_taken(
    eligible: int, outcome: int
) -> None:
    expected = outcome if eligible >> outcome & 1 else min(members(eligible))
    assert choose(recorded(outcome), eligible) == expected


@pytest.mark.parametrize("others", range(1, 8))
def test_the_favourite_exploit_is_taken_three_times_of_four_and_the_others_evenly(
    others: int,
) -> None:
    options = 2 ** (others + 1) - 1
    chosen = Counter(choose_exploit(word, options) for word in even_words(400 * others))
    assert chosen == {0: 300 * others} | dict.fromkeys(range(1, others + 1), 100)


@settings(deadline=None)
@given(draw=st.integers(~LAST_OUTCOME, WORDS - 1), exploit=st.integers(0, 7))
def test_a_single_exploit_needs_no_chance(draw: int, exploit: int) -> None:
    assert choose_exploit(draw, 1 << exploit) == exploit


@pytest.mark.parametrize(
    ("outcome", "options", "chosen"),
    [
        (TOOK_FAVOURITE, 0b1001010, 1),
        (3, 0b1001010, 3),
        (6, 0b1001010, 6),
        (1, 0b1001010, 3),  # the favourite is no 'other': the lowest other one is taken
        (CHOSE_NOBODY, 0b1001010, 3),
        (0, 0b1110, 2),
    ],
)
def test_a_recorded_exploit_choice_is_followed_or_else_the_lowest_other_is_taken(
    outcome: int, options: int, chosen: int
) -> None:
    assert choose_exploit(recorded(outcome), options) == chosen


@pytest.mark.parametrize("probability", [0.0, 0.05, 0.5, SHELL_DETECTION_PROBABILITY, 1.0])
def test_an_event_happens_as_often_as_its_probability_says_or_as_recorded(
    probability: float,
) -> None:
    words = even_words(2000)
    assert sum(happens(word, probability) for word in words) == round(2000 * probability)
    assert happens(recorded(1), probability)
    assert not happens(recorded(0), probability)


def test_the_last_word_of_a_share_and_the_first_of_the_next() -> None:
    assert [choose(word, 0b10110) for word in (0, WORDS - 1)] == [1, 4]
    middle = (FAVOURITE_BELOW + WORDS) // 2
    borders = (0, FAVOURITE_BELOW - 1, FAVOURITE_BELOW, middle - 1, middle, WORDS - 1)
    assert [choose_exploit(word, 0b1110) for word in borders] == [1, 1, 2, 2, 3, 3]
    assert choose_exploit(FAVOURITE_BELOW, 0b110) == choose_exploit(WORDS - 1, 0b110) == 2
    assert [happens(word, 0.5) for word in (WORDS // 2 - 1, WORDS // 2)] == [True, False]
    assert (happens(0, 1e-9), happens(WORDS - 1, 1.0)) == (True, True)
