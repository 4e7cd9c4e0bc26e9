"""What a player types, understood: an action of a seat, or one of the terminal's own commands."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pydantic import TypeAdapter

from service.game import Game
from service.rules.base import Action, LegalAction, SeatAction, kind_of
from service.terminal.telling import Teller
from service.terminal.texts import ACTIONS, HELP, QUIT

_ACTION: Final[TypeAdapter[Action]] = TypeAdapter(SeatAction)
_AMOUNTS: Final = ("bet", "set_limit")
Own: TypeAlias = Literal["help", "quit", "nothing"]
_OWN: Final[Mapping[str, Own]] = {"help": "help", "quit": "quit"}


class NotUnderstood(Exception):
    """What was typed is no command; the message tells the player, in their language."""


@dataclass(frozen=True, slots=True)
class Ask:
    """An action that a seat asks for; whether it is legal is for the rules to say."""

    seat: int | None
    action: Action


def understood(
    line: str, game: Game, seat: int | None, names: Sequence[str], teller: Teller
) -> Ask | Own:
    """The command in ``line``, typed for ``seat`` unless it names another player with a colon.

    Raises NotUnderstood.
    """
    named, colon, rest = line.rpartition(":")
    if colon:
        seat = _player(named, names, teller)
    words = rest.replace(",", " ").split()
    if not words:
        return "nothing"
    own = [one for one in game.legal() if one.seat == seat]
    kinds = [kind_of(action) for action in game.ruleset.actions]
    kind = _kind(words[0], [one.kind for one in own], kinds, teller)
    if kind in _OWN:
        return _OWN[kind]
    fields = _fields(kind, words[1:], next((one for one in own if one.kind == kind), None), teller)
    return Ask(seat, _ACTION.validate_python({"kind": kind, **fields}))


def _folded(text: str) -> str:
    """Case and accents don't count."""
    parts = unicodedata.normalize("NFD", text).casefold()
    return "".join(one for one in parts if not unicodedata.combining(one)).strip()


def _player(named: str, names: Sequence[str], teller: Teller) -> int:
    """The seat of a player: by the beginning of the name, or by the place at the table from 1."""
    wanted = _folded(named)
    exact = [seat for seat, name in enumerate(names) if _folded(name) == wanted]
    found = exact or [seat for seat, name in enumerate(names) if _folded(name).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if wanted in {str(place) for place in range(1, len(names) + 1)}:
        return int(wanted) - 1
    raise NotUnderstood(teller.phrase("which_player", names=", ".join(names)))


# --- which command ------------------------------------------------------------------------------


def _kind(typed: str, legal: Sequence[str], kinds: Sequence[str], teller: Teller) -> str:
    """The kind meant: a whole word (English ones always do), else the beginning of one that is
    legal, else of one that the ruleset knows. To resign takes the whole word."""
    wanted = _folded(typed)
    shown = {kind: teller.text(ACTIONS[kind][0]) for kind in kinds} | {"quit": teller.text(QUIT)}
    whole = {kind: _words(kind, ACTIONS[kind][0].en, shown[kind]) for kind in kinds}
    whole |= {"quit": _words(QUIT.en, QUIT.es), "help": {"?", *_words(HELP.en, HELP.es)}}
    for kind, words in whole.items():
        if wanted in words:
            return kind
    for candidates in (legal, [kind for kind in shown if kind != "resign"]):
        found = [kind for kind in candidates if _folded(shown[kind]).startswith(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(shown[kind] for kind in found)
            raise NotUnderstood(teller.phrase("which", choices=choices))
    choices = ", ".join(["?", *(shown[kind] for kind in [*legal, "quit"])])
    raise NotUnderstood(teller.phrase("not_understood", choices=choices))


def _words(*spellings: str) -> set[str]:
    return {_folded(spelling) for spelling in spellings}


# --- what follows the word ----------------------------------------------------------------------


def _fields(
    kind: str, typed: Sequence[str], legal: LegalAction | None, teller: Teller
) -> dict[str, object]:
    word = teller.text(ACTIONS[kind][0])
    if kind in _AMOUNTS:
        return {"amount": _amount(word, typed, legal, teller)}
    if kind == "reroll":
        return {"mask": _mask(word, typed, legal, teller)}
    if typed:
        raise NotUnderstood(teller.phrase("nothing_after", word=word))
    return {}


def _amount(word: str, typed: Sequence[str], legal: LegalAction | None, teller: Teller) -> int:
    """The number typed; the only one possible may be left out."""
    if not typed and legal is not None and legal.min is not None and legal.min == legal.max:
        return legal.min
    least = 1 if legal is None or legal.min is None else legal.min
    if len(typed) == 1 and typed[0].isdecimal() and len(typed[0]) <= 15:
        return int(typed[0])
    raise NotUnderstood(teller.phrase("needs_amount", word=word, least=least))


def _mask(
    word: str, typed: Iterable[str], legal: LegalAction | None, teller: Teller
) -> tuple[bool, ...]:
    dice = 1 if legal is None or legal.dice is None else legal.dice
    marked = set(typed)
    if legal is None:
        return (True,) * dice
    numbers = [str(number) for number in range(1, dice + 1)]
    if not marked or not marked <= set(numbers):
        raise NotUnderstood(teller.phrase("needs_dice", word=word, dice=dice))
    return tuple(number in marked for number in numbers)
