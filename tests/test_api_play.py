"""Games as they are played: actions, versions seen, hot seats, rematches and series."""

import pytest

from service.rules import RULESETS
from tests.game_client import create, new_game, some_action
from tests.test_api import KNOWN, refused, wrong_fields

AT_ONCE = {"starter": "seat"}


# --- actions ------------------------------------------------------------------------------------


def test_an_action_is_answered_with_its_own_entry_the_game_and_a_receipt(api):
    table = create(api, options=AT_ONCE)
    answer = table.act(0, "roll")
    told = answer.json()
    assert answer.status_code == 200
    assert answer.headers["etag"] == f'"{told["game"]["version"]}"'
    assert told["entry"]["data"]["seat"] == 0
    assert told["entry"]["data"]["action"] == {"kind": "roll"}
    assert told["entry"]["seq"] == table.created["version"] + 1
    assert told["receipt"]["seq"] == told["game"]["version"]
    assert table.read() == told["game"]


def test_who_wants_no_receipt_gets_none(api):
    table = create(api, options=AT_ONCE)
    answer = table.act(0, "roll", headers={"Prefer": "receipt=no"})
    assert answer.json()["receipt"] is None


@pytest.mark.parametrize("ruleset", RULESETS, ids=KNOWN)
def test_whatever_is_listed_as_legal_is_accepted_until_the_game_ends(api, ruleset):
    names = [f"Player {seat}" for seat in range(max(2, ruleset.min_seats))]
    table = create(api, ruleset.key, names, hotseat=True, visibility="unlisted")
    games = table.play(limit=60)
    last = games[-1]
    if last["status"] == "playing":  # those who give up end it
        for seat in range(len(names)):
            table.post("/actions", {"kind": "resign", "seat": seat})
        last = table.read()
    assert last["status"] == "finished"
    assert sorted(last["outcome"]["winners"] + last["outcome"]["losers"]) == list(range(len(names)))
    assert (last["phase"], last["to_act"], last["legal_actions"]) == (None, [], [])
    assert last["dice"]["root"] is not None
    assert [game["version"] for game in games] == sorted({game["version"] for game in games})


def test_the_entry_told_is_the_callers_even_if_the_game_ends_with_it(api):
    table = create(api)
    told = table.act(0, "resign").json()
    assert told["entry"]["type"] == "acted"
    assert told["game"]["version"] == told["entry"]["seq"] + 1
    assert told["game"]["outcome"]["reason"] == "last_seat"


def test_a_seat_waits_for_its_turn(api):
    table = create(api, options=AT_ONCE)
    assert refused(table.act(1, "roll"), 409, "not_your_turn")["to_act"] == [0]


def test_an_illegal_action_is_told_with_its_reason_and_what_is_legal(api):
    table = create(api, options=AT_ONCE)
    problem = refused(table.act(0, "hold"), 409, "illegal_action")
    assert problem["reason"] == "nothing_rolled"
    assert problem["legal_actions"] == [{"seat": 0, "kind": "roll"}]


def test_an_action_that_the_game_does_not_know_is_illegal(api):
    table = create(api, options=AT_ONCE)
    problem = refused(table.act(0, "bet", amount=5), 409, "illegal_action")
    assert problem["reason"] == "not_in_ruleset"


def test_who_has_given_up_can_not_give_up_again(api):
    table = create(api, names=["Ana", "Ben", "Eva"])
    table.act(0, "resign")
    problem = refused(table.act(0, "resign"), 409, "illegal_action")
    assert (problem["reason"], problem["legal_actions"]) == ("out_of_the_game", [])


def test_nobody_acts_before_the_start(api):
    table = create(api, start=False)
    refused(table.act(0, "roll"), 409, "game_not_started")
    refused(table.act(0, "resign"), 409, "game_not_started")


def test_nobody_acts_after_the_end(api):
    table = create(api)
    table.act(0, "resign")
    refused(table.act(1, "roll"), 409, "game_over")
    refused(table.act(1, "resign"), 409, "game_over")


def test_a_bet_is_bounded_by_what_is_listed(api):
    table = create(api, "dados-puercos", options={"mode": "turns"})
    game = table.read()
    (bet,) = [legal for legal in game["legal_actions"] if legal["kind"] == "bet"]
    for amount in (bet["min"] - 1, bet["max"] + 1):
        refused(table.act(bet["seat"], "bet", amount=amount), 409, "illegal_action")
    assert table.act(bet["seat"], "bet", amount=bet["max"]).status_code == 200


