"""The sentences of a finding, whole, for every case there is."""

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
    return Finding(24, compliant, idle, (), equal_orders, effects, either, 0.8, unmet)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (finding(compliant=0), "No workflow complied: none of the 24 tried ... be recommended"),
        (finding(equal_orders=1), "One order alone is allowed: ... nothing to compare it with"),
        (finding(compliant=1), "Only 1 trial complied: too few to tell orders apart"),
        (finding(compliant=3), "Only 3 trials complied: too few to tell orders apart"),
        (finding(A_B, A_C, equal_orders=60), "A before B; ...: 60 equal orders"),
        (finding(A_B, C_B, D_A, A_C), "A and C before B, D before A; ...: 1,260 equal orders"),
        (finding(A_C, either=(A_C, B_D)), "either A before C or B before D matters, ...: 1,260 eq"),
        (
            finding(A_B, A_C, B_D, either=(A_C, B_D)),
            "A before B, and besides either A before C or B before D matters, ...: 1,260 equal",
        ),
        (finding(A_C, B_D), "no order is better than another as far as 20 trials ...: 1,260 equal"),
        (finding(A_B, A_C, equal_orders=1), "A before B; ...: one order"),
    ],
)
def test_the_headline_says_what_was_found(found: Finding, sentence: str) -> None:
    begins, _, ends = sentence.partition("...")
    assert found.headline.startswith(begins)
    assert ends in found.headline


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        (finding(), []),
        (finding(A_C, B_D), ["No pair is worth more than 3.8 points"]),
        (finding(C_D), ["No pair is worth more than 4.5 points"]),
        (finding(A_C, B_D, either=(A_C, B_D)), []),
        (finding(A_C, B_D, either=(A_C,)), ["No other pair is worth more than 3.8 points"]),
        (
            finding(A_B, C_B, A_C),
            [
                "Worth 10.0 points an episode (8.5 to 11.5): A before B.",
                "Worth 4.0 points an episode (3.8 to 4.2): C before B.",
                "No other pair is worth more than 3.0 points",
            ],
        ),
        (
            finding(unmet=(UnmetPair("A", "B", 1), UnmetPair("C", "B", 2))),
            [
                "The one trial with A before B did not comply: ",
                "None of the 2 trials with C before B complied: ",
            ],
        ),
        (finding(idle=("D",)), ["By the rules the place of D cannot matter"]),
        (finding(idle=("C", "D")), ["By the rules the places of C and D cannot matter"]),
    ],
)
def test_the_details_say_the_rest(found: Finding, sentences: list[str]) -> None:
    for said, begins in zip(found.details, sentences, strict=True):
        assert said.startswith(begins)


def test_words_are_listed_as_in_a_sentence() -> None:
    assert listed(["A"]) == "A"
    assert listed(["A", "B"]) == "A and B"
    assert listed(["A", "B", "C", "D"]) == "A, B, C and D"
