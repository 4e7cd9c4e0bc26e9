"""A COMMIT that nobody answers is settled by looking: nothing is lost, nothing made twice."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from service.errors import StaleVersion, Unavailable
from service.log import parse
from service.store import Answer, HostedGame, Retry, Store, tables
from service.store.batch import Batch
from service.store.cache import GameCache
from service.store.change import Job
from service.store.follower import Follower, Settled
from service.store.statements import statements
from tests.hosted import (
    AT,
    anybody,
    asked,
    created,
    one_batch,
    opened,
    retry,
    roll,
    run,
    seqs,
    stored,
    table,
)
from tests.wire import Cut, Wire

_PATIENCE_S = 20


@pytest.fixture
def wire(postgresql_url: str) -> Iterator[Wire]:
    wire = Wire(postgresql_url)
    yield wire
    wire.close()


@pytest.mark.parametrize("cut", ["before", "after", "answered"])
@pytest.mark.parametrize("keyed", [False, True], ids=["no_key", "key"])
def test_a_change_whose_commit_was_cut_off_is_made_once(wire: Wire, cut: Cut, keyed: bool):
    async def story():
        async with opened(wire.url) as store:
            made = await created(store)
            for version in range(4, 8):
                key = retry() if keyed else None
                wire.cut = cut
                answer = await store.change(made.id, anybody, made.roll(AT + version), key)
                assert parse(answer.body).seq == version
                assert await store.lines(made.id, version - 1) == [answer.body]
                if key is not None:
                    again = await store.change(made.id, anybody, made.roll(), key)
                    assert again == replace(answer, replayed=True)
            assert wire.cuts == 4

    run(story())


@pytest.mark.parametrize("cut", ["before", "after", "answered"])
def test_a_creation_whose_commit_was_cut_off_is_made_once(wire: Wire, cut: Cut):
    async def story():
        async with opened(wire.url) as store:
            for _ in range(4):
                made = table()
                wire.cut = cut
                answer = await store.change(made.id, anybody, made.create)
                assert (answer.status, answer.replayed) == (201, False)
                assert await stored(store, made.id) == replace(made.start.hosted, revision=1)

    run(story())


@pytest.mark.parametrize("cut", ["before", "after", "answered"])
def test_a_change_beside_the_log_whose_commit_was_cut_off_is_made_once(wire: Wire, cut: Cut):
    """A new token, say: there is no line to look for, and its owner must get the answer."""

    async def story():
        async with opened(wire.url) as store:
            made = await created(store)
            for revision in range(2, 5):
                wire.cut = cut
                decide = made.rename(f"Eva {revision}")
                assert (await store.change(made.id, anybody, decide)).body == b"renamed"
                hosted = await stored(store, made.id)
                assert hosted.revision == revision
                assert hosted.holders[0] is not None
                assert hosted.holders[0].name == f"Eva {revision}"

    run(story())


@pytest.mark.parametrize("cut", ["before", "after", "answered"])
def test_many_changes_whose_commit_was_cut_off_are_made_once(wire: Wire, cut: Cut):
    async def story():
        async with opened(wire.url) as store:
            made, other, new = await created(store), await created(store), table()
            async with one_batch(store):
                told = [asked(store, made, made.roll(AT + n)) for n in range(10)]
                told += [asked(store, other, other.roll(), retry())]
                told += [asked(store, new, new.create), asked(store, other, other.rename("Eva"))]
                await asyncio.sleep(0)
                wire.cut = cut
            answers = await asyncio.gather(*told)
            assert wire.cuts == 1
            assert await store.lines(made.id, 3) == [answer.body for answer in answers[:10]]
            assert (await stored(store, other.id)).revision == 3
            assert (await stored(store, new.id)).revision == 1

    run(story())


def test_a_game_that_moved_on_since_does_not_hide_a_commit_that_was_cut_off(wire: Wire):
    """Another server has written since: the line tells whose change stands."""

    async def story():
        async with opened(wire.url) as store:
            made = await created(store)
            with answers_lost(store, then=lambda: roll_elsewhere(wire.url, made)):
                answer = await roll(store, made, at=AT + 5)
            lines = await store.lines(made.id)
            assert len(lines) == 6
            assert lines[4] == answer.body

    run(story())


def test_the_same_action_of_another_request_is_not_taken_for_ones_own(postgresql_url):
    """Two keys, one line: the one whose COMMIT never came has not acted."""

    async def story():
        async with opened(postgresql_url) as store:
            made = await created(store)
            seen = made.start.hosted.game.version
            act = made.roll(version=seen)
            other = partial(roll_elsewhere, postgresql_url, made, retry())
            with commits_lost(store, then=other), pytest.raises(StaleVersion):
                await store.change(made.id, anybody, act, retry())
            assert await seqs(store, made.id) == list(range(seen + 2))

    run(story())


@pytest.mark.parametrize("keyed", [False, True], ids=["no_key", "key"])
def test_what_another_server_was_sent_too_is_no_witness_for_the_rest(postgresql_url, keyed):
    """One request went to both servers, in one millisecond, and the other one's change stands."""

    async def story():
        async with opened(postgresql_url) as store:
            twice, once = [await created(store) for _ in range(2)]
            key = retry() if keyed else None
            sent = (
                Job(twice.id, anybody, twice.roll(), key),
                Job(once.id, anybody, once.roll(), None),
            )
            lost = Batch(
                GameCache(2), sent, statements(store._engine.dialect), alone=False, lock=False
            )
            with store._engine.connect() as connection, connection.begin() as transaction:
                lost.run(connection)
                transaction.rollback()
            await asyncio.to_thread(roll_elsewhere, postgresql_url, twice, key)
            with store._engine.begin() as connection:
                assert lost.stands(connection) is False
            assert await seqs(store, once.id) == list(range(4))

    run(story())


