"""Work off the event loop is bounded: who finds no slot is told at once, and nothing is lost."""

import asyncio
import json
import os
import resource
import select
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.api import views
from service.api.house import open_house
from service.api.metrics import Metrics
from service.dice import KeyChain
from service.errors import GameNotOver, HostOnly, InvalidInput, Refusal, Unavailable
from service.examiner import UPLOADS, Examiner
from service.requests import Caller, Joining, NewGame
from service.rules.base import Resign
from service.settings import Settings
from service.slots import Slots
from service.store import HostedGame
from tests.game_client import create
from tests.hosted import ROLL, run
from tests.raw import exchange, wire
from tests.server import Server
from tests.starving import give_no_more, open_no_more_files

JSON = ("Content-Type", "application/json")
PATIENCE_S = 20
limits = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="nobody can limit a running process here"
)


# --- slots --------------------------------------------------------------------------------------


def test_who_finds_no_slot_is_told_at_once():
    async def story():
        slots, go_on = Slots("x", 3, threads=1, retry_after_s=7), threading.Event()
        taken = [asyncio.ensure_future(slots.run(go_on.wait, PATIENCE_S)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable) as full:
            await slots.run(int)
        assert full.value.retry_after_s == 7
        go_on.set()
        assert await asyncio.gather(*taken) == [True] * 3
        assert await slots.run(int) == 0

    run(story())


def test_a_slot_is_free_again_after_a_failure():
    async def story():
        slots = Slots("x", 1)
        for _ in range(3):
            with pytest.raises(ValueError, match="invalid literal"):
                await slots.run(int, "x")
            with pytest.raises(KeyError), slots.slot():
                raise KeyError
        assert await slots.run(int, "7") == 7

    run(story())


def test_work_goes_on_without_its_caller_and_keeps_its_slot():
    async def story():
        slots, go_on, done = Slots("x", 1), threading.Event(), threading.Event()

        def work():
            go_on.wait(PATIENCE_S)
            done.set()

        asked = asyncio.ensure_future(slots.run(work))
        await asyncio.sleep(0.05)
        asked.cancel()
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await slots.run(int)
        go_on.set()
        await asyncio.to_thread(done.wait, PATIENCE_S)
        while True:
            try:
                assert await slots.run(int) == 0
                return
            except Unavailable:
                await asyncio.sleep(0.001)

    run(story())


def test_work_that_has_not_begun_ends_with_its_caller():
    async def story():
        slots, go_on, began = Slots("x", 2), threading.Event(), list[int]()
        first = asyncio.ensure_future(slots.run(go_on.wait, PATIENCE_S))
        second = asyncio.ensure_future(slots.run(began.append, 1))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        third = asyncio.ensure_future(slots.run(int))
        go_on.set()
        assert await first
        assert await third == 0
        assert not began

    run(story())


# --- uploads ------------------------------------------------------------------------------------


def children_of(server: Server) -> list[int]:
    assert server._process is not None
    listed = [
        path.read_text() for path in Path(f"/proc/{server._process.pid}/task").glob("*/children")
    ]
    return [int(child) for text in listed for child in text.split()]


def upload(client, record=b'{"log":[]}'):
    return client.post("/v1/audits", content=record, headers=dict([JSON]))


def large_record():
    lines = [json.dumps({"seq": number, "x": "y" * 100}) for number in range(20_000)]
    return json.dumps({"protocol": "fair-dice/1", "game": "x", "log": lines}).encode()


def test_an_upload_takes_its_slot_before_its_body_is_read(own):
    start = wire("POST", "/v1/audits", [JSON], b"").replace(b"Length: 0", b"Length: 1000")
    held = [socket.create_connection(("127.0.0.1", own.port), PATIENCE_S) for _ in range(UPLOADS)]
    with own.client() as client:
        for line in held:
            line.sendall(start)
        deadline = time.monotonic() + PATIENCE_S
        while (answer := upload(client)).status_code == 200:
            assert time.monotonic() < deadline
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert create(client).act(0, "roll").status_code in (200, 409)
        assert client.get("/readyz").status_code == 200
        held.pop().close()
        while (answer := upload(client)).status_code == 503:
            assert time.monotonic() < deadline
        assert answer.status_code == 200
    for line in held:
        line.close()


def test_uploads_are_examined_by_a_process_that_holds_no_secret(tmp_path):
    with Server(tmp_path / "data", CUBILETE_SERVER_KEY="5a" * 32) as own, own.client() as client:
        assert not children_of(own)
        assert upload(client).status_code == 200
        (child,) = children_of(own)
        variables = Path(f"/proc/{child}/environ").read_bytes()
        assert b"CUBILETE" not in variables
        assert b"5a5a" not in variables
        assert upload(client).status_code == 200
        assert children_of(own) == [child]
        os.kill(child, signal.SIGKILL)
        while " Z " not in Path(f"/proc/{child}/stat").read_text():
            time.sleep(0.001)
        assert upload(client).status_code == 200
        (child,) = children_of(own)
    assert not Path(f"/proc/{child}").exists()


def test_a_record_that_takes_too_long_is_told_so(tmp_path):
    with Server(tmp_path / "data", CUBILETE_AUDIT_SECONDS="0.01") as own, own.client() as client:
        for _ in range(2):
            answer = upload(client, large_record())
            assert (answer.status_code, answer.json()["code"]) == (422, "record_too_costly")
        assert not children_of(own)


def wait_for_half_an_upload(child):
    """Until something has been written to a process that stands still."""
    pipe = os.open(f"/proc/{child}/fd/0", os.O_RDONLY)
    try:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        assert poll.poll(PATIENCE_S * 1000)
    finally:
        os.close(pipe)


def test_an_upload_that_is_not_read_is_given_up(tmp_path):
    """It is longer than what a pipe takes."""
    with Server(tmp_path / "data", CUBILETE_AUDIT_SECONDS="3") as own, own.client() as client:
        assert upload(client).status_code == 200
        (child,) = children_of(own)
        os.kill(child, signal.SIGSTOP)
        answer = upload(client, large_record())
        assert (answer.status_code, answer.json()["code"]) == (422, "record_too_costly")
        assert upload(client).status_code == 200
        assert child not in children_of(own)


def test_a_record_whose_examiner_is_killed_is_examined_by_another(own):
    with own.client() as client, ThreadPoolExecutor(1) as pool:
        assert upload(client).status_code == 200
        (child,) = children_of(own)
        os.kill(child, signal.SIGSTOP)
        asked = pool.submit(upload, client, large_record())
        wait_for_half_an_upload(child)
        os.kill(child, signal.SIGKILL)
        assert asked.result().status_code == 200


@limits
def test_a_record_that_needs_more_memory_than_there_is_is_told_so(own):
    with own.client() as client:
        assert upload(client).status_code == 200
        (child,) = children_of(own)
        give_no_more(child)
        answer = upload(client, large_record())
        assert (answer.status_code, answer.json()["code"]) == (422, "record_too_costly")
        assert upload(client).status_code == 200


@limits
def test_where_no_file_can_be_opened_an_upload_may_come_again(own):
    with own.client() as client:
        assert client.get("/livez").status_code == 200
        before = open_no_more_files(own.pid)
        answer = upload(client)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        resource.prlimit(own.pid, resource.RLIMIT_NOFILE, before)
        assert upload(client).status_code == 200
    assert own.log.read_text().count("no process can be started") == 1


@limits
def test_where_no_file_can_be_opened_a_page_that_was_never_read_may_be_asked_for_again(own):
    pages = ("/", "/verify", "/docs", "/web/table/app.js", "/v1/rulesets/pig")
    with own.client() as client:
        assert client.get("/livez").status_code == 200
        before = open_no_more_files(own.pid)
        assert {client.get(page).status_code for page in pages} == {503}
        resource.prlimit(own.pid, resource.RLIMIT_NOFILE, before)
        assert {client.get(page).status_code for page in pages} == {200}
    assert own.log.read_text().count("a request failed: ") == len(pages)


def test_who_waits_for_a_report_is_no_longer_kept_when_the_server_ends():
    """And the record is not blamed for it."""

    async def story():
        examiner = Examiner(PATIENCE_S)
        assert await examiner.report(b"{}")
        assert examiner._process is not None
        examiner._process.send_signal(signal.SIGSTOP)
        asked = asyncio.ensure_future(examiner.report(b"{}"))
        await asyncio.to_thread(wait_for_half_an_upload, examiner._process.pid)
        examiner.close()
        with pytest.raises(Unavailable):
            await asked

    run(story())


def test_while_a_large_record_is_examined_the_others_are_served(server, client):
    """Its lines are parsed, hashed and folded: seconds of work, none of it on the loop."""
    record, told = large_record(), []
    upload = threading.Thread(
        target=lambda: told.append(exchange(server, wire("POST", "/v1/audits", [JSON], record)))
    )
    took_s = []
    upload.start()
    while upload.is_alive():
        took_s.append(client.get("/v1/rulesets").elapsed.total_seconds())
    upload.join()
    assert told[0].status == 200
    assert sorted(took_s)[int(len(took_s) * 0.9)] < 0.1


# --- the past of a game and its keys -------------------------------------------------------------


@pytest.fixture
def cold(tmp_path):
    """Opens a croupier anew, which knows the games of its database and no key chains yet."""
    settings = Settings(data_dir=tmp_path / "data")

    @asynccontextmanager
    async def opened():
        async with open_house(settings, Metrics()) as house:
            yield house.croupier

    return opened


def new_pig(names=("Ana", None)):
    return NewGame("pig", {"starter": "seat"}, names, seed_mode="operator")


async def refused(change):
    with pytest.raises(Refusal):
        await change


def test_who_is_refused_has_no_key_chain_made(cold):
    """Making one walks it whole; a game that nobody plays any more has none in memory."""

    async def story():
        async with cold() as croupier:
            answer = await croupier.create(new_pig(("Ana", "Ben")), Caller(), views.created)
            made = json.loads(answer.body)
        game, seat = made["game"]["id"], made["tokens"]["seats"][0]["token"]
        stranger = Caller("cub_seat_" + "A" * 43)
        async with cold() as croupier:
            for caller in (stranger, Caller()):
                await refused(croupier.act(game, None, ROLL, caller, views.changed))
                await refused(croupier.start(game, caller, views.changed))
                await refused(croupier.leave(game, 0, caller, views.changed))
            assert croupier._chains.get(game) is None
            answer = await croupier.act(game, None, ROLL, Caller(seat), views.changed)
            assert answer.status == 200
            assert croupier._chains.get(game) is not None

    run(story())


def test_who_joins_has_a_key_chain_made_only_by_taking_the_last_seat(cold):
    async def story():
        async with cold() as croupier:
            names = ("Ana", None, None)
            answer = await croupier.create(new_pig(names), Caller(), views.created)
            game = json.loads(answer.body)["game"]["id"]
        async with cold() as croupier:
            await croupier.join(game, Joining("Ben"), Caller(), views.seated)
            assert croupier._chains.get(game) is None
            await croupier.join(game, Joining("Eva"), Caller(), views.seated)
            assert croupier._chains.get(game) is not None
            assert (await croupier.read(game)).game.status == "playing"

    run(story())


def test_no_rematch_has_a_key_chain_made_before_it_may_be(cold, monkeypatch):
    """Who may have none, and whoever asks while the game goes on, costs no chain."""
    made = []

    def counted(*given):
        made.append(given)
        return KeyChain(*given)

    monkeypatch.setattr("service.croupier.KeyChain", counted)

    async def story():
        async with cold() as croupier:
            played, waits = [
                json.loads((await croupier.create(new_pig(names), Caller(), views.created)).body)
                for names in (("Ana", "Ben"), ("Ana", None))
            ]
            game, host = played["game"]["id"], Caller(played["tokens"]["host"])
            seat = Caller(played["tokens"]["seats"][0]["token"])
            waiting = waits["game"]["id"], None, Caller(waits["tokens"]["host"]), views.rematched
            made.clear()
            with pytest.raises(GameNotOver):
                await croupier.rematch(*waiting)
            with pytest.raises(GameNotOver):
                await croupier.rematch(game, None, host, views.rematched)
            await croupier.act(game, None, Resign(kind="resign"), seat, views.changed)
            with pytest.raises(HostOnly):
                await croupier.rematch(game, None, seat, views.rematched)
            with pytest.raises(InvalidInput):
                await croupier.rematch(game, {"target": 0}, host, views.rematched)
            assert made == []
            await croupier.rematch(game, None, host, views.rematched)
            assert len(made) == 1

    run(story())


def test_the_past_of_games_is_folded_by_few_at_a_time(cold):
    async def story():
        async with cold() as croupier:
            answer = await croupier.create(new_pig(("Ana", "Ben")), Caller(), views.created)
            game = json.loads(answer.body)["game"]["id"]
            asked = [croupier.read_at(game, 1) for _ in range(100)]
            told = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(one, HostedGame | Unavailable) for one in told)
            assert sum(isinstance(one, HostedGame) for one in told) >= 1
            await croupier.ready()
            assert (await croupier.read_at(game, 1)).game.version == 1

    run(story())


def test_the_log_of_a_waiting_game_does_not_grow_without_bound(client):
    table = create(client, names=["Ana", None, None], start=False)
    joined = table.join()
    for _ in range(200):
        if joined.status_code != 201:
            break
        left = table.send("DELETE", "/seats/1", token=joined.json()["token"])
        assert left.status_code == 200
        joined = table.join()
    assert (joined.status_code, joined.json()["code"]) == (409, "roster_exhausted")
    assert table.version <= 301
    renamed = table.send("PATCH", "/seats/0", {"name": "Eva"}, token=table.tokens[0])
    assert renamed.json()["code"] == "roster_exhausted"
    assert table.send("POST", "/void", token=table.host).status_code == 200


def test_the_past_of_a_game_is_told_as_before(client):
    table = create(client, options={"starter": "seat"})
    games = [table.read()]
    for _ in range(5):
        game = games[-1]
        games.append(table.step(game).json()["game"])
    for game in games:
        then = table.read(version=game["version"])
        assert {name: then[name] for name in ("state", "version", "legal_actions")} == {
            name: game[name] for name in ("state", "version", "legal_actions")
        }
