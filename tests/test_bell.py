"""What wakes streams and long polls: in one process, and between processes."""

import asyncio
import threading
import time

import pytest

from service.bell import Bell
from service.errors import Unavailable
from tests.game_client import bearer, create
from tests.hosted import run
from tests.listener import listening
from tests.postgres import POSTGRESQL, migrated_url
from tests.redis_server import redis_server  # noqa: F401
from tests.server import Server
from tests.test_long_polls import polled

AT_ONCE = {"starter": "seat", "target": 1000}
ROUNDS = 20


# --- one process --------------------------------------------------------------------------------


def test_who_watches_a_game_is_woken_for_it_and_for_no_other_game():
    async def story():
        bell, woken = Bell(), []
        leave = bell.watch("a", lambda: woken.append("a"))
        bell.watch("b", lambda: woken.append("b"))
        bell.ring(["a", "c"])
        await asyncio.sleep(0)
        assert woken == ["a"]
        leave()
        bell.ring(["a"])
        await asyncio.sleep(0)
        assert woken == ["a"]

    run(story())


def test_the_bell_rings_from_any_thread_once_for_all_rings_that_wait():
    async def story():
        bell, woken = Bell(), []
        bell.watch("a", lambda: woken.append("a"))

        def ring():
            for _ in range(100):
                bell.ring(["a"])

        ringing = [threading.Thread(target=ring) for _ in range(4)]
        for thread in ringing:
            thread.start()
        for thread in ringing:
            thread.join()
        await asyncio.sleep(0)
        assert woken == ["a"]

    run(story())


class Broken:
    """A wire that carries nothing."""

    async def send(self, game_ids):
        raise Unavailable("cut")

    async def rings(self):
        raise Unavailable("cut")
        yield

    async def close(self):
        pass


def test_a_wire_that_is_cut_does_not_keep_this_process_from_ringing():
    async def story():
        bell, woken = Bell(Broken()), asyncio.Event()
        bell.watch("a", woken.set)
        bell.ring(["a"])
        await woken.wait()
        await bell.close()

    run(story())


def test_who_watches_a_game_that_is_deleted_elsewhere_is_woken_once_more():
    async def story():
        found = [{"a": 1}, {}, {}]
        woken: asyncio.Queue[int] = asyncio.Queue()

        async def revisions(game_ids):
            return found.pop(0)

        bell = Bell(revisions=revisions)
        bell.watch("a", lambda: woken.put_nowait(len(found)))
        assert [await asyncio.wait_for(woken.get(), 10) for _ in range(2)] == [2, 1]
        await bell.close()

    run(story())


# --- several processes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(request, tmp_path_factory):
    """Two servers, each of one process, over one database: started once for each kind of bell."""
    directory = tmp_path_factory.mktemp("pairs")
    url = migrated_url(POSTGRESQL[0], request, directory, "pairs")
    started: dict[str, list[Server]] = {}

    def pair(bell):
        if bell not in started:
            given = {"CUBILETE_DATABASE_URL": url, "CUBILETE_SERVER_KEY": "5a" * 32}
            place = directory / str(len(started))
            started[bell] = [
                Server(place / name, CUBILETE_BELL=bell, **given).start()
                for name in ("one", "other")
            ]
        return started[bell]

    yield pair
    for server in (server for both in started.values() for server in both):
        server.stop()


def heard_at_the_other(servers, rounds=ROUNDS):
    """How long entries take from one server's answer to a listener at the other, in seconds."""
    one, other = servers
    delays = []
    with one.client() as client, other.client() as elsewhere:
        table = create(client, options=AT_ONCE, hotseat=True)
        with listening(elsewhere, f"{table.path}/stream") as heard:
            heard.until("snapshot")
            for _ in range(rounds):
                answer = table.post("/actions", {"kind": "roll"})
                answered = time.monotonic()
                *_, entry = heard.until("entry")
                delays.append(time.monotonic() - answered)
                assert entry.data.encode() in answer.content
            table.post("/actions", {"kind": "resign", "seat": 0})
            heard.until("end")
    return sorted(delays)


