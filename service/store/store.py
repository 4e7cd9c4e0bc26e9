"""The one way to the database for everything above."""

import asyncio
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine, Select, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from service.errors import BadSetting, Unavailable
from service.store import migrations, tables
from service.store.cache import GameCache, read_games
from service.store.change import Answer, Check, Decide, HostedGame, Job, Retry
from service.store.committer import Committer
from service.store.engine import ProcessLock, is_sqlite, open_engine, require_durable, writing

_READERS: Final = 4
_CACHED_GAMES: Final = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GameFilter:
    """Which public games a list holds; null means any."""

    status: str | None = None
    ruleset: str | None = None
    open_seats: bool | None = None


class Store:
    """Games in one database. ``open`` it before use and ``close`` it after; a process that serves
    an embedded database holds it alone."""

    def __init__(self, engine: Engine, lock: ProcessLock, queue_limit: int) -> None:
        self._engine = engine
        self._lock = lock
        self._cache = GameCache(_CACHED_GAMES)
        self._committer = Committer(engine, self._cache, queue_limit)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")

    @classmethod
    def open(cls, url: str, key_fingerprint: bytes, queue_limit: int = 2048) -> "Store":
        """Opens a database that is at the head of its migrations (an embedded one is brought
        there) and belongs to this server key; raises BadSetting otherwise."""
        engine = open_engine(url)
        lock = ProcessLock(engine)
        try:
            require_durable(engine)
            migrations.require_head(engine)
            _require_key(engine, key_fingerprint)
        except SQLAlchemyError as error:
            lock.release()
            raise BadSetting(f"CUBILETE_DATABASE_URL: {type(error).__name__}") from error
        except BadSetting:
            lock.release()
            raise
        return cls(engine, lock, queue_limit)

    async def close(self) -> None:
        """Finishes what waits and lets the database go."""
        await self._committer.close()
        self._readers.shutdown()
        self._engine.dispose()
        self._lock.release()

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
        if is_sqlite(self._engine):
            # This process alone writes, so what it committed last is what stands.
            known = self._cache.get(game_id)
            if known is not None:
                return known
        return await self._read(functools.partial(self._current, game_id))

    def _current(self, game_id: str, connection: Connection) -> HostedGame | None:
        hosted = self._cache.current(connection, [game_id], lock=False).get(game_id)
        if hosted is not None:
            self._cache.put([hosted])
        return hosted

    async def lines(self, game_id: str, after: int = -1, limit: int | None = None) -> list[bytes]:
        """The stored lines with a seq above ``after``, in order."""
        entry = tables.entry
        query = (
            select(entry.c.line)
            .where(entry.c.game_id == game_id, entry.c.seq > after)
            .order_by(entry.c.seq)
            .limit(limit)
        )
        return await self._read(lambda connection: list(connection.execute(query).scalars()))

    async def listed(
        self, wanted: GameFilter, before: str | None, limit: int
    ) -> Sequence[HostedGame]:
        """Public games, newest first; ``before`` is the id of the last one already seen."""
        game = tables.game
        query = select(game.c.id).where(game.c.visibility == "public")
        if wanted.status is not None:
            query = query.where(game.c.status == wanted.status)
        if wanted.ruleset is not None:
            query = query.where(game.c.ruleset == wanted.ruleset)
        if wanted.open_seats is not None:
            query = query.where((game.c.open_seats > 0) == wanted.open_seats)
        if before is not None:
            query = query.where(game.c.id < before)
        return await self._in_order(query.order_by(game.c.id.desc()).limit(limit))

    async def series(self, series_id: str, after: int, limit: int) -> Sequence[HostedGame]:
        """The games of a series with a number above ``after``, in order."""
        game = tables.game
        query = (
            select(game.c.id)
            .where(game.c.series_id == series_id, game.c.series_number > after)
            .order_by(game.c.series_number)
            .limit(limit)
        )
        return await self._in_order(query)

    async def last_of_series(self, series_id: str) -> HostedGame | None:
        """The newest game of a series, or None if there is no such series."""
        game = tables.game
        query = (
            select(game.c.id)
            .where(game.c.series_id == series_id)
            .order_by(game.c.series_number.desc())
            .limit(1)
        )
        return next(iter(await self._in_order(query)), None)

    async def _in_order(self, query: Select[tuple[str]]) -> Sequence[HostedGame]:
        def read(connection: Connection) -> Sequence[HostedGame]:
            ids = [row.id for row in connection.execute(query)]
            found = read_games(connection, ids)
            return [found[game_id] for game_id in ids]

        return await self._read(read)

    async def ready(self) -> None:
        """Raises Unavailable unless the database would take a write now."""
        server = tables.server
        touch = update(server).values(key_fingerprint=server.c.key_fingerprint)

        def run() -> None:
            with writing(self._engine).begin() as connection:
                connection.execute(touch)

        try:
            await asyncio.get_running_loop().run_in_executor(self._readers, run)
        except SQLAlchemyError as error:
            raise Unavailable("the database can't be written now") from error

    async def _read(self, read: Callable[[Connection], T]) -> T:
        def run() -> T:
            with self._engine.begin() as connection:
                return read(connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, run)
        except SQLAlchemyError as error:
            raise Unavailable("the database can't be read now") from error


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
