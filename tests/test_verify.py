"""The offline verifier: vectors, forgeries, mutations, hostile input, command line."""

import ast
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from service import verify

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_bytes())
GAMES = {game["ruleset"] + "-" + game["status"]: game for game in VECTORS["games"]}
FINISHED, SEALED = VECTORS["games"][0], VECTORS["games"][1]
PRACTICE, OPEN = VECTORS["games"][2], VECTORS["games"][3]
VOID, INCOMPLETE = VECTORS["games"][4], VECTORS["games"][5]
RECEIPT = VECTORS["receipts"][0]["receipt"]
PUBLIC_KEY = VECTORS["receipts"][0]["public_key"]
SIGNER = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["receipts"][0]["secret_key"]))
# A whole short finished game: only the receipt beside it is broken.
SHORT = next(forged for forged in VECTORS["forged"] if forged["code"] == "receipt_sig")

Entries = list[dict[str, Any]]


def named(kind: str) -> Any:
    return pytest.mark.parametrize(
        "vector", VECTORS[kind], ids=lambda vector: vector.get("note", "").replace(" ", "_")
    )


def raw(*values: str) -> list[bytes]:
    return [bytes.fromhex(value) for value in values]


def seeds_of(vector: dict[str, Any]) -> dict[int, bytes]:
    return {given["seat"]: bytes.fromhex(given["seed"]) for given in vector["seeds"]}


