"""Games for tests of the store: made and moved without croupier or HTTP."""

import asyncio
import itertools
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import Select, text

from service import rules, steps
from service.dice import KeyChain
from service.errors import StaleVersion
from service.game import Player
from service.keys import new_game_id
from service.log import parse
from service.rules.base import Roll
from service.store import (
    Answer,
    Change,
    Holder,
    HostedGame,
    Retry,
    Series,
    Store,
    Write,
    upgrade,
)
from service.store.change import Check, Decide
from service.store.engine import open_engine

AT = 1_767_225_600_123
FINGERPRINT = bytes(range(32))
ROLL = Roll(kind="roll")
T = TypeVar("T")
_numbers = itertools.count()


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Runs a test's story; a store that hangs fails it."""
    return asyncio.run(asyncio.wait_for(scenario, 60))


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Store]:
    store = Store.open(url, FINGERPRINT, **options)
    try:
        yield store
    finally:
        await store.close()


@dataclass(frozen=True)
class Table:
    """A game with its keys, and the changes that a test asks of it."""

    start: Write
    chain: KeyChain

    @property
    def id(self) -> str:
        return self.start.hosted.game.id

    def create(self, _: HostedGame | None = None) -> Change:
        return Change((self.start,), Answer(201, (("etag", '"3"'),), self.id.encode()))

    def roll(self, at: int = AT, version: int | None = None) -> Decide:
        """One roll of whoever is to act; the answer's body is the new line."""

        def decide(found: HostedGame | None) -> Change:
            assert found is not None
            if version not in (None, found.game.version):
                raise StaleVersion(version=found.game.version)
            step = steps.act(found.game, found.game.to_act()[0], ROLL, self.chain, at)
            write = Write(replace(found, game=step.game), step.lines)
            return Change((write,), Answer(200, (), step.lines[0]))

        return decide

    def rename(self, name: str | None) -> Decide:
        """Another name beside the log, which does not move."""

        def decide(found: HostedGame | None) -> Change:
            assert found is not None
            first = Holder(name, os.urandom(32), os.urandom(32))
            holders = (first, *found.holders[1:])
            write = Write(replace(found, holders=holders), ())
            return Change((write,), Answer(200, (), b"renamed"))

        return decide


def anybody(_: HostedGame | None) -> None:
    """The check that lets everybody pass."""


def retry(fingerprint: bytes = bytes(32)) -> Retry:
    """A key that nobody has used."""
    return Retry(os.urandom(32), fingerprint)


def table(
    ruleset: str = "pig",
    options: Mapping[str, Any] | None = None,
    names: tuple[str | None, ...] = ("Ana", "Ben"),
    at: int = AT,
) -> Table:
    """A practice game that is being played; with a target that nobody reaches by rolling on."""
    game_rules = rules.ruleset(ruleset)
    seats = len(names)
    chosen = game_rules.parse_options({"starter": "seat"} if options is None else options, seats)
    # Ids in the order of their making, whatever the clock says.
    game_id = new_game_id(at + next(_numbers), os.urandom)
    chain = KeyChain(os.urandom(32), game_rules.throws_max(chosen, seats))
    step = steps.create(game_id, game_rules, chosen, seats, "practice", chain, at)
    for seat in range(seats):
        step = step.then(steps.join(step.game, seat, Player("human", None), at))
    step = step.then(steps.start(step.game, chain, at))
    hosted = HostedGame(
        game=step.game,
        holders=tuple(Holder(name, os.urandom(32), os.urandom(32)) for name in names),
        host_hash=os.urandom(32),
        salt=os.urandom(32),
        hotseat=False,
        visibility="public",
        start_when_full=True,
        created_at=at,
        series=Series(game_id, 1, (0,) * seats),
    )
    return Table(Write(hosted, step.lines), chain)


async def created(store: Store, **options: Any) -> Table:
    """A game that is stored."""
    made = table(**options)
    await store.change(made.id, anybody, made.create)
    return made


async def roll(store: Store, made: Table, **options: Any) -> Answer:
    """One roll, durable when this returns."""
    return await store.change(made.id, anybody, made.roll(**options))


@asynccontextmanager
async def one_batch(store: Store) -> AsyncIterator[None]:
    """All changes asked for inside are waiting when the committer takes them: one transaction."""
    entered, go_on = threading.Event(), threading.Event()

    def hold(_: HostedGame | None) -> None:
        entered.set()
        assert go_on.wait(30)
        raise StaleVersion(version=0)

    holding = asyncio.ensure_future(store.change("nobody", hold, _never))
    await asyncio.to_thread(entered.wait, 30)
    try:
        yield
        await asyncio.sleep(0)  # the tasks that were made inside ask now
    finally:
        go_on.set()
        await asyncio.gather(holding, return_exceptions=True)


def _never(_: HostedGame | None) -> Change:
    raise AssertionError("the check refuses")


def asked(
    store: Store, made: Table, decide: Decide, key: Retry | None = None, check: Check = anybody
) -> "asyncio.Future[Answer]":
    """A change in a task of its own."""
    return asyncio.ensure_future(store.change(made.id, check, decide, key))


def rows(url: str, query: Select[T]) -> list[T]:
    """The one column of a query, over a connection that no store knows."""
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            return list(connection.execute(query).scalars())
    finally:
        engine.dispose()


def plan(url: str, query: Select[Any]) -> str:
    """How the database would find the rows of a query; it has no sort of its own in it."""
    upgrade(url)
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            explain = "EXPLAIN QUERY PLAN"
            if engine.dialect.name != "sqlite":
                explain = "EXPLAIN"
                # A table with a few rows is read whole, whatever indexes it has.
                connection.execute(text("SET LOCAL enable_seqscan = off"))
                connection.execute(text("SET LOCAL enable_bitmapscan = off"))
            told = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
            steps = connection.exec_driver_sql(f"{explain} {told}").all()
    finally:
        engine.dispose()
    found = str(steps)
    assert "TEMP B-TREE" not in found
    assert "Sort" not in found
    return found


async def seqs(store: Store, game_id: str) -> list[int]:
    """The numbers of the stored lines."""
    return [parse(line).seq for line in await store.lines(game_id)]


async def stored(store: Store, game_id: str) -> HostedGame:
    """A game that must be there."""
    hosted = await store.game(game_id)
    assert hosted is not None
    return hosted
