"""An audience: many listeners of streams over sockets of their own, cut off at random."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The parts of a chunked answer as they come, until it ends as an answer should; raises
    ConnectionError if it ends otherwise."""
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 ") or b"chunked" not in head.lower():
        raise ConnectionRefusedError(head.split(b"\r\n")[0].decode())
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        yield (await reader.readexactly(size + 2))[:-2]


@dataclass
class Listener:
    """One listener of a game. ``cut_after`` bounds how many bytes it reads before it is cut off
    and comes back (0: it is never cut); ``lines`` are the log lines it was told."""

    ports: Sequence[int]
    path: str
    chance: random.Random
    cut_after: int = 0
    query: str = ""
    lines: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    connections: int = 0
    last_id: str | None = None
    ended: bool = False

    async def listen(self) -> None:
        """Listens until the game ends, however often that takes a connection."""
        while not self.ended:
            try:
                await self._listen_once()
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)

    async def _listen_once(self) -> None:
        port = self.chance.choice(self.ports)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self.connections += 1
        try:
            resumed = "" if self.last_id is None else f"Last-Event-ID: {self.last_id}\r\n"
            asked = f"GET {self.path}/stream{self.query} HTTP/1.1\r\nHost: x\r\n{resumed}\r\n"
            writer.write(asked.encode())
            left = self.chance.randint(1, self.cut_after) if self.cut_after else None
            text = b""
            async for chunk in chunks(reader):
                text += chunk if left is None else chunk[:left]
                *whole, text = text.split(b"\n\n")
                for event in whole:
                    self._note(event.decode())
                if left is not None:
                    left -= len(chunk)
                    if left <= 0:
                        return
        finally:
            writer.transport.abort()

    def _note(self, event: str) -> None:
        fields = dict(line.split(": ", 1) for line in event.split("\n") if ": " in line)
        name = fields.get("event")
        if name is None:
            return
        self.events.append(name)
        self.last_id = fields.get("id", self.last_id)
        if name == "entry":
            self.lines.append(fields["data"])
        elif name == "snapshot":
            self.snapshot: Any = json.loads(fields["data"])
        self.ended = name == "end"

    def missed(self, log: Sequence[str]) -> str | None:
        """What is wrong with what was told of a log, if anything is."""
        first = self.snapshot["version"] if "snapshot" in self.events else 0
        if self.events.count("snapshot") > 1:
            return "a second snapshot"
        if self.lines == list(log[first + 1 :]):
            return None
        return f"told {len(self.lines)} entries after {first} of {len(log)}"


async def idle(port: int, paths: Sequence[str]) -> list[asyncio.StreamWriter]:
    """Streams that are opened, heard up to their snapshot, and left alone."""
    gate = asyncio.Semaphore(50)

    async def opened(path: str) -> asyncio.StreamWriter:
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path}/stream HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await anext(chunks(reader))
            return writer

    return await asyncio.gather(*(opened(path) for path in paths))
