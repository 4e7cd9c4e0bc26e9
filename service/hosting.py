"""A hosted game in change: the game with all that stands beside its log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from service import bots, steps
from service.dice import PROTOCOL, KeyChain, pseudonym
from service.errors import FieldError, GameFull, InvalidInput, NameTaken, SeatNotFound, SeatTaken
from service.game import Player, tallied
from service.keys import SigningKeys
from service.names import folded
from service.rules.base import Ruleset
from service.steps import Step
from service.store import Holder, HostedGame, Series, Write
from service.values import changed, set_at

# Bots act in the transaction that gives them the turn, and no transaction grows without bounds.
BOT_ACTIONS_MOST: Final = 200
NO_REVEAL: Final = "no_reveal"


def followed(write: Write, step: Step) -> Write:
    """The change with one more step of the game."""
    return Write(changed(write.hosted, game=step.game), write.lines + step.lines)


def gone_on(write: Write, chain: KeyChain, at: int) -> Write:
    """The change with all that is due because somebody's time has run out: the table acts for
    those who are late, or voids the game because seeds were kept back."""
    game = write.hosted.game
    if game.status == "playing":
        return followed(write, steps.run_out(game, chain, at))
    return followed(write, steps.void(game, chain, at, NO_REVEAL))


def ended_idle(write: Write, chain: KeyChain, at: int) -> Write:
    """The change with the end of a game in which nothing happens any more."""
    game = write.hosted.game
    end = steps.void if game.status == "waiting" else steps.abandon
    return followed(write, end(game, chain, at, "idle"))


def without_name(write: Write, seat: int, salt: bytes) -> Write:
    """The change without the name of a seat; the new salt keeps the old one from confirming a
    guess against the log."""
    held = write.hosted.holders[seat]
    if held is None:
        raise SeatNotFound
    return with_holder(write, seat, replace(held, name=None, salt=salt))


def audit_record(
    hosted: HostedGame, lines: Sequence[bytes], signing_keys: SigningKeys
) -> dict[str, Any]:
    """The audit record: all that a verifier needs. The lines are texts in it, so that their bytes
    survive."""
    game = hosted.game
    return {
        "protocol": PROTOCOL,
        "game": game.id,
        "status": game.status,
        "log": [line.decode() for line in lines],
        "public_keys": [public.hex() for public in signing_keys.public],
        "receipt": signing_keys.sign(game.id, game.version, game.head).to_json(),
    }


def with_holder(write: Write, seat: int, holder: Holder | None) -> Write:
    """The change with another holder of a seat, or none."""
    held = write.hosted.holders
    return replace(write, hosted=changed(write.hosted, holders=set_at(held, seat, holder)))


def as_player(held: Holder, commit: bytes | None = None, seed: bytes | None = None) -> Player:
    """Who holds a seat, as the log shall know it."""
    who = None if held.name is None else pseudonym(held.salt, held.name).hex()
    return Player("human", who, commit, seed)


def seated(write: Write, seat: int, holder: Holder, player: Player, at: int) -> Write:
    """The change with a player in a seat."""
    step = steps.join(write.hosted.game, seat, player, at)
    return with_holder(followed(write, step), seat, holder)


def bot_seated(write: Write, seat: int, at: int) -> Write:
    """The change with the bot in its seat: it brings no seed, and nobody holds a token of it."""
    return followed(write, steps.join(write.hosted.game, seat, Player("bot", None), at))


def all_seated(write: Write, holders: Mapping[int, Holder], at: int) -> Write:
    """These people and the game's bots in their seats."""
    named = write.hosted.bots
    for seat in range(write.hosted.game.setup.seats):
        if seat in holders:
            write = seated(write, seat, holders[seat], as_player(holders[seat]), at)
        elif named and named[seat] is not None:
            write = bot_seated(write, seat, at)
    return write