def jsonl(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def record_of(lines: list[str], claim: str, **more: Any) -> bytes:
    document: dict[str, Any] = {
        "protocol": "fair-dice/1",
        "game": json.loads(lines[0])["game"],
        "status": claim,
        "log": lines,
        "public_keys": [PUBLIC_KEY],
        "receipt": None,
    }
    return json.dumps(document | more).encode()


def canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def entries_of(game: dict[str, Any]) -> Entries:
    return [json.loads(line) for line in game["lines"]]


def chained(entries: Entries) -> list[str]:
    """The lines of a forger who makes the hash chain anew."""
    lines: list[str] = []
    for entry in entries:
        if lines:
            entry["prev"] = verify.tagged_hash("entry", lines[-1].encode()).hex()
        lines.append(canonical(entry))
    return lines


def renumbered(entries: Entries) -> Entries:
    for seq, entry in enumerate(entries):
        entry["seq"] = seq
    return entries


def signed(game: str, seq: int, head: str, **more: Any) -> dict[str, Any]:
    message = verify.receipt_message(game, seq, bytes.fromhex(head))
    key_id = hashlib.sha256(bytes.fromhex(PUBLIC_KEY)).hexdigest()[:16]
    receipt = {"v": 1, "game": game, "seq": seq, "head": head, "key_id": key_id}
    return receipt | {"sig": SIGNER.sign(message).hex()} | more


def fault(report: verify.Report) -> tuple[int | None, str] | None:
    return (report.failure.seq, report.failure.code) if report.failure else None


# --- The vectors --------------------------------------------------------------------------------


@named("enc")
def test_fields_are_encoded_with_their_lengths(vector):
    assert verify.enc(*raw(*vector["fields"])).hex() == vector["hex"]


@named("hash")
def test_hashes_carry_their_name(vector):
    assert verify.tagged_hash(vector["name"], *raw(*vector["fields"])).hex() == vector["hash"]


@named("mac")
def test_macs_carry_their_name(vector):
    key, *fields = raw(vector["key"], *vector["fields"])
    assert verify.mac(key, vector["name"], *fields).hex() == vector["mac"]


@named("chain")
def test_the_root_leads_to_every_key_of_the_chain(vector):
    keys = {vector["throws_max"]: bytes.fromhex(vector["root"])}
    for number in range(vector["throws_max"], 0, -1):
        keys[number - 1] = verify.chain_key(number, keys[number])
    assert {number: keys[int(number)].hex() for number in vector["keys"]} == vector["keys"]


@named("root_from_key")
def test_the_root_at_rest_comes_from_the_server_key_and_the_salt(vector):
    server_key, salt = raw(vector["server_key"], vector["salt"])
    assert verify.root_from_key(server_key, salt, vector["game"]).hex() == vector["root"]


@named("who")
def test_a_name_is_known_by_its_salted_hash(vector):
    assert verify.who(bytes.fromhex(vector["salt"]), vector["name"]).hex() == vector["who"]


@named("client_commit")
def test_a_commit_binds_game_and_seed(vector):
    commit = verify.client_commit(vector["game"], bytes.fromhex(vector["seed"]))
    assert commit.hex() == vector["commit"]


@named("context")
def test_the_context_takes_seeds_in_any_order(vector):
    commitment = bytes.fromhex(vector["commitment"])
    context = verify.game_context(vector["game"], commitment, seeds_of(vector))
    assert context.hex() == vector["context"]


@named("dice")
def test_every_die_is_a_function_of_key_context_throw_and_number(vector):
    key = bytes.fromhex(vector["root"])
    keys = [key := verify.chain_key(i, key) for i in range(vector["throws_max"], 0, -1)]
    context = verify.game_context(vector["game"], keys[-1], seeds_of(vector))
    throw_key = ([bytes.fromhex(vector["root"]), *keys])[vector["throws_max"] - vector["throw"]]
    die = verify.Die(vector["faces"], vector["weights"])
    prefix = verify.throw_prefix(context, vector["throw"])
    words = list(islice(verify.die_words(throw_key, prefix, vector["die"]), 24))
    assert b"".join(verify.u32(word) for word in words[:8]).hex() == vector["first_block"]
    left = iter(words)
    number = die.number(left)
    assert number == vector["number"]
    assert len(words) - 1 - len(list(left)) == vector["rejected"]
    assert die.face(number) == vector["face"]


@pytest.mark.parametrize("weights", [[1], [1] * 5, [1] * 6, [2**30, 2**30, 1]])
def test_the_faces_of_a_throw_are_those_that_its_words_give(weights):
    random, die = Random(20_261_130), verify.Die(list(range(len(weights))), weights)
    for _ in range(500):
        key, context, throw = random.randbytes(32), random.randbytes(32), random.randint(1, 65_535)
        prefix = verify.throw_prefix(context, throw)
        words = (verify.die_words(key, prefix, number) for number in range(4))
        spelled_out = [die.face(die.number(one)) for one in words]
        assert verify.throw_faces(key, context, throw, [die] * 4) == spelled_out


@pytest.mark.parametrize("name", ["Seat", "1st", "", "a b", "seat\n", "año", "_a"])
def test_keys_of_objects_are_small_ascii_names(name):
    line = json.dumps({name: 1}, ensure_ascii=False).encode()
    with pytest.raises(verify.RefusedError, match="the key"):
        verify.canonical_value(line)


@named("canonical")
def test_canonical_lines_are_read_and_hashed(vector):
    line = bytes.fromhex(vector["hex"])
    assert canonical(verify.canonical_value(line)) == canonical(vector["value"])
    assert verify.tagged_hash("entry", line).hex() == vector["entry_hash"]


@named("not_canonical")
def test_lines_that_are_not_canonical_are_refused(vector):
    with pytest.raises(verify.RefusedError) as caught:
        verify.canonical_value(bytes.fromhex(vector["hex"]))
    assert caught.value.code == "canonical"


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_every_recorded_game_is_verified(game):
    report = verify.verify_log(jsonl(game["lines"]))
    assert report.failure is None
    assert report.ok
    assert (report.status, report.head) == (game["status"], game["head"])
    assert (report.entries, report.throws) == (game["entries"], game["throws"])
    assert len(report.thrown) == game["throws"]
    assert all(throw.ok for throw in report.thrown)


@pytest.mark.parametrize(
    ("game", "idle"),
    [
        (FINISHED, {"claim", "receipts"}),
        (INCOMPLETE, {"claim", "receipts", "root"}),
        (VOID, {"claim", "receipts", "context", "throw numbers", "key chain", "faces"}),
    ],
    ids=["finished", "incomplete", "void"],
)
def test_the_report_names_what_was_checked(game, idle):
    checks = dict(verify.verify_log(jsonl(game["lines"])).checks)
    assert {name for name, result in checks.items() if result == "not reached"} == idle
    assert set(checks.values()) == {"passed", "not reached"}


@named("forged")
def test_every_forged_log_is_refused_at_its_entry(vector):
    given = {name: vector[name] for name in ("claim", "receipts", "public_keys") if name in vector}
    report = verify.verify_log(jsonl(vector["lines"]), **given)
    assert not report.ok
    assert fault(report) == (vector["seq"], vector["code"])
    assert ("failed" in dict(report.checks).values()) is True


@named("forged")
def test_every_forged_log_is_refused_as_a_record_too(vector):
    last = json.loads(vector["lines"][-1])["type"]
    status = vector.get("claim", last if last in verify.ENDS else "playing")
    given = {name: vector[name] for name in ("receipts", "public_keys") if name in vector}
    report = verify.verify_record(record_of(vector["lines"], status), **given)
    assert fault(report) == (vector["seq"], vector["code"])


@named("receipts")
def test_receipts_are_accepted_only_as_signed(vector):
    try:
        verify.check_receipt(vector["receipt"], [vector["public_key"]])
        valid = True
    except verify.RefusedError:
        valid = False
    assert valid == vector["valid"]
    if "message" in vector:
        receipt = vector["receipt"]
        head = bytes.fromhex(receipt["head"])
        message = verify.receipt_message(receipt["game"], receipt["seq"], head)
        assert message.hex() == vector["message"]


# --- Mutations and cuts -------------------------------------------------------------------------


def mutants(log: bytes, position: int, replacements: bytes) -> Iterator[bytes]:
    for byte in {log[position] ^ 1, *replacements} - {log[position]}:
        yield log[:position] + bytes([byte]) + log[position + 1 :]


def accepted_mutants(game: dict[str, Any], seq: int, replacements: bytes) -> list[bytes]:
    """The mutants of the line of entry `seq`, its line feed included, that the log lets pass."""
    log = jsonl(game["lines"])
    start, end = (len(jsonl(game["lines"][:until])) for until in (seq, seq + 1))
    places = range(start, end)
    every = (mutant for place in places for mutant in mutants(log, place, replacements))
    return [mutant for mutant in every if verify.verify(mutant).ok]


@pytest.mark.parametrize("seq", range(len(SHORT["lines"]) - 1))
def test_every_byte_before_the_last_entry_is_guarded_by_the_log(seq):
    assert accepted_mutants(SHORT, seq, b'\x00 "0\xff') == []


@pytest.mark.parametrize("game", [SHORT, FINISHED], ids=["short", "long"])
def test_every_byte_of_the_last_entry_is_guarded_by_its_receipt(game):
    last = len(game["lines"]) - 1
    report = verify.verify_log(jsonl(game["lines"]))
    receipt = RECEIPT if game is FINISHED else signed(report.game or "", last, report.head)
    assert report.ok
    assert verify.verify(jsonl(game["lines"]), receipts=[receipt], public_keys=[PUBLIC_KEY]).ok
    passed = accepted_mutants(game, last, b'\x00 "0\xff' if game is SHORT else b"")
    assert passed
    for mutant in passed:
        report = verify.verify(mutant, receipts=[receipt], public_keys=[PUBLIC_KEY])
        assert fault(report) == (last, "receipt")


@pytest.mark.parametrize("kept", range(1, FINISHED["entries"]))
def test_a_finished_log_that_was_cut_is_refused(kept):
    cut = jsonl(FINISHED["lines"][:kept])
    assert fault(verify.verify_log(cut, claim="finished")) == (kept - 1, "claim")
    record = record_of(FINISHED["lines"][:kept], "finished")
    assert fault(verify.verify_record(record)) == (kept - 1, "claim")
    assert verify.verify_log(cut).status == "incomplete"


@pytest.mark.parametrize("kept", [1, 3, 4, 20])
def test_a_record_cut_with_its_status_is_refused_by_its_own_receipt(kept):
    status = "waiting" if kept <= 3 else "playing"
    record = record_of(FINISHED["lines"][:kept], status, receipt=RECEIPT)
    assert fault(verify.verify_record(record)) == (kept - 1, "receipt")


@pytest.mark.parametrize("seq", [0, 3, 20])
def test_a_log_cut_inside_a_line_is_refused_there(seq):
    cut = jsonl(FINISHED["lines"][: seq + 1])[:-1]
    assert fault(verify.verify_log(cut)) == (seq, "canonical")
    assert fault(verify.verify_log(cut[:-1])) == (seq, "canonical")


# --- Rules beyond the vectors: one change, everything after it made consistent again -------------


def put(seq: int, *path: Any) -> Callable[[Entries], None]:
    """The change that puts the last element of `path` at the place the others name."""
    *way, name, value = path

    def change(entries: Entries) -> None:
        place: Any = entries[seq]
        for step in way:
            place = place[step]
        place[name] = value

    return change


def swap_in(seq: int, kind: str, **data: Any) -> Callable[[Entries], None]:
    """The change that puts another entry at `seq` and drops what follows."""

    def change(entries: Entries) -> None:
        entries[seq] |= {"type": kind, "data": data}
        del entries[seq + 1 :]

    return change


def drop(*gone: int) -> Callable[[Entries], None]:
    def change(entries: Entries) -> None:
        entries[:] = renumbered([entry for entry in entries if entry["seq"] not in gone])
        entries[0]["prev"] = "0" * 64

    return change


SEED = "44" * 32
ROOT = "12" * 32
THROW = ("data", "throws", 0)
DIE = ("data", "dice", "d6")
CHANGES = [
    ("version 2", FINISHED, put(1, "v", 2), 1, "version"),
    ("version true", FINISHED, put(1, "v", True), 1, "fields"),
    ("seq as text", FINISHED, put(1, "seq", "1"), 1, "fields"),
    ("seq beyond all", FINISHED, put(1, "seq", 2**53 - 1), 1, "seq"),
    ("seq below zero", FINISHED, put(0, "seq", -1), 0, "seq"),
    ("first prev not zero", FINISHED, put(0, "prev", "1" * 64), 0, "prev"),
    ("prev too short", FINISHED, put(0, "prev", "0" * 63), 0, "hex"),
    ("time runs backwards", FINISHED, put(5, "at", 0), 5, "at"),
    ("entry type unknown", FINISHED, put(5, "type", "undone"), 5, "type"),
    ("entry type of a method", FINISHED, put(5, "type", "root"), 5, "type"),
    ("entry type a hidden name", FINISHED, put(5, "type", "__init__"), 5, "type"),
    ("data a list", FINISHED, put(5, "data", []), 5, "fields"),
    ("game id empty", FINISHED, put(0, "game", ""), 0, "game"),
    ("game id with a line feed", FINISHED, put(0, "game", "a\n"), 0, "game"),
    ("game id of 65", FINISHED, put(0, "game", "a" * 65), 0, "game"),
    ("not created first", FINISHED, drop(0), 0, "order"),
    ("sealed first", FINISHED, put(0, "type", "sealed"), 0, "order"),
    ("mode unknown", FINISHED, put(0, "data", "seed_mode", "trust"), 0, "mode"),
    ("throws_max 0", FINISHED, put(0, "data", "throws_max", 0), 0, "fields"),
    ("throws_max 65536", FINISHED, put(0, "data", "throws_max", 65536), 0, "fields"),
    ("no seats", FINISHED, put(0, "data", "seats", 0), 0, "fields"),
    ("seats true", FINISHED, put(0, "data", "seats", True), 0, "fields"),
    ("seats beyond u32", FINISHED, put(0, "data", "seats", 2**32), 0, "fields"),
    ("ruleset version as text", FINISHED, put(0, "data", "ruleset", "version", "1"), 0, "fields"),
    ("no root in mode practice", PRACTICE, put(0, "data", "root", None), 0, "root"),
    ("weights all 0", FINISHED, put(0, *DIE, "weights", [0] * 6), 0, "dice_def"),
    ("weights of 2^32", FINISHED, put(0, *DIE, "weights", [2**32 - 5] + [1] * 5), 0, "dice_def"),
    ("a weight below 0", FINISHED, put(0, *DIE, "weights", [-1, 9, 1, 1, 1, 1]), 0, "dice_def"),
    ("a weight true", FINISHED, put(0, *DIE, "weights", [True] + [1] * 5), 0, "dice_def"),
    ("a face null", FINISHED, put(0, *DIE, "faces", [None, 2, 3, 4, 5, 6]), 0, "dice_def"),
    (
        "no faces",
        FINISHED,
        put(0, "data", "dice", "d0", {"faces": [], "weights": []}),
        0,
        "dice_def",
    ),
    ("a die that is a list", FINISHED, put(0, "data", "dice", "d6", []), 0, "fields"),
    ("seat out of range", FINISHED, put(2, "data", "seat", 2), 2, "seat"),
    ("seat below zero", FINISHED, put(2, "data", "seat", -1), 2, "seat"),
    ("seat taken twice", FINISHED, put(2, "data", "seat", 0), 2, "seat"),
    ("seat false", FINISHED, put(2, "data", "seat", False), 2, "fields"),
    ("kind unknown", FINISHED, put(2, "data", "kind", "cat"), 2, "fields"),
    ("a seed in mode operator", FINISHED, put(2, "data", "seed", SEED), 2, "seed"),
    ("a commit in mode open", OPEN, put(1, "data", "commit", SEED), 1, "seed"),
    ("the seed of a bot", OPEN, put(2, "data", "kind", "bot"), 2, "seed"),
    ("the commit of a bot", SEALED, put(1, "data", "kind", "bot"), 1, "seed"),
    ("a free seat leaves", FINISHED, swap_in(1, "left", seat=0), 1, "seat"),
    ("the seed's giver leaves", OPEN, swap_in(3, "left", seat=0), 3, "order"),
    ("left after the start", FINISHED, swap_in(5, "left", seat=0), 5, "order"),
    ("left after the seal", SEALED, swap_in(5, "left", seat=0), 5, "order"),
    ("joined after the start", FINISHED, put(5, "type", "joined"), 5, "order"),
    ("sealed in mode operator", FINISHED, swap_in(3, "sealed", seats=2), 3, "mode"),
    ("sealed twice", SEALED, swap_in(5, "sealed", seats=3), 5, "order"),
    ("sealed with a free seat", SEALED, drop(2), 3, "order"),
    ("sealed with another count", SEALED, put(4, "data", "seats", 2), 4, "seat"),
    (
        "revealed before the seal",
        SEALED,
        swap_in(4, "seed_revealed", seat=0, seed=SEED),
        4,
        "order",
    ),
    ("revealed in mode open", OPEN, swap_in(3, "seed_revealed", seat=1, seed=SEED), 3, "mode"),
    ("revealed without commit", SEALED, put(5, "data", "seat", 1), 5, "reveal"),
    ("revealed by no seat", SEALED, put(5, "data", "seat", 3), 5, "seat"),
    ("started with a free seat", FINISHED, drop(2), 2, "order"),
    ("started twice", FINISHED, swap_in(4, "started", context=SEED), 4, "order"),
    ("acted by no seat", FINISHED, put(5, "data", "seat", 2), 5, "seat"),
    ("action without kind", FINISHED, put(5, "data", "action", {}), 5, "fields"),
    ("event without kind", FINISHED, put(5, "data", "events", [{}]), 5, "fields"),
    ("throw of no seat", FINISHED, put(5, *THROW, "seat", 2), 5, "seat"),
    ("throw a number", FINISHED, put(5, "data", "throws", [3]), 5, "fields"),
    ("throw without dice", FINISHED, put(5, *THROW, "dice", []), 5, "die"),
    ("throw of 65 dice", FINISHED, put(5, *THROW, "dice", ["d6"] * 65), 5, "die"),
    ("die name a list", FINISHED, put(5, *THROW, "dice", [["d6"], "d6"]), 5, "fields"),
    ("face as text", FINISHED, put(5, *THROW, "faces", ["5", 5]), 5, "faces"),
    ("face true", FINISHED, put(8, *THROW, "faces", [True, 3]), 8, "fields"),
    ("a face too many", FINISHED, put(5, *THROW, "faces", [5, 5, 5]), 5, "faces"),
    (
        "abandoned before the start",
        FINISHED,
        swap_in(3, "abandoned", reason="", root=ROOT),
        3,
        "order",
    ),
    ("abandoned with a wrong root", OPEN, put(8, "data", "root", ROOT), 8, "root"),
    ("void with a wrong root", VOID, put(5, "data", "root", ROOT), 5, "root"),
    ("void without root", VOID, put(5, "data", "root", None), 5, "root"),
    ("root a number", VOID, put(5, "data", "root", 0), 5, "fields"),
    ("reason null", VOID, put(5, "data", "reason", None), 5, "fields"),
]


@pytest.mark.parametrize(
    ("game", "change", "seq", "code"),
    [case[1:] for case in CHANGES],
    ids=[case[0].replace(" ", "_") for case in CHANGES],
)
def test_a_consistent_forgery_is_refused_at_its_entry(game, change, seq, code):
    entries = entries_of(game)
    change(entries)
    assert fault(verify.verify_log(jsonl(chained(entries)))) == (seq, code)


def test_nobody_committed_means_no_seal():
    entries = entries_of(SEALED)
    for entry in entries[1:4]:
        entry["data"]["commit"] = None
    assert fault(verify.verify_log(jsonl(chained(entries)))) == (4, "not_revealed")


def test_a_seed_is_revealed_once():
    entries = entries_of(SEALED)
    entries[6]["data"] = dict(entries[5]["data"])
    assert fault(verify.verify_log(jsonl(chained(entries)))) == (6, "reveal")


def test_a_seat_that_leaves_takes_its_commit_along():
    entries = entries_of(SEALED)
    left = entries[1] | {"type": "left", "data": {"seat": 0}}
    entries[2:2] = [left, dict(entries[1])]
    assert verify.verify_log(jsonl(chained(renumbered(entries)))).ok


def game_of_one_throw(dice: int) -> Entries:
    """One seat, throws_max 1, and its one throw of so many dice."""
    root = bytes(32)
    entries = entries_of(INCOMPLETE)
    entries = renumbered([*entries[:2], *entries[3:5]])
    commitment = verify.chain_key(1, root)
    context = verify.game_context(entries[0]["game"], commitment, {})
    die, prefix = verify.Die([1, 2, 3, 4, 5, 6], [1] * 6), verify.throw_prefix(context, 1)
    faces = [die.face(die.number(verify.die_words(root, prefix, d))) for d in range(dice)]
    throw = {"dice": ["d6"] * dice, "faces": faces, "key": root.hex(), "seat": 0, "throw": 1}
    entries[0]["data"] |= {"throws_max": 1, "seats": 1, "commitment": commitment.hex()}
    entries[1]["data"]["saw"] = commitment.hex()
    entries[2]["data"]["context"] = context.hex()
    entries[3]["data"]["throws"] = [throw]
    return entries


def test_no_throw_is_made_above_throws_max():
    entries = game_of_one_throw(2)
    assert verify.verify_log(jsonl(chained(entries))).ok
    throws = entries[3]["data"]["throws"]
    throws.append(throws[0] | {"throw": 2})
    report = verify.verify_log(jsonl(chained(entries)))
    assert fault(report) == (3, "throw")
    assert "throws_max" in report.verdict()


@pytest.mark.parametrize(("dice", "code"), [(0, "die"), (1, None), (64, None), (65, "die")])
def test_a_throw_has_1_to_64_dice(dice, code):
    report = verify.verify_log(jsonl(chained(game_of_one_throw(dice))))
    assert fault(report) == (code and (3, code))
    assert report.throws == (code is None)


def test_fields_unknown_inside_data_are_noted():
    entries = entries_of(INCOMPLETE)
    entries[0]["data"]["table"] = "green"
    entries[4]["data"]["throws"][0]["cup"] = 1
    report = verify.verify_log(jsonl(chained(entries)))
    assert report.ok
    assert [note for note in report.notes if "further field" in note] == [
        "entry 0, created: a further field 'table'",
        "entry 4, throw: a further field 'cup'",
    ]


def test_notes_have_an_end():
    entries = entries_of(INCOMPLETE)
    entries[0]["data"] |= {f"field_{number}": number for number in range(1000)}
    assert len(verify.verify_log(jsonl(chained(entries))).notes) < 30


@pytest.mark.parametrize(
    ("game", "note"),
    [
        (FINISHED, "picked the seed"),
        (PRACTICE, "public from the start"),
        (INCOMPLETE, "incomplete"),
        (SEALED, "without a receipt"),
        (SEALED, "rules were not replayed"),
    ],
    ids=["operator", "practice", "incomplete", "receipt", "rules"],
)
def test_the_report_says_what_it_does_not_prove(game, note):
    assert any(note in text for text in verify.verify_log(jsonl(game["lines"])).notes)


@pytest.mark.parametrize(
    ("game", "claim", "ok"),
    [
        (FINISHED, "finished", True),
        (FINISHED, "abandoned", False),
        (FINISHED, "playing", False),
        (FINISHED, "incomplete", False),
        (FINISHED, "won", False),
        (OPEN, "abandoned", True),
        (VOID, "void", True),
        (INCOMPLETE, "playing", True),
        (INCOMPLETE, "incomplete", True),
        (INCOMPLETE, "waiting", False),
    ],
)
def test_a_claim_must_be_borne_out(game, claim, ok):
    for report in (
        verify.verify_log(jsonl(game["lines"]), claim=claim),
        verify.verify_record(record_of(game["lines"], claim)),
    ):
        assert report.ok is ok
        assert dict(report.checks)["claim"] == ("passed" if ok else "failed")


# --- Receipts -----------------------------------------------------------------------------------


def test_a_receipt_of_every_entry_agrees_with_the_log():
    lines = FINISHED["lines"]
    heads = [verify.tagged_hash("entry", line.encode()).hex() for line in lines]
    receipts = [signed(RECEIPT["game"], seq, head) for seq, head in enumerate(heads)]
    report = verify.verify_log(jsonl(lines), receipts=receipts, public_keys=[PUBLIC_KEY])
    assert report.ok
    assert dict(report.checks)["receipts"] == "passed"
    assert not any("without a receipt" in note for note in report.notes)


def test_a_finished_log_shorter_than_a_receipt_is_refused():
    beyond = signed(RECEIPT["game"], 21, RECEIPT["head"])
    log = jsonl(FINISHED["lines"])
    report = verify.verify_log(log, receipts=[beyond], public_keys=[PUBLIC_KEY])
    assert fault(report) == (20, "receipt")


def test_an_unfinished_log_may_be_older_than_a_receipt():
    log = jsonl(FINISHED["lines"][:9])
    report = verify.verify_log(log, receipts=[RECEIPT], public_keys=[PUBLIC_KEY])
    assert report.ok
    assert dict(report.checks)["receipts"] == "not reached"
    assert "the log is older than the receipt of entry 20: not compared" in report.notes


def test_two_heads_for_one_seq_are_refused_even_beyond_the_log():
    twin = signed(RECEIPT["game"], 20, "00" * 32)
    log = jsonl(FINISHED["lines"][:9])
    report = verify.verify_log(log, receipts=[RECEIPT, twin], public_keys=[PUBLIC_KEY])
    assert fault(report) == (8, "receipt")


def test_a_receipt_of_another_game_is_refused():
    other = signed("another", 20, RECEIPT["head"])
    log = jsonl(FINISHED["lines"])
    report = verify.verify_log(log, receipts=[other], public_keys=[PUBLIC_KEY])
    assert fault(report) == (20, "receipt")


@pytest.mark.parametrize(
    "receipt",
    [
        None, [], 7, "receipt", {},
        RECEIPT | {"v": 2}, RECEIPT | {"v": True}, RECEIPT | {"more": 1},
        RECEIPT | {"seq": -1}, RECEIPT | {"seq": 2**32}, RECEIPT | {"seq": "20"},
        RECEIPT | {"head": RECEIPT["head"].upper()}, RECEIPT | {"sig": RECEIPT["sig"].upper()},
        RECEIPT | {"sig": RECEIPT["sig"] + "\n"}, RECEIPT | {"game": "no game id"},
    ],
)  # fmt: skip
def test_a_malformed_receipt_is_refused(receipt):
    log = jsonl(FINISHED["lines"])
    report = verify.verify_log(log, receipts=[receipt], public_keys=[PUBLIC_KEY])
    assert fault(report) == (20, "receipt_form")


@pytest.mark.parametrize("keys", [[], ["00" * 32], ["zz" * 32], [PUBLIC_KEY.upper()], [7]])
def test_a_receipt_without_its_public_key_is_refused(keys):
    report = verify.verify_log(jsonl(FINISHED["lines"]), receipts=[RECEIPT], public_keys=keys)
    assert fault(report) == (20, "receipt_key")


def test_a_key_that_is_given_a_thousand_times_is_tried_once(monkeypatch):
    """A record brings its own keys, and each try costs milliseconds."""
    tried, check = [], verify.ed25519_verify

    def count(*given):
        tried.append(given)
        return check(*given)

    monkeypatch.setattr(verify, "ed25519_verify", count)
    forged = RECEIPT | {"sig": "00" * 64}
    record = json.loads(record_of(FINISHED["lines"], "finished", receipt=forged))
    record["public_keys"] *= 1_000
    assert fault(verify.verify_record(json.dumps(record).encode())) == (20, "receipt_sig")
    assert len(tried) == 1


def test_given_public_keys_replace_those_of_the_record():
    record = record_of(FINISHED["lines"], "finished", receipt=RECEIPT)
    own = verify.verify_record(record)
    assert own.ok
    assert any("the record's own public keys" in note for note in own.notes)
    assert fault(verify.verify_record(record, public_keys=["00" * 32])) == (20, "receipt_key")


@settings(deadline=None)
@given(st.binary(max_size=64), st.binary(min_size=32, max_size=32), st.integers(0, 511))
def test_ed25519_accepts_a_signature_and_no_bit_more(message, secret, bit):
    signer = Ed25519PrivateKey.from_private_bytes(secret)
    public_key, signature = signer.public_key().public_bytes_raw(), signer.sign(message)
    assert verify.ed25519_verify(public_key, message, signature)
    changed = bytearray(signature)
    changed[bit // 8] ^= 1 << bit % 8
    assert not verify.ed25519_verify(public_key, message, bytes(changed))
    assert not verify.ed25519_verify(public_key, message + b"\x00", signature)


def test_ed25519_refuses_the_second_spelling_of_s():
    public_key, signature = raw(PUBLIC_KEY, RECEIPT["sig"])
    head = bytes.fromhex(RECEIPT["head"])
    message = verify.receipt_message(RECEIPT["game"], RECEIPT["seq"], head)
    order = 2**252 + 27742317777372353535851937790883648493
    s = int.from_bytes(signature[32:], "little") + order
    assert verify.ed25519_verify(public_key, message, signature)
    assert not verify.ed25519_verify(public_key, message, signature[:32] + s.to_bytes(32, "little"))


SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]
NO_POINT = [
    "0100000000000000000000000000000000000000000000000000000000000080",  # x = 0 with a sign
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  # y = p
    "0200000000000000000000000000000000000000000000000000000000000000",  # no x for this y
    "ff" * 32,
]


@pytest.mark.parametrize("public_key", SMALL_ORDER + NO_POINT)
def test_ed25519_refuses_keys_that_would_accept_anything(public_key):
    # With S = 0 and R the neutral point, one message in at most eight would pass such a key.
    signature = bytes.fromhex(SMALL_ORDER[0]) + bytes(32)
    key = bytes.fromhex(public_key)
    assert not any(verify.ed25519_verify(key, bytes([n]), signature) for n in range(64))


@pytest.mark.parametrize("encoded", NO_POINT)
def test_ed25519_points_have_one_spelling(encoded):
    assert verify._point(bytes.fromhex(encoded)) is None


# --- Hostile input ------------------------------------------------------------------------------


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


FIRST = FINISHED["lines"][0].encode()
HOSTILE = {
    "nothing": (b"", 0, "order"),
    "a_blank_line": (b"\n", 0, "canonical"),
    "a_blank_line_after_the_first": (FIRST + b"\n\n", 1, "canonical"),
    "carriage_returns": (FIRST + b"\r\n", 0, "canonical"),
    "no_line_feed": (FIRST, 0, "canonical"),
    "nul": (b"\x00\n", 0, "canonical"),
    "nul_in_a_text": (FIRST.replace(b"big-pig", b"big\x00pig") + b"\n", 0, "canonical"),
    "not_utf8": (b"\xff\xfe\n", 0, "canonical"),
    "utf8_surrogate": (b'{"a":"\xed\xa0\x80"}\n', 0, "canonical"),
    "not_json": (b"hello\n", 0, "canonical"),
    "a_list": (b"[]\n", 0, "fields"),
    "a_text": (b'"log"\n', 0, "fields"),
    "an_empty_entry": (b"{}\n", 0, "fields"),
    "depth_of_100000": (nested(100_000) + b"\n", 0, "canonical"),
    "depth_without_end": (b'{"at":' * 100_000 + b"\n", 0, "canonical"),
    "depth_behind_a_quote": (b'"' + nested(100_000) + b"\n", 0, "canonical"),
    "texts_without_end": (b'"' + b'\\"' * 500_000 + b"[" * 100 + b"\n", 0, "canonical"),
    "integer_of_5000_digits": (b'{"at":' + b"9" * 5000 + b"}\n", 0, "canonical"),
    "integer_of_a_million_digits": (b"-" + b"9" * 1_000_000 + b"\n", 0, "canonical"),
    "infinity": (b"Infinity\n", 0, "canonical"),
    "float_of_5000_digits": (b"1." + b"9" * 5000 + b"\n", 0, "canonical"),
    "a_million_lists": (b"[" + b"[]," * 1_000_000 + b"[]]\n", 0, "canonical"),
    "a_line_too_long": (b'"' + b"a" * verify.LINE_MAX + b'"\n', 0, "canonical"),
    "a_million_line_feeds": (b"\n" * 1_000_000, 0, "canonical"),
}


@pytest.mark.parametrize(("data", "seq", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_input_is_refused_with_a_reason(data, seq, code):
    report = verify.verify_log(data)
    assert fault(report) == (seq, code)
    assert report.failure
    assert report.failure.detail
    assert not verify.verify(data).ok
    assert report.text(verbose=True).isascii()


@pytest.mark.parametrize(("depth", "ok"), [(64, True), (65, False)])
def test_the_depth_of_a_line_is_at_most_64(depth, ok):
    lines = (nested(depth), b'{"a":' * depth + b"0" + b"}" * depth, b'["\\"",' + nested(depth)[1:])
    for line in lines:
        if ok:
            verify.canonical_value(line)
        else:
            with pytest.raises(verify.RefusedError):
                verify.canonical_value(line)


def test_brackets_inside_texts_have_no_depth():
    text = '["' + "[{" * 1000 + '\\\\","\\"' + "[" * 1000 + '"]'
    assert verify.canonical_value(text.encode()) == json.loads(text)


def test_the_longest_chain_is_walked_once():
    entries = entries_of(PRACTICE)
    entries[0]["data"]["throws_max"] = 65_535
    assert fault(verify.verify_log(jsonl(chained(entries)))) == (0, "root")


def test_control_characters_do_not_reach_the_terminal():
    entries = entries_of(INCOMPLETE)
    entries[4]["data"]["throws"][0]["faces"] = ["\x1b[2J\x9b", "\u202e"]
    report = verify.verify_log(jsonl(chained(entries)))
    text = report.text(verbose=True)
    assert fault(report) == (4, "faces")
    assert all(character.isprintable() or character == "\n" for character in text)


@settings(deadline=None)
@given(st.binary() | st.binary().map(lambda end: FIRST + b"\n" + end))
def test_arbitrary_bytes_never_raise(data):
    for check in (verify.verify, verify.verify_log, verify.verify_record):
        report = check(data)
        assert report.failure or data == FIRST + b"\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5)
    | st.sampled_from(["0" * 64, "d6", "sealed", 0, 1, -1, 2**53 - 1]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["kind", "seat", "d6", "faces", "weights"]), inner),
    max_leaves=6,
)  # fmt: skip


@settings(deadline=None)
@given(st.data())
def test_arbitrary_values_in_a_log_never_raise(data):
    entries = entries_of(data.draw(st.sampled_from(VECTORS["games"])))
    place: Any = entries[data.draw(st.integers(0, len(entries) - 1))]
    while True:
        steps = list(place) if isinstance(place, dict) else list(range(len(place)))
        step = data.draw(st.sampled_from(steps))
        inner = place[step]
        if not (isinstance(inner, dict | list) and inner) or data.draw(st.booleans()):
            break
        place = inner
    place[step] = data.draw(JSON)
    try:
        lines = chained(entries)
    except UnicodeEncodeError:
        return
    report = verify.verify_log(jsonl(lines), claim="finished")
    assert report.ok or report.failure
    json.dumps(report.to_json())


@settings(deadline=None)
@given(JSON, st.sampled_from(["protocol", "game", "status", "log", "public_keys", "receipt"]))
def test_arbitrary_values_in_a_record_never_raise(value, name):
    record = record_of(INCOMPLETE["lines"], "playing", **{name: value})
    report = verify.verify(record)
    assert report.ok or report.failure


# --- The audit record ---------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_record_is_verified_like_its_log(game):
    status = "playing" if game["status"] == "incomplete" else game["status"]
    log, record = (
        verify.verify(jsonl(game["lines"])),
        verify.verify(record_of(game["lines"], status)),
    )
    assert record.ok
    assert dict(record.checks) == dict(log.checks) | {"claim": "passed"}
    for name in ("status", "game", "entries", "throws", "head", "thrown", "notes"):
        assert getattr(record, name) == getattr(log, name)


def test_a_record_may_be_indented_and_in_any_order():
    document = json.loads(record_of(FINISHED["lines"], "finished", receipt=RECEIPT))
    for data in (
        json.dumps(document, indent=2),
        json.dumps(document, sort_keys=True),
        json.dumps({"exported": "today"} | document),
    ):
        report = verify.verify(data.encode())
        assert report.ok
        noted = "the record has a further field 'exported'" in report.notes
        assert noted == ("exported" in data)


RECORDS = {
    "other_protocol": ({"protocol": "fair-dice/2"}, None, "record"),
    "game_id_malformed": ({"game": "no game"}, None, "record"),
    "game_of_another_log": ({"game": "another"}, 0, "game"),
    "status_unknown": ({"status": "won"}, 20, "claim"),
    "status_of_an_unfinished_game": ({"status": "playing"}, 20, "claim"),
    "log_of_objects": ({"log": [{}]}, None, "record"),
    "log_empty": ({"log": []}, 0, "order"),
    "a_line_with_a_line_feed": ({"log": [FINISHED["lines"][0] + "\n"]}, 0, "canonical"),
    "a_line_of_half_a_pair": ({"log": ["\ud800"]}, 0, "canonical"),
    "public_key_malformed": ({"public_keys": ["A" * 64]}, None, "record"),
    "receipt_a_text": ({"receipt": "none"}, None, "record"),
    "receipt_empty": ({"receipt": {}}, 20, "receipt_form"),
    "receipt_of_another_game": ({"receipt": signed("x", 20, "00" * 32)}, 20, "receipt"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "seq", "code"), RECORDS.values(), ids=RECORDS)
def test_a_record_that_contradicts_itself_is_refused(change, seq, code):
    record = record_of(FINISHED["lines"], "finished", **change)
    assert fault(verify.verify(record)) == (seq, code)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{}", b"[]", b'{"log":[]}', b'{"log":1,"log":1}', b'{"log":1.5}', nested(10**5)],
    ids=["nothing", "cut", "empty", "list", "fields", "twice", "float", "deep"],
)
def test_what_is_no_record_is_refused_as_one(data):
    assert fault(verify.verify_record(data)) == (None, "record")


