"""The committer: takes all changes that wait at one moment, writes them in one durable
transaction, and answers each only after the commit.

It runs in a thread of its own, so that neither a slow disk nor a client that goes away touches it:
a change once accepted is carried out, whoever still listens.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine, Table, bindparam, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from service.errors import CubileteError, KeyReused, Unavailable
from service.store import records, tables
from service.store.cache import GameCache
from service.store.change import Answer, Change, HostedGame, Job
from service.store.engine import writing

_BATCH_LIMIT: Final = 256
_ATTEMPTS: Final = 5
_log = logging.getLogger(__name__)

Result: TypeAlias = Answer | Exception
Waiting: TypeAlias = tuple[Job, asyncio.Future[Answer]]


class Committer:
    """One writer of a database; ``limit`` bounds the changes that wait for it."""

    def __init__(self, engine: Engine, cache: GameCache, limit: int) -> None:
        self._engine = writing(engine)
        self._cache = cache
        self._queue: queue.Queue[Waiting | None] = queue.Queue(limit)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    async def submit(self, job: Job) -> Answer:
        """Carries out one change and returns its answer after the commit.

        Raises what the job refuses with, KeyReused, or Unavailable when nothing was done.
        """
        if self._closed:
            raise Unavailable("closing")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((job, future))
        except queue.Full:
            raise Unavailable("too many changes wait for the database") from None
        return await future

    async def close(self) -> None:
        """Finishes what waits, then stops."""
        self._closed = True
        await asyncio.to_thread(self._queue.put, None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        going = True
        while going:
            batch: list[Waiting] = []
            item = self._queue.get()
            while item is not None:
                batch.append(item)
                if len(batch) == _BATCH_LIMIT:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            going = item is not None
            if batch:
                _deliver(batch, self._carry_out([job for job, _ in batch]))

    def _carry_out(self, jobs: Sequence[Job]) -> list[Result]:
        """All jobs in one transaction; if that fails, one by one, so that none sinks another."""
        try:
            return self._commit(jobs)
        except SQLAlchemyError as error:
            if len(jobs) == 1:
                return [self._try_again(jobs[0], error)]
            return [self._try_again(job, None) for job in jobs]

    def _try_again(self, job: Job, error: SQLAlchemyError | None) -> Result:
        """One job alone. A transaction that lost a race decides anew; a database that can't be
        reached is the caller's to wait for."""
        for _ in range(_ATTEMPTS):
            if error is not None and not _may_pass(error):
                break
            try:
                return self._commit([job])[0]
            except SQLAlchemyError as again:
                error = again
        _log.error("a change could not be committed: %s", type(error).__name__)
        return Unavailable("the database can't take the change now")

    def _commit(self, jobs: Sequence[Job]) -> list[Result]:
        with self._engine.begin() as connection:
            batch = _Batch(connection, self._cache, jobs)
            results = [batch.take(job) for job in jobs]
            batch.write()
        self._cache.put(batch.changed())
        return results


def _may_pass(error: SQLAlchemyError) -> bool:
    """Whether the same transaction may succeed now: it lost a race or its connection."""
    if isinstance(error, IntegrityError):
        return True
    return isinstance(error, DBAPIError) and (
        error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _RACES
    )


# serialization_failure, deadlock_detected, admin_shutdown, read_only_sql_transaction
_RACES: Final = frozenset({"40001", "40P01", "57P01", "25006"})


def _deliver(batch: Sequence[Waiting], results: Sequence[Result]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Answer], Result]]] = {}
    for (_, future), result in zip(batch, results, strict=True):
        loops.setdefault(future.get_loop(), []).append((future, result))
    for loop, answered in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_answer, answered)


def _answer(answered: Sequence[tuple[asyncio.Future[Answer], Result]]) -> None:
    for future, result in answered:
        if future.done():
            continue  # the client went away; the change stands
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


