"""A stream on its way out, and what all streams of a process share.

An answer without an end, in pure ASGI: between two entries a stream is a task that waits. It holds
no database connection, and of a game nothing but its place in the game's feed.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.api import views
from service.api.feed import Feed, Feeds
from service.api.framing import Form
from service.bell import Bell
from service.errors import Unavailable
from service.memory import guarded_task
from service.presence import PresenceBoard
from service.roles import seats_of
from service.store import HostedGame

_PING_S: Final = 10.0
_FULL_RETRY_S: Final = 5
_RETRY_MS: Final = 1_000
_SPREAD_MS: Final = 2_000
_ENDED_RETRY_MS: Final = 3_600_000


@guarded_task
async def until_gone(receive: Receive) -> None:
    """Waits until the client has gone; the request must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _stands(hosted: HostedGame, version: int) -> bool:
    """Whether who knows a game at ``version`` knows all of it: no version tells its rematch."""
    return hosted.game.version == version and hosted.series.next_game is None


class Live:
    """What the streams and long polls of one process share; at most ``limit`` are open."""

    def __init__(self, bell: Bell, feeds: Feeds, board: PresenceBoard, limit: int) -> None:
        self.bell = bell
        self.feeds = feeds
        self.board = board
        self.closing = False
        self._limit = limit
        self._open: dict[object, Callable[[], None]] = {}
        self._polls = 0

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._open) - self._polls

    @property
    def polls(self) -> int:
        """How many long polls wait."""
        return self._polls

    def enter(self, one: object, wake: Callable[[], None]) -> None:
        """One more is open, to be woken when the server closes; raises Unavailable if there are
        too many."""
        if self.closing:
            raise Unavailable("the server closes")
        if len(self._open) >= self._limit:
            raise Unavailable("too many streams are open", _FULL_RETRY_S)
        self._open[one] = wake

    def leave(self, one: object) -> None:
        """One less."""
        self._open.pop(one, None)

    async def changed(
        self,
        read: Callable[[], Awaitable[HostedGame]],
        hosted: HostedGame,
        wait_s: float,
        receive: Receive,
    ) -> HostedGame:
        """A game as soon as it has another version than in ``hosted``, or its rematch, or as it
        stands when ``wait_s`` are over, the client goes or the server closes: a long poll."""
        woken, seen = asyncio.Event(), hosted.game.version
        self.enter(woken, woken.set)
        self._polls += 1
        leave = self.bell.watch(hosted.game.id, woken.set)
        gone = asyncio.create_task(until_gone(receive))
        gone.add_done_callback(lambda _: woken.set())
        try:
            async with asyncio.timeout(wait_s):
                while _stands(hosted, seen) and not (self.closing or gone.done()):
                    woken.clear()
                    hosted = await read()
                    if _stands(hosted, seen):
                        await woken.wait()
        except TimeoutError:
            pass
        finally:
            gone.cancel()
            leave()
            self._polls -= 1
            self.leave(woken)
        return hosted

    def close(self) -> None:
        """The server closes: who is open is told, and nobody else is let in."""
        self.closing = True
        for wake in tuple(self._open.values()):
            wake()


@dataclass(slots=True, eq=False)
class Place:
    """Where a stream stands in one game. ``after`` is the last seq that it was told, null before
    the snapshot; ``caught_up`` says that it has once been told all there was. ``seats`` are those
    that its token shows to be there, null for a spectator."""

    feed: Feed
    token: str | None
    seats: frozenset[int] | None
    after: int | None
    present: frozenset[int] | None = None
    caught_up: bool = False
    ended: bool = False

    @property
    def game_id(self) -> str:
        return self.feed.hosted.game.id


