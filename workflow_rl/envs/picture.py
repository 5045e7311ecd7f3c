"""One moment of an episode as an image: the network, what is true of it and what Blue marked.

Drawn with numpy and a built-in font, so that videos need no other library.
"""

import functools
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.render import (
    HostView,
    blue_sentence,
    host_view,
    red_sentence,
    reward_tenths,
    situation,
)
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.state import Access, Activity, Mark, RedAction

Image = NDArray[np.uint8]  # (height, width, 3)
Colour = tuple[int, int, int]

# A letter is 5 dots wide; 7 rows stand on the line and 2 hang below it.
_LETTER_WIDTH: Final = 5
_LETTER_HEIGHT: Final = 9
_ADVANCE: Final = _LETTER_WIDTH + 1  # dots from one letter to the next

WIDTH: Final = 960  # the least; both even: video encoders ask for it
HEIGHT: Final = 640
_MARGIN: Final = 12
_SCALE: Final = 2  # of letters, in pixels for each of their dots
_LINE: Final = _SCALE * (_LETTER_HEIGHT + 1) + 4
_NETWORK_TOP: Final = _MARGIN + 4 * _LINE + 8
_COLUMN: Final = (WIDTH - _MARGIN) // 3  # from one zone to the next
_BOX: Final = 96  # from one host to the next
_GAP: Final = 6  # between hosts
_FRAME: Final = 3  # pixels of a frame around whom somebody acted on

_INK: Final = (27, 36, 48)
_MUTED: Final = (86, 97, 112)
_PAGE: Final = (254, 254, 254)
_ZONE: Final = (226, 230, 235)
_BLUE: Final = (31, 95, 191)
_RED: Final = (192, 38, 45)
_FILL: Final = {
    Access.NONE: (255, 255, 255),
    Access.USER: (255, 231, 186),
    Access.PRIVILEGED: (255, 205, 201),
}
_MARK: Final = {
    Mark.NO: (180, 189, 200),
    Mark.UNKNOWN: (107, 70, 201),
    Mark.USER: (214, 137, 16),
    Mark.PRIVILEGED: _RED,
}
_WORDS: Final = {Access.NONE: "no access", Access.USER: "user", Access.PRIVILEGED: "privileged"}
_MARK_WORDS: Final = {
    Mark.NO: "clean",
    Mark.UNKNOWN: "unknown",
    Mark.USER: "user",
    Mark.PRIVILEGED: "privileged",
}


