"""``fair-dice/1``: from a committed root to the faces of every throw. Pure.

The server commits to ``k_0`` before anybody sits down. Throw ``i`` uses key ``k_i`` and publishes
it; anybody can check that it hashes to the key published before, and that its faces follow from
it. Source: ``docs/fair-dice.md``, whose sections are cited below.
"""

import hmac
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate, count
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from service.errors import ThrowsExhausted

PROTOCOL: Final = "fair-dice/1"
THROWS_LIMIT: Final = 65_535
DICE_LIMIT: Final = 64
_WORDS: Final = 2**32
_BLOCK: Final = 32  # keys between two checkpoints of a chain

Face: TypeAlias = int | str


def u32(number: int) -> bytes:
    """Four bytes, big-endian (section 1)."""
    return number.to_bytes(4, "big")


def enc(*fields: bytes) -> bytes:
    """Each field behind its length: no two lists of fields share an encoding (section 1)."""
    return b"".join([len(part).to_bytes(4, "big") + part for part in fields])


def tagged_hash(name: str, *fields: bytes) -> bytes:
    """``H(name, f..)`` of section 1: 32 bytes."""
    return sha256(enc(f"{PROTOCOL}/{name}".encode(), *fields)).digest()


def tagged_mac(key: bytes, name: str, *fields: bytes) -> bytes:
    """``MAC(key, name, f..)`` of section 1: 32 bytes."""
    return hmac.digest(key, enc(f"{PROTOCOL}/{name}".encode(), *fields), "sha256")


# The two messages that every throw takes have one layout each, so that a single call fills it: a
# chain takes tens of thousands of them. A length stands before each number (4) and key (32).
_CHAIN: Final = enc(f"{PROTOCOL}/chain".encode()) + u32(4)
_chain_message: Final = struct.Struct(f">{len(_CHAIN)}s I I 32s").pack


def previous_key(number: int, key: bytes) -> bytes:
    """``k_{i-1}`` from the 32 bytes of ``k_i`` (section 2): H("chain", u32(i), k_i)."""
    return sha256(_chain_message(_CHAIN, number, 32, key)).digest()


def client_commit(game: str, seed: bytes) -> bytes:
    """What a seat commits to in mode ``sealed`` (section 2)."""
    return tagged_hash("client-commit", game.encode(), seed)


def pseudonym(salt: bytes, name: str) -> bytes:
    """``who`` of a ``joined`` entry: binds a name without publishing it (section 4)."""
    return tagged_hash("who", salt, name.encode())


def context(game: str, commitment: bytes, seeds: Mapping[int, bytes]) -> bytes:
    """``X`` of section 2; ``seeds`` holds the contributing seats only, in any order."""
    parts = [part for seat in sorted(seeds) for part in (u32(seat), seeds[seat])]
    return tagged_hash("context", game.encode(), commitment, *parts)


@dataclass(frozen=True, slots=True)
class Die:
    """A list of faces, each with an integer weight (section 3).

    Raises ValueError unless every face has a weight >= 0 and 1 <= their sum < 2**32.
    """

    faces: tuple[Face, ...]
    weights: tuple[int, ...]
    _bounds: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _total: int = field(init=False, repr=False, compare=False)
    _limit: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.faces) != len(self.weights) or any(weight < 0 for weight in self.weights):
            raise ValueError("a die needs one weight >= 0 for each face")
        total = sum(self.weights)
        if not 1 <= total < _WORDS:
            raise ValueError("the weights of a die sum to 1 .. 2**32 - 1")
        object.__setattr__(self, "_bounds", tuple(accumulate(self.weights)))
        object.__setattr__(self, "_total", total)
        object.__setattr__(self, "_limit", _WORDS - _WORDS % total)

    def face_of(self, number: int) -> Face:
        """The face that ``number``, 0 .. sum of the weights - 1, falls on."""
        return self.faces[bisect_right(self._bounds, number)]

    def face_by(self, words: Iterator[int]) -> Face:
        """The face that the words of one die give: the first below the limit decides, so that
        every number is equally likely."""
        return self.face_of(next(word for word in words if word < self._limit) % self._total)

    def to_json(self) -> dict[str, Any]:
        """As the ``created`` entry holds it."""
        return {"faces": list(self.faces), "weights": list(self.weights)}


D6: Final = Die((1, 2, 3, 4, 5, 6), (1, 1, 1, 1, 1, 1))


def even_die(faces: int) -> Die:
    """A die with the faces 0 .. ``faces`` - 1, all alike: draws a seat or a text."""
    return Die(tuple(range(faces)), (1,) * faces)


