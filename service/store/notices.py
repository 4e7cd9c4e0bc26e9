"""Rings between processes over PostgreSQL's NOTIFY.

One channel, and one connection a process that listens. A NOTIFY takes a lock on the whole database
until its transaction ends: so it is never sent inside a change but afterwards, by itself, and for
many games at once.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import URL, Connection, func, select

from service.errors import Unavailable
from service.memory import end_if_out_of_memory

_CHANNEL: Final = "cubilete"
_IDS: Final = 150  # of 36 characters each: a notice has less than 8,000 bytes
InThread: TypeAlias = Callable[[Callable[[Connection], None]], Awaitable[None]]


class Notices:
    """The wire between the processes that share a database (``bell.Wire``). ``in_thread`` runs
    statements, each a transaction of its own."""

    def __init__(self, url: URL, in_thread: InThread) -> None:
        named = url.translate_connect_args(username="user", database="dbname")
        self._to: dict[str, Any] = {**named, **url.query}
        self._in_thread = in_thread
        self._name = os.urandom(8).hex()

    async def send(self, game_ids: Collection[str]) -> None:
        """Rings at every other process; raises Unavailable."""

        def notify(connection: Connection) -> None:
            for payload in self._payloads(sorted(game_ids)):
                connection.execute(select(func.pg_notify(_CHANNEL, payload)))

        await self._in_thread(notify)

    def _payloads(self, game_ids: Sequence[str]) -> Iterator[str]:
        for start in range(0, len(game_ids), _IDS):
            yield " ".join([self._name, *game_ids[start : start + _IDS]])

    async def rings(self) -> AsyncIterator[Collection[str]]:
        """What other processes ring for; raises Unavailable when the connection is lost."""
        import psycopg  # here: a server with the embedded database starts sooner without it

        try:
            async with await psycopg.AsyncConnection.connect(**self._to, autocommit=True) as line:
                await line.execute(f"LISTEN {_CHANNEL}")
                async for notice in line.notifies():
                    sender, *game_ids = notice.payload.split()
                    if sender != self._name:
                        yield game_ids
        except psycopg.Error as error:
            end_if_out_of_memory(error)
            raise Unavailable("the database tells of no changes now") from error

    async def close(self) -> None:
        """Holds nothing: the connection goes with who listens."""
