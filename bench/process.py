"""Servers to measure: each a process of its own, started here and stopped at the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

import httpx

from tests.server import ROOMY, free_port

ROOT: Final = Path(__file__).parents[1]
_START_S: Final = 60


class Process:
    """A server in its own process group, ready when ``start`` returns. ``{port}`` in its command
    or its variables stands for the port that it is given."""

    def __init__(
        self,
        command: Sequence[str],
        place: Path,
        variables: Mapping[str, str] | None = None,
        ready: str = "/readyz",
    ) -> None:
        port = str(free_port())
        self._command = [part.replace("{port}", port) for part in command]
        self._variables = {
            name: text.replace("{port}", port) for name, text in (variables or {}).items()
        }
        self._ready = ready
        self._log = place / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{port}"

    def start(self) -> "Process":
        """Starts the server and waits until it answers."""
        kept = {name: text for name, text in os.environ.items() if "CUBILETE" not in name}
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env={**kept, **self._variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{self._command} did not start: {self._log.read_text()}")
            time.sleep(0.05)
        return self

    def _answers(self) -> bool:
        try:
            return httpx.get(self.url + self._ready).status_code < 500
        except httpx.TransportError:
            return False

    @property
    def pid(self) -> int:
        """The process that was started."""
        if self._process is None:
            raise RuntimeError("not running")
        return self._process.pid

    def resident_mib(self) -> float:
        """How much memory it holds now."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = (one for one in status.splitlines() if one.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def stop(self) -> None:
        """As an operator would; what does not stop in time is killed."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)

    def __enter__(self) -> "Process":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def cubilete(place: Path, database_url: str | None = None, workers: int = 1) -> Process:
    """``cubilete serve`` with its default settings, over this database or its embedded one."""
    variables = {**_settings(place, database_url), "CUBILETE_WORKERS": str(workers)}
    return Process([sys.executable, "-m", "service", "serve"], place, variables)


def bench_server(
    module: str, place: Path, *arguments: str, database_url: str | None = None
) -> Process:
    """One of the servers that stand here only to be measured against."""
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    return Process(command, place, _settings(place, database_url))


def _settings(place: Path, database_url: str | None) -> dict[str, str]:
    database = {} if database_url is None else {"CUBILETE_DATABASE_URL": database_url}
    return {
        **database,
        "CUBILETE_PORT": "{port}",
        "CUBILETE_DATA_DIR": str(place),
        **ROOMY,
        "CUBILETE_LOG_LEVEL": "warning",
    }
