"""What a store does when its database is slow, busy, full, gone, or silent about a commit."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event

from service.errors import Unavailable
from service.log import parse
from service.store import Answer, HostedGame, Store, committer, engine, upgrade
from tests.hosted import (
    AT,
    Table,
    anybody,
    asked,
    created,
    one_batch,
    opened,
    roll,
    run,
    seqs,
    stored,
)
from tests.postgres import POSTGRESQL, PipServer

BUSY_S = 0.8
OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that take seconds elsewhere are short here."""
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", BUSY_S)
    monkeypatch.setattr(committer, "_PATIENCE_S", 6 * BUSY_S)
    monkeypatch.setitem(engine.TIMEOUTS_MS, "lock_timeout", int(BUSY_S * 1000))


# --- waiting ------------------------------------------------------------------------------------


def test_more_changes_than_may_wait_are_refused_at_once(database_url):
    async def story():
        async with opened(database_url, queue_limit=3) as store:
            made = await created(store)
            async with one_batch(store):
                waiting = [asked(store, made, made.roll()) for _ in range(3)]
                await asyncio.sleep(0)
                with pytest.raises(Unavailable):
                    await roll(store, made)
            assert [parse((await one).body).seq for one in waiting] == [4, 5, 6]
            assert (await roll(store, made)).status == 200

    run(story())


