"""Offline verifier of `fair-dice/1` logs. This one file, copied anywhere, is all of it, and it
needs nothing but Python 3.11 or newer:

    python verify.py FILE-or-URL [--receipt FILE] [--public-key HEX] [--claim finished]
                     [--json] [--verbose]

It is written from the specification (`fair-dice.md`; "section n" below is a section of it) and
shares no code with the server. To read it: encoding and dice (sections 1-3), canonical lines and
fields (section 4), receipts (section 5), then `_Log`, which takes a log entry by entry and stops
at the first fault. Only the last part, the command line, does any I/O.
"""

import argparse
import hmac
import http.client
import json
import os
import re
import struct
import sys
import time
import urllib.parse
import urllib.request
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256, sha512
from itertools import accumulate, count
from typing import Any, NamedTuple, NoReturn

PROTOCOL = "fair-dice/1"
SEED_MODES = ("operator", "practice", "open", "sealed")
ENDS = ("finished", "abandoned", "void")
THROWS_MAX, DICE_MAX, DEPTH_MAX = 65_535, 64, 64
TURN_SECONDS, ABSENCES = range(5, 604_801), 3
U32_MAX, INTEGER_MAX = 2**32 - 1, 2**53 - 1
FIRST_PREV = "0" * 64
# Limits of this verifier, not of the protocol: they bound its time and memory on hostile input.
INPUT_MAX, LINE_MAX = 64 * 2**20, 8 * 2**20
CONTAINERS_MAX, NOTES_MAX = 250_000, 20
URL_WAIT_S, URL_TOTAL_S = 20, 120

HEX_32 = re.compile(r"[0-9a-f]{64}")
GAME_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY_NAME = re.compile(r"[a-z][a-z0-9_]*")
# A text without an end matches up to the end of the line, so that no byte is looked at twice.
TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
# The first key of a canonical entry is `at`, and an audit record has none of these keys.
RECORD_START = re.compile(rb'\s*\{\s*"(?!(?:at|data|prev|seq|type|v)")')
GAME_URL_PATH = re.compile(r".*/games/[^/]+")
SHOWN_GAME = re.compile(r"/game/([A-Za-z0-9_-]{1,64})")


class RefusedError(Exception):
    """The first fault: a short code (those of `vectors.json`) and a sentence in plain English."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


# --- Sections 1 and 2: encoding, hashes, keys ---------------------------------------------------


def u32(number: int) -> bytes:
    """Section 1: four bytes, big-endian."""
    return number.to_bytes(4, "big")


def enc(*fields: bytes) -> bytes:
    """Section 1: each field with its length in front, so no two lists of fields look alike."""
    return b"".join(u32(len(field)) + field for field in fields)


def tagged_hash(name: str, *fields: bytes) -> bytes:
    """Section 1: H(name, fields..)."""
    return sha256(enc(f"{PROTOCOL}/{name}".encode(), *fields)).digest()


def mac(key: bytes, name: str, *fields: bytes) -> bytes:
    """Section 1: MAC(key, name, fields..)."""
    return hmac.digest(key, enc(f"{PROTOCOL}/{name}".encode(), *fields), "sha256")


# What H and MAC put before the changing bytes is made once: a chain has up to 65,535 links.
_CHAIN_PREFIX = enc(f"{PROTOCOL}/chain".encode()) + u32(4)
_DIE_PREFIX = enc(f"{PROTOCOL}/die".encode()) + u32(32)
_ENTRY_PREFIX = enc(f"{PROTOCOL}/entry".encode())
_LENGTH_0, _LENGTH_4 = u32(0), u32(4)
# And what stands at a fixed place in a message is put there by one call.
_chain_message = struct.Struct(f">{len(_CHAIN_PREFIX)}s I I 32s").pack


def chain_key(number: int, key: bytes) -> bytes:
    """Section 2: k_{i-1} = H("chain", u32(i), k_i); a key has 32 bytes."""
    return sha256(_chain_message(_CHAIN_PREFIX, number, 32, key)).digest()


def entry_hash(line: bytes) -> str:
    """Section 4: H("entry", line), in hex."""
    return sha256(_ENTRY_PREFIX + u32(len(line)) + line).hexdigest()


def root_from_key(server_key: bytes, salt: bytes, game: str) -> bytes:
    """Section 2: the root at rest, HKDF-SHA256 (RFC 5869) with one block of output."""
    info = enc(f"{PROTOCOL}/root".encode(), game.encode())
    return hmac.digest(hmac.digest(salt, server_key, "sha256"), info + b"\x01", "sha256")


def client_commit(game: str, seed: bytes) -> bytes:
    """Section 2: what a seat publishes before it reveals its seed (mode sealed)."""
    return tagged_hash("client-commit", game.encode(), seed)


def game_context(game: str, commitment: bytes, seeds: Mapping[int, bytes]) -> bytes:
    """Section 2: X, from the contributing seats only, ascending."""
    fields = [field for seat in sorted(seeds) for field in (u32(seat), seeds[seat])]
    return tagged_hash("context", game.encode(), commitment, *fields)


def who(salt: bytes, name: str) -> bytes:
    """Section 4: how a log refers to a name; whoever was given the salt can check it."""
    return tagged_hash("who", salt, name.encode())


# --- Section 3: dice ----------------------------------------------------------------------------


class Die:
    """Section 3: faces with integer weights; W = `total`."""

    def __init__(self, faces: list[Any], weights: list[Any]) -> None:
        if not all(type(face) in (int, str) for face in faces):
            raise RefusedError("dice_def", "a face is neither an integer nor a text")
        if not all(type(weight) is int and weight >= 0 for weight in weights):
            raise RefusedError("dice_def", "a weight is not an integer >= 0")
        if len(faces) != len(weights):
            raise RefusedError("dice_def", f"a die has {len(faces)} faces, {len(weights)} weights")
        self.faces: list[int | str] = faces
        self.cumulative: list[int] = list(accumulate(weights))
        self.total: int = sum(weights)
        if not 1 <= self.total <= U32_MAX:
            raise RefusedError("dice_def", "the weights of a die do not add up to 1 .. 2^32 - 1")
        self.limit = 2**32 - 2**32 % self.total

    def number(self, words: Iterator[int]) -> int:
        """The first word below the limit decides, so that every number is equally likely."""
        for word in words:
            if word < self.limit:
                return word % self.total
        raise AssertionError("the words never end")

    def face(self, number: int) -> int | str:
        """The first face for which the weights up to it exceed the number."""
        return self.faces[bisect_right(self.cumulative, number)]


def throw_prefix(context: bytes, throw: int) -> bytes:
    """Section 3: what all dice of a throw have in common (E is the empty field)."""
    return _DIE_PREFIX + context + _LENGTH_0 + _LENGTH_4 + u32(throw)


def die_words(key: bytes, prefix: bytes, die: int) -> Iterator[int]:
    """Section 3: the 32-bit words of one die, block after block."""
    start = prefix + _LENGTH_4 + u32(die) + _LENGTH_4
    for block in count():
        yield from struct.unpack(">8I", hmac.digest(key, start + u32(block), "sha256"))


# HMAC-SHA256 (RFC 2104) written out: for a message as short as a die's its two hashes take half of
# the time of `hmac.digest`, and all dice of a throw share what becomes of the key.
_IPAD, _OPAD = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_IPAD_REST_AND_DIE, _OPAD_REST = b"\x36" * 32 + _DIE_PREFIX, b"\x5c" * 32
_die_message = struct.Struct(f">32s {len(_IPAD_REST_AND_DIE)}s 32s 7I").pack
_first_word = struct.Struct(">I28x").unpack


def throw_faces(key: bytes, context: bytes, throw: int, dice: Sequence[Die]) -> list[int | str]:
    """Section 3: the faces that a key gives to the dice of its throw; key and context have 32
    bytes each. The first word of a die is looked at by itself: few dice need another one."""
    inner, outer = key.translate(_IPAD), key.translate(_OPAD) + _OPAD_REST
    faces = []
    for d, die in enumerate(dice):
        message = _die_message(inner, _IPAD_REST_AND_DIE, context, 0, 4, throw, 4, d, 4, 0)
        (word,) = _first_word(sha256(outer + sha256(message).digest()).digest())
        if word < die.limit:
            faces.append(die.face(word % die.total))
        else:
            words = die_words(key, throw_prefix(context, throw), d)
            faces.append(die.face(die.number(words)))
    return faces


# --- Section 4: canonical lines and fields ------------------------------------------------------


def _show(value: object) -> str:
    """A stranger's value, short and without control characters."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice in one object")
    if not NAMES.issuperset(members) and not all(map(KEY_NAME.fullmatch, members)):
        key = next(key for key in members if not KEY_NAME.fullmatch(key))
        raise ValueError(f"the key {_show(key)} is not [a-z][a-z0-9_]*")
    return members


