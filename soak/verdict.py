"""The auditor of a soak: reads the database and the clients' history, and asks no server."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, func, select

from service.dice import enc, tagged_hash
from service.keys import ServerKey
from service.store import tables
from service.store.cache import read_games
from service.store.engine import open_engine
from soak.auditing import Stored, Told, faults
from soak.history import lines

_PAGE: Final = 100


@dataclass
class Change:
    """A request with its key, and all that was ever answered to it."""

    key: str
    scope: bytes
    path: str
    body: Any
    answers: list[tuple[int, bool, bytes]] = field(default_factory=list)
    refused: int = 0

    @property
    def game(self) -> str:
        """The id of the game that it has changed or made."""
        found: str = json.loads(self.answers[0][2])["game"]["id"]
        return found


@dataclass
class Verdict:
    """What was found, and what was counted."""

    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def judge(
    url: str, history: Path, server_key: ServerKey, public_keys: tuple[bytes, ...]
) -> Verdict:
    """Holds a database against the history of its clients."""
    verdict = Verdict()
    changes = _changes(history, verdict)
    acknowledged = [change for change in changes if change.answers]
    verdict.counts["changes acknowledged"] = len(acknowledged)
    by_game = defaultdict[str, list[Change]](list)
    for change in acknowledged:
        verdict.faults += _repeated(change)
        by_game[change.game].append(change)
    engine = open_engine(url)
    try:
        verdict.faults += _games(engine, by_game, verdict.counts, server_key, public_keys)
    finally:
        engine.dispose()
    return verdict


# --- the history by itself ----------------------------------------------------------------------


def _changes(history: Path, verdict: Verdict) -> list[Change]:
    """Every change that was asked for, in the order of asking."""
    open_requests: dict[int, Change | None] = {}
    changes: dict[str, Change] = {}
    for line in lines(history):
        verdict.counts[f"history: {line['do']}"] += 1
        match line["do"]:
            case "invoke":
                open_requests[line["request"]] = _asked(changes, line)
            case "read":
                if line["version"] < line["seen"]:
                    verdict.faults.append(f"a read older than what was known: {line}")
            case _:
                change = open_requests.pop(line["request"])
                verdict.faults += _heard(change, line)
    for change in changes.values():
        if not change.answers and not change.refused:
            verdict.faults.append(f"never settled: {change.key}")
    return list(changes.values())


def _asked(changes: dict[str, Change], line: Mapping[str, Any]) -> Change | None:
    key = line["key"]
    if key is None:
        return None
    if key not in changes:
        scope = hashlib.sha256(enc(bytes.fromhex(line["owner"]), key.encode())).digest()
        changes[key] = Change(key, scope, line["path"], line["body"])
    return changes[key]


def _heard(change: Change | None, line: Mapping[str, Any]) -> Iterator[str]:
    if line["do"] == "unknown":
        if line["why"].isdigit() and line["why"] != "503":
            yield f"a server answered {line['why']}"
    elif change is not None and line["do"] == "ok":
        change.answers.append((line["status"], line["replayed"], line["body"].encode()))
    elif change is not None:
        change.refused += 1


def _repeated(change: Change) -> Iterator[str]:
    """All answers to one request are the same, and at most one was not a repetition."""
    if len({(status, body) for status, _, body in change.answers}) > 1:
        yield f"{change.key} was answered in different ways"
    if sum(not replayed for _, replayed, _ in change.answers) > 1:
        yield f"{change.key} was made more than once"
    if change.refused:
        yield f"{change.key} was made and refused"


# --- the database -------------------------------------------------------------------------------


def _games(
    engine: Engine,
    by_game: Mapping[str, list[Change]],
    counts: Counter[str],
    server_key: ServerKey,
    public_keys: tuple[bytes, ...],
) -> Iterator[str]:
    game = tables.game
    with engine.connect() as connection:
        ids = list(connection.execute(select(game.c.id).order_by(game.c.id)).scalars())
        if set(ids) != set(by_game):
            yield f"games: {len(set(by_game) - set(ids))} lost, {len(set(ids) - set(by_game))} new"
        roots, kept_with = _practice_roots(by_game), _kept_with(by_game)
        for start in range(0, len(ids), _PAGE):
            for game_id, hosted in read_games(connection, ids[start : start + _PAGE]).items():
                stored = Stored(_lines(connection, game_id), hosted.game)
                root = roots.get(game_id) or server_key.root(game_id, hosted.salt)
                told = [Told(one.key, one.answers[0][2]) for one in by_game[game_id]]
                found = [
                    *faults(stored, told, root, public_keys),
                    *_kept(connection, game_id, kept_with[game_id]),
                ]
                yield from (f"game {game_id}: {fault}" for fault in found)
                counts["games"] += 1
                counts["entries"] += len(stored.lines)
                counts["throws"] += hosted.game.throws


def _lines(connection: Connection, game_id: str) -> list[bytes]:
    entry = tables.entry
    query = select(entry.c.line).where(entry.c.game_id == game_id).order_by(entry.c.seq)
    return [bytes(line) for line in connection.execute(query).scalars()]


def _kept(connection: Connection, game_id: str, changes: list[Change]) -> Iterator[str]:
    """The answers that a retry is given: those that were given, and no others."""
    answer = tables.answer
    rows = connection.execute(
        select(answer.c.scope, answer.c.status, answer.c.body, answer.c.sealed).where(
            answer.c.scope.in_([change.scope for change in changes])
        )
    )
    kept = {bytes(row.scope): row for row in rows}
    for change in changes:
        row = kept.get(change.scope)
        if row is None:
            yield f"the answer to {change.key} is not kept"
        elif not row.sealed and (row.status, bytes(row.body)) != change.answers[0][::2]:
            yield f"another answer is kept for {change.key}"
    count = connection.execute(
        select(func.count()).where(answer.c.game_id == game_id, answer.c.scope.not_in(list(kept)))
    ).scalar_one()
    if count:
        yield f"{count} answers are kept that nobody was given"


def _kept_with(by_game: Mapping[str, list[Change]]) -> Mapping[str, list[Change]]:
    """The changes by the game with which their answers are kept: that of a rematch tells of the
    next game, and is kept with the one before."""
    found = defaultdict[str, list[Change]](list)
    for game_id, changes in by_game.items():
        for change in changes:
            rematch = change.path.endswith("/rematch")
            found[change.path.split("/")[3] if rematch else game_id].append(change)
    return found


def _practice_roots(by_game: Mapping[str, list[Change]]) -> dict[str, bytes]:
    """The roots that clients chose themselves, and those of the rematches that follow."""
    roots: dict[str, bytes] = {}
    rematches: dict[str, str] = {}
    for game_id, changes in by_game.items():
        for change in changes:
            if change.path == "/v1/games" and "seed" in change.body:
                roots[game_id] = bytes.fromhex(change.body["seed"])
            elif change.path.endswith("/rematch"):
                rematches[change.path.split("/")[3]] = game_id
    for before in list(roots):
        root = roots[before]
        while (before := rematches.get(before, "")) != "":
            root = roots[before] = tagged_hash("practice-rematch", root)
    return roots