def test_a_change_whose_client_went_away_is_carried_out(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            async with one_batch(store):
                gone = asked(store, made, made.roll())
                stays = asked(store, made, made.roll())
                await asyncio.sleep(0)
                gone.cancel()
            assert parse((await stays).body).seq == 5
            assert gone.cancelled()
            assert await seqs(store, made.id) == list(range(6))

    run(story())


def test_closing_finishes_what_waits_and_takes_nothing_more(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            async with one_batch(store):
                waiting = [asked(store, made, made.roll()) for _ in range(20)]
                await asyncio.sleep(0)
                closing = asyncio.ensure_future(store._committer.close())
                await asyncio.sleep(0)
                with pytest.raises(Unavailable):
                    await roll(store, made)
            assert len(await asyncio.gather(*waiting)) == 20
            await closing
            assert await seqs(store, made.id) == list(range(24))
            store._committer = committer.Committer(store._engine, store._cache, 1, lambda _: None)

    run(story())


def test_what_follows_a_commit_comes_before_its_answers_and_cannot_undo_it(database_url, caplog):
    told: list[list[str]] = []

    def follow(games: Any) -> None:
        told.append([hosted.game.id for hosted in games])
        raise OSError("no space")

    async def story():
        async with opened(database_url, committed=follow) as store:
            made = await created(store)
            assert told == [[made.id]]
            await roll(store, made)
            assert told == [[made.id]] * 2
            with pytest.raises(RuntimeError):
                await store.change(made.id, anybody, refuse)
            assert len(told) == 2

    run(story())
    assert "what follows a commit has failed" in caplog.text


def refuse(_: HostedGame | None) -> Any:
    raise RuntimeError


# --- a database that others keep busy -----------------------------------------------------------


@contextmanager
def sqlite_write_lock(url: str) -> Iterator[None]:
    other = engine.SQLITE.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_reads_do_not_wait_for_a_writer_and_changes_are_told_to_come_back(tmp_path, impatient):
    """Another process holds the write lock of the file."""
    url = f"sqlite:///{tmp_path / 'busy.db'}"

    async def story():
        async with opened(url) as store:
            made, unread = await created(store), await created(store)
            store._cache.drop([unread.id])
            with sqlite_write_lock(url):
                waiting = [asked(store, made, made.roll()) for _ in range(40)]
                waiting += [asyncio.ensure_future(probe(store)) for _ in range(40)]
                await asyncio.sleep(0)
                assert (await stored(store, unread.id)).game.version == 3
                assert await seqs(store, made.id) == [0, 1, 2, 3]
                assert not any(one.done() for one in waiting)
                told = await asyncio.gather(*waiting, return_exceptions=True)
                assert {type(one) for one in told} == {Unavailable}
            await store.ready()
            assert parse((await roll(store, made)).body).seq == 4

    run(story())


async def probe(store: Store) -> Any:
    await store.ready()


def test_those_who_wait_for_a_busy_database_wait_once(tmp_path, impatient, monkeypatch):
    """Whoever came while it was tried is not kept for the next trial."""
    monkeypatch.setattr(committer, "_BATCH_LIMIT", 1)
    url = f"sqlite:///{tmp_path / 'busy.db'}"

    async def story():
        async with opened(url) as store:
            made = await created(store)
            with sqlite_write_lock(url):
                began = time.monotonic()
                changes = [asked(store, made, made.roll()) for _ in range(40)]
                told = await asyncio.gather(*changes, return_exceptions=True)
                assert {type(one) for one in told} == {Unavailable}
                assert time.monotonic() - began < 10 * BUSY_S
            assert parse((await roll(store, made)).body).seq == 4

    run(story())


def test_a_game_that_another_session_holds_does_not_stop_the_others(postgresql_url, impatient):
    async def story():
        async with opened(postgresql_url) as store:
            stuck, free = await created(store), await created(store)
            with psycopg.connect(postgresql_url) as other:
                other.execute("SELECT 1 FROM game WHERE id = %s FOR UPDATE", [stuck.id])
                began = time.monotonic()
                async with one_batch(store):
                    held = [asked(store, stuck, stuck.roll()) for _ in range(20)]
                    others = [asked(store, free, free.roll()) for _ in range(20)]
                assert len(await asyncio.gather(*others)) == 20
                told = await asyncio.gather(*held, return_exceptions=True)
                assert {type(one) for one in told} == {Unavailable}
                assert time.monotonic() - began < 10 * BUSY_S
                assert (await stored(store, stuck.id)).game.version == 3
            assert parse((await roll(store, stuck)).body).seq == 4

    run(story())


def test_on_a_full_disk_games_are_read_and_changes_wait_for_space(tmp_path):
    async def story():
        async with opened(f"sqlite:///{tmp_path / 'full.db'}") as store:
            made = await created(store)
            pages = [1]  # no more than there are

            def limit(connection: Connection) -> None:
                connection.exec_driver_sql(f"PRAGMA max_page_count={pages[0]}")

            event.listen(store._engine, "begin", limit)
            rolls = [asked(store, made, made.roll(AT + n)) for n in range(200)]
            told = await asyncio.gather(*rolls, return_exceptions=True)
            acked = [one.body for one in told if isinstance(one, Answer)]
            assert {type(one) for one in told} == {Answer, Unavailable}
            assert await store.lines(made.id, 3) == acked
            pages[0] = 2**30
            assert parse((await roll(store, made)).body).seq == 4 + len(acked)

    run(story())


def test_an_entry_that_the_database_refuses_takes_no_other_change_along(tmp_path):
    """Nobody listens to the statements here: they go to the driver as they always do."""
    refusing = (
        "CREATE TRIGGER refuse BEFORE INSERT ON entry WHEN NEW.game_id = '{}'"
        " BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )

    async def story():
        async with opened(f"sqlite:///{tmp_path / 'a.db'}") as store:
            games = [await created(store) for _ in range(3)]
            with store._engine.begin() as connection:
                connection.exec_driver_sql(refusing.format(games[1].id))
            async with one_batch(store):
                rolls = [asked(store, made, made.roll()) for made in games]
            told = await asyncio.gather(*rolls, return_exceptions=True)
            assert [type(one) for one in told] == [Answer, Unavailable, Answer]
            with store._engine.begin() as connection:
                connection.exec_driver_sql("DROP TRIGGER refuse")
            assert parse((await roll(store, games[1])).body).seq == 4
            for made in games:
                assert await seqs(store, made.id) == list(range(5))

    run(story())


# --- a server that goes away --------------------------------------------------------------------


def test_a_store_survives_the_end_of_all_its_sessions(postgresql_url):
    async def story():
        async with opened(postgresql_url) as store:
            made = await created(store)
            await asyncio.gather(*(store.lines(made.id) for _ in range(8)))
            for version in range(4, 9):
                with psycopg.connect(postgresql_url, autocommit=True) as other:
                    other.execute(OTHERS)
                assert len(await store.lines(made.id)) == version
                assert parse((await roll(store, made)).body).seq == version

    run(story())


def test_sessions_that_end_in_the_middle_lose_and_double_nothing(postgresql_url):
    """Without a key an Unavailable change was made once or not at all; an answered one stands."""

    async def story():
        async with opened(postgresql_url) as store:
            games = [await created(store) for _ in range(4)]
            answered: dict[str, list[bytes]] = {made.id: [] for made in games}
            unknown = dict.fromkeys(answered, 0)
            over = threading.Event()

            def terminate() -> None:
                with psycopg.connect(postgresql_url, autocommit=True) as other:
                    while not over.wait(0.1):
                        other.execute(OTHERS)

            async def play(made: Any) -> None:
                for at in range(40):
                    try:
                        answered[made.id].append((await roll(store, made, at=AT + at)).body)
                    except Unavailable:
                        unknown[made.id] += 1

            ending = asyncio.ensure_future(asyncio.to_thread(terminate))
            await asyncio.gather(*map(play, games))
            over.set()
            await ending
            for made in games:
                lines = (await store.lines(made.id))[4:]
                assert len(set(lines)) == len(lines)
                assert set(answered[made.id]) <= set(lines)
                assert len(lines) <= len(answered[made.id]) + unknown[made.id]
                assert len(answered[made.id]) > 10

    run(story())


@asynccontextmanager
async def rolling(store: Store, made: Table) -> AsyncIterator[list[bytes]]:
    """Four clients roll meanwhile; every line that was acknowledged, to them or to whoever adds it
    to what is yielded, stands in the end, and no version is missing."""
    acked: list[bytes] = []
    over = asyncio.Event()

    async def play() -> None:
        while not over.is_set():
            try:
                acked.append((await roll(store, made)).body)
            except Unavailable:
                await asyncio.sleep(0.01)

    playing = [asyncio.ensure_future(play()) for _ in range(4)]
    yield acked
    over.set()
    await asyncio.gather(*playing)
    lines = await store.lines(made.id)
    assert [parse(line).seq for line in lines] == list(range(len(lines)))
    assert set(acked) <= set(lines)


def test_a_store_survives_a_crash_of_the_server(pip_url, pip_server: PipServer):
    async def story():
        async with opened(pip_url) as store:
            made = await created(store)
            async with rolling(store, made) as acked:
                acked += [(await roll(store, made)).body for _ in range(20)]
                await asyncio.to_thread(pip_server.stop, pip_server.CRASH)
                for ask in (store.ready(), store.lines(made.id), store.game(made.id)):
                    with pytest.raises(Unavailable):
                        await ask
                await asyncio.to_thread(pip_server.start)
                await store.ready()
                acked.append((await roll(store, made)).body)

    run(story())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_store_whose_committer_a_bug_has_ended_says_so_to_everybody(tmp_path):
    class Broken:
        def committed(self, changes: int, took_s: float) -> None:
            raise RuntimeError("a bug")

        def waited(self, waited_s: float) -> None:
            """Not reached by who met the bug."""

    async def story():
        async with opened(f"sqlite:///{tmp_path / 'a.db'}", measure=Broken()) as store:
            unlucky = asyncio.ensure_future(created(store))
            await asyncio.sleep(0)
            await asyncio.to_thread(store._committer._thread.join, 20)
            with pytest.raises(Unavailable):
                await store.ready()
            with pytest.raises(Unavailable):
                await created(store)
            unlucky.cancel()

    run(story())


@pytest.mark.skipif("pip" not in POSTGRESQL, reason="no PostgreSQL from pip on this platform")
def test_a_standby_that_takes_over_has_all_that_was_acknowledged(tmp_path):
    """Two servers; the store reaches whichever the directory of the socket stands for."""
    current = tmp_path / "current"

    def stands_for(server: PipServer) -> None:
        fresh = tmp_path / "fresh"
        fresh.symlink_to(server.directory)
        fresh.replace(current)

    async def story(primary: PipServer, standby: PipServer) -> None:
        stands_for(primary)
        url = PipServer.url_in(current)
        upgrade(url)
        async with opened(url) as store:
            made = await created(store)
            async with rolling(store, made) as acked:
                acked += [(await roll(store, made)).body for _ in range(30)]
                await asyncio.to_thread(primary.stop, PipServer.CRASH)
                await asyncio.to_thread(standby.promote)
                stands_for(standby)
                for _ in range(10):
                    acked.append((await roll(store, made)).body)

    primary = PipServer()
    standby = PipServer(primary)
    try:
        run(story(primary, standby))
    finally:
        standby.remove()
        primary.remove()


def test_a_primary_that_takes_no_writes_any_more_is_left(postgresql_url):
    """After a failover the old sessions would still answer reads, from the past; new ones reach
    the new primary."""

    async def story():
        async with opened(postgresql_url) as store:
            made = await created(store)
            await store.lines(made.id)
            old = sessions(store, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            assert parse((await roll(store, made)).body).seq == 4
            await store.ready()
            assert not sessions(store) & old

    run(story())


def sessions(store: Store, command: str = "SELECT 1") -> set[int]:
    """The sessions of the store that wait to be used, after this command."""
    pids = set()
    for pool in (store._engine, store._reader):
        connections = [pool.connect() for _ in range(3)]
        for connection in connections:
            pids.add(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
            connection.exec_driver_sql(command)
            connection.commit()
            connection.close()
    return pids
