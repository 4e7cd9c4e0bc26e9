"""The bot ``optimal``: no way to play wins more often against one that plays as well. Pure.

Two seats that race to a target at once; the files in ``solved`` hold what ``solver`` has found.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

from service.bots.base import PLAIN, Policy, Position
from service.bots.solver import MOST, unpacked
from service.rules.base import Action
from service.rules.jeopardy import Jeopardy

_SOLVED: Final = files("service.bots") / "solved"

NEEDS: Final[dict[str, dict[str, Any]]] = {
    "target": {"maximum": MOST},
    "finish": {"const": "at_once"},
    "hold_before_roll": {"const": False},
}
"""What the options must be for the solution to be one; all others make no difference."""
ONE_DIE_TO_A_TARGET: Final[dict[str, dict[str, Any]]] = {
    "mode": {"const": "points"},
    "dice": {"const": 1},
    **NEEDS,
}


def optimal(solved: str) -> Policy:
    """Holds and rolls as the solution of this name says."""

    def policy(position: Position) -> Action:
        if position.offer("hold") is None:
            return PLAIN["roll"]
        state, rules = position.state, cast(Jeopardy[Any, Any], position.ruleset)
        target = rules.target(state.options) or 0
        own, rival = (target - state.scores[seat] for seat in (position.seat, 1 - position.seat))
        return PLAIN["hold" if holds(solved, own, rival, state.turn_total) else "roll"]

    return policy


def holds(solved: str, own: int, rival: int, turn_total: int) -> bool:
    """Whether a seat that needs ``own`` points, while the other needs ``rival``, holds at a turn
    total of 1 or more."""
    if turn_total >= own:
        return True
    changes = _table(solved)[own - 1][rival - 1]
    return sum(change <= turn_total for change in changes) % 2 == 1


@cache
def _table(solved: str) -> Sequence[Sequence[bytes]]:
    return unpacked((_SOLVED / f"{solved}.bin").read_bytes())
