"""The strict reader: it refuses, or it reads what the standard parser reads."""

import contextlib
import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.api.reading import BODY_LIMIT, DEPTH_LIMIT, parse_json
from service.api.texts import READING
from service.errors import Refusal, Unreadable

LARGEST = 2**53 - 1
plain = st.text(st.characters(exclude_categories=["Cc", "Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST, LARGEST)
    | st.floats(-LARGEST, LARGEST, allow_nan=False, allow_subnormal=False)
    | plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain, inner, max_size=4),
    max_leaves=20,
)


def reason(body: bytes) -> str:
    """Why a body is refused."""
    with pytest.raises(Unreadable) as refusal:
        parse_json(body)
    return str(refusal.value.extras["reason"])


@given(values)
def test_plain_json_is_read_as_it_is(value):
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@given(st.binary(max_size=200) | st.text().map(str.encode))
@example(b'"\\')
@example(b"]" * 40 + b"[" * 40)
@example(b'{"a":1,"a":1}')
@example(b"-")
@example(b"1" * 5000)
@example(b"1e" + b"9" * 400)
@example(b"-0")
@example(b"\xef\xbb\xbf{}")
def test_nothing_but_a_refusal_comes_of_any_bytes(body):
    try:
        value = parse_json(body)
    except Refusal as refusal:
        told = refusal.extras["reason"] in READING
    else:
        told = value == json.loads(body) == parse_json(json.dumps(value).encode())
    assert told


@given(st.data(), values)
def test_one_wrong_byte_is_refused_or_read_as_it_stands(data, value):
    body = bytearray(json.dumps(value).encode())
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = parse_json(bytes(body))
    except Refusal:
        return
    assert read == json.loads(bytes(body))


REFUSED = {
    "empty": (b"", "not_json"),
    "spaces": (b" \n", "not_json"),
    "two values": (b"{} {}", "not_json"),
    "trailing comma": (b"[1,]", "not_json"),
    "comment": (b"{} // no", "not_json"),
    "single quotes": (b"{'a':1}", "not_json"),
    "no quotes": (b"{a:1}", "not_json"),
    "leading zero": (b"01", "not_json"),
    "plus": (b"+1", "not_json"),
    "hex": (b"0x10", "not_json"),
    "point at the end": (b"1.", "not_json"),
    "digits of another script": ("٣".encode(), "not_json"),
    "NaN": (b"NaN", "not_json"),
    "Infinity": (b"[Infinity]", "not_json"),
    "-Infinity": (b"-Infinity", "not_json"),
    "open text": (b'"abc', "not_json"),
    "line break in a text": (b'"a\nb"', "not_json"),
    "byte order mark": (b"\xef\xbb\xbf{}", "not_json"),
    "UTF-16": ("{}".encode("utf-16"), "invalid_utf8"),
    "UTF-16 without mark": ("{}".encode("utf-16-le"), "not_json"),
    "UTF-32": ("{}".encode("utf-32"), "invalid_utf8"),
    "Latin-1": ('"é"'.encode("latin-1"), "invalid_utf8"),
    "overlong": (b'"\xc0\xaf"', "invalid_utf8"),
    "surrogate in UTF-8": (b'"\xed\xa0\x80"', "invalid_utf8"),
    "cut short": (b'"\xe2\x82', "invalid_utf8"),
    "1e400": (b"1e400", "number_out_of_range"),
    "-1e400": (b"[-1e400]", "number_out_of_range"),
    "1e16": (b"1e16", "number_out_of_range"),
    "2**53": (b"9007199254740992", "number_out_of_range"),
    "-2**53": (b"-9007199254740992", "number_out_of_range"),
    "400 digits": (b"1" * 400, "number_out_of_range"),
    "5,000 digits": (b"1" * 5000, "number_out_of_range"),
    "equal keys": (b'{"a":1,"a":1}', "duplicate_key"),
    "equal keys, one escaped": (b'{"a":1,"\\u0061":2}', "duplicate_key"),
    "equal keys deep inside": (b'[[{"a":{"b":1,"b":2}}]]', "duplicate_key"),
    "NUL": (b'"\\u0000"', "forbidden_character"),
    "NUL in a key": (b'{"\\u0000":1}', "forbidden_character"),
    "ESC": (b'"\\u001b"', "forbidden_character"),
    "escaped line break": (b'"\\n"', "forbidden_character"),
    "DEL": (b'"\x7f"', "forbidden_character"),
    "C1 control": ('"\x85"'.encode(), "forbidden_character"),
    "high surrogate alone": (b'"\\ud800"', "forbidden_character"),
    "low surrogate alone": (b'"\\udc00"', "forbidden_character"),
    "surrogates turned round": (b'"\\udc00\\ud800"', "forbidden_character"),
    "surrogate in a key": (b'{"\\udfff":1}', "forbidden_character"),
    "17 deep": (b"[" * 17 + b"]" * 17, "too_deep"),
    "100,000 deep": (b"[" * 100_000, "too_deep"),
    "100,000 deep in objects": (b'{"a":' * 100_000, "too_deep"),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_plain_json_is_refused_with_its_reason(body, why):
    assert reason(body) == why


TAKEN = {
    "16 deep": b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT,
    "brackets in a text": b'"' + b"[" * 100 + b'"',
    "quotes and brackets in a text": rb'["\"[[[[[[[[[[[[[[[[[[[[", "\\"]',
    "2**53 - 1": b"9007199254740991",
    "-(2**53 - 1)": b"-9007199254740991",
    "a small fraction": b"1e-400",
    "an emoji as surrogates": b'"\\ud83c\\udfb2"',
    "a line separator": '"a\u2028b"'.encode(),
    "spaces around": b" \r\n\t{} \n",
    "the same key in two objects": b'[{"a":1},{"a":1}]',
}


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN.keys())
def test_whatever_is_plain_json_is_read(body):
    assert parse_json(body) == json.loads(body)


EVIL = {
    "brackets": b"[" * BODY_LIMIT,
    "quotes": b'"' * BODY_LIMIT,
    "backslashes": b'"' + b"\\" * BODY_LIMIT,
    "escaped quotes": b'"' + b'\\"' * (BODY_LIMIT // 2),
    "digits": b"1." + b"7" * BODY_LIMIT,
    "exponent": b"1e-" + b"7" * BODY_LIMIT,
    "many keys": b"{" + b",".join(b'"%d":0' % key for key in range(6000)) + b"}",
    "many texts": b"[" + b",".join([b'"ab"'] * 12_000) + b"]",
}


@pytest.mark.parametrize("body", EVIL.values(), ids=EVIL.keys())
def test_no_body_takes_long_to_judge(body):
    started = time.process_time()
    with contextlib.suppress(Unreadable):
        parse_json(body)
    assert time.process_time() - started < 0.25
