"""Between rows and games: the one place that knows how a game lies in its tables."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping

from service import game as games
from service.store.change import Answer, Holder, HostedGame, Retry, Series


def game_row(hosted: HostedGame) -> dict[str, Any]:
    """The row of table ``game``."""
    game, series = hosted.game, hosted.series
    practice = game.setup.seed_mode == "practice"
    return {
        "id": game.id,
        "revision": hosted.revision,
        "version": game.version,
        "status": game.status,
        "ruleset": game.ruleset.key,
        "open_seats": len(game.open_seats()),
        "visibility": hosted.visibility,
        "commitment": None if practice else game.setup.commitment,
        "series_id": series.id,
        "series_number": series.number,
        "host_hash": hosted.host_hash,
        "audit": hosted.audit,
        "snapshot": _snapshot(hosted),
    }


def _snapshot(hosted: HostedGame) -> str:
    series = hosted.series
    return json.dumps(
        {
            "game": games.dump(hosted.game),
            "hotseat": hosted.hotseat,
            "start_when_full": hosted.start_when_full,
            "created_at": hosted.created_at,
            "tally": series.tally,
            "next_game": series.next_game,
        },
        separators=(",", ":"),
        ensure_ascii=False,
    )


def holder_rows(hosted: HostedGame) -> list[dict[str, Any]]:
    """The rows of table ``holder``."""
    return [
        {
            "game_id": hosted.game.id,
            "seat": seat,
            "name": held.name,
            "salt": held.salt,
            "token_hash": held.token_hash,
        }
        for seat, held in enumerate(hosted.holders)
        if held is not None
    ]


def entry_rows(hosted: HostedGame, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """The rows of table ``entry`` for lines that end at the game's version."""
    first = hosted.game.version - len(lines) + 1
    return [
        {"game_id": hosted.game.id, "seq": seq, "line": line}
        for seq, line in enumerate(lines, first)
    ]


def hosted_game(row: RowMapping, holders: Sequence[RowMapping]) -> HostedGame:
    """The game of its row (with ``salt`` joined to it) and of its rows in ``holder``."""
    snapshot: Mapping[str, Any] = json.loads(row["snapshot"])
    game = games.load(snapshot["game"])
    held: list[Holder | None] = [None] * game.setup.seats
    for one in holders:
        held[one["seat"]] = Holder(one["name"], one["salt"], one["token_hash"])
    return HostedGame(
        game=game,
        holders=tuple(held),
        host_hash=row["host_hash"],
        salt=row["salt"],
        hotseat=snapshot["hotseat"],
        visibility=row["visibility"],
        start_when_full=snapshot["start_when_full"],
        created_at=snapshot["created_at"],
        series=Series(
            row["series_id"],
            row["series_number"],
            tuple(snapshot["tally"]),
            snapshot["next_game"],
        ),
        audit=row["audit"],
        revision=row["revision"],
    )


def answer_row(retry: Retry, game_id: str, kept: Answer) -> dict[str, Any]:
    """The row of table ``answer``."""
    return {
        "scope": retry.scope,
        "fingerprint": retry.fingerprint,
        "game_id": game_id,
        "status": kept.status,
        "headers": json.dumps(kept.headers),
        "body": kept.body,
        "sealed": kept.sealed,
    }


def kept_answer(row: RowMapping) -> Answer:
    """The answer of its row."""
    headers = tuple((name, value) for name, value in json.loads(row["headers"]))
    return Answer(row["status"], headers, row["body"], row["sealed"], replayed=True)
