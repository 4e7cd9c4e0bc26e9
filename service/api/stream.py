"""Streams: games as they happen, for browsers' ``EventSource`` and whoever reads lines."""

import re
from typing import Final

from fastapi import APIRouter, Request, Response

from service.api.contract import answers, asks, parameters
from service.api.framing import Form, JsonLines, ServerSentEvents
from service.api.handling import game_id
from service.api.live import EventStream, Live
from service.api.reading import bearer, number, prefers, query
from service.errors import FieldError, InvalidInput

_GAMES: Final = 20
_EVENTS: Final = ServerSentEvents()
_LINES: Final = JsonLines()
_SEQ: Final = re.compile(r"0|[1-9][0-9]{0,15}")

router = APIRouter(prefix="/v1", tags=["live"])

_EXAMPLE: Final = {
    "id": "18",
    "event": "entry",
    "data": '{"at":..,"data":{..},"game":"..","seq":18,"type":"acted",..}',
}
_EXAMPLE_LINES: Final = (
    '{"id":"17","event":"snapshot","data":{"id":"..","version":17,..}}\n'
    '{"id":"18","event":"entry","data":{"at":..,"game":"..","seq":18,"type":"acted",..}}\n'
    '{"event":"presence","data":{"game":"..","present":[0,1]}}\n'
    "\n"
    '{"retry_ms":3600000,"event":"end","data":{"game":"..","status":"finished",..}}\n'
)
_TEXT: Final = {"type": "string"}
# One event, as readers of streams take it apart.
_EVENT: Final = {
    "type": "object",
    "properties": {"id": _TEXT, "event": _TEXT, "data": _TEXT, "retry": {"type": "integer"}},
}
_MEDIA: Final = {
    _EVENTS.media_type: {"schema": _EVENT, "example": _EXAMPLE},
    _LINES.media_type: {"schema": _TEXT, "example": _EXAMPLE_LINES},
}
_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The `id` of the last event that was read: what came after it follows, with "
    "neither gap nor double. It goes before `after`; one that is none gives a fresh snapshot.",
    "schema": {"type": "string"},
}


@router.get(
    "/games/{id}/stream",
    openapi_extra=asks(
        change=False,
        listens=True,
        query=[
            *parameters(after=({"type": "integer", "minimum": 0}, "Only entries after this seq.")),
            _LAST_EVENT_ID,
        ],
    ),
    responses=answers(
        200,
        None,
        "The game, then each entry as it happens; with `Accept: application/x-ndjson` as lines",
        "game_not_found",
        "invalid_input",
        media=_MEDIA,
    ),
)
async def stream_game(id: str, request: Request) -> Response:
    """Listen to a game: a snapshot, then every entry, and who is there."""
    asked = query(request, ("after",))
    after = number(asked, "after", None)
    (resumed,) = _resumed(request, 1) or [after]
    return await _stream(request, [(game_id(id), resumed)])


@router.get(
    "/stream",
    openapi_extra=asks(
        change=False,
        listens=True,
        query=[
            *parameters(
                games=(_TEXT, f"The ids of at most {_GAMES} games, with commas between them."),
                after=(_TEXT, "For each game the seq after which its entries follow, or nothing."),
            ),
            _LAST_EVENT_ID,
        ],
    ),
    responses=answers(
        200,
        None,
        "The games, then each entry as it happens; `id` has the seqs of all games, in order",
        "game_not_found",
        "invalid_input",
        media=_MEDIA,
    ),
)
async def stream_games(request: Request) -> Response:
    """Listen to several games on one connection."""
    asked = query(request, ("games", "after"))
    if "games" not in asked:
        raise InvalidInput(FieldError("query:games", "missing"))
    ids = asked["games"].split(",")
    if len(ids) > _GAMES:
        raise InvalidInput(FieldError("query:games", "too_long", (("limit", _GAMES),)))
    if len(set(ids)) < len(ids):
        raise InvalidInput(FieldError("query:games", "repeated"))
    given = _seqs(asked["after"], len(ids)) if "after" in asked else [None] * len(ids)
    if given is None:
        raise InvalidInput(FieldError("query:after", "wrong_form"))
    resumed = _resumed(request, len(ids)) or given
    return await _stream(
        request, [(game_id(one), at) for one, at in zip(ids, resumed, strict=True)]
    )


def _resumed(request: Request, games: int) -> list[int | None] | None:
    """Where the client broke off, by its last event; None if it names none."""
    given = request.headers.get("last-event-id")
    return None if given is None else _seqs(given, games) or [None] * games


def _seqs(text: str, games: int) -> list[int | None] | None:
    """A seq, or nothing, for each of so many games; None if the text has not this form."""
    parts = text.split(",")
    if len(parts) != games or not all(part == "" or _SEQ.fullmatch(part) for part in parts):
        return None
    return [int(part) if part else None for part in parts]


async def _stream(request: Request, resumed: list[tuple[str, int | None]]) -> Response:
    live: Live = request.app.state.live
    form: Form = _LINES if prefers(request, _LINES.media_type, _EVENTS.media_type) else _EVENTS
    stream = EventStream(live, form, bearer(request))
    await stream.join(resumed)
    return stream
