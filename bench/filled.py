"""Databases with many games or long logs, made without playing each game.

One practice game is played to the length that is wanted, by the rules but without a server; the
others are copies of its rows under new ids. Its root is public, so that a copy can be played on.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    cast,
    func,
    insert,
    literal,
    select,
    true,
)

from service import rules, steps
from service.dice import KeyChain
from service.game import Player
from service.keys import new_game_id, new_token, open_server_key, token_hash
from service.rules.base import Roll
from service.store import Answer, Change, Holder, HostedGame, Series, Store, Write, tables, upgrade
from service.store.engine import is_sqlite, open_engine
from service.store.migrations import migrating

_ROLL: Final = Roll(kind="roll")
_AT: Final = time.time_ns() // 1_000_000  # a game of old would be ended as idle
_CHUNK: Final = 20_000
_FRESH: Final = Table("bench_fresh", MetaData(), Column("id", String(64), primary_key=True))
_COPIED: Final = (tables.game, tables.entry, tables.holder, tables.root_salt)


def pig(entries: int, target: int, token: str) -> Write:
    """A practice game of Pig with so many entries, at a hot seat. Nobody holds, so that it never
    ends; ``target`` decides how many throws there are keys for."""
    ruleset = rules.ruleset("pig")
    options = ruleset.parse_options({"target": target, "starter": "seat"}, 2)
    game_id = new_game_id(_AT, os.urandom)
    chain = KeyChain(os.urandom(32), ruleset.throws_max(options, 2))
    step = steps.create(game_id, ruleset, options, 2, "practice", chain, _AT)
    lines = list(step.lines)
    for seat in (0, 1):
        step = steps.join(step.game, seat, Player("human", None), _AT)
        lines += step.lines
    step = steps.start(step.game, chain, _AT)
    lines += step.lines
    while len(lines) < entries:
        step = steps.act(step.game, step.game.to_act()[0], _ROLL, chain, _AT)
        lines += step.lines
    hosted = HostedGame(
        game=step.game,
        holders=tuple(Holder(name, os.urandom(32), None) for name in ("Ana", "Ben")),
        host_hash=token_hash(token),
        salt=os.urandom(32),
        hotseat=True,
        visibility="public",
        start_when_full=True,
        created_at=_AT,
        series=Series(game_id, 1, (0, 0)),
    )
    return Write(hosted, tuple(lines))


class Filling:
    """Fills one database before a server opens it that has its server key in ``data_dir``."""

    def __init__(self, url: str, data_dir: Path) -> None:
        upgrade(url)
        self._url = url
        self._fingerprint = open_server_key(data_dir, None).fingerprint()
        self._engine = open_engine(url)
        self._token = new_token("host", os.urandom)
        with migrating(self._engine) as connection:
            _FRESH.create(connection)

    def copies(self, count: int, entries: int, target: int) -> list[dict[str, str]]:
        """So many games with so many entries each, as a load is told of them."""
        played, ids = pig(entries, target, self._token), list[str]()
        asyncio.run(self._store(played))
        chunk = max(1, min(_CHUNK, 4 * _CHUNK // entries))
        while len(ids) < count:
            fresh = sorted(os.urandom(16).hex() for _ in range(min(chunk, count - len(ids))))
            with migrating(self._engine) as connection:
                _copy(connection, played.hosted.game.id, fresh)
            ids += fresh
        return [{"id": game_id, "token": self._token} for game_id in ids]

    async def _store(self, played: Write) -> None:
        """The game that the others are copied from, as the store itself writes it."""
        store = Store.open(self._url, self._fingerprint)
        change = Change((played,), Answer(201, (), b""))
        try:
            await store.change(played.hosted.game.id, lambda _: None, lambda _: change)
        finally:
            await store.close()

    def close(self) -> None:
        """Leaves the database as a server would find it after a while."""
        with migrating(self._engine) as connection:
            _FRESH.drop(connection)
        if not is_sqlite(self._engine):
            alone = self._engine.execution_options(isolation_level="AUTOCOMMIT")
            with alone.connect() as connection:
                # No request waits for it, however long it takes.
                connection.exec_driver_sql("SET statement_timeout = 0")
                connection.exec_driver_sql("VACUUM ANALYZE")
        self._engine.dispose()


def _copy(connection: Connection, game_id: str, fresh: Sequence[str]) -> None:
    """All rows of a game once more for each of the fresh ids, in their order."""
    connection.execute(_FRESH.delete())
    connection.execute(insert(_FRESH), [{"id": one} for one in fresh])
    for table in _COPIED:
        owner = table.c.id if table is tables.game else table.c.game_id
        values = [_renamed(connection, column, game_id) for column in table.c]
        rows = select(*values).select_from(table.join(_FRESH, true())).where(owner == game_id)
        in_order = rows.order_by(_FRESH.c.id)
        connection.execute(insert(table).from_select(list(table.c), in_order))


def _renamed(connection: Connection, column: Column[Any], game_id: str) -> ColumnElement[Any]:
    """A column as the copy has it: where it names the game, it names the new one."""
    if column.name in ("id", "game_id", "series_id"):
        return _FRESH.c.id
    if isinstance(column.type, Text):
        return func.replace(column, game_id, _FRESH.c.id)
    if column.name != "line":
        return column
    if connection.dialect.name == "sqlite":
        return cast(func.replace(cast(column, Text), game_id, _FRESH.c.id), LargeBinary)
    text = func.convert_from(column, literal("UTF8"))
    return func.convert_to(func.replace(text, game_id, _FRESH.c.id), literal("UTF8"))
