"""What holds for every request and every answer, whichever route serves it. Pure ASGI."""

import errno
import logging
import time
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problems
from service.api.access import AccessLog
from service.api.gate import Gate, Headers
from service.api.headers import headers_of
from service.api.metrics import Metrics
from service.api.request_id import HEADER, RequestIds
from service.errors import Refusal, Unavailable
from service.memory import end_if_out_of_memory

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
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NO_FILE_LEFT: Final = (errno.EMFILE, errno.ENFILE)
_log = logging.getLogger(__name__)


class Transport:
    """Lets a request in or refuses it, answers HEAD as GET without the body, a fault of ours as a
    problem without its reason, adds the headers that keep a browser from guessing, unless the
    route has set its own, and counts what was answered. It stands around FastAPI's own wrappers,
    so that an action need not pass through them."""

    def __init__(
        self, app: ASGIApp, gate: Gate, metrics: Metrics, access: AccessLog | None = None
    ) -> None:
        self._app = app
        self._gate = gate
        self._metrics = metrics
        self._access = access
        self._ids = RequestIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        answer = _Answer(send, self._ids.name(scope), only_head=scope["method"] == "HEAD")
        try:
            await self._serve(scope, receive, answer)
        except ClientDisconnect:
            pass  # nobody is left to be told
        except Refusal as refusal:
            more = refusal.headers if isinstance(refusal, problems.RateLimited) else None
            await problems.problem(Request(scope), refusal, more)(scope, receive, answer.send)
        except Exception as error:
            end_if_out_of_memory(error)
            if answer.status:
                raise
            await _failed(Request(scope), error)(scope, receive, answer.send)
        finally:
            self._note(scope, answer, began)

    def _note(self, scope: Scope, answer: "_Answer", began: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        took_s = answer.began - began if answer.status else 0.0
        self._metrics.requested(method, _route(scope), answer.status, took_s)
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


def in_one_line(send: Send) -> Send:
    """Tells why the application does not start without the way that led there."""

    async def sending(message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            message["message"] = message["message"].strip().rpartition("\n")[2]
        await send(message)

    return sending


def _failed(request: Request, error: Exception) -> Response:
    """What a caller is told of a fault of ours: to come back, where it is a page that could not be
    read for want of files."""
    if isinstance(error, OSError) and error.errno in _NO_FILE_LEFT:
        _log.error("a request failed: %s", error)
        return problems.unavailable(request, Unavailable("no file can be opened now"))
    _log.error("a request failed", exc_info=error)
    return problems.problem(request, problems.Internal())


def _route(scope: Scope) -> str:
    """The route's path as documented, so that no path of a caller's making is counted apart."""
    route = scope.get("route")
    return "other" if route is None else str(route.path)


def _host(scope: Scope) -> bytes:
    """The one host, as HTTP/1.1 demands it: whoever reads another one of two is led elsewhere."""
    host = headers_of(scope).get(b"host")
    if host is None and scope["http_version"] == "1.0":
        return b""
    if host is None or (b"," in host and (b"host", host) not in scope["headers"]):
        raise problems.MalformedRequest
    return host


class _Answer:
    """One answer on its way out. ``more`` are headers that it gets besides its own; ``status`` is
    0 until it leaves, at ``began``."""

    __slots__ = ("_ended", "_name", "_send", "began", "more", "only_head", "status")

    def __init__(self, send: Send, name: bytes, only_head: bool) -> None:
        self._send = send
        self._name = name
        self.only_head = only_head
        self.more: Headers = []
        self.status = 0
        self.began = 0.0
        self._ended = False

    async def send(self, message: Message) -> None:
        if self._ended:
            return
        if message["type"] == "http.response.start":
            self.status, self.began = message["status"], time.perf_counter()
            headers = _complete(list(message["headers"]), self.more)
            headers.append((HEADER, self._name))
            message["headers"] = headers
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