def _integer(digits: str) -> int:
    if len(digits) < 16:
        return int(digits)
    # Length first: turning a million digits into an integer would take minutes.
    if len(digits) > 17 or abs(int(digits)) > INTEGER_MAX:
        raise ValueError("an integer beyond 2^53 - 1")
    return int(digits)


def _no_float(number: str) -> NoReturn:
    raise ValueError(f"{_show(number)} is not an integer")


_decode = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_no_float, parse_constant=_no_float
).decode
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def _check_nesting(text: str) -> None:
    """Section 4: depth <= 64. Looked at before parsing, because parsers recurse."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return  # brackets inside texts are counted too; most lines need no closer look
    depth = containers = 0
    for token in TEXT_OR_BRACKET.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            depth, containers = depth + 1, containers + 1
            if depth > DEPTH_MAX or containers > CONTAINERS_MAX:
                raise ValueError(f"more than {DEPTH_MAX} levels or {CONTAINERS_MAX} containers")
        elif mark in "]}":
            depth -= 1


def strict_json(data: bytes) -> Any:
    """JSON with section 4's restrictions, in any rendering. Raises ValueError."""
    text = data.decode("utf-8")
    _check_nesting(text)
    return _decode(text)


def canonical_value(line: bytes) -> Any:
    """Section 4: the value of a line that is its own RFC 8785 rendering. With ASCII keys and
    integers only, that is: keys sorted, no blanks, and escapes where JSON demands them."""
    if len(line) > LINE_MAX:
        raise RefusedError("canonical", f"a line of more than {LINE_MAX} bytes")
    try:
        value = strict_json(line)
        rendering = _encode(value).encode("utf-8")
    except UnicodeError:
        raise RefusedError("canonical", "not UTF-8, or half of a surrogate pair") from None
    except ValueError as error:
        raise RefusedError("canonical", f"not canonical JSON: {error}") from None
    if rendering != line:
        raise RefusedError("canonical", "the line differs from the canonical rendering of itself")
    return value


