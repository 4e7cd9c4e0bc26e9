"""Games and logs as they are served: rendered once, from what is valid already."""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from service.dice import PROTOCOL
from service.game import Game
from service.hosting import NO_REVEAL, tally
from service.keys import SigningKeys, key_id
from service.requests import Done, Turn
from service.store import Answer, HostedGame, Listed
from service.values import hex_or_none


def as_json(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return orjson.dumps(value)


def moment(at: int) -> str:
    """Milliseconds UTC as RFC 3339."""
    second, millisecond = divmod(at, 1000)
    return f"{_second(second)}.{millisecond:03d}Z"


@lru_cache(4096)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()[:19]


def etag(hosted: HostedGame) -> str:
    """A game's tag is its version."""
    return f'"{hosted.game.version}"'


def game_json(hosted: HostedGame, present: Collection[int]) -> dict[str, Any]:
    """A game as ``shapes.GameShape``; the seats that are ``present`` have a stream open."""
    game = hosted.game
    setup, ruleset = game.setup, game.ruleset
    playing = game.status == "playing"
    return {
        "id": game.id,
        "ruleset": {"key": ruleset.key, "version": ruleset.version},
        "options": setup.options_json,
        "status": game.status,
        "version": game.version,
        "players": _there(_players(hosted), present),
        "phase": ruleset.phase(game.state) if playing else None,
        "to_act": game.to_act(),
        "state": None if game.state is None else ruleset.view(game.state),
        "legal_actions": legal_json(hosted),
        "outcome": None if game.outcome is None else game.outcome.to_json(),
        "ended": _ended(game),
        "dice": _dice(game),
        "series": _series(hosted),
        "hotseat": hosted.hotseat,
        "visibility": hosted.visibility,
        "turn_seconds": setup.turn_seconds,
        "deadline": None if hosted.deadline is None else moment(hosted.deadline),
        "created_at": moment(hosted.created_at),
        "updated_at": moment(game.at),
    }


def legal_json(hosted: HostedGame) -> list[dict[str, Any]]:
    """What may be asked for now: nobody asks for a bot."""
    legal = hosted.game.legal()
    if hosted.bots:
        bots = hosted.seated_bots
        legal = tuple(one for one in legal if one.seat is None or bots[one.seat] is None)
    return [one.to_json() for one in legal]


def summary_json(listed: Listed) -> dict[str, Any]:
    """A game as ``shapes.GameSummary``."""
    key, version = listed.ruleset
    return {
        "id": listed.id,
        "ruleset": {"key": key, "version": version},
        "status": listed.status,
        "version": listed.version,
        "players": [
            {"seat": seat, "name": name, "kind": kind}
            for seat, (name, kind) in enumerate(listed.players)
        ],
        "open_seats": listed.open_seats,
        "outcome": listed.outcome,
        "seed_mode": listed.seed_mode,
        "hotseat": listed.hotseat,
        "turn_seconds": listed.turn_seconds,
        "series": {
            "id": listed.series_id,
            "number": listed.series_number,
            "tally": listed.tally,
            "next": listed.next_game,
        },
        "created_at": moment(listed.created_at),
        "updated_at": moment(listed.updated_at),
    }


def turns_json(
    turns: Iterable[Turn], present: Callable[[HostedGame], Collection[int]]
) -> dict[str, Any]:
    """Games that wait for the caller as ``shapes.Turns``."""
    return {
        "turns": [
            {"game": game_json(turn.hosted, present(turn.hosted)), "seats": turn.seats}
            for turn in turns
        ]
    }


def _ended(game: Game) -> dict[str, Any] | None:
    if game.reason is None:
        return None
    blamed = game.unrevealed() if game.reason == NO_REVEAL else ()
    return {"reason": game.reason, "seats": blamed}


def _dice(game: Game) -> dict[str, Any]:
    setup = game.setup
    return {
        "protocol": PROTOCOL,
        "seed_mode": setup.seed_mode,
        "commitment": setup.commitment.hex(),
        "seeds": [
            {"seat": seat, "commit": hex_or_none(player.commit), "seed": hex_or_none(player.seed)}
            for seat, player in enumerate(game.players)
            if player is not None and (player.commit or player.seed)
        ],
        "sealed": game.sealed,
        "throws": game.throws,
        "throws_max": setup.throws_max,
        "last_key": game.last_key.hex() if game.throws else None,
        "root": hex_or_none(game.root),
    }


def _there(players: list[dict[str, Any]], present: Collection[int]) -> list[dict[str, Any]]:
    for player in players:
        player["present"] = player["seat"] in present
    return players


def _players(hosted: HostedGame) -> list[dict[str, Any]]:
    players = [
        {
            "seat": seat,
            "name": None if held is None else held.name,
            "kind": None if player is None else player.kind,
        }
        for seat, (player, held) in enumerate(zip(hosted.game.players, hosted.holders, strict=True))
    ]
    if hosted.bots:
        for player, bot in zip(players, hosted.seated_bots, strict=True):
            player["name"] = bot or player["name"]
    return players


def _series(hosted: HostedGame) -> dict[str, Any]:
    series = hosted.series
    return {
        "id": series.id,
        "number": series.number,
        "tally": tally(hosted),
        "next": series.next_game,
    }


def entries_json(lines: Iterable[bytes]) -> bytes:
    """Stored lines as a JSON array, byte for byte."""
    return b"[" + b",".join(lines) + b"]"


def texts_json(lines: Iterable[bytes]) -> bytes:
    """Stored lines as a JSON array of texts."""
    return as_json([line.decode() for line in lines])


def keys_json(signing_keys: SigningKeys) -> dict[str, Any]:
    """The public keys as ``shapes.PublicKeys``: the one that signs, then those retired."""
    return {
        "protocol": PROTOCOL,
        "keys": [
            {"key_id": key_id(public), "public_key": public.hex(), "retired": number > 0}
            for number, public in enumerate(signing_keys.public)
        ],
    }


# --- answers to changes -------------------------------------------------------------------------


def created(done: Done) -> Answer:
    """201 with the tokens, which are told this once."""
    seats = [{"seat": seat, "token": token} for seat, token in (done.seat_tokens or {}).items()]
    return _answer(201, done, {"tokens": {"host": done.host_token, "seats": seats}})


def seated(done: Done) -> Answer:
    """201 with the seat's token, which is told this once."""
    return _answer(201, done, _token(done))


def renewed(done: Done) -> Answer:
    """200 with the seat's new token, which is told this once."""
    return _answer(200, done, _token(done))


def _token(done: Done) -> dict[str, Any]:
    ((seat, token),) = (done.seat_tokens or {}).items()
    return {"seat": seat, "token": token}


def changed(done: Done) -> Answer:
    """200 with the caller's own entry (null if there is none) and the game after all of it."""
    entry = done.lines[0] if done.lines else b"null"
    return _answer(200, done, {}, b'{"entry":' + entry + b",")


def rematched(done: Done) -> Answer:
    """201 with the next game of the series."""
    return _answer(201, done, {})


def _answer(status: int, done: Done, more: dict[str, Any], start: bytes = b"{") -> Answer:
    receipt = None if done.receipt is None else done.receipt.to_json()
    body = as_json({"game": game_json(done.hosted, done.present), **more, "receipt": receipt})
    headers = [("etag", etag(done.hosted)), ("cache-control", "no-store")]
    if status == 201:
        headers.append(("location", f"/v1/games/{done.hosted.game.id}"))
    return Answer(status, tuple(headers), start + body[1:])
