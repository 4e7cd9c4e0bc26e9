"""A small TCP proxy in front of PostgreSQL, which cuts connections around a COMMIT."""

import asyncio
import contextlib
from typing import Final, Literal, TypeAlias

Cut: TypeAlias = Literal["before COMMIT", "after COMMIT"]
CUTS: Final[tuple[Cut, ...]] = ("before COMMIT", "after COMMIT")
_CHUNK: Final = 65_536


class CuttingProxy:
    """Listens on a loopback port and hands on to a server's socket; use it as a context.

    ``cut`` the next COMMIT: before it reaches the server, or when its answer is on the way back,
    so that the client can't tell whether it was made.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._due: Cut | None = None
        self._cut: asyncio.Event = asyncio.Event()
        self._lines: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> "CuttingProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def cut(self, when: Cut) -> None:
        """Cuts the next COMMIT that comes along; returns when that has happened."""
        self._cut.clear()
        self._due = when
        await self._cut.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        try:
            await self._hand_on(reader, writer)
        except OSError:
            pass  # the server is away: so is the client, now
        finally:
            self._lines.discard(task)
            writer.close()

    async def _hand_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_unix_connection(self._socket)
        back = asyncio.create_task(_pump(theirs, writer))
        try:
            while chunk := await reader.read(_CHUNK):
                when = self._due
                if when is not None and b"COMMIT" in chunk:
                    self._due = None
                    back.cancel()
                    await asyncio.gather(back, return_exceptions=True)
                    if when == "after COMMIT":
                        ours.write(chunk)
                        await theirs.read(_CHUNK)
                    self._cut.set()
                    return
                ours.write(chunk)
                await ours.drain()
        finally:
            back.cancel()
            ours.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await back


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    finally:
        writer.close()
