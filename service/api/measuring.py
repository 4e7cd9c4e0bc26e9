"""Every request has an id, by which its answer and what is logged of it are found together, and is
counted with the time that it took. Pure ASGI, around everything else."""

import itertools
import os
import re
import time
from contextvars import ContextVar
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.metrics import Metrics

REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""The id of the request that is being answered."""
_HEADER: Final = b"x-request-id"
_GIVEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Measured:
    """Takes over the id that a caller or a proxy has given a request, or gives it one."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._process = os.urandom(6).hex()
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, name = time.perf_counter(), self._id(scope)
        REQUEST_ID.set(name.decode())
        status, took_s = 0, 0.0

        async def answer(message: Message) -> None:
            nonlocal status, took_s
            if message["type"] == "http.response.start":
                status, took_s = message["status"], time.perf_counter() - began
                message["headers"] = [*message["headers"], (_HEADER, name)]
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requested(method, _route(scope), status, took_s)

    def _id(self, scope: Scope) -> bytes:
        for header, value in scope["headers"]:
            if header == _HEADER and _GIVEN.fullmatch(value):
                given: bytes = value
                return given
        return b"%b-%x" % (self._process.encode(), next(self._numbers))


def _route(scope: Scope) -> str:
    """The route's path as documented, so that no path of a caller's making is counted apart."""
    route = scope.get("route")
    return "other" if route is None else str(route.path)
