"""What a server holds in memory: idle, under load, and for each game that it keeps at hand.

python -m bench.memory [--long]
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.databases import place
from bench.filled import Filling
from bench.measure import Case, Form, create, run, write_tables
from bench.process import Process, cubilete
from bench.table import Table

_CLIENTS: Final = 64
_GAMES: Final = 10_000
_CLIENTS_READING: Final = 16
_USUAL: Final = (6, 100)  # entries of a game, and its target
_LONGEST: Final = (6, 10_000, 100)  # the longest key chain there is; so many games of that kind


def tables(form: Form) -> Iterator[Table]:
    """Two servers, one after the other."""
    with place() as here:
        rows = [*_under_load(here / "load", form), *_with_games(here / "games")]
    yield Table(
        "Memory of one worker on SQLite",
        ("state", "MiB", "grown by"),
        [[state, f"{now:.0f}", f"{grown:+.0f}"] for state, now, grown in rows],
        [
            "Resident memory of the process. A game that is only read needs no key chain; one that"
            f" is played keeps its checkpoints. The last row is of {_LONGEST[2]} games and scaled:"
            f" grown by so much if there were {_GAMES:,} of them."
        ],
    )


Row = tuple[str, float, float]


def _under_load(here: Path, form: Form) -> Iterator[Row]:
    with cubilete(here) as server:
        idle = server.resident_mib()
        yield "idle", idle, 0.0
        played = create(server.url, _CLIENTS, here, "played")
        before = server.resident_mib()
        yield f"{_CLIENTS} games created", before, before - idle
        case = Case(server.url, played, "act", _CLIENTS)
        case.once()
        for _ in range(form.slices):
            case.slice(form.seconds)
        yield f"under load, {_CLIENTS} clients", *_grown(server, before)


def _with_games(here: Path) -> Iterator[Row]:
    here.mkdir()
    url = f"sqlite:///{here / 'cubilete.db'}"
    filling = Filling(url, here)
    games = write_tables(filling.copies(_GAMES, *_USUAL), here, "games")
    longest = write_tables(filling.copies(_LONGEST[2], *_LONGEST[:2]), here, "longest")
    filling.close()
    with cubilete(here, url) as server:
        idle = server.resident_mib()
        yield "idle, before any of these games", idle, 0.0
        Case(server.url, games, "read", _CLIENTS_READING).once()
        read = server.resident_mib()
        yield f"{_GAMES:,} games read", read, read - idle
        Case(server.url, games, "act", _CLIENTS_READING).once()
        played = server.resident_mib()
        yield f"{_GAMES:,} games played (default target)", played, played - read
        Case(server.url, longest, "act", _CLIENTS_READING).once()
        now, grown = _grown(server, played)
        yield "games with the longest key chain", now, grown * _GAMES / _LONGEST[2]


def _grown(server: Process, before: float) -> tuple[float, float]:
    now = server.resident_mib()
    return now, now - before


if __name__ == "__main__":
    run(tables)
