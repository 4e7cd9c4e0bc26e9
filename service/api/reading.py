"""Reading requests strictly: whatever is not plain JSON of the documented shape is refused.

The standard parser takes NaN, keeps the last of two equal keys and lets lone surrogates through;
none of that may reach a game, and no database may see a character that another one refuses.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from service import keys
from service.api.headers import headers_of
from service.api.problems import BodyTooLarge, UnsupportedMediaType
from service.dice import enc
from service.errors import (
    FieldError,
    InvalidInput,
    PreconditionMalformed,
    PreconditionMissing,
    TokenMissing,
    TokenUnknown,
    Unreadable,
)
from service.requests import Caller
from service.schema import invalid_input
from service.store import Retry

BODY_LIMIT: Final = 64 * 1024
UPLOAD_LIMIT: Final = 8 * 1024 * 1024
DEPTH_LIMIT: Final = 16
_INTEGER_LIMIT: Final = 2**53 - 1
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control, lone surrogate
_VISIBLE: Final = re.compile(r"[\x21-\x7e]{1,255}")
_BEARER: Final = re.compile(r"(?i:bearer) +(cub_(?:seat|host)_[A-Za-z0-9_-]{43})")
_BEARERS_MOST: Final = 32
_ETAG: Final = re.compile(r'"(0|[1-9][0-9]{0,15})"')
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,15}")
_QUALITY: Final = re.compile(r"q=[01](\.[0-9]{0,3})?")
_GUARDING_KEY_LENGTH: Final = 22
_PREFER_NONE: Final = "receipt=no"
_WAIT: Final = re.compile(r"wait=([0-9]{1,9})")
WAIT_LIMIT_S: Final = 60

M = TypeVar("M", bound=BaseModel)


async def read_model(request: Request, model: type[M], *, optional: bool = False) -> M:
    """The body as ``model``; an absent body counts as ``{}`` where it is optional."""
    value = await read_json(request, optional=optional)
    try:
        # In JSON mode a strict model takes lists for its tuples, and nothing else more.
        return model.model_validate_json(orjson.dumps(value))
    except ValidationError as error:
        raise invalid_input(error, value) from None


async def read_json(request: Request, *, optional: bool = False) -> Any:
    """The body's value, kept for ``caller``; a request with a body takes no query."""
    query(request, ())
    body = await read_body(request)
    value = request.state.value = parse_json(body or b"{}") if optional else parse_json(body)
    return value


async def read_body(
    request: Request, limit: int = BODY_LIMIT, kinds: tuple[str, ...] = ("application/json",)
) -> bytes:
    """The bytes of the body; refuses other media types, encodings and sizes before reading on."""
    if (_header(request, b"content-encoding") or "identity").lower() != "identity":
        raise UnsupportedMediaType
    length = _header(request, b"content-length") or "0"
    if length.isascii() and length.isdigit() and int(length[:20]) > limit:
        raise BodyTooLarge(limit=limit)
    body = await _whole(request.receive, limit)
    if body and not _is_one_of(kinds, _header(request, b"content-type") or ""):
        raise UnsupportedMediaType
    return body


async def _whole(receive: Receive, limit: int) -> bytes:
    pieces, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        size, more = size + len(pieces[-1]), message.get("more_body", False)
        if size > limit:
            raise BodyTooLarge(limit=limit)
    return b"".join(pieces)


@lru_cache(64)
def _is_one_of(kinds: tuple[str, ...], content_type: str) -> bool:
    kind, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    return kind.strip().lower() in kinds and charset in ("", "charset=utf-8")


def parse_json(body: bytes, depth: int = DEPTH_LIMIT) -> Any:
    """The value of a JSON text; raises Unreadable with the reason."""
    _require_shallow(body, depth)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Unreadable("invalid_utf8") from None
    try:
        value = _DECODER.decode(text)
    except ValueError:  # a byte order mark is no JSON either
        raise Unreadable("not_json") from None
    _require_plain_text(value)
    return value


def _require_shallow(body: bytes, limit: int) -> None:
    depth = 0
    for bracket in _TEXT.sub(b"", body).translate(None, _NO_BRACKETS):
        if bracket in b"[{":
            depth += 1
            if depth > limit:
                raise Unreadable("too_deep")
        else:
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unreadable("duplicate_key")
    return value


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > _INTEGER_LIMIT:
        raise Unreadable("number_out_of_range")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if abs(value) > _INTEGER_LIMIT:
        raise Unreadable("number_out_of_range")
    return value


def _constant(_: str) -> None:
    raise Unreadable("not_json")  # NaN, Infinity and -Infinity are no JSON


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _require_plain_text(value: Any) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if _FORBIDDEN.search(item):
                raise Unreadable("forbidden_character")
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


# --- headers and queries ------------------------------------------------------------------------


def _header(request: Request, name: bytes) -> str | None:
    value = headers_of(request.scope).get(name)
    return None if value is None else value.decode("latin-1").strip()


def bearer(request: Request) -> str | None:
    """The bearer token; empty for what can be no token of ours, None if nothing was sent."""
    header = _header(request, b"authorization")
    if header is None:
        return None
    match = _BEARER.fullmatch(header)
    return match[1] if match else ""


