"""The server audits every finished game itself, off the path of any request.

A game whose log fails is frozen: nothing more happens in it until an operator has looked, and
nothing is ever repaired silently.
"""

import asyncio
import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from service.errors import GameNotFound, Unavailable
from service.examination import Finding, examine
from service.log import jsonl
from service.memory import end_if_out_of_memory, guarded_task
from service.slots import Slots
from service.store import Answer, Change, HostedGame, Store, Write
from service.tasks import end
from service.verify import verify_log

_PAGE: Final = 100
_PAUSE_S: Final = 2
_JUDGED: Final = Answer(201, (), b"")
_KNOWN: Final = Answer(200, (), b"")
_log = logging.getLogger(__name__)
Verdict: TypeAlias = Literal["passed", "failed"]


class Auditor:
    """Audits finished games one after another; ``count`` is told each verdict."""

    def __init__(self, store: Store, count: Callable[[Verdict], None]) -> None:
        self._store = store
        self._count = count
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._work = Slots("auditor", 1)
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._run())

    def note(self, committed: Sequence[HostedGame]) -> None:
        """Takes note of games that have ended; may be called from any thread."""
        for hosted in committed:
            if hosted.game.status == "finished" and hosted.audit is None:
                self._loop.call_soon_threadsafe(self._due.put_nowait, hosted.game.id)

    async def close(self) -> None:
        """Stops; what is due is found again at the next start."""
        await end([self._task])

    @guarded_task
    async def _run(self) -> None:
        await self._audit_what_is_left()
        while True:
            await self._audit(await self._due.get())

    async def _audit_what_is_left(self) -> None:
        """Audits the games that ended while no server was there to do it."""
        last = ""
        while True:
            try:
                found = await self._store.unaudited(last, _PAGE)
            except Unavailable:
                await asyncio.sleep(_PAUSE_S)
                continue
            if not found:
                return
            for last in found:
                await self._audit(last)

    async def _audit(self, game_id: str) -> None:
        while True:
            try:
                await self._settle(game_id)
            except Unavailable as error:
                _log.warning("game %s could not be audited now: %s", game_id, error)
                await asyncio.sleep(_PAUSE_S)
                continue
            except Exception as error:  # the others are audited all the same
                end_if_out_of_memory(error)
                _log.exception("the audit of game %s broke off", game_id)
            return

    async def _settle(self, game_id: str) -> None:
        lines = await self._store.lines(game_id)
        finding = await self._work.run(_examined, lines)
        verdict: Verdict = "passed" if finding.ok else "failed"
        if not finding.ok:
            fault = finding.report.failure or finding.rules
            _log.error("the log of game %s fails its audit: %s", game_id, fault)
        judge = functools.partial(_judge, verdict)
        judged = await self._store.change(game_id, lambda _: None, judge)
        if judged.status == _JUDGED.status:
            self._count(verdict)


def _judge(verdict: Verdict, found: HostedGame | None) -> Change:
    """The verdict is noted once, whichever process comes to it first."""
    if found is None:
        raise GameNotFound
    if found.audit is not None:
        return Change((), _KNOWN)
    return Change((Write(replace(found, audit=verdict), ()),), _JUDGED)


def _examined(lines: Sequence[bytes]) -> Finding:
    return examine(lines, verify_log(jsonl(lines), claim="finished"))
