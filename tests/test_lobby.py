"""Lists of games, and the games in which it is your turn."""

import pytest

from service.store import GameFilter, listing, tables
from tests.game_client import bearer, create
from tests.hosted import created, opened, plan, rows, run, stored
from tests.postgres import DATABASES, migrated_url
from tests.server import Server
from tests.test_sweeper import damage

AT_ONCE = {"starter": "seat"}
CLOCK = 3600
BAD = {
    "no JSON": {"snapshot": "{"},
    "another shape": {"snapshot": "[]"},
    "no players": {"snapshot": '{"players": null, "outcome": null, "at": 1}'},
    "unknown rules": {"setup": '{"ruleset": {"key": "none", "version": 1}}'},
    "empty": {"setup": "", "snapshot": ""},
}


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    """A database for these tests alone: its lists are read whole."""
    return migrated_url(request.param, request, tmp_path, "lobby")


def turns(client, *tokens, status=200):
    answer = client.get("/v1/me/turns", headers={"Authorization": "Bearer " + ", ".join(tokens)})
    assert answer.status_code == status, answer.text
    return answer.json()


def mine(told):
    return {turn["game"]["id"]: turn["seats"] for turn in told["turns"]}


# --- lists ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", BAD.values(), ids=BAD.keys())
def test_a_row_that_is_no_game_is_left_out_and_frozen(url, columns):
    async def story():
        async with opened(url) as store:
            made = [await created(store) for _ in range(3)]
            await store.listed(GameFilter(), None, 100)
            damage(url, made[1].id, **columns)
            page = await store.listed(GameFilter(), None, 100)
            shown = [one.id for one in page.games]
            assert shown[:2] == [made[2].id, made[0].id]
            assert page.unreadable[0] == made[1].id
            first = await store.listed(GameFilter(), None, 2)
            assert first.last is not None
            assert first.last[0] == made[1].id  # the next page begins behind it
            rest = await store.listed(GameFilter(), first.last[0], 1)
            assert rest.games[0].id == made[0].id
        query = tables.game.select().with_only_columns(tables.game.c.audit)
        assert rows(url, query.where(tables.game.c.id == made[1].id)) == ["failed"]

    run(story())


def test_a_list_shows_of_a_game_what_the_game_shows(url):
    async def story():
        async with opened(url) as store:
            made = await created(store, names=("Ana", None, "Íñigo"))
            (listed,) = (await store.listed(GameFilter(), None, 1)).games
            hosted = await stored(store, made.id)
            assert (listed.id, listed.version, listed.updated_at) == (
                made.id,
                hosted.game.version,
                hosted.game.at,
            )
            assert listed.players == (("Ana", "human"), (None, "human"), ("Íñigo", "human"))
            assert (listed.outcome, listed.tally, listed.turn_seconds) == (None, (0, 0, 0), None)

    run(story())


