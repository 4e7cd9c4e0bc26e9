"""Who is there: the seats whose players have a stream open, at this process or at another one."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol, TypeAlias

from service.bell import Bell
from service.errors import Unavailable
from service.memory import guarded_task
from service.tasks import end

RING: Final = "presence"
"""What the bell is rung for when somebody has come or gone; no game has this id."""
_NOBODY: Final[frozenset[int]] = frozenset()
_GRACE_S: Final = 2.0
_LEASE_S: Final = 2.0
_PAUSE_S: Final = 0.05
_log = logging.getLogger(__name__)

Seats: TypeAlias = Mapping[str, Collection[int]]


class Peers(Protocol):
    """The other processes that serve the same games; each method may raise Unavailable."""

    async def tell(self, seats: Seats) -> None:
        """The seats that are present here, by game."""

    async def go_on(self) -> bool:
        """What was told last still holds, for some seconds more; whether it is still known."""

    async def others(self) -> Collection[Seats]:
        """The seats that are present at each of the others, by game."""


class PresenceBoard:
    """The seats that are present at each game. Who closes the last stream of a seat is absent
    after a grace of two seconds, so that a page that is loaded anew does not flicker.

    Whatever changes is told to ``peers`` by one task, a few times a second at most, however many
    streams come and go.
    """

    def __init__(self, bell: Bell, peers: Peers | None = None) -> None:
        self._bell = bell
        self._followers: list[Callable[[str], None]] = []
        self._streams: dict[str, Counter[int]] = {}
        self._here: dict[str, frozenset[int]] = {}
        self._elsewhere: dict[str, frozenset[int]] = {}
        self._present: dict[str, frozenset[int]] = {}
        self._untold = False
        self._woken = asyncio.Event()
        self._task = None if peers is None else asyncio.create_task(self._run(peers))

    def seats(self, game_id: str) -> frozenset[int]:
        """The seats that are present at a game; may be asked from any thread."""
        return self._present.get(game_id, _NOBODY)

    def follow(self, changed: Callable[[str], None]) -> None:
        """Calls ``changed`` with the id of a game whose seats have changed."""
        self._followers.append(changed)

    def enter(self, game_id: str, seats: Collection[int]) -> None:
        """A stream of these seats has opened."""
        if seats:
            self._count(game_id, seats, 1)

    def leave(self, game_id: str, seats: Collection[int]) -> None:
        """A stream of these seats has closed."""
        if seats:
            loop = asyncio.get_running_loop()
            loop.call_later(_GRACE_S, self._count, game_id, seats, -1)

    async def close(self) -> None:
        """Tells others no more. What was told last holds a while longer: the players of a server
        that closes come back at another one."""
        if self._task is not None:
            await end([self._task])

    def _count(self, game_id: str, seats: Collection[int], by: int) -> None:
        streams = self._streams.setdefault(game_id, Counter())
        for seat in seats:
            streams[seat] += by
        here = frozenset(seat for seat, opened in streams.items() if opened)
        if not here:
            del self._streams[game_id]
        if _put(self._here, game_id, here):
            self._untold = True
            self._woken.set()
            self._show(game_id)

    def _show(self, game_id: str) -> None:
        here = self._here.get(game_id, _NOBODY)
        if _put(self._present, game_id, here | self._elsewhere.get(game_id, _NOBODY)):
            for changed in self._followers:
                changed(game_id)

    # -- other processes -------------------------------------------------------------------------

    @guarded_task
    async def _run(self, peers: Peers) -> None:
        leave = self._bell.watch(RING, self._woken.set)
        try:
            while True:
                try:
                    await self._exchange(peers)
                except Unavailable as error:
                    _log.warning("who is present elsewhere can't be told now: %s", error)
                await asyncio.sleep(_PAUSE_S)
                with contextlib.suppress(TimeoutError):  # the lease has to be kept
                    async with asyncio.timeout(_LEASE_S):
                        await self._woken.wait()
        finally:
            leave()

    async def _exchange(self, peers: Peers) -> None:
        self._woken.clear()
        if not self._untold and not await peers.go_on():
            self._untold = True
        if self._untold:
            await self._tell(peers)
        found: dict[str, frozenset[int]] = {}
        for seats in await peers.others():
            for game_id, present in seats.items():
                found[game_id] = found.get(game_id, _NOBODY) | frozenset(present)
        before, self._elsewhere = self._elsewhere, found
        for game_id in before.keys() | found.keys():
            self._show(game_id)

    async def _tell(self, peers: Peers) -> None:
        self._untold = False  # who comes or goes from now on has yet to be told
        try:
            await peers.tell(self._here)
        except BaseException:
            self._untold = True
            raise
        self._bell.ring_others([RING])


def _put(seats: dict[str, frozenset[int]], game_id: str, here: frozenset[int]) -> bool:
    """Whether this is another set of seats than before."""
    if here == seats.get(game_id, _NOBODY):
        return False
    if here:
        seats[game_id] = here
    else:
        del seats[game_id]
    return True
