"""A wire to a PostgreSQL server that can be cut at a COMMIT, or altogether."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from sqlalchemy import make_url

# Where to cut: before the server gets the COMMIT, at once after it was sent, or when the server
# has answered it and the answer is on its way.
Cut: TypeAlias = Literal["before", "after", "answered"]
_COMMIT = b"COMMIT\0"  # a BEGIN may say READ COMMITTED


class Wire:
    """Listens on a loopback port and passes everything on to the server of ``url``."""

    def __init__(self, url: str) -> None:
        target = make_url(url)
        self._socket_dir = target.query.get("host")
        self._address = (target.host or "127.0.0.1", target.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        plain = {"sslmode": "disable", "gssencmode": "disable"}
        port = self._listener.getsockname()[1]
        through = target.set(host="127.0.0.1", port=port, query=plain)
        self.url = through.render_as_string(hide_password=False)
        self.cut: Cut | None = None
        self.cuts = 0
        self.lets_in: Callable[[], bool] = lambda: True
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Ends the listener and whatever is still connected."""
        _end(self._listener, *self._open)

    def cut_all(self) -> None:
        """Cuts whatever is connected now."""
        cut, self._open = self._open, []
        _end(*cut)

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self.lets_in():
                client.close()
                continue
            try:
                server = self._connect()
            except OSError:
                client.close()
                continue
            self._open += [client, server]
            link = _Link(self, client, server)
            for pump in (link.to_server, link.to_client):
                threading.Thread(target=pump, daemon=True).start()

    def _connect(self) -> socket.socket:
        if not isinstance(self._socket_dir, str):
            return socket.create_connection(self._address)
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(f"{self._socket_dir}/.s.PGSQL.5432")
        except OSError:
            server.close()
            raise
        return server


class _Link:
    def __init__(self, wire: Wire, client: socket.socket, server: socket.socket) -> None:
        self._wire = wire
        self._client = client
        self._server = server
        self._swallow = False

    def to_server(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._client.recv(65536):
                cut = self._wire.cut if _COMMIT in data else None
                if cut is not None:
                    self._wire.cut = None
                    self._wire.cuts += 1
                if cut == "before":
                    break
                self._swallow = cut == "answered"
                self._server.sendall(data)
                if cut == "after":
                    break
        _end(self._client, self._server) if not self._swallow else None

    def to_client(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._server.recv(65536):
                if self._swallow:
                    break
                self._client.sendall(data)
        _end(self._client, self._server)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