# --- The command line ---------------------------------------------------------------------------


@pytest.fixture
def log_file(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl(FINISHED["lines"]))
    return str(path)


@pytest.fixture
def forged_file(tmp_path: Path) -> str:
    path = tmp_path / "forged.jsonl"
    forged = next(vector for vector in VECTORS["forged"] if vector["note"] == "one face changed")
    path.write_bytes(jsonl(forged["lines"]))
    return str(path)


def test_a_verified_log_exits_0_with_one_clear_line(log_file, capsys):
    assert verify.main([log_file]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"OK: 21 entries, 14 throws, finished, head {FINISHED['head']}"


def test_a_refused_log_exits_1_and_names_entry_throw_and_die(forged_file, capsys):
    assert verify.main([forged_file, "--verbose"]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "FAILED at entry 4 (faces): throw 1, die 0 shows 2, the key gives 1"
    assert "  throw 1 (entry 4, seat 0): d6 2, d6 2: FAILED" in lines
    assert "  faces: failed" in lines
    assert "  root: not reached" in lines
    assert "  claim: not reached" in lines


def test_verbose_shows_every_throw(log_file, capsys):
    verify.main([log_file, "--verbose"])
    lines = capsys.readouterr().out.splitlines()
    assert "  throw 3 (entry 5, seat 0): d6 5, d6 5: ok" in lines
    assert len([line for line in lines if line.startswith("  throw ")]) == 14 + 1  # a check too


def test_json_carries_the_whole_report(forged_file, capsys):
    assert verify.main([forged_file, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert (report["failure"]["seq"], report["failure"]["code"]) == (4, "faces")
    assert {"name": "faces", "result": "failed"} in report["checks"]
    assert report["thrown"] == [
        {"seq": 4, "throw": 1, "seat": 0, "dice": ["d6", "d6"], "faces": [2, 2], "ok": False}
    ]


def test_receipts_and_keys_come_from_the_command_line(log_file, tmp_path, capsys):
    one, many = tmp_path / "one.json", tmp_path / "many.json"
    one.write_text(json.dumps(RECEIPT))
    answer = {"entry": {}, "game": {}, "receipt": RECEIPT}
    many.write_text(json.dumps([VECTORS["receipts"][1]["receipt"], answer], indent=1))
    kept = ["--receipt", str(one), "--receipt", str(many)]
    assert verify.main([log_file, *kept, "--public-key", PUBLIC_KEY]) == 0
    assert "  receipts: passed" in capsys.readouterr().out
    assert verify.main([log_file, *kept]) == 1
    assert "FAILED at entry 20 (receipt_key)" in capsys.readouterr().out


def test_a_claim_comes_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "cut.jsonl"
    path.write_bytes(jsonl(FINISHED["lines"][:-1]))
    assert verify.main([str(path)]) == 0
    assert verify.main([str(path), "--claim", "finished"]) == 1
    assert "FAILED at entry 19 (claim)" in capsys.readouterr().out


def test_a_dash_reads_the_standard_input(monkeypatch, capsys):
    record = record_of(FINISHED["lines"], "finished", receipt=RECEIPT)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(record)))
    assert verify.main(["-"]) == 0
    assert "OK: 21 entries" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--claim", "finished"],
        ["no-such-file"],
        ["no-such-file\x1b[2J"],
        ["nul\x00in-the-name"],
        ["{log}", "--claim", "won"],
        ["{log}", "--public-key", "00"],
        ["{log}", "--receipt", "no-such-file"],
        ["{log}", "--receipt", "{log}"],
        ["{log}", "--unknown"],
        ["http://127.0.0.1:1/v1/games/x"],
        ["http://[/v1/games/x"],
        ["http://127.0.0.1:port/"],
    ],
)
def test_what_cannot_be_used_exits_2_with_one_line(argv, log_file, capsys):
    assert verify.main([word.replace("{log}", log_file) for word in argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("verify: ")
    assert captured.err.count("\n") == 1
    assert captured.err[:-1].isprintable()


def test_too_much_input_exits_2(log_file, monkeypatch, capsys):
    monkeypatch.setattr(verify, "INPUT_MAX", 1000)
    assert verify.main([log_file]) == 2
    assert "more than 1000 bytes" in capsys.readouterr().err


class Server(BaseHTTPRequestHandler):
    """Serves the audit record and the log of one game, and an answer that breaks off."""

    RECORD = record_of(FINISHED["lines"], "finished", receipt=RECEIPT)
    ANSWERS: ClassVar = {
        "/v1/games/g/audit": RECORD,
        "/v1/games/g/audit?x=1": RECORD,
        "/v1/games/g/log": jsonl(FINISHED["lines"]),
        "/log.jsonl": jsonl(FINISHED["lines"]),
        "/broken": RECORD,
    }

    def do_GET(self) -> None:
        body = self.ANSWERS.get(self.path)
        self.send_response(404 if body is None else 200)
        length = len(body or b"") + (self.path == "/broken")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/games/g", 0),
        ("/v1/games/g/", 0),
        ("/v1/games/g?x=1", 0),
        ("/#/game/g", 0),  # as the page at / shows it
        ("/#/game/g/rules", 0),
        ("/v1/games/g/audit", 0),
        ("/v1/games/g/log", 0),
        ("/log.jsonl", 0),
        ("/v1/games/h", 2),
        ("/broken", 2),
    ],
)
def test_a_url_of_a_game_is_read(path, code, server, capsys):
    assert verify.main([server + path]) == code
    captured = capsys.readouterr()
    assert captured.out.endswith(f"head {FINISHED['head']}\n") if code == 0 else captured.err


def test_a_server_that_is_too_slow_exits_2(server, monkeypatch, capsys):
    monkeypatch.setattr(verify, "URL_TOTAL_S", -1)
    assert verify.main([f"{server}/v1/games/g"]) == 2
    assert "not read after" in capsys.readouterr().err


def test_a_reader_that_stops_early_sees_no_traceback(log_file):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, verify.__file__, log_file]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["log_file", "forged_file"])
def test_a_copied_file_verifies_alone(name, request, tmp_path):
    log = request.getfixturevalue(name)
    copy = tmp_path / "copied.py"
    copy.write_bytes(Path(verify.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", str(copy), log],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == (name == "forged_file")
    assert done.stdout.splitlines()[-1].startswith(
        "FAILED at entry 4 (faces): throw 1, die 0" if done.returncode else "OK: 21 entries"
    )


def test_the_verifier_imports_the_standard_library_only():
    tree = ast.parse(Path(verify.__file__).read_text())
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add((node.module or "").split(".")[0])
    assert modules <= sys.stdlib_module_names
