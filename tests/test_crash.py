"""A server that dies at any moment loses and doubles nothing, and rolls no die a second time."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Literal

import httpx
import pytest

from service.dice import D6, KeyChain, faces
from service.verify import verify
from tests.dying import request_file
from tests.game_client import bearer, keyed, new_key
from tests.postgres import POSTGRESQL, migrated_url
from tests.server import Server

TABLES = 4
ROLL = {"kind": "roll"}
KINDS = ["sqlite", *POSTGRESQL[:1]]
SERVER_KEY = "5a" * 32


def settings(kind: str, request: pytest.FixtureRequest, home: Path) -> dict[str, str]:
    url = migrated_url(kind, request, home, "crash")
    return {"CUBILETE_DATABASE_URL": url, "CUBILETE_SERVER_KEY": SERVER_KEY}


class MortalServer(Server):
    command = (sys.executable, "-m", "tests.dying")

    def die_at_commit(self, when: Literal["before", "after"]) -> None:
        request_file(when, self.data_dir).touch()

    def wait_for_death(self) -> None:
        assert self._process is not None
        assert self._process.wait(30) == 9
        self._process = None


class Table:
    """A practice game, whose every throw can be told beforehand, and what its client was told.
    Nobody holds, so it never ends."""

    def __init__(self, server: Server, random: Random) -> None:
        self._server = server
        root = random.randbytes(32)
        self.answers: list[bytes] = []
        self.unanswered: str | None = None
        with server.client() as client:
            body = {
                "ruleset": "pig",
                "options": {"starter": "seat"},
                "seats": [{"name": "Ana"}, {"name": "Zoë"}],
                "seed_mode": "practice",
                "seed": root.hex(),
            }
            created = client.post("/v1/games", json=body, headers=keyed(new_key())).json()
        self.game: dict[str, Any] = created["game"]
        self.path = f"/v1/games/{self.game['id']}"
        self.tokens = {one["seat"]: one["token"] for one in created["tokens"]["seats"]}
        self.chain = KeyChain(root, self.game["dice"]["throws_max"])

    def roll(self, client: httpx.Client, key: str, seat: int | None = None) -> httpx.Response:
        acting = self.game["to_act"][0] if seat is None else seat
        headers = bearer(self.tokens[acting]) | keyed(key)
        return client.post(f"{self.path}/actions", json=ROLL, headers=headers)

    def play(self, acked: threading.Semaphore) -> None:
        """Rolls until nobody answers."""
        with self._server.client() as client:
            while True:
                self.unanswered = key = new_key()
                try:
                    answer = self.roll(client, key)
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                self.answered(answer)
                acked.release()

    def answered(self, answer: httpx.Response) -> None:
        self.answers.append(answer.content)
        self.game = answer.json()["game"]
        self.unanswered = None

    def lines(self, client: httpx.Client) -> list[bytes]:
        whole = client.get(f"{self.path}/log", headers={"accept": "application/jsonl"})
        return whole.content.splitlines()

    def require_answered(self, client: httpx.Client) -> None:
        """What was answered is there, once and in order, and at most one action more."""
        acted = self.lines(client)[4:]
        for line, answer in zip(acted, self.answers, strict=False):
            assert line in answer
        assert len(acted) - len(self.answers) in ((0, 1) if self.unanswered else (0,))

    def require_whole(self, client: httpx.Client) -> None:
        """The log is gapless and sound, and its dice are those of the root."""
        self.require_answered(client)
        entries = [json.loads(line) for line in self.lines(client)]
        assert [entry["seq"] for entry in entries] == list(range(len(entries)))
        report = verify(client.get(f"{self.path}/audit").content)
        assert report.ok, report.text()
        context = bytes.fromhex(entries[3]["data"]["context"])
        thrown = [throw for entry in entries[4:] for throw in entry["data"]["throws"]]
        assert [throw["throw"] for throw in thrown] == list(range(1, len(thrown) + 1))
        for throw in thrown:
            key = self.chain.key(throw["throw"])
            assert throw["faces"] == list(faces(key, context, throw["throw"], [D6]))

    def settle(self, client: httpx.Client) -> None:
        """The request that nobody answered, sent again with its key, is made once."""
        if self.unanswered is None:
            return
        key, seat = self.unanswered, self.game["to_act"][0]
        was_made = len(self.lines(client)) - 4 - len(self.answers)
        first = self.roll(client, key, seat)
        again = self.roll(client, key, seat)
        assert first.status_code == again.status_code == 200
        assert first.content == again.content
        told = [answer.headers.get("idempotency-replayed") for answer in (first, again)]
        assert told == ["true" if was_made else None, "true"]
        self.answered(first)


def kill_in_the_middle(server: Server, tables: list[Table], after: int) -> None:
    """All play at once; the server is killed when so many actions have been answered."""
    acked = threading.Semaphore(0)
    with ThreadPoolExecutor(len(tables)) as pool:
        playing: list[Future[None]] = [pool.submit(table.play, acked) for table in tables]
        for _ in range(after):
            assert acked.acquire(timeout=30)
        server.kill()
        for one in playing:
            one.result()


def require_nothing_lost(server: Server, tables: Sequence[Table]) -> None:
    """After a death: each answer stands once, and what was not answered can be asked for again."""
    with server.client() as client:
        for table in tables:
            table.require_answered(client)
            table.settle(client)
            table.require_whole(client)


@pytest.mark.parametrize(
    ("kind", "kills"), [(kind, 5 if kind == "sqlite" else 2) for kind in KINDS]
)
def test_a_server_killed_in_the_middle_of_play_loses_and_doubles_nothing(
    kind, kills, request, tmp_path
):
    seed = 20_261_130
    random = Random(seed)
    server = Server(tmp_path, **settings(kind, request, tmp_path))
    with server:
        tables = [Table(server, random) for _ in range(TABLES)]
        for _ in range(kills):
            kill_in_the_middle(server, tables, random.randint(5, 60))
            server.start()
            require_nothing_lost(server, tables)
    assert sum(len(table.answers) for table in tables) > 5 * kills, f"seed {seed}"


@pytest.fixture(scope="module", params=KINDS)
def mortal(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MortalServer]:
    """Dies when asked to; each test starts it again."""
    home = tmp_path_factory.mktemp("mortal")
    with MortalServer(home, **settings(request.param, request, home)) as server:
        yield server


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_dies_at_a_commit_gives_the_same_dice_and_the_same_answer(mortal, when):
    """Before it nothing was made, after it all; the client who comes again can't tell."""
    table = Table(mortal, Random(when))
    with mortal.client() as client:
        for _ in range(3):
            table.answered(table.roll(client, new_key()))
        number = table.game["dice"]["throws"] + 1
        context = bytes.fromhex(json.loads(table.lines(client)[3])["data"]["context"])
        due = list(faces(table.chain.key(number), context, number, [D6]))
        mortal.die_at_commit(when)
        table.unanswered = new_key()
        with pytest.raises(httpx.TransportError):
            table.roll(client, table.unanswered)
    mortal.wait_for_death()
    mortal.start()
    with mortal.client() as client:
        assert len(table.lines(client)) == (7 if when == "before" else 8)
        table.require_answered(client)
        table.settle(client)
        table.require_whole(client)
        (throw,) = json.loads(table.answers[-1])["entry"]["data"]["throws"]
        assert (throw["throw"], throw["faces"]) == (number, due)


