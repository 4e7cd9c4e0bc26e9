"""``cubilete`` that dies at its next COMMIT, before or after it, when a file asks for it."""

import os
import threading
from pathlib import Path
from typing import Any

from sqlalchemy.engine.default import DefaultDialect

from service.cli import main

_commit = DefaultDialect.do_commit


def request_file(when: str, data_dir: Path) -> Path:
    """The file that asks; it is removed by the death that it asked for."""
    return data_dir / f"die-{when}-commit"


def become_mortal(data_dir: Path) -> None:
    """From now on this process dies when a file in its data directory asks for it."""

    def die(when: str) -> None:
        if threading.current_thread().name != "committer":
            return
        try:
            request_file(when, data_dir).unlink()
        except FileNotFoundError:  # nobody asks, or another process was first
            return
        os._exit(9)

    def mortal_commit(self: DefaultDialect, connection: Any) -> None:
        die("before")
        _commit(self, connection)
        die("after")

    setattr(DefaultDialect, "do_commit", mortal_commit)  # noqa: B010


if __name__ == "__main__":
    become_mortal(Path(os.environ["CUBILETE_DATA_DIR"]))
    main()