class EventStream(Response):
    """A stream of one or several games; ``join`` them before it is answered with."""

    def __init__(self, live: Live, form: Form, token: str | None) -> None:
        self.status_code = 200
        self.media_type = form.media_type
        self.background = None
        # A proxy that collects an answer before it hands it on would never hand on this one.
        self.init_headers({"vary": "Accept", "x-accel-buffering": "no"})
        self._live = live
        self._form = form
        self._token = token
        self._places: list[Place] = []
        self._woken = asyncio.Event()
        self._gone = False
        self._ping_due = False

    async def join(self, resumed: Sequence[tuple[str, int | None]]) -> None:
        """Takes a place in each game, after a seq or, if that is null or no seq of its log, with
        a snapshot. Raises GameNotFound, and Unavailable if too many streams are open."""
        self._live.enter(self, self._woken.set)
        try:
            for game_id, after in resumed:
                feed = await self._live.feeds.join(game_id, self._woken.set)
                known = after if after is not None and after <= feed.version else None
                seats = seats_of(feed.hosted, self._token)
                self._places.append(Place(feed, self._token, seats, known))
                self._live.board.enter(game_id, seats or ())
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        self._live.leave(self)
        for place in self._places:
            self._live.feeds.leave(place.feed, self._woken.set)
            self._live.board.leave(place.game_id, place.seats or ())
        self._places.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tells everything until the games end, the client goes or the server closes."""
        self._timer = asyncio.get_running_loop().call_later(_PING_S, self._tick)
        watching = asyncio.create_task(self._until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for chunk in self._chunks():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._timer.cancel()
            watching.cancel()
            self._leave()

    def _tick(self) -> None:
        self._ping_due = True
        self._woken.set()
        self._timer = asyncio.get_running_loop().call_later(_PING_S, self._tick)

    async def _until_gone(self, receive: Receive) -> None:
        await until_gone(receive)
        self._gone = True
        self._woken.set()

    # -- what is told ----------------------------------------------------------------------------

    async def _chunks(self) -> AsyncIterator[bytes]:
        while not self._gone:
            self._woken.clear()
            for place in self._places:
                if not place.ended:
                    async for chunk in self._news(place):
                        yield chunk
            if all(place.ended for place in self._places):
                return
            if self._live.closing:
                retry_ms = _RETRY_MS + zlib.crc32(b"%d" % id(self)) % _SPREAD_MS
                yield self._form.event("server_closing", b"{}", retry_ms=retry_ms)
                return
            if self._ping_due:
                self._ping_due = False
                yield self._form.comment
            await self._woken.wait()

    async def _news(self, place: Place) -> AsyncIterator[bytes]:
        """What a place in a game has not been told yet."""
        feed = place.feed
        if place.after is None:
            place.after, place.present = feed.version, feed.present
            yield self._form.event("snapshot", feed.snapshot(), self._id(), _RETRY_MS)
        while place.after < feed.version:
            lines = feed.kept(place.after)
            if lines is None and not place.caught_up:
                lines = await feed.read(place.after)
            if not lines and feed.lost is not None:
                break
            if not lines:
                yield self._last(place, "resync")
                return
            yield b"".join(self._entry(place, line) for line in lines)
        place.caught_up = True
        stands = self._takes(place)
        if place.present != feed.present:
            place.present = feed.present
            yield self._event(place, "presence", present=sorted(place.present))
        if not stands:
            yield self._last(place, "token_void")
        elif (reason := _over(feed)) is not None:
            game = feed.hosted.game
            yield self._last(place, "end", status=game.status, reason=reason, version=game.version)

    def _takes(self, place: Place) -> bool:
        """Who is there as the seats are now; whether the token is still one of this game."""
        before, now = place.seats, seats_of(place.feed.hosted, self._token)
        if now != before:
            here, there = before or frozenset(), now or frozenset()
            place.seats = now
            self._live.board.enter(place.game_id, there - here)
            self._live.board.leave(place.game_id, here - there)
        return before is None or now is not None

    def _entry(self, place: Place, line: bytes) -> bytes:
        place.after = 0 if place.after is None else place.after + 1
        return self._form.event("entry", line, self._id())

    def _last(self, place: Place, name: str, **data: Any) -> bytes:
        """The last event of a game, where nobody is present by this stream from now on; with that
        of the last game a browser comes back no more."""
        place.ended = True
        self._live.board.leave(place.game_id, place.seats or ())
        place.seats = None
        over = name == "end" and all(each.ended for each in self._places)
        return self._event(place, name, _ENDED_RETRY_MS if over else None, **data)

    def _event(self, place: Place, name: str, retry_ms: int | None = None, **data: Any) -> bytes:
        body = views.as_json({"game": place.game_id, **data})
        return self._form.event(name, body, retry_ms=retry_ms)

    def _id(self) -> str:
        """What a reader resumes from: the last seq of each game, in the order asked for."""
        return ",".join("" if place.after is None else str(place.after) for place in self._places)


def _over(feed: Feed) -> str | None:
    """Why a game has ended, if it has."""
    hosted = feed.hosted
    if feed.lost is not None:
        return feed.lost
    if hosted.audit == "failed":
        return "frozen"
    outcome = hosted.game.outcome
    return hosted.game.reason if outcome is None else outcome.reason
