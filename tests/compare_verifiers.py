"""Two verifiers, one verdict: random games, and copies of them in which something was changed, are
given to ``service/verify.py`` and to ``service/web/verify.js``.

    python -m tests.compare_verifiers --games 10000 --seed 1
"""

import argparse
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service import verify
from service.keys import SigningKeys
from tests.javascript import JavaScriptVerifier
from tests.random_games import random_games

Lines: TypeAlias = list[bytes]
Given: TypeAlias = dict[str, Any]

_BYTES: Final = 2  # copies of each game with a byte changed
_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 7, 64, 65, 2**16, 2**32, 2**53 - 1, "", "d6", "0", "0" * 64,
    "F" * 64, "bot", "sealed", "finished", [], {}, [1], ["d6"], {"kind": "x"}, "\u202e\x7f",
)  # fmt: skip
_SIGNER: Final = SigningKeys(bytes(range(32)))
_SECOND: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))
_SECOND_KEY: Final = _SECOND.public_key().public_bytes_raw().hex()


class Disagreement(AssertionError):
    """The two verifiers say different things of the same bytes."""


@dataclass
class Counts:
    """What was compared."""

    games: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    throws: int = 0

    @property
    def compared(self) -> int:
        return sum(self.kinds.values())


def compare(count: int, number: int, progress: Callable[[str], None] = lambda _: None) -> Counts:
    """As many games with their changed copies; raises Disagreement at the first difference."""
    counts = Counts()
    random = Random(f"changes {number}")
    with JavaScriptVerifier() as other:
        for one, (key, mode, log) in enumerate(random_games(count, number), 1):
            counts.games[key] += 1
            counts.modes[mode] += 1
            for kind, data, given in _cases(random, log):
                report = agreed(other, data, given)
                counts.kinds[kind] += 1
                counts.verdicts[report.failure.code if report.failure else "ok"] += 1
                if kind == "log":
                    if not report.ok:
                        raise Disagreement(f"a game that was played is refused: {report.verdict()}")
                    counts.statuses[report.status] += 1
                    counts.entries += report.entries
                    counts.throws += report.throws
            if one % 500 == 0:
                progress(f"{one} games, {counts.compared} verdicts, all equal")
    return counts


def agreed(other: JavaScriptVerifier, data: bytes, given: Given) -> verify.Report:
    """The report, once both have come to the same one."""
    other.ask(data, given)
    report = verify.verify(data, **given)
    ours, theirs = _verdict(report.to_json()), _verdict(other.answer())
    if ours != theirs:
        wrong = [name for name in ours if ours[name] != theirs[name]]
        told = "\n".join(f"{name}: {ours[name]!r} / {theirs[name]!r}" for name in wrong)
        raise Disagreement(f"{told}\ngiven: {given}\nbytes: {data!r}")
    return report


def _verdict(report: dict[str, Any]) -> dict[str, Any]:
    """All of a report but its sentences, of which only the number is compared."""
    failure = report["failure"]
    told = {
        **report,
        "failure": failure and (failure["seq"], failure["code"]),
        "notes": len(report["notes"]),
    }
    plain: dict[str, Any] = json.loads(json.dumps(told))
    return plain


# --- What is given to both -----------------------------------------------------------------------


def _cases(random: Random, log: bytes) -> Iterator[tuple[str, bytes, Given]]:
    """The game as log and as audit record, and changed copies of both: a byte, a value with all
    hashes made again, whole lines."""
    report = verify.verify_log(log)
    lines = log[:-1].split(b"\n")
    record = _record(random, lines, report)
    yield "log", log, {}
    yield "record", record, _given(random, report)
    for _ in range(_BYTES):
        yield "byte", _byte_changed(random, random.choice((log, record))), _given(random, report)
    yield "value", _jsonl(_forged(random, lines)), {}
    changed = _lines_changed(random, lines)
    whole = random.random() < 0.5
    yield "lines", _jsonl(changed) if whole else _record(random, changed, report), {}


def _jsonl(lines: Lines) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _receipt(report: verify.Report, seq: int, head: str) -> dict[str, Any]:
    signed = _SIGNER.sign(report.game or "", seq, bytes.fromhex(head))
    receipt: dict[str, Any] = signed.to_json()
    return receipt


def _record(random: Random, lines: Lines, report: verify.Report) -> bytes:
    """An audit record around these lines, with the head and the status of the whole game."""
    last = json.loads(lines[-1])["type"] if lines else ""
    unfinished = "playing" if b'"type":"started"' in b"".join(lines) else "waiting"
    document = {
        "protocol": verify.PROTOCOL,
        "game": report.game,
        "status": last if last in verify.ENDS else unfinished,
        "log": [line.decode() for line in lines],
        "public_keys": [_SIGNER.public[0].hex()],
        "receipt": random.choice(
            (None, _receipt(report, report.entries - 1, report.head)),
        ),
    }
    indent = random.choice((None, None, 1))
    return json.dumps(document, indent=indent, ensure_ascii=random.random() < 0.5).encode()


