"""Holds answers against the OpenAPI document: status, problem code, headers and JSON."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, repeat
from typing import Any, Final

import httpx

from service.api.app import create_app
from service.settings import Settings

Json = dict[str, Any]
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_JUDGED: Final = frozenset(
    {"$ref", "type", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf"}
    | {"enum", "const", "pattern", "minimum", "maximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "prefixItems", "discriminator", "title", "description", "default"}
    | {"examples"}
)


@cache
def document() -> Json:
    """The contract as the application tells it."""
    return create_app(Settings()).openapi()


def schema_of(name: str) -> Json:
    """A named schema of the contract."""
    found: Json = document()["components"]["schemas"][name]
    return found


def faults(schema: Json, value: Any, at: str = "") -> Iterator[str]:
    """What is wrong with a value; an object may have no properties that are not described."""
    assert schema.keys() <= _JUDGED, f"cannot judge {schema.keys() - _JUDGED}"
    if "$ref" in schema:
        yield from faults(schema_of(schema["$ref"].rsplit("/", 1)[1]), value, at)
    for choices in (schema.get("anyOf"), schema.get("oneOf")):
        if choices and not any(_fits(choice, value) for choice in choices):
            told = [list(faults(choice, value, at)) for choice in choices]
            yield from min(told, key=len)
    kind = schema.get("type")
    if kind and not _is(kind, value):
        yield f"{at or '/'} is no {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{at} is not {schema['const']}"
    yield from _bounds(schema, value, at)
    if isinstance(value, dict) and ("properties" in schema or kind == "object"):
        yield from _object(schema, value, at)
    if isinstance(value, list):
        schemas = chain(schema.get("prefixItems", ()), repeat(schema.get("items", {})))
        for place, (items, item) in enumerate(zip(schemas, value, strict=False)):
            yield from faults(items, item, f"{at}/{place}")


def _fits(schema: Json, value: Any) -> bool:
    return next(faults(schema, value), None) is None


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _bounds(schema: Json, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at} has not the form {schema['pattern']}"
    if isinstance(value, str):
        size, least, most = len(value), "minLength", "maxLength"
    elif isinstance(value, list):
        size, least, most = len(value), "minItems", "maxItems"
    elif isinstance(value, int):
        size, least, most = value, "minimum", "maximum"
    else:
        return
    if size < schema.get(least, size):
        yield f"{at} is too small"
    if size > schema.get(most, size):
        yield f"{at} is too large"


def _object(schema: Json, value: Json, at: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}/{name} is missing"
    more = schema.get("additionalProperties", not known)
    for name, item in value.items():
        if name in known:
            yield from faults(known[name], item, f"{at}/{name}")
        elif more is False:
            yield f"{at}/{name} is not described"
        elif isinstance(more, dict):
            yield from faults(more, item, f"{at}/{name}")


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    found = [(re.sub(r"\{\w+\}", "[^/]+", path), path) for path in document()["paths"]]
    exact_first = sorted(found, key=lambda pair: pair[0].count("["))
    return [(re.compile(form), path) for form, path in exact_first]


def operation_of(method: str, path: str) -> Json | None:
    """The operation that serves a request, if the contract knows one."""
    for form, template in _paths():
        if form.fullmatch(path):
            item: Json = document()["paths"][template]
            found: Json | None = item.get("get" if method == "HEAD" else method.lower())
            if found is not None:
                return found
    return None


def check(response: httpx.Response) -> None:
    """An httpx response hook: fails for an answer that the contract does not allow."""
    response.read()
    request = response.request
    assert response.status_code < 500, response.text
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] in ("no-store", "no-cache")
    operation = operation_of(request.method, request.url.path)
    if operation is None:
        assert response.status_code in (404, 405), (request.url, response.status_code)
        return
    where = f"{request.method} {request.url.path} {response.status_code}"
    told = operation["responses"].get(str(response.status_code))
    assert told is not None, f"{where} is not documented: {response.text}"
    if "x-codes" in told:
        assert response.json()["code"] in told["x-codes"], f"{where}: {response.text}"
    for name in {"ETag", "Location"} & told.get("headers", {}).keys():
        assert name in response.headers, f"{where}: {name}"
    if response.status_code == 304 or request.method == "HEAD":
        assert not response.content
        return
    media = response.headers["content-type"].partition(";")[0]
    assert media in told["content"], f"{where}: {media}"
    if media.endswith("json"):
        wrong = list(faults(told["content"][media]["schema"], response.json()))
        assert not wrong, f"{where}: {wrong}"