# Bands of letters: a line that names them, then their nine rows, side by side.
_SHEET: Final = """\
A     B     C     D     E     F     G     H     I     J     K     L     M     N     O     P
.###. ####. .###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###. ####.
#...# #...# #...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## ##..# #...# #...#
#...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# #.#.# #...# #...#
##### ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #..## #...# ####.
#...# #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #...# #...# #....
#...# #...# #...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #...# #...# #....
#...# ####. .###. ####. ##### #.... .###. #...# .###. .##.. #...# ##### #...# #...# .###. #....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
Q     R     S     T     U     V     W     X     Y     Z     a     b     c     d     e     f
.###. ####. .#### ##### #...# #...# #...# #...# #...# ##### ..... #.... ..... ....# ..... ..##.
#...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....# ..... #.... ..... ....# ..... .#...
#...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. .###. ####. .###. .#### .###. ####.
#...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. ....# #...# #.... #...# #...# .#...
#.#.# #.#.. ....# ..#.. #...# #...# #.#.# .#.#. ..#.. .#... .#### #...# #.... #...# ##### .#...
#..#. #..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #.... #...# #...# #.... #...# #.... .#...
.##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. ##### .#### ####. .###. .#### .###. .#...
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
g     h     i     j     k     l     m     n     o     p     q     r     s     t     u     v
..... #.... ..#.. ...#. #.... .##.. ..... ..... ..... ..... ..... ..... ..... .#... ..... .....
..... #.... ..... ..... #.... ..#.. ..... ..... ..... ..... ..... ..... ..... .#... ..... .....
.#### ####. .##.. ..##. #..#. ..#.. ##.#. ####. .###. ####. .#### #.##. .#### ####. #...# #...#
#...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...# #...# #...# ##... #.... .#... #...# #...#
#...# #...# ..#.. ...#. ##... ..#.. #.#.# #...# #...# #...# #...# #.... .###. .#... #...# #...#
#...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...# #...# #...# #.... ....# .#... #...# .#.#.
.#### #...# .###. ...#. #..#. .###. #.#.# #...# .###. ####. .#### #.... ####. ..##. .#### ..#..
....# ..... ..... #..#. ..... ..... ..... ..... ..... #.... ....# ..... ..... ..... ..... .....
.###. ..... ..... .##.. ..... ..... ..... ..... ..... #.... ....# ..... ..... ..... ..... .....
w     x     y     z     0     1     2     3     4     5     6     7     8     9     .     ,
..... ..... ..... ..... .###. ..#.. .###. .###. ...#. ##### .###. ##### .###. .###. ..... .....
..... ..... ..... ..... #...# .##.. #...# #...# ..##. #.... #.... ....# #...# #...# ..... .....
#...# #...# #...# ##### #..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...# ..... .....
#.#.# .#.#. #...# ...#. #.#.# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .#### ..... .....
#.#.# ..#.. #...# ..#.. ##..# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....# ..... .....
#.#.# .#.#. #...# .#... #...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ....# .##.. .##..
.#.#. #...# .#### ##### .###. .###. ##### .###. ...#. .###. .###. .#... .###. .###. .##.. .##..
..... ..... ....# ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#..
..... ..... .###. ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .#...
:     '     -     +     _     /     (     )     >     |     ?
..... ..#.. ..... ..... ..... ....# ...#. .#... ..... ..#.. .###.
.##.. ..#.. ..... ..#.. ..... ....# ..#.. ..#.. .#... ..#.. #...#
.##.. ..#.. ..... ..#.. ..... ...#. .#... ...#. ..#.. ..#.. ....#
..... ..... .###. ##### ..... ..#.. .#... ...#. ...#. ..#.. ...#.
..... ..... ..... ..#.. ..... .#... .#... ...#. ..#.. ..#.. ..#..
.##.. ..... ..... ..#.. ..... #.... ..#.. ..#.. .#... ..#.. .....
.##.. ..... ..... ..... ##### #.... ...#. .#... ..... ..#.. ..#..
..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
"""


def _letters() -> dict[str, NDArray[np.bool_]]:
    """Returns each letter's dots, (9, 5)."""
    lines = _SHEET.splitlines()
    letters = {" ": np.zeros((_LETTER_HEIGHT, _LETTER_WIDTH), np.bool_)}
    for start in range(0, len(lines), 1 + _LETTER_HEIGHT):
        names, *rows = lines[start : start + 1 + _LETTER_HEIGHT]
        dots = np.array([[dot == "#" for dot in row] for row in rows])
        for at in range(0, len(names), _ADVANCE):
            letters[names[at]] = dots[:, at : at + _LETTER_WIDTH]
    return letters


_LETTERS: Final = _letters()


@functools.lru_cache(maxsize=1024)
def dots_of(text: str, scale: int = 1) -> NDArray[np.bool_]:
    """Returns (9 * scale, 6 * scale * letters) where a line of text is inked.

    Args:
        text: the line; a letter that is not in the sheet shows as a question mark.
        scale: pixels of a dot's side.
    """
    dots = np.zeros((_LETTER_HEIGHT, _ADVANCE * len(text)), np.bool_)
    for k, letter in enumerate(text):
        here = slice(k * _ADVANCE, k * _ADVANCE + _LETTER_WIDTH)
        dots[:, here] = _LETTERS.get(letter, _LETTERS["?"])
    inked = dots.repeat(scale, axis=0).repeat(scale, axis=1)
    inked.flags.writeable = False
    return inked


class _Place(NamedTuple):
    """Where a host's box is."""

    top: int
    left: int

    @property
    def bottom(self) -> int:
        return self.top + _BOX - _GAP

    @property
    def right(self) -> int:
        return self.left + _COLUMN - 2 * _MARGIN - _GAP


