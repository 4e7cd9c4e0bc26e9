"""The bell: wakes streams and long polls when a game may have changed.

It carries no data. Whoever is woken looks for himself what stands, so that a ring too many costs a
look, and one too few costs the time until somebody looks anyway: nothing depends on a ring but how
soon. In one process it needs nothing; between processes a ``Wire`` carries it.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from typing import Final, Protocol, TypeAlias

from service.errors import Unavailable
from service.memory import guarded_task
from service.tasks import end

Wake: TypeAlias = Callable[[], None]
Revisions: TypeAlias = Callable[[Collection[str]], Awaitable[Mapping[str, int]]]

_PAUSE_S: Final = 0.005
_POLL_S: Final = 1.5
_AGAIN_S: Final = 1.0
_log = logging.getLogger(__name__)


class Wire(Protocol):
    """Carries rings to the other processes and theirs to this one. Either may fail, and either
    may lose rings: the poll makes up for it."""

    async def send(self, game_ids: Collection[str]) -> None:
        """Rings at every other process; raises Unavailable if that can't be done now."""

    def rings(self) -> AsyncIterator[Collection[str]]:
        """What other processes ring for; raises Unavailable when it is cut off."""

    async def close(self) -> None:
        """Lets go of what it holds."""


class Bell:
    """Wakes who watches a game, in this process and, over ``wire``, in others.

    Where several processes share a database ``revisions`` tells how often these games have
    changed; it is asked every 1.5 s for those that are watched, whether the wire works or not.
    """

    def __init__(self, wire: Wire | None = None, revisions: Revisions | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._watched: dict[str, set[Wake]] = {}
        self._lock = threading.Lock()
        self._rung: set[str] = set()
        self._wire = wire
        self._unsent: set[str] = set()
        self._to_send = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        if wire is not None:
            self._tasks += [asyncio.create_task(self._send(wire))]
            self._tasks += [asyncio.create_task(self._listen(wire))]
        if revisions is not None:
            self._tasks += [asyncio.create_task(self._poll(revisions))]

    def watch(self, game_id: str, wake: Wake) -> Callable[[], None]:
        """Calls ``wake`` in the loop whenever the game may have changed, until what is returned
        is called."""
        self._watched.setdefault(game_id, set()).add(wake)

        def leave() -> None:
            watching = self._watched.get(game_id, set())
            watching.discard(wake)
            if not watching:
                self._watched.pop(game_id, None)

        return leave

    def ring(self, game_ids: Iterable[str]) -> None:
        """These games have changed; may be called from any thread, and costs next to nothing."""
        heard = [one for one in game_ids if self._wire is not None or one in self._watched]
        if not heard:
            return
        with self._lock:
            first = not self._rung
            self._rung.update(heard)
        if first:
            self._loop.call_soon_threadsafe(self._take)

    def ring_others(self, game_ids: Iterable[str]) -> None:
        """Rings at the other processes alone; called in the loop."""
        if self._wire is not None:
            self._unsent.update(game_ids)
            self._to_send.set()

    async def close(self) -> None:
        """Stops listening to others."""
        await end(self._tasks)
        if self._wire is not None:
            await self._wire.close()

    def _take(self) -> None:
        with self._lock:
            rung, self._rung = self._rung, set()
        self._wake(rung)
        self.ring_others(rung)

    def _wake(self, game_ids: Iterable[str]) -> None:
        for game_id in game_ids:
            for wake in tuple(self._watched.get(game_id, ())):
                wake()

    # -- other processes -------------------------------------------------------------------------

    @guarded_task
    async def _send(self, wire: Wire) -> None:
        """What is rung while one message is on its way goes with the next."""
        while True:
            await self._to_send.wait()
            self._to_send.clear()
            unsent, self._unsent = self._unsent, set()
            try:
                await wire.send(unsent)
                await asyncio.sleep(_PAUSE_S)
            except Unavailable as error:
                _log.warning("other processes can't be rung now: %s", error)
                await asyncio.sleep(_AGAIN_S)

    @guarded_task
    async def _listen(self, wire: Wire) -> None:
        while True:
            try:
                async for rung in wire.rings():
                    self._wake(rung)
            except Unavailable as error:
                _log.warning("other processes can't be heard now: %s", error)
            await asyncio.sleep(_AGAIN_S)

    @guarded_task
    async def _poll(self, revisions: Revisions) -> None:
        known: Mapping[str, int] = {}
        while True:
            await asyncio.sleep(_POLL_S)
            try:
                found = await revisions(tuple(self._watched)) if self._watched else {}
            except Unavailable:
                continue  # the next look finds whatever this one has missed
            self._wake(one for one, revision in found.items() if known.get(one) != revision)
            self._wake(known.keys() - found.keys())  # games that have been deleted
            known = found