def roll_elsewhere(url: str, made: Any, key: Retry | None = None) -> None:
    async def story() -> None:
        async with opened(url) as store:
            await store.change(made.id, anybody, made.roll(), key)

    thread = threading.Thread(target=lambda: asyncio.run(story()))
    thread.start()
    thread.join()


@contextmanager
def commits_lost(store: Store, then: Any) -> Iterator[None]:
    """The connection is lost before the store's next COMMIT reaches the database."""
    dialect: Any = store._engine.dialect
    commit = dialect.do_commit
    error = dialect.dbapi.OperationalError("server closed the connection unexpectedly")

    def lose(connection: Any) -> None:
        if threading.current_thread().name != "committer" or dialect.do_commit is commit:
            commit(connection)
            return
        dialect.do_commit = commit
        connection.close()
        then()
        raise error

    dialect.do_commit = lose
    yield
    dialect.do_commit = commit


@contextmanager
def answers_lost(store: Store, then: Any = lambda: None) -> Iterator[list[int]]:
    """The store's transactions commit, and the connection is lost before it hears so."""
    dialect: Any = store._engine.dialect
    commit, lost = dialect.do_commit, [0]
    error = dialect.dbapi.OperationalError("server closed the connection unexpectedly")

    def lose(connection: Any) -> None:
        commit(connection)
        if threading.current_thread().name == "committer" and not lost[0]:
            lost[0] += 1
            connection.close()
            then()
            raise error

    dialect.do_commit = lose
    yield lost
    dialect.do_commit = commit


@pytest.mark.parametrize("keyed", [False, True], ids=["no_key", "key"])
def test_a_commit_that_is_told_as_failed_is_looked_for(database_url, keyed):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry() if keyed else None
            with answers_lost(store) as lost:
                answer = await store.change(made.id, anybody, made.roll(), key)
            assert lost == [1]
            assert not answer.replayed
            assert await store.lines(made.id, 3) == [answer.body]
            assert (await roll(store, made)).status == 200

    run(story())


def test_a_commit_that_fails_leaves_no_transaction_open(database_url):
    """As when the disk fails: the next change must not find the lock still held."""

    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            dialect: Any = store._engine.dialect
            commit, failing = dialect.do_commit, [True]

            def fail(connection: Any) -> None:
                if threading.current_thread().name == "committer" and failing[0]:
                    failing[0] = False
                    raise dialect.dbapi.OperationalError("disk I/O error")
                commit(connection)

            dialect.do_commit = fail
            answer = await roll(store, made)
            assert not failing[0]
            assert await store.lines(made.id, 3) == [answer.body]

    run(story())