@pytest.mark.parametrize("mortal", KINDS[:1], indirect=True)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_creation_that_dies_at_a_commit_makes_one_game_with_one_set_of_tokens(mortal, when):
    body = {"ruleset": "pig", "seats": [{"name": "Ana"}, {"name": "Ben"}]}
    key = keyed(new_key())
    with mortal.client() as client:
        before = ids(client)
        mortal.die_at_commit(when)
        with pytest.raises(httpx.TransportError):
            client.post("/v1/games", json=body, headers=key)
    mortal.wait_for_death()
    mortal.start()
    with mortal.client() as client:
        first, again = [client.post("/v1/games", json=body, headers=key) for _ in range(2)]
        assert first.status_code == again.status_code == 201
        assert first.content == again.content
        assert ids(client) - before == {first.json()["game"]["id"]}
        table = first.json()
        acting = table["game"]["to_act"][0]
        token = table["tokens"]["seats"][acting]["token"]
        path = f"/v1/games/{table['game']['id']}/actions"
        assert client.post(path, json=ROLL, headers=bearer(token)).status_code == 200


def ids(client: httpx.Client) -> set[str]:
    games = client.get("/v1/games", params={"limit": 100}).json()["games"]
    return {game["id"] for game in games}


# --- the disk before the answer -----------------------------------------------------------------


def strace_works() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False).returncode == 0


CALLS = "read,recvfrom,recvmsg,write,writev,sendto,sendmsg,fdatasync,fsync"
SYNC = re.compile(r"(\d+) .*\bf(?:data)?sync\(\d+<[^>]*-wal>(.*)")
SYNCED = re.compile(r"(\d+) .*<\.\.\. f(?:data)?sync resumed>\) += 0")


class TracedServer(Server):
    def __init__(self, data_dir: Path, **variables: str) -> None:
        super().__init__(data_dir, **variables)
        self.trace = data_dir / "trace"
        strace = ("strace", "-D", "-f", "-qq", "-y", "-s", "100", "-e", f"trace={CALLS}")
        self.command = (*strace, "-o", str(self.trace), *Server.command)


def answers_in(trace: str) -> tuple[int, int]:
    """How many changes were answered, and how many of them when the log was not on the disk."""
    changing = synced = False
    syncing = set[str]()
    answers = early = 0
    for line in trace.splitlines():
        if '"POST /v1/' in line or '"GET /' in line:
            changing, synced = '"POST /v1/' in line, False
        elif match := SYNC.match(line):
            syncing.add(match[1])
            synced |= match[2].endswith("= 0")
        elif match := SYNCED.match(line):
            synced |= match[1] in syncing
        elif changing and '"HTTP/1.1 20' in line:
            answers += 1
            early += not synced
            changing = False
    return answers, early


# Elsewhere the settings of every connection, tested with the store, must do.
@pytest.mark.skipif(not strace_works(), reason="no strace here that may trace")
def test_a_change_is_on_the_disk_before_it_is_answered(tmp_path):
    with TracedServer(tmp_path) as server:
        table = Table(server, Random(1))
        with server.client() as client:
            for _ in range(20):
                table.answered(table.roll(client, new_key()))
    trace = server.trace.read_text()
    assert answers_in(trace) == (21, 0)
    other = "".join(line for line in trace.splitlines(True) if "-wal" not in line)
    assert answers_in(other) == (21, 21)
