"""Audits: of uploaded records, and of every finished game by the server itself."""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.player import Player
from tests.server import Server

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


def audit(client: httpx.Client, data: bytes, kind: str = "application/json") -> dict[str, Any]:
    answer = client.post("/v1/audits", content=data, headers={"content-type": kind})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_true_record_passes_every_check_the_rules_included(player: Player) -> None:
    player.create("big-pig", options={"target": 30})
    player.play()
    report = audit(player.client, player.record())
    assert report["ok"], report["failure"]
    results = {check["name"]: check["result"] for check in report["checks"]}
    assert results["rules"] == results["faces"] == results["receipts"] == "passed"
    assert len(report["thrown"]) == player.game["dice"]["throws"]


def test_a_log_as_jsonl_gets_the_same_report(player: Player) -> None:
    player.create()
    player.play()
    report = audit(player.client, player.log(), "application/jsonl")
    assert (report["ok"], report["status"]) == (True, "finished")


def rechained(lines: list[bytes], change: Any) -> bytes:
    """The log after a change of its entries, with a hash chain that fits again."""
    from service.log import canonical, entry_hash

    entries = [json.loads(line) for line in lines]
    change(entries)
    out, prev = [], "0" * 64
    for entry in entries:
        entry["prev"] = prev
        line = canonical(entry)
        out.append(line + b"\n")
        prev = entry_hash(line).hex()
    return b"".join(out)


def test_points_that_the_rules_do_not_give_fail_although_the_dice_are_true(player: Player) -> None:
    player.create("pig", options={"starter": "seat"})
    while not any(
        event["kind"] == "rolled" for event in player.act("roll")["entry"]["data"]["events"]
    ):
        assert player.game["status"] == "playing"
    lines = player.log().splitlines()

    def more_points(entries: list[Any]) -> None:
        entries[-1]["data"]["events"][0]["points"] += 1

    report = audit(player.client, rechained(lines, more_points), "application/jsonl")
    assert (report["ok"], report["failure"]["code"]) == (False, "rules")
    assert report["failure"]["seq"] == len(lines) - 1


def test_another_winner_fails(player: Player) -> None:
    player.create("pig", options={"target": 20})
    player.play()

    def other_winner(entries: list[Any]) -> None:
        outcome = entries[-1]["data"]["outcome"]
        outcome["winners"], outcome["losers"] = outcome["losers"], outcome["winners"]

    forged = rechained(player.log().splitlines(), other_winner)
    report = audit(player.client, forged, "application/jsonl")
    assert report["failure"]["code"] == "rules"


@pytest.mark.parametrize("forged", VECTORS["forged"], ids=lambda item: item["note"])
def test_every_forged_vector_without_a_claim_or_receipt_fails(
    client: httpx.Client, forged: dict[str, Any]
) -> None:
    if "claim" in forged or "receipts" in forged:
        status = forged.get("claim", "finished")
        keys = forged.get("public_keys", [])
        record = {
            "protocol": "fair-dice/1",
            "game": json.loads(forged["lines"][0])["game"],
            "status": status,
            "log": forged["lines"],
            "public_keys": keys,
            "receipt": forged.get("receipts", [None])[0],
        }
        report = audit(client, json.dumps(record).encode())
    else:
        data = "".join(f"{line}\n" for line in forged["lines"]).encode()
        report = audit(client, data, "application/jsonl")
    assert not report["ok"]
    assert report["failure"]["seq"] == forged["seq"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[1]", b"\xff", b"\x00" * 9, b'{"protocol":' + b"[" * 9999, b"{" * 100_000],
    ids=repr,
)
def test_what_is_no_record_gets_a_report_that_says_so(client: httpx.Client, data: bytes) -> None:
    report = audit(client, data)
    assert not report["ok"]
    assert report["failure"]["code"]


def test_eight_mebibytes_are_taken_and_no_more(client: httpx.Client) -> None:
    size = 8 * 1024 * 1024
    assert not audit(client, b"{" + b" " * (size - 1))["ok"]
    answer = client.post(
        "/v1/audits", content=b" " * (size + 1), headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def counted(client: httpx.Client, verdict: str) -> float:
    line = f'cubilete_audits_total{{verdict="{verdict}"}} '
    (found,) = [row for row in client.get("/metrics").text.splitlines() if row.startswith(line)]
    return float(found.removeprefix(line))


def wait_for(client: httpx.Client, verdict: str, count: float) -> None:
    deadline = time.monotonic() + 20
    while counted(client, verdict) < count:
        assert time.monotonic() < deadline, client.get("/metrics").text


def test_the_server_audits_every_finished_game(own: Server) -> None:
    with own.client() as client:
        for _ in range(3):
            player = Player(client)
            player.create("pig", options={"target": 10})
            player.play()
        wait_for(client, "passed", 3)
        assert counted(client, "failed") == 0


def test_a_game_whose_log_fails_is_frozen_and_the_others_play_on(own: Server) -> None:
    with own.client() as client:
        player, other = Player(client), Player(client)
        player.create("pig", options={"target": 10, "starter": "seat"})
        other.create("pig", options={"starter": "seat"})
        own.stop()
        with sqlite3.connect(own.data_dir / "cubilete.db") as database:
            database.execute(
                "UPDATE entry SET line = CAST(replace(line, '\"seat\":1', '\"seat\":0') AS BLOB)"
                " WHERE game_id = ? AND seq = 2",
                [player.game["id"]],
            )
        database.close()
        own.start()
        player.play()
        wait_for(client, "failed", 1)
        told = player.ask("POST", f"{player.path}/rematch", None, player.host, 423)
        assert told["code"] == "game_frozen"
        other.act("roll")
    assert player.game["id"] in own.log.read_text()


def test_games_that_ended_while_nobody_audited_are_audited_at_the_next_start(own: Server) -> None:
    with own.client() as client:
        player = Player(client)
        player.create("pig", options={"target": 10})
        player.play()
        wait_for(client, "passed", 1)
        own.stop()
        with sqlite3.connect(own.data_dir / "cubilete.db") as database:
            database.execute("UPDATE game SET audit = NULL")
        database.close()
        own.start()
        wait_for(client, "passed", 1)


def test_a_game_whose_root_no_longer_fits_takes_no_action(own: Server) -> None:
    with own.client() as client:
        player, other = Player(client), Player(client)
        for table in (player, other):
            table.create("pig", options={"starter": "seat"})
        own.stop()
        with sqlite3.connect(own.data_dir / "cubilete.db") as database:
            database.execute(
                "UPDATE root_salt SET salt = zeroblob(32) WHERE game_id = ?", [player.game["id"]]
            )
        database.close()
        own.start()
        told = player.ask("POST", f"{player.path}/actions", {"kind": "roll"}, player.seats[0], 423)
        assert told["code"] == "game_frozen"
        other.act("roll")
        assert player.read()["version"] == 3
