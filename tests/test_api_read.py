"""What anybody may read: games, lists, logs, records, the catalogue, health."""

import hashlib
import json

import pytest

from service import __version__, verify
from service.rules import RULESETS
from tests import contract_check
from tests.game_client import create
from tests.test_api import KNOWN, refused, wrong_fields

# --- a game -------------------------------------------------------------------------------------


def test_a_game_needs_no_token_to_be_read(api):
    table = create(api)
    answer = api.get(table.path)
    assert answer.json() == table.created
    assert answer.headers["etag"] == f'"{table.created["version"]}"'
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "tag",
    ['"{}"', 'W/"{}"', '"0", "{}"', '"x",W/"{}"', "*"],
    ids=["strong", "weak", "listed", "listed and weak", "any"],
)
def test_a_version_that_still_stands_is_not_sent_again(api, tag):
    table = create(api)
    version = table.created["version"]
    answer = api.get(table.path, headers={"If-None-Match": tag.format(version)})
    assert answer.status_code == 304
    assert answer.headers["etag"] == f'"{version}"'


@pytest.mark.parametrize("tag", ['"{}0"', "{}", '"x"', "", '"0"'])
def test_a_version_that_is_another_is_sent(api, tag):
    table = create(api)
    headers = {"If-None-Match": tag.format(table.created["version"])}
    assert api.get(table.path, headers=headers).json() == table.created


@pytest.mark.parametrize("ruleset", RULESETS, ids=KNOWN)
def test_a_game_can_be_read_as_it_was_after_each_answer(api, ruleset):
    names = [f"Player {seat}" for seat in range(max(2, ruleset.min_seats))]
    table = create(api, ruleset.key, names, hotseat=True)
    for game in table.play(limit=12)[:-1]:
        assert table.read(version=game["version"]) == game


def test_a_game_can_be_read_as_it_was_before_it_started(api):
    table = create(api)
    first = table.read(version=0)
    assert (first["status"], first["version"]) == ("waiting", 0)


def test_a_version_that_is_yet_to_come_is_not_found(api):
    table = create(api)
    answer = api.get(table.path, params={"version": table.created["version"] + 1})
    assert refused(answer, 404, "version_not_found")["version"] == table.created["version"]


@pytest.mark.parametrize("version", ["-1", "x", "1.0", "01", "", "1e2", "٣", "9" * 17])
def test_a_version_that_is_no_number_is_refused(api, version):
    answer = api.get(create(api).path, params={"version": version})
    assert wrong_fields(answer) == {("query:version", "wrong_form")}


@pytest.mark.parametrize("game", ["none", "%00", "%ff", "a.b", "x" * 65, "☃"])
@pytest.mark.parametrize("path", ["", "/log", "/audit", "/head"])
def test_a_game_that_is_none_is_not_found(api, game, path):
    refused(api.get(f"/v1/games/{game}{path}"), 404, "game_not_found")


def test_head_is_answered_as_get_without_the_body(api):
    table = create(api)
    for path in (table.path, f"{table.path}/log", "/v1/games", "/v1/rulesets", "/livez"):
        got, asked = api.get(path), api.head(path)
        assert asked.status_code == 200
        assert asked.content == b""
        for name in ("content-type", "content-length", "etag", "vary", "link"):
            assert asked.headers.get(name) == got.headers.get(name)


