"""Clocks over HTTP: what players see of them, on one server and on several workers."""

import json
from collections import Counter

import pytest

from service.verify import verify
from tests import contract_check
from tests.crowd import Asked, rounds
from tests.game_client import bearer, create, keyed, new_game, new_key
from tests.hosted import AT
from tests.postgres import POSTGRESQL, migrated_url
from tests.shifted_server import ShiftedServer, wait_for

TURN_S = 30
MS = TURN_S * 1000
AT_ONCE = {"starter": "seat", "target": 1000}
ROUNDS = 24


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """A server whose clock stands, and which sweeps but now and then."""
    with ShiftedServer(tmp_path_factory.mktemp("clock"), CUBILETE_SWEEP_SECONDS="3600") as running:
        yield running


@pytest.fixture
def server(standing):
    standing.set_clock(AT)
    return standing


@pytest.fixture
def client(server):
    with server.client(event_hooks={"response": [contract_check.check]}) as connected:
        yield connected


def timed(client, **more):
    return create(client, options=AT_ONCE, turn_seconds=TURN_S, **more)


def late(table):
    entries = table.client.get(f"{table.path}/log").json()["entries"]
    acted = [entry["data"] for entry in entries if entry["type"] == "acted"]
    return [one["action"] for one in acted if one["seat"] is None]


def test_a_game_shows_its_clock(client):
    table = timed(client)
    assert (table.created["turn_seconds"], table.created["deadline"]) == (
        TURN_S,
        "2026-01-01T00:00:30.123Z",
    )
    plain = create(client)
    assert (plain.created["turn_seconds"], plain.created["deadline"]) == (None, None)


@pytest.mark.parametrize("seconds", [4, 604_801, 0, -1, "30", 30.0, True])
def test_a_clock_gives_a_time_that_a_player_can_keep(client, seconds):
    answer = client.post("/v1/games", json=new_game(turn_seconds=seconds))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert answer.json()["errors"][0]["pointer"] == "/turn_seconds"


@pytest.mark.parametrize("seconds", [5, 604_800])
def test_the_shortest_and_the_longest_clock_play(client, seconds):
    assert create(client, turn_seconds=seconds).created["turn_seconds"] == seconds


def test_a_late_action_is_told_with_the_game_as_it_is(server, client):
    table = timed(client)
    server.set_clock(AT + MS)
    answer = table.act(0, "roll")
    assert (answer.status_code, answer.json()["code"]) == (409, "turn_expired")
    told = answer.json()["game"]
    assert told == table.read()
    assert told["version"] == table.created["version"] + 1
    assert late(table) == [{"kind": "roll", "seat": 0, "reason": "clock"}]


def test_a_retry_of_an_action_in_time_is_given_its_answer_after_the_deadline(server, client):
    table = timed(client)
    key = keyed(new_key())
    first = table.act(0, "roll", headers=key)
    server.set_clock(AT + MS)
    again = table.act(0, "roll", headers=key)
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"


def test_a_stranger_moves_no_clock(server, client):
    table = timed(client)
    server.set_clock(AT + MS)
    stranger = create(client)
    answer = table.post("/actions", {"kind": "roll"}, token=stranger.tokens[0])
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["", "/log", "/head", "/audit"])
def test_whatever_reads_a_game_sees_it_after_what_was_due(server, client, path):
    table = timed(client)
    server.set_clock(AT + MS)
    assert client.get(f"{table.path}{path}").status_code == 200
    server.set_clock(AT)  # from here on nothing is due
    assert table.version == table.created["version"] + 1


def test_games_of_a_table_with_absences_pass_every_audit(server, client):
    table = timed(client)
    now = AT
    while table.read()["status"] == "playing":
        now += MS
        server.set_clock(now)
    assert [one["kind"] for one in late(table)].count("resign") == 1
    record = client.get(f"{table.path}/audit")
    assert verify(record.content).ok
    assert client.post("/v1/audits", json=record.json()).json()["ok"]
    forged = record.json()
    forged["log"] = [line.replace('"reason":"clock"', '"reason":"host"') for line in forged["log"]]
    assert not client.post("/v1/audits", json=forged).json()["ok"]


def test_a_server_that_comes_back_finds_what_is_due_by_itself(tmp_path):
    with ShiftedServer(tmp_path / "data") as server, server.client() as client:
        server.set_clock(AT)
        tables = [timed(client) for _ in range(3)]
        server.kill()
        server.set_clock(AT + 100 * MS)
        server.start()
        swept = 'cubilete_swept_total{what="deadline"} 3.0'
        wait_for(lambda: swept in client.get("/metrics").text)
        server.set_clock(AT)  # so that reading them does nothing
        for table in tables:
            assert table.version == table.created["version"] + 1


@pytest.mark.parametrize("kind", ["sqlite", *POSTGRESQL[:1]])
def test_at_every_deadline_one_event_whoever_comes(kind, request, tmp_path):
    """The players, the readers and the sweepers of two workers, all at the moment it passes."""
    url = migrated_url(kind, request, tmp_path, "ticking")
    workers = "1" if kind == "sqlite" else "2"
    variables = {"CUBILETE_DATABASE_URL": url, "CUBILETE_WORKERS": workers}
    with ShiftedServer(tmp_path / "data", **variables) as server, server.client() as client:
        now = AT
        server.set_clock(now)
        table = create(client, options={"starter": "seat", "target": 10_000}, turn_seconds=TURN_S)
        codes: Counter[str] = Counter()
        for _ in range(ROUNDS):
            game = table.read()
            if game["status"] != "playing":
                break
            seat = game["to_act"][0]
            act = Asked(f"{table.path}/actions", {"kind": "roll"}, bearer(table.tokens[seat]))
            now += MS
            server.set_clock(now)
            (answers,) = rounds(server, [[act, Asked(table.path, method="GET")] * 8])
            told = [answer.code for answer in answers[::2]]
            codes.update(told)
            server.set_clock(now)
            after = table.read()
            new = client.get(f"{table.path}/log", params={"after": game["version"]}).json()
            clock = [one for one in new["entries"] if one["data"].get("action", {}).get("reason")]
            acted = [one for one in clock if one["data"]["action"]["kind"] != "resign"]
            assert len(acted) == 1, new
            own = [one for one in new["entries"] if one["data"].get("seat") is not None]
            assert len(own) == told.count("done")
            assert after["version"] == game["version"] + len(new["entries"])
            if after["status"] == "playing" and not own:
                # An action of its own keeps the seat at the table.
                back = after["to_act"][0]
                assert table.act(back, "roll").status_code == 200
        assert codes["turn_expired"]
        record = client.get(f"{table.path}/audit")
        assert verify(record.content).ok
        assert client.post("/v1/audits", json=json.loads(record.content)).json()["ok"]
