"""The same load over socket.io, as boardgame.io is played.

    python -m bench.load_socket move URL --clients 64 --seconds 3

Every connection plays a match of its own, new for every run, for both players: it rolls again as
soon as it has the state after the roll before.
"""

import argparse
import asyncio
import functools
import gc
import json
import os
import re
import sys
import time
from dataclasses import asdict
from typing import Any, Final

import uvloop

from bench.load import Run, Slice, Unexpected, address_of, drive, give_way

_PATH: Final = "/socket.io/?EIO=4&transport=websocket"
_UPGRADE: Final = (
    f"GET {_PATH} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
).encode()
_TEXT: Final = 0x81  # the last frame of a message, of text
_STATE: Final = re.compile(rb'"_stateID":(\d+)')
_PLAYER: Final = re.compile(rb'"currentPlayer":"(\d)"')
_STALLED_S: Final = 2.0


class Match(asyncio.Protocol):
    """One client at a match of its own."""

    def __init__(self, name: str, run: Run) -> None:
        self._name = name
        self._run = run
        self._rest = b""
        self._state = self._player = b""
        self._transport: Any = None
        self.ready = asyncio.get_running_loop().create_future()
        self.sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._transport.write(_UPGRADE)
        self._run.open += 1

    def ask(self) -> None:
        """Sends the next move."""
        if self._run.over.done():
            return
        self.sent = time.perf_counter()
        self._send(
            b'42/pig,["update",{"type":"MAKE_MOVE","payload":{"type":"roll","args":[],"playerID":"%s",'
            b'"credentials":null}},%s,"%s","%s"]'
            % (self._player, self._state, self._name.encode(), self._player)
        )

    def _send(self, text: bytes) -> None:
        # A client must mask what it sends; the mask of zeros leaves it as it is.
        size = len(text)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self._transport.write(bytes([_TEXT]) + length + bytes(4) + text)

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if data.startswith(b"HTTP/"):
            head, end, data = data.partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
        try:
            while (frame := _frame(data)) is not None:
                text, data = frame
                self._take(text)
        except Unexpected as error:
            self._run.left(error)
        self._rest = data

    def _take(self, text: bytes) -> None:
        """One packet of socket.io: opened, connected, pinged, or an event."""
        if text.startswith(b"0"):
            self._send(b"40/pig,")
        elif text.startswith(b"40/pig"):
            self._send(f'42/pig,["sync","{self._name}","0",null,2]'.encode())
        elif text == b"2":
            self._send(b"3")
        elif text.startswith(b'42/pig,["sync"'):
            self._note(text)
            self.ready.set_result(None)
        elif text.startswith(b'42/pig,["update"'):
            if self._run.measuring:
                self._run.latencies.append(time.perf_counter() - self.sent)
                self._run.size = len(text)
            before = int(self._state)
            self._note(text)
            if int(self._state) <= before:
                raise Unexpected("the state did not move")
            self.ask()
        elif not text.startswith(b'42/pig,["matchData"'):
            raise Unexpected(text[:500].decode("utf-8", "replace"))

    def _note(self, text: bytes) -> None:
        state, player = _STATE.search(text), _PLAYER.search(text)
        if state is None or player is None:
            raise Unexpected(text[:500].decode("utf-8", "replace"))
        self._state, self._player = state[1], player[1]

    def connection_lost(self, exc: Exception | None) -> None:
        self._run.left(exc or Unexpected("the server closed the connection"))

    def close(self) -> None:
        """Ends the connection."""
        self._transport.close()


def _frame(data: bytes) -> tuple[bytes, bytes] | None:
    """The first frame and what follows it, or null if it is not whole."""
    if len(data) < 2:
        return None
    if data[0] != _TEXT:
        raise Unexpected(f"a frame of another kind: {data[:1]!r}")
    size, start = data[1], 2
    if size >= 126:
        start = 4 if size == 126 else 10
        size = int.from_bytes(data[2:start], "big")
    if len(data) < start + size:
        return None
    return data[start : start + size], data[start + size :]


async def _loaded(url: str, clients: int, seconds: float) -> Slice:
    loop, run, name = asyncio.get_running_loop(), Run(), os.urandom(8).hex()
    host, port = address_of(url)
    matches = []
    for number in range(clients):
        made = functools.partial(Match, f"{name}-{number}", run)
        matches.append((await loop.create_connection(made, host, port))[1])
    await asyncio.wait_for(asyncio.gather(*(match.ready for match in matches)), 30)
    found = await drive(run, matches, seconds)
    if time.perf_counter() - min(match.sent for match in matches) > _STALLED_S:
        raise Unexpected("a move was not answered")
    return found


def main() -> None:
    """Runs one stretch of load and prints what was measured."""
    parser = argparse.ArgumentParser(prog="load_socket", description="Matches over socket.io.")
    parser.add_argument("mode", choices=("move",))
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    gc.disable()  # nothing here makes cycles, and a pause would count as the server's
    give_way()
    try:
        print(json.dumps(asdict(uvloop.run(_loaded(given.url, given.clients, given.seconds)))))
    except (OSError, Unexpected, TimeoutError) as error:
        sys.exit(f"load: {error!r}")


if __name__ == "__main__":
    main()
