"""Each place where an allocation may fail, by name; as a program this lets one fail at each place
that it is told, and tells what has become of the process."""

import asyncio
import errno
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NoReturn, TypeAlias

import orjson
import psycopg
import uvicorn
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from service.api.app import create_app
from service.api.connection import Connection, ConnectionLimits, Watch
from service.api.feed import Feed
from service.api.live import until_gone
from service.api.metrics import Metrics
from service.auditor import Auditor
from service.bell import Bell
from service.examiner import Examiner
from service.heads import HeadFile
from service.memory import watch_loop, watch_process
from service.playing_on import PlayingOn
from service.presence import PresenceBoard
from service.settings import Settings
from service.slots import Slots
from service.store import GameFilter, Store, follower, listing, records
from service.store import store as reading
from service.store.batch import Batch
from service.store.committer import Committer
from service.store.notices import Notices
from service.store.revisions import Revisions
from service.sweeper import Sweeper
from tests.crowd import Asked, ask_alone
from tests.game_client import new_game
from tests.hosted import Table, anybody, asked, created, one_batch, opened, roll, table
from tests.server import free_port

Place: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

PLACES: Final[dict[str, Place]] = {}
_PATIENCE_S: Final = 30


def place(work: Place) -> Place:
    PLACES[work.__name__] = work
    return work


def fails(*_: Any, **__: Any) -> NoReturn:
    raise MemoryError


async def fails_later(*_: Any, **__: Any) -> NoReturn:
    raise MemoryError


async def fails_between(*_: Any) -> AsyncIterator[NoReturn]:
    raise MemoryError
    yield


def reads_nothing(*_: Any) -> NoReturn:
    """As orjson says that it has no room."""
    raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)


def replace(owner: Any, name: str, other: Any) -> None:
    setattr(owner, name, other)


@asynccontextmanager
async def at_table(**options: Any) -> AsyncIterator[tuple[Store, Table]]:
    with tempfile.TemporaryDirectory() as home:
        async with opened(f"sqlite:///{home}/games.db", **options) as store:
            yield store, await created(store)


# --- the store ----------------------------------------------------------------------------------


@place
async def decision() -> None:
    async with at_table() as (store, made):
        await store.change(made.id, anybody, fails)


@place
async def transaction() -> None:
    async with at_table() as (store, made):
        replace(Batch, "_write", fails)
        await roll(store, made)


@place
async def what_was_just_committed() -> None:
    async with at_table() as (store, made):
        replace(Committer, "_watch", fails)
        await roll(store, made)


