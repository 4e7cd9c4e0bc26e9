"""The fast lane: actions, and looks at a game, reach their handlers without the router.

A game waits for these two and for little else, and the router with all that a route may declare
costs more than the action itself. The handlers are the routes' own, so that both ways answer alike;
what the lane does not know takes the route. Pure ASGI.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api import games, play
from service.api.problems import problem, unavailable
from service.errors import Refusal, Unavailable

_Handler: TypeAlias = Callable[[str, Request], Awaitable[Response]]
_GAME: Final = re.compile(r"/v1/games/([A-Za-z0-9_-]{1,64})(/actions)?")


def _known(router: APIRouter, handler: _Handler) -> tuple[_Handler, BaseRoute]:
    """A handler and its route, for whoever asks afterwards which one it was."""
    named = handler.__name__
    return handler, next(one for one in router.routes if getattr(one, "name", "") == named)


# By method and what follows the game in the path.
_HANDLERS: Final = {
    ("POST", "/actions"): _known(play.router, play.act),
    ("GET", None): _known(games.router, games.read_game),
}


class FastLane:
    """Serves ``POST /v1/games/{id}/actions`` and ``GET /v1/games/{id}``, and hands everything else
    on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _GAME.fullmatch(scope["path"])
        known = None if match is None else _HANDLERS.get((scope["method"], match[2]))
        if match is None or known is None:
            await self._app(scope, receive, send)
            return
        handler, scope["route"] = known
        request = Request(scope, receive)
        try:
            answer = await handler(match[1], request)
        except Refusal as refusal:
            answer = problem(request, refusal)
        except Unavailable as error:
            answer = unavailable(request, error)
        await answer(scope, receive, send)
