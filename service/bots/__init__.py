"""The built-in bots: which there are for each ruleset, and whose turn it is among them. Pure."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from service.bots.bank import careful
from service.bots.base import PLAIN, Bot, Policy, Position
from service.bots.duel import best_mask
from service.bots.jeopardy import best_mean, hold_at
from service.bots.optimal import NEEDS, ONE_DIE_TO_A_TARGET, optimal
from service.bots.plain import any_legal
from service.errors import FieldError, InvalidInput
from service.rules.base import Action, LegalAction, Ruleset, Text

_RANDOM: Final = Bot(
    "random",
    Text(es="Al azar", en="Random"),
    Text(
        es="Hace cualquier jugada permitida. Su azar sale del registro público, no de los dados.",
        en="Takes any legal action. Its chance comes from the public log, not from the dice.",
    ),
    lambda _: any_legal,
)
_HOLD_20: Final = Bot(
    "hold_20",
    Text(es="Se planta con 20", en="Holds at 20"),
    Text(
        es=(
            "Tira hasta acumular 20 en el turno o llegar a la meta. En la última ronda no se "
            "planta mientras otro vaya por delante."
        ),
        en=(
            "Rolls until the turn total is 20 or makes the target. In a last round it does not "
            "hold while another seat is ahead."
        ),
    ),
    lambda _: hold_at(20),
)
_HOLD_AT: Final = Bot(
    "hold_at:N",
    Text(es="Se planta con N", en="Holds at N"),
    Text(
        es="Como hold_20, con el número que se quiera, de 1 a 999: hold_at:25.",
        en="Like hold_20 with a number of one's own, 1 to 999: hold_at:25.",
    ),
    lambda number: hold_at(int(number or 0)),
    pattern=r"^hold_at:([1-9][0-9]{0,2})$",
)
_BEST_MEAN: Final = Bot(
    "simple",
    Text(es="Sencillo", en="Simple"),
    Text(
        es=(
            "Se planta donde la media del turno es más alta con esos dados. Al apostar abre con "
            "una décima parte de sus fichas y paga lo que otro diga si no pasa de la mitad."
        ),
        en=(
            "Holds where the mean of a turn is highest with so many dice. It opens a bet with a "
            "tenth of its chips and pays what others name up to half of them."
        ),
    ),
    lambda _: best_mean,
)
_CAREFUL: Final = Bot(
    "simple",
    Text(es="Sencillo", en="Simple"),
    Text(
        es=(
            "Con la banca pone un límite con el que arriesga la mitad de sus fichas; si no, "
            "apuesta una décima parte de ellas."
        ),
        en=(
            "With the bank it sets a limit that puts half of its chips at risk; without it, it "
            "bets a tenth of them."
        ),
    ),
    lambda _: careful,
)
_OPTIMAL_TITLE: Final = Text(es="Óptimo", en="Optimal")
_OPTIMAL_TEXT: Final = Text(
    es=(
        "Juega de modo que nada gane más a menudo contra un rival igual de bueno. Solo con un "
        "dado, entre dos, hasta 100 como mucho, cuando la meta acaba la partida en el acto y "
        "no se puede ceder el turno sin tirar."
    ),
    en=(
        "Plays so that nothing wins more often against a rival that plays as well. Only with one "
        "die, between two, to 100 at most, where the target ends the game at once and a turn "
        "can't be given up without a throw."
    ),
)
_OPTIMAL_PIG: Final = Bot(
    "optimal",
    _OPTIMAL_TITLE,
    _OPTIMAL_TEXT,
    lambda _: optimal("pig"),
    seats=2,
    options=NEEDS,
)
_OPTIMAL_DADOS: Final = Bot(
    "optimal",
    _OPTIMAL_TITLE,
    _OPTIMAL_TEXT,
    lambda _: optimal("dados-puercos"),
    seats=2,
    options=ONE_DIE_TO_A_TARGET,
)
_BEST_MASK: Final = Bot(
    "best_mask",
    Text(es="El mejor descarte", en="Best mask"),
    Text(
        es=(
            "Repite los dados con los que es más probable llevarse la ronda, contando todas las "
            "tiradas posibles."
        ),
        en=(
            "Throws again the dice with which it most likely takes the round, counting every "
            "possible throw."
        ),
    ),
    lambda _: best_mask,
)

BOTS: Final[Mapping[str, tuple[Bot, ...]]] = {
    "pig": (_HOLD_20, _OPTIMAL_PIG, _HOLD_AT, _RANDOM),
    "two-dice-pig": (_HOLD_20, _HOLD_AT, _RANDOM),
    "big-pig": (_HOLD_20, _HOLD_AT, _RANDOM),
    "pass-the-pigs": (_HOLD_20, _HOLD_AT, _RANDOM),
    "dados-puercos": (_BEST_MEAN, _OPTIMAL_DADOS, _HOLD_20, _HOLD_AT, _RANDOM),
    "heaven-and-nine": (_CAREFUL, _RANDOM),
    "dice-duel": (_BEST_MASK, _RANDOM),
}
"""The bots of each ruleset by its key, the one to suggest first. A name is never taken away: games
in play hold it."""


def _known(key: str, name: str) -> tuple[Bot, str | None] | None:
    """The bot of a ruleset that has this name, and what its name says besides."""
    for bot in BOTS[key]:
        match = re.fullmatch(bot.names, name)
        if match is not None:
            return bot, match[1] if match.re.groups else None
    return None


def require_bot(
    ruleset: Ruleset[Any, Any, Any], options: Any, seats: int, name: str, at: str
) -> None:
    """Raises InvalidInput with the pointer ``at`` unless there is a bot of this name that plays
    this ruleset with these options and so many seats."""
    known = _known(ruleset.key, name)
    if known is None:
        raise InvalidInput(FieldError(at, "not_allowed"))
    bot, _ = known
    if bot.seats not in (None, seats):
        raise InvalidInput(FieldError(at, "bot_seats", (("limit", bot.seats or 0),)))
    refused = bot.refused(options)
    if refused is not None:
        raise InvalidInput(FieldError(at, "bot_option", (("option", refused),)))


@lru_cache(1024)
def policy(key: str, name: str) -> Policy:
    """How the bot of this name plays; raises LookupError if the ruleset has none."""
    known = _known(key, name)
    if known is None:
        raise LookupError(name)
    bot, number = known
    return bot.make(number)


def awaited(
    ruleset: Ruleset[Any, Any, Any], state: Any, bots: Sequence[str | None]
) -> tuple[int | None, tuple[LegalAction, ...]] | None:
    """The seat that a bot must act for now, and what it may do; None while the game waits for a
    person or is over. ``bots`` has the name of each seat's bot, null for a person's.

    What one seat does for the whole table is left to the people as long as one can do it. What is
    the host's the table does by itself (seat null) once no person is in the game any more.
    """
    waiting, legal = ruleset.to_act(state), ruleset.legal(state)
    person_asked = any(bots[seat] is None for seat in waiting)
    for seat in waiting:
        if bots[seat] is not None:
            own = tuple(one for one in legal if one.seat == seat)
            shared = tuple(one for one in own if one.kind in ruleset.table_kinds)
            if not (shared and person_asked):
                return seat, shared or own
    hosts = tuple(one for one in legal if one.seat is None)
    if waiting or not hosts or _person_in(ruleset, state, bots):
        return None
    return None, hosts


def _person_in(ruleset: Ruleset[Any, Any, Any], state: Any, bots: Sequence[str | None]) -> bool:
    return any(bot is None and ruleset.can_resign(state, seat) for seat, bot in enumerate(bots))


def next_action(
    ruleset: Ruleset[Any, Any, Any], state: Any, bots: Sequence[str | None], head: bytes
) -> tuple[int | None, Action] | None:
    """What a bot does now, and for which seat (null: the table); None if no bot is awaited.
    ``head`` is the hash of the log's last line."""
    due = awaited(ruleset, state, bots)
    if due is None:
        return None
    seat, legal = due
    if seat is None:
        return None, PLAIN[legal[0].kind]
    play = policy(ruleset.key, bots[seat] or "")
    return seat, play(Position(ruleset, state, seat, legal, head))
