"""The sweeper: what happens to games that nobody asks for. One a process, off the path of any
request.

It does in small batches what a request would do as well (deadlines), and what no request does:
games in which nothing happens any more are ended, kept answers are forgotten with the age of their
game, old games are exported and deleted. Several processes may sweep one database: each change is
decided under the game's lock, and what another one has done is found done.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

import orjson

from service import export
from service.croupier import Croupier
from service.errors import CubileteError, GameFrozen, GameNotFound, Unavailable
from service.game import ENDED, GOING
from service.hosting import audit_record
from service.keys import Entropy
from service.memory import end_if_out_of_memory, guarded_task
from service.server_time import ServerTime
from service.store import DAY_MS, Store
from service.tasks import end

Swept: TypeAlias = Literal["deadline", "idle", "answers", "exported"]
SWEPT: Final[tuple[Swept, ...]] = ("deadline", "idle", "answers", "exported")
_BATCH: Final = 100
_AT_ONCE: Final = 16
_CHORES_EVERY: Final = 300  # rounds
_FIRST: Final = (-1, "")
_log = logging.getLogger(__name__)
Find: TypeAlias = Callable[[tuple[int, str], int], Awaitable[Sequence[tuple[int, str]]]]
Settle: TypeAlias = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Keeping:
    """How many days things are kept. A waiting game without activity is voided after
    ``waiting_days``, a playing one without a clock abandoned after ``idle_days``. Answers for
    retries are kept for ``answer_days`` after their game's end, and games for ``retention_days``
    (null: for ever); before they are deleted their records are written to ``export_dir``."""

    waiting_days: int
    idle_days: int
    answer_days: int
    retention_days: int | None
    export_dir: Path


class Sweeper:
    """Sweeps every ``pause_ms``, give or take a half, so that processes do not do it all at once.

    ``count`` is told what was done and how often, ``failed`` of each failure, and why.
    """

    def __init__(
        self,
        croupier: Croupier,
        store: Store,
        keeping: Keeping,
        clock: ServerTime,
        count: Callable[[Swept, int], None] = lambda _, __: None,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._croupier = croupier
        self._store = store
        self._keeping = keeping
        self._clock = clock
        self._now = clock.now
        self._count = count
        self._failed = failed
        self._answers_forgotten = 0  # up to this day
        self._task: asyncio.Task[None] | None = None

    def start(self, pause_ms: int, entropy: Entropy) -> None:
        """Sweeps from now on."""
        self._task = asyncio.create_task(self._run(pause_ms, entropy))

    async def close(self) -> None:
        """Stops; what is due is found again at the next start."""
        if self._task is not None:
            await end([self._task])

    @guarded_task
    async def _run(self, pause_ms: int, entropy: Entropy) -> None:
        number = 0
        while True:
            await self.sweep(chores=number % _CHORES_EVERY == 0)
            number += 1
            jitter = int.from_bytes(entropy(2), "big") / 65536
            await asyncio.sleep(pause_ms * (0.5 + jitter) / 1000)

    async def sweep(self, chores: bool = True) -> None:
        """One round; ``chores`` is what can wait. Whatever fails is logged, and comes again."""
        await self._tried(self._keep_time)
        await self._tried(self.deadlines)
        if chores:
            for chore in (self.idle, self.answers, self.retention):
                await self._tried(chore)

    async def _tried(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Unavailable as error:
            self._failed(error)
            _log.warning("the sweep breaks off: %s", error)
        except Exception as error:
            end_if_out_of_memory(error)
            self._failed(error)
            _log.exception("the sweep breaks off")

    async def _keep_time(self) -> None:
        await self._clock.keep_to(self._store.time)

    # -- what it does ----------------------------------------------------------------------------

    async def deadlines(self) -> None:
        """Every game whose deadline has passed goes on."""
        at = self._now()
        await self._all(
            "deadline",
            lambda after, limit: self._store.due(at, after, limit),
            lambda game_id: self._croupier.settle(game_id, at),
        )

    async def idle(self) -> None:
        """Games in which nothing happens any more come to their end."""
        await self._end_idle("waiting", self._keeping.waiting_days)
        await self._end_idle("playing", self._keeping.idle_days)

    async def _end_idle(self, status: str, days: int) -> None:
        at = self._now()
        before = at // DAY_MS - days + 1  # the last of these days is judged by the hour
        await self._all(
            "idle",
            lambda after, limit: self._store.idle(status, before, after, limit),
            lambda game_id: self._croupier.end_idle(game_id, days, at),
        )

    async def answers(self) -> None:
        """Kept answers are forgotten some days after their game's end; looked for once a day, and
        then in all old games: one of long ago may have been changed with a key since."""
        before = self._now() // DAY_MS - self._keeping.answer_days
        if before <= self._answers_forgotten:
            return
        while found := await self._store.purge_answers((0, before), _BATCH):
            self._count("answers", found)
        self._answers_forgotten = before

    async def retention(self) -> None:
        """Old games are exported, and deleted once their records are on disk."""
        if self._keeping.retention_days is None:
            return
        before = self._now() // DAY_MS - self._keeping.retention_days
        for status in ENDED:
            await self._all(
                "exported",
                lambda after, limit, status=status: self._store.old(  # type: ignore[misc]
                    status, before, after, limit
                ),
                self.export,
            )

    async def export(self, game_id: str) -> bool:
        """Writes the audit record of a game that has ended, then deletes the game; returns
        whether it was this process that did. Raises OSError if the record can't be written."""
        hosted = await self._store.game(game_id)
        if hosted is None or hosted.game.status in GOING:
            return False
        lines = await self._store.lines(game_id)
        record = orjson.dumps(audit_record(hosted, lines, self._croupier.signing_keys))
        day = datetime.fromtimestamp(hosted.game.at / 1000, UTC).date().isoformat()
        path = export.path_of(self._keeping.export_dir, day, game_id)
        await asyncio.to_thread(export.write, path, record)
        return await self._store.remove(hosted)

    # -- in small batches ------------------------------------------------------------------------

    async def _all(self, what: Swept, find: Find, settle: Settle) -> None:
        """Finds batch after batch, and settles each game by itself: one that fails is logged and
        passed over."""
        last = _FIRST
        while found := await find(last, _BATCH):
            last = found[-1]
            ids = [game_id for _, game_id in found]
            for start in range(0, len(ids), _AT_ONCE):
                some = ids[start : start + _AT_ONCE]
                done = await asyncio.gather(*(self._settled(settle, game_id) for game_id in some))
                if any(done):
                    self._count(what, sum(done))

    async def _settled(self, settle: Settle, game_id: str) -> bool:
        try:
            return await settle(game_id)
        except Unavailable:
            raise
        except GameNotFound:
            return False  # another process was first
        except GameFrozen as error:
            self._failed(error)
            with suppress(CubileteError):
                await self._store.freeze([game_id])
        except OSError as error:  # a disk that refuses: the way that led there tells nothing
            end_if_out_of_memory(error)
            self._failed(error)
            _log.error("game %s could not be swept: %s", game_id, error)
        except Exception as error:
            end_if_out_of_memory(error)
            self._failed(error)
            _log.exception("game %s could not be swept", game_id)
        return False
