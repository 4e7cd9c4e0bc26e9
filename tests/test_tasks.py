"""Tasks that are ended have ended, whatever becomes of a cancellation."""

import asyncio
import contextlib

import pytest

from service.bell import Bell
from service.presence import PresenceBoard
from service.tasks import end
from tests.hosted import run

PATIENCE_S = 10


class Alone:
    """Nobody else serves the games."""

    async def tell(self, seats):
        pass

    async def go_on(self):
        return True

    async def others(self):
        return []


def test_who_takes_a_cancellation_for_something_else_is_ended_as_well():
    lost = 0

    async def deaf():
        nonlocal lost
        for _ in range(2):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            lost += 1
        await asyncio.Event().wait()

    async def failing():
        raise ValueError

    async def story():
        tasks = [asyncio.create_task(one) for one in (deaf(), failing())]
        await asyncio.sleep(0)
        await asyncio.wait_for(end(tasks), PATIENCE_S)
        assert all(task.done() for task in tasks)

    run(story())
    assert lost == 2


@pytest.mark.parametrize("rounds", range(4))
def test_a_board_that_is_woken_as_it_closes_has_closed(rounds):
    """What wakes it comes some rounds of the loop before the cancellation."""

    async def story():
        board = PresenceBoard(Bell(), Alone())
        await asyncio.sleep(0.2)  # it waits
        board._woken.set()
        for _ in range(rounds):
            await asyncio.sleep(0)
        task = board._task
        await asyncio.wait_for(board.close(), PATIENCE_S)
        assert task is not None
        assert task.done()

    run(story())
