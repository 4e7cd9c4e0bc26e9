"""The short form of ``make soak``: sixty kills under load, and an auditor that can find faults."""

import asyncio
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from service.keys import ServerKey
from soak import ordeal
from soak.__main__ import told
from soak.history import lines
from soak.ordeal import Kind, schedule
from soak.verdict import Verdict, judge
from tests.postgres import POSTGRESQL

SEED = 2026
# A kill over PostgreSQL takes four times as long: there are two servers, and a database to recover.
KILLS: Mapping[Kind, int] = {"sqlite": 44, "postgresql": 16}
DEATHS = ("kill -9", "death before COMMIT", "death after COMMIT")
KINDS: list[Kind] = ["sqlite", "postgresql"] if "pip" in POSTGRESQL else ["sqlite"]


@pytest.mark.parametrize("kind", KINDS)
def test_servers_killed_under_load_lose_double_and_change_nothing(kind, tmp_path):
    kills = KILLS[kind]
    report = asyncio.run(ordeal.soak(kind, kills, SEED, tmp_path))
    print("\n".join(told(report, 0)))
    assert report.verdict.faults == [], f"seed {SEED}"
    assert sum(report.done[death] for death in DEATHS) == kills
    assert set(schedule(kind, kills, Random(0))) == set(report.done) | set(report.left_out)
    assert report.verdict.counts["changes acknowledged"] > 10 * kills
    assert report.verdict.counts["throws"] > 0
    assert report.asked["unknown"] > 0
    assert report.asked["replayed"] > 0


def test_a_seed_is_a_schedule():
    once, again = (schedule("postgresql", 20, Random(SEED)) for _ in range(2))
    assert once == again
    assert sum(fault in DEATHS for fault in once) == 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_schedule_of_a_few_kills_has_faults_of_every_sort(kind):
    often = Counter(fault for seed in range(50) for fault in schedule(kind, 3, Random(seed)))
    assert often["kill -9"] == often["death before COMMIT"] == often["death after COMMIT"] == 50
    assert set(often) == set(schedule(kind, 3, Random(0)))


# --- the auditor must be able to fail -----------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What a soak has left behind."""

    database: Path
    history: Path
    server_key: ServerKey
    public_keys: tuple[bytes, ...]

    def copied(self, place: Path) -> "Case":
        for file in self.database.parent.iterdir():
            shutil.copy(file, place)
        database, history = place / self.database.name, place / self.history.name
        return Case(database, history, self.server_key, self.public_keys)

    def judged(self) -> Verdict:
        url = f"sqlite:///{self.database}"
        return judge(url, self.history, self.server_key, self.public_keys)

    def rewrite(self, change: Callable[[list[dict[str, Any]]], None]) -> None:
        """Another history."""
        told = [dict(line) for line in lines(self.history)]
        change(told)
        self.history.write_text("".join(json.dumps(line) + "\n" for line in told))

    def counted(self, rows: str) -> int:
        """How many rows there are."""
        connection = sqlite3.connect(self.database)
        ((count,),) = connection.execute(f"SELECT count(*) {rows}").fetchall()
        connection.close()
        return int(count)

    def execute(self, statement: str) -> None:
        """Something else in the database."""
        connection = sqlite3.connect(self.database)
        with connection:
            assert connection.execute(statement).rowcount > 0
        connection.close()


PLAYED_AGAIN = "game_id IN (SELECT id FROM game WHERE next_game IS NOT NULL)"


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """What a short soak has left, before its directory is removed: the first of them in which
    somebody has played again, since how far they come between two kills is the machine's."""
    found = list[Case]()

    def keep(url: str, history: Path, server_key: ServerKey, keys: tuple[bytes, ...]) -> Verdict:
        database, kept = Path(url.removeprefix("sqlite:///")), tmp_path_factory.mktemp("kept")
        for file in (*database.parent.glob("cubilete.db*"), history):
            shutil.copy(file, kept)
        found.append(Case(kept / database.name, kept / history.name, server_key, keys))
        return judge(url, history, server_key, keys)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(ordeal, "judge", keep)
        for kills in (2, 8, 32):
            asyncio.run(ordeal.soak("sqlite", kills, SEED, tmp_path_factory.mktemp("soak")))
            if found[-1].counted(f"FROM answer WHERE {PLAYED_AGAIN}"):
                return found[-1]
    raise AssertionError(f"nobody has played again, seed {SEED}")


