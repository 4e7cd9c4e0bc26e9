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
}


def invalid_input(error: ValidationError, value: Any, at: str = "") -> InvalidInput:
    """The refusal for a failed validation of ``value``, without a character of it.

    ``at`` is the JSON Pointer of ``value`` in the body.
    """
    items = error.errors(include_url=False, include_input=False)
    found = {_field_error(item["type"], item["loc"], item.get("ctx", {}), value) for item in items}
    moved = [FieldError(at + wrong.pointer, wrong.code, wrong.params) for wrong in found]
    return InvalidInput(*sorted(moved, key=lambda wrong: (wrong.pointer, wrong.code)))


def _field_error(kind: str, where: Loc, context: dict[str, Any], value: Any) -> FieldError:
    if kind == "extra_forbidden":
        where = where[:-1]  # the name of an unknown field is input too: tell its parent
    elif kind.startswith("union_tag"):
        where = (*where, context["discriminator"].strip("'"))
    pointer = _pointer(where, value)
    if kind in _BOUNDS:
        code, bound = _BOUNDS[kind]
        return FieldError(pointer, code, (("limit", context[bound]),))
    return FieldError(pointer, _CODES.get(kind, "wrong_type"))


def _pointer(where: Loc, value: Any) -> str:
    """The JSON Pointer of a pydantic location, which also names the union's branches."""
    parts = []
    for number, part in enumerate(where, 1):
        inside = isinstance(value, dict) and part in value
        if inside or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
        elif number < len(where):  # a branch of a union, which the input does not show
            continue
        parts.append(str(part).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{part}" for part in parts)