def _fails_at(number: int, spared: Callable[[Any], None]) -> Callable[[Any], None]:
    """Does its work until it is called for the so many-th time."""
    left = number

    def work(one: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise MemoryError
        spared(one)

    return work


def _refuses(*_: Any) -> NoReturn:
    raise ValueError


@place
async def failed_transaction() -> None:
    async with at_table() as (store, made):
        replace(Batch, "run", _refuses)
        replace(Committer, "_disconnect", _fails_at(1, Committer._disconnect))
        await roll(store, made)


@place
async def commit_that_nobody_answered() -> None:
    told = OperationalError("SELECT", {}, psycopg.OperationalError("out of memory"))
    told.__cause__ = told.orig

    def fails_as_told(*_: Any) -> NoReturn:
        raise told

    async with at_table() as (store, made):
        replace(store._engine.dialect, "do_commit", lambda _: fails_by_itself())
        replace(Batch, "stands", fails_as_told)
        await roll(store, made)


def fails_by_itself() -> NoReturn:
    raise psycopg.OperationalError("server closed the connection unexpectedly")


@place
async def notices() -> None:
    async def fails_to_connect(*_: Any, **__: Any) -> NoReturn:
        raise psycopg.OperationalError("out of memory")

    replace(psycopg.AsyncConnection, "connect", fails_to_connect)
    in_thread: Any = None
    async for _ in Notices(make_url("postgresql://localhost/games"), in_thread).rings():
        pass


@place
async def transaction_of_one_of_many() -> None:
    async with at_table() as (store, made):
        async with one_batch(store):
            replace(Batch, "run", _refuses)
            waiting = [asked(store, made, made.roll()) for _ in range(2)]
            # Its first call ends the attempt with all of them.
            replace(Committer, "_disconnect", _fails_at(2, Committer._disconnect))
        await asyncio.gather(*waiting)


@place
async def committer_thread() -> None:
    measure = SimpleNamespace(committed=fails, waited=lambda _: None)
    async with at_table(measure=measure):
        pass


@place
async def what_follows_a_commit() -> None:
    async with at_table(committed=fails):
        pass


@place
async def delivery_in_the_committer() -> None:
    async with at_table() as (store, made):
        replace(follower, "_deliver", fails)
        await roll(store, made)


@place
async def delivery_in_the_follower() -> None:
    replace(follower.Follower, "idle", False)
    replace(follower, "_deliver", fails)
    async with at_table():
        pass


@place
async def follower_thread() -> None:
    replace(follower.Follower, "idle", False)
    async with at_table() as (store, made):
        room = SimpleNamespace(acquire=lambda: True, release=fails)
        replace(store._committer._follower, "_room", room)
        await roll(store, made)


@place
async def reader() -> None:
    async with at_table() as (store, made):
        replace(reading, "read_games", fails)
        store._cache.drop([made.id])
        await store.game(made.id)


@place
async def stored_game() -> None:
    async with at_table() as (store, made):
        replace(records, "hosted_game", reads_nothing)
        store._cache.drop([made.id])
        await store.game(made.id)


@place
async def listed_game() -> None:
    async with at_table() as (store, _):
        replace(listing, "_listed", reads_nothing)
        await store.listed(GameFilter(), None, 10)


@place
async def revisions() -> None:
    await Revisions(fails_later).of("game")


@place
async def revisions_task() -> None:
    async def read(_: Any) -> Any:
        return SimpleNamespace(get=fails)

    await Revisions(read).of("game")


# --- what runs beside ---------------------------------------------------------------------------


def sweeper() -> Any:
    nothing: Any = SimpleNamespace(now=lambda: 0)
    return Sweeper(nothing, nothing, nothing, nothing)


@place
async def sweep() -> None:
    await sweeper()._tried(fails_later)


@place
async def swept_game() -> None:
    await sweeper()._settled(fails_later, "game")


@place
async def swept_file() -> None:
    async def export(_: str) -> bool:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    await sweeper()._settled(export, "game")


@place
async def sweeping_task() -> None:
    sweeping = sweeper()
    replace(sweeping, "sweep", fails_later)
    sweeping.start(1, os.urandom)
    await asyncio.sleep(_PATIENCE_S)


@place
async def audit() -> None:
    async def none(*_: Any) -> list[str]:
        return []

    store: Any = SimpleNamespace(unaudited=none, lines=fails_later)
    await Auditor(store, lambda _: None)._audit("game")


@place
async def auditing_task() -> None:
    store: Any = SimpleNamespace(unaudited=fails_later)
    auditor = Auditor(store, lambda _: None)
    await asyncio.sleep(_PATIENCE_S)
    await auditor.close()


@place
async def bots() -> None:
    PlayingOn(fails_later).soon("game")
    await asyncio.sleep(_PATIENCE_S)


@place
async def feed() -> None:
    croupier: Any = SimpleNamespace(read=fails_later)
    following = Feed(table().start.hosted, croupier, PresenceBoard(Bell()))
    following.join(lambda: None)
    following.rung()
    await asyncio.sleep(_PATIENCE_S)


@place
async def feed_task() -> None:
    async def read(_: str) -> Any:
        return following.hosted

    croupier: Any = SimpleNamespace(read=read)
    following = Feed(table().start.hosted, croupier, PresenceBoard(Bell()))
    following.join(fails)
    following.rung()
    await asyncio.sleep(_PATIENCE_S)


@place
async def wire_out() -> None:
    wire: Any = SimpleNamespace(send=fails_later, rings=fails_between)
    replace(Bell, "_listen", lambda *_: asyncio.sleep(_PATIENCE_S))
    Bell(wire).ring_others(["game"])
    await asyncio.sleep(_PATIENCE_S)


@place
async def wire_in() -> None:
    wire: Any = SimpleNamespace(rings=fails_between)
    bell = Bell(wire)
    await asyncio.sleep(_PATIENCE_S)
    await bell.close()


@place
async def poll() -> None:
    bell = Bell(revisions=fails_later)
    bell.watch("game", lambda: None)
    await asyncio.sleep(_PATIENCE_S)


@place
async def presence() -> None:
    peers: Any = SimpleNamespace(tell=fails_later, go_on=fails_later)
    board = PresenceBoard(Bell(), peers)
    await asyncio.sleep(_PATIENCE_S)
    await board.close()


@place
async def listener() -> None:
    gone = asyncio.create_task(until_gone(fails_later))
    await asyncio.wait([gone])


@place
async def slot() -> None:
    await Slots("work", 1).run(fails)


@place
async def examiner() -> None:
    def refused(*_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    replace(subprocess, "Popen", refused)
    await Examiner(_PATIENCE_S).report(b"{}")


# --- HTTP ---------------------------------------------------------------------------------------


class Told(uvicorn.Server):
    """A server that tells when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


@asynccontextmanager
async def serving() -> AsyncIterator[int]:
    """A whole server in this process, without the watch over all of it; its port."""
    port = free_port()

    def protocol(*arguments: Any, **more: Any) -> Connection:
        return Connection(*arguments, watch=Watch(ConnectionLimits()), **more)

    with tempfile.TemporaryDirectory() as home:
        app = create_app(Settings(data_dir=Path(home)))
        http: Any = protocol
        config = uvicorn.Config(app, port=port, http=http, log_level="critical", lifespan="on")
        server = Told(config)
        serving = asyncio.create_task(server.serve())
        await server.up.wait()
        yield port
        server.should_exit = True
        await serving


def creation() -> Asked:
    return Asked("/v1/games", new_game())


@place
async def request() -> None:
    async with serving() as port:
        replace(Store, "change", fails_later)
        await ask_alone(port, creation())


@place
async def what_surrounds_a_request() -> None:
    async with serving() as port:
        replace(Metrics, "requested", fails)
        await ask_alone(port, creation())


@place
async def heads() -> None:
    async with serving() as port:
        replace(HeadFile, "append", fails)
        await ask_alone(port, creation())


@place
async def parser() -> None:
    async with serving() as port:
        replace(Connection, "on_header", fails)
        await ask_alone(port, creation())


@place
async def parser_of_what_asked_for_an_upgrade() -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    async with serving() as port:
        replace(Connection, "_begin", fails)
        await ask_alone(port, Asked("/v1/games", new_game(), upgrade))


@place
async def bytes_that_come() -> None:
    async with serving() as port:
        replace(Connection, "data_received", fails)
        await ask_alone(port, creation())


@place
async def start() -> None:
    replace(Store, "open", fails)
    async with serving():
        pass


# --- the process --------------------------------------------------------------------------------


@place
async def callback() -> None:
    loop = asyncio.get_running_loop()
    watch_loop(loop)
    loop.call_soon(fails)
    await asyncio.sleep(_PATIENCE_S)


@place
async def thread() -> None:
    watch_process()
    failing = threading.Thread(target=fails)
    failing.start()
    failing.join()


@place
async def finalizer() -> None:
    watch_process()
    one = type("One", (), {"__del__": fails})()
    del one


def give_no_more(pid: int) -> None:
    """The process keeps what memory it has and gets no more, though it gives some of it back."""
    match = re.search(r"VmSize:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert match is not None
    limit = int(match[1]) * 1024 // 2
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def open_no_more_files(pid: int) -> tuple[int, int]:
    """The process keeps what files it has and opens no other; the limit that it had before."""
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    free = min(set(range(len(taken) + 1)) - taken)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, before[1]))
    return before


@place
async def whole_process() -> None:
    """Nothing fails but what nobody asks for."""
    watch_process()
    give_no_more(os.getpid())
    await asyncio.sleep(_PATIENCE_S)


# --- the program --------------------------------------------------------------------------------


def starve(name: str) -> NoReturn:
    """Lets an allocation fail at a place; ends with 0 where this process has gone on."""
    threading.Timer(_PATIENCE_S, os._exit, [0]).start()
    with suppress(Exception):
        asyncio.run(PLACES[name]())
    os._exit(0)


def main() -> None:
    """For each name that comes, the exit code of a process of its own."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            starve(line.strip())
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
