"""Names on the disk: what is written is durable only once the directory that names it is."""

import os
from pathlib import Path


def sync_names(directory: Path) -> None:
    """The names in a directory survive a power cut from now on."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
