"""Several workers over one PostgreSQL answer as one server would."""

import asyncio
from collections import Counter

import pytest

from tests.crowd import Asked, Crowd, rounds
from tests.game_client import bearer, create, keyed, new_game, new_key
from tests.postgres import POSTGRESQL, migrated_url
from tests.raw import exchange, wire
from tests.server import Server
from tests.test_hostile import BODIES, JSON, authorised

ROUNDS = 8
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
