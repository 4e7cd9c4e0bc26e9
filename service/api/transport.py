"""What holds for every request and every answer, whichever route serves it. Pure ASGI."""

import logging
import time
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problems
from service.api.access import AccessLog
from service.api.gate import Gate, Headers
from service.errors import Refusal

_ALWAYS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_PAGES: Final = (
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"x-frame-options", b"DENY"),
)
_log = logging.getLogger(__name__)


class Transport:
    """Lets a request in or refuses it, answers HEAD as GET without the body, a fault of ours as a
    problem without its reason, and adds the headers that keep a browser from guessing, unless the
    route has set its own."""

    def __init__(self, app: ASGIApp, gate: Gate, access: AccessLog | None = None) -> None:
        self._app = app
        self._gate = gate
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        answer = _Answer(send, only_head=scope["method"] == "HEAD")
        try:
            await self._served(scope, receive, answer)
        finally:
            if answer.status == 401:
                self._gate.token_failed(scope)
            if self._access is not None:
                took_s = time.perf_counter() - began
                self._access.note(scope, self._gate.caller(scope), answer.status, took_s)

    async def _served(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        routed = {**scope, "method": "GET"} if answer.only_head else scope
        refusal: Refusal | None = None
        more: dict[str, str] = {}
        try:
            answer.more = self._gate.cross_origin(scope)
            preflight = self._gate.preflight(scope)
            host = _host(scope)
            if host is None:
                refusal = problems.MalformedRequest()
            elif preflight is not None:
                self._gate.require_host(scope, host)
                answer.more = preflight
                await answer.send({"type": "http.response.start", "status": 204, "headers": []})
                await answer.send({"type": "http.response.body"})
            elif scope["path"].endswith("\n"):  # which the router would pass over
                refusal = problems.RouteNotFound()
            else:
                self._gate.require_host(scope, host)
                answer.more += self._gate.admit(scope)
                await self._app(routed, receive, answer.send)
        except ClientDisconnect:
            return  # nobody is left to be told
        except problems.RateLimited as limited:
            refusal, more = limited, {name.decode(): v.decode() for name, v in limited.headers}
        except Refusal as refused:
            refusal = refused
        except Exception:
            if answer.started:
                raise
            _log.exception("a request failed")
            refusal = problems.Internal()
        if refusal is not None:
            await problems.problem(Request(scope), refusal, more)(scope, receive, answer.send)


def _host(scope: Scope) -> str | None:
    """The one host, as HTTP/1.1 demands it: whoever reads another one of two is led elsewhere."""
    hosts: list[bytes] = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) == 1:
        return hosts[0].decode("latin-1")
    return "" if not hosts and scope["http_version"] == "1.0" else None


class _Answer:
    """One answer on its way out; ``more`` are headers that it gets besides its own."""

    def __init__(self, send: Send, only_head: bool) -> None:
        self._send = send
        self.only_head = only_head
        self.more: Headers = []
        self.status = 0
        self._ended = False

    @property
    def started(self) -> bool:
        """Whether anything of it has left."""
        return self.status > 0

    async def send(self, message: Message) -> None:
        if self._ended:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = _complete(list(message["headers"]), self.more)
        elif self.only_head:
            message, self._ended = {"type": "http.response.body"}, True
        await self._send(message)


def _complete(headers: Headers, more: Headers) -> Headers:
    given = dict(headers)
    headers += [one for one in _ALWAYS if one[0] not in given]
    if given.get(b"content-type", b"").startswith(b"text/html"):
        headers += [one for one in _PAGES if one[0] not in given]
    headers += more
    return headers
