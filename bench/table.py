"""Tables of results, the same on the terminal and in the README."""

from collections.abc import Iterable, Sequence
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
    """A ratio and what it should be, at least or (``at_most``) at most."""

    what: str
    ratio: float
    bound: float
    at_most: bool = False

    def row(self) -> list[str]:
        """As a row of the table of goals."""
        met = self.ratio <= self.bound if self.at_most else self.ratio >= self.bound
        bound = f"{'≤' if self.at_most else '≥'} {self.bound:g}"
        return [self.what, times(self.ratio), bound, "met" if met else "NOT met"]


def goals(title: str, wanted: Iterable[Goal]) -> Table:
    """What was measured beside what it should be."""
    rows = [goal.row() for goal in wanted]
    return Table(f"{title}: goals", ("ratio", "measured", "goal", ""), rows)


def number(value: float) -> str:
    """A count or a rate, with its thousands apart."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def times(ratio: float) -> str:
    """A ratio."""
    return f"{ratio:.2f}"
