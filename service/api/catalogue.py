"""The catalogue: every ruleset explained, with the JSON Schema of its options and actions."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from service import rules
from service.api import shapes, views
from service.api.contract import answers, asks
from service.api.reading import query
from service.api.texts import REASONS
from service.bots import BOTS
from service.bots.base import Bot
from service.rules import RULESETS
from service.rules.base import Example, Ruleset, Text, kind_of

router = APIRouter(prefix="/v1", tags=["rulesets"])

_TEXTS: Final = files("service.rules") / "texts"
_SHARED: Final = "*"  # options that mean the same in several rulesets
_EVERYWHERE: Final = ("out_of_the_game",)  # why a seat may not resign


def _text(text: Text) -> dict[str, str]:
    return {"es": text.es, "en": text.en}


def _summary(ruleset: Ruleset[Any, Any, Any]) -> dict[str, Any]:
    return {
        "key": ruleset.key,
        "version": ruleset.version,
        "title": _text(ruleset.title),
        "summary": _text(ruleset.summary),
        "seats": {"min": ruleset.min_seats, "max": ruleset.max_seats},
        "bots": [_bot(bot) for bot in BOTS[ruleset.key]],
    }


def _bot(bot: Bot) -> dict[str, Any]:
    return {
        "name": bot.name,
        "pattern": bot.names,
        "title": _text(bot.title),
        "description": _text(bot.description),
        "needs": {"options": dict(bot.options), "seats": bot.seats},
    }


def _option_names(schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """Every option, in all modes; one inside another as ``end/rounds``."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for branch in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _option_names(branch, root, at)
    for name, option in schema.get("properties", {}).items():
        yield at + name
        yield from _option_names(option, root, f"{at}{name}/")


def _option_texts(key: str, schema: dict[str, Any], language: str) -> dict[str, Any]:
    """Title and description of each option in a language other than the schema's."""
    known = json.loads((_TEXTS / f"options.{language}.json").read_text("utf-8"))
    texts = known[_SHARED] | known.get(key, {})
    return {name: texts[name] for name in _option_names(schema, schema) if name in texts}


def _example(example: Example) -> dict[str, Any]:
    return {
        "title": _text(example.title),
        "seats": example.seats,
        "options": dict(example.options),
    }


@cache
def _full(key: str) -> bytes:
    ruleset = rules.ruleset(key)
    options = ruleset.options_schema()
    return views.as_json(
        {
            **_summary(ruleset),
            "rules": {
                language: (_TEXTS / f"{key}.{language}.md").read_text("utf-8")
                for language in ("es", "en")
            },
            "options": options,
            "options_text": {"es": _option_texts(key, options, "es")},
            "examples": [_example(example) for example in ruleset.examples],
            "phases": list(ruleset.phases),
            "actions": [
                {"kind": kind_of(action), "schema": action.model_json_schema()}
                for action in ruleset.actions
            ],
            "reasons": [
                {"code": code, "detail": _text(REASONS[code])}
                for code in (*ruleset.reasons, *_EVERYWHERE)
            ],
            "events": ruleset.event_schema(),
            "glossary": list(ruleset.glossary()),
        }
    )


@router.get(
    "/rulesets",
    openapi_extra=asks(change=False),
    responses=answers(200, shapes.Catalogue, "Every ruleset", "invalid_input"),
)
async def list_rulesets(request: Request) -> Response:
    """List the rulesets."""
    query(request, ())
    body = views.as_json({"rulesets": [_summary(ruleset) for ruleset in RULESETS]})
    return Response(body, headers={"cache-control": "no-cache"}, media_type="application/json")


@router.get(
    "/rulesets/{key}",
    openapi_extra=asks(change=False),
    responses=answers(
        200, shapes.RulesetShape, "The ruleset", "ruleset_not_found", "invalid_input"
    ),
)
async def read_ruleset(key: str, request: Request) -> Response:
    """Read a ruleset: rules text, options, actions, events."""
    query(request, ())
    body = _full(rules.ruleset(key).key)
    return Response(body, headers={"cache-control": "no-cache"}, media_type="application/json")
