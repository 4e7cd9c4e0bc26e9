"""The fast lane: actions reach their handler without the router.

A game waits for its actions and for little else, and the router with all that a route may declare
costs more than the action itself. The handler is the route's own, so that both ways answer alike;
what the lane does not know takes the route. Pure ASGI.
"""

import re
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.play import act, router
from service.api.problems import problem, unavailable
from service.errors import Refusal, Unavailable

_ACTIONS: Final = re.compile(r"/v1/games/([A-Za-z0-9_-]{1,64})/actions")

# For whoever asks afterwards which route it was.
_ROUTE: Final = next(route for route in router.routes if getattr(route, "name", "") == act.__name__)


class ActionLane:
    """Serves ``POST /v1/games/{id}/actions``, and hands everything else on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = scope["type"] == "http" and scope["method"] == "POST"
        match = _ACTIONS.fullmatch(scope["path"]) if known else None
        if match is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = _ROUTE
        request = Request(scope, receive)
        try:
            answer = await act(match[1], request)
        except Refusal as refusal:
            answer = problem(request, refusal)
        except Unavailable as error:
            answer = unavailable(request, error)
        await answer(scope, receive, send)
