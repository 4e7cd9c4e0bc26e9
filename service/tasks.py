"""Ending tasks for certain."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

_PATIENCE_S: Final = 0.2


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks again and again until all have ended, however they do. One cancellation may
    get lost: a library in between may take it for a failure of its own, and ``asyncio.wait_for``
    of Python 3.11 forgets it where what it waits for comes at the same moment."""
    going = set(tasks)
    while going:
        for task in going:
            task.cancel()
        ended, going = await asyncio.wait(going, timeout=_PATIENCE_S)
        for task in ended:
            if not task.cancelled():
                task.exception()  # so that nobody is told that it was never asked for
