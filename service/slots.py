"""Room for work that must not run on the event loop: few threads, and few who wait for them."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from service.errors import Unavailable
from service.memory import guarded

T = TypeVar("T")


class Slots:
    """``limit`` pieces of work at a time, of which ``threads`` run and the others wait. Each kind
    of work has slots of its own, so that none of them can keep the others waiting."""

    def __init__(self, name: str, limit: int, threads: int = 1, retry_after_s: int = 1) -> None:
        self._name = name
        self._free = limit
        self._retry_after_s = retry_after_s
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """A slot held over the block; raises Unavailable at once if there is none."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Runs ``work`` in a thread. Raises Unavailable at once if there is no slot; the slot is
        free again when the work ends, even if nobody waits for it any more."""
        self._take()
        try:
            future = self._executor.submit(guarded(work), *arguments)
        except BaseException:
            self._give_back()
            raise
        future.add_done_callback(self._give_back)
        return await asyncio.wrap_future(future)

    def _take(self) -> None:
        with self._lock:
            if self._free == 0:
                raise Unavailable(f"too much waits: {self._name}", self._retry_after_s)
            self._free -= 1

    def _give_back(self, _: Future[Any] | None = None) -> None:
        with self._lock:
            self._free += 1
