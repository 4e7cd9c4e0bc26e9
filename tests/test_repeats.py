"""Requests that come again: with a key, after a restart, much later, or captured by somebody."""

import asyncio
import os
from typing import Any

import httpx
import pytest

from service.api import views
from service.croupier import Croupier
from service.keys import ServerKey, SigningKeys, token_hash
from service.requests import Caller, NewGame
from service.store import Answer, Retry
from tests import contract_check
from tests.crowd import Asked, Crowd
from tests.game_client import Table, bearer, create, keyed, new_game, new_key
from tests.hosted import AT, opened, run
from tests.played import action
from tests.postgres import POSTGRESQL, migrated_url
from tests.server import Server

AT_ONCE = {"starter": "seat"}
KEYS = 300
HOUR_MS = 3_600_000


def test_every_change_of_the_contract_may_be_made_to_demand_a_key(tmp_path):
    changes = [
        (method.upper(), path.format(id="none", seat="0"))
        for path, methods in contract_check.document()["paths"].items()
        for method, operation in methods.items()
        if any(one["name"] == "Idempotency-Key" for one in operation.get("parameters", ()))
    ]
    writing = [
        operation["operationId"]
        for methods in contract_check.document()["paths"].values()
        for method, operation in methods.items()
        if method != "get"
    ]
    assert len(changes) == len(writing) - 1  # checking a record changes nothing
    bodies: dict[str, Any] = {"/v1/games": new_game(), "/v1/games/none/actions": {"kind": "roll"}}
    with (
        Server(tmp_path, CUBILETE_REQUIRE_IDEMPOTENCY_KEY="true") as server,
        server.client() as client,
    ):
        for method, path in changes:
            body = bodies.get(path, {})
            if path.endswith("/reveal"):
                body = {"seed": "11" * 32}
            if method == "PATCH":
                body = {"name": "Eva"}
            answer = client.request(method, path, json=body, headers=bearer("cub_host_" + "A" * 43))
            assert (answer.status_code, answer.json()["code"]) == (428, "precondition_missing")


def test_the_same_keys_of_two_tokens_never_meet(client: httpx.Client):
    options = {**AT_ONCE, "target": 10_000, "auto_hold": False}
    tables = [create(client, hotseat=True, options=options) for _ in range(2)]
    answers: list[dict[str, bytes]] = [{}, {}]
    for number in range(KEYS):
        for table, told in zip(tables, answers, strict=True):
            acted = table.post("/actions", {"kind": "roll"}, headers=keyed(f"key-{number}"))
            assert acted.status_code == 200
            assert table.id in acted.text
            told[f"key-{number}"] = acted.content
    for table, told in zip(tables, answers, strict=True):
        assert table.version == table.created["version"] + KEYS
        for key, content in told.items():
            again = table.post("/actions", {"kind": "roll"}, headers=keyed(key))
            assert (again.content, again.headers["idempotency-replayed"]) == (content, "true")


@pytest.mark.parametrize("kind", POSTGRESQL[:1])
def test_every_worker_gives_the_stored_answer_also_after_a_restart(kind, request, tmp_path):
    url = migrated_url(kind, request, tmp_path, "repeats")
    workers = Server(tmp_path, CUBILETE_DATABASE_URL=url, CUBILETE_WORKERS="2")
    with workers, workers.client() as client:
        options = {**AT_ONCE, "target": 10_000, "auto_hold": False}
        table = create(client, hotseat=True, options=options)
        asked = [
            Asked(f"{table.path}/actions", {"kind": "roll"}, bearer(table.host) | keyed(new_key()))
            for _ in range(20)
        ]
        first = [client.post(one.path, json=one.body, headers=one.headers) for one in asked]
        contents = [answer.content for answer in first]
        for again in (False, True):
            if again:
                workers.stop()
                workers.start()
            for one, content in zip(asked, contents, strict=True):
                told = asyncio.run(from_all(workers, one))
                assert {answer.content for answer in told} == {content}
                assert {answer.headers["idempotency-replayed"] for answer in told} == {"true"}


async def from_all(workers: Server, asked: Asked) -> list[Any]:
    """The answers over several connections, which the workers share."""
    async with Crowd(workers, 6) as crowd:
        return await crowd.ask_at_once([asked] * 6)


def test_a_key_finds_its_answer_after_more_than_a_day(database_url):
    """Kept as long as its game, whatever the clock says."""
    now = AT

    async def story():
        nonlocal now
        async with opened(database_url) as store:
            croupier = Croupier(
                store, ServerKey(bytes(32)), SigningKeys(bytes(32)), lambda: now, os.urandom
            )
            told: dict[str, Any] = {}

            def render(done: Any) -> Answer:
                told.update(id=done.hosted.game.id, tokens=done.seat_tokens)
                return views.created(done)

            await croupier.create(NewGame("pig", AT_ONCE, ("Ana", "Ben")), Caller(), render)
            token = told["tokens"][0]
            caller = Caller(token, Retry(token_hash(token), bytes(32)))
            ask = (told["id"], None, action("roll"), caller, views.changed)
            first = await croupier.act(*ask)
            now += 25 * HOUR_MS
            again = await croupier.act(*ask)
            assert (again.body, first.replayed, again.replayed) == (first.body, False, True)

    run(story())


class Recorder:
    """Everything that was sent, to be sent again by somebody who has captured it."""

    def __init__(self) -> None:
        self.sent: list[httpx.Request] = []

    def note(self, request: httpx.Request) -> None:
        if request.method != "GET":
            self.sent.append(request)


@pytest.mark.parametrize("key", [False, True], ids=["no_key", "key"])
def test_a_whole_captured_game_sent_twice_more_changes_nothing(server: Server, key: bool):
    recorder = Recorder()
    with server.client(event_hooks={"request": [recorder.note]}) as client:
        table = create(client, options={"target": 30}, start=False, hotseat=True)
        steps = [("/seats/1", {"name": "Eva"}), ("/start", {})]
        for path, body in steps:
            version = {"expected_version": table.version} | body
            headers = keyed(new_key()) if key else {}
            method = "PATCH" if "seats" in path else "POST"
            sent = table.send(method, path, version, token=table.host, headers=headers)
            assert sent.is_success, sent.text
        play(table, key)
        captured = recorder.sent[1:]  # the creation makes another game, as it may
    before = table_of(server, table)
    with server.client() as client:
        for request in captured * 2:
            again = client.send(request)
            if key:
                assert again.headers["idempotency-replayed"] == "true"
            else:
                assert again.status_code in (409, 412), again.text
    assert len(captured) > 4
    assert table_of(server, table) == before


def play(table: Table, key: bool) -> None:
    """To the end, each action with the version seen."""
    game = table.read()
    while game["status"] == "playing":
        seat = game["to_act"][0]
        holds = "hold" in [one["kind"] for one in game["legal_actions"]]
        kind = "hold" if holds and game["state"]["turn_total"] >= 10 else "roll"
        body = {"kind": kind, "seat": seat, "expected_version": game["version"]}
        answer = table.post("/actions", body, headers=keyed(new_key()) if key else {})
        assert answer.is_success, answer.text
        game = answer.json()["game"]


def table_of(server: Server, table: Table) -> tuple[bytes, bytes]:
    """A game and its log."""
    with server.client() as client:
        log = client.get(f"{table.path}/log", headers={"accept": "application/jsonl"})
        return client.get(table.path).content, log.content
