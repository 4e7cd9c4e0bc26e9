"""What the store does for games that nobody asks for: those due, idle or old. Small batches."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    delete,
    exists,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from service.game import ENDED
from service.store import tables

DATABASE_TIME: Final = literal_column(
    "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)", BigInteger
)
_game: Final = tables.game
_WELL: Final = or_(_game.c.audit.is_(None), _game.c.audit != "failed")


def due(at: int, after: tuple[int, str], limit: int) -> Select[Any]:
    """Deadline and id of games whose deadline has passed, in order, above ``after``."""
    return (
        select(_game.c.deadline, _game.c.id)
        .where(_game.c.deadline <= at, _WELL)
        .where(tuple_(_game.c.deadline, _game.c.id) > after)
        .order_by(_game.c.deadline, _game.c.id)
        .limit(limit)
    )


def idle(status: str, before: int, after: tuple[int, str], limit: int) -> Select[Any]:
    """Day and id of games of a status that have no deadline and last moved before a day."""
    return (
        select(_game.c.active_on, _game.c.id)
        .where(_game.c.status == status, _game.c.active_on < before)
        .where(_game.c.deadline.is_(None), _WELL)
        .where(tuple_(_game.c.active_on, _game.c.id) > after)
        .order_by(_game.c.active_on, _game.c.id)
        .limit(limit)
    )


def old(status: str, before: int, after: tuple[int, str], limit: int) -> Select[Any]:
    """Day and id of games that ended so before a day; of the finished ones those that have passed
    their audit."""
    query = idle(status, before, after, limit)
    return query.where(_game.c.audit == "passed") if status == "finished" else query


def with_answers(days: tuple[int, int], limit: int) -> Select[Any]:
    """Ids of games that ended on a day from the first up to, not with, the second, and of which
    answers are still kept."""
    kept = exists().where(tables.answer.c.game_id == _game.c.id)
    return (
        select(_game.c.id)
        .where(_game.c.status.in_(ENDED))
        .where(_game.c.active_on >= days[0], _game.c.active_on < days[1], kept)
        .limit(limit)
    )


def forget_answers(connection: Connection, game_ids: Sequence[str]) -> int:
    """Deletes the kept answers of games; returns how many there were."""
    answer = tables.answer
    return connection.execute(delete(answer).where(answer.c.game_id.in_(game_ids))).rowcount


def freeze(connection: Connection, game_ids: Sequence[str]) -> None:
    """Nothing more happens in these games until an operator has looked."""
    connection.execute(
        update(_game)
        .where(_game.c.id.in_(game_ids), _WELL)
        .values(audit="failed", revision=_game.c.revision + 1)
    )


def remove(connection: Connection, game_id: str, revision: int) -> bool:
    """Deletes a game with all that belongs to it, if it has not moved since ``revision``."""
    query = select(_game.c.revision).where(_game.c.id == game_id).with_for_update()
    if connection.execute(query).scalar() != revision:
        return False
    for table in reversed(tables.metadata.sorted_tables):
        if "game_id" in table.c:
            connection.execute(delete(table).where(table.c.game_id == game_id))
    connection.execute(delete(_game).where(_game.c.id == game_id))
    return True


def games_of(token_hash: bytes, limit: int) -> Sequence[Select[Any]]:
    """Ids of the newest games in which a token holds a seat, and of those that it hosts. A token
    goes from game to game of one series, and only the newest can be going on."""
    holder = tables.holder
    seated = select(holder.c.game_id).where(holder.c.token_hash == token_hash)
    hosted = select(_game.c.id).where(_game.c.host_hash == token_hash)
    return (
        seated.order_by(holder.c.game_id.desc()).limit(limit),
        hosted.order_by(_game.c.id.desc()).limit(limit),
    )
