"""Several workers over one PostgreSQL answer as one server would; one that ends is replaced."""

import asyncio
import itertools
import json
import os
import resource
import signal
import socket
import time
from collections import Counter
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
import uvicorn

from service.api.workers import Worker
from tests.crowd import Asked, Crowd, rounds
from tests.game_client import bearer, create, keyed, new_game, new_key
from tests.listener import listening
from tests.postgres import POSTGRESQL, migrated_url
from tests.raw import exchange, wire
from tests.server import Server, until
from tests.test_crash import settings
from tests.test_hostile import BODIES, JSON, authorised
from tests.wire import Wire

ROUNDS = 8
STARTED = "Application startup complete"
FAILED = "Application startup failed"
AT_ONCE = {"starter": "seat"}


@pytest.fixture(scope="module", params=POSTGRESQL[:1])
def workers(request, tmp_path_factory):
    """A server of two workers."""
    directory = tmp_path_factory.mktemp("workers")
    url = migrated_url(request.param, request, directory, "workers")
    variables = {"CUBILETE_DATABASE_URL": url, "CUBILETE_WORKERS": "2"}
    with Server(directory, **variables) as running:
        yield running


@pytest.fixture
def client(workers):
    with workers.client() as connected:
        yield connected


def acting(table, headers, **more):
    given = {**bearer(table.tokens[0]), **headers}
    return Asked(f"{table.path}/actions", {"kind": "roll", **more}, given)


def test_equal_requests_to_all_workers_make_one_entry(workers, client):
    tables = [create(client, options=AT_ONCE) for _ in range(ROUNDS)]
    asked = [[acting(table, keyed(new_key()))] * 50 for table in tables]
    for table, answers in zip(tables, rounds(workers, asked), strict=True):
        assert {answer.status for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
        assert table.version == table.created["version"] + 1


def test_equal_creations_at_all_workers_make_one_game(workers):
    body = new_game(visibility="unlisted")
    asked = [[Asked("/v1/games", body, keyed(new_key()))] * 20 for _ in range(ROUNDS)]
    for answers in rounds(workers, asked):
        assert {answer.status for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1


def test_of_fifty_at_all_workers_who_have_seen_one_version_one_acts(workers, client):
    tables = [create(client, options=AT_ONCE) for _ in range(ROUNDS)]
    asked = [
        [
            acting(table, keyed(new_key()), expected_version=table.created["version"])
            for _ in range(50)
        ]
        for table in tables
    ]
    for table, answers in zip(tables, rounds(workers, asked), strict=True):
        assert Counter(answer.status for answer in answers) == {200: 1, 412: 49}
        assert table.version == table.created["version"] + 1


def test_the_last_seat_is_taken_once_at_all_workers(workers, client):
    tables = [create(client, names=["Ana", None]) for _ in range(ROUNDS)]
    asked = [[Asked(f"{table.path}/seats", {})] * 32 for table in tables]
    for answers in rounds(workers, asked):
        assert Counter(answer.code for answer in answers) == {"done": 1, "game_started": 31}


def test_what_one_worker_has_answered_every_worker_shows(workers, client):
    table = create(client, options={**AT_ONCE, "target": 1000}, hotseat=True)
    roll = Asked(f"{table.path}/actions", {"kind": "roll"}, bearer(table.host))

    async def run():
        async with Crowd(workers, 8) as crowd:
            for number in range(60):
                acted = await crowd.ask(number % 8, roll)
                read = await crowd.ask_at_once([Asked(table.path, method="GET")] * 8)
                version = acted.json()["game"]["version"]
                assert {answer.json()["version"] for answer in read} == {version}

    asyncio.run(run())


def test_a_replaced_token_is_void_at_every_worker(workers, client):
    table = create(client, start=False)
    client.post(f"{table.path}/seats/0/token", headers=bearer(table.tokens[0]))
    asked = Asked(f"{table.path}/start", None, bearer(table.tokens[0]))
    (answers,) = rounds(workers, [[asked] * 16])
    assert {answer.code for answer in answers} == {"token_unknown"}


def test_hostile_bodies_are_refused_over_postgresql_as_well(workers, client):
    table = create(client, options=AT_ONCE)
    for name, (body, status, code) in BODIES.items():
        data = wire("POST", f"{table.path}/actions", [JSON, authorised(table)], body)
        answer = exchange(workers, data)
        assert (answer.status, answer.json()["code"]) == (status, code), name
    for path in ("/v1/games/%00", "/v1/series/%00", "/v1/games/%ff/log"):
        assert exchange(workers, wire("GET", path)).status == 404
    for name in ("\ufffe", "\U0010ffff", "\u2028x\u2028", "😀" * 40):
        assert client.post("/v1/games", json=new_game(names=[f"a{name}"[:40], None])).is_success
    assert table.version == table.created["version"]
    assert "Traceback" not in workers.log.read_text("utf-8", "replace")


# --- the end of one, and of their parent ----------------------------------------------------------

proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="nobody tells the children of a process here"
)


@pytest.fixture(params=POSTGRESQL[:1])
def pair(request, tmp_path):
    """A server of two workers of one's own, which have both begun to serve."""
    server = Server(tmp_path, CUBILETE_WORKERS="2", **settings(request.param, request, tmp_path))
    yield serving(server)
    server.stop()


@pytest.fixture(params=POSTGRESQL[:1])
def wired(request, tmp_path):
    """The same, and the wire to its database; not started."""
    variables = settings(request.param, request, tmp_path)
    line = Wire(variables.pop("CUBILETE_DATABASE_URL"))
    server = Server(tmp_path, CUBILETE_WORKERS="2", CUBILETE_DATABASE_URL=line.url, **variables)
    yield server, line
    line.close()
    server.stop()


def serving(server):
    server.start()
    until(lambda: server.logged(STARTED) == 2)
    return server


def replaced(server, killed):
    """Whether there are two workers again."""
    now = server.workers()
    return killed not in now and len(now) == 2


def require_served(server):
    with server.client() as client:
        assert client.get("/livez").status_code == 200


def takes_changes(server):
    with server.client() as client:
        return client.post("/v1/games", json=new_game()).status_code == 201


def times(server, message):
    """When a message was logged, in seconds."""
    lines = map(json.loads, server.log.read_text().splitlines())
    found = [line["at"] for line in lines if message in line["message"]]
    return [datetime.fromisoformat(at).timestamp() for at in found]


@proc
def test_a_worker_that_is_killed_at_any_moment_of_its_start_is_replaced_soon(pair):
    kept, killed = sorted(pair.workers())
    for wait_s in (0.0, 0.45, 0.55, 0.65):
        time.sleep(wait_s)
        os.kill(killed, signal.SIGKILL)
        began = time.monotonic()
        until(partial(replaced, pair, killed))
        assert time.monotonic() - began < 10
        (killed,) = pair.workers() - {kept}
    assert pair.stop() == 0


@proc
@pytest.mark.parametrize("cut", [False, True], ids=["takes nobody more", "away"])
def test_a_worker_that_finds_its_database_away_is_tried_again_until_it_is_back(wired, cut):
    server, line = wired
    serving(server)
    kept, killed = sorted(server.workers())
    line.lets_in = lambda: False
    if cut:
        line.cut_all()
    os.kill(killed, signal.SIGKILL)
    for number in (1, 2, 3):
        until(lambda: server.logged(FAILED) >= number)  # noqa: B023
        require_served(server)
    failed = times(server, FAILED)
    assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(failed))
    line.lets_in = lambda: True
    until(lambda: server.logged(STARTED) == 3)
    assert kept in server.workers()
    until(lambda: takes_changes(server))
    assert server.stop() == 0


