"""Games as lists show them: read without their states, and whatever one bad row holds."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Connection, RowMapping, Select, literal_column, select

from service.errors import CubileteError
from service.game import Setup, tallied
from service.memory import end_if_out_of_memory
from service.rules.base import Outcome
from service.store import tables

_log = logging.getLogger(__name__)
_OUTCOME: Final[TypeAdapter[Outcome]] = TypeAdapter(Outcome)
UNREADABLE: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    CubileteError,
)


@dataclass(frozen=True, slots=True)
class GameFilter:
    """Which public games a list holds; null means any."""

    status: str | None = None
    ruleset: str | None = None
    open_seats: bool | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A game as lists show it. ``players`` has name and kind by seat, ``tally`` counts this game
    of its series if it is finished, ``next_game`` is its rematch, once there is one, ``outcome`` is
    as JSON shows it; times are ms UTC."""

    id: str
    ruleset: tuple[str, int]
    status: str
    version: int
    players: tuple[tuple[str | None, str | None], ...]
    open_seats: int
    outcome: Mapping[str, Any] | None
    seed_mode: str
    hotseat: bool
    turn_seconds: int | None
    series_id: str
    series_number: int
    tally: tuple[int, ...]
    next_game: str | None
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Page:
    """Games of a list; ``last`` is id and number in its series of the last row that was read, if
    more follow, and ``unreadable`` are ids of rows that are no games."""

    games: tuple[Listed, ...]
    last: tuple[str, int] | None
    unreadable: tuple[str, ...]


def public(wanted: GameFilter, before: str | None) -> Select[Any]:
    """Public games, newest first; ``before`` is the id of the last one already seen."""
    game = tables.game
    query = _rows().where(game.c.visibility == "public").order_by(game.c.id.desc())
    if wanted.status is not None:
        query = query.where(game.c.status == wanted.status)
    if wanted.ruleset is not None:
        query = query.where(game.c.ruleset == wanted.ruleset)
    if wanted.open_seats is not None:
        # In these very words, or the index of such games is not used.
        query = query.where(literal_column(f"open_seats {'>' if wanted.open_seats else '='} 0"))
    return query if before is None else query.where(game.c.id < before)


def of_series(series_id: str, after: int) -> Select[Any]:
    """The games of a series with a number above ``after``, in order."""
    game = tables.game
    query = _rows().where(game.c.series_id == series_id, game.c.series_number > after)
    return query.order_by(game.c.series_number)


def last_of_series(series_id: str) -> Select[Any]:
    """The games of a series, the newest first."""
    game = tables.game
    query = _rows().where(game.c.series_id == series_id)
    return query.order_by(game.c.series_number.desc())


def _rows() -> Select[Any]:
    game = tables.game
    return select(
        game.c.id,
        game.c.status,
        game.c.version,
        game.c.open_seats,
        game.c.series_id,
        game.c.series_number,
        game.c.next_game,
        game.c.setup,
        game.c.snapshot,
    )


def read_page(connection: Connection, query: Select[Any], limit: int) -> Page:
    """The first ``limit`` rows of a query of this module; what can't be read is left out."""
    rows = connection.execute(query.limit(limit + 1)).mappings().all()
    shown = rows[:limit]
    names = _names(connection, [row["id"] for row in shown])
    games: list[Listed] = []
    unreadable: list[str] = []
    for row in shown:
        try:
            games.append(_listed(row, names.get(row["id"], {})))
        except UNREADABLE as fault:
            end_if_out_of_memory(fault)
            _log.error("game %s can't be read: %s", row["id"], type(fault).__name__)
            unreadable.append(row["id"])
    last = shown[-1] if len(rows) > limit else None
    cursor = None if last is None else (last["id"], last["series_number"])
    return Page(tuple(games), cursor, tuple(unreadable))


def _names(connection: Connection, ids: Sequence[str]) -> dict[str, dict[int, str | None]]:
    holder = tables.holder
    query = select(holder.c.game_id, holder.c.seat, holder.c.name).where(holder.c.game_id.in_(ids))
    found: dict[str, dict[int, str | None]] = {}
    for game_id, seat, name in connection.execute(query):
        found.setdefault(game_id, {})[seat] = name
    return found


def _listed(row: RowMapping, names: Mapping[int, str | None]) -> Listed:
    setup, snapshot = orjson.loads(row["setup"]), orjson.loads(row["snapshot"])
    key, version = setup["ruleset"]["key"], setup["ruleset"]["version"]
    return Listed(
        id=row["id"],
        ruleset=(key, version),
        status=row["status"],
        version=row["version"],
        players=_players(snapshot["players"], names, setup.get("bots", ())),
        open_seats=row["open_seats"],
        outcome=snapshot["outcome"],
        seed_mode=setup["seed_mode"],
        hotseat=setup["hotseat"],
        turn_seconds=setup.get("turn_seconds"),
        series_id=row["series_id"],
        series_number=row["series_number"],
        tally=_tally(setup, snapshot["outcome"]),
        next_game=row["next_game"],
        created_at=setup["created_at"],
        updated_at=snapshot["at"],
    )


def _players(
    players: Sequence[Any], names: Mapping[int, str | None], bots: Sequence[str | None]
) -> tuple[tuple[str | None, str | None], ...]:
    """Name and kind by seat; a bot's name is what it was asked for by."""
    found: list[tuple[str | None, str | None]] = []
    for seat, player in enumerate(players):
        kind = None if player is None else player["kind"]
        found.append((bots[seat] if bots and kind == "bot" else names.get(seat), kind))
    return tuple(found)


def _tally(setup: Mapping[str, Any], outcome: Any) -> tuple[int, ...]:
    before = tuple(setup["tally"])
    if outcome is None:
        return before
    made = _OUTCOME.validate_json(orjson.dumps(outcome))
    return tallied(before, Setup.from_json(setup), made)