@pytest.fixture
def case(left: Case, tmp_path: Path) -> Case:
    return left.copied(tmp_path)


def test_the_auditor_finds_nothing_wrong_with_what_is_left(case):
    assert case.judged().faults == []


LAST = "SELECT max(seq) FROM entry AS other WHERE other.game_id = entry.game_id"
IN_DATABASE: Mapping[str, str] = {
    "a lost entry": f"DELETE FROM entry WHERE seq = ({LAST})",
    "an answer that is not kept": "DELETE FROM answer",
    "another answer kept": "UPDATE answer SET body = CAST(body || ' ' AS BLOB) WHERE NOT sealed",
    "an answer that nobody was given": (
        "INSERT INTO answer SELECT randomblob(32), fingerprint, game_id, status, headers, body,"
        " sealed FROM answer"
    ),
    "an answer that nobody was given, in a game with a rematch": (
        "INSERT INTO answer SELECT randomblob(32), fingerprint, game_id, status, headers, body,"
        f" sealed FROM answer WHERE {PLAYED_AGAIN} LIMIT 1"
    ),
    "a face that did not fall": (
        "UPDATE entry SET line = CAST(replace(CAST(line AS TEXT), '\"faces\":[1', '\"faces\":[2')"
        " AS BLOB)"
    ),
    "another salt": "UPDATE root_salt SET salt = randomblob(32)",
    "another snapshot": (
        "UPDATE game SET snapshot = replace(snapshot, '\"throws\":', '\"throws\":1')"
    ),
    "a game that nobody has made": (
        "INSERT INTO game (id, revision, version, status, ruleset, open_seats, visibility,"
        " series_id, series_number, host_hash, setup, snapshot)"
        " SELECT 'other', revision, version, status, ruleset, open_seats, visibility,"
        " 'other', series_number, host_hash, setup, snapshot FROM game LIMIT 1"
    ),
}


@pytest.mark.parametrize("what", IN_DATABASE)
def test_the_auditor_finds_in_the_database(case, what):
    case.execute(IN_DATABASE[what])
    assert case.judged().faults


def closed(told: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer to the last action that was acknowledged."""
    return next(line for line in reversed(told) if line["do"] == "ok" and '"entry"' in line["body"])


def twice(told: list[dict[str, Any]]) -> None:
    """The same request is made again, and not from the store."""
    answer = closed(told)
    opened = next(line for line in told if line.get("request") == answer["request"])
    told += [opened | {"request": 10**6}, answer | {"request": 10**6, "replayed": False}]


def another_answer(told: list[dict[str, Any]]) -> None:
    twice(told)
    told[-1] |= {"replayed": True, "body": told[-1]["body"] + " "}


def forgotten(told: list[dict[str, Any]]) -> None:
    """An action that its client never asked for."""
    number = closed(told)["request"]
    key = next(line["key"] for line in told if line.get("request") == number)
    asked = {line["request"] for line in told if line.get("key") == key}
    told[:] = [line for line in told if line.get("request") not in asked]


def never_settled(told: list[dict[str, Any]]) -> None:
    told.append(told[0] | {"request": 10**6, "key": "never-heard-of"})


def refused(told: list[dict[str, Any]]) -> None:
    twice(told)
    told[-1] = {"do": "fail", "request": 10**6, "status": 412, "code": "stale_version"}


def broken(told: list[dict[str, Any]]) -> None:
    twice(told)
    told[-1] = {"do": "unknown", "request": 10**6, "why": "500"}


def old_read(told: list[dict[str, Any]]) -> None:
    told.append({"do": "read", "client": 0, "game": "any", "seen": 5, "version": 4})


@pytest.mark.parametrize(
    "change", [twice, another_answer, forgotten, never_settled, refused, broken, old_read]
)
def test_the_auditor_finds_in_the_history(case, change):
    case.rewrite(change)
    assert case.judged().faults
