"""How many games that have not started one caller may leave behind, as far as this process knows.

A waiting game costs a row, a log and a place in the list, and nobody need ever play it.
"""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import Response

from service.api.problems import TooManyWaiting
from service.croupier import Croupier
from service.errors import GameFrozen, GameNotFound

_CALLERS_LIMIT: Final = 10_000


class WaitingGames:
    """The games that each caller has created here; ``limit`` of them may wait, 0 for any number.
    Rematches count, but none is refused: each takes a game that was played to its end."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._created: OrderedDict[str, set[str]] = OrderedDict()
        self._places: Counter[str] = Counter()  # of games that are being created

    @asynccontextmanager
    async def place(self, caller: str, croupier: Croupier) -> AsyncIterator[None]:
        """A place for one more game, held until the block ends; by then the game is noted, or
        there is none. Raises TooManyWaiting if as many wait as may."""
        self._places[caller] += 1  # before anything is awaited: others ask meanwhile
        try:
            await self._require_room(caller, croupier)
            yield
        finally:
            self._places[caller] -= 1
            if not self._places[caller]:
                del self._places[caller]

    def note(self, caller: str, answer: Response) -> None:
        """A caller is told where its new game is; a retry is told of the same game again."""
        if not self._limit or answer.headers.get("idempotency-replayed"):
            return
        game_id = answer.headers["location"].rpartition("/")[2]
        self._created.setdefault(caller, set()).add(game_id)
        self._created.move_to_end(caller)
        while len(self._created) > _CALLERS_LIMIT:
            self._created.popitem(last=False)

    async def _require_room(self, caller: str, croupier: Croupier) -> None:
        """Looks at the games only when there could be too many."""
        if not self._over(caller):
            return
        created = self._created.get(caller, set())
        for game_id in list(created):
            if not await _waits(game_id, croupier):
                created.discard(game_id)
        if self._over(caller):
            raise TooManyWaiting(limit=self._limit)

    def _over(self, caller: str) -> bool:
        taken = len(self._created.get(caller, ())) + self._places[caller]
        return 0 < self._limit < taken


async def _waits(game_id: str, croupier: Croupier) -> bool:
    try:
        return (await croupier.read(game_id)).game.status == "waiting"
    except (GameNotFound, GameFrozen):  # nobody waits for a game that an operator must see to
        return False
