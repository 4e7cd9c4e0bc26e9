"""The optimal play of two seats that race to a target, found by policy iteration. Pure.

A turn adds up throws; a bust (or holding) passes the turn, and a seat that holds at what it needs
has won. How the game goes on depends on nothing but what the two seats still need, so that one
solution serves every target up to ``MOST``. T. W. Neller and C. G. M. Presser, "Optimal Play of the
Dice Game Pig", The UMAP Journal 25(1), 2004, solve the same equations by value iteration.

The solution is computed once, by ``make policies``, and read by ``optimal``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

MOST: Final = 100
# Two ways to play on that differ by less are taken for equally good: then the seat holds.
_EQUAL: Final = 1e-12

Law: TypeAlias = Mapping[int, float]
"""The chance of each count of points that a throw adds; what is missing to 1 is a bust."""

PIG: Final[Law] = dict.fromkeys((2, 3, 4, 5, 6), 1 / 6)
DADOS_PUERCOS: Final[Law] = dict.fromkeys((1, 2, 3, 4, 5), 1 / 6)


@dataclass(frozen=True, slots=True)
class Solution:
    """``value[own][rival]`` is the chance to win of the seat that begins a turn, and
    ``changes[own][rival]`` the turn totals, rising, at which it goes over from rolling to holding
    and back; both by what the two seats need, 1 to ``MOST`` (row and column 0 are empty)."""

    value: list[list[float]]
    changes: list[list[list[int]]]

    def packed(self) -> bytes:
        """The changes as they are stored: for each pair of needs a count, then so many totals,
        one byte each."""
        rows = (row for own in self.changes[1:] for row in own[1:])
        return b"".join(bytes((len(row), *row)) for row in rows)


def unpacked(stored: bytes) -> list[list[bytes]]:
    """The changes of ``Solution.packed``, by needs from 1 on at index 0."""
    at, table = 0, []
    for _ in range(MOST):
        rows = []
        for _ in range(MOST):
            end = at + 1 + stored[at]
            rows.append(stored[at + 1 : end])
            at = end
        table.append(rows)
    return table


def solve(law: Law) -> Solution:
    """The optimal play where a throw is worth what ``law`` says."""
    size = range(MOST + 1)
    solution = Solution([[0.0] * (MOST + 1) for _ in size], [[[] for _ in size] for _ in size])
    for total in range(2, 2 * MOST + 1):
        for own in range(max(1, total - MOST), total // 2 + 1):
            _solve_pair(law, solution, own, total - own)
    return solution


@dataclass(frozen=True, slots=True)
class _Turn:
    """A way to play a turn: it wins with the chance ``a + b * c``, where ``c`` is that of the seat
    after the turn was lost; ``changes`` as in ``Solution``."""

    a: float
    b: float
    changes: list[int]


def _solve_pair(law: Law, solution: Solution, own: int, rival: int) -> None:
    """Two positions that lead to each other when a turn is lost; all others that they lead to are
    known. From a guess on, each turn is played as well as it can be against the other, until that
    changes nothing any more."""
    value = solution.value
    first = second = 0.5
    played: tuple[_Turn, _Turn] | None = None
    while True:
        turns = (
            _best_turn(law, value, own, rival, 1 - second),
            _best_turn(law, value, rival, own, 1 - first),
        )
        if played and [turn.changes for turn in played] == [turn.changes for turn in turns]:
            break
        played = turns
        # first = a + b (1 - second), second = c + d (1 - first)
        (a, b), (c, d) = ((turn.a, turn.b) for turn in turns)
        first = (a + b * (1 - c - d)) / (1 - b * d)
        second = c + d * (1 - first)
    value[own][rival], value[rival][own] = first, second
    solution.changes[own][rival], solution.changes[rival][own] = (turn.changes for turn in played)


def _best_turn(
    law: Law, value: list[list[float]], own: int, rival: int, after_loss: float
) -> _Turn:
    """The best way to play a turn, backwards from the turn total that wins."""
    lost = 1 - sum(law.values())
    a, b, rolls = [0.0] * own, [0.0] * own, [True] * own
    for total in range(own - 1, -1, -1):
        won, busted = 0.0, lost
        for points, chance in law.items():
            if total + points >= own:
                won += chance
            else:
                won += chance * a[total + points]
                busted += chance * b[total + points]
        # Nobody holds before the first throw.
        held = 1 - value[rival][own - total] if total else 0.0
        if total and held >= won + busted * after_loss - _EQUAL:
            rolls[total] = False
            won, busted = held, 0.0
        a[total], b[total] = won, busted
    changes = [total for total in range(1, own) if rolls[total] != rolls[total - 1]]
    return _Turn(a[0], b[0], changes)
