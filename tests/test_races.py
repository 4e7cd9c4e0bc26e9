"""Many at once: one wins, all others are told, and nobody reads what is older than an answer."""

import asyncio
from collections import Counter

from tests.crowd import Asked, Crowd, rounds
from tests.game_client import bearer, create, keyed, new_game, new_key

ROUNDS = 20
AT_ONCE = {"starter": "seat"}


def acting(table, seat, kind, headers=None, **more):
    given = {**bearer(table.tokens[seat]), **(headers or {})}
    return Asked(f"{table.path}/actions", {"kind": kind, **more}, given)


def test_fifty_equal_requests_make_one_entry_and_get_fifty_equal_answers(server, client):
    tables = [create(client, names=["Ana", "Ben", "Eva"]) for _ in range(ROUNDS)]
    asked = [[acting(table, 0, "resign", keyed(new_key()))] * 50 for table in tables]
    for table, answers in zip(tables, rounds(server, asked), strict=True):
        assert {answer.status for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
        assert sum("idempotency-replayed" in answer.headers for answer in answers) == 49
        assert table.version == table.created["version"] + 1


def test_fifty_equal_creations_make_one_game(server):
    body = new_game(visibility="unlisted")
    asked = [[Asked("/v1/games", body, keyed(new_key()))] * 50 for _ in range(ROUNDS // 2)]
    for answers in rounds(server, asked):
        assert {answer.status for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1


def test_of_fifty_who_have_seen_one_version_one_acts(server, client):
    tables = [create(client, options=AT_ONCE) for _ in range(ROUNDS)]
    asked = [
        [
            acting(table, 0, "roll", keyed(new_key()), expected_version=table.created["version"])
            for _ in range(50)
        ]
        for table in tables
    ]
    for table, answers in zip(tables, rounds(server, asked), strict=True):
        assert Counter(answer.status for answer in answers) == {200: 1, 412: 49}
        assert table.version == table.created["version"] + 1
        stale = [answer.json() for answer in answers if answer.status == 412]
        assert {problem["version"] for problem in stale} == {table.version}
        assert all(len(problem["entries"]) == 1 for problem in stale)


def test_of_thirty_two_who_want_the_last_seat_one_gets_it(server, client):
    tables = [create(client, names=["Ana", None]) for _ in range(ROUNDS)]
    asked = [[Asked(f"{table.path}/seats", {})] * 32 for table in tables]
    for table, answers in zip(tables, rounds(server, asked), strict=True):
        assert Counter(answer.code for answer in answers) == {"done": 1, "game_started": 31}
        assert table.read()["status"] == "playing"


def test_of_many_who_want_one_name_one_gets_it(server, client):
    tables = [create(client, names=[None] * 8) for _ in range(ROUNDS)]
    asked = [[Asked(f"{table.path}/seats", {"name": "Ana"})] * 8 for table in tables]
    for answers in rounds(server, asked):
        assert Counter(answer.code for answer in answers) == {"done": 1, "name_taken": 7}


def test_of_many_rematches_one_is_made(server, client):
    tables = [create(client, visibility="unlisted") for _ in range(ROUNDS)]
    for table in tables:
        table.act(0, "resign")
    asked = [[Asked(f"{table.path}/rematch", None, bearer(table.host))] * 8 for table in tables]
    for answers in rounds(server, asked):
        assert Counter(answer.code for answer in answers) == {"done": 1, "rematch_exists": 7}
        made = {answer.json()["game"]["id"] for answer in answers if answer.code == "done"}
        assert {answer.json()["game"] for answer in answers if answer.code != "done"} == made


def test_two_who_give_up_at_once_do_not_both_lose(server, client):
    tables = [create(client) for _ in range(ROUNDS)]
    asked = [[acting(table, seat, "resign") for seat in (0, 1)] for table in tables]
    for table, answers in zip(tables, rounds(server, asked), strict=True):
        assert Counter(answer.code for answer in answers) == {"done": 1, "game_over": 1}
        assert len(table.read()["outcome"]["winners"]) == 1


def test_nobody_reads_a_game_older_than_an_answer(server, client):
    table = create(client, options={**AT_ONCE, "target": 1000}, hotseat=True)
    version_of = {table.path: "version", f"{table.path}/head": "seq"}
    watched = [table.path, table.path, f"{table.path}/head"]
    known, playing = table.created["version"], True

    async def play(crowd):
        nonlocal known, playing
        roll = Asked(f"{table.path}/actions", {"kind": "roll"}, bearer(table.host))
        for _ in range(200):
            answer = await crowd.ask(0, roll)
            known = answer.json()["game"]["version"]
        playing = False

    async def watch(crowd, place, path):
        seen = reads = 0
        while playing:
            floor = known
            answer = await crowd.ask(place, Asked(path, method="GET"))
            version = answer.json()[version_of[path]]
            assert version >= max(floor, seen)
            seen, reads = version, reads + 1
        return reads

    async def run():
        async with Crowd(server, 1 + len(watched)) as crowd:
            watching = [watch(crowd, place, path) for place, path in enumerate(watched, 1)]
            return await asyncio.gather(play(crowd), *watching)

    _, *reads = asyncio.run(run())
    assert all(count > 20 for count in reads)
