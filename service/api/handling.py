"""What every handler does: whom it asks, who asks, and how an answer leaves."""

import json
import re
from collections.abc import Awaitable
from typing import Final
from urllib.parse import urlencode

from fastapi import Request, Response

from service.api import reading, views
from service.croupier import Croupier
from service.errors import GameNotFound, SeatNotFound, StaleVersion, TurnExpired
from service.requests import Caller
from service.store import Answer

PAGE: Final = 100
GAME_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JSON: Final = (b"content-type", b"application/json")
_SEAT: Final = re.compile(r"0|[1-9][0-9]?")


def croupier(request: Request) -> Croupier:
    """The croupier of this server."""
    found: Croupier = request.app.state.croupier
    return found


def caller(
    request: Request,
    version: int | None,
    *,
    acts: bool = False,
    anybody: bool = False,
    tells_token: bool = False,
) -> Caller:
    """Who asks for a change; read the body first. ``version`` is its ``expected_version``."""
    state = request.app.state
    return reading.caller(
        request,
        version,
        anybody=anybody,
        tells_token=tells_token,
        key_needed=state.key_needed,
        version_needed=acts and state.version_needed,
    )


def game_id(text: str) -> str:
    """A game id of a path; what can be none is told as a game that does not exist."""
    if not GAME_ID.fullmatch(text):
        raise GameNotFound
    return text


def seat_number(text: str) -> int:
    """A seat of a path."""
    if not _SEAT.fullmatch(text):
        raise SeatNotFound
    return int(text)


class Sent(Response):
    """An answer on its way, told apart if it is one from the store."""

    media_type = "application/json"

    def __init__(self, answer: Answer) -> None:
        # In the place of the library's own, which is dearer than reading the request.
        self.status_code = answer.status
        self.body = answer.body
        self.background = None
        self.replayed = answer.replayed
        self.raw_headers = [(name.encode(), value.encode()) for name, value in answer.headers]
        self.raw_headers += (_JSON, (b"content-length", b"%d" % len(answer.body)))
        if answer.replayed:
            self.raw_headers.append((b"idempotency-replayed", b"true"))


async def answered(
    request: Request, game_id: str, asked: Caller, answer: Awaitable[Answer]
) -> Sent:
    """The answer to a change; a stale caller is told what was missed, a late one the game now."""
    try:
        return Sent(await answer)
    except StaleVersion as stale:
        hosted = await croupier(request).read(game_id)
        after = -1 if asked.version is None else asked.version
        missed = await croupier(request).lines(game_id, max(after, -1), PAGE)
        stale.extras["version"] = hosted.game.version
        stale.extras["entries"] = [json.loads(line) for line in missed] if after >= 0 else []
        stale.extras["legal_actions"] = views.legal_json(hosted)
        raise
    except TurnExpired as expired:
        hosted = await croupier(request).read(game_id)
        expired.extras["game"] = views.game_json(hosted, croupier(request).present(hosted))
        raise


def page(body: bytes, path: str, asked: dict[str, str], name: str, after: str | None) -> Response:
    """A page of a list; ``after`` is where the next one begins, as query parameter ``name``."""
    response = Response(body, headers={"cache-control": "no-cache"}, media_type="application/json")
    if after is not None:
        following = urlencode({**asked, name: after})
        response.headers["link"] = f'<{path}?{following}>; rel="next"'
    return response
