"""The judge of a game: its stored lines and what its clients were told, and nothing else.

It asks no server. Every fault is one line of text; no line means that nothing was found.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from service.dice import Die, KeyChain, faces
from service.errors import CubileteError
from service.game import Game, fold
from service.log import Entry, canonical, entry_hash, jsonl, parse
from service.replay import audit
from service.verify import receipt_message, verify_log

_ENDED: Final = ("finished", "abandoned", "void")
_BROKEN: Final = (ValueError, LookupError, TypeError, AttributeError, CubileteError)


@dataclass(frozen=True, slots=True)
class Told:
    """A change that was acknowledged: the key of the request, the body of the answer, and whether
    the change adds entries to the log (a token that is renewed adds none)."""

    key: str
    body: bytes
    adds: bool = True


@dataclass(frozen=True, slots=True)
class Stored:
    """A game as the database has it: its lines, and its snapshot as a game."""

    lines: Sequence[bytes]
    game: Game


def faults(stored: Stored, told: Sequence[Told], root: bytes, keys: Sequence[bytes]) -> list[str]:
    """All that is wrong with a game; ``root`` is that of its dice, ``keys`` are the public keys
    that receipts may be signed with.

    ``told`` holds every acknowledged change of the game: an entry that none of them accounts for
    is a fault as well.
    """
    try:
        entries = [parse(line) for line in stored.lines]
    except ValueError as error:
        return [f"a line that is none: {error}"]
    found = list(_gaps(entries))
    found += found or _logged(stored, entries, root)
    return found + list(_accounted(stored.lines, entries, told, keys))


def _gaps(entries: Sequence[Entry]) -> Iterator[str]:
    numbers = [entry.seq for entry in entries]
    if numbers != list(range(len(numbers))) or not numbers:
        yield f"the versions are {numbers}"


# --- the log by itself --------------------------------------------------------------------------


def _logged(stored: Stored, entries: Sequence[Entry], root: bytes) -> list[str]:
    claim = stored.game.status if stored.game.status in _ENDED else None
    report = verify_log(jsonl(stored.lines), claim=claim, public_keys=())
    found = [] if report.ok else [f"the verifier: {report.verdict()}"]
    try:
        found += _folded(stored, entries)
        audit(stored.lines)
    except _BROKEN as error:
        found.append(f"the rules: {error!r}")
    try:
        found += _dice(entries, root)
    except _BROKEN as error:
        found.append(f"the dice: {error!r}")
    return found


def _folded(stored: Stored, entries: Sequence[Entry]) -> Iterator[str]:
    """Folds the log; the snapshot is what it leads to, and chips neither come nor go."""
    game: Game | None = None
    chips = set[int | None]()
    for entry, line in zip(entries, stored.lines, strict=True):
        game = fold(game, entry, line)
        if game.state is not None:
            chips.add(game.ruleset.chips_in_play(game.state))
    if len(chips) > 1:
        yield f"the chips in play were {sorted(map(str, chips))}"
    if game != stored.game:
        yield "the snapshot is not what the log leads to"
        return
    held = None if game.outcome is None else game.outcome.chips
    if held is not None and {sum(held)} != chips:
        yield f"the chips at the end are {held} of {chips}"


def _dice(entries: Sequence[Entry], root: bytes) -> Iterator[str]:
    """Every throw shows what the root dictates, and the throws are counted without a gap."""
    setup = entries[0].data
    chain = KeyChain(root, setup["throws_max"])
    if chain.commitment.hex() != setup["commitment"]:
        yield "the root does not lead to the commitment"
    dice = {
        name: Die(tuple(die["faces"]), tuple(die["weights"])) for name, die in setup["dice"].items()
    }
    due = 0
    context = b""
    for entry in entries:
        if entry.type == "started":
            context = bytes.fromhex(entry.data["context"])
        for throw in entry.data.get("throws", ()):
            due += 1
            key = chain.key(due)
            shown = faces(key, context, due, [dice[name] for name in throw["dice"]])
            made = (throw["throw"], throw["key"], tuple(throw["faces"]))
            if made != (due, key.hex(), shown):
                yield f"throw {due} of entry {entry.seq} shows {made}"


# --- the log against what clients were told -----------------------------------------------------


def _accounted(
    lines: Sequence[bytes], entries: Sequence[Entry], told: Sequence[Told], keys: Sequence[bytes]
) -> Iterator[str]:
    """Every acknowledged change stands once, in the order of versions, and there are no others."""
    known = 0  # entries that an acknowledged change accounts for
    answers = [(json.loads(one.body), one) for one in told]
    for answer, one in sorted(answers, key=lambda pair: _version(pair[0])):
        last = _version(answer)
        if last >= len(lines):
            yield f"lost: {one.key} was told version {last} of {len(lines) - 1}"
            continue
        if one.adds and last < known:
            yield f"doubled: {one.key} and another were told version {last}"
        elif answer.get("entry") is not None:
            yield from _acted(answer["entry"], lines, known, one.key)
        known = max(known, last + 1) if one.adds else known
        yield from _receipt(answer["receipt"], lines, last, one.key, keys)
    if known + _by_the_table(entries) < len(lines):
        yield f"nobody's: the entries {known} to {len(lines) - 1}, {entries[-1].type}"


def _by_the_table(entries: Sequence[Entry]) -> int:
    """How many entries at the end nobody had asked for: seeds were overdue."""
    last = entries[-1]
    return int(last.type == "void" and last.data["reason"] == "no_reveal")


def _version(answer: Mapping[str, Any]) -> int:
    version: int = answer["game"]["version"]
    return version


def _acted(entry: Mapping[str, Any], lines: Sequence[bytes], known: int, key: str) -> Iterator[str]:
    seq: int = entry["seq"]
    if canonical(entry) != lines[seq]:
        yield f"changed: entry {seq} is not the one that {key} was told"
    if seq != known:
        yield f"nobody's: the entries {known} to {seq - 1}, before that of {key}"


def _receipt(
    receipt: Mapping[str, Any],
    lines: Sequence[bytes],
    version: int,
    key: str,
    keys: Sequence[bytes],
) -> Iterator[str]:
    """It links to the entry that the answer ends with, and the server has signed it."""
    head = entry_hash(lines[version])
    if (receipt["seq"], receipt["head"]) != (version, head.hex()):
        yield f"the receipt of {key} does not link to entry {version}"
    signed = receipt_message(receipt["game"], receipt["seq"], bytes.fromhex(receipt["head"]))
    for public in keys:
        if hashlib.sha256(public).hexdigest()[:16] == receipt["key_id"]:
            try:
                verifier = Ed25519PublicKey.from_public_bytes(public)
                verifier.verify(bytes.fromhex(receipt["sig"]), signed)
            except InvalidSignature:
                break
            return
    yield f"nobody has signed the receipt of {key}"
