"""Playing: seal, start, call off, act, rematch."""

from functools import lru_cache
from typing import Any, Final

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter, ValidationError

from service.api import shapes, views
from service.api.contract import GAME_CHANGE, TOKEN, answers, asks
from service.api.handling import answered, caller, croupier, game_id
from service.api.reading import parse_json, query, read_body, read_model
from service.errors import Refusal, Unavailable
from service.rules.base import Action, SeatAction
from service.schema import invalid_input

_REQUEST: Final[TypeAdapter[shapes.Acting]] = TypeAdapter(shapes.ActRequest)
_ACTION: Final[TypeAdapter[Action]] = TypeAdapter(SeatAction)

_SHORT_BODY: Final = 128

router = APIRouter(prefix="/v1", tags=["play"])


@router.post(
    "/games/{id}/start",
    openapi_extra=asks("Step", optional=True, token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The game, started",
        *GAME_CHANGE,
        *TOKEN,
        "host_only",
        "game_not_found",
        "seats_open",
        "seeds_missing",
        "game_started",
        "game_over",
    ),
)
async def start_game(id: str, request: Request) -> Response:
    """Start a game whose seats are all taken (host)."""
    asked = await read_model(request, shapes.Step, optional=True)
    asking = caller(request, asked.expected_version)
    started = croupier(request).start(game_id(id), asking, views.changed)
    return await answered(request, id, asking, started)


@router.post(
    "/games/{id}/seal",
    openapi_extra=asks("Step", optional=True, token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The roster is closed; the seats that committed now reveal their seeds",
        *GAME_CHANGE,
        *TOKEN,
        "host_only",
        "game_not_found",
        "seats_open",
        "seed_refused",
        "game_started",
        "game_over",
    ),
)
async def seal_game(id: str, request: Request) -> Response:
    """Close the roster of a game in seed mode sealed (host)."""
    asked = await read_model(request, shapes.Step, optional=True)
    asking = caller(request, asked.expected_version)
    sealed = croupier(request).seal(game_id(id), asking, views.changed)
    return await answered(request, id, asking, sealed)


@router.post(
    "/games/{id}/void",
    openapi_extra=asks("Step", optional=True, token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The game, called off",
        *GAME_CHANGE,
        *TOKEN,
        "host_only",
        "game_not_found",
        "game_started",
        "game_over",
    ),
)
async def void_game(id: str, request: Request) -> Response:
    """Call a game off before it starts (host)."""
    asked = await read_model(request, shapes.Step, optional=True)
    asking = caller(request, asked.expected_version)
    voided = croupier(request).void(game_id(id), asking, views.changed)
    return await answered(request, id, asking, voided)


@router.post(
    "/games/{id}/actions",
    openapi_extra=asks("ActRequest", token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The entry of the action, and the game after it",
        *GAME_CHANGE,
        *TOKEN,
        "not_your_seat",
        "game_not_found",
        "seat_not_found",
        "not_your_turn",
        "illegal_action",
        "turn_expired",
        "game_not_started",
        "game_over",
    ),
)
async def act(id: str, request: Request) -> Response:
    """Take an action: roll, hold, bet, ..; `legal_actions` lists what is accepted."""
    query(request, ())
    value, action, beside = _asked(await read_body(request))
    request.state.value = value
    asking = caller(request, beside.expected_version, acts=True)
    acted = croupier(request).act(game_id(id), beside.seat, action, asking, views.changed)
    result = "internal"
    try:
        answer = await answered(request, id, asking, acted)
        result = "replayed" if answer.replayed else "done"
    except Refusal as refusal:
        result = refusal.code
        raise
    except Unavailable:
        result = "unavailable"
        raise
    finally:
        request.app.state.metrics.acted(croupier(request).ruleset_of(id), result)
    return answer


def _asked(body: bytes) -> tuple[Any, Action, shapes.Acting]:
    """The value of a body, the action in it, and what stands beside the action's fields."""
    return (_parsed_short if len(body) <= _SHORT_BODY else _parsed)(body)


def _parsed(body: bytes) -> tuple[Any, Action, shapes.Acting]:
    value = parse_json(body)
    try:
        asked = _REQUEST.validate_json(orjson.dumps(value))
    except ValidationError as error:
        raise invalid_input(error, value) from None
    own = asked.model_dump(exclude=set(shapes.Acting.model_fields))
    return value, _ACTION.validate_python(own), asked


# Most bodies are one of a few. All who send one share what was found in it, and none changes it.
_parsed_short: Final = lru_cache(1024)(_parsed)


@router.post(
    "/games/{id}/rematch",
    status_code=201,
    openapi_extra=asks("Rematch", optional=True, token=True),
    responses=answers(
        201,
        shapes.Rematched,
        "The next game of the series",
        *GAME_CHANGE,
        *TOKEN,
        "host_only",
        "game_not_found",
        "game_not_over",
        "rematch_exists",
    ),
)
async def rematch_game(id: str, request: Request) -> Response:
    """Play on: the same seats and tokens, the same settings or new options (host)."""
    asked = await read_model(request, shapes.Rematch, optional=True)
    asking = caller(request, asked.expected_version)
    opened = croupier(request).rematch(game_id(id), asked.options, asking, views.rematched)
    answer = await answered(request, id, asking, opened)
    request.app.state.waiting.note(request.app.state.gate.caller(request.scope), answer)
    return answer
