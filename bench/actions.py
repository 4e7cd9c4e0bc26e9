"""Durable actions, against what FastAPI can do without a database and against the naive way.

python -m bench.actions [--long]
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.databases import NewDatabase, migrated, place, postgresql, told
from bench.load import Slice
from bench.measure import Case, Form, create, interleaved, one_answer, run
from bench.process import Process, bench_server, cubilete
from bench.table import Goal, Table, goals, number, times

_MANY: Final = 64
_BARE: Final = "bare FastAPI, answer ready"
_NAIVE: Final = {"SQLite": "naive, SQLite", "PostgreSQL": "naive, PostgreSQL"}
# (server, what is asked): the row, and whether it is measured with few clients too.
_ROWS: Final = {
    ("ready", "act"): (_BARE, True),
    ("rendered", "act"): ("bare FastAPI, answer rendered", False),
    ("sqlite", "act"): ("SQLite", True),
    ("sqlite", "act-keyed"): ("SQLite, Idempotency-Key", False),
    ("sqlite", "act-plain"): ("SQLite, without receipt", False),
    ("postgresql", "act"): ("PostgreSQL", True),
    ("postgresql", "act-keyed"): ("PostgreSQL, Idempotency-Key", False),
    ("two workers", "act"): ("PostgreSQL, 2 workers", False),
    ("naive sqlite", "act"): (_NAIVE["SQLite"], True),
    ("naive sqlite", "act-keyed"): ("naive, SQLite, Idempotency-Key", False),
    ("naive postgresql", "act"): (_NAIVE["PostgreSQL"], True),
    ("naive postgresql", "act-keyed"): ("naive, PostgreSQL, Idempotency-Key", False),
    ("sqlite", "read"): ("SQLite: read", False),
    ("sqlite", "read-304"): ("SQLite: read, nothing new", True),
    ("postgresql", "read"): ("PostgreSQL: read", False),
    ("postgresql", "read-304"): ("PostgreSQL: read, nothing new", True),
}


def tables(form: Form) -> Iterator[Table]:
    """One table for each number of clients, then the goals."""
    found: dict[int, dict[str, Slice]] = {}
    with place() as here, postgresql() as make, ExitStack() as running:
        servers = _servers(here, make)
        served = {name: running.enter_context(server) for name, server in servers.items()}
        known = {name: _tables(name, server, here) for name, server in served.items()}
        answer = here / "answer.json"
        answer.write_bytes(one_answer(served["sqlite"].url, known["sqlite"]))
        for bare in ("ready", "rendered"):
            server = bench_server("bare", here / bare, str(answer), bare)
            served[bare] = running.enter_context(server)
            known[bare] = known["sqlite"]
        database = told(make())
        for clients in (_MANY, 16, 1):
            cases = {
                row: Case(served[name].url, known[name], mode, clients)
                for (name, mode), (row, always) in _ROWS.items()
                if always or clients == _MANY
            }
            found[clients] = interleaved(cases, form)
            yield _table(found[clients], clients, database)
    yield goals("Actions", _goals(found))


def _servers(here: Path, make: NewDatabase) -> dict[str, Process]:
    return {
        "sqlite": cubilete(here / "sqlite"),
        "postgresql": cubilete(here / "postgresql", migrated(make)),
        "two workers": cubilete(here / "two", migrated(make), workers=2),
        "naive sqlite": bench_server("naive", here / "naive-sqlite"),
        "naive postgresql": bench_server("naive", here / "naive-pg", database_url=make()),
    }


def _tables(name: str, server: Process, here: Path) -> Path:
    """Games to play; every worker has seen each of them before the first slice."""
    made = create(server.url, _MANY, here, name)
    for _ in range(6 if name == "two workers" else 1):
        Case(server.url, made, "act", _MANY).once()
    return made


def _table(found: Mapping[str, Slice], clients: int, database: str) -> Table:
    bare = found[_BARE]
    rows = [
        [
            row,
            number(one.rate),
            times(one.rate / bare.rate),
            _of_naive(row, one, found),
            f"{one.p50_ms:.2f}",
            f"{one.p99_ms:.2f}",
            times(one.p99_ms / one.p50_ms),
        ]
        for row, one in found.items()
    ]
    return Table(
        f"Actions, {clients} {'client' if clients == 1 else 'clients'}",
        ("request", "answers/s", "/ bare", "/ naive", "p50 ms", "p99 ms", "p99/p50"),
        rows,
        [
            f"{database}. Answers have {found['SQLite'].size:.0f} bytes, head included. The load"
            f" was busy {max(one.busy for one in found.values()):.0%} of the time at most."
        ],
    )


def _of_naive(row: str, one: Slice, found: Mapping[str, Slice]) -> str:
    """Beside the naive way over the same database, asked the same."""
    database, _, asked = row.partition(", ")
    naive = found.get(f"naive, {database}{', ' * bool(asked)}{asked}")
    return "" if naive is None else times(one.rate / naive.rate)


def _goals(found: Mapping[int, Mapping[str, Slice]]) -> Iterator[Goal]:
    many, one = found[_MANY], found[1]
    for database, bound in (("SQLite", 0.6), ("PostgreSQL", 0.5)):
        own, naive = many[database], many[_NAIVE[database]]
        yield Goal(f"{database}, 64 clients, / bare", own.rate / many[_BARE].rate, bound)
        yield Goal(f"{database}, 64 clients, / naive", own.rate / naive.rate, 12)
        yield Goal(f"{database}, 64 clients, p99 / p50", own.p99_ms / own.p50_ms, 8, at_most=True)
        yield Goal(f"{database}, 1 client, / bare", one[database].rate / one[_BARE].rate, 0.35)
        unchanged = many[f"{database}: read, nothing new"].rate
        yield Goal(f"{database}: read, nothing new, / bare POST", unchanged / many[_BARE].rate, 0.8)
    both = many["PostgreSQL, 2 workers"].rate / many["PostgreSQL"].rate
    yield Goal("PostgreSQL, 2 workers / 1 worker", both, 1)


if __name__ == "__main__":
    run(tables)