def jsonl_lines(data: bytes) -> Iterator[bytes]:
    """Section 4: each line ends with one LF, which is not hashed; no blank lines."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        if end < 0:
            raise RefusedError("canonical", "the last line does not end with a line feed")
        if end == start:
            raise RefusedError("canonical", "a blank line")
        yield data[start:end]
        start = end + 1


_JSON_TYPES: dict[str, Any] = {
    kind + null: json_type
    for kind, json_type in {
        "integer": int,
        "text": str,
        "hex": str,
        "object": dict,
        "list": list,
    }.items()
    for null in ("", "?")
}
# Section 4 (and 5: receipt): the fields of everything, with JSON types; `?` = or null.
FIELDS = {
    name: dict(field.split(":") for field in fields.split())
    for name, fields in {
        "entry": "v:integer game:text seq:integer prev:hex at:integer type:text data:object",
        "created": "commitment:hex throws_max:integer seed_mode:text ruleset:object"
        " options:object seats:integer dice:object root:hex?",
        "joined": "seat:integer kind:text who:hex? saw:hex commit:hex? seed:hex?",
        "left": "seat:integer",
        "sealed": "seats:integer",
        "seed_revealed": "seat:integer seed:hex",
        "started": "context:hex",
        "acted": "seat:integer? action:object throws:list events:list",
        "finished": "outcome:object root:hex?",
        "abandoned": "reason:text root:hex?",
        "void": "reason:text root:hex?",
        "ruleset": "key:text version:integer",
        "die": "faces:list weights:list",
        "action": "kind:text",
        "event": "kind:text",
        "throw": "throw:integer seat:integer? dice:list faces:list key:hex",
        "receipt": "v:integer game:text seq:integer head:hex key_id:text sig:text",
        "record": "protocol:text game:text status:text log:list public_keys:list receipt:object?",
    }.items()
}
DIE_NAME_TYPES, FACE_TYPES = frozenset({str}), frozenset({int, str})
# Section 4: a field that may be left out, and its JSON type.
OPTIONAL = {"created": {"turn_seconds": int}}
NAMES = frozenset(name for fields in FIELDS.values() for name in fields)
# The same as `unknown_fields` reads it: name, JSON type, or null, 32 bytes in hex.
_FORMS = {
    what: [
        (name, _JSON_TYPES[kind], kind.endswith("?"), kind.startswith("hex"))
        for name, kind in fields.items()
    ]
    for what, fields in FIELDS.items()
}


def unknown_fields(value: Any, what: str) -> list[str]:
    """Section 4: every field is there with its JSON type (`true` is not `1`); section 1: 32 bytes
    are 64 lowercase hex digits. Returns the fields that the specification does not name."""
    if type(value) is not dict:
        raise RefusedError("fields", f"{what} is not an object")
    fields = FIELDS[what]
    for name, json_type, nullable, in_hex in _FORMS[what]:
        if name not in value:
            raise RefusedError("fields", f"{what} lacks the field {name}")
        field = value[name]
        if field is None and nullable:
            continue
        if type(field) is not json_type:
            kind = fields[name].rstrip("?")
            raise RefusedError("fields", f"{name} of {what} is not of the type {kind}")
        if in_hex and not HEX_32.fullmatch(field):
            raise RefusedError("hex", f"{name} of {what} is not 64 lowercase hex digits")
    if len(value) == len(fields):
        return []  # every name is one of them
    optional = OPTIONAL.get(what, {})
    for name, json_type in optional.items():
        if name in value and type(value[name]) is not json_type:
            raise RefusedError("fields", f"{name} of {what} is not of the type integer")
    return [name for name in value if name not in fields and name not in optional]


# --- Section 5: receipts; Ed25519 verification as in RFC 8032, 5.1.7 ----------------------------

_Point = tuple[int, int, int, int]  # extended coordinates X, Y, Z, T on edwards25519

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_M1 = pow(2, (_P - 1) // 4, _P)
_BASE = b"\x58" + b"\x66" * 31


def _add(p: _Point, q: _Point) -> _Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % _P, (p[1] + p[0]) * (q[1] + q[0]) % _P
    c, d = 2 * p[3] * q[3] * _D % _P, 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _point(encoded: bytes) -> _Point | None:
    """RFC 8032, 5.1.3: a y below p (no second spelling) for which there is an x."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P != u:
        x = x * _SQRT_M1 % _P
    if y >= _P or v * x * x % _P != u or (x == 0 and sign):
        return None
    x = _P - x if x % 2 != sign else x
    return x, y, 1, x * y % _P


def ed25519_verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """R must be the one encoding of [S]B - [k]A, with S < L and A not of small order."""
    base, a = _point(_BASE), _point(public_key)
    s = int.from_bytes(signature[32:], "little")
    if base is None or a is None or s >= _ORDER:
        return False
    a2 = _add(a, a)
    a8 = _add(_add(a2, a2), _add(a2, a2))
    if a8[0] == 0:  # [8]A is the neutral point: such a key accepts what nobody signed
        return False
    hashed = sha512(signature[:32] + public_key + message).digest()
    k = int.from_bytes(hashed, "little") % _ORDER
    minus_a = (_P - a[0], a[1], 1, _P - a[3])
    table = ((0, 1, 1, 0), base, minus_a, _add(base, minus_a))
    r = table[0]
    for bit in range(_ORDER.bit_length() - 1, -1, -1):
        r = _add(_add(r, r), table[(s >> bit & 1) | (k >> bit & 1) << 1])
    z = pow(r[2], -1, _P)
    x, y = r[0] * z % _P, r[1] * z % _P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


def receipt_message(game: str, seq: int, head: bytes) -> bytes:
    """Section 5: what a receipt signs."""
    return enc(f"{PROTOCOL}/head".encode(), game.encode(), u32(seq), head)


