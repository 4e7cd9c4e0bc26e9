"""Examines uploaded records in a process of its own: slow or hostile ones hurt nobody else."""

import contextlib
import logging
import os
import select
import subprocess
import sys
import threading
from typing import IO, Final, cast

from service.errors import RecordTooCostly, Unavailable
from service.examination import READY, SIZE_BYTES
from service.slots import Slots

UPLOADS: Final = 8
_RETRY_AFTER_S: Final = 5
_START_S: Final = 30
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
        self._lock = threading.Lock()
        self._closed = False

    async def report(self, data: bytes) -> bytes:
        """The report on an upload, as JSON; raises RecordTooCostly if it takes too much."""
        return await self._turns.run(self._ask, data)

    def close(self) -> None:
        """Ends the process, whatever it does."""
        with self._lock:
            self._closed = True
        self._end()

    def _ask(self, data: bytes) -> bytes:
        process = self._running()
        asked, told = _pipes(process)
        self._ready = self._ready or (_tells(told, _START_S) and told.read(1) == READY)
        if not self._ready:
            self._end()
            _log.error("no process can be started that examines records")
            raise Unavailable("no record can be examined now")
        try:
            asked.write(len(data).to_bytes(SIZE_BYTES, "big") + data)
            asked.flush()
            if _tells(told, self._seconds):
                size = int.from_bytes(told.read(SIZE_BYTES), "big")
                report = told.read(size)
                if report and len(report) == size:
                    return report
        except BrokenPipeError:
            pass
        self._end()
        raise RecordTooCostly

    def _running(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._closed:
                raise RecordTooCostly
            if self._process is None or self._process.poll() is not None:
                self._process, self._ready = _started(), False
            return self._process

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
    except BlockingIOError as error:  # the limit of processes
        raise Unavailable("no process can be started now") from error


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    return cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
