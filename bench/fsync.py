"""Shows with strace that a batch is on the disk before the first byte of its answers leaves.

    python -m bench.fsync [--long]

Many clients act at once on SQLite. For each answer, between the request's reading and the first
byte of the answer the log of the database must have been written and then synced, whole.
"""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.databases import place
from bench.measure import Case, Form, create, run
from bench.process import cubilete
from bench.table import Table, number

_CLIENTS: Final = 16
_SECONDS: Final = 1.0
_TRACED: Final = "read,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,fdatasync,fsync"
_CALL: Final = re.compile(r"(\d+) +(?P<name>\w+)\((?P<fd>\d+)<(?P<file>[^>]*)>(?P<rest>.*)")
_RESUMED: Final = re.compile(r"(\d+) +<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")


@dataclass
class Order:
    """What a trace shows: answers, those that left too early, and syncs of the log."""

    answers: int = 0
    early: int = 0
    syncs: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """The beginning of a call, its end, or both."""

    thread: str
    name: str
    fd: str
    file: str
    rest: str
    begins: bool


def parts(trace: Iterable[str]) -> Iterator[Part]:
    """A trace of ``strace -f -y``, line by line, in the order in which things happened."""
    going: dict[str, Part] = {}
    for line in trace:
        if call := _CALL.match(line):
            part = Part(call[1], call["name"], call["fd"], call["file"], call["rest"], True)
            going[part.thread] = part
            yield part
        elif (resumed := _RESUMED.match(line)) and resumed[1] in going:
            yield replace(going.pop(resumed[1]), rest=resumed["rest"], begins=False)


def order(trace: Iterable[str]) -> Order:
    """For every answer: was the log written after the request was read, synced after it was
    written, and the answer sent after that?"""
    found = Order()
    asked: dict[str, int] = {}  # connection: when its request was read
    written = 0  # when the log was last written
    begun: dict[str, tuple[int, int]] = {}  # thread: the last writing before its sync, and that
    covered = synced = 0  # the same of the last sync that has ended
    for now, part in enumerate(parts(trace), 1):
        if part.file.endswith("-wal"):
            if part.name == "pwrite64":
                written = now
                continue
            if part.begins:
                begun[part.thread] = written, now
            if part.rest.endswith("= 0"):
                found.syncs += 1
                covered, synced = begun[part.thread]
        elif '"POST /v1/games/' in part.rest:
            asked[part.fd] = now
        elif '"HTTP/1.1 200' in part.rest and part.fd in asked:
            found.answers += 1
            found.early += not asked.pop(part.fd) < covered < synced < now
    return found


def _traced(here: Path) -> Order:
    trace = here / "trace"
    with cubilete(here) as server:
        games = create(server.url, _CLIENTS, here, "games")
        case = Case(server.url, games, "act", _CLIENTS)
        case.once()
        strace = ["strace", "-f", "-qq", "-y", "-s", "64", "-e", f"trace={_TRACED}"]
        tracing = subprocess.Popen([*strace, "-o", str(trace), "-p", str(server.pid)])
        try:
            while not (trace.exists() or tracing.poll()):
                time.sleep(0.05)
            case.slice(_SECONDS)
        finally:
            tracing.send_signal(signal.SIGINT)
            tracing.wait(20)
    with trace.open(errors="replace") as lines:
        return order(line.rstrip("\n") for line in lines)


def tables(form: Form) -> Iterator[Table]:
    """One table; raises AssertionError if an answer left too early."""
    if shutil.which("strace") is None:
        yield Table("Fsync before the answer", ("", "why"), [["not shown here", "no strace"]])
        return
    with place() as here:
        found = _traced(here)
    if found.early or not found.answers:
        raise AssertionError(f"not synced before the answer: {found}")
    yield Table(
        "Fsync before the answer",
        ("answers", "syncs of the log", "answers a sync", "answers before their sync"),
        [
            [
                str(found.answers),
                str(found.syncs),
                number(found.answers / found.syncs),
                str(found.early),
            ]
        ],
        [
            f"strace of the server on SQLite under {_CLIENTS} clients: after each request was read,"
            " the write-ahead log was written and then synced, before the first byte of the answer."
        ],
    )


if __name__ == "__main__":
    run(tables)
