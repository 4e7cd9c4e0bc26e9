"""The processes of ``--workers`` and the parent that keeps them: uvicorn's, but each side hears the
end of the other, and nobody waits for one that hangs."""

import logging
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from socket import socket
from typing import Final, cast

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import multiprocess

from service.memory import end_if_out_of_memory

_PAUSE_S: Final = 1  # between the end of a start that has failed and the next one
_log = logging.getLogger(__name__)


def run_workers(config: Config, patience_s: float) -> None:
    """Serves until a signal ends it; a worker that is told to end has ``patience_s`` for it."""
    # The parent's class takes the class of its processes from there.
    setattr(multiprocess, "Process", partial(Worker, patience_s=patience_s))  # noqa: B010
    Parent(config, [config.bind_socket()]).run()


class Worker(multiprocess.Process):
    """One process that serves, as its parent and as it sees itself."""

    def __init__(self, config: Config, sockets: list[socket], patience_s: float) -> None:
        super().__init__(config, sockets)
        self.served = False
        """Whether it has ever served."""
        self.replace_at: float | None = None
        """Once it has ended, when another may take its place."""
        self._patience_s = patience_s
        self._asked_at: float | None = None
        self._end_by: float | None = None

    # --- in the process itself --------------------------------------------------------------------

    def target(self, sockets: list[socket] | None = None) -> None:
        """Serves. A copy of the parent's end, kept here, would hide the parent's end."""
        self.parent_conn.close()
        _ = self.server  # made before two threads ask for it: each would make its own
        super().target(sockets)

    def always_pong(self) -> None:
        """Answers the parent as long as that is there; nobody else would end this process then."""
        try:
            super().always_pong()
        except (OSError, EOFError) as error:
            end_if_out_of_memory(error)
            os.kill(os.getpid(), signal.SIGTERM)

    # --- in its parent ----------------------------------------------------------------------------

    def is_alive(self, timeout: float = 5) -> bool:
        """Whether it runs and has answered within ``timeout``. Asks, and reads the answer the next
        time: for one that hangs neither signals nor the other workers can wait."""
        now = time.monotonic()
        with suppress(OSError, EOFError):  # it is just ending
            while self.parent_conn.poll():
                self.served = self.parent_conn.recv() or self.served
                self._asked_at = None
            if self._asked_at is None:
                self._asked_at = now
                self.parent_conn.send(b"ping")
        return self.process.is_alive() and now - (self._asked_at or now) < timeout

    def bury(self) -> None:
        """What is left of it ends. One that has served is replaced at once; what hinders a start
        may take its time to pass."""
        self.kill()
        super().join()
        self.replace_at = time.monotonic() + (0 if self.served else _PAUSE_S)

    def terminate(self) -> None:
        """Tells it to end, and from now on it has its time for that."""
        self._end_by = time.monotonic() + self._patience_s
        super().terminate()

    def join(self) -> None:
        """Waits for its end, which comes at last when its time is up."""
        if self._end_by is not None:
            self.process.join(max(0.0, self._end_by - time.monotonic()))
            if self.process.is_alive():
                _log.error("Child process [%d] does not end, and is killed", self.pid)
                self.process.kill()
        super().join()


class Parent(multiprocess.Multiprocess):
    """Replaces workers that end. A start that fails ends the server only if none has served yet:
    then it is the settings that are wrong; later it is what the worker needs that is away."""

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._served = False
        self._failed = False

    @property
    def _workers(self) -> Sequence[Worker]:
        return cast("list[Worker]", self.processes)

    def run(self) -> None:
        """Until the end of the server, and never without its workers: a parent that fails ends
        them as well."""
        try:
            super().run()
        except Exception as error:
            end_if_out_of_memory(error)
            _log.critical("This process has to end, and its workers with it: %r", error)
            self._failed = True
            self.terminate_all()
            self.join_all()
        if self._failed:
            raise SystemExit(STARTUP_FAILURE)

    def keep_subprocess_alive(self) -> None:
        """Looks at each worker."""
        for place, worker in enumerate(self._workers):
            if self.should_exit.is_set():
                return
            if worker.replace_at is None:
                self._look_at(worker)
            if worker.replace_at is not None and time.monotonic() >= worker.replace_at:
                self._replace(place)

    def _look_at(self, worker: Worker) -> None:
        if worker.is_alive(self.config.timeout_worker_healthcheck):
            self._served = self._served or worker.served
            return
        worker.bury()
        if worker.exitcode == STARTUP_FAILURE and not self._served:
            _log.critical("Child process [%d] failed to start, this process ends", worker.pid)
            self._failed = True
            self.should_exit.set()
            return
        _log.warning("Child process [%d] died", worker.pid)

    def _replace(self, place: int) -> None:
        if self.should_exit.is_set():
            return
        try:
            worker = multiprocess.Process(self.config, self.sockets)
            worker.start()
        except OSError as error:
            self._workers[place].replace_at = time.monotonic() + _PAUSE_S
            _log.error("No worker can be started now, it is tried again: %s", error)
        else:
            self.processes[place] = worker

    def handle_signals(self) -> None:
        """Does what signals ask for, as far as the system lets it start processes now."""
        try:
            super().handle_signals()
        except OSError as error:
            self.processes_num = len(self.processes)
            _log.error("No worker can be started now, those there are stay: %s", error)