def test_when_nobody_can_tell_a_change_is_not_decided_again(database_url):
    """The caller is told to come back, what was made stands, and readers see it."""

    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()
            with answers_lost(store, then=lambda: tables_gone(store)):
                told = [asked(store, made, made.roll(AT + n), key) for n in range(2)]
                outcomes = await asyncio.gather(*told, return_exceptions=True)
                assert {type(one) for one in outcomes} == {Unavailable}
            assert (await stored(store, made.id)).game.version == 4
            again = await store.change(made.id, anybody, made.roll(), key)
            assert again.replayed
            assert await store.lines(made.id, 3) == [again.body]

    run(story())


def tables_gone(store: Store) -> None:
    """The next look at the games fails."""

    def fail(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "game" in statement:
            event.remove(store._engine, "before_cursor_execute", fail)
            raise SQLAlchemyError("injected")

    event.listen(store._engine, "before_cursor_execute", fail)


def test_a_transaction_is_whole(database_url):
    """A game, its lines, names, salt and kept answer: all of a change or nothing."""

    async def story():
        async with opened(database_url) as store:
            made, key = table(), retry()

            def fail(_connection: object, _cursor: object, statement: str, *_: object) -> None:
                if "INSERT INTO answer" in statement:
                    raise SQLAlchemyError("injected")

            event.listen(store._engine, "before_cursor_execute", fail)
            with pytest.raises(SQLAlchemyError):
                await store.change(made.id, anybody, made.create, key)
            event.remove(store._engine, "before_cursor_execute", fail)
            with store._engine.begin() as connection:
                for one in (tables.entry, tables.holder, tables.root_salt):
                    query = one.select().where(one.c.game_id == made.id)
                    assert connection.execute(query).all() == []
            assert await store.game(made.id) is None
            first = await store.change(made.id, anybody, made.create, key)
            assert isinstance(first, Answer)
            assert not first.replayed

    run(story())


# --- what follows a commit ------------------------------------------------------------------------


def test_the_next_transaction_goes_on_while_what_follows_the_last_one_waits(database_url):
    async def story():
        told, go_on = threading.Event(), threading.Event()

        def committed(_: Sequence[HostedGame]) -> None:
            told.set()
            go_on.wait(_PATIENCE_S)

        async with opened(database_url, committed=committed) as store:
            first, second = table(), table()
            async with one_batch(store):
                answers = [asked(store, first, first.create), asked(store, first, first.roll())]
            assert await asyncio.to_thread(told.wait, _PATIENCE_S)
            answers.append(asked(store, second, second.create))
            async with asyncio.timeout(_PATIENCE_S):
                while not await store.revisions([second.id]):  # noqa: ASYNC110
                    await asyncio.sleep(0)
            assert not any(answer.done() for answer in answers)
            go_on.set()
            assert [answer.status for answer in await asyncio.gather(*answers)] == [201, 200, 201]

    run(story())


def test_where_what_follows_is_stuck_the_committer_waits():
    go_on = threading.Event()
    told: list[HostedGame] = []

    def committed(moved: Sequence[HostedGame]) -> None:
        assert go_on.wait(_PATIENCE_S)
        told.extend(moved)

    moved = [table().start.hosted for _ in range(3)]
    follower = Follower(committed)
    first, second, third = (Settled((), (), (one,)) for one in moved)
    follower.follow(first)
    follower.follow(second)
    waiting = threading.Thread(target=follower.follow, args=(third,))
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    go_on.set()
    waiting.join()
    follower.close()
    assert told == moved


def test_a_hand_over_that_fails_leaves_nobody_waiting() -> None:
    class Gone:
        def get_loop(self) -> None:
            raise RuntimeError("no loop")

    follower = Follower(lambda _: None)
    settled = Settled([(None, Gone())], [Answer(200, (), b"")], ())  # type: ignore[list-item]
    follower.follow_here(settled)  # in the committer, which nobody would replace
    for _ in range(4):  # more than there is room for
        follower.follow(settled)
    follower.close()
    assert follower.idle
