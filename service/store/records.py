"""Between rows and games: the one place that knows how a game lies in its tables."""

import json
from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import RowMapping

from service import game as games
from service.store.change import Answer, Holder, HostedGame, Retry, Series

DAY_MS: Final = 24 * 3600 * 1000


def new_row(hosted: HostedGame) -> dict[str, Any]:
    """The row of table ``game``, whole."""
    setup, series = hosted.game.setup, hosted.series
    practice = setup.seed_mode == "practice"
    return {
        "id": hosted.game.id,
        "ruleset": setup.ruleset.key,
        "visibility": hosted.visibility,
        "commitment": None if practice else setup.commitment,
        "series_id": series.id,
        "series_number": series.number,
        "host_hash": hosted.host_hash,
        "setup": _json(
            {
                **setup.to_json(),
                "hotseat": hosted.hotseat,
                "start_when_full": hosted.start_when_full,
                "created_at": hosted.created_at,
                "tally": series.tally,
                **({"bots": hosted.bots} if hosted.bots else {}),
            }
        ),
        **moved_row(hosted),
    }


def salt_row(hosted: HostedGame) -> dict[str, Any]:
    """The row of table ``root_salt``."""
    return {"game_id": hosted.game.id, "salt": hosted.salt}


def moved_row(hosted: HostedGame) -> dict[str, Any]:
    """The columns of table ``game`` that a change may change."""
    return {**advanced_row(hosted), **searched_row(hosted)}


def advanced_row(hosted: HostedGame) -> dict[str, Any]:
    """Those of them that every change changes."""
    return {
        "revision": hosted.revision,
        "version": hosted.game.version,
        "snapshot": _json(games.dump(hosted.game)),
    }


def searched_row(hosted: HostedGame) -> dict[str, Any]:
    """Those of them by which games are searched for, and that most changes leave as they are."""
    game = hosted.game
    return {
        "status": game.status,
        "open_seats": _open_seats(hosted),
        "deadline": hosted.deadline,
        "active_on": game.at // DAY_MS,
        "audit": hosted.audit,
        "next_game": hosted.series.next_game,
    }


def _open_seats(hosted: HostedGame) -> int:
    """How many seats can be joined: none that is kept for somebody, none once the game is over."""
    if hosted.game.status != "waiting":
        return 0
    return sum(hosted.holders[seat] is None for seat in hosted.game.open_seats())


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


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
    setup = json.loads(row["setup"])
    game = games.load(row["id"], games.Setup.from_json(setup), json.loads(row["snapshot"]))
    held: list[Holder | None] = [None] * game.setup.seats
    for one in holders:
        held[one["seat"]] = Holder(one["name"], one["salt"], one["token_hash"])
    return HostedGame(
        game=game,
        holders=tuple(held),
        host_hash=row["host_hash"],
        salt=row["salt"],
        hotseat=setup["hotseat"],
        visibility=row["visibility"],
        start_when_full=setup["start_when_full"],
        created_at=setup["created_at"],
        series=Series(
            row["series_id"], row["series_number"], tuple(setup["tally"]), row["next_game"]
        ),
        audit=row["audit"],
        reveal_by=row["deadline"] if game.status == "waiting" else None,
        revision=row["revision"],
        bots=tuple(setup.get("bots", ())),
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
