"""A server whose clock a test sets: see ``tests.shifted``."""

import sys
import time
from collections.abc import Callable

from tests.server import Server

JSONL = {"accept": "application/jsonl"}
_PATIENCE_S = 20


class ShiftedServer(Server):
    """A server whose clock a test sets."""

    command = (sys.executable, "-m", "tests.shifted")

    def set_clock(self, at: int) -> None:
        draft = self.data_dir / "now.draft"
        draft.write_text(str(at), "ascii")
        draft.replace(self.data_dir / "now")


def wait_for(happened: Callable[[], bool]) -> None:
    """Until a process of its own has done something."""
    deadline = time.monotonic() + _PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, f"not in {_PATIENCE_S} s"
        time.sleep(0.02)
