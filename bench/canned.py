"""A server that gives every request the same answer: what is left is the cost of the load itself.

python -m bench.canned PORT
"""

import asyncio
import sys
from typing import Any

import uvloop

_BODY = b'{"filler":"%s","legal_actions":[]}' % (b"x" * 1_400)
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY)
) + _BODY


class Canned(asyncio.Protocol):
    """Takes whatever comes in one piece for one request."""

    _transport: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(_ANSWER)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Canned, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
