"""Audit records of games that are about to be deleted, in files that outlive them."""

import gzip
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from service.durable import sync_names
from service.errors import BadSetting


def open_directory(directory: Path) -> None:
    """Makes the directory for records; raises BadSetting if nothing can be written there."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        raise BadSetting(f"CUBILETE_EXPORT_DIR: {error.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise BadSetting("CUBILETE_EXPORT_DIR: nothing can be written there")


def path_of(directory: Path, day: str, game_id: str) -> Path:
    """Where the record of a game that ended on a day (``YYYY-MM-DD``) lies."""
    return directory / day / f"{game_id}.audit.json.gz"


def write(path: Path, record: bytes) -> None:
    """A record on disk, compressed, with its name, when this returns; one that is there already
    is replaced whole. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{uuid4().hex}")
    private = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(private, "wb") as file:
            file.write(gzip.compress(record, mtime=0))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    for directory in (path.parent, path.parent.parent):
        sync_names(directory)