def test_a_mask_is_as_long_as_there_are_dice(api):
    table = create(api, "dice-duel")
    table.step(table.read())
    problem = refused(table.act(0, "reroll", mask=[True]), 409, "illegal_action")
    assert problem["reason"] == "mask_length"
    assert table.act(0, "reroll", mask=[True, False, False]).status_code == 200


WRONG_ACTIONS = {
    "no kind": ({}, "/kind", "missing"),
    "unknown kind": ({"kind": "cheat"}, "/kind", "not_allowed"),
    "a kind of the table's own": ({"kind": "roll_off"}, "/kind", "not_allowed"),
    "kind no text": ({"kind": 5}, "/kind", "not_allowed"),
    "bet without amount": ({"kind": "bet"}, "/amount", "missing"),
    "amount of another kind": ({"kind": "roll", "amount": 5}, "", "unknown_field"),
    "negative amount": ({"kind": "bet", "amount": -1}, "/amount", "too_small"),
    "amount as text": ({"kind": "bet", "amount": "5"}, "/amount", "wrong_type"),
    "amount as true": ({"kind": "bet", "amount": True}, "/amount", "wrong_type"),
    "amount as 5.0": ({"kind": "bet", "amount": 5.0}, "/amount", "wrong_type"),
    "amount null": ({"kind": "bet", "amount": None}, "/amount", "wrong_type"),
    "mask of numbers": ({"kind": "reroll", "mask": [1]}, "/mask/0", "wrong_type"),
    "mask no array": ({"kind": "reroll", "mask": True}, "/mask", "wrong_type"),
    "empty mask": ({"kind": "reroll", "mask": []}, "/mask", "too_short"),
    "mask of six": ({"kind": "reroll", "mask": [True] * 6}, "/mask", "too_long"),
    "seat as text": ({"kind": "roll", "seat": "0"}, "/seat", "wrong_type"),
    "seat as false": ({"kind": "roll", "seat": False}, "/seat", "wrong_type"),
    "negative seat": ({"kind": "roll", "seat": -1}, "/seat", "too_small"),
    "seat 64": ({"kind": "roll", "seat": 64}, "/seat", "too_large"),
    "version as text": (
        {"kind": "roll", "expected_version": "4"},
        "/expected_version",
        "wrong_type",
    ),
    "version -1": ({"kind": "roll", "expected_version": -1}, "/expected_version", "too_small"),
    "unknown field": ({"kind": "roll", "is_host": True}, "", "unknown_field"),
}


@pytest.mark.parametrize(
    ("body", "pointer", "code"), WRONG_ACTIONS.values(), ids=WRONG_ACTIONS.keys()
)
def test_each_wrong_field_of_an_action_is_told_and_nothing_happens(api, body, pointer, code):
    table = create(api, options=AT_ONCE)
    answer = table.post("/actions", body, token=table.tokens[0])
    assert wrong_fields(answer) == {(pointer, code)}
    assert table.version == table.created["version"]


def test_what_is_wrong_with_an_action_and_beside_it_is_told_at_once(api):
    table = create(api, options=AT_ONCE)
    answer = table.post("/actions", {"kind": "bet", "amount": -1, "seat": "0"}, token=table.host)
    assert wrong_fields(answer) == {("/amount", "too_small"), ("/seat", "wrong_type")}


# --- who acts -----------------------------------------------------------------------------------


def test_a_seat_may_name_itself_and_nobody_else(api):
    table = create(api, options=AT_ONCE)
    refused(table.act(1, "roll", seat=0), 403, "not_your_seat")
    assert table.act(0, "roll", seat=0).status_code == 200


def test_the_host_acts_for_nobody_unless_at_a_hot_seat(api):
    table = create(api, options=AT_ONCE)
    refused(table.post("/actions", {"kind": "roll"}), 403, "not_your_seat")
    refused(table.post("/actions", {"kind": "roll", "seat": 0}), 403, "not_your_seat")


def test_the_host_of_a_hot_seat_acts_for_every_seat(api):
    table = create(api, options=AT_ONCE, hotseat=True)
    refused(table.post("/actions", {"kind": "roll", "seat": 1}), 409, "not_your_turn")
    told = table.post("/actions", {"kind": "roll", "seat": 0}).json()
    assert told["entry"]["data"]["seat"] == 0


def test_the_seat_may_be_left_out_when_one_alone_may_act(api):
    table = create(api, options=AT_ONCE, hotseat=True)
    told = table.post("/actions", {"kind": "roll"}).json()
    assert told["entry"]["data"]["seat"] == 0


def test_the_seat_must_be_named_when_several_may_act(api):
    table = create(api, "dice-duel", hotseat=True)
    table.post("/actions", {"kind": "roll", "seat": 0})
    assert wrong_fields(table.post("/actions", {"kind": "hold"})) == {("/seat", "missing")}