def test_no_answer_lets_a_browser_guess_or_run_anything(client):
    table = create(client)
    seen = {"If-None-Match": f'"{table.created["version"]}"'}
    for answer in (
        client.get(table.path),
        client.get(table.path, headers=seen),
        client.get("/nothing"),
        client.put(table.path),
        client.get(f"{table.path}/log", headers={"Accept": "application/jsonl"}),
        client.head("/livez"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers


# --- lists --------------------------------------------------------------------------------------


def test_the_newest_public_game_is_listed_first(api):
    older, newer = create(api), create(api, names=["Ana", None])
    listed = api.get("/v1/games", params={"limit": 2}).json()["games"]
    assert [game["id"] for game in listed] == [newer.id, older.id]


def test_unlisted_games_are_read_by_their_id_alone(api):
    table = create(api, visibility="unlisted")
    assert table.read()["visibility"] == "unlisted"
    listed = api.get("/v1/games", params={"limit": 5}).json()["games"]
    assert table.id not in [game["id"] for game in listed]


def test_lists_are_filtered_by_status_ruleset_and_open_seats(api):
    playing = create(api, "pig")
    waiting = create(api, "two-dice-pig", ["Ana", None])
    full = create(api, "pig", start=False)
    over = create(api, "pig")
    over.act(0, "resign")

    def listed(**query):
        answer = api.get("/v1/games", params={"limit": 10, **query})
        return {game["id"] for game in answer.json()["games"]} & {
            table.id for table in (playing, waiting, full, over)
        }

    assert listed(status="playing") == {playing.id}
    assert listed(status="finished") == {over.id}
    assert listed(status="waiting") == {waiting.id, full.id}
    assert listed(ruleset="two-dice-pig") == {waiting.id}
    assert listed(open_seats="true") == {waiting.id}
    assert listed(open_seats="false") == {playing.id, full.id, over.id}
    assert listed(status="waiting", ruleset="pig", open_seats="false") == {full.id}


def test_pages_show_every_game_once_and_keep_the_filter(api):
    tables = [create(api, "two-dice-pig", ["Ana", None]) for _ in range(7)]
    query = {"ruleset": "two-dice-pig", "status": "waiting", "limit": 3}
    answer, seen = api.get("/v1/games", params=query), []
    while True:
        page = answer.json()
        seen += [game["id"] for game in page["games"]]
        assert ("next" in answer.links) == (page["next_cursor"] is not None)
        assert len(page["games"]) == 3 or page["next_cursor"] is None
        if page["next_cursor"] is None:
            break
        follow = api.get(answer.links["next"]["url"])
        assert (
            api.get("/v1/games", params=query | {"cursor": page["next_cursor"]}).json()
            == follow.json()
        )
        answer = follow
    assert seen[:7] == [table.id for table in reversed(tables)]
    assert len(set(seen)) == len(seen)


WRONG_LISTS = {
    "limit 0": ({"limit": "0"}, "query:limit", "too_small"),
    "limit 101": ({"limit": "101"}, "query:limit", "too_large"),
    "limit 10**9": ({"limit": str(10**9)}, "query:limit", "too_large"),
    "limit 10**400": ({"limit": "1" + "0" * 400}, "query:limit", "wrong_form"),
    "limit no number": ({"limit": "ten"}, "query:limit", "wrong_form"),
    "unknown status": ({"status": "secret"}, "query:status", "not_allowed"),
    "empty status": ({"status": ""}, "query:status", "not_allowed"),
    "unknown ruleset": ({"ruleset": "ludo"}, "query:ruleset", "not_allowed"),
    "open_seats no boolean": ({"open_seats": "1"}, "query:open_seats", "not_allowed"),
    "bad cursor": ({"cursor": "!"}, "query:cursor", "wrong_form"),
    "empty cursor": ({"cursor": ""}, "query:cursor", "wrong_form"),
    "cursor of a bad id": ({"cursor": "AAAA"}, "query:cursor", "wrong_form"),
    "cursor not ascii": ({"cursor": "ñ"}, "query:cursor", "wrong_form"),
    "repeated": ([("limit", "1"), ("limit", "2")], "query:limit", "repeated"),
    "unknown": ({"offset": "5"}, "query:", "unknown_field"),
    "other case": ({"Limit": "5"}, "query:", "unknown_field"),
}


@pytest.mark.parametrize(("query", "where", "code"), WRONG_LISTS.values(), ids=WRONG_LISTS.keys())
def test_each_wrong_parameter_of_a_list_is_told(api, query, where, code):
    assert wrong_fields(api.get("/v1/games", params=query)) == {(where, code)}


# --- logs and records ---------------------------------------------------------------------------


@pytest.fixture
def played(api):
    """A game that has ended after a while."""
    table = create(api, "big-pig", options={"target": 30}, hotseat=True)
    table.play(limit=25)
    if table.read()["status"] == "playing":
        table.post("/actions", {"kind": "resign", "seat": 0})
    return table


def stored_lines(table):
    answer = table.client.get(f"{table.path}/log", headers={"Accept": "application/jsonl"})
    assert answer.headers["content-type"] == "application/jsonl"
    assert answer.content.endswith(b"\n")
    return answer.content[:-1].split(b"\n")


def test_a_log_is_served_as_the_bytes_that_are_hashed(api, played):
    lines = stored_lines(played)
    entries = api.get(f"{played.path}/log").json()["entries"]
    assert [json.loads(line) for line in lines] == entries
    assert [entry["seq"] for entry in entries] == list(range(played.version + 1))
    assert b",".join(lines) in api.get(f"{played.path}/log").content


def test_a_log_is_read_in_pages(api, played):
    whole = api.get(f"{played.path}/log").json()["entries"]
    answer, seen = api.get(f"{played.path}/log", params={"limit": 4}), []
    while True:
        seen += answer.json()["entries"]
        if "next" not in answer.links:
            break
        answer = api.get(answer.links["next"]["url"])
    assert seen == whole
    assert answer.json()["next_cursor"] is None


def test_a_log_is_read_after_a_seq(api, played):
    whole = stored_lines(played)
    for after in (0, 3, len(whole) - 1, 2**53 - 1):
        query = {"after": after}
        entries = api.get(f"{played.path}/log", params=query).json()["entries"]
        assert [entry["seq"] for entry in entries] == list(range(after + 1, len(whole)))
    headers = {"Accept": "application/jsonl"}
    query = {"after": 2, "limit": 3}
    rest = api.get(f"{played.path}/log", params=query, headers=headers)
    assert rest.content == b"".join(line + b"\n" for line in whole[3:6])


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("text/html", "application/json"),
        ("application/jsonl", "application/jsonl"),
        ("Application/JSONL", "application/jsonl"),
        ("application/jsonl, */*;q=0.1", "application/jsonl"),
        ("application/json, application/jsonl", "application/jsonl"),
        ("application/json, application/jsonl;q=0.5", "application/json"),
        ("application/json;q=0.5, application/jsonl", "application/jsonl"),
        ("application/jsonl;q=0", "application/json"),
        ("application/jsonlines", "application/json"),
        ("application/jsonl;q=x", "application/jsonl"),
        (",;,;q=", "application/json"),
    ],
)
def test_the_form_of_a_log_is_the_one_that_the_caller_accepts(api, played, accept, media):
    headers = {} if accept is None else {"Accept": accept}
    answer = api.get(f"{played.path}/log", headers=headers)
    assert answer.headers["content-type"] == media
    assert answer.headers["vary"] == "Accept"


