"""What holds for every request and every answer, whichever route serves it. Pure ASGI."""

import logging
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problems
from service.errors import Refusal

_DEFAULTS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_log = logging.getLogger(__name__)


class Transport:
    """Answers HEAD as GET without the body, a fault of ours as a problem without its reason, and
    adds the headers that keep a browser from guessing, unless the route has set its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, only_head=scope["method"] == "HEAD")
        routed = {**scope, "method": "GET"} if answer.only_head else scope
        refusal: Refusal | None = None
        try:
            if scope["path"].endswith("\n"):  # which the router would pass over
                refusal = problems.RouteNotFound()
            elif _has_one_host(scope):
                await self._app(routed, receive, answer.send)
            else:
                refusal = problems.MalformedRequest()
        except ClientDisconnect:
            return  # nobody is left to be told
        except Exception:
            if answer.started:
                raise
            _log.exception("a request failed")
            refusal = problems.Internal()
        if refusal is not None:
            await problems.problem(Request(scope), refusal)(scope, receive, answer.send)


def _has_one_host(scope: Scope) -> bool:
    """As HTTP/1.1 demands it: whoever reads another one of two is led elsewhere."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return len(hosts) == 1 or bool(not hosts and scope["http_version"] == "1.0")


class _Answer:
    """One answer on its way out."""

    def __init__(self, send: Send, only_head: bool) -> None:
        self._send = send
        self.only_head = only_head
        self.started = False
        self._ended = False

    async def send(self, message: Message) -> None:
        if self._ended:
            return
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in _DEFAULTS.items():
                headers.setdefault(name, value)
        elif self.only_head:
            message, self._ended = {"type": "http.response.body"}, True
        await self._send(message)
