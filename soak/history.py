"""What the clients saw: one JSON object a line, written before and after each request.

``invoke`` opens a request; ``ok``, ``fail`` or ``unknown`` close it. A change whose outcome is
unknown is asked for again with the same key until it is known.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from service.keys import token_hash
from tests.crowd import Answered, Asked


class History:
    """Writes the lines, and counts what came of the requests."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._requests = 0
        self.counts: Counter[str] = Counter()
        self._waiting: dict[str, tuple[int, asyncio.Event]] = {}

    def invoke(self, client: int, asked: Asked, server: int) -> int:
        """A request is sent; returns its number. Of its token the hash is kept, no more."""
        self._requests += 1
        headers = asked.headers or {}
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        self._write(
            do="invoke",
            request=self._requests,
            client=client,
            server=server,
            method=asked.method,
            path=asked.path,
            body=asked.body,
            key=headers.get("Idempotency-Key"),
            owner=token_hash(token).hex() if token else "",
        )
        return self._requests

    def ok(self, request: int, answer: Answered) -> None:
        """It was acknowledged; the answer is kept whole."""
        replayed = "idempotency-replayed" in answer.headers
        self.counts["replayed"] += replayed
        self._write(
            do="ok",
            request=request,
            status=answer.status,
            replayed=replayed,
            etag=answer.headers.get("etag"),
            body=answer.content.decode(),
        )

    def fail(self, request: int, answer: Answered) -> None:
        """It was refused, and nothing was done."""
        self._write(do="fail", request=request, status=answer.status, code=answer.code)

    def unknown(self, request: int, why: str) -> None:
        """Nobody can tell."""
        self._write(do="unknown", request=request, why=why)

    def read(self, client: int, game: str, seen: int, version: int) -> None:
        """Whoever had seen version ``seen`` reads the game at ``version``."""
        self._write(do="read", client=client, game=game, seen=seen, version=version)

    async def more(self, count: int, what: str = "ok") -> None:
        """Waits until so many more requests have come to this end."""
        reached = asyncio.Event()
        self._waiting[what] = (self.counts[what] + count, reached)
        await reached.wait()

    def close(self) -> None:
        """No more is written."""
        self._file.close()

    def _write(self, **line: Any) -> None:
        self.counts[line["do"]] += 1
        due, reached = self._waiting.get(line["do"], (0, None))
        if reached is not None and self.counts[line["do"]] >= due:
            reached.set()
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")


def lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of a history, in order."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