def test_a_hot_seat_has_no_other_seats_than_the_game(api):
    table = create(api, hotseat=True)
    refused(table.post("/actions", {"kind": "roll", "seat": 2}), 404, "seat_not_found")


def test_the_seats_of_a_hot_seat_act_with_their_own_tokens_too(api):
    assert create(api, options=AT_ONCE, hotseat=True).act(0, "roll").status_code == 200


def test_what_the_host_does_for_the_table_has_no_seat(api):
    table = create(api, "dice-duel", options={"press": "host"})
    table.act(table.read()["legal_actions"][0]["seat"], "roll")
    table.act(0, "hold")
    early = refused(table.post("/actions", {"kind": "resolve"}), 409, "illegal_action")
    assert early["reason"] == "choices_open"
    table.act(1, "hold")
    game = table.read()
    assert {"seat": None, "kind": "resolve"} in game["legal_actions"]
    refused(table.act(0, "resolve"), 409, "illegal_action")
    told = table.post("/actions", {"kind": "resolve"}).json()
    assert told["entry"]["data"]["seat"] is None


# --- versions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["If-Match", "expected_version", "both"])
def test_an_action_is_taken_if_the_caller_has_seen_the_present(api, how):
    table = create(api, options=AT_ONCE)
    version = table.created["version"]
    headers = {} if how == "expected_version" else {"If-Match": f'"{version}"'}
    body = {} if how == "If-Match" else {"expected_version": version}
    assert table.act(0, "roll", headers=headers, **body).status_code == 200


@pytest.mark.parametrize("how", ["If-Match", "expected_version", "both"])
def test_who_has_seen_an_older_version_is_told_what_was_missed(api, how):
    table = create(api, options=AT_ONCE)
    seen = table.created["version"]
    table.act(0, "roll")
    game = table.read()
    headers = {} if how == "expected_version" else {"If-Match": f'"{seen}"'}
    body = {} if how == "If-Match" else {"expected_version": seen}
    problem = refused(table.act(0, "roll", headers=headers, **body), 412, "stale_version")
    assert problem["version"] == game["version"]
    assert [entry["seq"] for entry in problem["entries"]] == list(
        range(seen + 1, game["version"] + 1)
    )
    assert problem["legal_actions"] == game["legal_actions"]
    assert table.read() == game


def test_versions_that_differ_are_stale(api):
    table = create(api, options=AT_ONCE)
    version = table.created["version"]
    headers = {"If-Match": f'"{version}"'}
    refused(table.act(0, "roll", headers=headers, expected_version=0), 412, "stale_version")


def test_a_version_that_is_yet_to_come_is_stale(api):
    table = create(api, options=AT_ONCE)
    problem = refused(table.act(0, "roll", expected_version=2**53 - 1), 412, "stale_version")
    assert problem["entries"] == []


def test_no_more_than_a_page_of_entries_is_told(api):
    table = create(api, options={**AT_ONCE, "target": 1000}, names=["Ana", "Ben"], hotseat=True)
    while table.version < 110:
        table.post("/actions", {"kind": "roll"})
    problem = refused(table.post("/start", {"expected_version": 0}), 412, "stale_version")
    assert [entry["seq"] for entry in problem["entries"]] == list(range(1, 101))


@pytest.mark.parametrize("tag", ['W/"4"', '"4", "5"', "4", "*", '"04"', '"x"', "", '"1e2"'])
def test_an_if_match_that_names_no_single_version_is_refused(api, tag):
    table = create(api, options=AT_ONCE)
    answer = table.act(0, "roll", headers={"If-Match": tag})
    refused(answer, 400, "precondition_malformed")


def test_every_step_before_the_start_heeds_the_version_seen(api):
    table = create(api, names=["Ana", None], start=False)
    stale = {"If-Match": '"0"'}
    for answer in (
        table.send("POST", "/seats", {}, headers=stale),
        table.send("PATCH", "/seats/0", {"name": "Eva"}, token=table.host, headers=stale),
        table.send("DELETE", "/seats/0", token=table.host, headers=stale),
        table.post("/seats/0/token", token=table.tokens[0], headers=stale),
        table.post("/start", headers=stale),
        table.post("/void", headers=stale),
        table.post("/void", {"expected_version": 0}),
    ):
        refused(answer, 412, "stale_version")
    assert table.read() == table.created


# --- rematch and series -------------------------------------------------------------------------


def over(api, **more):
    """A game that seat 1 has won."""
    table = create(api, **more)
    table.act(0, "resign")
    return table


