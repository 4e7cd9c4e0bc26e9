"""Transactions that fail at any moment, by a seed: everything is made once, with the dice that it
was due, and no session is left open."""

import asyncio
import os
import time
from random import Random
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from service.api import views
from service.croupier import Croupier
from service.dice import D6, KeyChain, faces
from service.errors import Unavailable
from service.keys import ServerKey, SigningKeys
from service.log import parse
from service.requests import Caller, NewGame
from service.store import Answer, Store
from tests.hosted import AT, anybody, asked, created, opened, retry, run, seqs, stored
from tests.played import action

SEED = 20_261_130
ROLLS = 60
ABORTS = 60
RACES = ("40001", "40P01", "57P01")
BUSY = type("Busy", (Exception,), {})("database is locked")
IO = type("Io", (Exception,), {})("disk I/O error")


class Faults:
    """Lets one in so many transactions of a store fail, at a statement or at the COMMIT."""

    def __init__(self, store: Store, random: Random, share: float) -> None:
        self._random = random
        self._share = share
        self._postgresql = store._engine.dialect.name == "postgresql"
        self._due = 0
        self.made = 0
        event.listen(store._engine, "begin", self._begin)
        event.listen(store._engine, "before_cursor_execute", self._execute)
        event.listen(store._engine, "commit", self._commit)

    def _begin(self, _: object) -> None:
        fails = self._random.random() < self._share
        # Which statement: the last of them, and those beyond, stand for the COMMIT.
        self._due = self._random.randint(1, 6) if fails else 0

    def _execute(self, *_: object) -> None:
        if self._due == 1:
            self._fail()
        self._due -= 1

    def _commit(self, _: object) -> None:
        if self._due > 0:
            self._fail()

    def _fail(self) -> None:
        self._due, self.made = 0, self.made + 1
        error: Exception = self._random.choice((BUSY, IO))
        if self._postgresql:
            state = self._random.choice(RACES)
            error = type("Fault", (Exception,), {"sqlstate": state})("injected")
        raise OperationalError("injected", None, error)


def test_when_one_in_ten_transactions_fails_everything_is_made_once(database_url):
    async def story():
        async with opened(database_url) as store:
            games = [await created(store) for _ in range(4)]
            faults = Faults(store, Random(SEED), 0.1)
            acked: dict[str, list[bytes]] = {made.id: [] for made in games}

            async def play(made: Any) -> None:
                for number in range(40):
                    key = retry()
                    for _ in range(50):
                        try:
                            decide = made.roll(AT + number)
                            answer = await store.change(made.id, anybody, decide, key)
                        except Unavailable:
                            continue
                        acked[made.id].append(answer.body)
                        break
                    # No two of one game in one batch: more transactions to fail.
                    assert len(acked[made.id]) == number + 1

            await asyncio.gather(*map(play, games))
            assert faults.made >= 5, f"seed {SEED}"
            faults._share = 0
            for made in games:
                assert await store.lines(made.id, 3) == acked[made.id], f"seed {SEED}"
                assert await seqs(store, made.id) == list(range(44))
                assert (await stored(store, made.id)).game.version == 43

    run(story())


def test_transactions_that_are_rolled_back_again_and_again_change_no_die(database_url):
    """The dice of a throw are decided before it: whoever could make it fail gains nothing."""
    server_key, root_of = ServerKey(bytes(range(32))), {}

    async def story():
        async with opened(database_url) as store:
            croupier = Croupier(
                store, server_key, SigningKeys(os.urandom(32)), lambda: AT, os.urandom
            )
            game_id, tokens = await table(croupier)
            hosted = await stored(store, game_id)
            root_of[game_id] = server_key.root(game_id, hosted.salt)
            chain = KeyChain(root_of[game_id], hosted.game.setup.throws_max)
            left, rolled_back = 0, 0

            def fail(_: object) -> None:
                nonlocal left, rolled_back
                if left:
                    left, rolled_back = left - 1, rolled_back + 1
                    error = type("Fault", (Exception,), {"sqlstate": "40001"})("injected")
                    raise OperationalError("COMMIT", None, error)

            event.listen(store._engine, "commit", fail)
            context = hosted.game.context
            assert context is not None
            for number in range(1, ROLLS + 1):
                game = (await stored(store, game_id)).game
                left = 4
                answer = await croupier.act(
                    game_id, None, action("roll"), Caller(tokens[game.to_act()[0]]), views.changed
                )
                (throw,) = await thrown(store, game_id, answer)
                due = faces(chain.key(number), context, number, [D6])
                assert (throw["throw"], throw["faces"]) == (number, list(due))
            assert rolled_back == 4 * ROLLS

    run(story())


async def table(croupier: Croupier) -> tuple[str, list[str]]:
    """A game of pig in mode operator whose target nobody reaches; its id and its tokens."""
    told: dict[str, Any] = {}

    def render(done: Any) -> Answer:
        told.update(id=done.hosted.game.id, tokens=done.seat_tokens)
        return views.created(done)

    options = {"target": 10_000, "starter": "seat", "auto_hold": False}
    await croupier.create(NewGame("pig", options, ("Ana", "Ben")), Caller(), render)
    return told["id"], [told["tokens"][seat] for seat in (0, 1)]


async def thrown(store: Store, game_id: str, answer: Answer) -> list[dict[str, Any]]:
    """The throws of the newest entry, which the answer tells."""
    line = (await store.lines(game_id))[-1]
    assert line in answer.body
    throws: list[dict[str, Any]] = parse(line).data["throws"]
    return throws


def test_clients_that_go_away_at_any_moment_leave_no_connection_behind(database_url):
    """All or nothing for each, and the key tells which."""

    async def story():
        async with opened(database_url) as store:
            random = Random(SEED)
            made = await created(store)
            for number in range(ABORTS):
                key = retry()
                going = asked(store, made, made.roll(AT + number), key)
                reading = asyncio.ensure_future(store.lines(made.id))
                await asyncio.sleep(random.random() * 0.004)
                going.cancel()
                reading.cancel()
                await asyncio.gather(going, reading, return_exceptions=True)
                before = len(await store.lines(made.id, 3))
                again = await store.change(made.id, anybody, made.roll(AT + number), key)
                # Whether it was made meanwhile or only now: once.
                assert len(await store.lines(made.id, 3)) == number + 1 >= before, f"seed {SEED}"
                assert (await store.lines(made.id))[-1] == again.body
            await settled(store)
            if store._engine.dialect.name == "postgresql":
                with psycopg.connect(database_url) as other:
                    query = (
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                        "current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in%'"
                    )
                    assert other.execute(query).fetchone() == (0,)

    run(story())


async def settled(store: Store) -> None:
    """No connection is in use but the committer's own, as soon as what was begun has ended."""
    deadline = time.monotonic() + 10
    pools: set[Any] = {store._engine.pool, store._reader.pool}
    while sum(pool.checkedout() for pool in pools) > 1:
        assert time.monotonic() < deadline
        await roll_over()


async def roll_over() -> None:
    await asyncio.sleep(0.01)
