"""Receipts: signed in every changing answer, proof against a rewritten or restored history."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from service.heads import FILE
from service.keys import open_signing_keys
from service.log import canonical, entry_hash
from service.verify import check_receipt, verify, verify_log
from tests.player import Player
from tests.server import Server


def test_every_changing_answer_carries_a_receipt_of_its_head(player: Player) -> None:
    player.create("pig", "Ana", None)
    player.join(name="Ben")
    player.act("roll")
    player.ask("POST", f"{player.path}/seats/0/token", None, player.seats[0])
    assert [receipt["seq"] for receipt in player.receipts] == [1, 4, 5, 5]
    for receipt in player.receipts:
        check_receipt(receipt, player.public_keys())
    report = verify_log(player.log(), receipts=player.receipts, public_keys=player.public_keys())
    assert report.ok, report.text()


def test_the_head_route_gives_the_receipt_of_the_newest_entry(player: Player) -> None:
    player.create()
    assert player.client.get(f"{player.path}/head").json() == player.receipts[-1]


def test_a_caller_may_decline_the_receipt(player: Player) -> None:
    player.create()
    token = player.seats[player.game["to_act"][0]]
    answer = player.client.post(
        f"{player.path}/actions",
        json={"kind": "roll"},
        headers={"authorization": f"Bearer {token}", "prefer": "receipt=no"},
    )
    assert answer.json()["receipt"] is None


def test_the_audit_record_brings_keys_and_receipt(player: Player) -> None:
    player.create()
    player.play()
    report = verify(player.record())
    assert report.ok, report.text()
    assert dict(report.checks)["receipts"] == "passed"


def rewrite(data_dir: Path, game: str) -> None:
    """What a dishonest operator would do: another line for the newest entry, with a true chain."""
    with sqlite3.connect(data_dir / "cubilete.db") as database:
        ((seq, line),) = database.execute(
            "SELECT seq, line FROM entry WHERE game_id = ? ORDER BY seq DESC LIMIT 1", [game]
        ).fetchall()
        entry = json.loads(line)
        entry["at"] += 1
        database.execute(
            "UPDATE entry SET line = ? WHERE game_id = ? AND seq = ?",
            [canonical(entry), game, seq],
        )
    database.close()


def test_a_line_rewritten_in_the_database_is_caught_with_the_players_receipt(own: Server) -> None:
    with own.client() as client:
        player = Player(client)
        player.create(options={"starter": "seat"})
        player.act("roll")
        keys = player.public_keys()
        own.stop()
        rewrite(own.data_dir, player.game["id"])
        own.start()
        log = own.data_dir / "log.jsonl"
        log.write_bytes(player.log())
    receipt = own.data_dir / "receipt.json"
    receipt.write_text(json.dumps(player.receipts[-1]))
    command = [sys.executable, "-m", "service", "verify", str(log)]
    alone = subprocess.run(command, capture_output=True, text=True, check=False)
    assert alone.returncode == 0, alone.stdout
    proof = ["--receipt", str(receipt), "--public-key", *keys]
    told = subprocess.run([*command, *proof], capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "receipt" in told.stdout.splitlines()[-1]


def test_after_a_rotation_old_receipts_still_check_and_new_ones_are_of_the_new_key(
    own: Server,
) -> None:
    with own.client() as client:
        player = Player(client)
        player.create(options={"starter": "seat"})
        own.stop()
        rotate = [sys.executable, "-m", "service", "keys", "rotate", "--data-dir"]
        subprocess.run([*rotate, str(own.data_dir)], check=True, capture_output=True)
        own.start()
        player.act("roll")
        known = client.get("/.well-known/fair-dice.json").json()["keys"]
        assert [key["retired"] for key in known] == [False, True]
        assert len({receipt["key_id"] for receipt in player.receipts}) == 2
        report = verify_log(
            player.log(), receipts=player.receipts, public_keys=player.public_keys()
        )
        assert report.ok, report.text()


def test_signing_keys_survive_a_restart(tmp_path: Path) -> None:
    first = open_signing_keys(tmp_path)
    assert open_signing_keys(tmp_path).public == first.public


def test_heads_that_the_file_has_not_are_written_at_the_start(own: Server) -> None:
    """A full disk, or a death right after a commit, has kept them from it."""
    file = own.data_dir / FILE
    with own.client() as client:
        played, waits, over = Player(client), Player(client), Player(client)
        for player in (played, over):
            player.create(options={"starter": "seat"})
        waits.create("pig", None, "Ben")
        early = file.read_text()
        for player in (played, over):
            player.act("roll")
        over.act("resign")
        own.stop()
        ids = {player: player.path.rpartition("/")[2] for player in (played, waits, over)}
        file.write_text("".join(line for line in early.splitlines(True) if ids[waits] not in line))
        own.start()
        assert client.get("/readyz").status_code == 200
        newest = dict(line.split(" ", 1) for line in file.read_text().splitlines())
        for player in (played, waits):
            version, line = player.read()["version"], player.log().splitlines()[-1]
            assert newest[ids[player]] == f"{version} {entry_hash(line).hex()}"
        assert newest[ids[over]].split()[0] != str(over.read()["version"])


def test_a_restored_backup_ends_the_games_that_have_moved_since(own: Server) -> None:
    with own.client() as client:
        moved, waits, same = Player(client), Player(client), Player(client)
        for player in (moved, same):
            player.create(options={"starter": "seat"})
        waits.create("pig", None, "Ben")
        own.stop()
        shutil.copytree(own.data_dir, own.data_dir.with_name("backup"))
        own.start()
        moved.act("roll")
        waits.ask("PATCH", f"{waits.path}/seats/1", {"name": "Bea"}, waits.seats[1])
        own.stop()
        restored = own.data_dir.with_name("backup")
        for name in ("cubilete.db", "cubilete.db-wal", "cubilete.db-shm"):
            (own.data_dir / name).unlink(missing_ok=True)
            if (restored / name).exists():
                shutil.copy(restored / name, own.data_dir / name)
        own.start()
        ended = [player.read()["ended"] for player in (moved, waits, same)]
        assert ended == [{"reason": "restored", "seats": []}] * 2 + [None]
        assert [player.game["status"] for player in (moved, waits)] == ["abandoned", "void"]
        token = moved.seats[0]
        told = moved.ask("POST", f"{moved.path}/actions", {"kind": "roll"}, token, 409)
        assert told["code"] == "game_over"
        assert verify_log(moved.log(), claim="abandoned").ok
        ended_at = moved.game["version"]
        own.stop()
        own.start()
        assert moved.read()["version"] == ended_at
