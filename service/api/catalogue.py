"""The catalogue: every ruleset explained, with the JSON Schema of its options and actions."""

from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response

from service import rules
from service.api import shapes, views
from service.api.contract import answers, asks
from service.api.reading import query
from service.rules import RULESETS
from service.rules.base import Ruleset, Text, kind_of

router = APIRouter(prefix="/v1", tags=["rulesets"])


def _text(text: Text) -> dict[str, str]:
    return {"es": text.es, "en": text.en}


def _summary(ruleset: Ruleset[Any, Any, Any]) -> dict[str, Any]:
    return {
        "key": ruleset.key,
        "version": ruleset.version,
        "title": _text(ruleset.title),
        "summary": _text(ruleset.summary),
        "seats": {"min": ruleset.min_seats, "max": ruleset.max_seats},
    }


@cache
def _full(key: str) -> bytes:
    ruleset = rules.ruleset(key)
    texts = files("service.rules") / "texts"
    return views.as_json(
        {
            **_summary(ruleset),
            "rules": {
                language: (texts / f"{key}.{language}.md").read_text("utf-8")
                for language in ("es", "en")
            },
            "options": ruleset.options_schema(),
            "actions": [
                {"kind": kind_of(action), "schema": action.model_json_schema()}
                for action in ruleset.actions
            ],
            "events": ruleset.event_schema(),
            "bots": [],
        }
    )


@router.get(
    "/rulesets",
    openapi_extra=asks(change=False),
    responses=answers(200, shapes.Catalogue, "Every ruleset", "invalid_input"),
)
async def catalogue(request: Request) -> Response:
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
async def ruleset(key: str, request: Request) -> Response:
    """Read a ruleset: rules text, options, actions, events."""
    query(request, ())
    body = _full(rules.ruleset(key).key)
    return Response(body, headers={"cache-control": "no-cache"}, media_type="application/json")
