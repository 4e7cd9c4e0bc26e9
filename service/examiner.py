"""Examines uploaded records in a process of its own: slow or hostile ones hurt nobody else."""

import contextlib
import logging
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO, Final, cast

from service.errors import RecordTooCostly, Unavailable
from service.examination import READY, SIZE_BYTES
from service.memory import EXIT_CODE, end_if_out_of_memory
from service.slots import Slots

UPLOADS: Final = 8
_RETRY_AFTER_S: Final = 5
_START_S: Final = 30
_TRIES: Final = 2
_log = logging.getLogger(__name__)


class Examiner:
    """One process that examines one record after the other, made when the first one comes.

    ``seconds`` is the most that one may take; ``uploads`` are the slots of the uploads that are
    read or wait, which bounds the memory that they hold.
    """

    def __init__(self, seconds: float, uploads: int = UPLOADS) -> None:
        self.uploads = Slots("uploads", uploads, retry_after_s=_RETRY_AFTER_S)
        self._seconds = seconds
        self._turns = Slots("examiner", uploads, retry_after_s=_RETRY_AFTER_S)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._closed = False
        self._lock = threading.Lock()
        self._asking = threading.Lock()

    async def report(self, data: bytes) -> bytes:
        """The report on an upload, as JSON; raises RecordTooCostly if it takes too much, and
        Unavailable if nobody can examine it now."""
        return await self._turns.run(self._ask, data)

    def close(self) -> None:
        """Ends the process, whatever it does; who waits for a report is told to come again."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()
        with self._asking:  # until nobody reads its pipes any more
            self._end()

    def _ask(self, data: bytes) -> bytes:
        with self._asking:
            for _ in range(_TRIES):
                report = self._told(data)
                if report is not None:
                    return report
        raise RecordTooCostly  # it may be what kills them

    def _told(self, data: bytes) -> bytes | None:
        """The report of one process; null if that was killed, which may be no fault of the
        record. Raises RecordTooCostly if it took too much time or memory."""
        process = self._running()
        with _killed_after(process, self._seconds) as ran_out:
            report = _exchanged(process, data)
        if report is None or ran_out.is_set():
            self._end()
        if report is None and (ran_out.is_set() or process.returncode == EXIT_CODE):
            raise RecordTooCostly
        return report

    def _running(self) -> "subprocess.Popen[bytes]":
        """A process that is ready."""
        with self._lock:
            if self._closed:
                raise Unavailable("closing")
            if self._process is None or self._process.poll() is not None:
                self._process, self._ready = _started(), False
            process = self._process
        _, told = _pipes(process)
        self._ready = self._ready or (_tells(told, _START_S) and told.read(1) == READY)
        if not self._ready:
            self._end()
            _log.error("no process can be started that examines records")
            raise Unavailable("no record can be examined now", _RETRY_AFTER_S)
        return process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in _pipes(process):
            with contextlib.suppress(OSError):
                pipe.close()


@contextlib.contextmanager
def _killed_after(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[threading.Event]:
    """Over the block the process has so many seconds, also to read what it is handed: one that
    stands still would keep who writes to it for ever. Tells whether they have run out."""
    ran_out = threading.Event()

    def kill() -> None:
        ran_out.set()
        process.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    try:
        yield ran_out
    finally:
        timer.cancel()
        timer.join()


def _exchanged(process: "subprocess.Popen[bytes]", data: bytes) -> bytes | None:
    """The whole report on an upload; null if the process ends before it is told."""
    asked, told = _pipes(process)
    try:
        asked.write(len(data).to_bytes(SIZE_BYTES, "big") + data)
        asked.flush()
    except BrokenPipeError:
        return None
    size = int.from_bytes(told.read(SIZE_BYTES), "big")
    report = told.read(size)
    return report if report and len(report) == size else None


def _tells(told: IO[bytes], seconds: float) -> bool:
    """Whether there is something to read, or nobody left to write it, before so long."""
    poll = select.poll()
    poll.register(told, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _started() -> "subprocess.Popen[bytes]":
    # It sees no variable but the path, and so none that holds a secret.
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "service.examination"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        )
    except OSError as error:  # a limit of processes or files, or a program that is gone
        end_if_out_of_memory(error)
        _log.error("no process can be started that examines records: %s", error)
        raise Unavailable("no process can be started now", _RETRY_AFTER_S) from error


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    return cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
