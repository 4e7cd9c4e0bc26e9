"""One connection, with what uvicorn leaves open: deadlines, bounds on heads, connections counted.

uvicorn waits for ever for the rest of a request and takes heads of any size; an application never
sees a request whose head has not come whole, so that only the protocol can end it.
"""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from service.api.address import Network, group_of, holds
from service.api.problems import MEDIA_TYPE, STATUS
from service.api.reading import UPLOAD_LIMIT
from service.api.texts import PROBLEMS
from service.memory import end_if_out_of_memory

HEAD_LIMIT: Final = 16 * 1024
TARGET_LIMIT: Final = 8 * 1024
HEADERS_LIMIT: Final = 100
# A body that goes on arriving at this rate is given more time than the deadline.
_BYTES_PER_SECOND: Final = 128 * 1024
_SLICE: Final = 16 * 1024
_FRAMING_LIMIT: Final = 64 * 1024
_FRAMING_PER_BYTE: Final = 16  # a chunk of one byte comes with five more, and may be extended
_SLACK: Final = 256 * 1024
_TICK_S: Final = 0.5
_LINGER_S: Final = 1.0
_FIRST_REQUEST_S: Final = 1.0
_BEGUN_REQUEST_S: Final = 3.0
_CONTROLS: Final = bytes({*range(32), 127} - {*b"\t"})
_FRAMING: Final = (b"connection", b"transfer-encoding")
_UPGRADING: Final = (b"upgrade", b"http2-settings")
_READING: Final = ("GET", "HEAD")
_NO_BODY: Final = (204, 304)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """``receive_s`` is how long a request may take to come whole, ``send_s`` how long an answer may
    stand still on its way; ``trusted`` are proxies, which bring the connections of many."""

    receive_s: float = 10
    send_s: float = 30
    connections: int = 8192
    connections_per_address: int = 512
    trusted: tuple[Network, ...] = ()


@dataclass
class Watch:
    """The connections of one process: how many there are, and which of them take too long."""

    limits: ConnectionLimits
    known: "set[Connection]" = field(default_factory=set)
    by_address: Counter[str] = field(default_factory=Counter)
    now_s: float = 0.0  # at the last look, which is exact enough for deadlines
    _ticking: bool = False

    def admit(self, one: "Connection", loop: asyncio.AbstractEventLoop) -> bool:
        """Whether there is room for a connection, which is then watched."""
        address = one.address
        full = len(self.known) >= self.limits.connections
        if full or (address and self.by_address[address] >= self.limits.connections_per_address):
            return False
        self.known.add(one)
        self.by_address[address] += 1
        if not self._ticking:
            self._ticking = True
            self.now_s = loop.time()
            loop.call_later(_TICK_S, self._tick, loop)
        return True

    def forget(self, one: "Connection") -> None:
        """A connection has ended."""
        if one in self.known:
            self.known.discard(one)
            self.by_address[one.address] -= 1
            if self.by_address[one.address] <= 0:
                del self.by_address[one.address]

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        """One look at all of them costs less than a timer for each request."""
        self.now_s = loop.time()
        for one in list(self.known):
            one.look(self.now_s)
        self._ticking = bool(self.known)
        if self._ticking:
            loop.call_later(_TICK_S, self._tick, loop)


class Cycle(RequestResponseCycle):
    """One request with its answer. An answer of known length leaves in one piece, head and body:
    each piece would cost a call of the system here and another one at the other side."""

    _start: Any = None

    async def send(self, message: Any) -> None:
        if self.transport.is_closing():
            self.disconnected = True
        if message["type"] == "http.response.start" and _known_length(message):
            self._start = message  # until its body is there
            return
        start, self._start = self._start, None
        if start is not None:
            if not message.get("more_body") and self._leaves(start, message.get("body", b"")):
                return
            await super().send(start)
        await super().send(message)

    def _leaves(self, start: Any, body: bytes) -> bool:
        """Sends a whole answer, if nothing is in its way."""
        if self.flow.write_paused or self.disconnected or self.response_started:
            return False
        lines, length = [STATUS_LINE[start["status"]]], 0
        for name, value in (*self.default_headers, *start["headers"]):
            if value.translate(None, _CONTROLS) != value or name in _FRAMING:
                return False
            if name == b"content-length":
                length = int(value)
            lines += (name, b": ", value, b"\r\n")
        if length != len(body):
            return False
        lines += (b"\r\n", body) if self.keep_alive else (b"connection: close\r\n\r\n", body)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"".join(lines))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True


def _without_upgrade(connection: bytes) -> bytes:
    tokens = (token.strip() for token in connection.split(b","))
    return b", ".join(token for token in tokens if token.lower() not in _UPGRADING)


