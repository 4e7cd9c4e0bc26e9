"""What a read and an action cost does not grow with the game: counted, not timed."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine, event

from service import rules, steps
from service.game import Game
from service.keys import new_game_id
from service.rules.base import Action, SeatAction
from service.store import GameFilter, Store, Write
from service.store.records import moved_row
from tests.hosted import (
    AT,
    Table,
    anybody,
    asked,
    one_batch,
    opened,
    retry,
    roll,
    run,
    table,
)
from tests.postgres import DATABASES, migrated_url

Ask: TypeAlias = Callable[[Store, Table], Awaitable[None]]
_ACTION: TypeAdapter[Action] = TypeAdapter(SeatAction)

EARLY, LATE = 10, 10_000
LONG = {"target": 10_000, "starter": "seat"}
# Options with which a game goes on for as long as the ruleset lets it.
SLOW: dict[str, dict[str, Any]] = {
    "pig": LONG,
    "two-dice-pig": LONG,
    "big-pig": LONG,
    "pass-the-pigs": LONG,
    "dados-puercos": {"mode": "points", **LONG},
    "heaven-and-nine": {"end": {"rounds": 1000}, "bankroll": 10**9, "starter": "seat"},
    "dice-duel": {"format": {"first_to_win": 9}, "free_formats": True},
}
# A line says more of one action than of another, and numbers get more digits; 10,000 lines or
# anything that has gathered since would be far more.
SLACK = 2_000
# The rounds of a duel, of which there are at most 17, are remembered.
GROWTH = 2_000


@dataclass
class Meter:
    """Statements, and bytes sent with them and fetched, of everything that happens meanwhile."""

    statements: list[str] = field(default_factory=list)
    sent: int = 0
    fetched: int = 0


def size(value: Any) -> int:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(size, value))
    return len(str(value).encode())


@contextmanager
def metered() -> Iterator[Meter]:
    meter = Meter()

    def send(_c: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if not statement.startswith("PRAGMA"):
            meter.statements.append(statement)
            meter.sent += size(parameters)

    def fetch(_c: object, cursor: Any, *_: object) -> None:
        result = getattr(cursor, "pgresult", None)
        if result is not None:
            rows = range(result.ntuples)
            cells = [result.get_value(row, n) for row in rows for n in range(result.nfields)]
            meter.fetched += sum(len(cell) for cell in cells if cell is not None)

    def connect(connection: Any, _record: object) -> None:
        if hasattr(connection, "total_changes"):  # SQLite: told of each row as it is fetched
            connection.row_factory = row

    def row(_cursor: object, values: tuple[Any, ...]) -> tuple[Any, ...]:
        meter.fetched += size(values)
        return values

    listening: dict[str, Callable[..., Any]] = {
        "before_cursor_execute": send,
        "after_cursor_execute": fetch,
        "connect": connect,
    }
    for name, listener in listening.items():
        event.listen(Engine, name, listener)
    yield meter
    for name, listener in listening.items():
        event.remove(Engine, name, listener)


def next_action(game: Game) -> Action:
    """What a player without any plan does: whatever is allowed, in turn."""
    allowed = game.legal()
    one = allowed[game.version % len(allowed)]
    given: dict[str, Any] = {"kind": one.kind}
    if one.kind in ("bet", "set_limit"):
        given["amount"] = one.min
    if one.kind == "reroll":
        given["mask"] = [True] * (one.dice or 0)
    return _ACTION.validate_json(json.dumps(given))


def seat_of(game: Game) -> int | None:
    allowed = game.legal()
    return allowed[game.version % len(allowed)].seat


def played(made: Table, entries: int) -> Table:
    """The same table after so many entries, or when its game has ended."""
    hosted, lines = made.start.hosted, list(made.start.lines)
    game = hosted.game
    while len(lines) < entries and game.status == "playing":
        step = steps.act(game, seat_of(game), next_action(game), made.chain, AT)
        lines += step.lines
        game = step.game
    return replace(made, start=Write(replace(hosted, game=game), tuple(lines)))


@dataclass(frozen=True)
class Stored:
    """A database with two tables alike, one just begun and one at its entry 10,000."""

    url: str
    early: Table
    late: Table


@pytest.fixture(scope="module")
def long_games() -> tuple[Table, Table]:
    return played(table(options=LONG), EARLY), played(table(options=LONG), LATE)


@pytest.fixture(scope="module", params=DATABASES)
def stored(
    request: pytest.FixtureRequest,
    long_games: tuple[Table, Table],
    tmp_path_factory: pytest.TempPathFactory,
) -> Stored:
    url = migrated_url(request.param, request, tmp_path_factory.mktemp("cost"))
    early, late = [copy_of(made) for made in long_games]

    async def store_them() -> None:
        async with opened(url) as store:
            for made in (early, late):
                await store.change(made.id, anybody, made.create)
            assert len(await store.lines(late.id)) == LATE

    run(store_them())
    return Stored(url, early, late)


def copy_of(made: Table) -> Table:
    """The same table under an id that no database knows; the store reads no line."""
    hosted = made.start.hosted
    game = replace(hosted.game, id=new_game_id(AT, os.urandom))
    series = replace(hosted.series, id=game.id)
    return replace(
        made, start=replace(made.start, hosted=replace(hosted, game=game, series=series))
    )


async def costs(url: str, made: Table, ask: Ask, *, warm: bool) -> Meter:
    """What one request costs a server that knows the game, or one that has just started."""
    with metered() as meter:
        async with opened(url) as store:
            if warm:
                await store.game(made.id)
                await ask(store, made)
            began = replace(meter, statements=list(meter.statements))
            await ask(store, made)
            return Meter(
                meter.statements[len(began.statements) :],
                meter.sent - began.sent,
                meter.fetched - began.fetched,
            )


async def read(store: Store, made: Table) -> None:
    assert await store.game(made.id) is not None


async def read_fifty_times_at_once(store: Store, made: Table) -> None:
    found = await asyncio.gather(*(store.game(made.id) for _ in range(50)))
    assert None not in found


async def read_newest_lines(store: Store, made: Table) -> None:
    hosted = await store.game(made.id)
    assert hosted is not None
    assert len(await store.lines(made.id, hosted.game.version - 5)) == 5


async def act(store: Store, made: Table) -> None:
    await roll(store, made)


async def act_with_key(store: Store, made: Table) -> None:
    await store.change(made.id, anybody, made.roll(), retry())


async def act_ten_times_at_once(store: Store, made: Table) -> None:
    async with one_batch(store):
        rolls = [asked(store, made, made.roll()) for _ in range(10)]
    await asyncio.gather(*rolls)


async def list_games(store: Store, made: Table) -> None:
    assert (await store.listed(GameFilter("playing"), f"{made.id}~", 1)).games


REQUESTS = [read, read_newest_lines, act, act_with_key, act_ten_times_at_once, list_games]


@pytest.mark.parametrize("ask", REQUESTS, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_request_costs_the_same_at_entry_10_and_at_entry_10000(stored, ask, warm):
    early = run(costs(stored.url, stored.early, ask, warm=warm))
    late = run(costs(stored.url, stored.late, ask, warm=warm))
    assert late.statements == early.statements
    assert late.sent <= early.sent + SLACK
    assert late.fetched <= early.fetched + SLACK


@pytest.mark.parametrize(
    ("ask", "warm", "count"),
    [
        (read, True, 1),  # is it still this revision
        (read, False, 2),  # game and holders
        (read_fifty_times_at_once, True, 1),
        (act, True, 2),  # game, by compare-and-set, and entry
        (act, False, 4),
        (act_with_key, True, 4),  # an earlier answer, and this one
        (act_ten_times_at_once, True, 2 + 2),  # and what holds the committer up
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_request_takes_few_statements(stored, ask, warm, count):
    cost = run(costs(stored.url, stored.late, ask, warm=warm))
    own = [one for one in cost.statements if not one.startswith(("BEGIN", "COMMIT"))]
    reads, sqlite = ask in (read, read_fifty_times_at_once), stored.url.startswith("sqlite")
    if reads and warm and sqlite:
        count = 0  # whoever alone writes knows without a look
    elif not reads and not sqlite:
        count -= 1  # game and entry in one round trip
    assert len(own) == count, own


@pytest.mark.parametrize("ruleset", rules.RULESETS, ids=lambda ruleset: ruleset.key)
def test_what_is_stored_of_a_game_beside_its_log_does_not_grow(ruleset):
    """Snapshot and line of an action: bounded, however long the game."""
    made = table(ruleset.key, options=SLOW[ruleset.key])
    early, late = played(made, 30), played(made, 1000)
    assert len(late.start.lines) == 1000 or late.start.hosted.game.status == "finished"
    sizes = [len(moved_row(one.start.hosted)["snapshot"]) for one in (early, late)]
    assert sizes[1] < sizes[0] + GROWTH
    longest = [max(map(len, one.start.lines)) for one in (early, late)]
    assert longest[1] < longest[0] + GROWTH
