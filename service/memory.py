"""What becomes of a process that is given no memory: it ends at once, as by a kill.

Where an allocation has failed nobody knows what was left half done: a callback that the loop has
lost, a thread that is gone, a game that is half changed. A process that went on would answer from
that. One that ends is as good as killed: what was committed stands, callers see their connections
cut and send again with their keys, and whoever started the process starts it anew.
"""

import asyncio
import functools
import logging
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

from service.errors import BadSetting, failed_allocation

EXIT_CODE: Final = 137  # as of a process that the system has killed for its memory
_PIECE_BYTES: Final = 8 * 1024**2  # what a thread takes, the most that is asked for at a time
_ROOM_BYTES: Final = 128 * 1024**2
_LOOK_S: Final = 0.5
_REFUSED_MOST: Final = 2
_log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


def end_if_out_of_memory(error: BaseException) -> None:
    """Ends the process if what failed was an allocation. Whoever catches whatever comes asks this
    before anything else."""
    found = failed_allocation(error)
    if found is not None:
        try:
            _log.critical("no memory is left, this process ends: %r", found)
        finally:
            os._exit(EXIT_CODE)


def guarded(work: Callable[P, T]) -> Callable[P, T]:
    """Work of a thread, where nobody may be left to be told that it failed."""

    @functools.wraps(work)
    def working(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return work(*arguments, **named)
        except BaseException as error:
            end_if_out_of_memory(error)
            raise

    return working


def guarded_task(
    work: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same of a task."""

    @functools.wraps(work)
    async def working(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return await work(*arguments, **named)
        except BaseException as error:
            end_if_out_of_memory(error)
            raise

    return working


# --- what nobody catches, and what a library has caught -------------------------------------------


def watch_loop(loop: asyncio.AbstractEventLoop) -> None:
    """A callback of the loop that fails for want of memory ends the process."""
    loop.set_exception_handler(_failed_in_loop)


def _failed_in_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if error is not None:
        end_if_out_of_memory(error)
    loop.default_exception_handler(context)


def watch_process() -> None:
    """From now on this process ends within a moment when it is given no memory, whoever has caught
    the failure and kept silent."""
    sys.unraisablehook = _failed_unseen
    threading.excepthook = _failed_in_thread
    threading.Thread(target=_look, name="memory", daemon=True).start()


def _failed_unseen(failed: "sys.UnraisableHookArgs") -> None:
    if failed.exc_value is not None:
        end_if_out_of_memory(failed.exc_value)
    sys.__unraisablehook__(failed)


def _failed_in_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        end_if_out_of_memory(failed.exc_value)
    threading.__excepthook__(failed)


def require_room() -> None:
    """Raises BadSetting where a limit leaves less than a server takes after its start: it would
    end in the middle of that, by whatever native code meets the limit first."""
    try:
        _ask_for(_ROOM_BYTES)
    except (OSError, MemoryError):
        room = _ROOM_BYTES // 1024**2
        raise BadSetting(f"a limit of memory leaves less than {room} MiB to this process") from None


def _ask_for(size: int) -> None:
    """Privately: limits of address space count that, and so does a machine without overcommit. A
    container's limit does not: it counts what is touched, and there the system kills. What is only
    asked for and given back costs a microsecond or two."""
    mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def _look() -> None:
    """Whether there is room for one piece more. A neighbour may have taken the last one for a
    moment: it is asked for twice."""
    refused = 0
    while True:
        time.sleep(_LOOK_S)
        try:
            _ask_for(_PIECE_BYTES)
            refused = 0
        except (OSError, MemoryError) as error:
            refused += 1
            if refused == _REFUSED_MOST:
                end_if_out_of_memory(error)
