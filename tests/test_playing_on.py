"""Bots that play on without a request: whoever says that one is due is heard."""

import asyncio

from service.playing_on import PlayingOn
from tests.hosted import run


def test_a_bot_that_falls_due_as_the_last_round_ends_plays_on_all_the_same():
    async def story():
        played, twice = [], asyncio.Event()

        async def play_on(game_id):
            played.append(game_id)
            if len(played) == 1:
                asyncio.get_running_loop().call_soon(bots.soon, game_id)
            else:
                twice.set()
            return False

        bots = PlayingOn(play_on)
        bots.soon("a")
        await asyncio.wait_for(twice.wait(), 5)
        await bots.close()

    run(story())
