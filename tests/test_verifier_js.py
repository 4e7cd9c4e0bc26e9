"""The page's verifier and the example, in Node: vectors, forgeries, every changed byte, and
verdicts equal to those of the offline verifier."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service import rules, verify
from service.log import jsonl
from tests import compare_verifiers, javascript, test_verify
from tests.compare_verifiers import agreed
from tests.game_client import create
from tests.golden import recorded
from tests.javascript import NEEDS_NODE, JavaScriptVerifier
from tests.server import Server
from tests.test_verify import FINISHED, SHORT, VECTORS, Entries, chained, entries_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "verify.mjs"
GAMES = 16 * len(rules.RULESETS)

pytestmark = NEEDS_NODE


def text_of(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


@pytest.fixture(scope="module")
def other() -> Iterator[JavaScriptVerifier]:
    with JavaScriptVerifier() as running:
        yield running


# --- the page's verifier --------------------------------------------------------------------------


def test_every_vector_passes() -> None:
    script = javascript.TESTS / "verifier_vectors_in_node.mjs"
    done = javascript.run(script, given=json.dumps(VECTORS).encode())
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert found["failures"] == []
    kinds = VECTORS.keys() - {"about", "protocol"}
    assert found["counts"] == {kind: len(VECTORS[kind]) for kind in kinds}


def test_the_browsers_hashes_are_those_of_python_at_every_length() -> None:
    pairs = [(bytes(range(n % 140)), bytes(n % 256 for n in range(n))) for n in range(300)]
    asked = json.dumps([[part.hex() for part in pair] for pair in pairs])
    done = javascript.run(javascript.TESTS / "sha256_in_node.mjs", given=asked.encode())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [hashlib.sha256(message).hexdigest(), hmac.digest(key, message, "sha256").hex()]
        for key, message in pairs
    ]


def test_every_changed_byte_is_refused() -> None:
    """By the log itself, or in its last entry by its receipt."""
    log = text_of(SHORT["lines"])
    report = verify.verify_log(log)
    assert report.ok
    receipt = test_verify.signed(report.game or "", report.entries - 1, report.head)
    given = {
        "log": base64.b64encode(log).decode(),
        "receipt": receipt,
        "public_key": test_verify.PUBLIC_KEY,
    }
    script = javascript.TESTS / "verifier_mutations.mjs"
    done = javascript.run(script, given=json.dumps(given).encode())
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert found["unchanged"]
    assert found["tried"] > 7 * len(log)
    assert found["passed_before_last"] == []
    assert found["passed_in_last"] > 0
    assert found["passed_with_receipt"] == []


@pytest.mark.parametrize(
    "path", sorted(recorded.LOGS.glob("*.jsonl")), ids=lambda path: str(path.stem)
)
def test_recorded_games_have_one_verdict(other: JavaScriptVerifier, path: Path) -> None:
    assert agreed(other, path.read_bytes(), {}).ok


@pytest.mark.parametrize("name", test_verify.HOSTILE)
def test_hostile_input_has_one_verdict(other: JavaScriptVerifier, name: str) -> None:
    data, seq, code = test_verify.HOSTILE[name]
    failure = agreed(other, data, {}).failure
    assert failure
    assert (failure.seq, failure.code) == (seq, code) or verify.RECORD_START.match(data)


@pytest.mark.parametrize("case", test_verify.CHANGES, ids=lambda case: case[0].replace(" ", "_"))
def test_consistent_forgeries_have_one_verdict(other: JavaScriptVerifier, case: Any) -> None:
    _, game, change, seq, code = case
    entries = entries_of(game)
    change(entries)
    failure = agreed(other, text_of(chained(entries)), {}).failure
    assert failure
    assert (failure.seq, failure.code) == (seq, code)


@pytest.mark.parametrize("name", test_verify.RECORDS)
def test_records_that_contradict_themselves_have_one_verdict(
    other: JavaScriptVerifier, name: str
) -> None:
    case: Any = test_verify.RECORDS[name]
    change, seq, code = case
    record = test_verify.record_of(FINISHED["lines"], "finished", **change)
    failure = agreed(other, record, {}).failure
    assert failure
    assert (failure.seq, failure.code) == (seq, code)


def spelled(name: str, old: bytes, new: bytes) -> Any:
    return pytest.param(old, new, id=name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        spelled("blanks", b'"game": ', b'\n\t"game"\r :\t'),
        spelled("form_feed", b'"game": ', b'\f"game": '),
        spelled("no_break_space", b'"game": ', b'\xc2\xa0"game": '),
        spelled("key_twice", b'"receipt": null', b'"receipt": null, "receipt": null'),
        spelled("key_in_upper_case", b'"receipt": null', b'"receipt": null, "Further": 0'),
        spelled("further_key", b'"receipt": null', b'"receipt": null, "further": "\\ud800"'),
        spelled("prototype", b'"receipt": null', b'"receipt": null, "__proto__": {}'),
        spelled("constructor", b'"receipt": null', b'"receipt": null, "constructor": {}'),
        spelled("float", b'"receipt": null', b'"receipt": null, "further": 1.0'),
        spelled("exponent", b'"receipt": null', b'"receipt": null, "further": 1e2'),
        spelled("minus_zero", b'"receipt": null', b'"receipt": null, "further": -0'),
        spelled("largest", b'"receipt": null', b'"receipt": null, "further": -9007199254740991'),
        spelled("too_large", b'"receipt": null', b'"receipt": null, "further": 9007199254740992'),
        spelled("trailing_comma", b'"receipt": null', b'"receipt": null,'),
        spelled("no_value", b'"receipt": null', b'"receipt": '),
        spelled("not_a_word", b'"receipt": null', b'"receipt": nul'),
        spelled("control_character", b'"game": "', b'"game": "\x01'),
        spelled("escaped_quote", b'"game": "', b'"game": "\\"'),
        spelled("escaped_name", b'"game"', b'"\\u0067ame"'),
        spelled("byte_order_mark", b'{"protocol"', b'\xef\xbb\xbf{"protocol"'),
        spelled("not_utf8", b'"game": "', b'"game": "\xff'),
        spelled("something_after", b'"receipt": null}', b'"receipt": null} 1'),
        spelled("log_first", b'{"protocol"', b'{"log": [], "protocol"'),
        spelled("like_an_entry", b'{"protocol"', b'{"v": 1, "protocol"'),
    ],
)
def test_records_in_any_spelling_have_one_verdict(
    other: JavaScriptVerifier, old: bytes, new: bytes
) -> None:
    record = test_verify.record_of(FINISHED["lines"], "finished")
    assert record.count(old) == 1
    agreed(other, record.replace(old, new), {})


@pytest.mark.parametrize("key", test_verify.SMALL_ORDER + test_verify.NO_POINT)
def test_keys_that_would_accept_anything_are_refused(other: JavaScriptVerifier, key: str) -> None:
    log = text_of(FINISHED["lines"])
    key_id = hashlib.sha256(bytes.fromhex(key)).hexdigest()[:16]
    sig = test_verify.SMALL_ORDER[0] + "00" * 32
    for place in range(8):
        receipt = test_verify.RECEIPT | {"head": f"{place:064x}", "key_id": key_id, "sig": sig}
        given = {"receipts": [receipt], "public_keys": [key]}
        failure = agreed(other, log, given).failure
        assert failure
        assert failure.code == "receipt_sig"


def test_the_second_spelling_of_a_signature_is_refused(other: JavaScriptVerifier) -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    sig = bytes.fromhex(test_verify.RECEIPT["sig"])
    second = sig[:32] + (int.from_bytes(sig[32:], "little") + order).to_bytes(32, "little")
    receipt = test_verify.RECEIPT | {"sig": second.hex()}
    given = {"receipts": [receipt], "public_keys": [test_verify.PUBLIC_KEY]}
    failure = agreed(other, text_of(FINISHED["lines"]), given).failure
    assert failure
    assert failure.code == "receipt_sig"


def test_a_key_that_is_given_very_often_is_tried_once(other: JavaScriptVerifier) -> None:
    """Tried each time it would take minutes."""
    receipt = test_verify.RECEIPT | {"sig": "00" * 64}
    given = {"receipts": [receipt], "public_keys": [test_verify.PUBLIC_KEY] * 50_000}
    began = time.monotonic()
    failure = agreed(other, text_of(FINISHED["lines"]), given).failure
    assert failure
    assert failure.code == "receipt_sig"
    assert time.monotonic() - began < 20


def test_random_games_and_their_changed_copies_have_one_verdict() -> None:
    counts = compare_verifiers.compare(GAMES, 2026)
    assert sum(counts.games.values()) == GAMES
    assert len(counts.games) == len(rules.RULESETS)
    assert set(counts.modes) == set(verify.SEED_MODES)
    assert set(counts.statuses) == {*verify.ENDS, "incomplete"}
    assert counts.compared == 6 * GAMES
    assert len(counts.verdicts) > 12


def test_a_disagreement_is_told_with_its_bytes(
    other: JavaScriptVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other, "answer", lambda: verify.verify(b"").to_json())
    other.ask(b"", {})
    with pytest.raises(compare_verifiers.Disagreement, match=r"head: .* / ''"):
        agreed(other, text_of(FINISHED["lines"]), {})


# --- the example ----------------------------------------------------------------------------------


def example(tmp_path: Path, content: bytes) -> tuple[int, str]:
    path = tmp_path / "game"
    path.write_bytes(content)
    done = javascript.run(EXAMPLE, str(path))
    assert done.stderr == b""
    return done.returncode, done.stdout.decode().strip()


@pytest.mark.parametrize("game", VECTORS["games"], ids=lambda game: game["status"])
def test_the_example_accepts_recorded_games(tmp_path: Path, game: dict[str, Any]) -> None:
    told = f"OK: {game['entries']} entries, {game['throws']} throws, head {game['head']}"
    assert example(tmp_path, text_of(game["lines"])) == (0, told)
    record = test_verify.record_of(game["lines"], game["status"])
    assert example(tmp_path, record) == (0, told)


def changed_line(entries: Entries) -> None:
    entries[4]["data"]["events"] = []


def changed_face(entries: Entries) -> None:
    faces = entries[4]["data"]["throws"][0]["faces"]
    faces[0] = faces[0] % 6 + 1


def changed_key(entries: Entries) -> None:
    entries[4]["data"]["throws"][0]["key"] = "00" * 32


def changed_root(entries: Entries) -> None:
    entries[-1]["data"]["root"] = "00" * 32


def hidden_root(entries: Entries) -> None:
    entries[-1]["data"]["root"] = None


def changed_context(entries: Entries) -> None:
    entries[3]["data"]["context"] = "00" * 32


@pytest.mark.parametrize(
    ("change", "hashes_made_again", "told"),
    [
        (changed_line, False, "entry 5: it does not follow"),
        (changed_face, True, "entry 4: throw 1 shows"),
        (changed_key, True, "entry 4: throw 1 has a key"),
        (changed_context, True, "entry 3: another context"),
        (changed_root, True, "entry 20: the root does not lead"),
        (hidden_root, True, "entry 20: the root does not lead"),
    ],
)
def test_the_example_refuses_a_change(
    tmp_path: Path, change: Callable[[Entries], None], hashes_made_again: bool, told: str
) -> None:
    entries = entries_of(FINISHED)
    change(entries)
    lines = chained(entries) if hashes_made_again else [test_verify.canonical(e) for e in entries]
    status, said = example(tmp_path, text_of(lines))
    assert status == 1
    assert said.startswith(f"REFUSED at {told}")


def test_the_example_accepts_a_game_from_a_server(server: Server, tmp_path: Path) -> None:
    with server.client() as client:
        table = create(client, "dados-puercos")
        table.play()
        log = client.get(f"{table.path}/log", headers={"accept": "application/jsonl"}).content
        record = client.get(f"{table.path}/audit").content
    report = verify.verify_log(log)
    told = f"OK: {report.entries} entries, {report.throws} throws, head {report.head}"
    assert example(tmp_path, record) == (0, told)
    assert example(tmp_path, jsonl(log.splitlines())) == (0, told)


def test_the_example_has_sixty_lines_at_most() -> None:
    lines = EXAMPLE.read_text("utf-8").splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100
