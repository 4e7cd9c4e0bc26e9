"""A crowd of clients, each with a connection of its own, that all ask at one moment."""

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.server import Server


@dataclass(frozen=True)
class Asked:
    """One request with a JSON body."""

    path: str
    body: Any = None
    headers: Mapping[str, str] | None = None
    method: str = "POST"

    def wire(self) -> bytes:
        content = b"" if self.body is None else json.dumps(self.body).encode()
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: cubilete"]
        lines += [f"{name}: {value}" for name, value in (self.headers or {}).items()]
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass(frozen=True)
class Answered:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        """The problem's code, or ``done``."""
        return str(self.json().get("code", "done"))


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Asked) -> Answered:
    """Asks over an open connection, which stays open."""
    writer.write(asked.wire())
    head = await reader.readuntil(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    content = await reader.readexactly(int(headers["content-length"]))
    return Answered(int(status.split()[1]), headers, content)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Ends a connection, whatever has become of it."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


class Crowd:
    """Use it as an asynchronous context."""

    def __init__(self, server: Server, size: int) -> None:
        self._port = server.port
        self._size = size
        self._lines: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> "Crowd":
        self._lines = [
            await asyncio.open_connection("127.0.0.1", self._port) for _ in range(self._size)
        ]
        return self

    async def __aexit__(self, *error: object) -> None:
        for _, writer in self._lines:
            await hang_up(writer)

    async def ask(self, place: int, asked: Asked) -> Answered:
        """One of the crowd asks."""
        return await ask(*self._lines[place], asked)

    async def ask_at_once(self, asked: Sequence[Asked]) -> list[Answered]:
        """All ask before anybody has heard an answer."""
        return await asyncio.gather(*(self.ask(place, one) for place, one in enumerate(asked)))


async def ask_alone(port: int, asked: Asked) -> Answered:
    """A request on a connection of its own; raises OSError or IncompleteReadError without a whole
    answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await ask(reader, writer, asked)
    finally:
        await hang_up(writer)


def rounds(server: Server, asked: Sequence[Sequence[Asked]]) -> list[list[Answered]]:
    """Several rounds in which all ask at once."""

    async def run() -> list[list[Answered]]:
        async with Crowd(server, max(map(len, asked))) as crowd:
            return [await crowd.ask_at_once(one) for one in asked]

    return asyncio.run(run())
