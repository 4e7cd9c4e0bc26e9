"""Examines uploaded records in a process of its own: slow or hostile ones hurt nobody else."""

import contextlib
import os
import select
import subprocess
import sys
import threading
from typing import IO, Final, cast

from service.errors import RecordTooCostly, Unavailable
from service.examination import SIZE_BYTES
from service.slots import Slots

UPLOADS: Final = 8
_RETRY_AFTER_S: Final = 5


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
        try:
            asked.write(len(data).to_bytes(SIZE_BYTES, "big") + data)
            asked.flush()
            poll = select.poll()
            poll.register(told, select.POLLIN)
            if poll.poll(self._seconds * 1000):
                size = told.read(SIZE_BYTES)
                report = told.read(int.from_bytes(size, "big"))
                if report:
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
                self._process = _started()
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
