"""The log of a game: entries, their canonical lines and the hash chain through them. Pure.

Source: ``docs/fair-dice.md``, section 4. A line is stored and served as the bytes rendered here;
everything else that is known of an entry derives from them.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

import orjson

from service.dice import PROTOCOL, enc, u32
from service.errors import failed_allocation

EntryType: TypeAlias = Literal[
    "created",
    "joined",
    "left",
    "sealed",
    "seed_revealed",
    "started",
    "acted",
    "finished",
    "abandoned",
    "void",
]
ENTRY_TYPES: Final = frozenset(get_args(EntryType))
NO_HASH: Final = bytes(32)
INTEGER_LIMIT: Final = 2**53 - 1
DEPTH_LIMIT: Final = 64
_ENTRY: Final = enc(f"{PROTOCOL}/entry".encode())
_KEY: Final = re.compile(r"[a-z][a-z0-9_]*")


class NotCanonical(ValueError):
    """A value that no line may hold, or a line that is not its own re-rendering."""


class Entry(NamedTuple):
    """One accepted action or lifecycle step. ``at`` is integer milliseconds UTC, information only;
    ``prev`` is the hash of the entry before (32 zero bytes for ``seq`` 0)."""

    game: str
    seq: int
    prev: bytes
    at: int
    type: EntryType
    data: dict[str, Any]

    def line(self) -> bytes:
        """The one canonical rendering, without a newline.

        What an entry of ours holds is checked where it comes in; ``parse`` checks every line.
        """
        return _render(
            {
                "v": 1,
                "game": self.game,
                "seq": self.seq,
                "prev": self.prev.hex(),
                "at": self.at,
                "type": self.type,
                "data": self.data,
            }
        )


def _render(value: Any) -> bytes:
    """RFC 8785 for values that a line may hold: their keys are ASCII, so that sorting by bytes is
    the RFC's order, and without floats the encoder writes and escapes as the RFC asks."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def canonical(value: Any) -> bytes:
    """RFC 8785 for the values a line may hold; raises NotCanonical for any other."""
    _check(value, 1)
    try:
        return _render(value)
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise NotCanonical("a text with lone surrogates") from error


def _check(value: Any, depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise NotCanonical("nested too deep")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise NotCanonical("a key that is not [a-z][a-z0-9_]*")
            _check(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, int):
        if abs(value) > INTEGER_LIMIT:
            raise NotCanonical("an integer beyond 2**53 - 1")
    elif value is not None and not isinstance(value, str):
        raise NotCanonical(f"a {type(value).__name__}")


def parse(line: bytes) -> Entry:
    """The entry of a stored line; raises NotCanonical unless the line is its own rendering."""
    try:
        value = orjson.loads(line)
        if canonical(value) != line:
            raise NotCanonical("not the canonical rendering")
        if value.keys() != {"v", "game", "seq", "prev", "at", "type", "data"}:
            raise NotCanonical("not the fields of an entry")
        if type(value["v"]) is not int or value["v"] != 1 or value["type"] not in ENTRY_TYPES:
            raise NotCanonical("not an entry of version 1")
        return Entry(
            game=value["game"],
            seq=value["seq"],
            prev=bytes.fromhex(value["prev"]),
            at=value["at"],
            type=cast(EntryType, value["type"]),
            data=value["data"],
        )
    except NotCanonical:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if failed_allocation(error) is not None:
            raise MemoryError from error  # which says nothing about the line
        raise NotCanonical("not JSON as a line holds it") from error


def entry_hash(line: bytes) -> bytes:
    """What the next entry names as ``prev``, and a receipt signs as the head."""
    return sha256(_ENTRY + u32(len(line)) + line).digest()


def jsonl(lines: Iterable[bytes]) -> bytes:
    """A log as a file: every line followed by one newline, which is not hashed."""
    return b"".join(line + b"\n" for line in lines)
