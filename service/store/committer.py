"""The committer: takes all changes that wait at one moment and writes them in one durable
transaction; the follower answers each, only after the commit.

It runs in a thread of its own, so that neither a slow disk nor a client that goes away touches it:
a change once accepted is carried out, whoever still listens.
"""

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from service.errors import Unavailable
from service.memory import end_if_out_of_memory, guarded
from service.store.batch import Batch, Moved, Result
from service.store.cache import GameCache
from service.store.change import Answer, Committed, HostedGame, Job, Measure
from service.store.engine import BUSY_TIMEOUT_S, is_sqlite, why, writing
from service.store.follower import Follower, Settled, Waiting
from service.store.statements import statements

_BATCH_LIMIT: Final = 256
_ATTEMPTS: Final = 5
_PATIENCE_S: Final = 2 * BUSY_TIMEOUT_S
_QUIET: Final = 64  # batches
_log = logging.getLogger(__name__)


class Committer:
    """One writer of a database; ``limit`` bounds the changes that wait for it."""

    def __init__(
        self,
        engine: Engine,
        cache: GameCache,
        limit: int,
        committed: Committed,
        measure: Measure | None = None,
    ) -> None:
        self._engine = writing(engine)
        self._cache = cache
        self._measure = measure
        self._follower = Follower(committed)
        self._moved: list[HostedGame] = []
        self._statements = statements(engine.dialect)
        self._alone = is_sqlite(engine)
        self._connection: Connection | None = None
        self._locking = 0
        self._limit = limit
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    @property
    def lives(self) -> bool:
        """Whether changes are still carried out: a bug of ours may have ended the thread."""
        return self._thread.is_alive()

    async def submit(self, job: Job) -> Answer:
        """Carries out one change and returns its answer after the commit.

        Raises what the job refuses with, KeyReused, or Unavailable when no answer can be given.
        """
        if self._closed or not self.lives:
            raise Unavailable("no change is carried out any more")
        if self._queue.qsize() >= self._limit:
            raise Unavailable("too many changes wait for the database")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        self._queue.put((job, future))
        try:
            return await future
        finally:
            if self._measure is not None:
                self._measure.waited(time.perf_counter() - began)

    async def close(self) -> None:
        """Finishes what waits, then stops."""
        self._closed = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # -- the thread ------------------------------------------------------------------------------

    @guarded
    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._waiting(_BATCH_LIMIT)
            if not batch:
                continue
            began = time.perf_counter()
            try:
                results = self._carry_out([job for job, _ in batch])
            except Unavailable as down:
                # Whoever came meanwhile has waited as long as is reasonable.
                more, going = self._waiting(None) if going else ([], False)
                batch = [*batch, *more]
                results = [Unavailable(str(down)) for _ in batch]
            if self._measure is not None:
                self._measure.committed(len(batch), time.perf_counter() - began)
            moved, self._moved = self._moved, []
            settled = Settled(batch, results, moved)
            if len(batch) == 1 and self._follower.idle and self._queue.empty():
                self._follower.follow_here(settled)
            else:
                self._follower.follow(settled)
        self._disconnect()
        self._follower.close()

    def _waiting(self, limit: int | None) -> tuple[list[Waiting], bool]:
        """The changes that wait now, and whether there will be more; with a limit at least one."""
        found: list[Waiting] = []
        with contextlib.suppress(queue.Empty):
            item = self._queue.get(block=limit is not None)
            while item is not None:
                found.append(item)
                if len(found) == limit:
                    return found, True
                item = self._queue.get_nowait()
            return found, False
        return found, True

    def _carry_out(self, jobs: Sequence[Job]) -> list[Result]:
        """All jobs in one transaction; if that fails, one by one, so that none sinks another.

        Raises Unavailable if the database answers to none of them.
        """
        try:
            return self._commit(jobs)
        except Unavailable:
            raise
        except Exception as error:
            end_if_out_of_memory(error)
            if len(jobs) == 1:
                return [_told(error)]
            _log.warning("a batch has failed, now one by one: %s", type(error).__name__)
        return self._one_by_one(jobs)

    def _one_by_one(self, jobs: Sequence[Job]) -> list[Result]:
        """A game that can't be changed (someone holds its row) is tried once, not for each job."""
        deadline = time.monotonic() + _PATIENCE_S
        stuck: set[str] = set()
        results: list[Result] = []
        for job in jobs:
            if job.game_id in stuck or time.monotonic() > deadline:
                results.append(Unavailable("the database can't take the change now"))
                continue
            try:
                result = self._commit([job])[0]
            except Exception as error:
                end_if_out_of_memory(error)
                result = _told(error)
            if isinstance(result, Unavailable):
                stuck.add(job.game_id)
            results.append(result)
        return results

    def _commit(self, jobs: Sequence[Job]) -> list[Result]:
        """All jobs in one transaction, anew if it lost a race or its connection.

        Raises what the database refuses, and Unavailable if it can't be reached or if nobody can
        tell whether it took the changes: then they are never decided a second time.
        """
        sent: Batch | None = None
        why_not = ""
        for attempt in range(1, _ATTEMPTS + 1):
            batch = self._batch(jobs)
            try:
                # A COMMIT that fails when the block ends is rolled back before anybody else has
                # the connection; one that fails inside of it would not be.
                with self._connected().begin() as transaction:
                    batch.run(transaction.connection)
                    sent = batch
                self._watch(batch)
                return self._done(batch)
            except Exception as error:
                end_if_out_of_memory(error)
                self._disconnect()
                if isinstance(error, Moved):
                    self._locking = _QUIET
                if sent is not None and self._stands(sent):
                    return self._done(sent)
                if batch is not sent and not (_may_pass(error) and attempt < _ATTEMPTS):
                    if batch.begun or not isinstance(error, SQLAlchemyError):
                        raise
                    raise Unavailable(f"the database can't be reached: {_name(error)}") from error
                why_not = _name(error)
        _log.error("the database does not commit: %s", why_not)
        raise Unavailable("the database does not commit")

    def _batch(self, jobs: Sequence[Job]) -> Batch:
        lock = self._locking > 0
        return Batch(self._cache, jobs, self._statements, alone=self._alone, lock=lock)

    def _watch(self, batch: Batch) -> None:
        """Games are locked first from when another process has moved one under our hands until
        none has moved for a while: looking is dear where nobody else plays."""
        if self._locking:
            self._locking = _QUIET if batch.stale else self._locking - 1

    def _connected(self) -> Connection:
        """The committer's own connection, as long as nothing is wrong with it."""
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                connection.close()

    def _stands(self, sent: Batch) -> bool:
        """Whether a transaction stands whose COMMIT failed: only looking tells."""
        for _ in range(_ATTEMPTS):
            try:
                with self._engine.begin() as connection:
                    stands = sent.stands(connection)
            except SQLAlchemyError as error:
                end_if_out_of_memory(error)
                if not _may_pass(error):
                    break
                continue
            if stands is None:
                break
            return stands
        self._cache.drop(hosted.game.id for hosted in sent.changed())
        raise Unavailable("nobody can tell whether the change was made")

    def _done(self, batch: Batch) -> list[Result]:
        self._cache.put_committed(batch.games(), batch.disowned)
        self._moved += batch.changed()
        return batch.results


# --- what a failure means -----------------------------------------------------------------------

# serialization_failure, deadlock_detected, admin_shutdown, read_only_sql_transaction
_RACES: Final = frozenset({"40001", "40P01", "57P01", "25006"})


def _may_pass(error: Exception) -> bool:
    """Whether the same transaction may succeed now: it lost a race or its connection."""
    if isinstance(error, (IntegrityError, Moved)):
        return True
    return isinstance(error, DBAPIError) and (
        error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _RACES
    )


def _told(error: Exception) -> Exception:
    """What the caller of a lone change is told: to come back, or that this one can't be stored."""
    if isinstance(error, Unavailable):
        return error
    _log.error("a change could not be committed: %s", _name(error), exc_info=error)
    passing = (OperationalError, IntegrityError, PoolTimeout, Moved)
    if isinstance(error, passing) or _may_pass(error):
        return Unavailable("the database can't take the change now")
    return error


def _name(error: Exception) -> str:
    return why(error) if isinstance(error, SQLAlchemyError) else type(error).__name__
