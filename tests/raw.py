"""Requests as bytes on a socket: what no client library would send."""

import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.server import Server

_PATIENCE_S = 20


@dataclass(frozen=True)
class Raw:
    """All that a server sent before it closed the connection."""

    wire: bytes

    @property
    def status(self) -> int:
        """The status; 0 if the server closed without an answer."""
        return int(self.wire.split(b" ", 2)[1]) if self.wire.startswith(b"HTTP/1.") else 0

    @property
    def headers(self) -> Mapping[str, str]:
        lines = self.wire.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}

    @property
    def body(self) -> bytes:
        return self.wire.partition(b"\r\n\r\n")[2]

    def json(self) -> Any:
        return json.loads(self.body)


def exchange(server: Server, data: bytes, *, end: bool = False) -> Raw:
    """Sends bytes and reads until the server closes; ``end`` says that no more will come."""
    with socket.create_connection(("127.0.0.1", server.port), _PATIENCE_S) as line:
        try:
            line.sendall(data)
            if end:
                line.shutdown(socket.SHUT_WR)
        except OSError:  # the server has answered and closed before it had read all
            pass
        got = bytearray()
        try:
            while piece := line.recv(65_536):
                got += piece
        except OSError:
            pass
    return Raw(bytes(got))


def wire(
    method: str | bytes,
    target: str | bytes,
    headers: Iterable[tuple[str, str | bytes]] = (),
    body: bytes | None = None,
    *,
    chunked: bool = False,
) -> bytes:
    """A request, which asks to close the connection after it."""
    lines = [_bytes(method) + b" " + _bytes(target) + b" HTTP/1.1", b"Host: cubilete"]
    lines += [_bytes(name) + b": " + _bytes(value) for name, value in headers]
    if chunked:
        lines.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body or b""), body or b"")
    elif body is not None:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"Connection: close", b"", body or b""])


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
