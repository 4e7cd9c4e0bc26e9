"""Tables of results, the same on the terminal and in the README."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table with notes below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """The table in Markdown, its columns aligned so that it can be read as it stands."""
        cells = [self.head, *self.rows]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.head))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines = [_line(self.head, widths), _line(rule, widths)]
        lines += [_line(row, widths) for row in self.rows]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"### {self.title}\n", *lines, *notes, ""])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    more = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "| " + " | ".join((first, *more)) + " |"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a ratio should be, at least or at most."""

    bound: float
    at_most: bool = False

    def judged(self, ratio: float) -> str:
        """The goal and whether it is met."""
        met = ratio <= self.bound if self.at_most else ratio >= self.bound
        return f"{'≤' if self.at_most else '≥'} {self.bound:g}: {'met' if met else 'NOT met'}"


def at_least(bound: float) -> Goal:
    """A goal that more is better for."""
    return Goal(bound)


def at_most(bound: float) -> Goal:
    """A goal that less is better for."""
    return Goal(bound, at_most=True)


def number(value: float) -> str:
    """A count or a rate, with its thousands apart."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def times(ratio: float) -> str:
    """A ratio."""
    return f"{ratio:.2f}"
