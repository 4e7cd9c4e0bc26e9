"""How many games that have not started one caller may leave behind, as far as this process knows.

A waiting game costs a row, a log and a place in the list, and nobody need ever play it.
"""

from collections import OrderedDict
from typing import Final

from service.api.problems import TooManyWaiting
from service.croupier import Croupier
from service.errors import GameNotFound

_CALLERS_LIMIT: Final = 10_000


class WaitingGames:
    """The games that each caller has created here; ``limit`` of them may wait, 0 for any number."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._created: OrderedDict[str, list[str]] = OrderedDict()

    async def require_room(self, caller: str, croupier: Croupier) -> None:
        """Raises TooManyWaiting if as many wait as may; looks only when that could be."""
        created = self._created.get(caller, [])
        if not self._limit or len(created) < self._limit:
            return
        waiting = [game_id for game_id in created if await _waits(game_id, croupier)]
        self._created[caller] = waiting
        if len(waiting) >= self._limit:
            raise TooManyWaiting(limit=self._limit)

    def note(self, caller: str, game_id: str) -> None:
        """A caller has created a game."""
        if not self._limit:
            return
        self._created.setdefault(caller, []).append(game_id)
        self._created.move_to_end(caller)
        while len(self._created) > _CALLERS_LIMIT:
            self._created.popitem(last=False)


async def _waits(game_id: str, croupier: Croupier) -> bool:
    try:
        return (await croupier.read(game_id)).game.status == "waiting"
    except GameNotFound:
        return False
