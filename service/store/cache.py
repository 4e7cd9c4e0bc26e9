"""Decoded games by id, the least used dropped first. What is in it was committed."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, RowMapping, select

from service.errors import GameFrozen
from service.memory import end_if_out_of_memory
from service.store import records, tables
from service.store.change import HostedGame
from service.store.listing import UNREADABLE

_log = logging.getLogger(__name__)
_game, _holder, _root_salt = tables.game, tables.holder, tables.root_salt


class GameCache:
    """A bounded cache. Where others write too, what it knows may have moved meanwhile.

    ``dropped`` counts what it has forgotten. What was read before something was forgotten may be
    older than that: it is not remembered. ``disowned`` counts how often that was because nobody
    knew any more how a game stands.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._games: OrderedDict[str, HostedGame] = OrderedDict()
        self._lock = threading.Lock()
        self.dropped = 0
        self.disowned = 0

    def get(self, game_id: str) -> HostedGame | None:
        """The game as this process knows it."""
        with self._lock:
            hosted = self._games.get(game_id)
            if hosted is not None:
                self._games.move_to_end(game_id)
            return hosted

    def put(self, games: Iterable[HostedGame], read_at: int | None = None) -> None:
        """Remembers committed games; an older revision never replaces a newer one.

        ``read_at`` is the count of ``dropped`` before they were read, unless they were written.
        """
        with self._lock:
            if read_at not in (None, self.dropped):
                return
            for hosted in games:
                known = self._games.get(hosted.game.id)
                if known is None or known.revision < hosted.revision:
                    self._games[hosted.game.id] = hosted
                self._games.move_to_end(hosted.game.id)
            while len(self._games) > self._size:
                self._games.popitem(last=False)
                self.dropped += 1

    def put_committed(self, games: Sequence[HostedGame], disowned: int) -> None:
        """Remembers the games of a transaction, or forgets them if any game was disowned since it
        began, when the count was ``disowned``: it may have been one of them."""
        if disowned == self.disowned:
            self.put(games)
        if disowned != self.disowned:
            self._forget(hosted.game.id for hosted in games)

    def drop(self, game_ids: Iterable[str]) -> None:
        """Forgets games of which nobody knows how they stand."""
        with self._lock:
            self.disowned += 1
        self._forget(game_ids)

    def _forget(self, game_ids: Iterable[str]) -> None:
        with self._lock:
            for game_id in game_ids:
                self._games.pop(game_id, None)
            self.dropped += 1

    def known(self, game_ids: Iterable[str]) -> dict[str, HostedGame]:
        """Those of these games that this process knows."""
        found = ((game_id, self.get(game_id)) for game_id in game_ids)
        return {game_id: hosted for game_id, hosted in found if hosted is not None}


def revisions(connection: Connection, game_ids: Sequence[str]) -> dict[str, int]:
    """The revisions of these games, whose rows stay locked, in the order of ids, until the
    transaction ends."""
    query = select(_game.c.id, _game.c.revision).where(_game.c.id.in_(game_ids))
    query = query.order_by(_game.c.id).with_for_update()
    return {row.id: row.revision for row in connection.execute(query)}


def read_games(connection: Connection, game_ids: Sequence[str]) -> dict[str, HostedGame]:
    """These games, read whole in two statements; raises GameFrozen if the rows of one make no game
    any more."""
    if not game_ids:
        return {}
    rows = connection.execute(
        select(_game, _root_salt.c.salt)
        .join(_root_salt, _root_salt.c.game_id == _game.c.id)
        .where(_game.c.id.in_(game_ids))
    ).mappings()
    holders: dict[str, list[RowMapping]] = {}
    for one in connection.execute(
        select(_holder).where(_holder.c.game_id.in_(game_ids))
    ).mappings():
        holders.setdefault(one["game_id"], []).append(one)
    return {row["id"]: _decoded(row, holders.get(row["id"], [])) for row in rows}


def _decoded(row: RowMapping, holders: Sequence[RowMapping]) -> HostedGame:
    """The game of its rows; raises GameFrozen if they make none."""
    try:
        return records.hosted_game(row, holders)
    except UNREADABLE as fault:
        end_if_out_of_memory(fault)
        _log.error("game %s can't be read: %s", row["id"], type(fault).__name__)
        raise GameFrozen from fault
