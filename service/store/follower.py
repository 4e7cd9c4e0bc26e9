"""What follows a commit: it is told to whoever has to know, and then the answers leave.

The committer's next transaction goes on meanwhile: what follows waits for a disk too (heads go to
a file of their own), and two waits at once take half as long as one after the other.
"""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from service.memory import end_if_out_of_memory, guarded
from service.store.batch import Result
from service.store.change import Answer, Committed, HostedGame, Job

_AT_ONCE: Final = 2  # batches
_log = logging.getLogger(__name__)

Waiting: TypeAlias = tuple[Job, asyncio.Future[Answer]]


@dataclass(frozen=True, slots=True)
class Settled:
    """Changes with their results, one each, and the games that they have moved."""

    batch: Sequence[Waiting]
    results: Sequence[Result]
    moved: Sequence[HostedGame]


class Follower:
    """Follows the batches of one committer, in a thread of its own. No answer leaves before
    ``committed`` has returned for the games that it tells of."""

    def __init__(self, committed: Committed) -> None:
        self._committed = committed
        self._settled: queue.SimpleQueue[Settled | None] = queue.SimpleQueue()
        # Where what follows is stuck the committer waits as well, and more changes are refused.
        self._room = threading.Semaphore(_AT_ONCE)
        self._taken = self._followed = 0
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether all that was taken over has been followed; asked by whoever hands it over."""
        return self._taken == self._followed

    def follow(self, settled: Settled) -> None:
        """Takes a batch over; waits while there are others to be followed first."""
        self._room.acquire()
        self._taken += 1
        self._settled.put(settled)

    def follow_here(self, settled: Settled) -> None:
        """The same in the caller's thread, while the follower is idle: no thread has to wake."""
        self._finish(settled)

    def close(self) -> None:
        """Follows what was taken over, then stops."""
        self._settled.put(None)
        self._thread.join()

    @guarded
    def _run(self) -> None:
        while (settled := self._settled.get()) is not None:
            try:
                self._finish(settled)
            finally:  # the committer is not left waiting for room, whatever has happened
                self._followed += 1
                self._room.release()

    def _finish(self, settled: Settled) -> None:
        """In either thread, which goes on whatever fails: no other would carry out changes."""
        self._tell(settled.moved)
        try:
            _deliver(settled.batch, settled.results)
        except Exception as error:
            end_if_out_of_memory(error)
            _log.exception("answers could not be handed over")

    def _tell(self, moved: Sequence[HostedGame]) -> None:
        """What follows a commit can't undo it: a failure there is logged, and the answers go."""
        try:
            if moved:
                self._committed(moved)
        except Exception as error:
            end_if_out_of_memory(error)
            _log.exception("what follows a commit has failed")


def _deliver(batch: Sequence[Waiting], results: Sequence[Result]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Answer], Result]]] = {}
    for (_, future), result in zip(batch, results, strict=True):
        loops.setdefault(future.get_loop(), []).append((future, result))
    for loop, answered in loops.items():
        with contextlib.suppress(RuntimeError):  # a loop that has closed listens no more
            loop.call_soon_threadsafe(_answer, answered)


def _answer(answered: Sequence[tuple[asyncio.Future[Answer], Result]]) -> None:
    for future, result in answered:
        if future.done():
            continue  # the client went away; the change stands
        if isinstance(result, StopIteration):  # which no future takes
            future.set_exception(RuntimeError("a change stopped an iteration"))
        elif isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