class _Batch:
    """The games and kept answers of one transaction, and what its jobs change of them."""

    def __init__(self, connection: Connection, cache: GameCache, jobs: Sequence[Job]) -> None:
        self._connection = connection
        self._games = cache.current(connection, sorted({job.game_id for job in jobs}))
        self._stored = {game_id: hosted.revision for game_id, hosted in self._games.items()}
        self._kept = self._read_answers([job.retry.scope for job in jobs if job.retry])
        self._lines: dict[str, tuple[bytes, ...]] = {}
        self._reseated: set[str] = set()
        self._new_answers: list[dict[str, object]] = []

    def _read_answers(self, scopes: Sequence[bytes]) -> dict[bytes, tuple[bytes, Answer]]:
        if not scopes:
            return {}
        query = select(tables.answer).where(tables.answer.c.scope.in_(scopes))
        rows = self._connection.execute(query).mappings()
        return {row["scope"]: (row["fingerprint"], records.kept_answer(row)) for row in rows}

    def take(self, job: Job) -> Result:
        """The answer to one job, which sees what the jobs before it have changed."""
        hosted = self._games.get(job.game_id)
        try:
            job.check(hosted)
            if job.retry is not None and job.retry.scope in self._kept:
                fingerprint, kept = self._kept[job.retry.scope]
                if fingerprint != job.retry.fingerprint:
                    raise KeyReused
                return kept
            change = job.decide(hosted)
        except CubileteError as refusal:
            return refusal
        except Exception as bug:  # its own answer is 500, and no other job's
            _log.exception("a change failed")
            return bug
        self._note(job, change)
        return change.answer

    def _note(self, job: Job, change: Change) -> None:
        for write in change.writes:
            game_id = write.hosted.game.id
            before = self._games.get(game_id)
            if before is None or before.holders != write.hosted.holders:
                self._reseated.add(game_id)
            revision = 1 if before is None else before.revision + 1
            self._games[game_id] = replace(write.hosted, revision=revision)
            self._lines[game_id] = self._lines.get(game_id, ()) + write.lines
        if job.retry is not None:
            kept = replace(change.kept or change.answer, replayed=True)
            self._kept[job.retry.scope] = (job.retry.fingerprint, kept)
            game_id = change.writes[-1].hosted.game.id
            self._new_answers.append(records.answer_row(job.retry, game_id, kept))

    def changed(self) -> list[HostedGame]:
        """The games that the batch leaves behind, as stored."""
        return list(self._games.values())

    def write(self) -> None:
        """Writes everything; the caller commits."""
        changed = [self._games[game_id] for game_id in sorted(self._lines)]
        new = [hosted for hosted in changed if hosted.game.id not in self._stored]
        moved = [hosted for hosted in changed if hosted.game.id in self._stored]
        self._insert(tables.game, [records.game_row(hosted) for hosted in new])
        self._insert(
            tables.root_salt,
            [{"game_id": hosted.game.id, "salt": hosted.salt} for hosted in new],
        )
        self._move(moved)
        self._write_holders(changed)
        entries = [
            row
            for hosted in changed
            for row in records.entry_rows(hosted, self._lines[hosted.game.id])
        ]
        self._insert(tables.entry, entries)
        self._insert(tables.answer, self._new_answers)

    def _insert(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        if rows:
            self._connection.execute(insert(table), rows)

    def _move(self, moved: Sequence[HostedGame]) -> None:
        """Compare and set: the rows were locked when they were read, so all must still match."""
        if not moved:
            return
        rows = []
        for hosted in moved:
            row = records.game_row(hosted)
            row["at_id"] = row.pop("id")
            row["at_revision"] = self._stored[hosted.game.id]
            rows.append(row)
        result = self._connection.execute(_MOVE, rows)
        if result.rowcount != len(rows):
            raise AssertionError("a game moved under its lock")

    def _write_holders(self, changed: Sequence[HostedGame]) -> None:
        seated = [hosted for hosted in changed if hosted.game.id in self._reseated]
        known = [hosted.game.id for hosted in seated if hosted.game.id in self._stored]
        if known:
            self._connection.execute(
                delete(tables.holder).where(tables.holder.c.game_id.in_(known))
            )
        rows = [row for hosted in seated for row in records.holder_rows(hosted)]
        self._insert(tables.holder, rows)


_MOVE: Final = (
    update(tables.game)
    .where(tables.game.c.id == bindparam("at_id"))
    .where(tables.game.c.revision == bindparam("at_revision"))
)
