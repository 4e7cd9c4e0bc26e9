"""Who may: what a bearer token stands for at a game, and what that lets it do."""

import contextlib
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from service import keys, steps
from service.errors import (
    FieldError,
    GameNotFound,
    HostOnly,
    InvalidInput,
    NotYourSeat,
    SeatNotFound,
    TokenMissing,
    TokenUnknown,
)
from service.rules.base import Action
from service.store import HostedGame
from service.store.change import Check

HOST: Final = "host"
Role: TypeAlias = int | Literal["host"]


def exists(found: HostedGame | None) -> HostedGame:
    """The game; raises GameNotFound if there is none."""
    if found is None:
        raise GameNotFound
    return found


def require_game(found: HostedGame | None) -> None:
    """The check of what anybody may do."""
    exists(found)


def role_of(hosted: HostedGame, token: str | None) -> Role:
    """The seat that a token acts for, or the host's role; every hash is compared."""
    if token is None:
        raise TokenMissing
    sent = keys.token_hash(token)
    role: Role | None = HOST if keys.same(sent, hosted.host_hash) else None
    for seat, held in enumerate(hosted.holders):
        if held is not None and held.token_hash is not None and keys.same(sent, held.token_hash):
            role = seat
    if role is None:
        raise TokenUnknown
    return role


def waited_for(hosted: HostedGame, tokens: Sequence[str]) -> tuple[int | None, ...]:
    """The seats that the game waits for and one of these tokens acts for; null for what the host
    does for the table."""
    roles = set()
    for token in tokens:
        with contextlib.suppress(TokenUnknown):
            roles.add(role_of(hosted, token))
    everybody = hosted.hotseat and HOST in roles
    bots = hosted.seated_bots
    seats: list[int | None] = [
        seat for seat in hosted.game.to_act() if seat in roles or (everybody and bots[seat] is None)
    ]
    if HOST in roles and any(legal.seat is None for legal in hosted.game.legal()):
        seats.append(None)
    return tuple(seats)


def seats_of(hosted: HostedGame, token: str | None) -> frozenset[int] | None:
    """The seats whose player a token shows to be there: its own, or at a hot seat, where the host
    acts for all, every seat that is taken. Null if it stands for nothing at this game."""
    try:
        role = role_of(hosted, token)
    except (TokenMissing, TokenUnknown):
        return None
    if isinstance(role, int):
        return frozenset({role})
    taken = (seat for seat, held in enumerate(hosted.holders) if held is not None)
    return frozenset(taken if hosted.hotseat else ())


def host(token: str | None) -> Check:
    """The check of what only the host may do."""

    def check(found: HostedGame | None) -> None:
        if role_of(exists(found), token) != HOST:
            raise HostOnly

    return check


def seat_or_host(token: str | None, seat: int) -> Check:
    """The check of what a seat may do for itself, and the host for it."""

    def check(found: HostedGame | None) -> None:
        hosted = exists(found)
        if role_of(hosted, token) not in (HOST, seat):
            raise NotYourSeat
        if seat >= hosted.game.setup.seats:
            raise SeatNotFound

    return check


def own_seat(hosted: HostedGame, seat: int, token: str | None) -> None:
    """Raises unless the token is the seat's own, or the host's at a hot seat."""
    role = role_of(hosted, token)
    if role != seat and not (role == HOST and hosted.hotseat):
        raise NotYourSeat
    if seat >= hosted.game.setup.seats:
        raise SeatNotFound
    require_no_bot(hosted, seat)


def require_no_bot(hosted: HostedGame, seat: int) -> None:
    """Raises NotYourSeat where a bot sits: nobody acts, reveals or speaks for it."""
    if hosted.bots and hosted.seated_bots[seat] is not None:
        raise NotYourSeat


def kept_seat(hosted: HostedGame, token: str | None) -> int | None:
    """The open seat that is kept for this token, if one is."""
    if token is None:
        return None
    sent = keys.token_hash(token)
    for seat in hosted.game.open_seats():
        held = hosted.holders[seat]
        if held is not None and held.token_hash is not None and keys.same(sent, held.token_hash):
            return seat
    return None


def acting_seat(hosted: HostedGame, seat: int | None, action: Action, role: Role) -> int | None:
    """The seat that acts; null for what the table's host does for the table."""
    if isinstance(role, int):
        if seat not in (None, role):
            raise NotYourSeat
        return role
    game = hosted.game
    steps.require_playing(game)
    legal = game.legal()
    if seat is None and action.kind in game.ruleset.host_kinds(game.setup.options):
        return None
    if not hosted.hotseat:
        raise NotYourSeat
    if seat is not None:
        if seat >= game.setup.seats:
            raise SeatNotFound
        require_no_bot(hosted, seat)
        return seat
    played = hosted.seated_bots
    candidates = {one.seat for one in legal if one.seat is not None and played[one.seat] is None}
    if len(candidates) != 1:
        raise InvalidInput(FieldError("/seat", "missing"))
    return candidates.pop()
