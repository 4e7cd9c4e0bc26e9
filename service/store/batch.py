"""What one transaction reads and writes, and how to tell afterwards whether it stands."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

from sqlalchemy import Connection, delete, select

from service.errors import CubileteError, KeyReused
from service.memory import end_if_out_of_memory
from service.store import records, tables
from service.store.cache import GameCache, read_games, revisions
from service.store.change import Answer, Change, HostedGame, Job
from service.store.statements import Statements
from service.values import changed

_log = logging.getLogger(__name__)

Result: TypeAlias = Answer | Exception


class Moved(Exception):
    """A game moved between its reading and its writing."""


class Batch:
    """The games and kept answers of one transaction, and what its jobs change of them.

    ``run`` it inside a transaction and commit; ``results`` are then the answers, one each job.
    With ``lock`` the rows of the games are locked before anything is decided. Without it the
    games are taken to stand as this process knows them, and ``run`` raises Moved if one doesn't;
    ``alone`` says that no other process writes, so that none can.
    """

    def __init__(
        self,
        cache: GameCache,
        jobs: Sequence[Job],
        statements: Statements,
        *,
        alone: bool,
        lock: bool,
    ) -> None:
        self._cache = cache
        self._jobs = jobs
        self._statements = statements
        self._alone = alone
        self._lock = lock
        self._assumed: set[str] = set()
        self.stale = False
        self.disowned = cache.disowned
        self._games: dict[str, HostedGame] = {}
        self._stored: dict[str, HostedGame] = {}
        self._kept: dict[bytes, tuple[bytes, Answer]] = {}
        self._lines: dict[str, tuple[bytes, ...]] = {}
        self._reseated: set[str] = set()
        self._new_answers: list[dict[str, Any]] = []
        self.results: list[Result] = []
        self.begun = False

    def run(self, connection: Connection) -> None:
        """Reads, lets every job decide in its turn, and writes everything; the caller commits."""
        self.begun = True
        self._read_games(connection)
        self._stored = dict(self._games)
        self._read_answers(connection)
        self.results = [self._take(job) for job in self._jobs]
        self._require_unmoved(connection)
        self._write(connection)

    def games(self) -> list[HostedGame]:
        """All games of the batch as it leaves them."""
        return list(self._games.values())

    def changed(self) -> list[HostedGame]:
        """The games that the batch has changed."""
        return [self._games[game_id] for game_id in sorted(self._lines)]

    # -- deciding --------------------------------------------------------------------------------

    def _read_games(self, connection: Connection) -> None:
        """``stale`` tells afterwards whether a locked game was not as this process knew it."""
        game_ids = sorted({job.game_id for job in self._jobs})
        known = self._cache.known(game_ids)
        if self._lock:
            stored = revisions(connection, game_ids)
            current = {one: at for one, at in known.items() if stored.get(one) == at.revision}
            self.stale = len(current) < len(known)
            known = current
        else:
            self._assumed = set() if self._alone else set(known)
        missing = [game_id for game_id in game_ids if game_id not in known]
        self._games = known | read_games(connection, missing)

    def _require_unmoved(self, connection: Connection) -> None:
        """What was refused, or answered from the store, was so by games as they still stand; for
        those that were changed compare-and-set sees to it. But a rematch is added before that,
        and waits for one that another process adds: by then the game before it must be locked."""
        moved = self._lines.keys() & self._stored.keys()
        unchanged = self._assumed - self._lines.keys()
        if unchanged or (moved & self._assumed and self._opens_rematch()):
            # With those that will be changed, so that all are locked in one order.
            held = unchanged | moved
            stored = revisions(connection, sorted(held))
            if any(stored.get(one) != self._stored[one].revision for one in held & self._assumed):
                raise Moved

    def _opens_rematch(self) -> bool:
        new = self._lines.keys() - self._stored.keys()
        return any(self._games[game_id].series.number > 1 for game_id in new)

    def _read_answers(self, connection: Connection) -> None:
        scopes = [job.retry.scope for job in self._jobs if job.retry is not None]
        if scopes:
            query = select(tables.answer).where(tables.answer.c.scope.in_(scopes))
            for row in connection.execute(query).mappings():
                self._kept[row["scope"]] = (row["fingerprint"], records.kept_answer(row))

    def _take(self, job: Job) -> Result:
        """The answer to one job, which sees what the jobs before it have changed."""
        hosted = self._games.get(job.game_id)
        try:
            job.check(hosted)
            if job.retry is not None and job.retry.scope in self._kept:
                fingerprint, kept = self._kept[job.retry.scope]
                if fingerprint != job.retry.fingerprint:
                    raise KeyReused
                return kept
            change = job.decide(hosted)
        except CubileteError as refusal:
            return refusal
        except Exception as bug:  # its own answer is 500, and no other job's
            end_if_out_of_memory(bug)
            _log.exception("a change failed")
            return bug
        self._note(job, change)
        return change.answer

    def _note(self, job: Job, change: Change) -> None:
        for write in change.writes:
            game_id = write.hosted.game.id
            before = self._games.get(game_id)
            if before is None or before.holders != write.hosted.holders:
                self._reseated.add(game_id)
            revision = 1 if before is None else before.revision + 1
            self._games[game_id] = changed(write.hosted, revision=revision)
            self._lines[game_id] = self._lines.get(game_id, ()) + write.lines
        if job.retry is not None:
            kept = changed(change.kept or change.answer, replayed=True)
            self._kept[job.retry.scope] = (job.retry.fingerprint, kept)
            self._new_answers.append(records.answer_row(job.retry, job.game_id, kept))

    # -- writing ---------------------------------------------------------------------------------

    def _write(self, connection: Connection) -> None:
        """In one order in every process, so that two never wait for each other."""
        written = self.changed()
        new = [hosted for hosted in written if hosted.game.id not in self._stored]
        moved = [hosted for hosted in written if hosted.game.id in self._stored]
        add = partial(self._statements.add, connection)
        add(tables.game, [records.new_row(hosted) for hosted in new])
        add(tables.root_salt, [records.salt_row(hosted) for hosted in new])
        rows = self._moved_rows(moved)
        entries = [
            row
            for hosted in written
            for row in records.entry_rows(hosted, self._lines[hosted.game.id])
        ]
        # Compare and set: what was read must still stand.
        if self._statements.advance(connection, rows, entries) != len(rows):
            raise Moved
        self._write_holders(connection)
        add(tables.answer, sorted(self._new_answers, key=itemgetter("scope")))

    def _moved_rows(self, moved: Sequence[HostedGame]) -> list[dict[str, Any]]:
        """Without what is as it was, which is dear to write anew and to send."""
        before = [self._stored[hosted.game.id] for hosted in moved]
        searched = [records.searched_row(hosted) for hosted in moved]
        stays = [
            records.searched_row(one) == now for one, now in zip(before, searched, strict=True)
        ]
        if self._statements.alike and not all(stays):
            stays = [False] * len(moved)
        return [
            {
                **records.advanced_row(hosted),
                **({} if same else now),
                "at_id": stored.game.id,
                "at_revision": stored.revision,
            }
            for hosted, stored, now, same in zip(moved, before, searched, stays, strict=True)
        ]

    def _write_holders(self, connection: Connection) -> None:
        reseated = sorted(self._reseated)
        known = [game_id for game_id in reseated if game_id in self._stored]
        if known:
            connection.execute(delete(tables.holder).where(tables.holder.c.game_id.in_(known)))
        rows = [row for game_id in reseated for row in records.holder_rows(self._games[game_id])]
        self._statements.add(connection, tables.holder, rows)

    # -- after a COMMIT that nobody answered -----------------------------------------------------

    def stands(self, connection: Connection) -> bool | None:
        """Whether this batch was committed, as seen in a later transaction; null if nobody can
        tell any more. All of it stands or nothing: if one kept answer or one line is not there,
        none of it stands.

        A request that another server was sent too, in the same millisecond, has the same answer
        and the same line: if that goes for all of the batch, one of the two stands, and both are
        told so.
        """
        moved = sorted(self._lines)
        query = select(tables.game.c.id, tables.game.c.revision).where(tables.game.c.id.in_(moved))
        # A transaction that has not ended yet holds these rows: this waits for its end.
        query = query.order_by(tables.game.c.id).with_for_update()
        stored = {row.id: row.revision for row in connection.execute(query)}
        if self._new_answers or any(self._lines.values()):
            return all(self._witnesses(connection))
        if all(stored.get(game_id, 0) <= self._revision(game_id) for game_id in moved):
            return False
        now = read_games(connection, sorted(self._reseated))
        if now and all(now[one].holders == self._games[one].holders for one in now):
            return True
        return None

    def _witnesses(self, connection: Connection) -> Iterator[bool]:
        for row in self._new_answers:
            yield self._stored_answer(connection, row["scope"]) == row["body"]
        for game_id, lines in self._lines.items():
            yield not lines or self._stored_line(connection, game_id) == lines[-1]

    def _revision(self, game_id: str) -> int:
        """As it was before the batch; 0 for a game that is new."""
        stored = self._stored.get(game_id)
        return 0 if stored is None else stored.revision

    def _stored_answer(self, connection: Connection, scope: bytes) -> bytes | None:
        answer = tables.answer
        return connection.execute(select(answer.c.body).where(answer.c.scope == scope)).scalar()

    def _stored_line(self, connection: Connection, game_id: str) -> bytes | None:
        entry = tables.entry
        last = self._games[game_id].game.version
        query = select(entry.c.line).where(entry.c.game_id == game_id, entry.c.seq == last)
        return connection.execute(query).scalar()
