"""Games before they are played: created, joined, left, renamed, started, called off."""

import json

import httpx
import pytest

from service.rules import RULESETS
from tests.game_client import Table, bearer, create, new_game

KNOWN = [ruleset.key for ruleset in RULESETS]


def refused(answer: httpx.Response, status: int, code: str) -> dict:
    """The problem, which must be this one."""
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    problem: dict = answer.json()
    return problem


def wrong_fields(answer: httpx.Response) -> set[tuple[str, str]]:
    """Pointer and code of every wrong field."""
    problem = refused(answer, 422, "invalid_input")
    return {(one["pointer"], one["code"]) for one in problem["errors"]}


# --- create -------------------------------------------------------------------------------------


def test_a_new_game_is_answered_with_its_address_its_version_and_its_tokens(api):
    answer = api.post("/v1/games", json=new_game("big-pig", ["Ana", None, "Ben"]))
    told = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/games/{told['game']['id']}"
    assert answer.headers["etag"] == f'"{told["game"]["version"]}"'
    assert answer.headers["cache-control"] == "no-store"
    assert told["tokens"]["host"].startswith("cub_host_")
    assert [one["seat"] for one in told["tokens"]["seats"]] == [0, 2]
    assert all(one["token"].startswith("cub_seat_") for one in told["tokens"]["seats"])
    assert told["receipt"]["seq"] == told["game"]["version"]
    assert api.get(answer.headers["location"]).json() == told["game"]


@pytest.mark.parametrize("ruleset", RULESETS, ids=KNOWN)
def test_every_ruleset_starts_with_its_defaults(api, ruleset):
    names = [f"Player {seat}" for seat in range(ruleset.min_seats)]
    game = create(api, ruleset.key, names).created
    assert game["status"] == "playing"
    assert game["ruleset"] == {"key": ruleset.key, "version": ruleset.version}
    assert game["legal_actions"]
    assert {legal["seat"] for legal in game["legal_actions"]} <= set(game["to_act"])
    assert game["state"].keys() == ruleset.view_type.__annotations__.keys()


@pytest.mark.parametrize("ruleset", RULESETS, ids=KNOWN)
@pytest.mark.parametrize("beyond", [-1, 1], ids=["too few", "too many"])
def test_a_table_has_as_many_seats_as_its_ruleset_allows(api, ruleset, beyond):
    seats = ruleset.min_seats - 1 if beyond < 0 else ruleset.max_seats + 1
    answer = api.post("/v1/games", json=new_game(ruleset.key, [None] * seats))
    assert wrong_fields(answer) == {("/seats", "too_short" if beyond < 0 else "too_long")}


def test_options_left_out_take_their_defaults(api):
    game = create(api, "pig", options={"target": 30}).created
    assert game["options"] == {
        "target": 30,
        "finish": "at_once",
        "starter": "roll",
        "hold_before_roll": False,
        "auto_hold": False,
    }


def test_a_game_with_open_seats_waits(api):
    game = create(api, names=["Ana", None]).created
    assert (game["status"], game["phase"], game["state"]) == ("waiting", None, None)
    assert (game["to_act"], game["legal_actions"]) == ([], [])
    assert game["players"][1] == {"seat": 1, "name": None, "kind": None, "present": False}


def test_a_game_that_shall_not_start_by_itself_waits_for_its_host(api):
    table = create(api, start=False)
    assert table.created["status"] == "waiting"
    assert table.post("/start").json()["game"]["status"] == "playing"


def test_a_practice_game_shows_its_root_from_the_start(api):
    game = create(api, seed_mode="practice", seed="ab" * 32).created
    assert game["dice"]["root"] == "ab" * 32


def test_a_game_for_real_keeps_its_root_to_the_end(api):
    assert create(api).created["dice"]["root"] is None


