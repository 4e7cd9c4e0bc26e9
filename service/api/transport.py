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
_HTML: Final = b"text/html; charset=utf-8"
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
            await self._app(scope, receive, _in_one_line(send))
            return
        began = time.perf_counter()
        answer = _Answer(send, only_head=scope["method"] == "HEAD")
        try:
            await self._serve(scope, receive, answer)
        except ClientDisconnect:
            pass  # nobody is left to be told
        except Refusal as refusal:
            more = refusal.headers if isinstance(refusal, problems.RateLimited) else None
            await problems.problem(Request(scope), refusal, more)(scope, receive, answer.send)
        except Exception:
            if answer.status:
                raise
            _log.exception("a request failed")
            told = problems.problem(Request(scope), problems.Internal())
            await told(scope, receive, answer.send)
        if answer.status == 401:
            self._gate.token_failed(scope)
        if self._access is not None:
            took_s = time.perf_counter() - began
            self._access.note(scope, self._gate.caller(scope), answer.status, took_s)

    async def _serve(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        host = _host(scope)
        if self._gate.names_any:
            answer.more = self._gate.cross_origin(scope)
            self._gate.require_host(scope, host)
            preflight = self._gate.preflight(scope)
            if preflight is not None:
                answer.more = preflight
                await answer.send({"type": "http.response.start", "status": 204, "headers": []})
                await answer.send({"type": "http.response.body"})
                return
        answer.more += self._gate.admit(scope)
        if scope["path"].endswith("\n"):  # which the router would pass over
            raise problems.RouteNotFound
        if not answer.only_head:
            await self._app(scope, receive, answer.send)
            return
        as_get = {**scope, "method": "GET"}
        try:
            await self._app(as_get, receive, answer.send)
        finally:  # whoever counts requests asks which route has served this one
            if "route" in as_get:
                scope["route"] = as_get["route"]


def _in_one_line(send: Send) -> Send:
    """Tells why the application does not start without the way that led there."""

    async def sending(message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            message["message"] = message["message"].strip().rpartition("\n")[2]
        await send(message)

    return sending


def _host(scope: Scope) -> bytes:
    """The one host, as HTTP/1.1 demands it: whoever reads another one of two is led elsewhere."""
    hosts: list[bytes] = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 and (hosts or scope["http_version"] != "1.0"):
        raise problems.MalformedRequest
    return hosts[0] if hosts else b""


class _Answer:
    """One answer on its way out. ``more`` are headers that it gets besides its own; ``status`` is
    0 until it leaves."""

    __slots__ = ("_ended", "_send", "more", "only_head", "status")

    def __init__(self, send: Send, only_head: bool) -> None:
        self._send = send
        self.only_head = only_head
        self.more: Headers = []
        self.status = 0
        self._ended = False

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
    given = {name for name, _ in headers}
    headers += [one for one in _ALWAYS if one[0] not in given]
    if (b"content-type", _HTML) in headers:
        headers += [one for one in _PAGES if one[0] not in given]
    headers += more
    return headers
