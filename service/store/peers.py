"""What the processes that share a PostgreSQL tell each other of who is present.

Each has one row, which it alone writes, and whose lease runs out when the process is gone.
"""

import json
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, text

_LEASE_MS: Final = 8_000
_FORGOTTEN_MS: Final = 60_000

Seats: TypeAlias = Mapping[str, Collection[int]]
InThread: TypeAlias = Callable[[Callable[[Connection], Any]], Awaitable[Any]]

# By the clock of the database, which is one for all.
_TELL: Final = text(
    """
    INSERT INTO presence (worker, revision, until, seats)
    VALUES (:worker, :revision, extract(epoch FROM clock_timestamp()) * 1000 + :lease_ms, :seats)
    ON CONFLICT (worker) DO UPDATE
    SET revision = excluded.revision, until = excluded.until, seats = excluded.seats
    """
)
_GO_ON: Final = text(
    """
    UPDATE presence SET until = extract(epoch FROM clock_timestamp()) * 1000 + :lease_ms
    WHERE worker = :worker
    """
)
_FORGET: Final = text(
    "DELETE FROM presence WHERE until < extract(epoch FROM clock_timestamp()) * 1000 - :ago_ms"
)
_OTHERS: Final = text(
    """
    SELECT worker, revision FROM presence
    WHERE worker <> :worker AND until > extract(epoch FROM clock_timestamp()) * 1000
    """
)
_SEATS: Final = text("SELECT worker, revision, seats FROM presence WHERE worker = ANY(:workers)")


class Peers:
    """The other processes, as the presence board sees them. ``in_thread`` runs statements, each
    a transaction of its own."""

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread
        self._name = os.urandom(8).hex()
        self._revision = 0
        self._told: dict[str, tuple[int, Seats]] = {}

    async def tell(self, seats: Seats) -> None:
        """The seats that are present at this process; raises Unavailable."""
        self._revision += 1
        row = {
            "worker": self._name,
            "revision": self._revision,
            "lease_ms": _LEASE_MS,
            "seats": json.dumps({game_id: sorted(here) for game_id, here in seats.items()}),
        }

        def write(connection: Connection) -> None:
            connection.execute(_FORGET, {"ago_ms": _FORGOTTEN_MS})
            connection.execute(_TELL, row)

        await self._in_thread(write)

    async def go_on(self) -> bool:
        """What was told last still holds; returns whether the others still know it, who forget
        what was not kept up for long. Raises Unavailable."""
        mine = {"worker": self._name, "lease_ms": _LEASE_MS}

        def renew(connection: Connection) -> bool:
            return connection.execute(_GO_ON, mine).rowcount == 1

        renewed: bool = await self._in_thread(renew)
        return renewed

    async def others(self) -> Collection[Seats]:
        """What the other processes have told; raises Unavailable."""
        self._told = await self._in_thread(self._read)
        return [seats for _, seats in self._told.values()]

    def _read(self, connection: Connection) -> dict[str, tuple[int, Seats]]:
        """Only what has changed is read whole."""
        rows = connection.execute(_OTHERS, {"worker": self._name})
        revisions = {row.worker: row.revision for row in rows}
        known = {
            worker: self._told[worker]
            for worker, revision in revisions.items()
            if worker in self._told and self._told[worker][0] == revision
        }
        missing = [worker for worker in revisions if worker not in known]
        if missing:
            for row in connection.execute(_SEATS, {"workers": missing}):
                known[row.worker] = (row.revision, json.loads(row.seats))
        return known
