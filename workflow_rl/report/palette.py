"""The colours of the figures: each has a light and a dark form, and the page swaps them."""

from typing import Final

# name -> (on a light page, on a dark page); the light form is what figures are made with
COLOURS: Final = {
    "ink": ("#1b2430", "#e8ebf0"),
    "muted": ("#566170", "#a9b4c2"),
    "grid": ("#e2e6eb", "#2c343e"),
    "faint": ("#b4bdc8", "#56616e"),
    "page": ("#fefefe", "#171b21"),
    "good": ("#1f5fbf", "#7db4ff"),
    "better": ("#15803d", "#5fd48f"),
    "bad": ("#b45309", "#ffb15c"),
    "worse": ("#c0262d", "#ff8c85"),
    "other": ("#6b46c9", "#b9a0ff"),
    "neutral": ("#f1f3f6", "#222a33"),
    "band": ("#cfdaea", "#34435a"),
}
INK, MUTED, GRID, FAINT, PAGE = (COLOURS[n][0] for n in ("ink", "muted", "grid", "faint", "page"))
GOOD, BETTER, BAD, WORSE, OTHER, NEUTRAL, BAND = (
    COLOURS[n][0] for n in ("good", "better", "bad", "worse", "other", "neutral", "band")
)
SERIES: Final = (GOOD, BAD, BETTER, OTHER, WORSE, MUTED)  # for several runs


def dark_forms() -> dict[str, str]:
    """Returns what the page replaces each colour by when it is dark."""
    return dict(COLOURS.values())