def test_an_audit_record_holds_all_that_a_verifier_needs(api, played):
    answer = api.get(f"{played.path}/audit")
    assert answer.headers["content-disposition"] == (
        f'attachment; filename="{played.id}.audit.json"'
    )
    record = answer.json()
    assert [line.encode() for line in record["log"]] == stored_lines(played)
    assert verify.verify(answer.content).ok


def test_an_audit_record_of_a_live_game_holds_what_is_known_so_far(api):
    table = create(api)
    answer = api.get(f"{table.path}/audit")
    assert answer.json()["status"] == "playing"
    assert len(answer.json()["log"]) == table.version + 1


def test_an_uploaded_record_is_checked(api, played):
    record = api.get(f"{played.path}/audit").content
    headers = {"Content-Type": "application/json"}
    assert api.post("/v1/audits", content=record, headers=headers).json()["ok"] is True
    forged = record.replace(b'\\"seat\\":0', b'\\"seat\\":1', 1)
    report = api.post("/v1/audits", content=forged, headers=headers).json()
    assert report["ok"] is False
    assert report["failure"] is not None


def test_a_receipt_signs_the_head_of_the_log(api, played):
    receipt = api.get(f"{played.path}/head").json()
    assert (receipt["game"], receipt["seq"]) == (played.id, played.version)
    known = api.get("/.well-known/fair-dice.json").json()["keys"]
    signed = next(key for key in known if key["key_id"] == receipt["key_id"])
    public = bytes.fromhex(signed["public_key"])
    assert hashlib.sha256(public).hexdigest().startswith(receipt["key_id"])


# --- the catalogue ------------------------------------------------------------------------------


def test_the_catalogue_lists_every_ruleset(api):
    listed = api.get("/v1/rulesets").json()["rulesets"]
    assert [ruleset["key"] for ruleset in listed] == KNOWN
    assert all(ruleset["title"]["es"] and ruleset["title"]["en"] for ruleset in listed)


@pytest.mark.parametrize("ruleset", RULESETS, ids=KNOWN)
def test_a_ruleset_is_told_in_full(api, ruleset):
    told = api.get(f"/v1/rulesets/{ruleset.key}").json()
    assert told["rules"]["es"].startswith("#")
    assert told["rules"]["en"].startswith("#")
    assert told["seats"] == {"min": ruleset.min_seats, "max": ruleset.max_seats}
    assert {action["kind"] for action in told["actions"]} >= {"resign"}
    assert told["options"]
    assert told["events"]


def test_an_unknown_ruleset_is_not_found(api):
    for key in ("ludo", "PIG", "%00", "x" * 5000):
        refused(api.get(f"/v1/rulesets/{key}"), 404, "ruleset_not_found")


# --- operations and reference -------------------------------------------------------------------


def test_a_server_tells_that_it_lives_and_is_ready(api):
    assert api.get("/livez").json() == {"status": "ok"}
    assert api.get("/readyz").json() == {"status": "ok"}


def test_a_server_tells_its_version_and_its_rulesets(api):
    told = api.get("/version").json()
    assert (told["name"], told["version"]) == ("cubilete", __version__)
    assert [ruleset["key"] for ruleset in told["rulesets"]] == KNOWN


def test_the_contract_is_served(client):
    assert client.get("/openapi.json").json() == contract_check.document()
