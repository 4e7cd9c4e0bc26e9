"""A real server in a process of its own, on a free loopback port."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_ROOT = Path(__file__).parents[1]
_START_S = 30
# Limits that a test run from one address does not meet; a test of limits sets its own.
_RATES = ("CREATE", "JOIN", "ACTIONS", "TOKEN", "AUDITS", "READS", "FAILED_TOKENS")
ROOMY = {f"CUBILETE_RATE_{name}": "10000000" for name in _RATES} | {
    "CUBILETE_WAITING_GAMES": "1000000",
    "CUBILETE_CONNECTIONS_PER_ADDRESS": "1000000",
}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(true: Callable[[], bool], patience_s: float = 30) -> None:
    """Waits for something to become true."""
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Server:
    """``cubilete serve`` over one data directory; may be killed and started again."""

    command: tuple[str, ...] = (sys.executable, "-m", "service")

    def __init__(self, data_dir: Path, **variables: str) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None
        self.log = data_dir / "server.log"

    def start(self) -> Self:
        self.launch()
        try:
            self._wait()
        except BaseException:
            self.kill()  # nobody else would: what does not start is not stopped either
            raise
        return self

    def launch(self) -> None:
        """Starts it without waiting until it is ready, which it may never be."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        known = {name: text for name, text in os.environ.items() if "CUBILETE" not in name}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.command, "serve"],
                cwd=_ROOT,
                env={
                    **known,
                    "CUBILETE_PORT": str(self.port),
                    "CUBILETE_DATA_DIR": str(self.data_dir),
                    **ROOMY,
                    **self._variables,
                },
                stdout=log,
                stderr=log,
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()
            try:
                if httpx.get(f"{self.url}/readyz", verify=False).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(f"not ready in {_START_S} s: {self.log.read_text()}")

    def workers(self) -> set[int]:
        """The processes of ``--workers`` that serve, without those that only keep the books."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        serving = set()
        for pid in children:
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except FileNotFoundError:  # it has just ended
                continue
            if b"spawn_main" in command:
                serving.add(int(pid))
        return serving

    def logged(self, text: str) -> int:
        """How often a text stands in its log."""
        return self.log.read_text().count(text)

    @property
    def pid(self) -> int:
        """The process that was started."""
        assert self._process is not None
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """A signal to the process, which runs on or ends as it will."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """As a power cut would: no handler runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """As an operator would; returns the exit code."""
        return self._end(signal.SIGTERM)

    def wait(self, patience_s: float) -> int:
        """Until the process ends by itself; returns the exit code."""
        assert self._process is not None
        return self._process.wait(patience_s)

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(how)
        return process.wait(30)

    def client(self, **options: Any) -> httpx.Client:
        # Plain HTTP: reading the machine's certificates would cost more than most tests.
        return httpx.Client(base_url=self.url, timeout=30, verify=False, **options)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
