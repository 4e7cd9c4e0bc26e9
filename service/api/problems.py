"""Every refusal as RFC 9457 ``application/problem+json``: one table from code to status and texts.

Codes are stable and English; ``title`` and ``detail`` are in the caller's language. Nothing of the
input is ever repeated.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from service.api.texts import FIELDS, PROBLEMS, READING, REASONS, SEEDS
from service.errors import (
    FieldError,
    IllegalAction,
    InvalidInput,
    NotFound,
    Refusal,
    SeedRefused,
    Unavailable,
    Unreadable,
)
from service.rules.base import Text

MEDIA_TYPE: Final = "application/problem+json"
_LANGUAGES_READ: Final = 400
_LANGUAGE: Final = re.compile(
    r"([a-z]{1,8}|\*)(?:-[a-z0-9-]*)?(?:\s?;\s?q=([01](?:\.\d{0,3})?))?", re.I
)


class MalformedRequest(Refusal):
    """The HTTP request does not say for which host it is, or says it more than once."""

    code = "malformed_request"


class BodyTooLarge(Refusal):
    """The body is larger than this server reads."""

    code = "body_too_large"


class UnsupportedMediaType(Refusal):
    """The body is not uncompressed ``application/json`` in UTF-8."""

    code = "unsupported_media_type"


class RequestTimeout(Refusal):
    """The request did not come whole in time."""

    code = "request_timeout"


class TargetTooLong(Refusal):
    """The address is longer than this server reads."""

    code = "target_too_long"


class HeadersTooLarge(Refusal):
    """The headers are more or longer than this server reads."""

    code = "headers_too_large"


class MisdirectedRequest(Refusal):
    """The server does not answer for this host."""

    code = "misdirected_request"


class RateLimited(Refusal):
    """The caller asks more often than is allowed; ``headers`` say how often that is."""

    code = "rate_limited"

    def __init__(self, headers: Mapping[str, str], **extras: Any) -> None:
        super().__init__(**extras)
        self.headers = headers


class TooManyWaiting(Refusal):
    """The caller has as many games waiting for their start as is allowed."""

    code = "too_many_waiting"


class RouteNotFound(NotFound):
    """No resource has this path."""

    code = "not_found"


class MethodNotAllowed(Refusal):
    """The resource does not take this method."""

    code = "method_not_allowed"


class Internal(Refusal):
    """A fault of the server; its log says which, the answer does not."""

    code = "internal"


class Busy(Refusal):
    """The server can't take the request now; nothing was acknowledged."""

    code = "unavailable"


STATUS: Final[Mapping[str, int]] = {
    "malformed_request": 400,
    "unreadable_body": 400,
    "precondition_malformed": 400,
    "token_missing": 401,
    "token_unknown": 401,
    "not_your_seat": 403,
    "host_only": 403,
    "not_found": 404,
    "game_not_found": 404,
    "ruleset_not_found": 404,
    "seat_not_found": 404,
    "series_not_found": 404,
    "version_not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "not_your_turn": 409,
    "illegal_action": 409,
    "turn_expired": 409,
    "game_over": 409,
    "game_not_over": 409,
    "game_not_started": 409,
    "game_started": 409,
    "seats_open": 409,
    "seat_taken": 409,
    "game_full": 409,
    "name_taken": 409,
    "rematch_exists": 409,
    "roster_exhausted": 409,
    "seeds_missing": 409,
    "seed_refused": 409,
    "stale_version": 412,
    "body_too_large": 413,
    "target_too_long": 414,
    "unsupported_media_type": 415,
    "misdirected_request": 421,
    "invalid_input": 422,
    "record_too_costly": 422,
    "game_frozen": 423,
    "key_reused": 422,
    "precondition_missing": 428,
    "rate_limited": 429,
    "too_many_waiting": 429,
    "headers_too_large": 431,
    "internal": 500,
    "unavailable": 503,
}


def language(request: Request) -> str:
    """``es`` or ``en``, whichever the caller likes better; English if neither is asked for."""
    liked: dict[str, float] = {}
    asked = request.headers.get("accept-language", "")[:_LANGUAGES_READ].lower()
    for part in asked.split(","):
        match = _LANGUAGE.fullmatch(part.strip())
        if match:
            liked[match[1]] = max(liked.get(match[1], 0.0), float(match[2] or 1))
    rest = liked.get("*", 0.0)
    return max(("en", "es"), key=lambda known: liked.get(known, rest))


def _in(language: str, text: Text) -> str:
    return text.es if language == "es" else text.en


def problem(
    request: Request, refusal: Refusal, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer that tells a refusal."""
    spoken = language(request)
    title, detail = PROBLEMS[refusal.code]
    status = STATUS[refusal.code]
    told = {
        "type": f"/problems/{refusal.code}",
        "title": _in(spoken, title),
        "status": status,
        "code": refusal.code,
        "detail": _detail(spoken, refusal, detail),
        **refusal.extras,
    }
    if isinstance(refusal, InvalidInput):
        told["errors"] = [_field(spoken, wrong) for wrong in refusal.errors]
    sent = {
        "content-language": spoken,
        "vary": "Accept-Language",
        "cache-control": "no-store",
        **(headers or {}),
    }
    if status == 401:
        unknown = refusal.code != "token_missing"
        sent["www-authenticate"] = 'Bearer error="invalid_token"' if unknown else "Bearer"
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, status, sent, MEDIA_TYPE)


def unavailable(request: Request, error: Unavailable) -> Response:
    """The answer when the store can't take a request now."""
    return problem(request, Busy(), {"retry-after": str(error.retry_after_s)})


def _detail(spoken: str, refusal: Refusal, detail: Text) -> str:
    if isinstance(refusal, IllegalAction):
        return _in(spoken, REASONS[refusal.reason])
    if isinstance(refusal, SeedRefused):
        return _in(spoken, SEEDS[refusal.reason])
    if isinstance(refusal, Unreadable):
        return _in(spoken, READING[refusal.extras["reason"]])
    return _in(spoken, detail)


def _field(spoken: str, wrong: FieldError) -> dict[str, Any]:
    detail = _in(spoken, FIELDS[wrong.code]).format(**dict(wrong.params))
    return {"pointer": wrong.pointer, "code": wrong.code, "detail": detail}
