"""One process of the server inside of this one: the real croupier, store and head file over a real
SQLite file, and faults at the places where a process, a disk or a connection fails.

A death ends the committer's thread, or its follower's, where it stands: what was not committed is
rolled back, nobody is answered, and the house that is opened next knows only what lies in its
directory.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias

from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from service.croupier import Croupier
from service.errors import StaleVersion
from service.heads import Head, HeadFile
from service.keys import Entropy, ServerKey, SigningKeys
from service.store import Answer, HostedGame, Store
from service.store.change import Check, Decide
from service.store.engine import SQLITE

Death: TypeAlias = Literal["mid-batch", "before commit", "after commit", "after heads"]
Error: TypeAlias = Literal["busy", "race", "commit failed", "commit unheard"]
DEATHS: Final[tuple[Death, ...]] = ("mid-batch", "before commit", "after commit", "after heads")
ERRORS: Final[tuple[Error, ...]] = ("busy", "race", "commit failed", "commit unheard")
DIED: Final = "died on purpose"
_COMMITTER: Final = "committer"


@dataclass(frozen=True, slots=True)
class Fault:
    """A death or an error, at the statement of that number where it is one of a statement."""

    kind: Death | Error
    statement: int = 1


class _Race(Exception):
    """As a database tells that another transaction was first."""

    sqlstate = "40001"


class InlineLoop(asyncio.SelectorEventLoop):
    """Does at once what was meant for another thread, so that a seed is a schedule."""

    def run_in_executor(  # type: ignore[override]
        self, _executor: Any, work: Any, *arguments: Any
    ) -> Any:
        done = self.create_future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


class _CountingStore(Store):
    """Knows how many changes it was asked for."""

    asked = 0

    async def change(self, game_id: str, check: Check, decide: Decide, retry: Any = None) -> Answer:
        self.asked += 1
        return await super().change(game_id, check, decide, retry)


class House:
    """A croupier over its store in ``home``, which may be killed."""

    def __init__(
        self,
        home: Path,
        server_key: ServerKey,
        signing_keys: SigningKeys,
        now: Callable[[], int],
        entropy: Entropy,
    ) -> None:
        self.heads = HeadFile(home, sync=False)
        self.died = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._fault: Fault | None = None
        self._statements = 0
        url = f"sqlite:///{home / 'cubilete.db'}"
        store = _CountingStore.open(url, server_key.fingerprint(), committed=self._committed)
        assert isinstance(store, _CountingStore)
        self.store = store
        self.croupier = Croupier(self.store, server_key, signing_keys, now, entropy)
        self.fired: list[Fault] = []
        engine = self.store._engine
        event.listen(engine, "before_cursor_execute", self._before_statement)
        self._commit: Callable[[Any], None] = engine.dialect.do_commit
        setattr(engine.dialect, "do_commit", self._do_commit)  # noqa: B010

    # -- one transaction -------------------------------------------------------------------------

    async def one_batch(
        self, changes: Sequence[Awaitable[Answer]], fault: Fault | None
    ) -> list["asyncio.Task[Answer]"]:
        """Asks for changes so that all are waiting when the committer takes them; the fault meets
        their transaction. Returns when all are answered or the house has died."""
        entered, go_on = threading.Event(), threading.Event()

        def hold(_: HostedGame | None) -> NoReturn:
            entered.set()
            go_on.wait()
            raise StaleVersion(version=0)

        holding = asyncio.ensure_future(self.store.change("nobody", hold, hold))
        await asyncio.sleep(0)
        entered.wait()
        before = self.store.asked
        asked = [asyncio.ensure_future(change) for change in changes]
        # Turns of this loop until all wait; some are refused before they reach the store.
        while self.store.asked - before + sum(one.done() for one in asked) < len(asked):  # noqa: ASYNC110
            await asyncio.sleep(0)
        self._statements = -1  # until the transaction that holds is over
        self._fault = fault
        go_on.set()
        death = asyncio.ensure_future(self.died.wait())
        heard = asyncio.gather(holding, *asked, return_exceptions=True)
        await asyncio.wait((heard, death), return_when=asyncio.FIRST_COMPLETED)
        self._fault = None
        for one in (*asked, death):
            one.cancel()
        await asyncio.gather(*asked, death, heard, return_exceptions=True)
        return asked

    def _before_statement(self, *_: Any) -> None:
        fault = self._fault
        if not self._is_met() or fault is None:
            return
        self._statements += 1
        if self._statements != fault.statement:
            return
        if fault.kind == "mid-batch":
            self._die()
        if fault.kind in ("busy", "race"):
            self._fire()
            told = (
                _Race() if fault.kind == "race" else SQLITE.OperationalError("database is locked")
            )
            raise OperationalError("", {}, told)

    def _is_met(self) -> bool:
        return self._statements >= 0 and threading.current_thread().name == _COMMITTER

    def _do_commit(self, connection: Any) -> None:
        fault = self._fault
        if fault is None or threading.current_thread().name != _COMMITTER:
            self._commit(connection)
        elif self._statements < 0:
            self._commit(connection)
            self._statements = 0
        else:
            self._faulty_commit(connection, fault)

    def _faulty_commit(self, connection: Any, fault: Fault) -> None:
        if fault.kind == "before commit":
            self._die()
        if fault.kind == "commit failed":
            self._fire()
            connection.rollback()  # as SQLite does by itself when a COMMIT fails
            raise SQLITE.OperationalError("disk I/O error")
        self._commit(connection)
        if fault.kind == "after commit":
            self._die()
        if fault.kind == "commit unheard":
            self._fire()
            raise SQLITE.OperationalError("disk I/O error")

    def _committed(self, games: Sequence[HostedGame]) -> None:
        self.heads.append(Head(one.game.id, one.game.version, one.game.head) for one in games)
        if self._fault is not None and self._fault.kind == "after heads":
            self._die()

    def _fire(self) -> None:
        assert self._fault is not None
        self.fired.append(self._fault)
        self._fault = None

    def _die(self) -> NoReturn:
        self._fire()
        self._loop.call_soon_threadsafe(self.died.set)
        # Ends a thread, and no handler of errors takes it for one.
        raise SystemExit(DIED)

    # -- the end ---------------------------------------------------------------------------------

    def bury(self) -> None:
        """After a death: nothing is left but the files."""
        committer = self.store._committer
        committer._queue.put(None)  # one of its two threads is left
        committer._thread.join()
        committer._follower.close()
        committer._disconnect()
        self.store._engine.dispose()
        self.store._lock.release()
        self.heads.close()

    async def close(self) -> None:
        """An orderly end."""
        self._fault = None
        await self.store.close()
        self.heads.close()
