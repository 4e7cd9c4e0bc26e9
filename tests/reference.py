"""The reference at the end of each page in ``docs/rules/``, made from the code it describes."""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from service.rules.base import Ruleset, kind_of

BEGIN = "<!-- reference: written by `make golden` -->\n"
END = "<!-- end of the reference -->\n"

Schema: TypeAlias = Mapping[str, Any]
Rules: TypeAlias = Ruleset[Any, Any, Any]


def reference(ruleset: Rules) -> str:
    """Options, actions and events of a ruleset as Markdown tables."""
    seats = f"Version {ruleset.version}, {ruleset.min_seats} to {ruleset.max_seats} seats."
    return "\n".join(
        [
            "## Reference",
            "",
            f"{seats} The same in JSON: `GET /v1/rulesets/{ruleset.key}`.",
            "",
            *_table("Options", *_options(ruleset)),
            *_table("Actions", ("kind", "meaning"), _actions(ruleset)),
            *_table("Events", ("kind", "fields", "meaning"), _events(ruleset)),
        ]
    )


def with_reference(page: str, ruleset: Rules) -> str:
    """The page with its reference as the code has it."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{reference(ruleset)}{END}{after}"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from (f"### {title}", "", _row(head), _row(["---"] * len(head)))
    yield from (*map(_row, rows), "")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sentence(documented: Any) -> str:
    """The first paragraph of a docstring in one line."""
    text = inspect.getdoc(documented) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


# --- options ------------------------------------------------------------------------------------


def option_models(ruleset: Rules) -> dict[str, Schema]:
    """The options' JSON Schema by mode; one without a name where there are no modes."""
    schema = ruleset.options_schema()
    branches = [_resolved(one, schema["$defs"]) for one in schema.get("oneOf", ())]
    if not branches:
        return {"": schema}
    return {branch["properties"]["mode"]["const"]: branch for branch in branches}


def _options(ruleset: Rules) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """One row for an option that is the same in several modes."""
    models = option_models(ruleset)
    defs = ruleset.options_schema().get("$defs", {})
    modes: dict[tuple[str, str, str], list[str]] = {}
    for mode, model in models.items():
        for name, item in model["properties"].items():
            row = (f"`{name}`", _values(item, defs), item.get("description", ""))
            modes.setdefault(row, []).append(mode)
    head = ("option", "values, default first", "meaning")
    if len(models) == 1:
        return head, list(modes)
    order = sorted(modes, key=lambda row: [one[0] for one in modes].index(row[0]))
    named = [(row[0], ", ".join(modes[row]), *row[1:]) for row in order]
    return ("option", "modes", *head[1:]), named


def _values(item: Schema, defs: Schema) -> str:
    default = item.get("default", ...)
    others = [value for value in _choices(item, defs) if value != _json(default)]
    return ", ".join(others if default is ... else [_json(default), *others])


def _choices(item: Schema, defs: Schema) -> list[str]:
    """What may stand there, in words."""
    item = _resolved(item, defs)
    if "const" in item:
        return [_json(item["const"])]
    if "enum" in item:
        return [_json(value) for value in item["enum"]]
    if branches := item.get("anyOf") or item.get("oneOf"):
        return [value for branch in branches for value in _choices(branch, defs)]
    match item["type"]:
        case "boolean":
            return [_json(False), _json(True)]
        case "null":
            return [_json(None)]
        case "integer":
            return [f"{item['minimum']:,} to {item['maximum']:,}"]
        case "array":
            return [f"a list of {item['minItems']} to {item['maxItems']} texts"]
    fields = item["properties"].items()
    told = (f'"{name}": {" or ".join(_choices(field, defs))}' for name, field in fields)
    return ["{" + ", ".join(told).replace("`", "") + "}"]


def _json(value: Any) -> str:
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value, default=str)}`"


def _resolved(item: Schema, defs: Schema) -> Schema:
    return defs[item["$ref"].rpartition("/")[2]] if "$ref" in item else item


# --- actions and events -------------------------------------------------------------------------


def _actions(ruleset: Rules) -> Sequence[Sequence[str]]:
    return [(f"`{kind_of(action)}`", _sentence(action)) for action in ruleset.actions]


def _events(ruleset: Rules) -> Sequence[Sequence[str]]:
    return [
        (
            f"`{kind_of(event)}`",
            ", ".join(f"`{name}`" for name in event.model_fields if name != "kind"),
            _sentence(event),
        )
        for event in ruleset.events
    ]