def bearers(request: Request) -> list[str]:
    """Several bearer tokens in one list, each with ``Bearer`` before it or only the first one.

    Raises TokenMissing if there is none, TokenUnknown if one can be no token of ours, and
    InvalidInput if there are too many.
    """
    header = _header(request, b"authorization")
    if header is None:
        raise TokenMissing
    sent = [item.strip() for item in header.split(",", _BEARERS_MOST)]
    if len(sent) > _BEARERS_MOST:
        limit = (("limit", _BEARERS_MOST),)
        raise InvalidInput(FieldError("header:Authorization", "too_long", limit))
    prefix = sent[0].partition(" ")[0]
    tokens = [_BEARER.fullmatch(item if " " in item else f"{prefix} {item}") for item in sent]
    if None in tokens:
        raise TokenUnknown
    return [token[1] for token in tokens if token is not None]


def caller(
    request: Request,
    version: int | None = None,
    *,
    anybody: bool = False,
    tells_token: bool = False,
    key_needed: bool = False,
    version_needed: bool = False,
) -> Caller:
    """Who asks for a change. Read the body first: it is part of what a retry repeats.

    ``version`` is the body's ``expected_version``; ``anybody`` may ask, without a token;
    ``tells_token`` says that the answer holds a new one.
    """
    token = bearer(request)
    known = _version(request, version)
    key = _header(request, b"idempotency-key")
    if (key is None and key_needed) or (known is None and version_needed):
        raise PreconditionMissing
    retry = None if key is None else _retry(request, token or None, key, anybody, tells_token)
    return Caller(token, retry, known, receipt=_PREFER_NONE not in _preferences(request))


def _preferences(request: Request) -> list[str]:
    given = _header(request, b"prefer")
    return (
        [] if given is None else [one.strip().lower().replace('"', "") for one in given.split(",")]
    )


def wait_s(request: Request) -> int:
    """How long the caller would like to wait for a change, in seconds; 0 if it does not say."""
    found = (_WAIT.fullmatch(one) for one in _preferences(request))
    return min(next((int(match[1]) for match in found if match), 0), WAIT_LIMIT_S)


def _version(request: Request, in_body: int | None) -> int | None:
    tag = _header(request, b"if-match")
    if tag is None:
        return in_body
    match = _ETAG.fullmatch(tag)
    if match is None:
        raise PreconditionMalformed
    # Two versions that differ can't both be the present one.
    return int(match[1]) if in_body in (None, int(match[1])) else -1


def _retry(
    request: Request, token: str | None, key: str, anybody: bool, tells_token: bool
) -> Retry | None:
    """What finds an earlier answer again. It must be hard to guess where the key alone guards
    that answer: without a token, and for answers with a new token, which is asked for because
    others may know the old one. Where a token is needed the caller is refused anyway."""
    if not _VISIBLE.fullmatch(key):
        raise InvalidInput(FieldError("header:Idempotency-Key", "wrong_form"))
    if token is None and not anybody:
        return None
    if (token is None or tells_token) and len(key) < _GUARDING_KEY_LENGTH:
        limit = (("limit", _GUARDING_KEY_LENGTH),)
        raise InvalidInput(FieldError("header:Idempotency-Key", "too_short", limit))
    owner = b"" if token is None else keys.token_hash(token)
    scope = hashlib.sha256(enc(owner, key.encode())).digest()
    body = json.dumps(request.state.value, sort_keys=True).encode()
    asked = enc(request.method.encode(), request.scope["path"].encode(), body)
    return Retry(scope, hashlib.sha256(asked).digest())


def has_seen(request: Request, etag: str) -> bool:
    """Whether ``If-None-Match`` names what is asked for as it is: alone or in a list, weakened on
    the way or not, or as ``*``."""
    given = _header(request, b"if-none-match") or ""
    tags = {tag.strip().removeprefix("W/") for tag in given.split(",")}
    return not tags.isdisjoint(("*", etag))


def prefers(request: Request, media_type: str, default: str) -> bool:
    """Whether ``Accept`` asks for ``media_type`` by name, and for ``default`` no more than so."""
    weights = dict(_weights(_header(request, b"accept") or ""))
    wanted = weights.get(media_type, 0.0)
    return wanted > 0 and wanted >= weights.get(default, 0.0)


def _weights(accept: str) -> Iterator[tuple[str, float]]:
    for item in accept.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        weight = next((part[2:] for part in parameters if _QUALITY.fullmatch(part)), "1")
        yield name, float(weight)


def query(request: Request, known: Collection[str]) -> dict[str, str]:
    """The query's parameters; refuses unknown and repeated ones, whose names it never repeats."""
    found: dict[str, str] = {}
    if not request.scope["query_string"]:
        return found
    for name, value in request.query_params.multi_items():
        if name not in known:
            raise InvalidInput(FieldError("query:", "unknown_field"))
        if name in found:
            raise InvalidInput(FieldError(f"query:{name}", "repeated"))
        found[name] = value
    return found


def number(asked: dict[str, str], name: str, default: int | None, limit: int | None = None) -> Any:
    """A whole number of the query; with ``limit`` one from 1 to that."""
    text = asked.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text) or int(text) > _INTEGER_LIMIT:
        raise InvalidInput(FieldError(f"query:{name}", "wrong_form"))
    if limit is not None and int(text) < 1:
        raise InvalidInput(FieldError(f"query:{name}", "too_small", (("limit", 1),)))
    if limit is not None and int(text) > limit:
        raise InvalidInput(FieldError(f"query:{name}", "too_large", (("limit", limit),)))
    return int(text)
