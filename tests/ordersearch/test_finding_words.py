"""The sentences of a finding, whole, for every case there is."""

from dataclasses import replace

import pytest

from workflow_rl.estimates import Estimate
from workflow_rl.ordersearch.finding import Finding, PairEffect, UnmetPair


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
    best: int = 1_260,
    equals: int = 1_260,
    unmet: tuple[UnmetPair, ...] = (),
) -> Finding:
    listed, shown = tuple(range(best)), tuple(range(equals))
    return Finding(
        24, compliant, idle, listed, best, shown, 123, effects, either, explained=0.8, unmet=unmet
    )


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (finding(A_B, A_C, best=60, equals=60), "A before B; the 60 best orders are equal within"),
        (finding(A_B, C_B, D_A, A_C), "A and C before B, D before A; the 1,260 best orders are"),
        (
            finding(A_B, best=60, equals=20),
            "A before B; 20 of the 60 best orders are equal within 1 point; 20 trials cannot tell "
            "the others from them: about 130 more would",
        ),
        (
            finding(A_B, best=60, equals=1),
            "A before B; 20 trials cannot tell the 60 best orders apart: about 130 more would",
        ),
        (
            replace(finding(A_B, best=60, equals=20), more_trials=0),
            "A before B; 20 of the 60 best orders are equal within 1 point, the others are not",
        ),
        (finding(A_C, either=(A_C, B_D)), "either A before C or B before D matters, ... 1,260 b"),
        (
            finding(A_B, A_C, B_D, either=(A_C, B_D)),
            "A before B, and either A before C or B before D matters, ...; the 1,260 best",
        ),
        (finding(A_C, B_D), "no order is shown to be better than another; the 1,260 orders are eq"),
        (finding(A_B, A_C, best=1), "A before B; this leaves one order"),
    ],
)
def test_the_headline_says_what_was_found(found: Finding, sentence: str) -> None:
    begins, _, ends = sentence.partition("...")
    assert found.headline.startswith(begins)
    assert ends in found.headline