def _known_length(start: Any) -> bool:
    return start["status"] in _NO_BODY or any(
        name == b"content-length" for name, _ in start["headers"]
    )


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with bounds. ``watch`` is shared by the connections of a process."""

    def __init__(self, *arguments: Any, watch: Watch, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.address = ""
        self._watch = watch
        self._deadline: float | None = None
        self._stalled: float | None = None
        self._idle: float | None = None
        self._ended = False
        self._closing = False
        self._begun = False
        self._upgrading = False
        self._served: RequestResponseCycle | None = None
        self._in_head = True
        self._behind_another = False
        self._codings: list[bytes] = []
        self._head_bytes = 0
        self._body_bytes = 0
        self._framing_bytes = 0

    # -- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = self.client[0] if self.client else ""
        # Connections over a socket file, and those of proxies, stand for many.
        self.address = "" if holds(self._watch.limits.trusted, peer) else group_of(peer)
        if not self._watch.admit(self, self.loop):
            if len(self.connections) > 2 * self._watch.limits.connections:
                self._ended = True
                transport.abort()
            else:
                self._refuse("unavailable", retry_after=True)
            return
        self._deadline = self._watch.now_s + self._watch.limits.receive_s

    def shutdown(self) -> None:
        """The server ends. A connection whose first request is still to come is given a moment,
        and one that has begun some more: it would otherwise be lost without an answer."""
        cycle: RequestResponseCycle | None = self.cycle
        if self._ended or not (cycle is None or (cycle.response_complete and self._begun)):
            super().shutdown()
            return
        self._closing = True
        patience_s = _BEGUN_REQUEST_S if self._begun else _FIRST_REQUEST_S
        self.loop.call_later(patience_s, self._hang_up_idle)

    def _hang_up_idle(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self._hang_up()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Who asked for changes and sends no more is still answered, up to the last of them; who
        reads, and has gone, is not waited for."""
        changes = [
            cycle
            for cycle in self._unanswered()
            if cycle.scope["method"] not in _READING and not cycle.more_body
        ]
        if changes:
            self._end_after(changes[-1])
        return bool(changes)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.forget(self)
        self._ended = True
        for cycle in self._unanswered():  # of which uvicorn tells but the newest
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def _unanswered(self) -> list[RequestResponseCycle]:
        """The request that is served, and those behind it whose heads have come."""
        if self._served is None or self._served.response_complete:
            return []
        return [self._served, *(cycle for cycle, _ in reversed(self.pipeline))]

    def _end_after(self, last: RequestResponseCycle) -> None:
        """Ends the connection with the answer to this request; those behind it have none."""
        self._ended, self._deadline = True, None
        while self.pipeline and self.pipeline[0][0] is not last:
            self.pipeline.popleft()
        self.cycle = last
        last.keep_alive = False

    def look(self, now: float) -> None:
        """Ends what takes too long."""
        if self.flow.read_paused and self._deadline is not None:
            self._deadline += _TICK_S  # what is not read can't come
        if self.transport.is_closing() and self._stalled is None:
            self._stalled = now
        if self._stalled is not None and now - self._stalled > self._watch.limits.send_s:
            self.transport.abort()
        elif self._deadline is not None and now >= self._deadline:
            self._deadline = None
            if self._begun:
                self._refuse("request_timeout")
            else:
                self.transport.close()
        elif self._idle is not None and now - self._idle > self.timeout_keep_alive:
            self._hang_up()

    def pause_writing(self) -> None:
        self._stalled = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled = None
        super().resume_writing()

    # -- the bytes -----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._idle = None
        if len(data) <= _SLICE:
            self._feed(data)
            return
        for start in range(0, len(data), _SLICE):
            self._feed(data[start : start + _SLICE])

    def _feed(self, data: bytes) -> None:
        if self._ended:
            return
        if not self._begun:
            self._behind_another = False
        if self._in_head:
            self._head_bytes += len(data)
        else:
            self._framing_bytes += len(data)
        rest = self._parse(data)
        while rest is not None:  # here, where no failure is taken for one that the upgrade caused
            rest = self._parse(self._as_asked_without(rest))
        if not self._ended:
            self._require_bounds()

    def _parse(self, data: bytes) -> bytes | None:
        """Hands bytes to the parser. Tells what is left of them behind the head of a request that
        asks for an upgrade; null where nothing is."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._rest(data, upgrade)
        except httptools.HttpParserError as error:
            end_if_out_of_memory(error)
            if not self._ended:
                self._refuse("malformed_request")
        return None

    def _rest(self, data: bytes, upgrade: httptools.HttpParserUpgrade) -> bytes | None:
        """What follows the head of a request that asks for an upgrade; null where there is
        nothing to go on with."""
        if self._upgrading:
            return data[upgrade.args[0] :]
        if not self._ended:
            self.cycle.keep_alive = False  # a CONNECT, which is answered like any method
            self._ended = True
        return None

    def _as_asked_without(self, rest: bytes) -> bytes:
        """There is nothing to upgrade to, and the parser would take the body for what follows an
        upgrade: so the request is parsed anew, as if it had not asked."""
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += (
            name + b": " + (_without_upgrade(value) if name == b"connection" else value)
            for name, value in self.headers
            if name not in _UPGRADING
        )
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._upgrading, self._in_head, self._codings = False, True, []
        return b"\r\n".join(lines) + b"\r\n\r\n" + rest

    def _require_bounds(self) -> None:
        """What the parser keeps of a request that has not come whole, and what it throws away."""
        if self._deadline is None and self._head_bytes and not self._begun:
            self._deadline = self._watch.now_s + self._watch.limits.receive_s  # empty lines
        if self._in_head and self._head_bytes > 2 * HEAD_LIMIT:
            self._refuse("headers_too_large")
        elif self._framing_bytes > _FRAMING_LIMIT + _FRAMING_PER_BYTE * self._body_bytes:
            self._refuse("malformed_request")
        elif self._body_bytes > UPLOAD_LIMIT + _SLACK:
            self.transport.abort()

    def on_message_begin(self) -> None:
        self._begun = True
        if self._deadline is None:
            self._deadline = self._watch.now_s + self._watch.limits.receive_s
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:  # trailers are no headers, whatever they are called
            return
        name = name.lower()
        self.headers.append((name, value))
        if name == b"transfer-encoding":
            self._codings.append(value.lower())
        elif name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        if self._ended:
            return
        self._in_head = False
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._upgrading = True
            return
        fault = self._fault_of_head()
        if fault is None:
            self._begin()
        else:
            self._refuse(fault)

    def _begin(self) -> None:
        """Serves the request whose head has come, after those before it."""
        version, url = self.parser.get_http_version(), httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope: Any = self.scope
        scope["http_version"] = version
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        before: RequestResponseCycle | None = self.cycle
        self.cycle = Cycle(
            scope,
            self.transport,
            self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and self.parser.should_keep_alive() and not self._closing,
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._served = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif not self._begun:
            self._idle = self._watch.now_s  # without a timer of its own

    def _fault_of_head(self) -> str | None:
        if len(self.url) > TARGET_LIMIT:
            return "target_too_long"
        if len(self.headers) > HEADERS_LIMIT:
            return "headers_too_large"
        if self._head_bytes > HEAD_LIMIT or self._behind_another:  # not all counted, or too much
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > HEAD_LIMIT:
                return "headers_too_large"
        codings, self._codings = self._codings, []
        if codings and (codings != [b"chunked"] or self.parser.get_http_version() == "1.0"):
            return "malformed_request"
        return None

    def on_body(self, body: bytes) -> None:
        if self._ended:
            return
        before, self._body_bytes = self._body_bytes, self._body_bytes + len(body)
        more = self._body_bytes // _BYTES_PER_SECOND - before // _BYTES_PER_SECOND
        if more and self._deadline is not None:
            self._deadline += more
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._ended or self._upgrading:
            return
        self._deadline = None
        self._begun, self._in_head, self._behind_another = False, True, True
        self._head_bytes = self._body_bytes = self._framing_bytes = 0
        super().on_message_complete()
        if self.cycle.response_complete:  # it was answered before it had come whole
            self.cycle.more_body = False
            self._idle = self._watch.now_s

    # -- answers that no application gives -----------------------------------------------------

    def _unsupported_upgrade_warning(self) -> None:
        """Asking is no fault."""

    def _refuse(self, code: str, retry_after: bool = False) -> None:
        """Tells a problem and ends the connection; tells nothing where an answer is under way."""
        self._ended, self._deadline = True, None
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:  # the fault is in what came after it
                cycle.keep_alive = False
                return
            if self.pipeline:  # those before it are whole
                self._end_after(self._unanswered()[-2])
                return
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
        elif cycle is not None and cycle.more_body:  # it has its answer already
            self.transport.close()
            return
        told = _told(code, self.server_state.default_headers, retry_after)
        only_head = self._begun and self.parser.get_method() == b"HEAD"
        self.transport.write(told[: told.index(b"\r\n\r\n") + 4] if only_head else told)
        # Who still sends would lose the answer if the connection ended with bytes unread.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER_S, self._hang_up)

    def _hang_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def _told(code: str, headers: list[tuple[bytes, bytes]], retry_after: bool) -> bytes:
    """A whole answer, in English: which language is wanted is not known yet."""
    title, detail = PROBLEMS[code]
    status = STATUS[code]
    told = {
        "type": f"/problems/{code}",
        "title": title.en,
        "status": status,
        "code": code,
        "detail": detail.en,
    }
    body = json.dumps(told, separators=(",", ":")).encode()
    lines = [
        *headers,
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"content-language", b"en"),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *([(b"retry-after", b"5")] if retry_after else []),
        (b"connection", b"close"),
    ]
    head = b"".join(name + b": " + value + b"\r\n" for name, value in lines)
    return STATUS_LINE[status] + head + b"\r\n" + body
