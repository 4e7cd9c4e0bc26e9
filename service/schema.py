"""Strict, frozen models for everything that is parsed, and what is wrong with an input.

``true``, ``"5"`` and ``5.0`` are no integers here, and a field that nobody knows is refused.
"""

from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from service.errors import FieldError, InvalidInput


class Model(BaseModel):
    """The base of all parsed things: options, actions, events and the shapes of the API."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        json_schema_serialization_defaults_required=True,
    )


def fields_of(model: Model) -> dict[str, Any]:
    """The fields of a flat model (one without models inside), for JSON: what ``model_dump`` gives
    in ten times as long."""
    return dict(model.__dict__)


Loc: TypeAlias = tuple[int | str, ...]

_BOUNDS: Final = {
    "greater_than_equal": ("too_small", "ge"),
    "greater_than": ("too_small", "gt"),
    "less_than_equal": ("too_large", "le"),
    "less_than": ("too_large", "lt"),
    "too_short": ("too_short", "min_length"),
    "too_long": ("too_long", "max_length"),
    "string_too_short": ("too_short", "min_length"),
    "string_too_long": ("too_long", "max_length"),
}
_CODES: Final = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "union_tag_not_found": "missing",
    "union_tag_invalid": "not_allowed",
    "literal_error": "not_allowed",
    "enum": "not_allowed",
    "string_pattern_mismatch": "wrong_form",
    "value_error": "wrong_form",
    "wrong_form": "wrong_form",
    "name_or_bot": "name_or_bot",
}


_TOLD_AT_MOST: Final = 50


def invalid_input(error: ValidationError, value: Any, at: str = "") -> InvalidInput:
    """The refusal for a failed validation of ``value``, without a character of it.

    ``at`` is the JSON Pointer of ``value`` in the body. Of very many faults the first are told.
    """
    items = error.errors(include_url=False, include_input=False)[:_TOLD_AT_MOST]
    found = {_field_error(item["type"], item["loc"], item.get("ctx", {}), value) for item in items}
    moved = [
        FieldError(at + wrong.pointer, wrong.code, wrong.params)
        for wrong in found
        if not _follows(wrong, found)
    ]
    return InvalidInput(*sorted(moved, key=lambda wrong: (wrong.pointer, wrong.code)))


def _follows(wrong: FieldError, found: set[FieldError]) -> bool:
    """A list is counted without its wrong items, and may be too short for that reason alone."""
    return wrong.code == "too_short" and any(
        other.pointer.startswith(f"{wrong.pointer}/") for other in found
    )


def _field_error(kind: str, where: Loc, context: dict[str, Any], value: Any) -> FieldError:
    absent: Loc = ()
    if kind == "extra_forbidden":
        where = where[:-1]  # the name of an unknown field is input too: tell its parent
    elif kind == "missing":
        where, absent = where[:-1], where[-1:]
    elif kind.startswith("union_tag"):
        absent = (context["discriminator"].strip("'"),)
    pointer = _pointer((*_inside(where, value), *absent))
    if kind in _BOUNDS:
        code, bound = _BOUNDS[kind]
        return FieldError(pointer, code, (("limit", context[bound]),))
    return FieldError(pointer, _CODES.get(kind, "wrong_type"))


def _inside(where: Loc, value: Any) -> Loc:
    """A pydantic location without the branches of unions, which the input does not show."""
    parts = []
    for part in where:
        known = isinstance(value, dict) and part in value
        if known or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
            parts.append(part)
    return tuple(parts)


def _pointer(where: Loc) -> str:
    """A location as a JSON Pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in where)