WRONG_GAMES = {
    "target too small": ({"options": {"target": 0}}, "/options/target", "too_small"),
    "target too large": ({"options": {"target": 10**9}}, "/options/target", "too_large"),
    "target as text": ({"options": {"target": "50"}}, "/options/target", "wrong_type"),
    "target as true": ({"options": {"target": True}}, "/options/target", "wrong_type"),
    "target as 50.0": ({"options": {"target": 50.0}}, "/options/target", "wrong_type"),
    "unknown choice": ({"options": {"finish": "never"}}, "/options/finish", "not_allowed"),
    "unknown option": ({"options": {"colour": "red"}}, "/options", "unknown_field"),
    "options no object": ({"options": [1]}, "/options", "wrong_type"),
    "unknown field": ({"chips": 5}, "", "unknown_field"),
    "unknown field of a seat": ({"seats": [{"rich": 1}, {}]}, "/seats/0", "unknown_field"),
    "seats no array": ({"seats": 2}, "/seats", "wrong_type"),
    "no seats": ({"seats": []}, "/seats", "too_short"),
    "65 seats": ({"seats": [{}] * 65}, "/seats", "too_long"),
    "empty name": ({"seats": [{"name": " "}, {}]}, "/seats/0/name", "too_short"),
    "long name": ({"seats": [{}, {"name": "a" * 41}]}, "/seats/1/name", "too_long"),
    "turned name": ({"seats": [{}, {"name": "A\u202eB"}]}, "/seats/1/name", "wrong_form"),
    "name no text": ({"seats": [{"name": 7}, {}]}, "/seats/0/name", "wrong_type"),
    "hotseat as text": ({"hotseat": "yes"}, "/hotseat", "wrong_type"),
    "unknown visibility": ({"visibility": "secret"}, "/visibility", "not_allowed"),
    "practice without a seed": ({"seed_mode": "practice"}, "/seed", "missing"),
    "a seed for real": ({"seed": "ab" * 32}, "/seed", "practice_only"),
    "seed too short": ({"seed_mode": "practice", "seed": "ab"}, "/seed", "wrong_form"),
    "seed in capitals": ({"seed_mode": "practice", "seed": "AB" * 32}, "/seed", "wrong_form"),
    "ruleset no text": ({"ruleset": 7}, "/ruleset", "wrong_type"),
}


@pytest.mark.parametrize(
    ("change", "pointer", "code"), WRONG_GAMES.values(), ids=WRONG_GAMES.keys()
)
def test_each_wrong_field_of_a_new_game_is_told(api, change, pointer, code):
    answer = api.post("/v1/games", json=new_game(names=[None, None]) | change)
    assert wrong_fields(answer) == {(pointer, code)}


def test_all_wrong_fields_are_told_at_once(api):
    body = {"seats": [{"name": ""}, {"name": 5}], "start": 1}
    assert wrong_fields(api.post("/v1/games", json=body)) == {
        ("/ruleset", "missing"),
        ("/seats/0/name", "too_short"),
        ("/seats/1/name", "wrong_type"),
        ("/start", "wrong_type"),
    }


def test_a_wrong_bound_is_told_with_the_bound(api):
    answer = api.post("/v1/games", json=new_game(names=["a" * 41, "Ben"]))
    assert "40" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    "media",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json;",
    ],
)
def test_json_in_utf_8_is_read_however_it_is_announced(api, media):
    content = json.dumps(new_game(names=["José", None]), ensure_ascii=False).encode()
    answer = api.post("/v1/games", content=content, headers={"Content-Type": media})
    assert answer.json()["game"]["players"][0]["name"] == "José"


def test_an_unknown_ruleset_is_not_found(api):
    refused(api.post("/v1/games", json=new_game("ludo")), 404, "ruleset_not_found")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ana", "Ana"), ("Ana", "ana"), ("Ana", " ANA "), ("Jose\u0301", "Jos\u00e9"), ("BIG", "ᴮᴵᴳ")],
)
def test_two_players_can_not_have_names_that_pass_for_each_other(api, one, other):
    refused(api.post("/v1/games", json=new_game(names=[one, other])), 409, "name_taken")


