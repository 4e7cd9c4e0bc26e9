"""Games with bots over HTTP: seated, played, refused, audited, played on."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from service.bots import BOTS
from service.hosting import BOT_ACTIONS_MOST
from service.playing_on import PlayingOn
from service.rules import RULESETS
from tests.game_client import Table, bearer, new_game, some_action
from tests.test_api import refused, wrong_fields

EVERY_BOT = [(key, bot.name.replace("N", "25")) for key, bots in BOTS.items() for bot in bots]
Json = dict[str, Any]


def with_bots(
    client: httpx.Client, *bots: str, ruleset: str = "pig", people: int = 1, **more: Any
) -> Table:
    """A table of people in the first seats and bots in the others."""
    body = new_game(ruleset, ["Ana", "Ben", "Eva"][:people], **more)
    body["seats"] += [{"bot": name} for name in bots]
    answer = client.post("/v1/games", json=body)
    assert answer.status_code == 201, answer.text
    return Table(client, answer.json())


def own_turn(game: Json, number: int = 0, seat: int = 0) -> Json:
    """One of the actions that a person may take."""
    mine = [legal for legal in game["legal_actions"] if legal["seat"] == seat]
    assert mine, game
    return some_action(mine[number % len(mine)], number)


def played_out(table: Table) -> Json:
    """The game after a person in seat 0 has played it to its end, by whatever is legal."""
    game = table.read()
    for number in range(2_000):
        if game["status"] != "playing":
            return game
        answer = table.post("/actions", own_turn(game, number), token=table.tokens[0])
        assert answer.status_code == 200, answer.text
        game = answer.json()["game"]
    raise AssertionError("it does not end")


def log(table: Table) -> list[Json]:
    entries: list[Json] = table.client.get(f"{table.path}/log?limit=100").json()["entries"]
    return entries


# --- the catalogue ------------------------------------------------------------------------------


def test_every_ruleset_has_bots_and_random_is_one_of_them(api):
    for ruleset in api.get("/v1/rulesets").json()["rulesets"]:
        names = [bot["name"] for bot in ruleset["bots"]]
        assert "random" in names
        assert len(names) > 1
        assert len(set(names)) == len(names)
        assert api.get(f"/v1/rulesets/{ruleset['key']}").json()["bots"] == ruleset["bots"]


def test_a_bot_is_told_in_both_languages(api):
    for ruleset in api.get("/v1/rulesets").json()["rulesets"]:
        for bot in ruleset["bots"]:
            for text in (bot["title"], bot["description"]):
                assert text.keys() == {"es", "en"}
                assert text["es"] != text["en"]


def test_bots_are_those_of_the_registry():
    assert list(BOTS) == [ruleset.key for ruleset in RULESETS]


# --- seats --------------------------------------------------------------------------------------


def test_a_bot_is_seated_without_a_token_and_shown_by_its_name(api):
    table = with_bots(api, "hold_20", "hold_at:25")
    assert list(table.tokens) == [0]
    assert table.read()["players"] == [
        {"seat": 0, "name": "Ana", "kind": "human", "present": False},
        {"seat": 1, "name": "hold_20", "kind": "bot", "present": False},
        {"seat": 2, "name": "hold_at:25", "kind": "bot", "present": False},
    ]


def test_a_bot_may_sit_at_a_table_twice(api):
    table = with_bots(api, "random", "random")
    assert [player["name"] for player in table.read()["players"]] == ["Ana", "random", "random"]


def test_the_log_knows_a_bot_by_its_kind_and_no_seed_of_it(api):
    joined = [entry["data"] for entry in log(with_bots(api, "random")) if entry["type"] == "joined"]
    assert [data["kind"] for data in joined] == ["human", "bot"]
    assert (joined[1]["who"], joined[1]["commit"], joined[1]["seed"]) == (None, None, None)


@pytest.mark.parametrize(
    "name", ["nobody", "hold_at", "hold_at:0", "hold_at:1000", "hold_20:5", "random:1"]
)
def test_an_unknown_bot_is_refused(api, name):
    body = new_game(names=["Ana"])
    body["seats"].append({"bot": name})
    assert wrong_fields(api.post("/v1/games", json=body)) == {("/seats/1/bot", "not_allowed")}


@pytest.mark.parametrize("name", ["", "Hold_20", "hold_at:-1", "hold at", "x" * 40])
def test_a_name_that_no_bot_could_have_is_refused(api, name):
    body = new_game(names=["Ana"])
    body["seats"].append({"bot": name})
    assert wrong_fields(api.post("/v1/games", json=body)) == {("/seats/1/bot", "wrong_form")}


def test_a_seat_is_not_a_persons_and_a_bots(api):
    body = new_game(names=["Ana"])
    body["seats"].append({"name": "Rob", "bot": "random"})
    assert wrong_fields(api.post("/v1/games", json=body)) == {("/seats/1", "name_or_bot")}


def test_bots_alone_are_no_table(api):
    body = {"ruleset": "pig", "seats": [{"bot": "random"}, {"bot": "hold_20"}]}
    assert wrong_fields(api.post("/v1/games", json=body)) == {("/seats", "needs_person")}


@pytest.mark.parametrize(
    ("options", "people", "code"),
    [
        ({"target": 101}, 1, "bot_option"),
        ({"finish": "complete_round"}, 1, "bot_option"),
        ({}, 2, "bot_seats"),
    ],
)
def test_optimal_is_refused_where_it_is_not_optimal(api, options, people, code):
    body = new_game(names=["Ana", "Ben"][:people], options=options)
    body["seats"].append({"bot": "optimal"})
    answer = api.post("/v1/games", json=body)
    assert wrong_fields(answer) == {(f"/seats/{people}/bot", code)}


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_option_that_a_bot_does_not_play_is_named(api, language):
    body = new_game(names=["Ana"], options={"hold_before_roll": True})
    body["seats"].append({"bot": "optimal"})
    answer = api.post("/v1/games", json=body, headers={"accept-language": language})
    (wrong,) = answer.json()["errors"]
    assert "hold_before_roll" in wrong["detail"]


def test_the_catalogue_says_what_a_bot_needs(api):
    told = {bot["name"]: bot["needs"] for bot in api.get("/v1/rulesets/pig").json()["bots"]}
    assert told["hold_20"] == {"options": {}, "seats": None}
    assert told["optimal"]["seats"] == 2
    assert told["optimal"]["options"]["target"] == {"maximum": 100}
    assert told["optimal"]["options"]["finish"] == {"const": "at_once"}


def test_a_name_matches_the_pattern_of_its_bot(api):
    for ruleset in api.get("/v1/rulesets").json()["rulesets"]:
        for bot in ruleset["bots"]:
            assert re.search(bot["pattern"], bot["name"].replace("N", "25")), bot["name"]


def test_an_open_seat_is_enough_and_the_bots_play_once_it_is_taken(api):
    body = {"ruleset": "pig", "seats": [{"bot": "hold_20"}, {}], "options": {"starter": "seat"}}
    table = Table(api, api.post("/v1/games", json=body).json())
    assert table.read()["status"] == "waiting"
    joined = table.join().json()
    assert joined["game"]["to_act"] == [1]
    assert log(table)[-1]["data"]["seat"] == 0  # the bot had the first turn


def test_the_host_may_give_a_bots_seat_to_a_person(api):
    table = with_bots(api, "random", start=False)
    assert table.send("DELETE", "/seats/1", token=table.host).status_code == 200
    assert table.read()["players"][1] == {"seat": 1, "name": None, "kind": None, "present": False}
    table.join({"name": "Ben"})
    table.post("/start")
    game = table.read()
    assert game["players"][1] == {"seat": 1, "name": "Ben", "kind": "human", "present": False}
    assert game["status"] == "playing"


# --- playing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ruleset", "bot"), EVERY_BOT)
def test_a_person_plays_a_bot_to_the_end_and_the_audit_finds_nothing(api, ruleset, bot):
    table = with_bots(api, bot, ruleset=ruleset)
    assert played_out(table)["status"] == "finished"
    lines = api.get(f"{table.path}/log", headers={"accept": "application/jsonl"}).content
    headers = {"content-type": "application/jsonl"}
    report = api.post("/v1/audits", content=lines, headers=headers).json()
    assert report["ok"], report


def test_bots_act_in_the_request_that_gives_them_the_turn(api):
    table = with_bots(
        api, "hold_20", "hold_20", options={"starter": "seat", "hold_before_roll": True}
    )
    answer = table.act(0, "hold").json()
    assert answer["entry"]["data"]["seat"] == 0
    assert answer["game"]["to_act"] == [0]
    assert answer["game"]["version"] >= answer["entry"]["seq"] + 2
    assert answer["receipt"]["seq"] == answer["game"]["version"]
    after = [entry for entry in log(table) if entry["seq"] > answer["entry"]["seq"]]
    assert {entry["data"]["seat"] for entry in after} == {1, 2}
    assert table.read() == answer["game"]


def test_bots_act_before_the_first_person_if_the_start_gives_them_the_turn(api):
    for _ in range(20):
        table = with_bots(api, "random", ruleset="heaven-and-nine")
        assert table.read()["to_act"] == [0]


def test_a_retry_is_given_the_same_bytes_and_no_bot_plays_twice(api):
    table = with_bots(api, "hold_20", options={"starter": "seat", "hold_before_roll": True})
    once = table.act(0, "hold", headers={"Idempotency-Key": "k"})
    version = table.version
    again = table.act(0, "hold", headers={"Idempotency-Key": "k"})
    assert again.content == once.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert table.version == version


def test_a_stale_caller_is_told_what_the_bots_did(api):
    table = with_bots(api, "hold_20", options={"starter": "seat", "hold_before_roll": True})
    told = table.act(0, "hold").json()
    stale = table.act(0, "roll", headers={"If-Match": f'"{told["entry"]["seq"]}"'})
    refused(stale, 412, "stale_version")
    assert {entry["data"]["seat"] for entry in stale.json()["entries"]} == {1}


def test_in_a_duel_people_roll_for_the_table_and_bots_only_choose(api):
    table = with_bots(api, "random", ruleset="dice-duel")
    game = table.read()
    assert (game["phase"], game["to_act"]) == ("rolling", [0, 1])
    rolled = table.act(0, "roll").json()["game"]
    assert (rolled["phase"], rolled["to_act"]) == ("choosing", [0])
    assert rolled["state"]["choices"][1] is not None


def test_only_what_people_may_do_is_listed_as_legal(api):
    table = with_bots(api, "random", ruleset="dice-duel", options={"press": "anyone"})
    seen = [table.read()]
    seen.append(table.act(0, "roll").json()["game"])
    seen.append(table.act(0, "hold").json()["game"])
    assert [{legal["seat"] for legal in game["legal_actions"]} for game in seen] == [{0}] * 3
    stale = table.act(0, "roll", headers={"If-Match": '"1"'}).json()
    assert stale["legal_actions"] == seen[-1]["legal_actions"]


# --- nobody plays for a bot ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["roll", "resign"])
def test_not_even_the_host_of_a_hot_seat_acts_for_a_bot(api, kind):
    table = with_bots(api, "random", ruleset="dice-duel", hotseat=True)
    refused(table.post("/actions", {"kind": kind, "seat": 1}), 403, "not_your_seat")


def test_a_person_does_not_act_for_a_bot(api):
    table = with_bots(api, "random", ruleset="dice-duel")
    answer = table.post("/actions", {"kind": "roll", "seat": 1}, token=table.tokens[0])
    refused(answer, 403, "not_your_seat")


def test_at_a_hot_seat_the_host_need_not_name_the_only_person(api):
    table = with_bots(api, "random", "random", ruleset="dice-duel", hotseat=True)
    assert table.post("/actions", {"kind": "roll"}).status_code == 200


def test_a_bot_has_no_name_and_no_token_to_change(api):
    table = with_bots(api, "random", hotseat=True, start=False)
    refused(table.post("/seats/1/token"), 403, "not_your_seat")
    renamed = table.send("PATCH", "/seats/1", {"name": "Rob"}, token=table.host)
    refused(renamed, 403, "not_your_seat")


# --- seeds --------------------------------------------------------------------------------------


def test_a_bot_brings_no_seed_to_an_open_game(api):
    body = {"ruleset": "pig", "seats": [{}, {"bot": "random"}], "seed_mode": "open"}
    table = Table(api, api.post("/v1/games", json=body).json())
    commitment = table.read()["dice"]["commitment"]
    refused(table.join({"name": "Ana"}), 409, "seed_refused")
    joined = table.join({"name": "Ana", "saw": commitment, "seed": "ab" * 32})
    assert joined.status_code == 201, joined.text
    assert [seed["seat"] for seed in joined.json()["game"]["dice"]["seeds"]] == [0]
    assert joined.json()["game"]["status"] == "playing"


def test_a_bot_does_not_count_for_the_seal(api):
    table = with_bots(api, "random", seed_mode="sealed")
    refused(table.post("/seal"), 409, "seed_refused")


# --- the end and the next game ------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: ruleset.key)
def test_bots_that_are_left_alone_play_to_the_end(api, ruleset):
    table = with_bots(api, "random", "random", ruleset=ruleset.key)
    ended = table.act(0, "resign").json()["game"]
    assert ended["status"] == "finished"
    assert 0 in ended["outcome"]["losers"]


def test_bots_play_on_alone_where_only_the_host_resolves(api):
    table = with_bots(api, "random", "random", ruleset="dice-duel", options={"press": "host"})
    assert table.act(0, "resign").json()["game"]["status"] == "finished"
    resolved = [
        entry["data"]["seat"]
        for entry in log(table)
        if entry["type"] == "acted" and entry["data"]["action"] == {"kind": "resolve"}
    ]
    assert set(resolved) == {None}


def test_bots_keep_their_seats_in_a_rematch(api):
    table = with_bots(api, "hold_20", "random")
    table.act(0, "resign")
    answer = table.post("/rematch")
    assert answer.status_code == 201, answer.text
    game = answer.json()["game"]
    assert [player["name"] for player in game["players"]] == ["Ana", "hold_20", "random"]
    assert [player["kind"] for player in game["players"]] == ["human", "bot", "bot"]
    assert (game["status"], game["to_act"]) == ("playing", [0])
    path = f"/v1/games/{game['id']}/actions"
    rolled = api.post(path, json={"kind": "roll"}, headers=bearer(table.tokens[0]))
    assert rolled.status_code == 200


def test_the_bots_sit_already_in_a_rematch_that_waits_for_new_seeds(api):
    body = {"ruleset": "pig", "seats": [{}, {"bot": "random"}], "seed_mode": "open"}
    table = Table(api, api.post("/v1/games", json=body).json())
    seed = {"saw": table.read()["dice"]["commitment"], "seed": "ab" * 32}
    token = table.join({"name": "Ana", **seed}).json()["token"]
    table.post("/actions", {"kind": "resign"}, token=token)
    game = table.post("/rematch").json()["game"]
    assert game["status"] == "waiting"
    assert [player["kind"] for player in game["players"]] == [None, "bot"]
    again = {"saw": game["dice"]["commitment"], "seed": "cd" * 32}
    joined = api.post(f"/v1/games/{game['id']}/seats", json=again, headers=bearer(token))
    assert joined.status_code == 201, joined.text
    assert joined.json()["game"]["status"] == "playing"


def test_a_rematch_with_options_that_a_bot_does_not_play_is_refused(api):
    table = with_bots(api, "optimal")
    table.act(0, "resign")
    answer = table.post("/rematch", {"options": {"target": 200}})
    assert wrong_fields(answer) == {("/options", "bot_option")}
    assert table.post("/rematch").status_code == 201


# --- what is more than one request holds --------------------------------------------------------

LONG = {"target": 2_500, "starter": "seat"}


def test_bots_alone_have_so_many_actions_to_finish_and_no_more(api):
    table = with_bots(api, "random", "random", options=LONG)
    told = table.act(0, "resign").json()
    assert told["game"]["status"] == "abandoned"
    assert told["game"]["ended"] == {"reason": "no_person", "seats": []}
    assert told["game"]["version"] == told["entry"]["seq"] + BOT_ACTIONS_MOST + 1
    lines = api.get(f"{table.path}/log", headers={"accept": "application/jsonl"}).content
    headers = {"content-type": "application/jsonl"}
    assert api.post("/v1/audits", content=lines, headers=headers).json()["ok"]


def test_bots_alone_finish_what_is_short(api):
    table = with_bots(api, "random", "random", options={"target": 30, "starter": "seat"})
    assert table.act(0, "resign").json()["game"]["outcome"]["reason"] == "target_reached"


def test_bots_play_on_in_one_game_at_a_time_until_none_is_due():
    left, running, most = {"a": 3, "b": 2}, 0, 0

    async def play_on(game_id: str) -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        left[game_id] -= 1
        if not any(left.values()):
            over.set()
        return left[game_id] > 0

    over = asyncio.Event()

    async def story() -> None:
        bots = PlayingOn(play_on)
        for game_id in left:
            bots.note(game_id)
            bots.committed(game_id)
        await asyncio.wait_for(over.wait(), 30)
        await bots.close()

    asyncio.run(story())
    assert most == 1