def test_entries_are_heard_at_another_process_by_the_databases_notices(pairs):
    delays = heard_at_the_other(pairs("database"))
    print(f"median {delays[ROUNDS // 2] * 1000:.1f} ms, most {delays[-1] * 1000:.1f} ms")
    assert delays[ROUNDS // 2] < 0.25


def test_entries_are_heard_at_another_process_by_redis(pairs, redis_server):  # noqa: F811
    delays = heard_at_the_other(pairs(redis_server.url))
    print(f"median {delays[ROUNDS // 2] * 1000:.1f} ms, most {delays[-1] * 1000:.1f} ms")
    assert delays[ROUNDS // 2] < 0.25


def test_entries_are_heard_at_another_process_without_any_notices(pairs):
    delays = heard_at_the_other(pairs("poll"), rounds=3)
    assert delays[-1] < 5


def test_a_redis_that_is_gone_costs_time_and_nothing_else(pairs, redis_server):  # noqa: F811
    one, other = pairs(redis_server.url)
    redis_server.stop()
    delays = heard_at_the_other((one, other), rounds=3)
    assert delays[-1] < 5
    redis_server.start()
    assert "Traceback" not in one.log.read_text() + other.log.read_text()


def test_a_long_poll_at_one_process_is_answered_for_a_change_at_another(pairs):
    one, other = pairs("database")
    with one.client() as client:
        table = create(client, options=AT_ONCE)
        answer, took_s = polled(other, table, lambda: table.act(0, "roll"))
        assert took_s < 10
        assert answer.json()["version"] == table.version


def test_a_long_poll_at_one_process_is_answered_for_a_rematch_at_another(pairs):
    one, other = pairs("database")
    with one.client() as client:
        table = create(client)
        table.act(0, "resign")
        answer, took_s = polled(other, table, lambda: table.post("/rematch"))
        assert took_s < 10
        assert answer.json()["series"] == table.read()["series"]


def present(client, table):
    players = client.get(table.path).json()["players"]
    return [player["seat"] for player in players if player["present"]]


def test_a_player_at_one_process_is_present_at_every_other(pairs):
    one, other = pairs("database")
    with one.client() as client, other.client() as elsewhere:
        table = create(client, options=AT_ONCE)
        with listening(elsewhere, f"{table.path}/stream") as watched:
            watched.until("snapshot")
            with listening(client, f"{table.path}/stream", bearer(table.tokens[0])) as mine:
                mine.until("snapshot")
                assert watched.until("presence")[-1].json()["present"] == [0]
                assert present(elsewhere, table) == present(client, table) == [0]
            mine.response.close()
            assert watched.until("presence")[-1].json()["present"] == []
            assert present(elsewhere, table) == []


def test_a_process_that_dies_leaves_nobody_present(pairs):
    one, other = pairs("database")
    with one.client() as client, other.client() as elsewhere:
        table = create(client, options=AT_ONCE)
        with listening(elsewhere, f"{table.path}/stream") as watched:
            watched.until("snapshot")
            with client.stream("GET", f"{table.path}/stream", headers=bearer(table.tokens[0])):
                assert watched.until("presence")[-1].json()["present"] == [0]
                one.kill()
                assert watched.until("presence")[-1].json()["present"] == []
    one.start()


def test_a_token_replaced_at_one_process_cuts_its_stream_at_another(pairs):
    one, other = pairs("database")
    with one.client() as client, other.client() as elsewhere:
        table = create(client, options=AT_ONCE)
        stream = f"{table.path}/stream"
        with listening(elsewhere, stream, bearer(table.tokens[0])) as mine:
            mine.until("snapshot")
            table.post("/seats/0/token", token=table.tokens[0])
            began = time.monotonic()
            mine.until("token_void")
            assert time.monotonic() - began < 1
