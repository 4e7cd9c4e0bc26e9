"""What the load itself can do: it must not be what limits the servers that it drives.

python -m bench.ceiling [--long]
"""

import os
import sys
from collections.abc import Iterator

from bench.databases import place
from bench.measure import Case, Form, interleaved, run, write_tables
from bench.process import Process
from bench.table import Goal, Table, goals, number

_CLIENTS = 64


def tables(form: Form) -> Iterator[Table]:
    """The load against a server that does nothing."""
    with place() as here, Process([sys.executable, "-m", "bench.canned", "{port}"], here) as server:
        known = write_tables([{"id": "none", "token": "none"}] * _CLIENTS, here, "tables")
        cases = {
            "action": Case(server.url, known, "act", _CLIENTS),
            "action with Idempotency-Key": Case(server.url, known, "act-keyed", _CLIENTS),
            "read": Case(server.url, known, "read", _CLIENTS),
        }
        found = interleaved(cases, form)
    yield Table(
        "The load by itself",
        ("request", "answers/s", "busy", "answers per second of computing"),
        [
            [name, number(one.rate), f"{one.busy:.0%}", number(one.rate / one.busy)]
            for name, one in found.items()
        ],
        [
            f"{_CLIENTS} connections, against a server that gives every request the same answer of"
            " the size of ours without looking at it. It has one core and the load another"
            f" ({os.cpu_count()} here); where the load is not busy all the time, the rate is that"
            " server's."
        ],
    )
    slowest = min(one.rate for one in found.values())
    yield goals(
        "The load", [Goal("requests/s that the load can ask, / 15,000", slowest / 15_000, 1)]
    )


if __name__ == "__main__":
    run(tables)