LISTS = {
    "ix_game_listing": listing.public(GameFilter(), "x"),
    "ix_game_status": listing.public(GameFilter("waiting", "pig"), "x"),
    "ix_game_joinable": listing.public(GameFilter(open_seats=True), None),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_read_from_an_index(url, name):
    assert name in plan(url, LISTS[name].limit(50))


def test_a_bad_row_costs_neither_list_nor_series_nor_a_500(tmp_path):
    with Server(tmp_path / "data") as server, server.client() as client:
        tables_made = [create(client) for _ in range(3)]
        bad = tables_made[1]
        bad.act(0, "resign")
        series = bad.created["series"]["id"]
        bad.post("/rematch")
    damage(f"sqlite:///{tmp_path / 'data' / 'cubilete.db'}", bad.id, snapshot="{}")
    with Server(tmp_path / "data") as server, server.client() as client:
        listed = [one["id"] for one in client.get("/v1/games").json()["games"]]
        assert bad.id not in listed
        assert {tables_made[0].id, tables_made[2].id} <= set(listed)
        assert len(client.get(f"/v1/series/{series}").json()["games"]) == 1
        for path in ("", "/log", "/head", "/audit"):
            answer = client.get(f"{bad.path}{path}")
            assert (answer.status_code, answer.json()["code"]) == (423, "game_frozen"), path
        for path, body in (("rematch", {}), ("actions", {"kind": "roll"})):
            answer = client.post(f"{bad.path}/{path}", json=body, headers=bearer(bad.host))
            assert (answer.status_code, answer.json()["code"]) == (423, "game_frozen"), path


def test_a_list_can_be_narrowed_to_tables_with_an_open_seat(api):
    full, open_one = create(api), create(api, names=["Ana", None], turn_seconds=CLOCK)
    gone = create(api, names=["Ana", None])
    gone.post("/void")
    found = api.get("/v1/games", params={"open_seats": "true", "limit": 100}).json()["games"]
    ids = {one["id"] for one in found}
    assert open_one.id in ids
    assert not ids & {full.id, gone.id}
    (shown,) = [one for one in found if one["id"] == open_one.id]
    assert (shown["open_seats"], shown["turn_seconds"]) == (1, CLOCK)
    assert full.id in {
        one["id"]
        for one in api.get("/v1/games", params={"open_seats": "false", "limit": 100}).json()[
            "games"
        ]
    }


@pytest.mark.parametrize(
    "query",
    ["sort=id", "status=void;--", "ruleset=pig'", "open_seats=1", "limit=0", "limit=101",
     "limit=1000000000", "cursor=x", "cursor=LS0=%27"],
)  # fmt: skip
def test_a_list_takes_nothing_but_what_it_knows(api, query):
    answer = api.get(f"/v1/games?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")


# --- whose turn it is -----------------------------------------------------------------------------


def test_the_games_that_wait_for_ones_seats(api):
    first, second = create(api, options=AT_ONCE), create(api, options=AT_ONCE)
    tokens = [first.tokens[0], first.tokens[1], second.tokens[1]]
    assert mine(turns(api, *tokens)) == {first.id: [0]}
    assert mine(turns(api, tokens[1], tokens[2])) == {}
    assert mine(turns(api, second.tokens[0])) == {second.id: [0]}
    told = turns(api, tokens[0])["turns"][0]["game"]
    assert told == first.read()


def test_several_headers_are_one_list(api):
    first, second = create(api, options=AT_ONCE), create(api, options=AT_ONCE)
    sent = [("Authorization", f"Bearer {one.tokens[0]}") for one in (first, second)]
    answer = api.get("/v1/me/turns", headers=sent)
    assert mine(answer.json()) == {first.id: [0], second.id: [0]}
    assert answer.headers["vary"] == "Authorization"
    assert answer.headers["cache-control"] == "no-store"


def test_the_host_of_a_hot_seat_has_every_turn(api):
    table = create(api, options=AT_ONCE, hotseat=True)
    other = create(api, options=AT_ONCE)
    assert mine(turns(api, table.host, other.host)) == {table.id: [0]}


def test_a_host_who_has_to_resolve_is_waited_for(api):
    table = create(api, "dice-duel", options={"press": "host"})
    table.act(0, "roll")
    table.act(0, "hold")
    table.act(1, "hold")
    assert mine(turns(api, table.host)) == {table.id: [None]}


def test_a_rematch_is_found_by_the_old_tokens(api):
    table = create(api, options=AT_ONCE)
    table.act(1, "resign")
    following = table.post("/rematch").json()["game"]["id"]
    assert mine(turns(api, table.tokens[0])) == {following: [0]}


def test_a_token_that_no_game_knows_does_not_hide_the_others(api):
    table = create(api, options=AT_ONCE)
    unknown = "cub_seat_" + "A" * 43
    assert mine(turns(api, unknown, table.tokens[0])) == {table.id: [0]}
    assert turns(api, unknown, status=401)["code"] == "token_unknown"


def test_a_replaced_token_finds_nothing(api):
    table = create(api, options=AT_ONCE)
    old = table.tokens[0]
    new = table.post("/seats/0/token", token=old).json()["token"]
    assert turns(api, old, status=401)["code"] == "token_unknown"
    assert mine(turns(api, new)) == {table.id: [0]}


@pytest.mark.parametrize(
    ("header", "status", "code"),
    [
        (None, 401, "token_missing"),
        ("Bearer", 401, "token_unknown"),
        ("Bearer a, b", 401, "token_unknown"),
        (f"Basic cub_seat_{'A' * 43}", 401, "token_unknown"),
        (f"Bearer cub_seat_{'A' * 43},", 401, "token_unknown"),
        ("Bearer " + ", ".join(["cub_seat_" + "A" * 43] * 33), 422, "invalid_input"),
    ],
)
def test_a_list_of_tokens_is_read_strictly(api, header, status, code):
    headers = {} if header is None else {"Authorization": header}
    answer = api.get("/v1/me/turns", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


# --- names ----------------------------------------------------------------------------------------


def test_a_name_can_be_erased_once_the_game_is_over(api):
    table = create(api, names=["Ana", "Ben"])
    early = table.send("DELETE", "/seats/0/name", token=table.tokens[0])
    assert (early.status_code, early.json()["code"]) == (409, "game_not_over")
    table.act(1, "resign")
    log = api.get(f"{table.path}/log").content
    for _ in range(2):
        erased = table.send("DELETE", "/seats/0/name", token=table.tokens[0])
        assert erased.status_code == 200
        assert [one["name"] for one in erased.json()["game"]["players"]] == [None, "Ben"]
    assert api.get(f"{table.path}/log").content == log
    shown = api.get("/v1/games", params={"limit": 1}).json()["games"][0]
    assert (shown["id"], shown["players"][0]["name"]) == (table.id, None)
    report = api.post("/v1/audits", json=api.get(f"{table.path}/audit").json()).json()
    assert report["ok"]


def test_answers_that_repeat_a_name_go_with_it(api):
    table = create(api, names=["Ana", "Ben"])
    headers = {**bearer(table.tokens[1]), "Idempotency-Key": "resign-1"}
    resign = {"kind": "resign"}
    answer = api.post(f"{table.path}/actions", json=resign, headers=headers)
    assert "Ana" in answer.text
    table.send("DELETE", "/seats/0/name", token=table.host)
    again = api.post(f"{table.path}/actions", json=resign, headers=headers)
    assert (again.status_code, again.json()["code"]) == (409, "game_over")
    assert "Ana" not in again.text
