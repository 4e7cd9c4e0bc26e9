"""What an action and a read cost as logs grow and as tables fill.

python -m bench.growth [--long]
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.databases import NewDatabase, place, postgresql
from bench.filled import Filling
from bench.load import Slice
from bench.measure import Case, Form, interleaved, middle, run, write_tables
from bench.process import cubilete
from bench.table import Goal, Table, goals, number, times

_CLIENTS: Final = 16
_LENGTHS: Final = {10: 64, 1_000: 64, 10_000: 32}  # entries: how many games of that length
_SHORTEST: Final = min(_LENGTHS)
_LONG_TARGET: Final = 1_000  # keys for 16,000 throws
_USUAL: Final = (6, 100)  # entries of a game that fills the table, and its target
_FEW: Final = 10_000
_PLAYED: Final = 256  # games that are played, out of all
_COLD: Final = 1_000  # games that are read once in a slice
_DATABASES: Final = ("SQLite", "PostgreSQL")


def tables(form: Form) -> Iterator[Table]:
    """Length of the log, then number of games; the goals at the end."""
    with postgresql() as make:
        lengths = _by_length(form, make)
        yield lengths.table
        counts = _by_count(form, make)
        yield counts.table
    yield goals("Growth", [*lengths.goals, *counts.goals])


@dataclass(frozen=True, slots=True)
class Found:
    """A table and the goals that belong to it."""

    table: Table
    goals: list[Goal]


def _url(database: str, here: Path, make: NewDatabase) -> str:
    return f"sqlite:///{here / 'cubilete.db'}" if database == "SQLite" else make()


# --- the length of the log ----------------------------------------------------------------------


def _by_length(form: Form, make: NewDatabase) -> Found:
    with place() as here, ExitStack() as running:
        cases: dict[str, Case] = {}
        for database in _DATABASES:
            own = here / database
            own.mkdir()
            url = _url(database, own, make)
            filling = Filling(url, own)
            known = {
                entries: write_tables(
                    filling.copies(games, entries, _LONG_TARGET), own, str(entries)
                )
                for entries, games in _LENGTHS.items()
            }
            filling.close()
            server = running.enter_context(cubilete(own, url))
            for entries, played in known.items():
                Case(server.url, played, "act", _CLIENTS).once()
                for mode in ("act", "read"):
                    name = _name(database, entries, mode)
                    cases[name] = Case(server.url, played, mode, _CLIENTS)
        found = interleaved(cases, form)
    rows = [
        _row(found, database, entries, _SHORTEST) for database in _DATABASES for entries in _LENGTHS
    ]
    relative = f"cost / at {_SHORTEST}"
    table = Table(
        "Growth: the length of the log",
        ("entries", "actions/s", relative, "reads/s", relative),
        rows,
        [
            f"{_CLIENTS} clients. The games grow while they are measured, by some hundred entries"
            " each: those of the first row do not stay at 10."
        ],
    )
    return Found(table, _bounds(found, max(_LENGTHS), _SHORTEST, "entries", 1.2, ("act", "read")))


def _name(database: str, size: int, mode: str) -> str:
    return f"{database}, {size:,} {mode}"


def _row(found: Mapping[str, Slice], database: str, size: int, first: int) -> list[str]:
    row = [f"{database}, {size:,}"]
    for mode in ("act", "read"):
        rate = found[_name(database, size, mode)].rate
        row += [number(rate), times(found[_name(database, first, mode)].rate / rate)]
    return row


def _bounds(
    found: Mapping[str, Slice],
    size: int,
    first: int,
    unit: str,
    bound: float,
    modes: tuple[str, ...],
) -> list[Goal]:
    words = {"act": "action", "read": "read", "cold": "first read"}
    return [
        Goal(
            f"{database}: {words[mode]}, cost at {size:,} {unit} / at {first:,}",
            found[_name(database, first, mode)].rate / found[_name(database, size, mode)].rate,
            bound,
            at_most=True,
        )
        for database in _DATABASES
        for mode in modes
    ]


# --- the number of games ------------------------------------------------------------------------


def _by_count(form: Form, make: NewDatabase) -> Found:
    counts = (_PLAYED, _FEW, form.games)
    cases: dict[str, Case] = {}
    cold: dict[str, list[Case]] = {}
    with place() as here, ExitStack() as running:
        for database in _DATABASES:
            for count in counts:
                own = here / f"{database}-{count}"
                own.mkdir()
                url = _url(database, own, make)
                played, unread = _filled(url, count, own, form.slices)
                server = running.enter_context(cubilete(own, url))
                Case(server.url, played, "act", _CLIENTS).once()
                for mode in ("act", "read"):
                    name = _name(database, count, mode)
                    cases[name] = Case(server.url, played, mode, _CLIENTS)
                if unread:
                    cold[_name(database, count, "cold")] = [
                        Case(server.url, part, "read", _CLIENTS) for part in unread
                    ]
        found = interleaved(cases, form)
        rounds = [
            {name: parts[place].once() for name, parts in cold.items()}
            for place in range(form.slices)
        ]
    found |= {name: middle([each[name] for each in rounds]) for name in cold}
    rows = [_count_row(found, database, count) for database in _DATABASES for count in counts]
    relative = f"cost / at {_FEW:,}"
    table = Table(
        "Growth: the number of games",
        ("games", "actions/s", relative, "reads/s", relative, "first reads/s", relative),
        rows,
        [
            f"{_CLIENTS} clients, which play {_PLAYED} games spread evenly over all of them. A"
            " first read is of a game that nobody has asked for since the server started."
            f" The {form.name} form fills the tables with {form.games:,} games at most"
            f"{'; the goal is about 1,000,000.' if form.games < 1_000_000 else '.'}"
        ],
    )
    modes = ("act", "read", "cold")
    return Found(table, _bounds(found, form.games, _FEW, "games", 1.5, modes))


def _filled(url: str, count: int, here: Path, slices: int) -> tuple[Path, list[Path]]:
    """A database with so many games: those that will be played, and for each slice others that
    will be read one time."""
    filling = Filling(url, here)
    games = filling.copies(count, *_USUAL)
    filling.close()
    step = len(games) // _PLAYED
    others = [game for place, game in enumerate(games) if place % step]
    sample = others[:: max(1, len(others) // (_COLD * slices))][: _COLD * slices]
    unread = [
        write_tables(sample[number::slices], here, f"unread-{number}")
        for number in range(slices if sample else 0)
    ]
    return write_tables(games[::step][:_PLAYED], here, "played"), unread


def _count_row(found: Mapping[str, Slice], database: str, count: int) -> list[str]:
    row = _row(found, database, count, _FEW)
    few, own = (found.get(_name(database, size, "cold")) for size in (_FEW, count))
    return [*row, *((number(own.rate), times(few.rate / own.rate)) if few and own else ("", ""))]


if __name__ == "__main__":
    run(tables)
