"""The load: a closed loop of HTTP/1.1 connections in a process of its own.

    python -m bench.load create URL --games 64 > games.json
    python -m bench.load act URL --tables games.json --clients 64 --seconds 3

Every connection sends its next request as soon as it has the answer to the one before, and plays
tables of its own. One JSON object on the standard output tells what was measured; the first answer
that is not the one expected ends the run with an error, so that no failure is counted as work.
`busy` is the share of the time in which this process was computing: as long as it is well below 1,
the load is not what limits the rate.
"""

import argparse
import asyncio
import functools
import gc
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import uvloop

_WARM_UP_S: Final = 0.4
_PATIENCE_S: Final = 30.0  # for the first answer of a stretch
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_ETAG: Final = re.compile(rb"\r\netag: *([^\r]+)", re.IGNORECASE)
_GAME: Final = {
    "ruleset": "pig",
    "options": {"target": 10_000, "starter": "seat"},
    "seats": [{"name": "Ana"}, {"name": "Ben"}],
    "hotseat": True,
    "start": True,
}


class Unexpected(Exception):
    """An answer that is not the one expected."""


@dataclass(frozen=True, slots=True)
class Table:
    """A game that a connection plays, and the token of its host."""

    id: str
    token: str


@dataclass(frozen=True, slots=True)
class Slice:
    """What was measured in one stretch of time."""

    clients: int
    answers: int
    rate: float
    p50_ms: float
    p99_ms: float
    busy: float
    size: int


# --- what a connection asks ---------------------------------------------------------------------


class Player(Protocol):
    """Says what a connection asks next, and learns from the answers."""

    def request(self) -> bytes | None:
        """The next request, or null when nothing is left to ask."""

    def answered(self, answer: bytes) -> None:
        """The whole answer, head and body; raises Unexpected."""


def _require(answer: bytes, status: bytes) -> None:
    if answer[9:12] != status:
        raise Unexpected(answer[:2000].decode("utf-8", "replace"))


class Creator:
    """Creates tables of Pig without an end to speak of, each at a hot seat."""

    def __init__(self, tables: int) -> None:
        body = json.dumps(_GAME).encode()
        head = f"POST /v1/games HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n"
        self._request = head.encode() + b"Content-Type: application/json\r\n\r\n" + body
        self._left = tables
        self.tables: list[Table] = []

    def request(self) -> bytes | None:
        self._left -= 1
        return self._request if self._left >= 0 else None

    def answered(self, answer: bytes) -> None:
        _require(answer, b"201")
        created = json.loads(answer.partition(b"\r\n\r\n")[2])
        self.tables.append(Table(created["game"]["id"], created["tokens"]["host"]))


class Actor:
    """Rolls at one table after another: the dearest action of Pig, always legal, and as long as
    nobody holds the game goes on."""

    def __init__(
        self, tables: Sequence[Table], *, keyed: bool = False, receipt: bool = True
    ) -> None:
        more = "" if receipt else "Prefer: receipt=no\r\n"
        self._asked = [_roll(table, more) for table in tables]
        self._turn = -1
        self._key = os.urandom(12).hex().encode() if keyed else None
        self._numbers = count()

    def request(self) -> bytes | None:
        self._turn = (self._turn + 1) % len(self._asked)
        start, end = self._asked[self._turn]
        if self._key is None:
            return start + end
        return b"%sIdempotency-Key: %s-%d\r\n%s" % (start, self._key, next(self._numbers), end)

    def answered(self, answer: bytes) -> None:
        _require(answer, b"200")


def _roll(table: Table, more: str) -> tuple[bytes, bytes]:
    """A request in two parts, between which a header may stand."""
    body = b'{"kind":"roll"}'
    head = f"POST /v1/games/{table.id}/actions HTTP/1.1\r\nHost: bench\r\n"
    head += f"Authorization: Bearer {table.token}\r\n{more}"
    end = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode(), end.encode() + body


class Reader:
    """Reads one table after another."""

    def __init__(self, tables: Sequence[Table]) -> None:
        paths = (f"/v1/games/{table.id}" for table in tables)
        self._asked = [f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode() for path in paths]
        self._turn = -1

    def request(self) -> bytes | None:
        self._turn = (self._turn + 1) % len(self._asked)
        return self._asked[self._turn]

    def answered(self, answer: bytes) -> None:
        _require(answer, b"200")


class Refresher:
    """Reads one table again and again, and names the version that it has seen."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._head = f"GET /v1/games/{tables[0].id} HTTP/1.1\r\nHost: bench\r\n"
        self._asked = f"{self._head}\r\n".encode()
        self._status = b"200"

    def request(self) -> bytes | None:
        return self._asked

    def answered(self, answer: bytes) -> None:
        _require(answer, self._status)
        if self._status == b"200":
            tag = _ETAG.search(answer)
            if tag is None:
                raise Unexpected("no ETag")
            self._asked = f"{self._head}If-None-Match: {tag[1].decode()}\r\n\r\n".encode()
            self._status = b"304"


class Once:
    """Asks for each of its tables one time, and then no more."""

    def __init__(self, player: Player, tables: int) -> None:
        self._player = player
        self._left = tables
        self.answered = player.answered

    def request(self) -> bytes | None:
        self._left -= 1
        return self._player.request() if self._left >= 0 else None


PLAYERS: Final[dict[str, Callable[[Sequence[Table]], Player]]] = {
    "act": Actor,
    "act-keyed": lambda tables: Actor(tables, keyed=True),
    "act-plain": lambda tables: Actor(tables, receipt=False),
    "read": Reader,
    "read-304": Refresher,
}


# --- the connections ----------------------------------------------------------------------------


class Run:
    """One stretch of load: what its connections have in common."""

    def __init__(self) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open = 0
        self.measuring = False
        self.latencies: list[float] = []
        self.size = 0

    def left(self, error: BaseException | None) -> None:
        """A connection has nothing left to ask, or can't go on."""
        self.open -= 1
        if self.over.done():
            return
        if error is not None:
            self.over.set_exception(error)
        elif self.open == 0:
            self.over.set_result(None)


