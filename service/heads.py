"""The head file: the newest head of every game, in a second place beside the database.

A database that is restored from a backup has forgotten entries that players have seen, and would
use their keys again for other throws. The head file remembers: a game behind its last known head
is ended when the server starts. Source: ``docs/fair-dice.md``, section 5.
"""

import contextlib
import fcntl
import os
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.durable import sync_names
from service.errors import BadSetting

FILE: Final = "heads.log"
_LINE: Final = re.compile(r"([A-Za-z0-9_-]{1,64}) (0|[1-9][0-9]{0,15}) ([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Head:
    """The hash of a game's entry ``seq``, the newest one that was acknowledged."""

    game: str
    seq: int
    hash: bytes


class HeadFile:
    """Appended to after every commit, before its answers; one line a game that moved.

    It is shortened to one line a game on opening, unless another process is using it or there is
    no room for a second one. Raises BadSetting if it can't be written.
    """

    def __init__(self, data_dir: Path, sync: bool) -> None:
        self._path = data_dir / FILE
        self._sync = sync
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(
                data_dir / f"{FILE}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            alone = self._alone()
            self._owed: dict[str, Head] = {}
            self._writing = threading.Lock()
            self._known = _read(self._path)
            if alone:
                self._shorten()
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            self._handle = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
            sync_names(data_dir)
        except OSError as error:
            raise BadSetting(f"CUBILETE_DATA_DIR: {self._path}: {error.strerror}") from None

    def _alone(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _shorten(self) -> None:
        if not self._known:
            return
        draft = self._path.with_name(f"{FILE}.new")
        private = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(private, "w", encoding="ascii") as file:
                file.writelines(_line(head) for head in self._known.values())
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            draft.unlink(missing_ok=True)
            return
        draft.replace(self._path)

    def recall(self) -> dict[str, Head]:
        """What stood in the file when it was opened, by game. It may be large, and is told once."""
        known, self._known = self._known, {}
        return known

    def _torn(self) -> bool:
        """Whether a crash or a full disk has left half a line at the end."""
        size = os.fstat(self._handle).st_size
        return size > 0 and os.pread(self._handle, 1, size - 1) != b"\n"

    def append(self, heads: Iterable[Head]) -> None:
        """Adds the newest heads, on disk when this returns (unless syncing is off).

        Raises OSError if they could not be written whole; then they are owed, and written with
        those that follow.
        """
        with self._writing:
            self._owed.update((head.game, head) for head in heads)
            self._write("".join(map(_line, self._owed.values())).encode())
            self._owed.clear()

    def owe(self, heads: Sequence[Head]) -> None:
        """Adds heads that a full disk or a death has kept from the file; they are owed if it can't
        take them now."""
        if heads:
            with contextlib.suppress(OSError):
                self.append(heads)

    def settle(self) -> None:
        """Writes the heads that are owed; raises OSError while they can't be."""
        if self._owed:
            self.append(())

    def _write(self, text: bytes) -> None:
        if self._torn():  # a torn line by itself is passed over
            text = b"\n" + text
        if os.write(self._handle, text) != len(text):
            raise OSError("the disk took a part of the heads")
        if self._sync:
            getattr(os, "fdatasync", os.fsync)(self._handle)  # which macOS does not have

    def close(self) -> None:
        """Writes what is owed, if that can be done now, and lets the file go."""
        with contextlib.suppress(OSError):
            self.settle()
        os.close(self._handle)
        os.close(self._lock)


def _line(head: Head) -> str:
    return f"{head.game} {head.seq} {head.hash.hex()}\n"


def _read(path: Path) -> dict[str, Head]:
    """The newest head of each game; a line that a crash has torn is passed over."""
    newest: dict[str, Head] = {}
    if not path.exists():
        return newest
    with path.open(encoding="ascii", errors="replace") as file:
        for line in file:
            match = _LINE.fullmatch(line.rstrip("\n"))
            if match is None:
                continue
            head = Head(match[1], int(match[2]), bytes.fromhex(match[3]))
            before = newest.get(head.game)
            if before is None or before.seq <= head.seq:
                newest[head.game] = head
    return newest