def test_a_rematch_keeps_seats_tokens_and_settings(api):
    table = over(api, options={"target": 20, **AT_ONCE}, visibility="unlisted")
    answer = table.post("/rematch")
    game = answer.json()["game"]
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/games/{game['id']}"
    assert game["id"] != table.id
    assert game["status"] == "playing"
    assert game["options"]["target"] == 20
    assert game["visibility"] == "unlisted"
    assert [player["name"] for player in game["players"]] == ["Ana", "Ben"]
    assert game["series"] == {"id": table.id, "number": 2, "tally": [0, 1], "next": None}
    assert table.client.get(f"/v1/games/{table.id}").json()["series"]["next"] == game["id"]
    table.path = f"/v1/games/{game['id']}"
    assert table.act(0, "roll").status_code == 200
    assert table.act(1, "resign").status_code == 200
    assert table.read()["series"]["tally"] == [1, 1]
    assert table.post("/rematch").json()["game"]["series"]["number"] == 3


def test_who_has_read_how_a_game_ended_still_finds_its_rematch(api):
    table = over(api)
    seen = {"if-none-match": f'"{table.version}"'}
    assert api.get(table.path, headers=seen).status_code == 304
    following = table.post("/rematch").json()["game"]["id"]
    assert api.get(table.path, headers=seen).json()["series"]["next"] == following


def test_a_rematch_may_have_other_options(api):
    game = over(api, options={"target": 20}).post("/rematch", {"options": {"target": 40}}).json()
    assert game["game"]["options"]["target"] == 40
    assert game["game"]["options"]["starter"] == "roll"


def test_a_game_has_one_rematch(api):
    table = over(api)
    first = table.post("/rematch").json()["game"]["id"]
    assert refused(table.post("/rematch"), 409, "rematch_exists")["game"] == first


def test_a_game_that_goes_on_has_no_rematch(api):
    refused(create(api).post("/rematch"), 409, "game_not_over")
    refused(create(api, start=False).post("/rematch"), 409, "game_not_over")


def test_the_options_of_a_rematch_are_checked(api):
    answer = over(api).post("/rematch", {"options": {"target": 0}})
    assert wrong_fields(answer) == {("/options/target", "too_small")}


def test_a_rematch_is_refused_before_its_options_are_read(api):
    table = create(api)
    answer = table.post("/rematch", {"options": {"target": 0}}, token=table.tokens[0])
    refused(answer, 403, "host_only")


def test_a_practice_rematch_is_another_practice_game(api):
    table = over(api, seed_mode="practice", seed="00" * 32)
    dice = table.post("/rematch").json()["game"]["dice"]
    assert dice["seed_mode"] == "practice"
    assert dice["root"] not in (None, "00" * 32)


def test_a_series_lists_its_games_and_its_tally(api):
    table = over(api)
    second = table.post("/rematch").json()["game"]["id"]
    series = api.get(f"/v1/series/{table.id}").json()
    assert series["id"] == table.id
    assert series["tally"] == [0, 1]
    assert [game["id"] for game in series["games"]] == [table.id, second]
    assert [game["series"]["next"] for game in series["games"]] == [second, None]
    assert series["next_cursor"] is None


def test_a_series_is_read_in_pages(api):
    table = over(api)
    second = table.post("/rematch").json()["game"]["id"]
    first = api.get(f"/v1/series/{table.id}", params={"limit": 1})
    assert [game["id"] for game in first.json()["games"]] == [table.id]
    rest = api.get(first.links["next"]["url"])
    assert [game["id"] for game in rest.json()["games"]] == [second]
    assert "next" not in rest.links


@pytest.mark.parametrize("series", ["none", "%00", "x" * 65, "a.b"])
def test_a_series_that_is_none_is_not_found(api, series):
    refused(api.get(f"/v1/series/{series}"), 404, "series_not_found")


def test_a_game_is_played_by_whoever_holds_the_tokens(api):
    """Two people and a host, each with a token of their own, to the very end."""
    answer = api.post("/v1/games", json=new_game("big-pig", [None, None], options={"target": 20}))
    path = answer.headers["location"]
    tokens = [api.post(f"{path}/seats", json={}).json()["token"] for _ in range(2)]
    game = api.get(path).json()
    for _ in range(500):
        if game["status"] == "finished":
            break
        legal = game["legal_actions"][-1]
        headers = {
            "Authorization": f"Bearer {tokens[legal['seat']]}",
            "If-Match": f'"{game["version"]}"',
        }
        acted = api.post(f"{path}/actions", json=some_action(legal, 0), headers=headers)
        assert acted.status_code == 200, acted.text
        game = acted.json()["game"]
    assert game["status"] == "finished"
