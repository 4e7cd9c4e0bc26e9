"""Small requests that would cost much: what they ask for is bounded before it is done."""

import os
import time
from pathlib import Path
from stat import S_ISDIR
from typing import Any

import httpx
import pytest

from service.heads import FILE, Head, HeadFile
from service.names import canonical_name
from service.replay import NotReplayable, audit
from service.rules import RULESETS
from tests.game_client import Table, create, new_game
from tests.player import Player
from tests.postgres import POSTGRESQL, migrated_url
from tests.server import Server
from tests.test_replay import forged, played


def test_of_very_many_faults_the_first_are_told(client: httpx.Client):
    deck = [""] * 5_000
    body = {
        "ruleset": "dice-duel",
        "seats": [{"name": "Ana"}, {"name": "Ben"}],
        "options": {"penalty": {"kind": "forfeit", "deck": deck}},
    }
    answer = client.post("/v1/games", json=body)
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) <= 50


@pytest.mark.parametrize("ruleset", RULESETS, ids=[ruleset.key for ruleset in RULESETS])
def test_no_answer_to_a_change_is_larger_than_a_request_may_be(client: httpx.Client, ruleset):
    """With the most seats, the longest names and the longest texts that there may be."""
    names = [f"{seat:>04}".replace("0", "🎲") + "🎲" * 36 for seat in range(ruleset.max_seats)]
    options: dict[str, Any] = {}
    if ruleset.key == "dice-duel":
        deck = ["🎲" * 62] * 64
        options = {"penalty": {"kind": "truth", "deck": deck}, "format": {"first_to_win": 9}}
    answers = [client.post("/v1/games", json=new_game(ruleset.key, names, options=options))]
    table = Table(client, answers[0].json())
    for number in range(600):
        game = answers[-1].json()["game"]
        if game["status"] != "playing":
            break
        answers.append(table.step(game, number))
        assert answers[-1].is_success, answers[-1].text
    largest = max(len(answer.content) for answer in answers)
    print(f"{ruleset.key}: {largest} bytes, the largest of {len(answers)} answers")
    assert largest < 64 * 1024


def test_a_language_header_is_read_in_one_pass_and_not_for_ever(client: httpx.Client):
    headers = {"accept-language": "a" + " " * 15_000 + "x"}
    answer = client.get("/nope", headers=headers, timeout=10)
    assert (answer.status_code, answer.headers["content-language"]) == (404, "en")


@pytest.mark.parametrize("kind", ["sqlite", *POSTGRESQL[:1]])
def test_a_series_is_read_from_any_number(kind, request, tmp_path):
    """Columns end at 2**31 - 1 on one database and not on the other."""
    url = migrated_url(kind, request, tmp_path, "limits")
    with Server(tmp_path, CUBILETE_DATABASE_URL=url) as server, server.client() as client:
        path = f"/v1/series/{create(client).id}"
        assert len(client.get(path, params={"after": 0}).json()["games"]) == 1
        for after in (2**31 - 1, 2**31, 2**53 - 1):
            answer = client.get(path, params={"after": after})
            assert (answer.status_code, answer.json()["games"]) == (200, [])
        for after in (2**53, 2**63, 10**400):
            assert client.get(path, params={"after": after}).status_code == 422


def test_the_head_file_is_its_owners_alone_also_after_it_was_shortened(tmp_path):
    path = tmp_path / FILE
    path.write_text(f"a 1 {'0' * 64}\na 2 {'1' * 64}\n")
    path.chmod(0o644)
    HeadFile(tmp_path, sync=True).close()
    assert path.read_text() == f"a 2 {'1' * 64}\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_a_full_disk_has_torn_takes_no_other_with_it(tmp_path):
    heads = [Head("a", seq, bytes([seq]) * 32) for seq in range(3)]
    first, second = (HeadFile(tmp_path, sync=True) for _ in range(2))
    first.append(heads[:1])
    with (tmp_path / FILE).open("a") as torn:
        torn.write("a 1 0101")
    second.append(heads[2:])
    for one in (first, second):
        one.close()
    again = HeadFile(tmp_path, sync=True)
    assert again.recall() == {"a": heads[2]}
    again.close()