def _given(random: Random, report: verify.Report) -> Given:
    """Claims, receipts and keys, right ones and wrong ones."""
    seq = random.choice((report.entries - 1, report.entries - 1, report.entries, 0))
    head = random.choice((report.head, report.head, "00" * 32))
    receipt = _receipt(report, seq, head)
    name, value = random.choice(list(receipt.items()))
    spoilt = random.choice((value, value, _VALUES[random.randrange(len(_VALUES))]))
    keys = [_SECOND_KEY, _SIGNER.public[0].hex()]
    return {
        "claim": random.choice((None, None, report.status, "finished", "playing", "won")),
        "receipts": random.choice(([], [receipt], [receipt | {name: spoilt}])),
        "public_keys": random.choice((keys, keys, keys[:1], [])),
    }


# --- Changes -------------------------------------------------------------------------------------


def _byte_changed(random: Random, data: bytes) -> bytes:
    """One byte changed, dropped or put in."""
    place = random.randrange(len(data))
    byte = random.choice((data[place] ^ 1 << random.randrange(8), *b'\x00 "0{[\\\n\xff'))
    return random.choice(
        (
            data[:place] + bytes([byte]) + data[place + 1 :],
            data[:place] + bytes([byte]) + data[place + 1 :],
            data[:place] + data[place + 1 :],
            data[:place] + bytes([byte]) + data[place:],
        )
    )


def _lines_changed(random: Random, lines: Lines) -> Lines:
    """A line dropped, doubled or swapped with the next one, or the rest cut off."""
    place = random.randrange(len(lines))
    before, line, after = lines[:place], lines[place], lines[place + 1 :]
    return random.choice(
        (
            before + after,
            [*before, line, line, *after],
            [*before, *after[:1], line, *after[1:]],
            before,
        )
    )


def _forged(random: Random, lines: Lines) -> Lines:
    """One value changed, or a field put in, and all hashes after it made again."""
    entries = [json.loads(line) for line in lines]
    early = min(len(entries), 6)
    place = random.choice((random.randrange(early), random.randrange(len(entries))))
    holders = list(_containers(entries[place]))
    holder: Any = random.choice(holders)
    value = random.choice((*_VALUES, *_leaves(entries[random.randrange(len(entries))])))
    if isinstance(holder, list):
        if holder and random.random() < 0.8:
            holder[random.randrange(len(holder))] = value
        else:
            holder.append(value)
    elif holder and random.random() < 0.9:
        name = random.choice(list(holder))
        if random.random() < 0.1:
            del holder[name]
        else:
            holder[name] = value
    else:
        holder["further"] = value
    return _chained(entries, place)


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _leaves(value: Any) -> Iterator[Any]:
    for holder in _containers(value):
        inner = holder.values() if isinstance(holder, dict) else holder
        yield from (leaf for leaf in inner if not isinstance(leaf, dict | list))


def _chained(entries: Sequence[Any], start: int) -> Lines:
    lines: Lines = []
    for seq, entry in enumerate(entries):
        if seq > start and type(entry) is dict:
            entry["prev"] = verify.tagged_hash("entry", lines[-1]).hex()
        text = json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        lines.append(text.encode())
    return lines


# --- Command line --------------------------------------------------------------------------------


def _told(counts: Counts, number: int, seconds: float) -> str:
    def listed(counted: Counter[str]) -> str:
        return ", ".join(f"{name} {found}" for name, found in sorted(counted.items()))

    return "\n".join(
        (
            f"games: {sum(counts.games.values())} ({listed(counts.games)})",
            f"seed modes: {listed(counts.modes)}",
            f"statuses: {listed(counts.statuses)}",
            f"entries: {counts.entries}, throws: {counts.throws}",
            f"verdicts compared: {counts.compared} ({listed(counts.kinds)})",
            f"verdicts: {listed(counts.verdicts)}",
            f"all equal; seed {number}, {seconds:.0f} s",
        )
    )


def main() -> None:
    """Prints the counts; a disagreement ends it with the bytes on which the verifiers differ."""
    parser = argparse.ArgumentParser(prog="compare_verifiers", description=__doc__)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="of an earlier run, to repeat it")
    given = parser.parse_args()
    number = secrets.randbelow(2**32) if given.seed is None else given.seed
    print(f"seed {number}", flush=True)
    start = time.monotonic()
    counts = compare(given.games, number, lambda text: print(text, flush=True))
    print(_told(counts, number, time.monotonic() - start))


if __name__ == "__main__":
    main()
