"""``cubilete`` that dies at its next COMMIT, before or after it, when a file asks for it."""

import os
import threading
from pathlib import Path
from typing import Any

from sqlalchemy.engine.default import DefaultDialect

from service.cli import main

_DATA_DIR = Path(os.environ.get("CUBILETE_DATA_DIR", "data"))
_commit = DefaultDialect.do_commit


def request_file(when: str, data_dir: Path = _DATA_DIR) -> Path:
    """The file that asks; it is removed by the death that it asked for."""
    return data_dir / f"die-{when}-commit"


def _die(when: str) -> None:
    asked = request_file(when)
    if threading.current_thread().name == "committer" and asked.exists():
        asked.unlink()
        os._exit(9)


def _mortal_commit(self: DefaultDialect, connection: Any) -> None:
    _die("before")
    _commit(self, connection)
    _die("after")


if __name__ == "__main__":
    setattr(DefaultDialect, "do_commit", _mortal_commit)  # noqa: B010
    main()
