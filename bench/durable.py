"""What a lone change waits for however little is computed: its rows on the disk, then its head.

    python -m bench.durable [--long]

The rows of an action are ready and go to the database's own driver, in one process and, on
PostgreSQL, in one round trip: no request, no rules, no dice, no signature. A server that answered
as quickly as the bare one and waited for nothing but this would be as fast as is told here.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import psycopg

from bench.databases import place, postgresql
from bench.filled import pig
from bench.measure import Case, Form, run, write_tables
from bench.process import bench_server
from bench.table import Table, times
from service.heads import Head, HeadFile
from service.keys import new_token
from service.store import records
from service.store.engine import SQLITE

_BARE: Final = "bare FastAPI, answer ready"
_HEAD: Final = "the head"
_GAME: Final = "CREATE TABLE game (id TEXT PRIMARY KEY, revision BIGINT, snapshot TEXT)"
_ENTRY: Final = "CREATE TABLE entry (game TEXT, seq BIGINT, line {}, PRIMARY KEY (game, seq))"
_NEW: Final = "INSERT INTO game VALUES ('one', 0, '')"
_MOVE: Final = "UPDATE game SET revision = {0}, snapshot = {0} WHERE id = 'one' AND revision = {0}"
_ADD: Final = "INSERT INTO entry VALUES ('one', {0}, {0})"
_Rows: TypeAlias = tuple[str, bytes]  # a snapshot and a line
_Change: TypeAlias = Callable[[], None]


def tables(form: Form) -> Iterator[Table]:
    """One table: how long each part takes, and what that leaves of the rate of a bare POST."""
    with place() as here, postgresql() as make, ExitStack() as running:
        game = pig(16, 100, new_token("host", os.urandom))
        rows = str(records.advanced_row(game.hosted)["snapshot"]), game.lines[-1]
        changes = {
            "SQLite": _sqlite(here / "durable.db", rows, running),
            "PostgreSQL": _postgresql(make(), rows, running),
            _HEAD: _head(here / "heads", running),
        }
        bare = _bare(here, rows, running)
        found: dict[str, list[float]] = {name: [] for name in (_BARE, *changes)}
        for _ in range(form.slices):
            found[_BARE].append(bare.slice(form.seconds).p50_ms)
            for name, change in changes.items():
                found[name].append(_median_ms(change, form.seconds))
    yield _table({name: median(each) for name, each in found.items()})


def _median_ms(change: _Change, seconds: float) -> float:
    took, end = [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        change()
        took.append(time.perf_counter() - began)
    return 1000 * median(took)


def _sqlite(file: Path, rows: _Rows, running: ExitStack) -> _Change:
    snapshot, line = rows
    database = running.enter_context(closing(SQLITE.connect(file, isolation_level=None)))
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    for statement in (_GAME, _ENTRY.format("BLOB"), _NEW):
        database.execute(statement)
    revisions = count()

    def change() -> None:
        revision = next(revisions)
        database.execute("BEGIN IMMEDIATE")
        database.execute(_MOVE.format("?"), (revision + 1, snapshot, revision))
        database.execute(_ADD.format("?"), (revision, line))
        database.execute("COMMIT")

    return change


def _postgresql(url: str, rows: _Rows, running: ExitStack) -> _Change:
    snapshot, line = rows
    database = running.enter_context(
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True, prepare_threshold=1)
    )
    for statement in (_GAME, _ENTRY.format("BYTEA"), _NEW):
        database.execute(statement)
    revisions = count()

    def change() -> None:
        revision = next(revisions)
        with database.pipeline():
            database.execute("BEGIN")
            database.execute(_MOVE.format("%s"), (revision + 1, snapshot, revision))
            database.execute(_ADD.format("%s"), (revision, line))
            database.execute("COMMIT")

    return change


def _head(directory: Path, running: ExitStack) -> _Change:
    file = running.enter_context(closing(HeadFile(directory, sync=True)))
    numbers = count()
    return lambda: file.append([Head("one", next(numbers), bytes(32))])


def _bare(here: Path, rows: _Rows, running: ExitStack) -> Case:
    answer = here / "answer.json"
    answer.write_bytes(b'{"entry":%b}' % rows[1])
    server = running.enter_context(bench_server("bare", here / "bare", str(answer), "ready"))
    table = write_tables([{"id": "one", "token": "none"}], here, "table")
    return Case(server.url, table, "act", clients=1)


def _table(found: Mapping[str, float]) -> Table:
    bare, head = found[_BARE], found[_HEAD]
    rows = [[_BARE, f"{bare:.2f}", times(1), times(1)]]
    for database in ("SQLite", "PostgreSQL"):
        wait = found[database]
        bounds = times(bare / (bare + wait)), times(bare / (bare + wait + head))
        rows.append([f"{database}: the rows", f"{wait:.2f}", *bounds])
    rows.append([_HEAD, f"{head:.2f}", "", ""])
    return Table(
        "A lone change: what it waits for",
        ("", "ms", "/ bare at most", "and the head"),
        rows,
        [
            "One client. However little a server computed, it could not answer more changes than so"
            " many times the answers of the bare application: with the rows on the disk, and with"
            " the head of the game on it too (CUBILETE_SYNC_HEADS, which can be switched off)."
        ],
    )


if __name__ == "__main__":
    run(tables)