def test_heads_that_a_full_disk_did_not_take_are_written_with_those_that_follow(tmp_path):
    heads = HeadFile(tmp_path, sync=True)
    full, heads._handle = heads._handle, os.open("/dev/full", os.O_RDWR)
    for seq in (1, 2):
        with pytest.raises(OSError, match="No space"):
            heads.append([Head("a", seq, bytes(32))])
    with pytest.raises(OSError, match="No space"):
        heads.settle()
    os.close(heads._handle)
    heads._handle = full
    heads.append([Head("b", 1, bytes(32))])
    zeros = "0" * 64
    assert (tmp_path / FILE).read_text() == f"a 2 {zeros}\nb 1 {zeros}\n"
    heads.settle()
    assert (tmp_path / FILE).read_text() == f"a 2 {zeros}\nb 1 {zeros}\n"
    heads.close()


def test_heads_that_come_late_are_owed_where_there_is_no_room(tmp_path):
    heads = HeadFile(tmp_path, sync=True)
    full, heads._handle = heads._handle, os.open("/dev/full", os.O_RDWR)
    heads.owe([Head("a", 1, bytes(32))])
    with pytest.raises(OSError, match="No space"):
        heads.settle()
    os.close(heads._handle)
    heads._handle = full
    heads.settle()
    assert (tmp_path / FILE).read_text() == f"a 1 {'0' * 64}\n"
    heads.close()


def test_a_head_file_that_there_is_no_room_to_shorten_stays_as_it_is(tmp_path, monkeypatch):
    text = f"a 1 {'0' * 64}\na 2 {'1' * 64}\n"
    (tmp_path / FILE).write_text(text)
    opened = os.open

    def full(path, flags, *more):
        return opened("/dev/full" if str(path).endswith(".new") else path, flags, *more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        heads = HeadFile(tmp_path, sync=True)
    assert heads.recall() == {"a": Head("a", 2, bytes([0x11]) * 32)}
    assert (tmp_path / FILE).read_text() == text
    heads.close()


def test_heads_are_written_where_the_system_syncs_whole_files_only(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fdatasync", raising=False)
    heads = HeadFile(tmp_path, sync=True)
    heads.append([Head("a", 1, bytes(32))])
    heads.settle()
    heads.close()
    assert (tmp_path / FILE).read_text() == f"a 1 {'0' * 64}\n"


def test_the_name_of_a_head_file_that_is_new_or_shortened_is_on_the_disk(tmp_path, monkeypatch):
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def syncing(handle: int) -> None:
        done.append("name synced" if S_ISDIR(os.fstat(handle).st_mode) else "file synced")
        fsync(handle)

    def replacing(draft: Path, path: Path) -> Path:
        done.append("replaced")
        return replace(draft, path)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(Path, "replace", replacing)
    for _ in range(2):
        heads = HeadFile(tmp_path, sync=True)
        heads.append([Head("a", 1, bytes(32))])
        heads.close()
    assert done == ["name synced", "file synced", "replaced", "name synced"]


def test_a_long_run_of_accents_is_refused_before_it_is_normalised():
    with pytest.raises(ValueError, match="too_long"):
        canonical_name("\u0315" * 16_000 + "\u0316" * 16_000)


def test_a_log_with_more_seats_than_the_ruleset_has_is_refused():
    _, lines = played()

    def crowd(entries: list[dict]) -> None:
        entries[0]["data"]["seats"] = 4_294_967_295

    with pytest.raises(NotReplayable):
        audit(forged(lines[:1], crowd))


def test_true_is_no_one_in_an_outcome():
    _, lines = played()

    def almost(entries: list[dict]) -> None:
        outcome = entries[-1]["data"]["outcome"]
        for seats in (outcome["winners"], outcome["losers"]):
            seats[:] = [seat == 1 for seat in seats]

    with pytest.raises(NotReplayable):
        audit(forged(lines, almost))


@pytest.mark.parametrize("path", ["/livez%0a", "/metrics%0a", "/v1/games%0a"])
def test_a_line_feed_at_the_end_is_another_path(client: httpx.Client, path: str):
    assert client.get(path).status_code == 404


def test_a_rematch_has_no_verdict_before_its_own_audit(client: httpx.Client):
    player, before = Player(client), audited(client)
    player.create("pig", options={"target": 10})
    player.play()
    wait_for(client, before + 1)
    player.ask("POST", f"{player.path}/rematch", None, player.host)
    player.play()
    wait_for(client, before + 2)


def wait_for(client: httpx.Client, count: float) -> None:
    deadline = time.monotonic() + 20
    while audited(client) < count:
        assert time.monotonic() < deadline, f"not {count} games audited"


def audited(client: httpx.Client) -> float:
    rows = client.get("/metrics").text.splitlines()
    (row,) = [row for row in rows if row.startswith('cubilete_audits_total{verdict="passed"}')]
    return float(row.split()[-1])
