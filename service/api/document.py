"""The OpenAPI document, made once from the routes and the registry of rulesets."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from service import __version__
from service.api import shapes
from service.api.contract import REFERENCE
from service.api.entry_shapes import EVENTS

_TAGS: Final = {
    "rulesets": "What can be played, with rules, options, actions and events.",
    "games": "Create, list and read games.",
    "seats": "Take, rename and leave seats before the start, reveal seeds, replace tokens.",
    "play": "Seal, start, act, call off, play again.",
    "live": "Games as they happen.",
    "record": "Logs, receipts and audit records: what anybody can check.",
    "operations": "Health, version, metrics, public keys and what problems mean.",
}
_DESCRIPTION: Final = (
    "Besides the problems of each operation any request may be answered 400 `malformed_request`, "
    "408 `request_timeout`, 414 `target_too_long`, 421 `misdirected_request` or 431 "
    "`headers_too_large`, before it is looked at."
)
_SCHEMAS: Final[Mapping[str, Any]] = {
    "NewGame": shapes.NewGame,
    "Join": shapes.Join,
    "Rename": shapes.Rename,
    "Reveal": shapes.Reveal,
    "Step": shapes.Step,
    "Rematch": shapes.Rematch,
    "AuditRecord": shapes.AuditRecord,
    "ActRequest": shapes.ActRequest,
    "Problem": shapes.Problem,
}
_BEARER: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of a seat (`cub_seat_..`) or of a host (`cub_host_..`), as told "
        "once when the game was created or joined.",
    }
}
_IN_PATH: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "id": ("The id of a game.", {"type": "string"}),
    "seat": ("A seat, counted from 0.", {"type": "integer", "minimum": 0, "maximum": 63}),
    "key": ("The key of a ruleset.", {"type": "string"}),
    "series_id": ("The id of a series, which is that of its first game.", {"type": "string"}),
    "code": ("The code of a problem.", {"type": "string"}),
}
_HEADERS: Final[Mapping[str, str]] = {
    "ETag": "The version of the game, in quotes.",
    "Location": "The address of the game, relative.",
    "Link": 'The next page, relative, as `rel="next"`; absent on the last one.',
    "Preference-Applied": "How long the server was ready to wait, as `wait=25`.",
    "Idempotency-Replayed": "`true` if this is the answer to an earlier, equal request.",
    "RateLimit-Policy": 'How many requests this caller may send in how many seconds, as `"reads";'
    "q=12000;w=60`; absent where there is no limit.",
    "RateLimit": 'What is left of that and when it is whole again, as `"reads";r=11999;t=1`.',
    "Retry-After": "After how many seconds the next request is taken.",
}
# In code a shape is told from what it shows; a client has nothing to tell it from.
_SHAPE: Final = re.compile(r'((?:"|/schemas/)\w+)Shape(?=")')


def operation_id(route: APIRoute) -> str:
    """What generated clients call the operation: the name of the function that serves it."""
    return route.name


def document(app: FastAPI) -> dict[str, Any]:
    """The whole contract."""
    if app.openapi_schema:
        return app.openapi_schema
    schema = get_openapi(
        title="Cubilete",
        version=__version__,
        summary="Dice games whose every throw can be checked.",
        description=_DESCRIPTION,
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    components = schema["components"]
    components["securitySchemes"] = _BEARER
    _complete_schemas(components["schemas"])
    for path in schema["paths"].values():
        for operation in path.values():
            _complete(operation)
    app.openapi_schema = json.loads(_SHAPE.sub(r"\1", json.dumps(schema)))
    return app.openapi_schema


def _complete_schemas(known: dict[str, Any]) -> None:
    """Adds the schemas of requests, which FastAPI does not see: routes read them themselves."""
    for unused in ("HTTPValidationError", "ValidationError"):
        known.pop(unused, None)
    for name, shape in _SCHEMAS.items():
        own = TypeAdapter(shape).json_schema(ref_template=REFERENCE)
        known.update(own.pop("$defs", {}))
        known[name] = own
    # Events are only told, and in full.
    for event in EVENTS:
        known[event.__name__]["required"] = list(known[event.__name__]["properties"])
    # Any object is passed on to the ruleset that reads it: told here so that clients have types.
    for name, nothing in (("NewGame", []), ("Rematch", [{"type": "null"}])):
        options = known[name]["properties"]["options"]
        options.pop("type", None)
        options.pop("additionalProperties", None)
        options["anyOf"] = [{"$ref": REFERENCE.format(model="Options")}, *nothing]


def _complete(operation: dict[str, Any]) -> None:
    first, _, more = operation.pop("description").partition("\n\n")
    operation["summary"] = first.rstrip(".")
    if more:
        operation["description"] = more
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            parameter["description"], parameter["schema"] = _IN_PATH[parameter["name"]]
    responses = operation["responses"]
    if "x-codes" not in responses.get("422", {"x-codes": ()}):
        del responses["422"]  # FastAPI's own, which no route gives
    for status, response in responses.items():
        response["content"] = {
            media: told for media, told in response.get("content", {}).items() if told.get("schema")
        }
        if not response["content"]:
            del response["content"]
        if status.startswith(("2", "3")) or status in ("429", "503"):
            _tell_headers(operation, status, response)


def _tell_headers(operation: dict[str, Any], status: str, response: dict[str, Any]) -> None:
    read = {parameter["name"] for parameter in operation.get("parameters", ())}
    good, counted = status.startswith(("2", "3")), "429" in operation["responses"]
    sent = {
        "ETag": good and bool(read & {"Idempotency-Key", "If-None-Match"}),
        "Preference-Applied": good and "If-None-Match" in read,
        "Location": status == "201",
        "Link": good and "limit" in read,
        "Idempotency-Replayed": good and "Idempotency-Key" in read,
        "RateLimit-Policy": counted and status != "503",
        "RateLimit": counted and status != "503",
        "Retry-After": status in ("429", "503"),
    }
    told = {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in _HEADERS.items()
        if sent[name]
    }
    if told:
        response["headers"] = told
