"""A small proxy before several servers: each connection brings one request, to one that answers.

A request that a server did not answer with a single byte goes to the next one. That is safe
because clients send an Idempotency-Key with every change.
"""

import asyncio
import contextlib
import re
from collections.abc import Coroutine, Sequence

_LENGTH = re.compile(rb"content-length: *(\d+)", re.I)
_ROUNDS = 200
_PAUSE_S = 0.05


class Proxy:
    """Use it as an asynchronous context. ``retries`` counts the requests that went on to another
    server, ``dropped`` those of them that a server had let in and not answered, ``failed`` those
    that no server answered, ``cut`` the answers that broke off."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = list(ports)
        self._next = 0
        self.retries = 0
        self.dropped = 0
        self.failed = 0
        self.cut = 0
        self.port = 0
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await asyncio.sleep(0)  # closed connections are let go of in the next round of the loop

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                closing = head[:-2] + b"Connection: close\r\n\r\n"
                await self._until_gone(reader, self._hand_on(closing + body, writer))
        finally:
            writer.close()

    async def _until_gone(
        self, reader: asyncio.StreamReader, work: Coroutine[None, None, None]
    ) -> None:
        """Works for a client as long as it is there."""
        both = [asyncio.create_task(work), asyncio.create_task(reader.read())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.wait(both)

    async def _hand_on(self, request: bytes, client: asyncio.StreamWriter) -> None:
        for number in range(_ROUNDS):
            if number:
                self.retries += 1
                await asyncio.sleep(_PAUSE_S if number >= len(self._ports) else 0)
            self._next = (self._next + 1) % len(self._ports)
            try:
                if await self._asked(self._ports[self._next], request, client):
                    return
            except OSError:
                continue
        self.failed += 1

    async def _asked(self, port: int, request: bytes, client: asyncio.StreamWriter) -> bool:
        """Whether the server has answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answered = False
        try:
            writer.write(request)
            while data := await reader.read(65536):
                if data.startswith(b"HTTP/1.1 503 ") and not answered:
                    return False
                answered = True
                client.write(data)
                await client.drain()
        except ConnectionError:
            self.cut += answered
        finally:
            writer.close()
        self.dropped += not answered
        return answered
