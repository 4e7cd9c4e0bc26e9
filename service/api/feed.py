"""One game as the streams of this process are told it: read once for all of them.

A feed keeps the newest lines of a log, within bounds. A stream has nothing but a place in it, so
that a reader who is slow costs no memory: whoever falls out of the bounds is cut off.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from service.api import views
from service.bell import Bell
from service.croupier import Croupier
from service.errors import GameFrozen, GameNotFound, Unavailable
from service.memory import end_if_out_of_memory, guarded_task
from service.presence import PresenceBoard
from service.store import HostedGame

Wake: TypeAlias = Callable[[], None]

_KEPT_LINES: Final = 256
_KEPT_BYTES: Final = 256 * 1024
_READ_LINES: Final = 100
_AGAIN_S: Final = 1.0
_log = logging.getLogger(__name__)


class Feed:
    """One game, followed as long as somebody listens. ``lost`` says why there is nothing more to
    read, if so."""

    def __init__(self, hosted: HostedGame, croupier: Croupier, board: PresenceBoard) -> None:
        self.hosted = hosted
        self.lost: Literal["deleted", "frozen"] | None = None
        self.version = hosted.game.version
        self._croupier = croupier
        self._board = board
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._listening: set[Wake] = set()
        self._stale = False
        self._reading: asyncio.Task[None] | None = None
        self._snapshot: tuple[HostedGame, frozenset[int], bytes] | None = None

    @property
    def present(self) -> frozenset[int]:
        """The seats that are present."""
        return self._board.seats(self.hosted.game.id)

    def snapshot(self) -> bytes:
        """The game as JSON, rendered once for all who ask."""
        hosted, present = self.hosted, self.present
        known = self._snapshot
        if known is None or known[0] is not hosted or known[1] != present:
            body = views.as_json(views.game_json(hosted, present))
            known = self._snapshot = (hosted, present, body)
        return known[2]

    def kept(self, after: int) -> Sequence[bytes] | None:
        """The lines with a seq above ``after``, or None if not all of them are kept."""
        missing = self.version - after
        if missing > len(self._lines):
            return None
        return [self._lines[place] for place in range(-missing, 0)]

    async def read(self, after: int) -> Sequence[bytes]:
        """The first lines above ``after``, from the store: for one who comes back late. None at
        all if they can't be had; ``lost`` says whether that lasts."""
        limit = min(_READ_LINES, self.version - after)
        try:
            return await self._croupier.lines(self.hosted.game.id, after, limit)
        except GameNotFound:
            self.lost = "deleted"
        except GameFrozen:
            self.lost = "frozen"
        except Unavailable as error:
            _log.warning("a game could not be read: %s", error)
        return ()

    # -- who listens -----------------------------------------------------------------------------

    def join(self, wake: Wake) -> None:
        """Calls ``wake`` whenever there is something new."""
        self._listening.add(wake)

    def leave(self, wake: Wake) -> bool:
        """Whether anybody still listens."""
        self._listening.discard(wake)
        return bool(self._listening)

    def wake(self) -> None:
        """Everybody looks whether there is something new."""
        for wake in tuple(self._listening):
            wake()

    # -- following -------------------------------------------------------------------------------

    def rung(self) -> None:
        """The game may have changed: it is read, once however often this is called meanwhile."""
        self._stale = True
        if self._reading is None:
            self._reading = asyncio.create_task(self._follow())

    async def reach(self, version: int) -> None:
        """Waits until the lines up to ``version`` are read."""
        while self.version < version and self.lost is None and self._reading is not None:
            await asyncio.wait([self._reading])

    def close(self) -> None:
        """Reads no more."""
        if self._reading is not None:
            self._reading.cancel()

    @guarded_task
    async def _follow(self) -> None:
        try:
            while self._stale and self._listening:
                self._stale = False
                await self._look()
        finally:
            self._reading = None

    async def _look(self) -> None:
        game_id = self.hosted.game.id
        try:
            hosted = await self._croupier.read(game_id)
            more = hosted.game.version - self.version
            lines = await self._croupier.lines(game_id, self.version, more) if more > 0 else ()
        except GameNotFound:
            self.lost = "deleted"
        except GameFrozen:
            self.lost = "frozen"
        except Exception as error:  # whatever it is: those who listen wait for the next try
            end_if_out_of_memory(error)
            if not isinstance(error, Unavailable):
                _log.exception("a game could not be followed")
            self._stale = True
            await asyncio.sleep(_AGAIN_S)
            return
        else:
            self.lost = None
            self._keep(lines)
            self.version += len(lines)
            self.hosted = hosted
        self.wake()

    def _keep(self, lines: Sequence[bytes]) -> None:
        self._lines.extend(lines)
        self._size += sum(map(len, lines))
        while len(self._lines) > _KEPT_LINES or self._size > _KEPT_BYTES:
            self._size -= len(self._lines.popleft())


class Feeds:
    """The feeds of one process: one for each game that somebody listens to."""

    def __init__(self, croupier: Croupier, bell: Bell, board: PresenceBoard) -> None:
        self._croupier = croupier
        self._bell = bell
        self._board = board
        self._feeds: dict[str, Feed] = {}
        self._leaving: dict[str, Callable[[], None]] = {}
        board.follow(self._wake)

    async def join(self, game_id: str, wake: Wake) -> Feed:
        """The feed of a game, never older than any answer given before; ``leave`` it at last.

        Raises GameNotFound.
        """
        hosted = await self._croupier.read(game_id)
        feed = self._feeds.get(game_id)
        if feed is None:
            feed = self._feeds[game_id] = Feed(hosted, self._croupier, self._board)
            self._leaving[game_id] = self._bell.watch(game_id, feed.rung)
        feed.join(wake)
        feed.rung()  # what changed before anybody watched rang for nobody
        if feed.version < hosted.game.version:
            try:
                await feed.reach(hosted.game.version)
            except asyncio.CancelledError:
                self.leave(feed, wake)
                raise
        return feed

    def leave(self, feed: Feed, wake: Wake) -> None:
        """One listener less; a feed to which nobody listens is given up."""
        game_id = feed.hosted.game.id
        if not feed.leave(wake):
            feed.close()
            if self._feeds.get(game_id) is feed:
                del self._feeds[game_id]
                self._leaving.pop(game_id)()

    def _wake(self, game_id: str) -> None:
        feed = self._feeds.get(game_id)
        if feed is not None:
            feed.wake()
