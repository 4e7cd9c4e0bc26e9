"""Dice as text: six-sided ones as faces with pips, several side by side, any other as its name."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from service.dice import Face

WIDTH: Final = 78
_BETWEEN_DICE: Final = " "
_BETWEEN_THROWS: Final = "   "
_TOP, _BOTTOM = "┌───────┐", "└───────┘"
_PIPS: Final = {
    1: ("   ", " ● ", "   "),
    2: ("●  ", "   ", "  ●"),
    3: ("●  ", " ● ", "  ●"),
    4: ("● ●", "   ", "● ●"),
    5: ("● ●", " ● ", "● ●"),
    6: ("● ●", "● ●", "● ●"),
}
_PLAIN: Final = str.maketrans("┌┐└┘─│●·", "++++-|o-")


@dataclass(frozen=True, slots=True)
class Shown:
    """The dice of one throw under a title (who threw). ``faces`` that are texts are names; with
    ``numbered`` the dice carry the numbers by which a player marks them."""

    title: str
    faces: tuple[Face, ...]
    numbered: bool = False


def face(number: int) -> tuple[str, ...]:
    """One six-sided die, five lines high."""
    sides = (f"│ {' '.join(pips)} │" for pips in _PIPS[number])
    return (_TOP, *sides, _BOTTOM)


def dice(faces: Sequence[Face], numbered: bool = False) -> list[str]:
    """The dice of one throw side by side."""
    if not all(isinstance(shown, int) and shown in _PIPS for shown in faces):
        return ["  ".join(f"[{shown}]" for shown in faces)]
    lines = [_BETWEEN_DICE.join(row) for row in zip(*map(_drawn, faces), strict=True)]
    if numbered:
        numbers = (f"{number:^{len(_TOP)}}" for number in range(1, len(faces) + 1))
        lines.append(_BETWEEN_DICE.join(numbers))
    return lines


def _drawn(shown: Face) -> tuple[str, ...]:
    return face(int(shown))


def throws(shown: Iterable[Shown], width: int = WIDTH) -> list[str]:
    """Several throws beside each other, in as many rows as the width asks for."""
    rows: list[list[list[str]]] = [[]]
    used = 0
    for each in shown:
        block = _block(each)
        taken = columns(block[0]) + len(_BETWEEN_THROWS)
        if rows[-1] and used + taken > width:
            rows.append([])
            used = 0
        rows[-1].append(block)
        used += taken
    return [line for row in rows for line in _beside(row)]


def _block(shown: Shown) -> list[str]:
    """Title and dice as lines of one width."""
    lines = [shown.title, *dice(shown.faces, shown.numbered)]
    widest = max(map(columns, lines))
    return [line + " " * (widest - columns(line)) for line in lines]


def _beside(blocks: Sequence[list[str]]) -> list[str]:
    empty = [" " * columns(block[0]) for block in blocks]
    rows = zip_longest(*blocks)
    return [
        _BETWEEN_THROWS.join(
            blank if part is None else part for part, blank in zip(row, empty, strict=True)
        ).rstrip()
        for row in rows
    ]


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: East Asian characters two, accents none."""
    widths = (
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in text
    )
    return sum(widths)


def plain(text: str) -> str:
    """The same drawing for a terminal that knows ASCII only."""
    return text.translate(_PLAIN)
