"""All benchmarks in one run; writes `bench/README.md`.

python -m bench [--long]
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench import actions, ceiling, durable, engine, fsync, growth, machine, memory, peers
from bench.measure import LONG, SHORT, Form, Tables
from bench.table import Table

_README: Final = Path(__file__).parent / "README.md"
_ALL: Final[dict[str, Tables]] = {
    "The load": ceiling.tables,
    "Actions": actions.tables,
    "Growth": growth.tables,
    "Engine": engine.tables,
    "Memory": memory.tables,
    "Peers": peers.tables,
    "Durability": fsync.tables,
    "A lone change": durable.tables,
}
_ABOUT: Final = """\
# Benchmarks

Written by `make bench` (a short form, under ten minutes) or `make bench-long`; do not edit. Each
of them can be run by itself: `python -m bench.actions`, `growth`, `engine`, `memory`, `peers`,
`fsync`, `durable`, `ceiling`, with `--long` for the long form.

What counts are the ratios. Rates belong to the machine and the minute; what is compared was
measured in one run, in turn, round after round, on one machine, and each number is the median of
its rounds. A real server and the load are processes of their own. The load waits for each answer
before it asks again, over connections that stay open, and the first answer that is not the one
expected ends the run. Every round begins with a warm-up that is not counted. On Linux the load
runs as a batch job: it stops no server that has just sent it an answer.
"""
_SERVERS: Final = """\
An action is a roll of Pig, the dearest one there is, in games of the client's own: 64 games in all,
so that a lone client plays 64 in turn. Nobody holds, and so no game ends.

The bare FastAPI application (`bench/bare.py`) takes a body like that of an action and gives an
answer of the same size, with no rules and no database; it is run by uvicorn as that comes.
The naive way (`bench/naive.py`) is an ORM with one transaction a request over the same rules, with
the same durability; it lives here only.
"""


def main() -> None:
    """Prints every table as it is there, and then writes them all down."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--long", action="store_true", help="the long form")
    form = LONG if parser.parse_args().long else SHORT
    began, told = time.monotonic(), machine.describe()
    found = {}
    for title, tables in _ALL.items():
        found[title] = list(_printed(tables, form))
    minutes = (time.monotonic() - began) / 60
    _README.write_text(_document(form, told, minutes, found), encoding="utf-8")


def _printed(tables: Tables, form: Form) -> Iterator[Table]:
    for table in tables(form):
        print(table.text(), flush=True)
        yield table


def _document(form: Form, told: list[str], minutes: float, found: dict[str, list[Table]]) -> str:
    parts = [_ABOUT, _SERVERS, "## Machine\n", *(f"- {line}" for line in told)]
    rounds = f"{form.slices} rounds of {form.seconds:g} s"
    parts += [f"- the {form.name} form: {rounds}, {minutes:.0f} minutes in all", ""]
    for title, tables in found.items():
        parts += [f"## {title}\n", *(table.text() for table in tables)]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    main()