# HMAC-SHA256 (RFC 2104) written out: its two hashes take half of the time that ``hmac.digest``
# does for a message as short as a die's, and the dice of a throw share what the key gives.
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
_OUTER_REST: Final = _OUTER[:1] * 32
_DIE: Final = _INNER[:1] * 32 + enc(f"{PROTOCOL}/die".encode()) + u32(32)
_E: Final = enc(b"")
_die_message: Final = struct.Struct(f">32s {len(_DIE)}s 32s {len(_E)}s 6I").pack
_first_word: Final = struct.Struct(">I28x").unpack
_eight_words: Final = struct.Struct(">8I").unpack


def faces(key: bytes, context: bytes, throw: int, dice: Sequence[Die]) -> tuple[Face, ...]:
    """All faces of throw ``throw`` with its key ``k_throw`` (section 3); key and context have 32
    bytes each."""
    inner, outer = key.translate(_INNER), key.translate(_OUTER) + _OUTER_REST
    shown = []
    for number, die in enumerate(dice):
        message = _die_message(inner, _DIE, context, _E, 4, throw, 4, number, 4, 0)
        (word,) = _first_word(sha256(outer + sha256(message).digest()).digest())
        if word < die._limit:
            shown.append(die.face_of(word % die._total))
        else:
            shown.append(die.face_by(_words(inner, outer, context, throw, number)))
    return tuple(shown)


def _words(inner: bytes, outer: bytes, context: bytes, throw: int, die: int) -> Iterator[int]:
    """All words of one die, block after block: what ``faces`` needs if it refuses the first."""
    for block in count():
        message = _die_message(inner, _DIE, context, _E, 4, throw, 4, die, 4, block)
        yield from _eight_words(sha256(outer + sha256(message).digest()).digest())


class KeyChain:
    """The keys ``k_0 .. k_N`` that follow from one root ``k_N`` (section 2).

    Hashing runs from the root down, throws run up. Every 32nd key is kept as a checkpoint and the
    32 keys in use are kept whole, so that the next key costs the same at any throw.
    """

    __slots__ = ("_block", "_block_number", "_checkpoints", "length", "root")

    def __init__(self, root: bytes, length: int) -> None:
        if not 1 <= length <= THROWS_LIMIT or len(root) != 32:
            raise ValueError(f"a chain has a root of 32 bytes and 1 .. {THROWS_LIMIT} keys")
        self.root = root
        self.length = length
        self._checkpoints: list[bytes] = []
        key = root
        for number in range(length, 0, -1):
            if number % _BLOCK == 0:
                self._checkpoints.append(key)
            key = previous_key(number, key)
        self._checkpoints.append(key)
        self._checkpoints.reverse()
        self._block: list[bytes] = []
        self._block_number = -1

    @property
    def commitment(self) -> bytes:
        """``k_0``."""
        return self._checkpoints[0]

    def key(self, number: int) -> bytes:
        """``k_number``; raises ThrowsExhausted past the root."""
        if number > self.length:
            raise ThrowsExhausted
        block, offset = divmod(number, _BLOCK)
        if block != self._block_number:
            self._block = self._keys_of(block)
            self._block_number = block
        return self._block[offset]

    def _keys_of(self, block: int) -> list[bytes]:
        first = block * _BLOCK
        last = min(first + _BLOCK, self.length)
        key = self.root if last == self.length else self._checkpoints[block + 1]
        keys = [key]
        for number in range(last, first, -1):
            key = previous_key(number, key)
            keys.append(key)
        keys.reverse()
        return keys


class Throw(NamedTuple):
    """All dice of one roll, with the key that proves them. ``seat`` is null for the table's own."""

    number: int
    seat: int | None
    dice: tuple[str, ...]
    faces: tuple[Face, ...]
    key: bytes

    def to_json(self) -> dict[str, Any]:
        """As an ``acted`` entry holds it."""
        return {
            "throw": self.number,
            "seat": self.seat,
            "dice": list(self.dice),
            "faces": list(self.faces),
            "key": self.key.hex(),
        }


class Dice(Protocol):
    """What rules throw with: they name dice and see faces, never keys."""

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        """Throw these dice for a seat (null: for the table). May raise ThrowsExhausted."""


class Cup:
    """Hands out the throws of one action in order and records them."""

    def __init__(self, chain: KeyChain, context: bytes, used: int, dice: Mapping[str, Die]) -> None:
        self._chain = chain
        self._context = context
        self._used = used
        self._dice = dice
        self.throws: list[Throw] = []

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        """The next throw of the chain; raises ThrowsExhausted when no key is left."""
        if not 1 <= len(dice) <= DICE_LIMIT:
            raise ValueError(f"a throw has 1 .. {DICE_LIMIT} dice")
        number = self._used + len(self.throws) + 1
        key = self._chain.key(number)
        shown = faces(key, self._context, number, [self._dice[name] for name in dice])
        self.throws.append(Throw(number, seat, tuple(dice), shown, key))
        return shown
