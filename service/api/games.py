"""Games: create, list, read, and those that wait for the caller."""

import base64
import binascii
import functools
from collections.abc import Collection
from typing import Final

from fastapi import APIRouter, Request, Response

from service.api import shapes, views
from service.api.contract import CHANGE, TOKEN, answers, asks, parameters
from service.api.handling import GAME_ID, PAGE, Sent, caller, croupier, game_id, page
from service.api.live import Live
from service.api.reading import bearers, has_seen, number, query, read_model, wait_s
from service.errors import FieldError, InvalidInput
from service.requests import NewGame
from service.rules import RULESETS
from service.store import GameFilter, HostedGame

_STATUSES: Final = ("waiting", "playing", "finished", "abandoned", "void")

router = APIRouter(prefix="/v1", tags=["games"])


@router.post(
    "/games",
    status_code=201,
    openapi_extra=asks("NewGame"),
    responses=answers(
        201,
        shapes.Created,
        "The new game and its tokens, which are shown once",
        *CHANGE,
        "ruleset_not_found",
        "name_taken",
        "seed_refused",
        "too_many_waiting",
    ),
)
async def create_game(request: Request) -> Response:
    """Create a game of any ruleset."""
    asked = await read_model(request, shapes.NewGame)
    practice = asked.seed_mode == "practice"
    if practice != (asked.seed is not None):
        raise InvalidInput(FieldError("/seed", "missing" if practice else "practice_only"))
    wanted = NewGame(
        ruleset=asked.ruleset,
        options=asked.options,
        names=tuple(seat.name for seat in asked.seats),
        bots=tuple(seat.bot for seat in asked.seats),
        hotseat=asked.hotseat,
        visibility=asked.visibility,
        seed_mode=asked.seed_mode,
        root=None if asked.seed is None else bytes.fromhex(asked.seed),
        start=asked.start,
        turn_seconds=asked.turn_seconds,
    )
    asking = caller(request, None, anybody=True, tells_token=True)
    waiting, address = request.app.state.waiting, request.app.state.gate.caller(request.scope)
    async with waiting.place(address, croupier(request)):
        answer = Sent(await croupier(request).create(wanted, asking, views.created))
        waiting.note(address, answer)
    return answer


@router.get(
    "/games",
    openapi_extra=asks(
        change=False,
        query=parameters(
            status=({"enum": list(_STATUSES)}, "Only games of this status."),
            ruleset=({"enum": [ruleset.key for ruleset in RULESETS]}, "Only this ruleset."),
            open_seats=({"type": "boolean"}, "Only games with, or without, an open seat."),
            limit=({"type": "integer", "minimum": 1, "maximum": PAGE, "default": 50}, "Page size."),
            cursor=({"type": "string"}, "The last page's `next_cursor`."),
        ),
    ),
    responses=answers(200, shapes.Games, "One page of public games, newest first", "invalid_input"),
)
async def list_games(request: Request) -> Response:
    """List public games."""
    asked = query(request, ("status", "ruleset", "open_seats", "limit", "cursor"))
    wanted = GameFilter(
        status=_choice(asked, "status", _STATUSES),
        ruleset=_choice(asked, "ruleset", [ruleset.key for ruleset in RULESETS]),
        open_seats={"true": True, "false": False}.get(
            _choice(asked, "open_seats", ("true", "false")) or ""
        ),
    )
    limit = number(asked, "limit", 50, PAGE)
    found = await croupier(request).listed(wanted, _id_of(asked.pop("cursor", None)), limit)
    after = None if found.last is None else _cursor(found.last[0])
    told = {"games": [views.summary_json(listed) for listed in found.games], "next_cursor": after}
    return page(views.as_json(told), "/v1/games", asked, "cursor", after)


def _choice(asked: dict[str, str], name: str, choices: Collection[str]) -> str | None:
    value = asked.get(name)
    if value is not None and value not in choices:
        raise InvalidInput(FieldError(f"query:{name}", "not_allowed"))
    return value


def _cursor(game_id: str) -> str:
    return base64.urlsafe_b64encode(game_id.encode()).decode()


def _id_of(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        game_id = base64.b64decode(cursor, "-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        game_id = ""
    if not GAME_ID.fullmatch(game_id):
        raise InvalidInput(FieldError("query:cursor", "wrong_form"))
    return game_id


@router.get(
    "/games/{id}",
    openapi_extra=asks(
        change=False,
        cached=True,
        query=parameters(
            version=({"type": "integer", "minimum": 0}, "The game as it was after this entry.")
        ),
    ),
    responses={
        **answers(
            200,
            shapes.GameShape,
            "The game",
            "game_not_found",
            "game_frozen",
            "version_not_found",
            "invalid_input",
        ),
        304: {"description": "The version named in If-None-Match still stands"},
    },
)
async def read_game(id: str, request: Request) -> Response:
    """Read a game, now or as it was."""
    asked = query(request, ("version",))
    version = number(asked, "version", None)
    headers = {"cache-control": "no-cache"}
    if version is None:
        hosted = await croupier(request).read(game_id(id))
        waiting = wait_s(request)
        if waiting and _stands(request, hosted):
            read = functools.partial(croupier(request).read, id)
            live: Live = request.app.state.live
            hosted = await live.changed(read, hosted, waiting, request.receive)
            headers["preference-applied"] = f"wait={waiting}"
    else:
        hosted = await croupier(request).read_at(game_id(id), version)
    headers["etag"] = views.etag(hosted)
    if _stands(request, hosted):
        return Response(status_code=304, headers=headers)
    body = views.as_json(views.game_json(hosted, croupier(request).present(hosted)))
    return Response(body, headers=headers, media_type="application/json")


def _stands(request: Request, hosted: HostedGame) -> bool:
    """Whether the caller knows all of a game: no version tells its rematch."""
    return has_seen(request, views.etag(hosted)) and hosted.series.next_game is None


@router.get(
    "/me/turns",
    openapi_extra=asks(change=False, token=True),
    responses=answers(
        200,
        shapes.Turns,
        "The games that wait for one of the tokens, and for which of their seats",
        *TOKEN,
        "invalid_input",
    ),
)
async def read_turns(request: Request) -> Response:
    """List the games in which it is your turn.

    Send the tokens of all your seats in one `Authorization: Bearer token, token, ..`, 32 at most.
    """
    query(request, ())
    found = await croupier(request).turns(bearers(request))
    headers = {"cache-control": "no-store", "vary": "Authorization"}
    body = views.as_json(views.turns_json(found, croupier(request).present))
    return Response(body, headers=headers, media_type="application/json")
