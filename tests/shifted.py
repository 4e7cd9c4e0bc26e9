"""``cubilete`` whose clock a test sets: ``now`` in the data directory holds milliseconds UTC, and
then the time stands still; without the file it is the machine's."""

import os
import time
from pathlib import Path

from service.api import house
from service.cli import main
from service.store import Store

_DATA_DIR = Path(os.environ.get("CUBILETE_DATA_DIR", "data"))


def clock_file(data_dir: Path = _DATA_DIR) -> Path:
    """The file that tells the time."""
    return data_dir / "now"


def _now() -> int:
    try:
        return int(clock_file().read_text("ascii"))
    except FileNotFoundError:
        return time.time_ns() // 1_000_000


async def _no_time(_: Store) -> None:
    """The database has its own clock, which no test sets."""


# Every worker imports this module anew, under another name.
setattr(house, "_wall", _now)  # noqa: B010
setattr(Store, "time", _no_time)  # noqa: B010

if __name__ == "__main__":
    main()