def check_receipt(receipt: object, public_keys: Sequence[str]) -> None:
    """Section 5: form, key and signature of a receipt, whatever it says about a log."""
    fields: Any = dict(receipt) if isinstance(receipt, Mapping) else receipt
    try:
        unknown = unknown_fields(fields, "receipt")
    except RefusedError as error:
        raise RefusedError("receipt_form", str(error)) from None
    game, seq, sig = fields["game"], fields["seq"], fields["sig"]
    form = GAME_ID.fullmatch(game) and re.fullmatch("[0-9a-f]{128}", sig)
    if unknown or not form or fields["v"] != 1 or not 0 <= seq <= U32_MAX:
        raise RefusedError("receipt_form", "the receipt is not a receipt of version 1")
    if not all(type(key) is str and HEX_32.fullmatch(key) for key in public_keys):
        raise RefusedError("receipt_key", "a public key is not 64 lowercase hex digits")
    keys = [bytes.fromhex(key) for key in dict.fromkeys(public_keys)]
    keys = [key for key in keys if sha256(key).hexdigest()[:16] == fields["key_id"]]
    if not keys:
        raise RefusedError("receipt_key", f"no given public key has the id of receipt {seq}")
    message = receipt_message(game, seq, bytes.fromhex(fields["head"]))
    if not any(ed25519_verify(key, message, bytes.fromhex(sig)) for key in keys):
        raise RefusedError("receipt_sig", f"the signature of receipt {seq} is not valid")


# --- The report ---------------------------------------------------------------------------------

