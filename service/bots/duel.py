"""The bot ``best_mask``: which dice of a duel to throw again, by exact chances. Pure.

Every mask is weighed by the share of the round that it brings: 1 for a win alone, an equal part of
it where several are tied. (Where a loser is searched: what is lost, which shall be little.) What a
rival that has chosen will show is counted over all its throws. One that has not chosen is taken to
choose what does best against all other dice as they lie.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import lcm, prod
from typing import Final, TypeAlias

from service.bots.base import PLAIN, Position
from service.rules.base import Action, Reroll
from service.rules.dice_duel import rank
from service.rules.dice_duel_state import DuelState, Faces, Mask, Rule

Rank: TypeAlias = tuple[int, int]
Ways: TypeAlias = Mapping[Rank, int]
"""In how many ways a throw comes to each rank."""
_FACES: Final = range(1, 7)


def best_mask(position: Position) -> Action:
    """The mask with the best chances in this round; of equally good ones that with fewest dice."""
    state: DuelState = position.state
    if position.offer("reroll") is None:
        return PLAIN[position.legal[0].kind]
    mask = choice(state, position.seat)
    return Reroll(kind="reroll", mask=mask) if any(mask) else PLAIN["hold"]


def choice(state: DuelState, seat: int) -> Mask:
    """The best mask of a seat, the others being what the head of this file says."""
    options, before = state.options, state.current.before
    rivals = []
    for other in state.seats_in:
        if other != seat:
            mask = state.current.choices[other]
            if mask is None:
                lying = (before[third] for third in state.seats_in if third != other)
                mask = _against_lying(
                    options.rule, options.loser_searched, before[other], tuple(sorted(lying))
                )
            rivals.append(after(options.rule, before[other], mask))
    return best(options.rule, options.loser_searched, before[seat], rivals)


@lru_cache(4096)
def _against_lying(rule: Rule, tail: bool, faces: Faces, lying: tuple[Faces, ...]) -> Mask:
    """The best mask against dice that nobody throws again."""
    return best(rule, tail, faces, [ways(rule, tuple(sorted(dice)), 0) for dice in lying])


def best(rule: Rule, tail: bool, faces: Faces, rivals: Sequence[Ways]) -> Mask:
    """The mask that brings most of the round, or least where the tail of all throws loses it."""
    shares = Shares(rivals, tail)
    sign = -1 if tail else 1
    # Of equal ones the first is taken.
    return max(masks(rule, faces), key=lambda mask: sign * shares.of(after(rule, faces, mask)))


def masks(rule: Rule, faces: Faces) -> Iterator[Mask]:
    """Every mask that can be the best one, those with fewer dice first. Where sums are compared,
    of so many dice none are better to throw again than those that are worth least."""
    dice = range(len(faces))
    worst_first = sorted(dice, key=lambda die: rank(rule, faces[die : die + 1]))
    for count in range(len(faces) + 1):
        sets = combinations(dice, count) if rule == "trio_pair_sum" else [worst_first[:count]]
        for again in sets:
            yield tuple(die in again for die in dice)


def after(rule: Rule, faces: Faces, mask: Mask) -> Ways:
    """What dice come to when those marked are thrown again."""
    kept = sorted(face for face, again in zip(faces, mask, strict=True) if not again)
    return ways(rule, tuple(kept), sum(mask))


@lru_cache(4096)
def ways(rule: Rule, kept: Faces, thrown: int) -> Ways:
    """The ranks of these dice (sorted) together with so many that are thrown."""
    if rule == "trio_pair_sum":
        return Counter(rank(rule, kept + again) for again in product(_FACES, repeat=thrown))
    sums = Counter({sum(kept): 1})
    for _ in range(thrown):
        more: Counter[int] = Counter()
        for total, count in sums.items():
            for face in _FACES:
                more[total + face] += count
        sums = more
    return {rank(rule, (total,)): count for total, count in sums.items()}


class Shares:
    """The part of the round that falls to a seat against these rivals: it stands alone or with
    others at the head (``tail``: at the tail) of all throws."""

    def __init__(self, rivals: Sequence[Ways], tail: bool) -> None:
        self._rivals = rivals
        self._tail = tail
        self._parts = lcm(*range(1, len(rivals) + 2))
        self._throws = prod(sum(rival.values()) for rival in rivals)
        self._known: dict[Rank, int] = {}

    def of(self, own: Ways) -> Fraction:
        """The share, from 0 to 1, of a seat whose dice come to this."""
        counted = sum(count * self._at(shown) for shown, count in own.items())
        return Fraction(counted, sum(own.values()) * self._throws * self._parts)

    def _at(self, shown: Rank) -> int:
        """The parts that a throw of this rank takes, over all throws of the rivals."""
        if shown not in self._known:
            self._known[shown] = sum(
                tied * (self._parts // (others + 1))
                for others, tied in enumerate(self._ties(shown))
            )
        return self._known[shown]

    def _ties(self, shown: Rank) -> list[int]:
        """In how many ways no rival is beyond this rank and 0, 1, .. of them are at it."""
        ties = [1]
        for rival in self._rivals:
            equal = rival.get(shown, 0)
            behind = sum(
                count
                for other, count in rival.items()
                if (other > shown if self._tail else other < shown)
            )
            ties = [
                behind * before + equal * fewer
                for before, fewer in zip([*ties, 0], [0, *ties], strict=True)
            ]
        return ties
