"""A request may be sent again: the same key gives the same answer, byte for byte."""

import json

import pytest

from tests import contract_check
from tests.game_client import Table, bearer, create, keyed, new_game, new_key
from tests.server import Server
from tests.test_api import refused, wrong_fields

AT_ONCE = {"starter": "seat"}
HEADERS = ("etag", "location", "cache-control", "content-type")


def same(first, again):
    """Whether the second answer is the first one, told from the store."""
    return (
        "idempotency-replayed" not in first.headers
        and again.headers["idempotency-replayed"] == "true"
        and (first.status_code, first.content) == (again.status_code, again.content)
        and [first.headers.get(name) for name in HEADERS]
        == [again.headers.get(name) for name in HEADERS]
    )


def waiting(api):
    return create(api, names=["Ana", None], start=False)


def full(api):
    return create(api, start=False)


def over(api):
    table = create(api)
    table.act(0, "resign")
    return table


def playing(api):
    return create(api, options=AT_ONCE)


def committed(api):
    table = create(api, names=["Ana", None], seed_mode="sealed")
    table.join({"saw": table.created["dice"]["commitment"], "commit": "11" * 32})
    return table


CHANGES = {
    "join": (waiting, "POST", "/seats", {"name": "Ben"}, None),
    "rename": (waiting, "PATCH", "/seats/0", {"name": "Eva"}, 0),
    "leave": (waiting, "DELETE", "/seats/0", None, 0),
    "replace a token": (waiting, "POST", "/seats/0/token", None, 0),
    "seal": (committed, "POST", "/seal", None, "host"),
    "start": (full, "POST", "/start", None, "host"),
    "void": (waiting, "POST", "/void", {}, "host"),
    "act": (playing, "POST", "/actions", {"kind": "roll"}, 0),
    "rematch": (over, "POST", "/rematch", {"options": {"target": 40}}, "host"),
}


@pytest.mark.parametrize(
    ("table", "method", "path", "body", "who"), CHANGES.values(), ids=CHANGES.keys()
)
def test_every_change_is_made_once_and_answered_again(api, table, method, path, body, who):
    made = table(api)
    token = {None: None, "host": made.host}.get(who) or made.tokens.get(who)
    headers = keyed(new_key())
    first = made.send(method, path, body, token=token, headers=headers)
    assert first.status_code in (200, 201)
    version = made.version
    for _ in range(2):
        assert same(first, made.send(method, path, body, token=token, headers=headers))
    assert made.version == version


def test_a_game_is_created_once(api):
    headers = keyed(new_key())
    first = api.post("/v1/games", json=new_game(), headers=headers)
    again = api.post("/v1/games", json=new_game(), headers=headers)
    assert same(first, again)
    assert again.json()["tokens"]["host"].startswith("cub_host_")


def test_whitespace_and_the_order_of_keys_make_no_other_request(api):
    table = create(api, "dados-puercos", options={"mode": "turns"})
    bet = next(one for one in table.read()["legal_actions"] if one["kind"] == "bet")
    headers = {
        **bearer(table.tokens[bet["seat"]]),
        **keyed(new_key()),
        "Content-Type": "application/json",
    }
    body = {"kind": "bet", "amount": bet["max"], "seat": bet["seat"]}
    forms = [
        json.dumps(body),
        json.dumps(body, indent=3),
        json.dumps(dict(reversed(body.items())), separators=(",", ":")),
        json.dumps(body).replace("bet", "b\\u0065t"),
    ]
    first, *again = (
        api.post(f"{table.path}/actions", content=form, headers=headers) for form in forms
    )
    assert first.status_code == 200
    assert all(same(first, answer) for answer in again)


def test_an_absent_body_is_an_empty_one(api):
    table, headers = full(api), keyed(new_key())
    assert same(table.post("/start", headers=headers), table.post("/start", {}, headers=headers))


OTHERS = {
    "other body": ("POST", "/actions", {"kind": "hold"}),
    "more in the body": ("POST", "/actions", {"kind": "roll", "seat": 0}),
    "other path": ("POST", "/start", None),
    "other method": ("DELETE", "/seats/0", None),
}


@pytest.mark.parametrize(("method", "path", "body"), OTHERS.values(), ids=OTHERS.keys())
def test_a_key_belongs_to_one_request(api, method, path, body):
    table, headers = create(api, options=AT_ONCE, hotseat=True), keyed(new_key())
    first = table.post("/actions", {"kind": "roll"}, headers=headers)
    game = table.read()
    answer = table.send(method, path, body, token=table.host, headers=headers)
    refused(answer, 422, "key_reused")
    assert table.read() == game
    assert same(first, table.post("/actions", {"kind": "roll"}, headers=headers))


