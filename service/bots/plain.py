"""The bot ``random``: any legal action. Pure, because its choice follows from the log."""

import hashlib
from typing import Final

from service.bots.base import PLAIN, Position, amounting
from service.rules.base import Action, LegalAction, Reroll

_LABEL: Final = b"cubilete/bot/random"


class _Draws:
    """Numbers that follow from the last line of the log and the seat: anybody can draw them again
    from what is public, and they say nothing of the dice to come."""

    def __init__(self, position: Position) -> None:
        self._seed = _LABEL + position.head + position.seat.to_bytes(2, "big")
        self._count = 0

    def below(self, limit: int) -> int:
        """A number from 0 on; with 256 bits for it none is noticeably likelier than another."""
        self._count += 1
        digest = hashlib.sha256(self._seed + self._count.to_bytes(4, "big")).digest()
        return int.from_bytes(digest, "big") % limit


def any_legal(position: Position) -> Action:
    """Each kind of action is as likely as the others, and so is each of its parameters."""
    draws = _Draws(position)
    return _filled(position.legal[draws.below(len(position.legal))], draws)


def _filled(legal: LegalAction, draws: _Draws) -> Action:
    if legal.min is not None and legal.max is not None:
        return amounting(legal, legal.min + draws.below(legal.max - legal.min + 1))
    if legal.dice is not None:
        return Reroll(kind="reroll", mask=tuple(bool(draws.below(2)) for _ in range(legal.dice)))
    return PLAIN[legal.kind]
