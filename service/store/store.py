"""The one way to the database for everything above."""

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, Select, insert, literal, select, tuple_, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from service.errors import BadSetting, Unavailable
from service.game import GOING, Status
from service.memory import guarded
from service.store import listing, migrations, tables, upkeep
from service.store.cache import GameCache, read_games
from service.store.change import (
    Answer,
    Check,
    Committed,
    Decide,
    HostedGame,
    Job,
    Measure,
    Retry,
)
from service.store.committer import Committer
from service.store.engine import (
    BUSY_TIMEOUT_S,
    ProcessLock,
    is_sqlite,
    open_engine,
    reading,
    require_durable,
    snapshot,
    why,
    writing,
)
from service.store.notices import Notices
from service.store.peers import Peers
from service.store.revisions import Revisions

_READERS: Final = 4
_CACHED_GAMES: Final = 10_000
_PAGE: Final = 500
_GAMES_OF_A_TOKEN: Final = 3  # the newest is not the last one if a clock went back
T = TypeVar("T")


class Store:
    """Games in one database. ``open`` it before use and ``close`` it after; a process that serves
    an embedded database holds it alone."""

    def __init__(
        self,
        engine: Engine,
        lock: ProcessLock,
        queue_limit: int,
        committed: Committed,
        measure: Measure | None = None,
    ) -> None:
        self._engine = engine
        self._lock = lock
        self._cache = GameCache(_CACHED_GAMES)
        self._committer = Committer(engine, self._cache, queue_limit, committed, measure)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        self._reader = reading(engine)
        self._revisions = Revisions(self.revisions)
        self._head = migrations.head()
        self._beside: Callable[[Sequence[str]], None] = lambda _: None
        self._probe: asyncio.Future[None] | None = None

    @classmethod
    def open(
        cls,
        url: str,
        key_fingerprint: bytes,
        queue_limit: int = 2048,
        committed: Committed = lambda _: None,
        measure: Measure | None = None,
    ) -> "Store":
        """Opens a database that is at the head of its migrations (an embedded one is brought
        there) and belongs to this server key; raises BadSetting otherwise.

        ``committed`` is called with the games of every transaction, after the commit and before
        the answers, in a thread of the store and never twice at one time. ``measure`` is told how
        long transactions take.
        """
        engine = open_engine(url)
        lock = ProcessLock(engine)
        try:
            require_durable(engine)
            migrations.require_head(engine)
            _require_key(engine, key_fingerprint)
        except (SQLAlchemyError, BadSetting) as error:
            engine.dispose()
            lock.release()
            if isinstance(error, BadSetting):
                raise
            raise BadSetting(f"CUBILETE_DATABASE_URL: {why(error)}") from None
        return cls(engine, lock, queue_limit, committed, measure)

    async def close(self) -> None:
        """Finishes what waits and lets the database go."""
        await self._committer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._reader.dispose()
        self._engine.dispose()
        self._lock.release()

    def tell_beside(self, told: Callable[[Sequence[str]], None]) -> None:
        """``told`` is called, in the loop, with games that were frozen or deleted: those are no
        changes of the committer, and nothing else would tell who listens to them."""
        self._beside = told

    # -- changes ---------------------------------------------------------------------------------

    async def change(
        self, game_id: str, check: Check, decide: Decide, retry: Retry | None = None
    ) -> Answer:
        """One change of one game, durable when this returns; see ``Job`` for the arguments.

        Raises what ``check`` or ``decide`` refuse with, KeyReused, or Unavailable.
        """
        return await self._committer.submit(Job(game_id, check, decide, retry))

    # -- reads -----------------------------------------------------------------------------------

    async def game(self, game_id: str) -> HostedGame | None:
        """The game as it stands: never older than any answer given before."""
        known = self._cache.get(game_id)
        if known is not None:
            # Where this process alone writes, what it committed last is what stands.
            if is_sqlite(self._engine):
                return known
            if await self._revisions.of(game_id) == known.revision:
                return known
        return await self._read(functools.partial(self._load, game_id))

    def remembered(self, game_id: str) -> HostedGame | None:
        """The game as this process saw it last, if it has not forgotten it; may be outdated."""
        return self._cache.get(game_id)

    async def revisions(self, game_ids: Collection[str]) -> Mapping[str, int]:
        """How often each of these games has changed."""
        query = select(tables.game.c.id, tables.game.c.revision)
        query = query.where(tables.game.c.id.in_(game_ids))
        return await self._in_thread(
            self._reader,
            lambda connection: {row.id: row.revision for row in connection.execute(query)},
        )

    def _load(self, game_id: str, connection: Connection) -> HostedGame | None:
        read_at = self._cache.dropped
        found = read_games(connection, [game_id])
        self._cache.put(found.values(), read_at)
        return found.get(game_id)

    async def lines(self, game_id: str, after: int = -1, limit: int | None = None) -> list[bytes]:
        """The stored lines with a seq above ``after``, in order."""
        entry = tables.entry
        query = (
            select(entry.c.line)
            .where(entry.c.game_id == game_id, entry.c.seq > after)
            .order_by(entry.c.seq)
            .limit(limit)
        )
        return await self._glance(query)

    async def listed(
        self, wanted: listing.GameFilter, before: str | None, limit: int
    ) -> listing.Page:
        """Public games, newest first; ``before`` is the id of the last one already seen."""
        return await self._listed(listing.public(wanted, before), limit)

    async def series(self, series_id: str, after: int, limit: int) -> listing.Page:
        """The games of a series with a number above ``after``, in order."""
        return await self._listed(listing.of_series(series_id, after), limit)

    async def last_of_series(self, series_id: str) -> listing.Page:
        """The newest game of a series; nothing at all if there is no such series."""
        return await self._listed(listing.last_of_series(series_id), 1)

    async def _listed(self, query: Select[Any], limit: int) -> listing.Page:
        page = await self._read(lambda connection: listing.read_page(connection, query, limit))
        if page.unreadable:
            with contextlib.suppress(Unavailable):  # the list is good without them
                await self.freeze(page.unreadable)
        return page

    async def games_of(self, token_hashes: Sequence[bytes]) -> Sequence[str]:
        """Ids of the newest games that these tokens belong to, in order; a token that belongs to
        none adds nothing."""

        def read(connection: Connection) -> Sequence[str]:
            found: set[str] = set()
            for token_hash in token_hashes:
                for query in upkeep.games_of(token_hash, _GAMES_OF_A_TOKEN):
                    found.update(connection.execute(query).scalars())
            return sorted(found)

        return await self._read(read)

    async def unaudited(self, after: str, limit: int) -> Sequence[str]:
        """Ids of finished games that nobody has audited, in order, above ``after``."""
        game = tables.game
        query = (
            select(game.c.id)
            .where(game.c.status == "finished", game.c.audit.is_(None), game.c.id > after)
            .order_by(game.c.id)
            .limit(limit)
        )
        return await self._glance(query)

    async def going(self) -> AsyncIterator[Mapping[str, int]]:
        """The versions of all games that have not ended, some at a time; one that moves meanwhile
        may be passed over."""
        for status in GOING:
            day, game_id = -1, ""
            while found := await self._read(functools.partial(_going, status, day, game_id)):
                yield {one: version for _, one, version in found}
                day, game_id, _ = found[-1]

    async def newest(self, game_ids: Sequence[str]) -> Sequence[tuple[str, int, bytes]]:
        """The ids of these games, their versions and the lines that led there."""
        game, entry = tables.game, tables.entry
        last = (entry.c.game_id == game.c.id) & (entry.c.seq == game.c.version)
        query = select(game.c.id, entry.c.seq, entry.c.line).join(entry, last)
        query = query.where(game.c.id.in_(game_ids))
        return await self._read(
            lambda connection: [(row.id, row.seq, row.line) for row in connection.execute(query)]
        )

    # -- the other processes ---------------------------------------------------------------------

    @property
    def shared(self) -> bool:
        """Whether other processes may serve the same games."""
        return not is_sqlite(self._engine)

    def notices(self) -> Notices:
        """The wire to the others, of a database that is shared."""
        return Notices(self._engine.url, functools.partial(self._in_thread, self._reader))

    def peers(self) -> Peers:
        """Who is present at the others, of a database that is shared."""
        return Peers(functools.partial(self._in_thread, self._reader))

    async def time(self) -> int | None:
        """The time of the database (ms UTC), null where it is this process's own anyway."""
        if is_sqlite(self._engine):
            return None
        (told,) = await self._glance(select(upkeep.DATABASE_TIME))
        return told

    # -- games that nobody asks for ----------------------------------------------------------------

    async def due(self, at: int, after: tuple[int, str], limit: int) -> Sequence[tuple[int, str]]:
        """Deadline and id of games whose deadline has passed, in order, above ``after``."""
        return await self._pairs(upkeep.due(at, after, limit))

    async def idle(
        self, status: str, before: int, after: tuple[int, str], limit: int
    ) -> Sequence[tuple[int, str]]:
        """Day (counted from 1970) and id of games without a deadline that last moved before a
        day, in order, above ``after``."""
        return await self._pairs(upkeep.idle(status, before, after, limit))

    async def old(
        self, status: str, before: int, after: tuple[int, str], limit: int
    ) -> Sequence[tuple[int, str]]:
        """The same of games that have ended and may be deleted."""
        return await self._pairs(upkeep.old(status, before, after, limit))

    async def _pairs(self, query: Select[Any]) -> Sequence[tuple[int, str]]:
        return await self._in_thread(
            self._reader,
            lambda connection: [(first, game_id) for first, game_id in connection.execute(query)],
        )

    async def purge_answers(self, days: tuple[int, int], limit: int) -> int:
        """Forgets the kept answers of at most ``limit`` games that ended on a day from the first
        up to, not with, the second; returns of how many games."""
        ids = await self._glance(upkeep.with_answers(days, limit))
        if ids:
            await self.forget_answers(ids)
        return len(ids)

    async def forget_answers(self, game_ids: Sequence[str]) -> None:
        """Deletes every kept answer of these games: a retry is no longer recognised."""
        await self._written(lambda connection: upkeep.forget_answers(connection, game_ids))

    async def freeze(self, game_ids: Sequence[str]) -> None:
        """Nothing more happens in these games until an operator has looked."""
        await self._written(lambda connection: upkeep.freeze(connection, game_ids))
        self._cache.drop(game_ids)
        self._beside(game_ids)

    async def remove(self, hosted: HostedGame) -> bool:
        """Deletes a game with all that belongs to it; not if it has moved meanwhile."""
        game_id = hosted.game.id
        removed = await self._written(
            lambda connection: upkeep.remove(connection, game_id, hosted.revision)
        )
        self._cache.drop([game_id])
        self._beside([game_id])
        return removed

    async def _written(self, work: Callable[[Connection], T]) -> T:
        return await self._in_thread(writing(self._engine), work)

    async def ready(self) -> None:
        """Raises Unavailable unless the database, with the right schema, would take a write now,
        and there is who writes it."""
        if not self._committer.lives:
            raise Unavailable("the committer has ended")
        if self._probe is None or self._probe.done():
            self._probe = self._in_thread(
                writing(self._engine), functools.partial(_touch, self._head)
            )
        # Many may ask while a write waits; one reader of the few is enough for all of them.
        await asyncio.shield(self._probe)

    async def _read(self, read: Callable[[Connection], T]) -> T:
        def run(connection: Connection) -> T:
            with snapshot(connection):
                return read(connection)

        return await self._in_thread(self._reader, run)

    async def _glance(self, query: Select[T]) -> list[T]:
        """The one column of a statement that needs no transaction."""
        return await self._in_thread(
            self._reader, lambda connection: list(connection.execute(query).scalars())
        )

    def _in_thread(self, engine: Engine, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        loop, asked_at = asyncio.get_running_loop(), time.monotonic()
        return loop.run_in_executor(self._readers, _run, engine, work, asked_at)


@guarded
def _run(engine: Engine, work: Callable[[Connection], T], asked_at: float) -> T:
    """Work in one transaction, once more if it met a connection that was lost meanwhile.

    Where every reader waits for a database that is stuck, those behind them are told so at once,
    and do not wait in their turn.
    """
    if time.monotonic() - asked_at > BUSY_TIMEOUT_S:
        raise Unavailable("too many reads wait for the database")
    for last in (False, True):
        try:
            with engine.begin() as connection:
                return work(connection)
        except DBAPIError as error:
            if last or not error.connection_invalidated:
                raise Unavailable("the database can't be reached now") from error
        except SQLAlchemyError as error:
            raise Unavailable("the database can't be reached now") from error
    raise AssertionError("unreachable")


def _going(
    status: Status, day: int, game_id: str, connection: Connection
) -> Sequence[tuple[int, str, int]]:
    """Some games of that status behind this one, by their last day: the order of an index."""
    game = tables.game
    query = (
        select(game.c.active_on, game.c.id, game.c.version)
        .where(game.c.status == status)
        .where(tuple_(game.c.active_on, game.c.id) > tuple_(literal(day), literal(game_id)))
        .order_by(game.c.active_on, game.c.id)
        .limit(_PAGE)
    )
    return [(row.active_on, row.id, row.version) for row in connection.execute(query)]


def _touch(head: str, connection: Connection) -> None:
    """A write that changes nothing, to a database of the schema that this program knows. It takes
    room on the disk: SQLite would not write a value that is there already."""
    if migrations.revision(connection) != head:
        raise Unavailable("the database has another schema")
    server = tables.server
    fingerprint = connection.execute(select(server.c.key_fingerprint)).scalar_one()
    for value in (bytes(len(fingerprint)), fingerprint):
        connection.execute(update(server).values(key_fingerprint=value))


def _require_key(engine: Engine, fingerprint: bytes) -> None:
    server = tables.server
    try:
        with writing(engine).begin() as connection:
            found = connection.execute(select(server.c.key_fingerprint)).scalar()
            if found is None:
                connection.execute(insert(server), {"id": 1, "key_fingerprint": fingerprint})
                return None
    except IntegrityError:  # another process was first
        return _require_key(engine, fingerprint)
    if bytes(found) != fingerprint:
        raise BadSetting("CUBILETE_SERVER_KEY: this database was written with another server key")
    return None
