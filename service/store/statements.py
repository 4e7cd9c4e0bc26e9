"""The statements of every action, built once for a driver: nothing is compiled for a row.

SQLite runs a statement for each row, which costs it nothing, but writes an index anew whenever one
of its columns is set, to whatever: it is told of those that change. PostgreSQL takes all games that
move and all new entries in one round trip, as arrays.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, Final, TypeAlias

from sqlalchemy import (
    ARRAY,
    CTE,
    Column,
    Connection,
    Dialect,
    Insert,
    Select,
    String,
    Table,
    Text,
    Update,
    bindparam,
    func,
    insert,
    select,
    update,
)

from service.store import tables
from service.store.engine import run_directly

Row: TypeAlias = Mapping[str, Any]

# What a change may change of a game, and by which row it is found.
MOVED: Final = (
    "revision",
    "version",
    "status",
    "open_seats",
    "deadline",
    "active_on",
    "audit",
    "next_game",
    "snapshot",
)


class Statements(ABC):
    """Writing many rows in one statement each; a row is a mapping by column. ``alike`` says that
    all rows that move have the same columns."""

    alike: ClassVar[bool]

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    @abstractmethod
    def add(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows, all with the same columns."""

    @abstractmethod
    def move(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Compare and set: gives each game its new columns if it still stands at ``at_revision``;
        ``at_id`` names it. A column that a row leaves out stays as it is. Returns how many did,
        of rows in the order of ids."""

    def advance(self, connection: Connection, rows: Sequence[Row], entries: Sequence[Row]) -> int:
        """Moves games, if there are any, and adds entries; returns how many games did move, and
        unless all did nothing may be committed."""
        moved = self.move(connection, rows) if rows else 0
        self.add(connection, tables.entry, entries)
        return moved


def statements(dialect: Dialect) -> Statements:
    """The statements for a database."""
    return (_RowByRow if dialect.name == "sqlite" else _AsArrays)(dialect)


class _RowByRow(Statements):
    alike = False

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._move = cache(lambda names: self._compiled(_moving_one(names)))
        self._add = cache(lambda table: self._compiled(insert(table)))

    def _compiled(self, statement: Any) -> tuple[str, Callable[[Row], tuple[Any, ...]]]:
        """The text, and what picks its parameters from a row."""
        compiled = statement.compile(dialect=self._dialect)
        return str(compiled), itemgetter(*compiled.positiontup)

    def add(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            text, pick = self._add(table)
            run_directly(connection, text, [pick(row) for row in rows])

    def move(self, connection: Connection, rows: Sequence[Row]) -> int:
        by_columns: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            by_columns.setdefault(tuple(row), []).append(row)
        moved = 0
        for names, some in by_columns.items():
            text, pick = self._move(names)
            moved += run_directly(connection, text, [pick(row) for row in some])
        return moved


def _moving_one(names: Sequence[str]) -> Update:
    game = tables.game
    return (
        update(game)
        .values({name: bindparam(name) for name in names if name in MOVED})
        .where(game.c.id == bindparam("at_id"), game.c.revision == bindparam("at_revision"))
    )


class _AsArrays(Statements):
    alike = True

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._move = cache(lambda names: self._compiled(_moving(names)))
        self._advance = cache(lambda names: self._compiled(_advancing(names)))
        self._add = cache(lambda table: self._compiled(_adding(table)))

    def _compiled(self, statement: Any) -> str:
        # In binary form an array needs no quoting, which is dearer than all the rest.
        return str(statement.compile(dialect=self._dialect)).replace(")s::", ")b::")

    def add(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            connection.exec_driver_sql(self._add(table), _by_column(rows))

    def move(self, connection: Connection, rows: Sequence[Row]) -> int:
        text = self._move(tuple(rows[0]))
        return connection.exec_driver_sql(text, _by_column(rows)).rowcount

    def advance(self, connection: Connection, rows: Sequence[Row], entries: Sequence[Row]) -> int:
        if not rows or not entries:
            return super().advance(connection, rows, entries)
        text = self._advance(tuple(rows[0]))
        columns = _by_column(rows) | _by_column(entries)
        return int(connection.exec_driver_sql(text, columns).scalar_one())


def _moving(names: Sequence[str]) -> Update:
    """For rows with these columns, of which ``at_id`` and ``at_revision`` only find the game."""
    game = tables.game
    set_anew = [name for name in names if name in MOVED]
    given = _given("given", {"at_id": game.c.id, "at_revision": game.c.revision}, game.c, set_anew)
    # The rows are locked in the order of ids, so that two servers never wait for each other.
    held = (
        select(game.c.id)
        .where(game.c.id.in_(select(given.c.at_id)))
        .order_by(game.c.id)
        .with_for_update()
        .cte("held")
    )
    return (
        update(game)
        .values({name: given.c[name] for name in set_anew})
        .where(game.c.id == held.c.id, game.c.id == given.c.at_id)
        .where(game.c.revision == given.c.at_revision)
    )


def _advancing(names: Sequence[str]) -> Select[int]:
    """Moves games and adds entries; the entries are added only if all games have moved."""
    moved = _moving(names).returning(tables.game.c.id).cte("moved")
    count = select(func.count()).select_from(moved)
    columns = tables.entry.c.keys()
    lines = select(_given("lines", {}, tables.entry.c, columns)).where(
        count.scalar_subquery() == func.cardinality(bindparam("at_id", type_=ARRAY(Text())))
    )
    return count.add_cte(insert(tables.entry).from_select(columns, lines).cte("added"))


def _adding(table: Table) -> Insert:
    names = table.columns.keys()
    return insert(table).from_select(names, select(_given("given", {}, table.c, names)))


def _given(called: str, named: dict[str, Any], columns: Any, names: Sequence[str]) -> CTE:
    """Rows that come as one array a column: those in ``named``, and those with these names."""
    # As texts of any length: a cast to a shorter one would cut them, a column refuses them.
    types = {
        name: Text() if isinstance(column.type, String) else column.type
        for name, column in (named | {name: columns[name] for name in names}).items()
    }
    arrays = [bindparam(name, type_=ARRAY(kind)) for name, kind in types.items()]
    rows = func.unnest(*arrays).table_valued(*(Column(name, kind) for name, kind in types.items()))
    return select(rows.render_derived()).cte(called)


def _by_column(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
