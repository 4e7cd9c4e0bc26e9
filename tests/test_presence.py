"""Who is present, as the processes tell each other: nobody is forgotten between two exchanges.

The other processes are played here, as the board's port knows them; or they are real ones.
"""

import asyncio
from collections import deque

from sqlalchemy import text

from service.bell import Bell
from service.errors import Unavailable
from service.presence import PresenceBoard
from service.store.engine import open_engine
from tests.hosted import opened, run


class Played:
    """The other processes: each telling waits until the test answers it with whether it fails."""

    def __init__(self, known=True):
        self.known = known
        self.renewed = asyncio.Event()
        self._told: asyncio.Queue[dict[str, set[int]]] = asyncio.Queue()
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def tell(self, seats):
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._told.put_nowait({game_id: set(here) for game_id, here in seats.items()})
        await answer

    async def go_on(self):
        self.renewed.set()
        return self.known

    async def others(self):
        return []

    async def told(self):
        """What is told next."""
        return await asyncio.wait_for(self._told.get(), 10)

    def answer(self, failure=None):
        answer = self._waiting.popleft()
        if failure is None:
            answer.set_result(None)
        else:
            answer.set_exception(failure)


def test_who_comes_while_the_others_are_told_is_told_as_well():
    async def story():
        peers = Played()
        board = PresenceBoard(Bell(), peers)
        board.enter("a", {0})
        assert await peers.told() == {"a": {0}}
        board.enter("a", {1})
        peers.answer()
        assert await peers.told() == {"a": {0, 1}}
        await board.close()

    run(story())


def test_what_could_not_be_told_is_told_again():
    async def story():
        peers = Played()
        board = PresenceBoard(Bell(), peers)
        board.enter("a", {0})
        await peers.told()
        peers.answer(Unavailable("cut"))
        assert await peers.told() == {"a": {0}}
        await board.close()

    run(story())


def test_what_the_others_have_forgotten_is_told_again():
    async def story():
        peers = Played(known=False)
        board = PresenceBoard(Bell(), peers)
        assert await peers.told() == {}, "whoever has just started is not known yet"
        peers.answer()
        board.enter("a", {0})
        assert await peers.told() == {"a": {0}}
        peers.answer()
        assert await peers.told() == {"a": {0}}
        assert peers.renewed.is_set()
        await board.close()

    run(story())


def test_a_lease_that_was_deleted_can_not_go_on(postgresql_url):
    async def story():
        async with opened(postgresql_url) as store:
            mine, other = store.peers(), store.peers()
            assert not await mine.go_on()
            await mine.tell({"a": {0}})
            assert await mine.go_on()
            assert {"a": [0]} in await other.others()
            engine = open_engine(postgresql_url)
            with engine.begin() as connection:
                connection.execute(text("DELETE FROM presence"))
            engine.dispose()
            assert not await mine.go_on()
            assert {"a": [0]} not in await other.others()

    run(story())


def test_telling_the_others_does_not_wake_who_tells():
    async def story():
        peers = Played()
        board = PresenceBoard(Bell(Silent()), peers)
        board.enter("a", {0})
        await peers.told()
        answered = asyncio.get_running_loop().time()
        peers.answer()
        await peers.renewed.wait()
        assert asyncio.get_running_loop().time() - answered > 1, "only to keep the lease"
        await board.close()

    run(story())


class Silent:
    """A wire to nobody."""

    async def send(self, game_ids):
        pass

    async def rings(self):
        await asyncio.Event().wait()
        yield ()

    async def close(self):
        pass
