"""Two servers over one PostgreSQL: whatever they race for, there is one effect."""

import asyncio
import threading
from dataclasses import replace
from random import Random
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from service.errors import RematchExists, StaleVersion
from service.log import parse
from service.store import DAY_MS, Answer, Change, Holder, HostedGame, Series, Store, Write
from service.store.change import Decide
from tests.hosted import (
    AT,
    Table,
    anybody,
    asked,
    created,
    one_batch,
    opened,
    retry,
    roll,
    run,
    seqs,
    table,
)

WAITING = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def test_one_of_two_servers_wins_a_version(postgresql_url):
    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            for seen in range(3, 23):
                racing = [
                    asked(store, made, made.roll(AT + n, seen))
                    for n, store in enumerate((one, two))
                ]
                told = await asyncio.gather(*racing, return_exceptions=True)
                assert sorted(type(answer).__name__ for answer in told) == [
                    "Answer",
                    "StaleVersion",
                ]
            assert await seqs(two, made.id) == list(range(24))

    run(story())


def test_changes_of_two_servers_follow_one_another_without_gap(postgresql_url):
    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            rolls = [asked((one, two)[n % 2], made, made.roll(AT + n)) for n in range(60)]
            answers = await asyncio.gather(*rolls)
            lines = await one.lines(made.id)
            assert [parse(line).seq for line in lines] == list(range(64))
            assert sorted(answer.body for answer in answers) == sorted(lines[4:])

    run(story())


def test_a_key_sent_to_two_servers_has_one_effect(postgresql_url):
    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            for version in range(4, 24):
                key = retry()
                both = [asked(store, made, made.roll(AT), key) for store in (one, two)]
                first, second = await asyncio.gather(*both)
                assert first.body == second.body
                assert {first.replayed, second.replayed} == {False, True}
                assert await seqs(one, made.id) == list(range(version + 1))

    run(story())


def test_a_key_that_creates_on_two_servers_creates_one_game(postgresql_url):
    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            for _ in range(20):
                tables, key = (table(), table()), retry()
                both = [
                    asked(store, made, made.create, key)
                    for store, made in zip((one, two), tables, strict=True)
                ]
                first, second = await asyncio.gather(*both)
                assert first.body == second.body
                found = [await one.game(made.id) for made in tables]
                (stored,) = [hosted.game.id for hosted in found if hosted is not None]
                assert stored.encode() == first.body

    run(story())


def test_a_creation_waits_for_another_one_with_its_key(postgresql_url):
    """Neither game has a row to lock: the key's own row decides, when the first has committed."""

    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            key, slow, late = retry(), table(), table()
            held = hold_next_commit(one, postgresql_url)
            first = asked(one, slow, slow.create, key)
            assert await asyncio.to_thread(held.wait, 30)
            told = await asyncio.gather(first, asked(two, late, late.create, key))
            assert [(answer.replayed, answer.body) for answer in told] == [
                (False, slow.id.encode()),
                (True, slow.id.encode()),
            ]
            assert await two.game(late.id) is None

    run(story())


def hold_next_commit(store: Store, url: str) -> threading.Event:
    """The store's next transaction is committed when another session waits for it; the event
    tells that it is held."""
    held = threading.Event()

    def hold(_: Connection) -> None:
        held.set()
        with psycopg.connect(url, autocommit=True) as connection:
            for _attempt in range(3000):
                if connection.execute(WAITING).fetchone() != (0,):
                    return
                threading.Event().wait(0.01)

    event.listen(store._engine, "commit", hold, once=True)
    return held


def test_a_server_never_decides_from_what_another_has_left_behind(postgresql_url):
    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            assert await two.game(made.id) == await one.game(made.id)
            for version in range(4, 14):
                mover, other = (one, two) if version % 2 else (two, one)
                await roll(mover, made, version=version - 1)
                seen = await other.game(made.id)
                assert seen is not None
                assert seen.game.version == version
            with pytest.raises(StaleVersion):
                await roll(one, made, version=12)

    run(story())