def test_a_first_start_that_fails_ends_the_server_and_is_told(wired):
    server, line = wired
    line.lets_in = lambda: not server.logged("Started parent process")
    server.launch()
    assert server.wait(60) == 3
    assert server.logged("failed to start, this process ends") == 1


@proc
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="nobody can limit others here")
@pytest.mark.parametrize("told", [False, True], ids=["again", "ends"])
def test_a_parent_that_may_start_no_process_tries_again_and_can_be_ended(pair, told):
    kept, killed = sorted(pair.workers())
    _, most = resource.prlimit(pair.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pair.pid, resource.RLIMIT_NOFILE, (3, most))
    os.kill(killed, signal.SIGKILL)
    until(lambda: pair.logged("No worker can be started now, it is tried again") >= 2)
    for asked in (signal.SIGHUP, signal.SIGTTIN):
        before = pair.logged("those there are stay")
        pair.send(asked)
        until(lambda: pair.logged("those there are stay") > before)  # noqa: B023
    require_served(pair)
    assert pair.workers() == {kept}
    if not told:
        resource.prlimit(pair.pid, resource.RLIMIT_NOFILE, (most, most))
        until(lambda: pair.logged(STARTED) == 3)
    assert pair.stop() == 0


@proc
def test_a_hang_up_replaces_all_workers(pair):
    before = pair.workers()
    pair.send(signal.SIGHUP)
    until(lambda: pair.logged("Finished server process") == 2)
    until(lambda: len(pair.workers()) == 2)
    assert not before & pair.workers()
    require_served(pair)
    assert pair.stop() == 0


def test_workers_whose_parent_was_killed_end_in_order(pair):
    with pair.client() as client:
        path = f"{create(client).path}/stream"
        with listening(client, path) as heard:
            heard.until("snapshot")
            pair.kill()
            heard.until("server_closing")
    until(lambda: pair.logged("Finished server process") == 2)
    pair.start()
    require_served(pair)


@proc
def test_a_worker_that_hangs_is_killed_and_the_others_have_their_time(request, tmp_path):
    variables = settings(POSTGRESQL[0], request, tmp_path)
    server = Server(tmp_path, CUBILETE_WORKERS="2", CUBILETE_DRAIN_SECONDS="2", **variables)
    serving(server)
    hangs, _ = server.workers()
    os.kill(hangs, signal.SIGSTOP)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began >= 2 + 12
    assert server.logged("Finished server process") == 1
    assert server.logged(f"[{hangs}] does not end, and is killed") == 1


async def nothing(scope, receive, send):
    """An application that can do nothing but start."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def test_a_worker_that_hangs_is_noticed_and_nobody_waits_for_it():
    config = uvicorn.Config("tests.test_workers:nothing", log_level="critical")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        worker = Worker(config, [listener], patience_s=20)
        worker.start()
        try:
            until(lambda: worker.is_alive(20) and worker.served)
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGSTOP)
            began = time.monotonic()
            until(lambda: not worker.is_alive(2))
            assert time.monotonic() - began >= 2
        finally:
            worker.bury()
    assert worker.exitcode == -signal.SIGKILL
