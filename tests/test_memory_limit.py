"""A process that is given no memory ends as by a kill, and answers nothing from what is left."""

import asyncio
import errno
import json
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import httpx
import orjson
import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from service import log
from service.errors import RecordTooCostly, Unavailable, failed_allocation
from service.examiner import Examiner
from service.memory import EXIT_CODE
from service.store.engine import SQLITE
from tests.game_client import keyed, new_game, new_key
from tests.postgres import POSTGRESQL
from tests.server import Server, until
from tests.starving import PLACES, give_no_more
from tests.test_crash import Table, require_nothing_lost, settings

ROOT = Path(__file__).parents[1]
PATIENCE_S = 20
STARTED = "Application startup complete"
# Native code looks at no allocation, or ends the process by itself.
DEATHS = (EXIT_CODE, -signal.SIGSEGV, -signal.SIGABRT)
RECORD = b'{"seq":0}\n' * 700_000
JSON_LINES = {"content-type": "application/jsonl"}
limits = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="nobody can limit a running process here"
)


# --- a server that meets its limit ----------------------------------------------------------------


def require_honest(answer: httpx.Response) -> bool:
    """Whether a request was done; if not, it is told so and may come again."""
    if answer.status_code in (200, 201):
        return True
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return False


class Play:
    """Tables at which everybody rolls, and sends again what was not answered with the same key,
    until nobody answers any more, or, with ``patience``, until they are told to stop."""

    def __init__(self, server: Server, tables: Sequence[Table], patience: bool = False) -> None:
        self.server = server
        self.tables = tables
        self.acked = threading.Semaphore(0)
        self.stopped = threading.Event()
        self._patience = patience

    def at(self, table: Table) -> None:
        with self.server.client() as client:
            while not self.stopped.is_set():
                table.unanswered = table.unanswered or new_key()
                try:
                    answer = table.roll(client, table.unanswered)
                except httpx.TransportError:
                    if not self._patience:
                        return
                    continue
                if require_honest(answer):
                    table.answered(answer)
                    self.acked.release()

    def wait(self, actions: int) -> None:
        """For so many answers from now on."""
        while self.acked.acquire(blocking=False):
            pass
        for _ in range(actions):
            assert self.acked.acquire(timeout=PATIENCE_S)


def until_nobody_answers(server: Server, ask: Callable[[httpx.Client], httpx.Response]) -> None:
    with server.client() as client:
        while True:
            try:
                answer = ask(client)
            except httpx.TransportError:
                return
            require_honest(answer)


def create(client: httpx.Client) -> httpx.Response:
    return client.post("/v1/games", json=new_game(), headers=keyed(new_key()))


def upload(client: httpx.Client) -> httpx.Response:
    return client.post("/v1/audits", content=RECORD, headers=JSON_LINES)


def look(client: httpx.Client) -> httpx.Response:
    return client.get("/v1/games", params={"limit": 100})


@limits
@pytest.mark.parametrize("besides", [create, upload, look], ids=lambda ask: ask.__name__)
def test_a_server_without_memory_ends_and_loses_and_doubles_nothing(besides, request, tmp_path):
    server = Server(tmp_path, **settings("sqlite", request, tmp_path))
    with server, ThreadPoolExecutor() as pool:
        tables = [Table(server, Random(number)) for number in range(4)]
        play = Play(server, tables)
        asking = [pool.submit(play.at, table) for table in tables]
        try:
            play.wait(40)
            give_no_more(server.pid)
            asking += [pool.submit(until_nobody_answers, server, besides) for _ in range(2)]
            ended = server.wait(PATIENCE_S)
        finally:
            server.kill()
        for one in asking:
            one.result()
        server.start()
        require_nothing_lost(server, tables)
    assert ended in DEATHS
    if ended == EXIT_CODE:
        assert "no memory is left" in server.log.read_text()