@functools.cache
def _places(network: Network) -> list[_Place]:
    """Returns each host's box: its zone's column, one below the other."""
    rows = dict.fromkeys(network.zone_names, 0)
    places = []
    for host in network.host_names:
        zone = network.zone_of[host]
        top = _NETWORK_TOP + _LINE + 8 + rows[zone] * _BOX
        column = network.zone_names.index(zone)
        places.append(_Place(top, _MARGIN + column * _COLUMN + _GAP + _GAP // 2))
        rows[zone] += 1
    return places


def _write(
    image: Image, top: int, left: int, text: str, colour: Colour = _INK, scale: int = 2
) -> None:
    """Writes a line; what does not fit is cut."""
    dots = dots_of(text, scale)
    there = image[top : top + dots.shape[0], left : left + dots.shape[1]]
    there[dots[: there.shape[0], : there.shape[1]]] = colour


def _frame(image: Image, place: _Place, colour: Colour, inset: int, width: int = _FRAME) -> None:
    """Draws a box's frame, `inset` pixels inside its edge."""
    box = image[place.top + inset : place.bottom - inset, place.left + inset : place.right - inset]
    box[:width] = box[-width:] = colour
    box[:, :width] = box[:, -width:] = colour


def _draw_host(image: Image, network: Network, host: int, view: HostView) -> None:
    """Draws a host: coloured by the truth, with a bar in the colour of Blue's mark."""
    place, name = _places(network)[host], network.host_names[host]
    top, left = place
    image[top : place.bottom, left : place.right] = _FILL[view.access]
    _frame(image, place, _MARK[Mark.NO], 0, 1)
    image[top : place.bottom, left : left + 8] = _MARK[view.mark]
    text = left + 18
    _write(image, top + 8, text, name)
    note = "Red starts here" if name == network.foothold else ""
    if view.activity is not Activity.NONE:
        note = f"{view.activity.name.lower()} seen"
    if note:
        _write(image, top + 12, place.right - 10 - _ADVANCE * len(note), note, _RED, scale=1)
    _write(image, top + 31, text, "truth", _MUTED)
    _write(image, top + 31, text + 84, _WORDS[view.access])
    _write(image, top + 52, text, "Blue", _MUTED)
    _write(image, top + 52, text + 84, _MARK_WORDS[view.mark])
    if view.decoys:
        _write(image, top + 75, text, f"decoys: {', '.join(view.decoys)}", _BLUE, scale=1)


@functools.cache
def _background(network: Network) -> Image:
    """Returns the page with its zones; Scenario2's is of WIDTH and HEIGHT, others may be larger."""
    width = max(WIDTH, _MARGIN + len(network.zones) * _COLUMN)
    bottom = max(place.bottom for place in _places(network)) + _GAP + _GAP // 2
    height = max(HEIGHT, bottom + 4)
    image = np.full((height + height % 2, width + width % 2, 3), _PAGE, np.uint8)
    for column, zone in enumerate(network.zone_names):
        left = _MARGIN + column * _COLUMN
        image[_NETWORK_TOP : len(image) - 4, left : left + _COLUMN - _MARGIN] = _ZONE
        _write(image, _NETWORK_TOP + 6, left + 10, f"{zone} subnet", _MUTED)
    image.flags.writeable = False
    return image


def frame_image(state: Any, config: GameConfig, total: float) -> Image:
    """Returns one moment of an episode as an image, (HEIGHT, WIDTH, 3) or larger.

    Args:
        state: the environment's record.
        config: the game.
        total: the return so far.
    """
    network = config.network
    image = _background(network).copy()
    places = _places(network)
    lines: tuple[tuple[str, Colour], ...] = (
        (situation(state, config), _INK),
        (f"Blue: {blue_sentence(state, network)}", _BLUE),
        (f"Red:  {red_sentence(state, network)}", _RED),
        (f"reward {sum(reward_tenths(state)) / 10:.1f} | return so far {total:.1f}", _INK),
    )
    for k, (line, colour) in enumerate(lines):
        _write(image, _MARGIN + k * _LINE, _MARGIN, line, colour)
    for host in range(len(network.hosts)):
        _draw_host(image, network, host, host_view(state, network, host))
    if state["red_target"] != NOBODY and state["red_action"] > RedAction.DISCOVER_REMOTE_SYSTEMS:
        _frame(image, places[state["red_target"]], _RED, -_FRAME)
    acted_on = actions_of(network).hosts
    if state["blue_action"] != NOBODY and (host := acted_on[state["blue_action"]]) >= 0:
        _frame(image, places[host], _BLUE, 0)
    return image