def require_bots(
    ruleset: Ruleset[Any, Any, Any], options: Any, named: Sequence[str | None], at: str = ""
) -> None:
    """Raises InvalidInput unless every bot plays this, and somebody can play against them; ``at``
    is the pointer of what is wrong, where that is not the bot."""
    if named and None not in named:
        raise InvalidInput(FieldError("/seats", "needs_person"))
    for seat, name in enumerate(named):
        if name is not None:
            bots.require_bot(ruleset, options, len(named), name, at or f"/seats/{seat}/bot")


def bot_due(hosted: HostedGame) -> bool:
    """Whether the game waits for a bot."""
    game = hosted.game
    if not hosted.bots or game.status != "playing":
        return False
    return bots.awaited(game.ruleset, game.state, hosted.seated_bots) is not None


def person_plays(hosted: HostedGame) -> bool:
    """Whether a seat that still plays is a person's."""
    game = hosted.game
    return any(
        player is not None and player.kind == "human" and game.ruleset.can_resign(game.state, seat)
        for seat, player in enumerate(game.players)
    )


def bots_followed(write: Write, chain: KeyChain, at: int) -> Write:
    """The change with what the bots do next: until a person is to act or the game is over, but at
    most ``BOT_ACTIONS_MOST`` actions, so that a bot may still be due afterwards."""
    seated_bots = write.hosted.seated_bots
    for _ in range(BOT_ACTIONS_MOST):
        game = write.hosted.game
        if game.status != "playing":
            break
        due = bots.next_action(game.ruleset, game.state, seated_bots, game.head)
        if due is None:
            break
        seat, action = due
        write = followed(write, steps.act(game, seat, action, chain, at))
    return write


def left_to_bots(write: Write, chain: KeyChain, at: int) -> Write:
    """The change with the end of a game in which nobody but bots plays on: nobody waits for its
    outcome, and what one caller can set going stays bounded."""
    return followed(write, steps.abandon(write.hosted.game, chain, at, "no_person"))


def open_seat(hosted: HostedGame, wanted: int | None) -> int:
    """The seat wanted, or the lowest that is open and kept for nobody."""
    free = [seat for seat in hosted.game.open_seats() if hosted.holders[seat] is None]
    if wanted is not None:
        if wanted >= hosted.game.setup.seats:
            raise SeatNotFound
        if wanted not in free:
            raise SeatTaken
        return wanted
    if not free:
        raise GameFull
    return free[0]


def kept_holder(
    hosted: HostedGame, seat: int, wanted: int | None, name: str | None, salt: bytes
) -> Holder:
    """Who comes back to a seat that was kept, under the old name or a new one.

    Raises InvalidInput if another seat is wanted: this one has to be left first.
    """
    if wanted not in (None, seat):
        raise InvalidInput(FieldError("/seat", "not_the_kept_seat"))
    names = names_of(hosted)
    names[seat] = name or names[seat]
    require_distinct(names)
    held = hosted.holders[seat] or Holder(None, salt, None)
    return replace(held, name=names[seat], salt=salt)


def names_of(hosted: HostedGame) -> list[str | None]:
    """The names at the table, by seat."""
    return [None if held is None else held.name for held in hosted.holders]


def require_distinct(names: Sequence[str | None]) -> None:
    """Raises NameTaken if a person could take two of the names for one."""
    given = [folded(name) for name in names if name is not None]
    if len(set(given)) < len(given):
        raise NameTaken


def tally(hosted: HostedGame) -> tuple[int, ...]:
    """The running tally of the series after this game."""
    game, before = hosted.game, hosted.series.tally
    return before if game.outcome is None else tallied(before, game.setup, game.outcome)


def next_series(hosted: HostedGame, options: Any) -> Series:
    """The series goes on; its tally starts anew when the options search for something else."""
    game, series = hosted.game, hosted.series
    same = game.ruleset.tally_key(options) == game.ruleset.tally_key(game.setup.options)
    counted = tally(hosted) if same else (0,) * game.setup.seats
    return Series(series.id, series.number + 1, counted)