def test_a_key_belongs_to_one_game(api):
    """The same body at another game is another request."""
    headers = keyed(new_key())
    one, other = waiting(api), waiting(api)
    assert one.join(**headers).status_code == 201
    refused(other.join(**headers), 422, "key_reused")


def test_the_keys_of_two_tokens_are_independent(api):
    table, key = create(api, names=["Ana", "Ben", "Eva"]), keyed("1")
    first = table.act(0, "resign", headers=key)
    second = table.act(1, "resign", headers=key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json()["entry"]["data"]["seat"] == 0
    assert second.json()["entry"]["data"]["seat"] == 1
    assert same(first, table.act(0, "resign", headers=key))
    assert same(second, table.act(1, "resign", headers=key))


def test_a_key_without_a_token_must_be_hard_to_guess(api):
    where = "header:Idempotency-Key"
    answer = api.post("/v1/games", json=new_game(), headers=keyed("k" * 21))
    assert wrong_fields(answer) == {(where, "too_short")}
    assert wrong_fields(waiting(api).join(**keyed("k" * 21))) == {(where, "too_short")}
    assert api.post("/v1/games", json=new_game(), headers=keyed(new_key()[:22])).is_success


@pytest.mark.parametrize(
    "sent", ["Bearer", "Bearer x", "Bearer cub_host_x", "Basic eDp5", f"Bearer cub_seat_{'A' * 44}"]
)
def test_what_can_be_no_token_does_not_guard_a_key(api, sent):
    headers = {"Authorization": sent, **keyed("short")}
    answer = api.post("/v1/games", json=new_game(), headers=headers)
    assert wrong_fields(answer) == {("header:Idempotency-Key", "too_short")}


def test_a_key_of_an_answer_with_a_new_token_must_be_hard_to_guess(api):
    """Who stole a seat's token must not be told the one that replaced it."""
    table, stolen = full(api), create(api).host
    where = ("header:Idempotency-Key", "too_short")
    for short in ("1", "k" * 21):
        replaced = table.post("/seats/0/token", token=table.tokens[0], headers=keyed(short))
        assert wrong_fields(replaced) == {where}
        joined = waiting(api).send("POST", "/seats", {}, token=stolen, headers=keyed(short))
        assert wrong_fields(joined) == {where}
        headers = {**bearer(stolen), **keyed(short)}
        assert wrong_fields(api.post("/v1/games", json=new_game(), headers=headers)) == {where}
    headers = keyed(new_key()[:22])
    assert table.post("/seats/0/token", token=table.tokens[0], headers=headers).is_success


def test_whatever_tells_a_token_demands_a_key_that_is_hard_to_guess(api):
    """Every answer of the contract that holds a token, whoever asks."""
    telling = {
        operation["operationId"]
        for path in contract_check.document()["paths"].values()
        for operation in path.values()
        if any(tells_token(answer) for answer in operation["responses"].values())
    }
    assert telling == {"create_game", "join_game", "rotate_token"}


def tells_token(answer):
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    model = schema.get("$ref", "").rpartition("/")[2]
    fields = contract_check.document()["components"]["schemas"].get(model, {})
    return not {"token", "tokens"}.isdisjoint(fields.get("properties", {}))


def test_a_missing_token_is_told_before_a_short_key(api):
    refused(create(api).send("POST", "/start", headers=keyed("1")), 401, "token_missing")
    refused(create(api).send("POST", "/seats/0/token", headers=keyed("1")), 401, "token_missing")


@pytest.mark.parametrize("key", ["", "a b", "k" * 256, "caf\u00e9".encode(), b"k\xff"])
def test_a_key_is_visible_ascii(api, key):
    table = create(api, options=AT_ONCE)
    answer = table.act(0, "roll", headers={"Idempotency-Key": key})
    assert wrong_fields(answer) == {("header:Idempotency-Key", "wrong_form")}
    assert table.version == table.created["version"]


def test_a_key_of_255_characters_is_taken(api):
    table, headers = create(api, options=AT_ONCE), keyed("~" * 255)
    assert same(table.act(0, "roll", headers=headers), table.act(0, "roll", headers=headers))


def test_two_keys_in_one_request_are_refused(api):
    table = create(api, options=AT_ONCE)
    headers = [
        ("Authorization", f"Bearer {table.tokens[0]}"),
        ("Idempotency-Key", "a"),
        ("Idempotency-Key", "b"),
    ]
    answer = api.post(f"{table.path}/actions", json={"kind": "roll"}, headers=headers)
    assert wrong_fields(answer) == {("header:Idempotency-Key", "wrong_form")}


def test_a_refusal_is_not_kept(api):
    table, headers = create(api, names=["Ana", None], options=AT_ONCE), keyed(new_key())
    refused(table.act(0, "roll", headers=headers), 409, "game_not_started")
    table.join()
    assert table.act(0, "roll", headers=headers).status_code == 200
    # Nor does it bind the key to its request.
    other = keyed(new_key())
    table.act(0, "bet", amount=1, headers=other)
    assert table.act(0, "resign", headers=other).status_code == 200


def test_an_answer_is_told_again_however_the_game_went_on(api):
    table, headers = create(api, options=AT_ONCE), keyed(new_key())
    first = table.act(0, "roll", headers={**headers, "If-Match": f'"{table.version}"'})
    table.act(1, "resign")
    again = table.act(0, "roll", headers={**headers, "If-Match": f'"{table.created["version"]}"'})
    assert same(first, again)


def test_an_old_request_without_its_key_changes_nothing(api):
    """Whoever replays a captured request is refused by the version or by the game."""
    table = create(api, options=AT_ONCE)
    seen = table.created["version"]
    table.act(0, "roll", expected_version=seen)
    game = table.read()
    refused(table.act(0, "roll", expected_version=seen), 412, "stale_version")
    assert table.read() == game


def test_a_token_that_was_replaced_gets_no_answer_but_that_of_its_replacement(api):
    table = create(api, options=AT_ONCE)
    acting, replacing = keyed(new_key()), keyed(new_key())
    table.act(0, "roll", headers=acting)
    first = table.post("/seats/0/token", token=table.tokens[0], headers=replacing)
    refused(table.act(0, "roll", headers=acting), 401, "token_unknown")
    assert same(first, table.post("/seats/0/token", token=table.tokens[0], headers=replacing))
    refused(table.post("/seats/0/token", token=table.tokens[0]), 401, "token_unknown")


def test_stored_answers_survive_a_power_cut_and_no_token_is_on_disk(tmp_path):
    with Server(tmp_path) as server:
        with server.client() as client:
            creating, joining = keyed(new_key()), keyed(new_key())
            body = new_game(names=["Ana", None], options=AT_ONCE)
            created = client.post("/v1/games", json=body, headers=creating)
            table = Table(client, created.json())
            joined = table.join({"name": "Ben"}, **joining)
            acting = keyed("1")
            acted = table.act(0, "roll", headers=acting)
        server.kill()
        on_disk = b"".join(
            path.read_bytes() for path in tmp_path.rglob("*") if path.name != "server.key"
        )
        tokens = [table.host, table.tokens[0], joined.json()["token"]]
        assert table.id.encode() in on_disk
        assert not any(
            token.encode() in on_disk or token[9:].encode() in on_disk for token in tokens
        )
        server.start()
        with server.client() as client:
            table.client = client
            assert same(created, client.post("/v1/games", json=body, headers=creating))
            assert same(joined, table.join({"name": "Ben"}, **joining))
            assert same(acted, table.act(0, "roll", headers=acting))


def test_a_server_may_demand_keys_and_versions(tmp_path):
    demands = {"CUBILETE_REQUIRE_IDEMPOTENCY_KEY": "true", "CUBILETE_REQUIRE_VERSION": "true"}
    with Server(tmp_path, **demands) as server, server.client() as client:
        refused(client.post("/v1/games", json=new_game()), 428, "precondition_missing")
        headers = keyed(new_key())
        body = new_game(options=AT_ONCE)
        table = Table(client, client.post("/v1/games", json=body, headers=headers).json())
        refused(table.act(0, "roll", headers=keyed("1")), 428, "precondition_missing")
        refused(table.act(0, "roll", expected_version=0), 428, "precondition_missing")
        version = table.created["version"]
        refused(table.act(0, "roll", headers=keyed("1"), expected_version=0), 412, "stale_version")
        acted = table.act(0, "roll", headers=keyed("1"), expected_version=version)
        assert acted.status_code == 200