CHECKS = {  # each check of the report, with the codes that fail it
    "canonical lines": "canonical",
    "fields and types": "fields version type hex record",
    "game id": "game",
    "hash chain of entries": "seq prev",
    "time never decreases": "at",
    "life cycle": "order after_end seat clock",
    "dice definitions": "dice_def",
    "commitment seen by every seat": "saw",
    "player seeds": "mode seed second_seed copied reveal not_revealed",
    "context": "context",
    "throw numbers": "throw",
    "key chain": "key",
    "faces": "die faces",
    "root": "root",
    "claim": "claim",
    "receipts": "receipt receipt_form receipt_key receipt_sig",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """The first fault; `seq` is its entry (None: the audit record around the log)."""

    seq: int | None
    code: str
    detail: str


class Throw(NamedTuple):
    """One throw as the log shows it, and whether its key gives the same faces."""

    seq: int
    throw: int
    seat: int | None
    dice: tuple[str, ...]
    faces: tuple[int | str, ...]
    ok: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict. `entries`, `throws` and `head` tell how far the log was read without fault."""

    ok: bool
    status: str
    game: str | None
    entries: int
    throws: int
    head: str
    checks: tuple[tuple[str, str], ...]
    failure: Failure | None
    notes: tuple[str, ...]
    thrown: tuple[Throw, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, ready for `json.dumps`."""
        checks = [{"name": name, "result": result} for name, result in self.checks]
        thrown = [throw._asdict() for throw in self.thrown]
        return {**asdict(self), "checks": checks, "thrown": thrown}

    def verdict(self) -> str:
        """One line that says it all."""
        if self.failure is None:
            size = f"{self.entries} entries, {self.throws} throws"
            return f"OK: {size}, {self.status}, head {self.head}"
        where = "in the record" if self.failure.seq is None else f"at entry {self.failure.seq}"
        return f"FAILED {where} ({self.failure.code}): {self.failure.detail}"

    def text(self, verbose: bool = False) -> str:
        """For people, in ASCII: checks, throws if `verbose`, notes, and the verdict last."""
        lines = [f"game {self.game or 'unknown'}, {PROTOCOL}"]
        for name, result in self.checks:
            idle = self.ok and result == "not reached"
            lines.append(f"  {name}: {'nothing to check' if idle else result}")
        for throw in self.thrown if verbose else ():
            seat = "table" if throw.seat is None else f"seat {throw.seat}"
            shown = zip(throw.dice, throw.faces, strict=False)
            faces = ", ".join(f"{name} {_show(face)}" for name, face in shown)
            result = "ok" if throw.ok else "FAILED"
            lines.append(f"  throw {throw.throw} (entry {throw.seq}, {seat}): {faces}: {result}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes), self.verdict()])


# --- The log, entry by entry --------------------------------------------------------------------

# Section 4: the stages of a game, and which entries may stand in each.
STAGES = {
    "new": ("created",),
    # Mode sealed: not started; others: not sealed.
    "waiting": ("joined", "left", "sealed", "started", "void"),
    "sealed": ("seed_revealed", "started", "void"),
    "playing": ("acted", "finished", "abandoned"),
}
KINDS = {kind for kinds in STAGES.values() for kind in kinds}
CLAIMS = {  # what a log may be presented as, and the stages that bear it out
    "incomplete": ("waiting", "sealed", "playing"),
    "waiting": ("waiting", "sealed"),
    "playing": ("playing",),
    **{end: (end,) for end in ENDS},
}
RULES_UNJUDGED = "the rules were not replayed: actions, events, outcome are not judged here"
TRUST = {
    "operator": "mode operator: you trust the operator not to have picked the seed",
    "practice": "mode practice: the root was public from the start, every throw was foreseeable",
}


def _difference(faces: list[Any], due: list[Any]) -> str:
    """The first face that is not the one due, or how many are missing or too many."""
    if len(faces) != len(due):
        return f" shows {len(faces)} faces for {len(due)} dice"
    pairs = enumerate(zip(faces, due, strict=True))
    die, (face, given) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
    return f", die {die} shows {_show(face)}, the key gives {_show(given)}"


class _Log:
    """What is known of a game after the entries read so far."""

    def __init__(self) -> None:
        self.game: str | None = None
        self.stage, self.mode = "new", ""
        self.heads: list[str] = []
        self.at = -INTEGER_MAX
        self.seats = self.throws_max = self.throws = 0
        self.commitment = self.key = self.context = b""
        self.dice: dict[str, Die] = {}
        self.taken: set[int] = set()
        self.commits: dict[int, str] = {}
        self.committed: set[str] = set()
        self.seeds: dict[int, bytes] = {}
        self.turn_ms: int | None = None
        self.started_at = 0
        self.last_acted: dict[int, int] = {}  # when each seat acted, or was acted for
        self.missed: dict[int, int] = {}
        self.gone: int | None = None  # the seat for which the clock may resign now
        self.thrown: list[tuple[int, int, int | None, tuple[str, ...], tuple[Any, ...], bool]] = []
        self.notes: list[str] = []
        self.reached: set[str] = set()

    def need(self, ok: bool, code: str, detail: str | Callable[[], str]) -> None:
        """One rule: remembered as reached, refused if it does not hold. ``detail`` may be a
        function, so that only a fault has to put it in words."""
        self.reached.add(code)
        if not ok:
            raise RefusedError(code, detail if isinstance(detail, str) else detail())

    def note(self, text: str) -> None:
        if len(self.notes) < NOTES_MAX:
            self.notes.append(text)

    def fields(self, value: Any, what: str) -> None:
        """Section 4: inside `data` further fields are noted, not refused."""
        for name in unknown_fields(value, what):
            self.note(f"entry {len(self.heads)}, {what}: a further field {_show(name)}")

    def read(self, line: bytes) -> None:
        """Section 4: one line, in the order canonical form, entry fields, chain, life cycle."""
        entry = canonical_value(line)
        self.reached.update(("canonical", "fields"))
        self.form(entry)
        self.chain(entry)
        kind, data = entry["type"], entry["data"]
        self.game, self.at = entry["game"], entry["at"]
        self.life_cycle(kind)
        self.fields(data, kind)
        if kind in ENDS:
            self.root(data["root"])
            self.stage = kind
        else:
            getattr(self, kind)(data)  # KINDS without ENDS are the methods below
        self.heads.append(entry_hash(line))

    # What every entry and every throw is asked for does without `need`: the call, and the words
    # for a fault that is not there, would take longer than the rule.

    def form(self, entry: Any) -> None:
        """Section 4: an entry of version 1, of this game, without further fields."""
        if type(entry) is dict and type(entry.get("v")) is int:
            self.reached.add("version")
            if entry["v"] != 1:
                raise RefusedError("version", f"version {entry['v']} is not 1")
        unknown = unknown_fields(entry, "entry")
        if unknown:
            raise RefusedError("fields", f"the entry has a further field {_show(unknown[:1])}")
        self.reached.add("game")
        game = entry["game"]
        if game != self.game:
            if not GAME_ID.fullmatch(game):
                raise RefusedError("game", f"{_show(game)} is no game id")
            if self.game is not None:
                raise RefusedError("game", f"an entry of another game, {_show(game)}")

    def chain(self, entry: dict[str, Any]) -> None:
        """Section 4: an entry follows the one before, and is of a type that there is."""
        reached, due = self.reached.add, len(self.heads)
        reached("seq")
        if entry["seq"] != due:
            raise RefusedError("seq", f"seq is {entry['seq']}, {due} is due")
        reached("prev")
        if entry["prev"] != (self.heads[-1] if due else FIRST_PREV):
            raise RefusedError("prev", "prev is not the hash of the entry before")
        reached("at")
        if entry["at"] < self.at:
            raise RefusedError("at", "the time is before that of the entry before")
        reached("type")
        if entry["type"] not in KINDS:
            raise RefusedError("type", f"there is no entry type {_show(entry['type'])}")

    def life_cycle(self, kind: str) -> None:
        """Section 4: which entry may follow which."""
        self.reached.add("after_end")
        if self.stage in ENDS:
            raise RefusedError("after_end", "an entry after the last one")
        if self.stage != "new" and kind in ("sealed", "seed_revealed"):
            self.need(self.mode == "sealed", "mode", f"{kind} belongs to mode sealed only")
        unsealed = self.stage == "waiting" and self.mode == "sealed" and kind == "started"
        self.reached.add("order")
        if kind not in STAGES[self.stage] or unsealed:
            raise RefusedError("order", f"{kind} while the game is {self.stage}")

    def seat(self, seat: int | None) -> None:
        """A seat of this game; None, where the fields allow it, is the table itself."""
        self.reached.add("seat")
        if seat is not None and not 0 <= seat < self.seats:
            raise RefusedError("seat", f"there is no seat {seat}")

    def created(self, data: dict[str, Any]) -> None:
        """Sections 2-4: commitment, mode, dice; the root is public in mode practice only."""
        self.mode, self.seats = data["seed_mode"], data["seats"]
        self.throws_max = data["throws_max"]
        self.need(self.mode in SEED_MODES, "mode", f"there is no seed mode {_show(self.mode)}")
        self.need(1 <= self.throws_max <= THROWS_MAX, "fields", "throws_max is not 1..65535")
        self.need(1 <= self.seats <= U32_MAX, "fields", "seats is no possible count of seats")
        self.fields(data["ruleset"], "ruleset")
        self.reached.add("dice_def")
        for name, die in data["dice"].items():
            self.fields(die, "die")
            self.dice[name] = Die(die["faces"], die["weights"])
        self.commitment = self.key = bytes.fromhex(data["commitment"])
        if "turn_seconds" in data:
            seconds = data["turn_seconds"]
            self.need(seconds in TURN_SECONDS, "clock", "turn_seconds is not 5..604800")
            self.turn_ms = 1000 * seconds
        if self.mode == "practice":
            self.root(data["root"])
        elif data["root"] is not None:
            raise RefusedError("root", "the root is public before the end")
        self.stage = "waiting"

    def joined(self, data: dict[str, Any]) -> None:
        """Sections 2 and 4: the seat saw the commitment, and gives what the mode asks for."""
        seat, commit, seed = data["seat"], data["commit"], data["seed"]
        self.seat(seat)
        self.need(seat not in self.taken, "seat", f"seat {seat} is taken")
        self.need(data["kind"] in ("human", "bot"), "fields", "kind is neither human nor bot")
        saw = data["saw"] == self.commitment.hex()
        self.need(saw, "saw", f"seat {seat} saw another commitment than that of the game")
        asked = {"sealed": "commit", "open": "seed"}.get(self.mode)
        for name in ("commit", "seed"):
            # A bot plays for the server, so its seed would be one that the operator picked.
            due = data[name] is None or (name == asked and data["kind"] == "human")
            self.need(due, "seed", f"seat {seat} gives a {name} that is not asked for")
        if commit is not None:
            copied = commit in self.committed
            self.need(not copied, "copied", f"seat {seat} has copied another seat's commit")
            self.commits[seat] = commit
            self.committed.add(commit)
        if seed is not None:
            self.need(not self.seeds, "second_seed", f"seat {seat} gives a second seed")
            self.seeds[seat] = bytes.fromhex(seed)
        self.taken.add(seat)

    def left(self, data: dict[str, Any]) -> None:
        """Sections 2 and 4: drops the seat's commit; who gave a seed in clear cannot leave."""
        seat = data["seat"]
        self.need(seat in self.taken, "seat", f"seat {seat} is not taken")
        self.need(seat not in self.seeds, "order", f"seat {seat} leaves after it gave its seed")
        self.taken.remove(seat)
        self.committed.discard(self.commits.pop(seat, ""))

    def sealed(self, data: dict[str, Any]) -> None:
        """Section 2: every seat is taken, at least one has committed."""
        self.need(data["seats"] == self.seats, "seat", f"{self.seats} seats, not {data['seats']}")
        self.need(len(self.taken) == self.seats, "order", "sealed before every seat was taken")
        self.need(bool(self.commits), "not_revealed", "sealed although no seat has committed")
        self.stage = "sealed"

    def seed_revealed(self, data: dict[str, Any]) -> None:
        """Section 2: the seed that the seat has committed to, once."""
        seat, seed = data["seat"], bytes.fromhex(data["seed"])
        self.seat(seat)
        self.need(seat in self.commits, "reveal", f"seat {seat} had not committed to a seed")
        self.need(seat not in self.seeds, "reveal", f"seat {seat} reveals twice")
        same = client_commit(self.game or "", seed).hex() == self.commits[seat]
        self.need(same, "reveal", f"seat {seat} had committed to another seed")
        self.seeds[seat] = seed

    def started(self, data: dict[str, Any]) -> None:
        """Section 2: all seats taken, all seeds in, and the context is made of exactly them."""
        self.need(len(self.taken) == self.seats, "order", "started before every seat was taken")
        missing = min(set(self.commits) - set(self.seeds), default=None)
        revealed = missing is None
        self.need(revealed, "not_revealed", f"started before seat {missing} revealed its seed")
        seeded = bool(self.seeds) or self.mode != "open"
        self.need(seeded, "not_revealed", "mode open, but no seat has given its seed")
        self.context = game_context(self.game or "", self.commitment, self.seeds)
        same = data["context"] == self.context.hex()
        self.need(same, "context", "the context is not that of this game, commitment and seeds")
        self.started_at = self.at
        self.stage = "playing"

    def acted(self, data: dict[str, Any]) -> None:
        """Section 4: an action and its throws; what the rules made of it is not read."""
        self.seat(data["seat"])
        unknown_fields(data["action"], "action")  # all fields but `kind` are the ruleset's
        for event in data["events"]:
            unknown_fields(event, "event")
        for throw in data["throws"]:
            self.fields(throw, "throw")
            named = DIE_NAME_TYPES.issuperset(map(type, throw["dice"]))
            faced = FACE_TYPES.issuperset(map(type, throw["faces"]))
            self.need(named and faced, "fields", "a throw has a die or face of a wrong JSON type")
        for throw in data["throws"]:
            self.throw(throw)
        if data["seat"] is None and data["action"].get("reason") == "clock":
            self.clock(data["action"])
        elif data["seat"] is not None:
            self.last_acted[data["seat"]], self.missed[data["seat"]] = self.at, 0
            self.gone = None
        else:
            self.gone = None

    def clock(self, action: dict[str, Any]) -> None:
        """Section 4: the table acts for a seat whose time has run out, never sooner than the
        turn's time after that seat's last action, and resigns for it right after the third in a
        row. Which action is the default is for who has the rules."""
        turn_ms = self.turn_ms
        if turn_ms is None:
            raise RefusedError("clock", "a clock acts at a table that has none")
        self.reached.add("clock")
        seat = action.get("seat", False)
        self.need(seat is None or type(seat) is int, "clock", "the clock acts for no seat")
        self.seat(seat)
        if seat is not None and action["kind"] == "resign":
            self.need(seat == self.gone, "clock", lambda: f"the clock resigns for seat {seat}")
            self.gone = None
            return
        since = self.last_acted.get(seat, self.started_at) if seat is not None else self.started_at
        due = since + turn_ms
        self.need(self.at >= due, "clock", "the clock acts before the time has run out")
        self.gone = None
        if seat is not None:
            self.last_acted[seat] = self.at
            self.missed[seat] = self.missed.get(seat, 0) + 1
            self.gone = seat if self.missed[seat] >= ABSENCES else None

    def throw(self, data: dict[str, Any]) -> None:
        """Sections 2 and 3: number, key chain and every face of one throw."""
        number, names, faces = self.throws + 1, data["dice"], data["faces"]
        reached = self.reached.add
        reached("throw")
        if data["throw"] != number:
            raise RefusedError("throw", f"throw {data['throw']}, {number} is due")
        if number > self.throws_max:
            raise RefusedError("throw", f"throw {number} is above throws_max")
        self.seat(data["seat"])
        reached("die")
        if not 1 <= len(names) <= DICE_MAX:
            raise RefusedError("die", f"throw {number} has {len(names)} dice")
        try:
            dice = [self.dice[name] for name in names]
        except KeyError as unknown:
            raise RefusedError("die", f"the die {_show(unknown.args[0])} is not defined") from None
        reached("key")
        key = bytes.fromhex(data["key"])
        if chain_key(number, key) != self.key:
            before = f"the key of throw {self.throws}" if self.throws else "the commitment"
            raise RefusedError("key", f"the key of throw {number} does not lead to {before}")
        reached("faces")
        due = throw_faces(key, self.context, number, dice)
        seq, right = len(self.heads), faces == due
        self.thrown.append((seq, number, data["seat"], tuple(names), tuple(faces), right))
        if not right:
            raise RefusedError("faces", f"throw {number}{_difference(faces, due)}")
        self.key, self.throws = key, number

    def root(self, root: str | None) -> None:
        """Section 2: the revealed root leads to the newest published key, hence to all others."""
        self.need(root is not None, "root", "the root is not revealed")
        key = bytes.fromhex(root or "")
        for number in range(self.throws_max, self.throws, -1):
            key = chain_key(number, key)
        self.need(key == self.key, "root", "the root does not lead to the commitment")

    def claim(self, claim: str) -> None:
        """A log that was cut short is only incomplete, unless it was presented as more."""
        holds = self.stage in CLAIMS.get(claim, ())
        self.need(holds, "claim", f"presented as {_show(claim)}, but the game is {self.stage}")

    def receipts(self, receipts: Iterable[Any], keys: Sequence[str], current: bool) -> None:
        """Section 5: the entry at the receipt's seq has the hash that was signed. An unfinished
        log may be older than a receipt, unless the receipt came with it as `current`."""
        later: dict[int, str] = {}
        for receipt in receipts:
            check_receipt(receipt, keys)
            game, seq, head = receipt["game"], receipt["seq"], receipt["head"]
            if game != self.game:
                raise RefusedError("receipt", f"the receipt is of another game, {game}")
            if seq < len(self.heads):
                same = self.heads[seq] == head
                self.need(same, "receipt", f"the log has another entry {seq} than the receipt")
            elif self.stage in ENDS or current or later.setdefault(seq, head) != head:
                raise RefusedError("receipt", f"the receipt proves an entry {seq} that is not here")
            else:
                self.note(f"the log is older than the receipt of entry {seq}: not compared")

    def report(self, failure: Failure | None) -> Report:
        """What was found, with the limits of what a log can prove (section 6)."""
        checks = []
        for name, codes in CHECKS.items():
            failed = failure is not None and failure.code in codes.split()
            reached = not self.reached.isdisjoint(codes.split())
            checks.append((name, "failed" if failed else "passed" if reached else "not reached"))
        ended, notes = self.stage in ENDS, self.notes
        if failure is None:
            notes = [TRUST[self.mode]] if self.mode in TRUST else []
            notes += [] if ended else ["incomplete: the log has no last entry"]
            notes += [RULES_UNJUDGED]
            if "receipt" not in self.reached:
                notes += ["without a receipt, a log that was rewritten as a whole looks the same"]
            notes += self.notes
        return Report(
            ok=failure is None,
            status=self.stage if ended else "incomplete",
            game=self.game,
            entries=len(self.heads),
            throws=self.throws,
            head=self.heads[-1] if self.heads else "",
            checks=tuple(checks),
            failure=failure,
            notes=tuple(notes),
            thrown=tuple(map(Throw._make, self.thrown)),
        )


Receipts = Sequence[Mapping[str, Any]]
Keys = Sequence[str]
Claims = Sequence[str | None]


def _verify(
    log: _Log, lines: Iterable[bytes], claims: Claims, receipts: Receipts, keys: Keys, *own: object
) -> Report:
    """`own`: the receipt that came with the log."""
    try:
        for line in lines:
            log.read(line)
        log.need(bool(log.heads), "order", "the log has no entries")
        for claim in claims:
            if claim is not None:
                log.claim(claim)
        log.receipts(receipts, keys, current=False)
        log.receipts(own, keys, current=True)
    except RefusedError as error:
        seq = len(log.heads)
        if error.code == "claim" or error.code in CHECKS["receipts"].split():
            seq -= 1  # these are faults of the log as a whole, told of its last entry
        return log.report(Failure(seq, error.code, str(error)))
    return log.report(None)


def verify_log(
    data: bytes, *, claim: str | None = None, receipts: Receipts = (), public_keys: Keys = ()
) -> Report:
    """A log as JSONL, the bytes as served."""
    return _verify(_Log(), jsonl_lines(data), [claim], receipts, public_keys)


def verify_record(
    record: bytes, *, claim: str | None = None, receipts: Receipts = (), public_keys: Keys = ()
) -> Report:
    """An audit record: its status is a claim, its receipt is that of its last entry, and its own
    public keys count only if none are given."""
    log = _Log()
    try:
        document = strict_json(record)
        for name in unknown_fields(document, "record"):
            log.note(f"the record has a further field {_show(name)}")
        lines, keys = document["log"], document["public_keys"]
        log.need(document["protocol"] == PROTOCOL, "record", f"not a record of {PROTOCOL}")
        form = GAME_ID.fullmatch(document["game"]) and all(type(line) is str for line in lines)
        form = form and all(type(key) is str and HEX_32.fullmatch(key) for key in keys)
        log.need(bool(form), "record", "its game id, a line or a public key is malformed")
    except (ValueError, RefusedError) as error:
        return log.report(Failure(None, "record", str(error)))
    log.game = document["game"]
    own = [document["receipt"]] if document["receipt"] is not None else []
    if not public_keys and (own or receipts):
        log.note("receipts were checked with the record's own public keys: compare those")
    encoded = (line.encode("utf-8", "surrogatepass") for line in lines)
    claims = (document["status"], claim)
    return _verify(log, encoded, claims, receipts, public_keys or keys, *own)


def verify(
    data: bytes, *, claim: str | None = None, receipts: Receipts = (), public_keys: Keys = ()
) -> Report:
    """A log or an audit record, whichever the bytes are."""
    form = verify_record if RECORD_START.match(data) else verify_log
    return form(data, claim=claim, receipts=receipts, public_keys=public_keys)


# --- Command line -------------------------------------------------------------------------------


class UnusableError(Exception):
    """Input or usage with which there is nothing to verify."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UnusableError(message)


def _audit_url(url: str) -> str:
    """The URL of a game, or of the page that shows it, stands for that of its audit record."""
    parts = urllib.parse.urlsplit(url)
    path = parts.path.rstrip("/")
    shown = SHOWN_GAME.match(parts.fragment)
    if shown and not path:
        path, parts = f"/v1/games/{shown[1]}", parts._replace(fragment="")
    if GAME_URL_PATH.fullmatch(path):
        parts = parts._replace(path=f"{path}/audit")
    return urllib.parse.urlunsplit(parts)


def _read_url(url: str) -> bytes:
    """At most INPUT_MAX bytes, in URL_TOTAL_S seconds, so that a slow server cannot hold us."""
    data, deadline = bytearray(), time.monotonic() + URL_TOTAL_S
    opener = urllib.request.build_opener()
    opener.addheaders = [("Accept", "application/jsonl, application/json;q=0.9, */*;q=0.8")]
    with opener.open(_audit_url(url), timeout=URL_WAIT_S) as response:
        while len(data) <= INPUT_MAX and (chunk := response.read1(2**16)):
            data += chunk
            if time.monotonic() > deadline:
                raise TimeoutError(f"not read after {URL_TOTAL_S} seconds")
        if response.length and len(data) <= INPUT_MAX:
            raise OSError("the answer ended early")
    return bytes(data)


def _read(source: str) -> bytes:
    try:
        if source.lower().startswith(("http://", "https://")):
            data = _read_url(source)
        elif source == "-":
            data = sys.stdin.buffer.read(INPUT_MAX + 1)
        else:
            with open(source, "rb") as file:
                data = file.read(INPUT_MAX + 1)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UnusableError(f"cannot read {_show(source)}: {_show(str(error))[1:-1]}") from None
    if len(data) > INPUT_MAX:
        raise UnusableError(f"{_show(source)} has more than {INPUT_MAX} bytes")
    return data


def _read_receipts(sources: Iterable[str]) -> list[Any]:
    """Each file holds one receipt, or an answer of the server with its receipt, or a list."""
    receipts: list[Any] = []
    for source in sources:
        try:
            value = strict_json(_read(source))
        except ValueError as error:
            raise UnusableError(f"{_show(source)} is not JSON: {error}") from None
        receipts += map(_receipt_in, value if type(value) is list else [value])
    return receipts


def _receipt_in(value: Any) -> Any:
    told = type(value) is dict and type(value.get("receipt")) is dict
    return value["receipt"] if told else value


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="verify", description=f"Checks a {PROTOCOL} log or audit record.")
    parser.add_argument("source", metavar="FILE-or-URL", help="'-' reads the standard input")
    parser.add_argument("--receipt", action="append", default=[], metavar="FILE")
    parser.add_argument("--public-key", action="append", default=[], metavar="HEX")
    parser.add_argument("--claim", choices=CLAIMS, help="what the log was presented as")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument("--verbose", action="store_true", help="one line for each throw")
    arguments = parser.parse_args(argv)
    if not all(HEX_32.fullmatch(key) for key in arguments.public_key):
        raise UnusableError("argument --public-key: not 64 lowercase hex digits")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 verified, 1 refused, 2 nothing that could be verified."""
    try:
        given = _arguments(argv)
        receipts = _read_receipts(given.receipt)
        keys, data = given.public_key, _read(given.source)
        report = verify(data, claim=given.claim, receipts=receipts, public_keys=keys)
    except UnusableError as error:
        print(f"verify: {error}", file=sys.stderr)
        return 2
    text = json.dumps(report.to_json()) if given.json else report.text(given.verbose)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader had enough; keep the interpreter from flushing again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
