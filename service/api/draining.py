"""Ending without loss: what a signal does, from its coming to the end of the process."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def on_signal(drain: Callable[[], None], pause_s: float) -> Iterator[None]:
    """Calls ``drain`` in the loop at the first signal that ends the process.

    The server, which would then close its sockets, is told ``pause_s`` later, so that a balancer
    that asks whether this process is ready can stop sending requests before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal comes here
        return
    loop = asyncio.get_running_loop()
    server: dict[int, Any] = {number: signal.getsignal(number) for number in _ENDING}
    drained = False

    def begin(number: int) -> None:
        nonlocal drained
        if not drained:
            drained = True
            drain()
            loop.call_later(pause_s, server[number], number, None)

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(begin, number)

    for number in _ENDING:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in _ENDING:
            signal.signal(number, server[number])


def end_in_peace() -> None:
    """A signal ends this process with exit code 0: before the server takes signals over, and when
    it hands on, at its end, those that have come."""
    for number in _ENDING:
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
