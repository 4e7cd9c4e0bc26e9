"""The server of the tests: whatever comes of a start, nothing of it is left running."""

import os
import sys

import pytest

from tests import server
from tests.server import Server


class Silent(Server):
    """It runs, and is never ready."""

    command = (sys.executable, "-c", "import signal; signal.pause()")

    def _wait(self):
        self.born = self.pid
        super()._wait()


def test_a_server_that_does_not_become_ready_is_not_left_running(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "_START_S", 0.1)
    silent = Silent(tmp_path)
    with pytest.raises(AssertionError, match="not ready"):
        silent.start()
    with pytest.raises(ProcessLookupError):
        os.kill(silent.born, 0)
