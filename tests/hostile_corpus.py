"""Hostile requests for every operation of the contract: each field of each body, each part of each
path, each query and each header, with what databases, parsers and people stumble over.

They are made from the OpenAPI document, so that a new route is attacked without being named here.
``{game}``, ``{token}`` and ``{host}`` stand for those of the game that is attacked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests import contract_check
from tests.raw import wire

JSON: Final = ("Content-Type", "application/json")
HOST: Final = ("Authorization", "Bearer {host}")

# What may stand nowhere, as it is written in the body.
VALUES: Final = {
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "-Infinity": b"-Infinity",
    "1e400": b"1e400",
    "a lone surrogate": b'"\\ud800"',
    "NUL": b'"\\u0000"',
    "a raw NUL": b'"\x00"',
    "an escape": b'"\\u001b[31m"',
    "CR and LF": b'"x\\r\\nevent: win"',
    "invalid UTF-8": b'"\xff"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "2**53": b"9007199254740992",
    "-2**53": b"-9007199254740992",
    "2**63": b"9223372036854775808",
    "400 digits": b"7" * 400,
    "5,000 digits": b"7" * 5_000,
    "a fraction": b"0.5",
    "1e2": b"1e2",
    "-1": b"-1",
    "2**31": b"2147483648",
    "a list in a list": b"[[1]]",
    "equal keys": b'{"a":1,"a":2}',
    "17 deep": b"[" * 17 + b"]" * 17,
    "nothing": b"",
    "a word": b"undefined",
}
# What may stand in some places: (value, the JSON types that it may be).
TYPED: Final = {
    "true": (b"true", {"boolean"}),
    "5.0": (b"5.0", {"number"}),
    "a number as text": (b'"5"', {"string"}),
    "an object": (b"{}", {"object"}),
    "a list": (b"[]", {"array"}),
    "a turned direction": (b'"\\u202eana"', set[str]()),
    "zero width": (b'"\\u200bana"', set[str]()),
    "a filler": (b'"\\u3164"', set[str]()),
    "SQL": (b'"\' OR 1=1 --"', {"string"}),
    "100 KB of text": (b'"' + b"x" * 100_000 + b'"', set[str]()),
}
UNKNOWN: Final = ("chips", "is_host", "__proto__", "constructor", "player_id", "$where", "")
PATHS: Final = {
    "NUL": "%00",
    "NUL at the end": "a%00",
    "bytes": "%ff",
    "an overlong dot": "%c0%ae",
    "dots": "..%2f..%2fetc%2fpasswd",
    "CR and LF": "a%0d%0aSet-Cookie:%20a=b",
    "a turned direction": "%e2%80%ae",
    "a line separator": "%e2%80%a8",
    "SQL": "%27%20OR%201=1--",
    "markup": "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "a template": "%7B%7B7*7%7D%7D",
    "-1": "-1",
    "2**63": "9223372036854775808",
    "5,000 digits": "7" * 5_000,
    "other digits": "%ef%bc%91",
    "a percent sign": "%",
}
QUERIES: Final = {
    "nothing": "",
    "NUL": "%00",
    "bytes": "%ff",
    "CR and LF": "1%0d%0a",
    "SQL": "1%27%20OR%201=1--",
    "an object": "{}",
    "-1": "-1",
    "1e1": "1e1",
    "2**63": "9223372036854775808",
    "5,000 digits": "7" * 5_000,
    "NaN": "NaN",
}
HEADERS: Final = {
    "Idempotency-Key": {
        "nothing": b"",
        "two words": b"a b",
        "256 characters": b"k" * 256,
        "bytes": b"\xff\xfe",
        "10 KB": b"k" * 10_000,
    },
    "If-Match": {
        "nothing": b"",
        "weak": b'W/"1"',
        "a list": b'"1", "2"',
        "anything": b"*",
        "bytes": b'"\xff"',
        "400 digits": b'"' + b"7" * 400 + b'"',
        "another version": b'"9999999"',
    },
    "Authorization": {
        "nothing": b"",
        "Basic": b"Basic {host}",
        "Latin-1": b"Bearer caf\xe9",
        "10 KB": b"Bearer " + b"x" * 10_000,
        "a forged token": b"Bearer cub_host_" + b"A" * 43,
        "two tokens": b"Bearer {host} {token}",
        "SQL": b"Bearer ' OR 1=1 --",
    },
    "Content-Type": {
        "text": b"text/plain",
        "a form": b"application/x-www-form-urlencoded",
        "multipart": b"multipart/form-data; boundary=x",
        "UTF-16": b"application/json; charset=utf-16",
        "XML": b"application/xml",
        "bytes": b"\xff",
    },
    "Content-Encoding": {"gzip": b"gzip", "br": b"br", "a list": b"identity, gzip"},
}
BODIES: Final = {
    "nothing but spaces": b"  ",
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "UTF-32": '{"a":1}'.encode("utf-32"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "two values": b"{} {}",
    "a comment": b"{} // x",
    "60,000 deep": b"[" * 60_000,
    "many keys": b"{" + b",".join(b'"k%d":0' % key for key in range(6_000)) + b"}",
    "a million bytes": b" " * 1_000_000,
    "cut short": b'{"a":',
}
# The path as it is, but for one thing that makes it another: ({path}, the method or null).
TARGETS: Final = {
    "a slash at the end": ("{path}/", None),
    "two slashes": ("/{path}", None),
    "a dot": ("/.{path}", None),
    "capitals": ("{PATH}", None),
    "a semicolon": ("{path};x=1", None),
    "a line feed at the end": ("{path}%0a", None),
    "NUL at the end": ("{path}%00", None),
    "TRACE": ("{path}", "TRACE"),
    "PROPFIND": ("{path}", "PROPFIND"),
    "PUT": ("{path}", "PUT"),
}
PLACES: Final = {
    "id": "{game}",
    "seat": "0",
    "series_id": "{game}",
    "key": "pig",
    "code": "not_found",
}
BASES: Final[dict[str, dict[str, Any]]] = {
    "create_game": {"ruleset": "pig", "seats": [{}, {}]},
    "act": {"kind": "roll", "seat": 0},
    "rename_seat": {"name": "Eva"},
    "reveal_seed": {"seed": "11" * 32},
}
# Whatever is uploaded to be checked gets a report, which is no refusal.
REPORTED: Final = "check_record"


@dataclass(frozen=True)
class Hostile:
    """A request that is refused, whatever the state of the game."""

    name: str
    data: bytes

    def aimed(self, game: str, token: str, host: str) -> bytes:
        """The bytes, at a game."""
        placed = {b"{game}": game, b"{token}": token, b"{host}": host}
        data = self.data
        for place, text in placed.items():
            # Lengths count the place, which is in no body.
            data = data.replace(place, text.encode())
        return data


@cache
def corpus() -> tuple[Hostile, ...]:
    """All of it."""
    return tuple(_made())


def _made() -> Iterator[Hostile]:
    for path, methods in contract_check.document()["paths"].items():
        for method, operation in methods.items():
            told = _Operation(method.upper(), path, operation)
            yield from told.bodies()
            yield from told.fields()
            yield from told.paths()
            yield from told.queries()
            yield from told.headers()
            yield from told.targets()


class _Operation:
    def __init__(self, method: str, path: str, operation: dict[str, Any]) -> None:
        self._name = operation["operationId"]
        self._method = method
        self._raw_path = path
        self._path = path.format(**PLACES)
        self._body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        self._base = BASES.get(self._name, {})
        self._parameters = operation.get("parameters", [])
        security = operation.get("security", [])
        self._token_needed = bool(security) and {} not in security

    def _made(self, what: str, body: bytes | None = None, **other: Any) -> Hostile:
        headers = other.pop("headers", [HOST, JSON])
        target, method = other.pop("target", self._path), other.pop("method", self._method)
        assert not other
        if body is None and self._body is not None:
            body = json.dumps(self._base).encode()
        return Hostile(f"{self._name}: {what}", wire(method, target, headers, body))

    def bodies(self) -> Iterator[Hostile]:
        if self._body is None or self._name == REPORTED:
            return
        for what, body in BODIES.items():
            yield self._made(what, body)
        for name in UNKNOWN:
            whole = json.dumps({**self._base, name: 1}).encode()
            yield self._made(f"the field {name!r} that nobody knows", whole)

    def fields(self) -> Iterator[Hostile]:
        if self._body is None or self._name == REPORTED:
            return
        for name, types in _fields(self._body["schema"]).items():
            for what, value in VALUES.items():
                yield self._made(f"{what} as {name}", self._with(name, value))
            for what, (value, possible) in TYPED.items():
                if types.isdisjoint(possible):
                    yield self._made(f"{what} as {name}", self._with(name, value))
            twice = self._with(name, b'0,"%s":1' % name.encode())
            yield self._made(f"{name} twice", twice)

    def _with(self, name: str, value: bytes) -> bytes:
        """The body with one field as it is given, on top of what is needed for it."""
        others = {key: other for key, other in self._base.items() if key != name}
        start = json.dumps(others)[:-1].encode() + (b"," if others else b"")
        return start + b'"%s":%s}' % (name.encode(), value)

    def paths(self) -> Iterator[Hostile]:
        names = [one["name"] for one in self._parameters if one["in"] == "path"]
        for name in names:
            for what, value in PATHS.items():
                target = self._raw_path.format(**{**PLACES, name: value})
                yield self._made(f"{what} in the path as {name}", target=target)

    def queries(self) -> Iterator[Hostile]:
        known = [one["name"] for one in self._parameters if one["in"] == "query"]
        for name in known:
            for what, value in QUERIES.items():
                target = f"{self._path}?{name}={value}"
                yield self._made(f"{what} in the query as {name}", target=target)
            target = f"{self._path}?{name}=1&{name}=1"
            yield self._made(f"{name} twice in the query", target=target)
        for query in ("x=1", "token={host}", "access_token={host}", "%00=1", "%ff", "id[$ne]=1"):
            yield self._made(f"the query {query}", target=f"{self._path}?{query}")

    def headers(self) -> Iterator[Hostile]:
        if self._body is None or self._name == REPORTED:
            return
        documented = {one["name"] for one in self._parameters if one["in"] == "header"}
        read = documented | {"Content-Type", "Content-Encoding"}
        if self._token_needed:
            read.add("Authorization")
        for name in sorted(read & HEADERS.keys()):
            rest = [line for line in (HOST, JSON) if line[0] != name]
            for what, value in HEADERS[name].items():
                yield self._made(f"{name}: {what}", headers=[*rest, (name, value)])
            # One line of each would do.
            if name != "Content-Encoding":
                twice = [*rest, (name, b"a"), (name, b"b")]
                yield self._made(f"{name} twice", headers=twice)

    def targets(self) -> Iterator[Hostile]:
        for what, (form, method) in TARGETS.items():
            upper = self._raw_path.upper().format(**{key.upper(): PLACES[key] for key in PLACES})
            target = form.format(path=self._path, PATH=upper)
            yield self._made(what, target=target, method=method or self._method)


def _fields(schema: dict[str, Any]) -> dict[str, set[str]]:
    """The fields of a body, with the JSON types that each may have."""
    if "$ref" in schema:
        schema = contract_check.schema_of(schema["$ref"].rpartition("/")[2])
    found: dict[str, set[str]] = {}
    for branch in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        for name, types in _fields(branch).items():
            found.setdefault(name, set()).update(types)
    for name, field in schema.get("properties", {}).items():
        found.setdefault(name, set()).update(_types(field))
    return found


def _types(schema: dict[str, Any]) -> set[str]:
    if "$ref" in schema:
        return _types(contract_check.schema_of(schema["$ref"].rpartition("/")[2]))
    branches = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    given = schema.get("type", [])
    own = {given} if isinstance(given, str) else set(given)
    return own.union(*map(_types, branches))