@limits
@pytest.mark.parametrize("kind", POSTGRESQL[:1])
def test_of_two_workers_the_one_without_memory_ends_and_is_replaced(kind, request, tmp_path):
    server = Server(tmp_path, CUBILETE_WORKERS="2", **settings(kind, request, tmp_path))
    with server, ThreadPoolExecutor() as pool:
        tables = [Table(server, Random(number)) for number in range(4)]
        play = Play(server, tables, patience=True)
        until(lambda: server.logged(STARTED) == 2)
        playing = [pool.submit(play.at, table) for table in tables]
        try:
            play.wait(40)
            limited, other = sorted(server.workers())
            give_no_more(limited)
            until(lambda: limited not in server.workers())
            play.wait(40)
            until(lambda: server.logged(STARTED) == 3)
            play.wait(40)
            now = server.workers()
        finally:
            play.stopped.set()
        for one in playing:
            one.result()
        assert other in now
        assert limited not in now
        assert len(now) == 2
        with server.client() as client:
            for table in tables:
                table.settle(client)
                table.require_whole(client)


# --- each place -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def starving():
    """Lets an allocation fail at the place whose name it is told."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.starving"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        yield running
        running.communicate()


@pytest.mark.parametrize(
    "place", [pytest.param(one, marks=limits if one == "whole_process" else ()) for one in PLACES]
)
def test_an_allocation_that_fails_ends_the_process(starving, place):
    starving.stdin.write(f"{place}\n")
    starving.stdin.flush()
    assert int(starving.stdout.readline()) == EXIT_CODE


def under_limit(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A script that calls ``limit(bytes)`` to leave so many to its process and its children."""
    limited = f"""
import re, resource, sys
from pathlib import Path
def limit(room):
    size = re.search(r"VmSize:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    most = int(size[1]) * 1024 + room
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
{script}"""
    command = [sys.executable, "-c", limited, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@limits
def test_a_start_without_room_is_refused_in_one_line(tmp_path):
    script = """
from service.cli import app
limit(64 * 1024**2)
app(["serve", "--data-dir", sys.argv[1], "--port", "0"])
"""
    done = under_limit(script, str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("cubilete: a limit of memory leaves less than 128 MiB to this process\n")


@limits
def test_records_are_examined_below_a_limit_that_can_not_be_raised():
    script = """
import asyncio
from service.examiner import Examiner
limit(1024**3)
examiner = Examiner(20)
print(asyncio.run(examiner.report(b"{}")).decode())
examiner.close()
"""
    done = under_limit(script)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["failure"] is not None


def test_records_are_examined_where_no_limit_of_memory_can_be_set():
    script = """
import resource, sys
from io import BytesIO
from service import examination
def refused(*_):
    raise ValueError("current limit exceeds maximum limit")
resource.setrlimit = refused
asked = (2).to_bytes(examination.SIZE_BYTES, "big") + b"{}"
examination.main(BytesIO(asked), sys.stdout.buffer)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b'"failure"' in done.stdout


@pytest.mark.parametrize("program", [shutil.which("false"), "/gone"], ids=["fails", "gone"])
def test_an_examiner_that_does_not_start_is_no_fault_of_the_record(program, monkeypatch, caplog):
    """Its program is gone after an upgrade that has moved it."""
    monkeypatch.setattr(sys, "executable", program)

    async def story():
        examiner = Examiner(PATIENCE_S)
        with pytest.raises(Unavailable):
            await examiner.report(b"{}")
        monkeypatch.undo()
        assert json.loads(await examiner.report(b"{}"))
        examiner.close()

    asyncio.run(story())
    assert caplog.text.count("no process can be started") == 1


def report_of(monkeypatch, tmp_path, program, seconds=PATIENCE_S):
    """Has a record examined by a program that has read it; tells how often that was started."""
    examining, starts = tmp_path / "examining", tmp_path / "starts"
    examining.write_text(
        f"""#!{sys.executable}
import os, sys, time
open({str(starts)!r}, "a").write(".")
asked, told = sys.stdin.buffer, sys.stdout.buffer
told.write(b"+")
told.flush()
asked.read(int.from_bytes(asked.read(8), "big"))
{program}
"""
    )
    examining.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(examining))

    async def story():
        examiner = Examiner(seconds)
        try:
            await examiner.report(b"{}")
        finally:
            examiner.close()

    with pytest.raises(RecordTooCostly):
        asyncio.run(story())
    return len(starts.read_text())


HALF = 'told.write((100).to_bytes(8, "big") + b"half a report")\ntold.flush()\n'


def test_half_a_report_is_none(monkeypatch, tmp_path):
    """Of a process that was killed while it told its report: another one is asked, and that is
    all."""
    assert report_of(monkeypatch, tmp_path, HALF) == 2


def test_a_report_that_stops_half_way_is_not_waited_for(monkeypatch, tmp_path):
    assert report_of(monkeypatch, tmp_path, HALF + "time.sleep(600)", seconds=1) == 1


def test_a_record_that_needs_more_memory_than_it_may_have_is_examined_once(monkeypatch, tmp_path):
    assert report_of(monkeypatch, tmp_path, f"os._exit({EXIT_CODE})") == 1


def test_where_no_process_can_be_started_an_upload_may_come_again(monkeypatch):
    """The limit of processes ends none that runs."""

    def refused(*_, **__):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    async def story():
        examiner = Examiner(5)
        monkeypatch.setattr(subprocess, "Popen", refused)
        with pytest.raises(Unavailable):
            await examiner.report(RECORD)
        monkeypatch.undo()
        assert json.loads(await examiner.report(b"{}"))
        examiner.close()

    asyncio.run(story())


# --- what is one ----------------------------------------------------------------------------------


def no_room(*_):
    raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)


def named(error, **names):
    for name, value in names.items():
        setattr(error, name, value)
    return error


def raised_from(error, raised=None):
    try:
        raise raised or LookupError() from error
    except (LookupError, OperationalError) as chained:
        return chained


def libpq(text):
    return psycopg.OperationalError(f"{text}\n")


FAILED = {
    "plain": MemoryError(),
    "thread": RuntimeError("can't start new thread"),
    "system": OSError(errno.ENOMEM, "Cannot allocate memory"),
    "sqlite": named(
        SQLITE.OperationalError("disk I/O error"), sqlite_errorname="SQLITE_IOERR_NOMEM"
    ),
    "libpq": libpq("sending query failed: out of memory"),
    "libpq, a result": psycopg.DatabaseError("out of memory for query result"),
    "libpq, what comes": libpq("cannot allocate memory for input buffer"),
    "libpq, what goes": libpq("cannot allocate memory for output buffer"),
    "lock": RuntimeError("can't allocate lock"),
    "orjson": orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0),
    "sqlalchemy": raised_from(
        libpq("out of memory"), OperationalError("SELECT", {}, libpq("out of memory"))
    ),
    "cause": raised_from(MemoryError()),
    "cause of a cause": raised_from(raised_from(MemoryError())),
}
OTHERS = {
    "value": ValueError("Not enough memory"),
    "runtime": RuntimeError("can't start new thread pool"),
    "disk": OSError(errno.ENOSPC, "No space left on device"),
    "sqlite": named(SQLITE.OperationalError("disk I/O error"), sqlite_errorname="SQLITE_IOERR"),
    "server": psycopg.errors.OutOfMemory("out of memory"),
    "server that takes nobody": libpq("connection failed: FATAL: out of memory"),
    "pooler that takes nobody": libpq("connection failed: port 6432 failed: ERROR:  out of memory"),
    "input": psycopg.errors.InvalidTextRepresentation("out of memory"),
    "cause": raised_from(KeyError("out of memory")),
}


@pytest.mark.parametrize("error", FAILED.values(), ids=FAILED)
def test_a_failed_allocation_is_known_in_every_form(error):
    assert failed_allocation(error) is not None
    assert failed_allocation(raised_from(error)) is not None


@pytest.mark.parametrize("error", OTHERS.values(), ids=OTHERS)
def test_no_other_failure_is_taken_for_a_failed_allocation(error):
    assert failed_allocation(error) is None
    assert failed_allocation(raised_from(error)) is None


def test_a_line_that_there_is_no_room_to_read_is_not_called_wrong(monkeypatch):
    monkeypatch.setattr(orjson, "loads", no_room)
    with pytest.raises(MemoryError):
        log.parse(b"{}")
