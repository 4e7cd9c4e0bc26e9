"""Canonical lines and the hash chain, as the server writes and reads them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.log import NO_HASH, Entry, NotCanonical, canonical, entry_hash, jsonl, parse

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["canonical"], ids=lambda vector: vector["hex"][:24])
def test_canonical(vector: dict[str, Any]) -> None:
    line = canonical(vector["value"])
    assert line.hex() == vector["hex"]
    assert entry_hash(line).hex() == vector["entry_hash"]


@pytest.mark.parametrize("vector", VECTORS["not_canonical"], ids=lambda vector: vector["note"])
def test_a_line_that_is_not_canonical_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(NotCanonical):
        parse(bytes.fromhex(vector["hex"]))


@pytest.mark.parametrize("game", VECTORS["games"], ids=lambda game: game["note"])
def test_a_recorded_log_is_read_and_rendered_byte_for_byte(game: dict[str, Any]) -> None:
    prev = NO_HASH
    for line in (text.encode() for text in game["lines"]):
        entry = parse(line)
        assert entry.line() == line
        assert entry.prev == prev
        prev = entry_hash(line)
    assert prev.hex() == game["head"]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True), values, max_size=5))
def test_every_entry_comes_back_from_its_line(data: dict[str, Any]) -> None:
    entry = Entry("g-1", 7, bytes(range(32)), 1_767_225_600_123, "acted", data)
    assert parse(entry.line()) == entry


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1.0},
        {"a": float("nan")},
        {"A": 1},
        {"1": 1},
        {"": 1},
        {1: 1},
        {"a": 2**53},
        {"a": -(2**53)},
        {"a": "\ud800"},
        {"a": b"x"},
        pytest.param({"a": object()}, id="{'a': object()}"),  # its repr is an address
    ],
    ids=repr,
)
def test_a_value_that_no_line_may_hold_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
def test_values_nest_64_deep_and_no_deeper(wrap: Callable[[Any], Any]) -> None:
    def nested(depth: int) -> Any:
        value: Any = []
        for _ in range(depth - 1):
            value = wrap(value)
        return value

    assert canonical(nested(64))
    with pytest.raises(NotCanonical):
        canonical(nested(65))


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[]", b"\xff", b"\x00", b"null", b'{"v":2}', b"[" * 5000, b"1" * 5000],
    ids=lambda line: repr(line[:8]),
)
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(NotCanonical):
        parse(line)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("v", 2),
        ("v", True),
        ("v", "1"),
        ("type", "dealt"),
        ("type", None),
        ("prev", "00zz"),
        ("prev", 7),
        ("note", "an eighth field"),
    ],
)
def test_one_field_that_is_wrong_is_enough(field: str, value: Any) -> None:
    right = Entry("g-1", 7, bytes(32), 1_767_225_600_123, "acted", {}).line()
    assert parse(right).seq == 7
    with pytest.raises(NotCanonical):
        parse(canonical({**json.loads(right), field: value}))


def test_a_file_has_one_newline_after_every_line() -> None:
    assert jsonl([b"a", b"b"]) == b"a\nb\n"
