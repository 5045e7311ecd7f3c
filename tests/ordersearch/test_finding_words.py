"""The sentences of a finding, whole, for every case there is."""

import math
from dataclasses import FrozenInstanceError

import pytest

from workflow_rl.estimates import Estimate
from workflow_rl.ordersearch.finding import Finding, PairEffect, UnmetPair, listed


def pair(text: str, worth: float, half_width: float, is_clear: bool = False) -> PairEffect:
    first, second = text.split(" before ")
    return PairEffect(first, second, Estimate(worth, half_width), 0.9, is_clear, 12, 8)


A_B = pair("A before B", 10.0, 1.5, is_clear=True)
C_B = pair("C before B", 4.0, 0.25, is_clear=True)
D_A = pair("D before A", 3.0, 2.0, is_clear=True)
A_C = pair("A before C", 2.0, 1.0)
B_D = pair("B before D", 0.5, 3.25)
C_D = pair("C before D", -0.5, 4.0)  # -4.5 to 3.5


def finding(
    *effects: PairEffect,
    either: tuple[PairEffect, ...] = (),
    compliant: int = 20,
    idle: tuple[str, ...] = (),
    equal_orders: int = 1_260,
    unmet: tuple[UnmetPair, ...] = (),
) -> Finding:
    return Finding(24, compliant, effects, either, idle, (), equal_orders, 0.8, unmet)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            finding(compliant=0),
            "No workflow complied: none of the 24 tried reached the compliance asked for, so no "
            "order can be recommended",
        ),
        (
            finding(equal_orders=1),
            "One order alone is allowed: there is nothing to compare it with",
        ),
        (finding(compliant=1), "Only 1 trial complied: too few to tell orders apart"),
        (finding(compliant=2), "Only 2 trials complied: too few to tell orders apart"),
        (finding(compliant=3), "Only 3 trials complied: too few to tell orders apart"),
        (
            finding(A_B, A_C, equal_orders=60),
            "A before B; the rest makes no difference that shows: 60 equal orders",
        ),
        (
            finding(A_B, C_B, D_A, A_C),
            "A and C before B, D before A; the rest makes no difference that shows: "
            "1,260 equal orders",
        ),
        (
            finding(A_C, B_D, either=(A_C, B_D)),
            "either A before C or B before D matters, these trials cannot tell which; the rest "
            "makes no difference that shows: 1,260 equal orders",
        ),
        (
            finding(A_B, A_C, B_D, either=(A_C, B_D)),
            "A before B, and besides either A before C or B before D matters, these trials "
            "cannot tell which; the rest makes no difference that shows: 1,260 equal orders",
        ),
        (
            finding(A_C, B_D),
            "no order is better than another as far as 20 trials can tell: 1,260 equal orders",
        ),
        (
            finding(A_B, A_C, equal_orders=1),
            "A before B; the rest makes no difference that shows: one order",
        ),
    ],
)
def test_the_headline_says_what_was_found(found: Finding, sentence: str) -> None:
    assert found.headline == sentence


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        (finding(), []),
        (finding(A_C, B_D), ["No pair is worth more than 3.8 points, by these trials."]),
        (finding(C_D), ["No pair is worth more than 4.5 points, by these trials."]),
        (finding(A_C, B_D, either=(A_C, B_D)), []),
        (
            finding(A_C, B_D, either=(A_C,)),
            ["No other pair is worth more than 3.8 points, by these trials."],
        ),
        (
            finding(A_B, C_B, A_C),
            [
                "Worth 10.0 points an episode (8.5 to 11.5): A before B.",
                "Worth 4.0 points an episode (3.8 to 4.2): C before B.",
                "No other pair is worth more than 3.0 points, by these trials.",
            ],
        ),
        (
            finding(unmet=(UnmetPair("A", "B", 1), UnmetPair("C", "B", 2))),
            [
                "The one trial with A before B did not comply: what such orders are worth is not "
                "known.",
                "None of the 2 trials with C before B complied: what such orders are worth is not "
                "known.",
            ],
        ),
        (
            finding(idle=("D",)),
            ["By the rules the place of D cannot matter against this attacker."],
        ),
        (
            finding(idle=("C", "D")),
            ["By the rules the places of C and D cannot matter against this attacker."],
        ),
    ],
)
def test_the_details_say_the_rest(found: Finding, sentences: list[str]) -> None:
    assert list(found.details) == sentences


def test_words_are_listed_as_in_a_sentence() -> None:
    assert listed(["A"]) == "A"
    assert listed(["A", "B"]) == "A and B"
    assert listed(["A", "B", "C", "D"]) == "A, B, C and D"


def test_what_was_found_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        finding(A_B).explained = math.nan  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        A_B.is_clear = False  # type: ignore[misc]