# --- join ---------------------------------------------------------------------------------------


def test_who_joins_takes_the_lowest_open_seat(api):
    table = create(api, names=["Ana", None, None])
    answer = table.join({"name": " Jose\u0301 "})
    told = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == table.path
    assert told["seat"] == 1
    assert told["token"].startswith("cub_seat_")
    assert told["game"]["players"][1] == {
        "seat": 1,
        "name": "Jos\u00e9",
        "kind": "human",
        "present": False,
    }


def test_who_joins_may_choose_the_seat(api):
    assert create(api, names=["Ana", None, None]).join({"seat": 2}).json()["seat"] == 2


def test_nobody_needs_a_name(api):
    table = create(api, names=[None, None])
    table.join()
    assert table.join({"name": None}).json()["game"]["status"] == "playing"


def test_the_last_join_starts_the_game(api):
    table = create(api, names=["Ana", None])
    assert table.join({"name": "Ben"}).json()["game"]["status"] == "playing"


def test_the_last_join_starts_nothing_that_waits_for_its_host(api):
    table = create(api, names=["Ana", None], start=False)
    assert table.join({"name": "Ben"}).json()["game"]["status"] == "waiting"


def test_who_joins_may_say_which_commitment_they_saw(api):
    table = create(api, names=["Ana", None])
    assert wrong_fields(table.join({"saw": "00" * 32})) == {("/saw", "not_the_commitment")}
    assert table.join({"saw": table.created["dice"]["commitment"]}).status_code == 201


def test_a_seat_that_is_held_can_not_be_taken(api):
    refused(create(api, names=["Ana", None]).join({"seat": 0}), 409, "seat_taken")


def test_a_seat_that_the_table_has_not_is_not_found(api):
    refused(create(api, names=["Ana", None]).join({"seat": 2}), 404, "seat_not_found")


def test_a_full_table_takes_nobody(api):
    refused(create(api, start=False).join(), 409, "game_full")


def test_nobody_joins_a_game_that_has_started(api):
    refused(create(api).join(), 409, "game_started")


def test_nobody_joins_a_game_that_is_over(api):
    table = create(api, names=["Ana", None])
    table.post("/void")
    refused(table.join(), 409, "game_over")


def test_nobody_joins_under_a_name_that_is_held(api):
    refused(create(api, names=["Ana", None]).join({"name": "ANA"}), 409, "name_taken")


# --- rename, leave, replace a token -------------------------------------------------------------


@pytest.mark.parametrize("by", ["seat", "host"])
def test_a_seat_can_be_renamed_before_the_start(api, by):
    table = create(api, names=["Ana", None])
    token = table.tokens[0] if by == "seat" else table.host
    answer = table.send("PATCH", "/seats/0", {"name": "Eva"}, token=token)
    assert answer.json()["game"]["players"][0]["name"] == "Eva"
    # The seat's token stays what it was.
    assert table.send("DELETE", "/seats/0", token=table.tokens[0]).status_code == 200


def test_a_seat_may_get_its_own_name_in_other_letters(api):
    table = create(api, names=["Ana", None])
    assert table.send("PATCH", "/seats/0", {"name": "ANA"}, token=table.host).status_code == 200


def test_a_seat_can_not_get_the_name_of_another(api):
    table = create(api, names=["Ana", "Ben"], start=False)
    answer = table.send("PATCH", "/seats/1", {"name": "ana"}, token=table.tokens[1])
    refused(answer, 409, "name_taken")


@pytest.mark.parametrize("by", ["seat", "host"])
def test_a_seat_that_is_left_is_open_again(api, by):
    table = create(api, names=["Ana", None])
    token = table.tokens[0] if by == "seat" else table.host
    game = table.send("DELETE", "/seats/0", token=token).json()["game"]
    assert game["players"][0] == {"seat": 0, "name": None, "kind": None, "present": False}
    assert table.join({"name": "Ana"}).json()["seat"] == 0


