"""The OpenAPI document: what each route asks, answers and refuses, said once beside the route."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter

from service import __version__
from service.api import problems, shapes
from service.api.texts import PROBLEMS

# In code a shape is told from what it shows; a client has nothing to tell it from.
_SHAPE: Final = re.compile(r'((?:"|/schemas/)\w+)Shape(?=")')
REFERENCE: Final = "#/components/schemas/{model}"
_SUMMARY: Final = "Dice games whose every throw can be checked."
_REQUESTS: Final[Mapping[str, Any]] = {
    "NewGame": shapes.NewGame,
    "Join": shapes.Join,
    "Rename": shapes.Rename,
    "Reveal": shapes.Reveal,
    "Step": shapes.Step,
    "Rematch": shapes.Rematch,
    "AuditRecord": shapes.AuditRecord,
    "ActRequest": shapes.ActRequest,
}
# The problems that routes have in common.
CHANGE: Final = (
    "unreadable_body",
    "body_too_large",
    "unsupported_media_type",
    "invalid_input",
    "key_reused",
    "precondition_missing",
)
VERSION: Final = ("precondition_malformed", "stale_version")
TOKEN: Final = ("token_missing", "token_unknown")

_BEARER: Final = {"token": {"type": "http", "scheme": "bearer"}}
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes the request safe to repeat: the same key gives the same answer, byte "
    "for byte. Without a token it needs at least 22 characters.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_PREFER: Final = {
    "name": "Prefer",
    "in": "header",
    "description": "`receipt=no` leaves the signed receipt out of the answer.",
    "schema": {"type": "string"},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": 'The version that the caller has seen, as `"7"`; another one gives 412.',
    "schema": {"type": "string"},
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
    query: Iterable[Mapping[str, Any]] = (),
    cached: bool = False,
) -> dict[str, Any]:
    """What a route reads besides its path: a body, a token (which ``anybody`` may leave out),
    headers, a query."""
    told: dict[str, Any] = {"parameters": list(query)}
    if change:
        told["parameters"] += [_KEY, _PREFER, *([_IF_MATCH] if token else [])]
    if cached:
        told["parameters"].append(_IF_NONE_MATCH)
    if token:
        told["security"] = [*([{}] if anybody else []), {"token": []}]
    if request is not None:
        schema = {"$ref": REFERENCE.format(model=request)}
        told["requestBody"] = {
            "required": not optional,
            "content": {"application/json": {"schema": schema}},
        }
    return told


def answers(
    status: int,
    model: type[BaseModel] | None,
    description: str,
    *codes: str,
    media: Mapping[str, Any] = {},
) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: one that is good, and the problems it may tell."""
    told: dict[int | str, dict[str, Any]] = {
        status: {
            "description": description,
            **({"model": model} if model else {}),
            **({"content": media} if media else {}),
        }
    }
    for code in (*codes, "internal", "unavailable"):
        known = told.setdefault(problems.STATUS[code], {"description": "", "x-codes": []})
        known["x-codes"].append(code)
        known["description"] = "; ".join(PROBLEMS[each][0].en for each in known["x-codes"])
        known["content"] = {
            problems.MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}
        }
    return told


def operation_id(route: APIRoute) -> str:
    """What generated clients call the operation: the name of the function that serves it."""
    return route.name


def document(app: FastAPI) -> dict[str, Any]:
    """The whole contract, made once from the routes and the registry."""
    if app.openapi_schema:
        return app.openapi_schema
    schema = get_openapi(
        title="Cubilete",
        version=__version__,
        summary=_SUMMARY,
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    components = schema["components"]
    known = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        known.pop(unused, None)
    for name, shape in {**_REQUESTS, "Problem": shapes.Problem}.items():
        own = TypeAdapter(shape).json_schema(ref_template=REFERENCE)
        known.update(own.pop("$defs", {}))
        known[name] = own
    components["securitySchemes"] = _BEARER
    # The ruleset reads them, any object is passed on to it: told here so that clients have types.
    for name, nothing in (("NewGame", []), ("Rematch", [{"type": "null"}])):
        options = known[name]["properties"]["options"]
        options.pop("type", None)
        options.pop("additionalProperties", None)
        options["anyOf"] = [{"$ref": REFERENCE.format(model="Options")}, *nothing]
    for path in schema["paths"].values():
        for operation in path.values():
            operation["summary"] = operation.pop("description").rstrip(".")
            # Every route reads its input itself and says so above; none answers the default 422.
            found = operation["responses"].get("422", {})
            if "x-codes" not in found:
                operation["responses"].pop("422", None)
    app.openapi_schema = json.loads(_SHAPE.sub(r"\1", json.dumps(schema)))
    return app.openapi_schema
