"""Random valid options for any ruleset, drawn from the JSON Schema that the catalogue publishes.

No ruleset is known here by name: a new one is drawn from like the others.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeAlias, TypeVar

from service.errors import InvalidInput
from service.rules.base import Ruleset
from service.schema import Model

Json: TypeAlias = dict[str, Any]
Value: TypeAlias = tuple[str, str, str]  # of which options model, where, and what, as JSON
T = TypeVar("T")

TEXTS: Final = ("uno", "dos", "Cuenta un chiste")
LARGEST: Final = 30  # of a number without a tighter bound, so that games end
TIGHTER: Final = {"target": 40, "bets": 5, "circuits": 2, "rounds": 12}
ANY: Final = "*"  # that the field is there, whatever it holds
FEW: Final = 9  # a number with at most so many values is a choice like any other


def one_of(random: Random, items: Sequence[T]) -> T:
    """One of them; with ``random()`` alone, whose numbers no version of Python changes."""
    return items[int(random.random() * len(items))]


def below(random: Random, count: int) -> int:
    """A number from 0; half of the time a small one."""
    return int(random.random() * (min(count, 3) if random.random() < 0.5 else count))


def branches(schema: Json, root: Json) -> list[Json]:
    """The alternatives of a schema, their references resolved."""
    if "$ref" in schema:
        return branches(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    given = schema.get("oneOf") or schema.get("anyOf")
    if given is None:
        return [schema]
    return [branch for one in given for branch in branches(one, root)]


def choices(schema: Json, few: int = FEW) -> list[Any] | None:
    """Every value of a schema that has few of them."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "boolean":
        return [False, True]
    if schema.get("type") == "null":
        return [None]
    if schema.get("type") == "integer" and schema["maximum"] - schema["minimum"] < few:
        return list(range(schema["minimum"], schema["maximum"] + 1))
    return None


def draw(
    schema: Json, random: Random, root: Json, tighter: Mapping[str, int] = TIGHTER, name: str = ""
) -> Any:
    """A value that the schema allows; numbers stay small (``tighter``: the largest by name), and
    so do lists."""
    schema = one_of(random, branches(schema, root))
    few = choices(schema)
    if few is not None and name not in tighter:
        return one_of(random, few)
    match schema["type"]:
        case "integer":
            least: int = schema["minimum"]
            most = min(schema["maximum"], tighter.get(name, LARGEST))
            return least + below(random, most - least + 1)
        case "string":
            return one_of(random, TEXTS)
        case "array":
            count = schema["minItems"] + below(random, 3)
            return [draw(schema["items"], random, root, tighter) for _ in range(count)]
        case "object":
            return {
                key: draw(value, random, root, tighter, key)
                for key, value in schema["properties"].items()
                if key in schema.get("required", ()) or random.random() < 0.7
            }
    raise AssertionError(f"nothing to draw for {schema}")


def offered(ruleset: Ruleset[Any, Any, Any], few: int = FEW) -> set[Value]:
    """Every field and every choice that the options of a ruleset offer, in each of its modes."""
    schema = ruleset.options_schema()
    return {
        (branch["title"], *value)
        for branch in branches(schema, schema)
        for value in _offered(branch, schema, few)
    }


def _offered(schema: Json, root: Json, few: int, at: str = "") -> Iterator[tuple[str, str]]:
    for branch in branches(schema, root):
        for key, value in branch.get("properties", {}).items():
            yield from _offered(value, root, few, f"{at}/{key}")
        yield at, ANY
        for choice in choices(branch, few) or ():
            yield at, json.dumps(choice)


def taken(options: Model) -> set[Value]:
    """The fields and the values that stand in a game's options."""
    found = _taken(options.model_dump(mode="json"))
    return {(type(options).__name__, *value) for value in found}


def _taken(options: Any, at: str = "") -> Iterator[tuple[str, str]]:
    yield at, ANY
    if isinstance(options, dict):
        for key, value in options.items():
            yield from _taken(value, f"{at}/{key}")
    else:
        yield at, json.dumps(options)


def table(
    ruleset: Ruleset[Any, Any, Any], random: Random, tighter: Mapping[str, int] = TIGHTER
) -> tuple[int, Json]:
    """Seats, more often few than many, and options that the ruleset accepts for them."""
    schema = ruleset.options_schema()
    while True:
        more = ruleset.max_seats - ruleset.min_seats + 1
        seats = ruleset.min_seats + below(random, more)
        options: Json = draw(schema, random, schema, tighter)
        try:
            ruleset.parse_options(options, seats)
        except InvalidInput:
            continue  # a combination that no table can play
        return seats, options
