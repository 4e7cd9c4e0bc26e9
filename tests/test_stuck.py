"""A server whose database is stuck, full or gone: told soon, nothing acknowledged is lost, and it
heals without a restart."""

import asyncio
import resource
import signal
import socket
import struct
import time
from collections import Counter
from pathlib import Path
from random import Random

import psycopg
import pytest

from service.store import upgrade
from service.verify import verify_log
from tests.crowd import Asked, Crowd
from tests.game_client import Table, bearer, create, keyed, new_key
from tests.postgres import POSTGRESQL, PipServer, migrated_url
from tests.server import Server

OPTIONS = {"starter": "seat", "target": 10_000, "auto_hold": False}
CLIENTS = 200
SEED = 20_261_130
CUTS = 60
IN_TRANSACTION = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
)
PATIENCE_S = 15  # some times the four seconds that it takes on an idle machine


def rolled(table: Table) -> Asked:
    return Asked(f"{table.path}/actions", {"kind": "roll"}, bearer(table.host))


@pytest.mark.parametrize("kind", POSTGRESQL[:1])
def test_two_hundred_clients_of_a_stuck_database_are_told_soon_and_served_again(
    kind, request, tmp_path
):
    url = migrated_url(kind, request, tmp_path, "stuck")
    with Server(tmp_path, CUBILETE_DATABASE_URL=url) as server, server.client() as client:
        table = create(client, hotseat=True, options=OPTIONS)
        wrong = Asked(f"{table.path}/actions", {"kind": "roll"}, bearer("cub_host_" + "A" * 43))
        asked = [rolled(table), Asked(table.path, method="GET"), wrong] * (CLIENTS // 3)

        async def story() -> tuple[list[int], float, int]:
            async with Crowd(server, len(asked) + 1) as crowd:
                began = time.monotonic()
                waiting = asyncio.ensure_future(crowd.ask_at_once(asked))
                await asyncio.sleep(0.2)
                alive = await crowd.ask(len(asked), Asked("/livez", method="GET"))
                answers = await waiting
                return [one.status for one in answers], time.monotonic() - began, alive.status

        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE game IN ACCESS EXCLUSIVE MODE")
            statuses, took, alive = asyncio.run(story())
        assert alive == 200
        assert Counter(statuses) == {503: len(asked)}
        assert took < PATIENCE_S
        assert client.get("/readyz").status_code == 200
        assert table.post("/actions", {"kind": "roll"}).status_code == 200


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_a_postgresql_that_is_restarted_is_used_again_within_seconds(how, tmp_path):
    if "pip" not in POSTGRESQL:
        pytest.skip("no PostgreSQL from pip for this platform")
    postgresql = PipServer()
    try:
        restart_under_load(postgresql, how, tmp_path)
    finally:
        postgresql.remove()


def test_a_primary_that_turns_read_only_serves_reads_and_is_used_again_later(request, tmp_path):
    """As after a failover until the address leads to the new primary."""
    if "pip" not in POSTGRESQL:
        pytest.skip("no PostgreSQL from pip for this platform")
    url = migrated_url("pip", request, tmp_path, "read_only")
    with Server(tmp_path, CUBILETE_DATABASE_URL=url) as server, server.client() as client:
        table = create(client, hotseat=True, options=OPTIONS)
        acked = [roll_until_taken(table) for _ in range(5)]
        read_only(url, "on")
        try:
            for _ in range(3):
                refused = table.post("/actions", {"kind": "roll"})
                assert refused.status_code == 503, refused.text
                assert client.get(table.path).status_code == 200
            assert client.get("/readyz").status_code == 503
        finally:
            read_only(url, "off")
        acked += [roll_until_taken(table) for _ in range(5)]
        require_all(table, acked)


def read_only(url: str, switch: str) -> None:
    """Every later transaction of this database, in sessions old and new."""
    writing = "-c default_transaction_read_only=off"
    with psycopg.connect(url, autocommit=True, options=writing) as other:
        other.execute(f"ALTER SYSTEM SET default_transaction_read_only = {switch}")
        other.execute("SELECT pg_reload_conf()")
    # What a new session sees the old ones have been told.
    while setting(url) != switch:
        time.sleep(0.01)


def setting(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as new:
        found = new.execute("SHOW default_transaction_read_only").fetchone()
    return "" if found is None else str(found[0])


def restart_under_load(postgresql: PipServer, how: signal.Signals, home: Path) -> None:
    upgrade(postgresql.url)
    acked: list[bytes] = []
    with Server(home, CUBILETE_DATABASE_URL=postgresql.url) as server, server.client() as client:
        table = create(client, hotseat=True, options=OPTIONS)
        for _ in range(2):
            acked += [roll_until_taken(table) for _ in range(10)]
            postgresql.stop(how)
            refused = table.post("/actions", {"kind": "roll"}, headers=keyed(new_key()))
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
            assert client.get("/livez").status_code == 200
            postgresql.start()
            began = time.monotonic()
            acked.append(roll_until_taken(table))
            assert time.monotonic() - began < PATIENCE_S
        require_all(table, acked)


def roll_until_taken(table: Table) -> bytes:
    """One roll, sent again with its key until it is answered."""
    headers, deadline = keyed(new_key()), time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        answer = table.post("/actions", {"kind": "roll"}, headers=headers)
        if answer.status_code == 200:
            return answer.content
        assert answer.status_code == 503, answer.text
    raise AssertionError("not served again")


def require_all(table: Table, acked: list[bytes]) -> None:
    """Every answered action is in the log, once and in order, and the log is sound."""
    whole = table.send("GET", "/log", headers={"accept": "application/jsonl"}).content
    lines = whole.splitlines()[len(whole.splitlines()) - len(acked) :]
    assert all(line in answer for line, answer in zip(lines, acked, strict=True))
    assert table.version == table.created["version"] + len(acked)
    report = verify_log(whole, claim="incomplete")
    assert report.ok, report.text()


@pytest.mark.parametrize("kind", ["sqlite", *POSTGRESQL[:1]])
def test_a_request_that_is_cut_at_any_byte_is_made_once_or_not_at_all(kind, request, tmp_path):
    """The key tells which, and no session of the database stays in a transaction."""
    url, random = migrated_url(kind, request, tmp_path, "cut"), Random(SEED)
    with Server(tmp_path, CUBILETE_DATABASE_URL=url) as server, server.client() as client:
        table = create(client, hotseat=True, options=OPTIONS)
        for number in range(1, CUTS + 1):
            key = keyed(new_key())
            whole = Asked(
                f"{table.path}/actions", {"kind": "roll"}, bearer(table.host) | key
            ).wire()
            length = random.choice((len(whole), random.randrange(len(whole))))
            with socket.create_connection(("127.0.0.1", server.port)) as line:
                line.sendall(whole[:length])
                hard = struct.pack("ii", 1, 0)  # a reset, and no polite end
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
            again = table.post("/actions", {"kind": "roll"}, headers=key)
            assert again.status_code == 200, f"seed {SEED}"
            assert again.json()["game"]["version"] == table.created["version"] + number
        assert table.version == table.created["version"] + CUTS
        if kind != "sqlite":
            with psycopg.connect(url) as other:
                assert other.execute(IN_TRANSACTION).fetchone() == (0,)
    assert "Traceback" not in server.log.read_text("utf-8", "replace")


limits = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="only Linux limits another process"
)


@limits
@pytest.mark.parametrize("kind", POSTGRESQL[:1])
def test_a_server_that_owes_heads_is_not_ready_until_they_are_written(kind, request, tmp_path):
    """The disk of the head file is full, that of the database is not."""
    url = migrated_url(kind, request, tmp_path, "heads")
    with Server(tmp_path, CUBILETE_DATABASE_URL=url) as server, server.client() as client:
        table = create(client, hotseat=True, options=OPTIONS)
        roll_until_taken(table)
        heads = tmp_path / "heads.log"
        size = heads.stat().st_size
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        roll_until_taken(table)
        assert client.get("/readyz").status_code == 503
        assert heads.stat().st_size == size
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        assert client.get("/readyz").status_code == 200
        game, seq, head = heads.read_text().splitlines()[-1].split()
        told = client.get(f"{table.path}/head").json()
        assert (game, int(seq), head) == (told["game"], told["seq"], told["head"])


@limits
def test_a_server_whose_disk_takes_no_more_serves_reads_and_goes_on_once_it_does(tmp_path):
    """No file may grow beyond a size: SQLite gets an error from write(), as from a bad disk."""
    with Server(tmp_path) as server, server.client() as client:
        table = create(client, hotseat=True, options=OPTIONS)
        acked = [roll_until_taken(table) for _ in range(5)]
        assert server._process is not None
        pid = server._process.pid
        wal = tmp_path / "cubilete.db-wal"
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (wal.stat().st_size, resource.RLIM_INFINITY))
        refused = 0
        for _ in range(10):
            key = keyed(new_key())
            answer = table.post("/actions", {"kind": "roll"}, headers=key)
            if answer.status_code == 200:
                acked.append(answer.content)
                continue
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            refused += 1
            assert client.get(table.path).status_code == 200
        assert refused > 0
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        assert client.get("/readyz").status_code == 503
        assert table.post("/actions", {"kind": "roll"}).status_code == 503
        assert "the database does not commit: " in server.log.read_text()
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        assert client.get("/readyz").status_code == 200
        acked += [roll_until_taken(table) for _ in range(5)]
        require_all(table, acked)
        server.stop()
        server.start()
        require_all(table, acked)
