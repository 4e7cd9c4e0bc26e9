"""Bots that play on without a request: what goes beyond the transaction that gave them the turn."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from service.errors import Refusal, Unavailable
from service.memory import end_if_out_of_memory
from service.tasks import end

_log = logging.getLogger(__name__)


class PlayingOn:
    """Lets bots act until none is due, in one game at a time. ``play_on`` makes one transaction and
    tells whether there is more to do.

    Nothing is kept of what is still to be done: that follows from the game itself, and whoever
    comes upon it says so again.
    """

    def __init__(self, play_on: Callable[[str], Awaitable[bool]]) -> None:
        self._play_on = play_on
        self._behind: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._one = asyncio.Semaphore(1)

    def note(self, game_id: str) -> None:
        """A transaction that is about to be committed leaves a bot to act; from any thread."""
        self._behind.add(game_id)

    def committed(self, game_id: str) -> None:
        """The bots of a game that was noted go on."""
        if game_id in self._behind:
            self._behind.discard(game_id)
            self.soon(game_id)

    def soon(self, game_id: str) -> None:
        """The bots of a game go on, without keeping anybody waiting for it."""
        if game_id in self._tasks:
            self._again.add(game_id)  # its last round may be over but for the pause
        else:
            self._tasks[game_id] = asyncio.create_task(self._play(game_id))

    async def close(self) -> None:
        """Stops; what is committed stands, and the next request for a game takes it up again."""
        await end(self._tasks.values())

    async def _play(self, game_id: str) -> None:
        more = True
        try:
            while more:
                async with self._one:
                    self._again.discard(game_id)
                    began = time.monotonic()
                    more = await self._play_on(game_id)
                    # As much time for everybody else as the bots have taken.
                    await asyncio.sleep(time.monotonic() - began)
                more = more or game_id in self._again
        except (Refusal, Unavailable) as error:
            _log.warning("the bots of game %s stopped: %s", game_id, error)
        except Exception as error:  # nobody waits for the task who could be told
            end_if_out_of_memory(error)
            _log.exception("the bots of game %s broke off", game_id)
        finally:  # at once: whoever says that a bot is due from now on starts a new task
            self._again.discard(game_id)
            self._tasks.pop(game_id, None)