def test_a_game_that_another_server_has_moved_takes_no_other_one_along(postgresql_url):
    """One batch: a game that has moved under our hands, one that is as we know it, one that is new,
    and one whose row changes in more columns than the others'."""

    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            moved, still, later = await created(one), await created(one), await created(one)
            await roll(two, moved, at=AT + 7)
            new = table()
            async with one_batch(one):
                told = [
                    asked(one, moved, moved.roll(AT + 8)),
                    asked(one, still, still.roll(AT + 9)),
                    asked(one, new, new.create),
                    asked(one, new, new.roll(AT + 10)),
                    asked(one, later, later.roll(AT + DAY_MS)),
                ]
            bodies = [(await answer).body for answer in told]
            assert [parse(bodies[place]).seq for place in (0, 1, 3, 4)] == [5, 4, 4, 4]
            for made, body in zip((moved, still, new, later), bodies[:2] + bodies[3:], strict=True):
                assert (await two.lines(made.id))[-1] == body
                assert await seqs(two, made.id) == list(range(parse(body).seq + 1))
            found = await two.game(later.id)
            assert found is not None
            assert found.game.at == AT + DAY_MS

    run(story())


def test_a_server_sees_what_another_has_changed_beside_the_log(postgresql_url):
    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            await two.game(made.id)
            await one.change(made.id, anybody, made.rename("Eva"))
            await roll(two, made)
            seen = await one.game(made.id)
            assert seen is not None
            assert (seen.game.version, seen.revision) == (4, 3)
            assert seen.holders[0] is not None
            assert seen.holders[0].name == "Eva"

    run(story())


def test_a_game_is_read_as_it_was_at_one_moment(postgresql_url):
    """Log, snapshot and names lie in different tables; no reader sees one ahead of another."""

    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one, names=("3", "Ben"))

            def roll_and_rename(found: HostedGame | None) -> Change:
                (write,) = made.roll()(found).writes
                name = str(write.hosted.game.version)
                renamed = (Holder(name, bytes(32), None), *write.hosted.holders[1:])
                hosted = replace(write.hosted, holders=renamed)
                return Change((Write(hosted, write.lines),), Answer(200, (), b""))

            async def move() -> None:
                for _ in range(150):
                    await one.change(made.id, anybody, roll_and_rename)

            moving = asyncio.ensure_future(move())
            read = 0
            while not moving.done():
                seen = await two.game(made.id)
                assert seen is not None
                assert seen.holders[0] is not None
                assert seen.holders[0].name == str(seen.game.version)
                read += 1
            await moving
            assert read > 20

    run(story())


def test_two_servers_that_change_the_same_games_do_not_block_each_other(postgresql_url):
    """Each transaction takes many games, asked for in any order, and keys in any order."""

    async def story():
        shuffled = Random(20_261_130)
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            games = [await created(one) for _ in range(12)]
            for _ in range(10):
                keyed = [(made, retry()) for made in games]
                told = []
                for store in (one, two):
                    shuffled.shuffle(keyed)
                    told += [asked(store, made, made.roll(), key) for made, key in keyed]
                answers = await asyncio.gather(*told)
                assert sum(answer.replayed for answer in answers) == len(games)
            for made in games:
                assert await seqs(two, made.id) == list(range(14))

    run(story())


def rematch(following: Table) -> Decide:
    """The next game of the series, unless there is one."""

    def decide(found: HostedGame | None) -> Change:
        assert found is not None
        if found.series.next_game is not None:
            raise RematchExists(game=found.series.next_game)
        old = replace(found, series=replace(found.series, next_game=following.id))
        new = replace(following.start.hosted, series=Series(found.series.id, 2, (0, 0)))
        writes = Write(old, ()), Write(new, following.start.lines)
        return Change(writes, Answer(201, (), following.id.encode()))

    return decide