class Connection(asyncio.Protocol):
    """One client: asks, waits for the answer, asks again."""

    def __init__(self, player: Player, run: Run) -> None:
        self._player = player
        self._run = run
        self._rest = b""
        self._sent = 0.0
        self._done = False
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._run.open += 1

    def ask(self) -> None:
        """Sends the next request, if there is one."""
        request = None if self._run.over.done() else self._player.request()
        if request is None:
            self._done = True
            self._run.left(None)
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        end = data.find(b"\r\n\r\n") + 4
        length = _LENGTH.search(data, 0, end)
        whole = end + (int(length[1]) if length else 0)
        if end < 4 or len(data) < whole:
            self._rest = data
            return
        now = time.perf_counter()
        try:
            if len(data) > whole or (length is None and data[9:12] != b"304"):
                raise Unexpected(f"not one answer with its length: {data[:500]!r}")
            self._player.answered(data)
        except Exception as error:
            self._run.left(error)
            return
        self._rest = b""
        if self._run.measuring:
            self._run.latencies.append(now - self._sent)
            self._run.size = whole
        self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done:
            self._run.left(exc or Unexpected("the server closed the connection"))

    def close(self) -> None:
        """Ends the connection."""
        self._transport.close()


async def load(url: str, players: Sequence[Player], seconds: float | None) -> Slice:
    """Drives all players at once: for a time after a warm-up, or (null) until none has anything
    left to ask."""
    loop, run = asyncio.get_running_loop(), Run()
    host, port = address_of(url)
    connections = []
    for player in players:
        made = functools.partial(Connection, player, run)
        connections.append((await loop.create_connection(made, host, port))[1])
    return await drive(run, connections, seconds)


def address_of(url: str) -> tuple[str, int]:
    """Host and port."""
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


class Asking(Protocol):
    """What `drive` needs of a connection, whatever its protocol."""

    def ask(self) -> None: ...

    def close(self) -> None: ...


async def drive(run: Run, connections: Sequence[Asking], seconds: float | None) -> Slice:
    """Lets open connections ask, and measures."""
    run.measuring = seconds is None
    began, computed = time.perf_counter(), time.process_time()
    for connection in connections:
        connection.ask()
    if seconds is not None:
        await asyncio.wait([run.over], timeout=_WARM_UP_S)
        run.measuring = True
        began, computed = time.perf_counter(), time.process_time()
    await asyncio.wait([run.over], timeout=seconds)
    while not (run.latencies or run.over.done()) and time.perf_counter() - began < _PATIENCE_S:
        await asyncio.wait([run.over], timeout=seconds)
    elapsed, computed = time.perf_counter() - began, time.process_time() - computed
    run.measuring = False
    if run.over.done():
        run.over.result()
        if seconds is not None:
            raise Unexpected("the connections had nothing left to ask")
    else:
        run.over.set_result(None)
    for connection in connections:
        connection.close()
    return measured(len(connections), run, elapsed, computed)


def measured(clients: int, run: Run, elapsed: float, computed: float) -> Slice:
    """The numbers of a stretch of time."""
    latencies = sorted(run.latencies)
    if not latencies:
        raise Unexpected("no answer in the whole time")
    return Slice(
        clients=clients,
        answers=len(latencies),
        rate=len(latencies) / elapsed,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        busy=computed / elapsed,
        size=run.size,
    )


def give_way() -> None:
    """From now on the load takes a processor when one is free or its turn has come, and takes none
    from a server that has just sent an answer: clients are elsewhere, where there is only one
    machine the system would stop the server for each of them."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


# --- command line -------------------------------------------------------------------------------


def main() -> None:
    """Runs one stretch of load and prints what was measured."""
    parser = argparse.ArgumentParser(prog="load", description="A closed loop of connections.")
    parser.add_argument("mode", choices=("create", *PLAYERS))
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--games", type=int, default=64, help="how many games to create")
    parser.add_argument("--tables", type=Path, help="the file that `create` has printed")
    parser.add_argument("--once", action="store_true", help="each table one time, no warm-up")
    given = parser.parse_args()
    gc.disable()  # nothing here makes cycles, and a pause would count as the server's
    give_way()
    try:
        print(json.dumps(uvloop.run(_created(given) if given.mode == "create" else _loaded(given))))
    except (OSError, Unexpected) as error:
        sys.exit(f"load: {error}")


async def _created(given: argparse.Namespace) -> list[dict[str, str]]:
    clients = min(given.clients, given.games)
    creators = [Creator(len(range(client, given.games, clients))) for client in range(clients)]
    await load(given.url, creators, None)
    return [asdict(table) for creator in creators for table in creator.tables]


async def _loaded(given: argparse.Namespace) -> dict[str, Any]:
    tables = [Table(**one) for one in json.loads(given.tables.read_bytes())]
    own = [tables[client :: given.clients] for client in range(given.clients)]
    players = [PLAYERS[given.mode](mine) for mine in own]
    if given.once:
        players = [Once(player, len(mine)) for player, mine in zip(players, own, strict=True)]
    return asdict(await load(given.url, players, None if given.once else given.seconds))


if __name__ == "__main__":
    main()