def test_the_token_of_a_seat_that_is_left_is_void(api):
    table = create(api, names=["Ana", None])
    table.send("DELETE", "/seats/0", token=table.tokens[0])
    answer = table.send("PATCH", "/seats/0", {"name": "Eva"}, token=table.tokens[0])
    refused(answer, 401, "token_unknown")


CHANGES = {
    "rename": ("PATCH", "", {"name": "Eva"}),
    "leave": ("DELETE", "", None),
    "replace the token": ("POST", "/token", None),
}


@pytest.mark.parametrize(("method", "path", "body"), CHANGES.values(), ids=CHANGES.keys())
def test_nothing_can_be_done_with_an_open_seat(api, method, path, body):
    table = create(api, names=["Ana", None], hotseat=True)
    answer = table.send(method, f"/seats/1{path}", body, token=table.host)
    refused(answer, 404, "seat_not_found")


@pytest.mark.parametrize(("method", "path", "body"), CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("seat", ["2", "63", "100", "-1", "01", "x", "1.0"])
def test_nothing_can_be_done_with_a_seat_that_the_table_has_not(api, method, path, body, seat):
    table = create(api, names=["Ana", None], hotseat=True)
    answer = table.send(method, f"/seats/{seat}{path}", body, token=table.host)
    refused(answer, 404, "seat_not_found")


@pytest.mark.parametrize("change", ["rename", "leave"])
def test_seats_are_fixed_once_the_game_has_started(api, change):
    table = create(api)
    method, path, body = CHANGES[change]
    refused(table.send(method, f"/seats/0{path}", body, token=table.host), 409, "game_started")


@pytest.mark.parametrize("change", ["rename", "leave"])
def test_seats_are_fixed_once_the_game_is_over(api, change):
    table = create(api, names=["Ana", None])
    table.post("/void")
    method, path, body = CHANGES[change]
    refused(table.send(method, f"/seats/0{path}", body, token=table.host), 409, "game_over")


def test_a_new_token_replaces_the_old_one_at_once(api):
    table = create(api, options={"starter": "seat"})
    answer = table.post("/seats/0/token", token=table.tokens[0])
    fresh = answer.json()["token"]
    assert (answer.status_code, answer.json()["seat"]) == (200, 0)
    refused(table.act(0, "roll"), 401, "token_unknown")
    assert table.post("/actions", {"kind": "roll"}, token=fresh).status_code == 200


def test_a_token_can_be_replaced_whatever_the_game_does(api):
    table = create(api, names=["Ana", None])
    assert table.post("/seats/0/token", token=table.tokens[0]).status_code == 200
    table.post("/void")
    assert table.post("/seats/0/token", token=table.host).json()["code"] == "not_your_seat"


def test_the_host_of_a_hot_seat_replaces_any_token(api):
    table = create(api, hotseat=True)
    assert table.post("/seats/1/token", token=table.host).json()["seat"] == 1


# --- start and void -----------------------------------------------------------------------------


def test_a_game_can_not_start_with_open_seats(api):
    table = create(api, names=["Ana", None, None], start=False)
    assert refused(table.post("/start"), 409, "seats_open")["seats"] == [1, 2]


def test_a_game_starts_once(api):
    refused(create(api).post("/start"), 409, "game_started")


def test_a_game_that_is_called_off_shows_its_root_and_takes_no_more(api):
    table = create(api, names=["Ana", None])
    game = table.post("/void").json()["game"]
    assert (game["status"], game["ended"]["reason"]) == ("void", "host")
    assert game["dice"]["root"] is not None
    for path, body in {"/void": None, "/start": None, "/actions": {"kind": "roll"}}.items():
        refused(table.post(path, body, token=table.host), 409, "game_over")


def test_a_game_that_has_started_can_not_be_called_off(api):
    refused(create(api).post("/void"), 409, "game_started")


def test_the_body_of_a_step_may_be_absent_or_empty(api):
    assert create(api, start=False).post("/start").status_code == 200
    assert create(api, start=False).post("/start", {}).status_code == 200


# --- who may ------------------------------------------------------------------------------------


def test_a_token_in_the_address_is_refused(api):
    table = create(api, names=["Ana", None])
    answer = api.get(table.path, params={"token": table.host})
    assert wrong_fields(answer) == {("query:", "unknown_field")}
    assert wrong_fields(api.post(f"{table.path}/start?access_token={table.host}")) == {
        ("query:", "unknown_field")
    }


def test_a_bad_token_does_not_matter_where_none_is_needed(api):
    table = create(api, names=["Ana", None])
    for token in ("x", "cub_seat_x", "cub_seat_" + "A" * 43):
        assert api.get(table.path, headers=bearer(token)).status_code == 200
        assert api.post("/v1/games", json=new_game(), headers=bearer(token)).status_code == 201


@pytest.mark.parametrize("path", ["/start", "/void", "/seal", "/rematch"])
def test_a_seat_does_not_do_what_is_the_hosts(api, path):
    table = create(api, names=["Ana", None])
    refused(table.post(path, token=table.tokens[0]), 403, "host_only")


def test_a_401_tells_how_to_authenticate(api):
    table = create(api)
    for answer in (table.send("POST", "/start"), table.send("POST", "/start", token="x")):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_scheme_bearer_is_read_in_any_case(api):
    table = create(api, start=False)
    for word in ("bearer", "BEARER"):
        headers = {"Authorization": f"{word} {table.tokens[0]}"}
        refused(table.send("POST", "/start", headers=headers), 403, "host_only")


# --- seeds of the players -----------------------------------------------------------------------


def test_a_player_may_add_a_seed_in_clear(api):
    table = create(api, names=[None, None], seed_mode="open")
    saw = table.created["dice"]["commitment"]
    answer = table.join({"saw": saw, "seed": "11" * 32})
    assert answer.json()["game"]["dice"]["seeds"] == [
        {"seat": 0, "commit": None, "seed": "11" * 32}
    ]
    second = table.join({"saw": saw, "seed": "22" * 32})
    assert refused(second, 409, "seed_refused")["reason"] == "second_seed"


def test_seeds_committed_to_are_revealed_after_the_seal(api):
    table = create(api, names=[None, None], seed_mode="sealed")
    saw = table.created["dice"]["commitment"]
    joined = table.join({"saw": saw, "commit": "11" * 32})
    table.join()
    assert table.post("/seal").json()["game"]["dice"]["sealed"] is True
    refused(table.post("/start"), 409, "seeds_missing")
    reveal = table.post("/seats/0/reveal", {"seed": "33" * 32}, token=joined.json()["token"])
    assert refused(reveal, 409, "seed_refused")["reason"] == "not_the_seed"
    assert table.read()["deadline"] > table.read()["updated_at"]
    assert table.post("/void").json()["game"]["ended"] == {"reason": "host", "seats": []}


def test_a_seed_needs_the_commitment_seen(api):
    table = create(api, names=[None, None], seed_mode="open")
    assert wrong_fields(table.join({"seed": "11" * 32})) == {("/saw", "missing")}


def test_a_game_that_takes_no_seeds_refuses_them(api):
    table: Table = create(api, names=[None, None])
    saw = table.created["dice"]["commitment"]
    answer = table.join({"saw": saw, "seed": "11" * 32})
    assert refused(answer, 409, "seed_refused")["reason"] == "not_in_seed_mode"
    assert refused(table.post("/seal"), 409, "seed_refused")["reason"] == "not_in_seed_mode"
