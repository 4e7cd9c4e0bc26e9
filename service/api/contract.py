"""What each route asks, answers and refuses, said once beside the route: see ``document``."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from service.api import problems
from service.api.texts import PROBLEMS

REFERENCE: Final = "#/components/schemas/{model}"
# The problems that routes have in common.
CHANGE: Final = (
    "unreadable_body",
    "body_too_large",
    "unsupported_media_type",
    "invalid_input",
    "key_reused",
    "precondition_missing",
)
# Of what changes a game that exists.
GAME_CHANGE: Final = (*CHANGE, "precondition_malformed", "stale_version", "game_frozen")
TOKEN: Final = ("token_missing", "token_unknown")

_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes the request safe to repeat: the same key gives the same answer, byte "
    "for byte. Without a token, and where the answer tells a new one, it needs at least 22 "
    "characters.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_PREFER: Final = {
    "name": "Prefer",
    "in": "header",
    "description": "`receipt=no` leaves the signed receipt out of the answer.",
    "schema": {"type": "string"},
}
_PREFER_WAIT: Final = {
    "name": "Prefer",
    "in": "header",
    "description": "With `If-None-Match`, `wait=25` waits so many seconds (at most 60) for another "
    "version or the rematch before the answer is 304: a long poll.",
    "schema": {"type": "string"},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": 'The version that the caller has seen, as `"7"`; another one gives 412.',
    "schema": {"type": "string", "pattern": '^"(0|[1-9][0-9]{0,15})"$'},
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The version that the caller has; 304 if it still stands.",
    "schema": {"type": "string"},
}


def parameters(**described: tuple[Mapping[str, Any], str]) -> list[dict[str, Any]]:
    """Query parameters: name = (JSON Schema, description)."""
    return [
        {"name": name, "in": "query", "schema": schema, "description": text}
        for name, (schema, text) in described.items()
    ]


def asks(
    request: str | None = None,
    *,
    optional: bool = False,
    token: bool = False,
    anybody: bool = False,
    change: bool = True,
    media: Mapping[str, Any] = {},
    query: Iterable[Mapping[str, Any]] = (),
    cached: bool = False,
    listens: bool = False,
) -> dict[str, Any]:
    """What a route reads besides its path: a body (as JSON or one of the other ``media``), a token
    (which ``anybody`` may leave out, as may who only ``listens``), headers, a query."""
    told: dict[str, Any] = {"parameters": list(query)}
    if change:
        told["parameters"] += [_KEY, _PREFER, *([_IF_MATCH] if token else [])]
    if cached:
        told["parameters"] += [_IF_NONE_MATCH, _PREFER_WAIT]
    if token or listens:  # a token shows whose stream it is, and nobody needs one to listen
        told["security"] = [*([{}] if anybody or listens else []), {"token": []}]
    if request is not None:
        schema = {"$ref": REFERENCE.format(model=request)}
        told["requestBody"] = {
            "required": not optional,
            "content": {"application/json": {"schema": schema}, **media},
        }
    return told


def answers(
    status: int,
    model: type[BaseModel] | None,
    description: str,
    *codes: str,
    media: Mapping[str, Any] = {},
    limited: bool = True,
) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: one that is good, and the problems it may tell; ``limited`` says
    that its requests are counted."""
    told: dict[int | str, dict[str, Any]] = {
        status: {
            "description": description,
            **({"model": model} if model else {}),
            **({"content": media} if media else {}),
        }
    }
    counted = ("rate_limited",) if limited else ()
    for code in (*codes, *counted, "internal", "unavailable"):
        known = told.setdefault(problems.STATUS[code], {"description": "", "x-codes": []})
        known["x-codes"].append(code)
        known["description"] = "; ".join(PROBLEMS[each][0].en for each in known["x-codes"])
        known["content"] = {
            problems.MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}
        }
    return told
