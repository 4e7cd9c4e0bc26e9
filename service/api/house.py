"""The house: a croupier over its open store, with all that follows a commit."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from service.api.feed import Feeds
from service.api.live import Live
from service.api.metrics import Metrics
from service.auditor import Auditor
from service.bell import Bell, Wire
from service.croupier import Croupier
from service.errors import BadSetting, Unavailable
from service.export import open_directory
from service.game import Game
from service.heads import Head, HeadFile
from service.keys import open_server_key, open_signing_keys
from service.memory import end_if_out_of_memory
from service.presence import PresenceBoard
from service.redis_wire import RedisWire
from service.server_time import ServerTime
from service.settings import Settings
from service.store import HostedGame, Store
from service.store.change import Committed
from service.sweeper import Keeping, Sweeper, Swept

_log = logging.getLogger(__name__)


def check(settings: Settings) -> None:
    """Opens everything once; raises BadSetting with one clear line if it can't."""

    async def try_once() -> None:
        async with open_house(settings, Metrics()):
            pass

    try:
        asyncio.run(try_once())
    except Unavailable as error:  # it opens, and takes no changes
        raise BadSetting(f"CUBILETE_DATABASE_URL: {error}") from None


@dataclass(frozen=True, slots=True)
class House:
    """What requests need: the croupier, what streams share, and the head file."""

    croupier: Croupier
    live: Live
    heads: HeadFile


def export_old(settings: Settings) -> tuple[int, list[Exception]]:
    """Exports and deletes the games that have ended ``retention_days`` ago; returns how many, and
    for each one that could not be exported, and stays, why.

    Raises BadSetting if the house can't be opened, and Unavailable if the store breaks off.
    """
    swept: dict[str, int] = {}
    failures: list[Exception] = []

    def count(what: str, done: int) -> None:
        swept[what] = swept.get(what, 0) + done

    async def once() -> None:
        async with _open(settings, Metrics(), count, failures.append) as (_, sweeper):
            await sweeper.retention()

    asyncio.run(once())
    return swept.get("exported", 0), failures


@asynccontextmanager
async def open_house(settings: Settings, metrics: Metrics) -> AsyncIterator[House]:
    """A house whose store is open, with all that follows a commit."""
    opened = _open(settings, metrics, metrics.swept, lambda _: metrics.sweep_failed())
    async with opened as (house, sweeper):
        sweeper.start(1000 * settings.sweep_seconds, os.urandom)
        yield house


@asynccontextmanager
async def _open(
    settings: Settings,
    metrics: Metrics,
    swept: Callable[[Swept, int], None],
    sweep_failed: Callable[[Exception], None],
) -> AsyncIterator[tuple[House, Sweeper]]:
    secret = settings.server_key
    given = None if secret is None else secret.get_secret_value()
    server_key = open_server_key(settings.data_dir, given)
    signing_keys = open_signing_keys(settings.data_dir)
    if settings.export_dir is not None or settings.retention_days is not None:
        open_directory(settings.exports)
    heads = HeadFile(settings.data_dir, settings.sync_heads)
    following: list[Committed] = [lambda games: heads.append(_head(one.game) for one in games)]

    def committed(games: Sequence[HostedGame]) -> None:
        for follow in following:
            try:
                follow(games)
            except Exception as error:  # the commit stands, and the others follow all the same
                end_if_out_of_memory(error)
                _log.exception("what follows a commit has failed")

    try:
        store = Store.open(
            settings.database, server_key.fingerprint(), settings.queue_limit, committed, metrics
        )
        auditor = Auditor(store, metrics.audited)
        following.append(auditor.note)
        bell = _open_bell(settings, store)
        following.append(lambda games: bell.ring(one.game.id for one in games))
        store.tell_beside(bell.ring)
        board = PresenceBoard(bell, store.peers() if store.shared else None)
        clock = ServerTime(_wall, _steady)
        await clock.keep_to(store.time)
        croupier = Croupier(
            store,
            server_key,
            signing_keys,
            clock.now,
            os.urandom,
            settings.reveal_seconds,
            board.seats,
        )
        sweeper = Sweeper(croupier, store, _keeping(settings), clock, swept, sweep_failed)
        feeds = Feeds(croupier, bell, board)
        try:
            for game_id in await croupier.end_restored(heads.recall(), heads.owe):
                _log.warning("game %s is behind its last known head: it has ended", game_id)
            live = Live(bell, feeds, board, settings.stream_limit)
            metrics.watch("stream", lambda: live.streams)
            metrics.watch("long_poll", lambda: live.polls)
            yield House(croupier, live, heads), sweeper
        finally:
            await sweeper.close()
            await croupier.close()
            await board.close()
            await bell.close()
            await auditor.close()
            await store.close()
    finally:
        heads.close()


def _keeping(settings: Settings) -> Keeping:
    return Keeping(
        waiting_days=settings.waiting_days,
        idle_days=settings.idle_days,
        answer_days=settings.answer_days,
        retention_days=settings.retention_days,
        export_dir=settings.exports,
    )


def _open_bell(settings: Settings, store: Store) -> Bell:
    """A bell that is heard wherever the same games are served."""
    if not store.shared:
        return Bell()
    wire: Wire | None = None
    if settings.bell == "database":
        wire = store.notices()
    elif settings.bell != "poll":
        wire = RedisWire(settings.bell)
    return Bell(wire, store.revisions)


def _head(game: Game) -> Head:
    return Head(game.id, game.version, game.head)


def _wall() -> int:
    return time.time_ns() // 1_000_000


def _steady() -> int:
    return time.monotonic_ns() // 1_000_000