@pytest.mark.parametrize("locking", [0, 64], ids=["both_look_last", "one_locks_first"])
def test_of_two_servers_that_open_a_rematch_one_is_told_of_the_other(postgresql_url, locking):
    """At once, although the rematch itself has no row yet that could be locked."""

    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            for _ in range(10):
                made = await created(one)
                await two.game(made.id)
                one._committer._locking = locking
                racing = [asked(store, made, rematch(table())) for store in (one, two)]
                told = await asyncio.gather(*racing, return_exceptions=True)
                assert sorted(type(answer).__name__ for answer in told) == [
                    "Answer",
                    "RematchExists",
                ]

    run(story())


def without_row_locks(store: Store) -> None:
    """As on a database that takes no notice of them."""

    def strip(_c: object, _cursor: object, statement: str, parameters: object, *_: object) -> Any:
        return statement.replace(" FOR UPDATE", ""), parameters

    event.listen(store._engine, "before_cursor_execute", strip, retval=True)


@pytest.mark.parametrize("locked", [True, False], ids=["locks", "no_locks"])
def test_a_change_beside_the_log_is_not_lost_between_two_servers(postgresql_url, locked):
    """No line and no key tells two of them apart: the revision must."""

    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            if not locked:
                without_row_locks(one)
                without_row_locks(two)
            for number in range(20):
                both = [asked(store, made, made.rename(f"{number}")) for store in (one, two)]
                await asyncio.gather(*both)
            seen = await two.game(made.id)
            assert seen is not None
            assert seen.revision == 1 + 40

    run(story())


def test_a_refusal_is_never_by_a_game_that_another_server_has_moved(postgresql_url):
    """What a server knows of a game may be old; it does not refuse by that."""

    def refuse(found: HostedGame | None) -> Change:
        assert found is not None
        raise StaleVersion(version=found.game.version)

    async def story():
        async with opened(postgresql_url) as one, opened(postgresql_url) as two:
            made = await created(one)
            for version in range(4, 24):
                await asked(two, made, made.roll(AT))
                with pytest.raises(StaleVersion) as refused:
                    await one.change(made.id, anybody, refuse)
                assert refused.value.extras["version"] == version

    run(story())


def test_what_was_refused_and_what_was_changed_are_locked_in_one_order(postgresql_url):
    """Locked one after the other, two servers could wait for each other in a circle."""

    def refuse(_: HostedGame | None) -> Change:
        raise StaleVersion(version=0)

    def note(_c: object, _cursor: object, statement: str, given: Any, *_: object) -> None:
        if statement.startswith("SELECT") and "FOR UPDATE" in statement:
            locked.append({one for one in given.values() if isinstance(one, str)})

    locked: list[set[str]] = []

    async def story():
        async with opened(postgresql_url) as store:
            changed, refused = await created(store), await created(store)
            event.listen(store._engine, "before_cursor_execute", note)
            async with one_batch(store):
                told = [
                    asked(store, changed, changed.roll(AT)),
                    asyncio.ensure_future(store.change(refused.id, anybody, refuse)),
                ]
            await asyncio.gather(*told, return_exceptions=True)
            assert {changed.id, refused.id} in locked

    run(story())


# --- failures that pass when tried again --------------------------------------------------------


class Failing:
    """The first statements of a store that match fail as a database would fail them."""

    def __init__(self, store: Store, sqlstate: str, statement: str, times: int) -> None:
        self._left = times
        self._error = type("Fault", (Exception,), {"sqlstate": sqlstate})("injected")
        self._statement = statement
        event.listen(store._engine, "before_cursor_execute", self._fail)

    def _fail(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        if self._left and self._statement in statement:
            self._left -= 1
            raise OperationalError(statement, None, self._error)


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
@pytest.mark.parametrize("statement", ["SELECT game", "UPDATE game", "INSERT INTO entry"])
def test_a_transaction_that_lost_a_race_is_tried_again(database_url, sqlstate, statement):
    async def story():
        async with opened(database_url) as store:
            made, other = await created(store), await created(store)
            store._cache.drop([made.id, other.id])
            failing = Failing(store, sqlstate, statement, times=2)
            async with one_batch(store):
                told = [asked(store, one, one.roll()) for one in (made, made, other)]
            assert [parse((await one).body).seq for one in told] == [4, 5, 4]
            assert failing._left == 0

    run(story())
