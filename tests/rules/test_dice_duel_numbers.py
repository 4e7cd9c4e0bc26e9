"""Duelo de dados: exact numbers, enumerated with the ruleset's own comparison of throws."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from service.rules.dice_duel import DICE_DUEL, head, rank
from service.rules.dice_duel_state import Faces, Rule
from tests.rules.table import Table

SIDES = range(1, 7)


def throws(dice: int) -> list[Faces]:
    """Every throw of so many dice, each as likely as any other."""
    return list(product(SIDES, repeat=dice))


@cache
def rank_law(rule: Rule, dice: int) -> dict[tuple[int, int], Fraction]:
    """How likely each rank is."""
    ranks = Counter(rank(rule, faces) for faces in throws(dice))
    return {shown: Fraction(ways, 6**dice) for shown, ways in ranks.items()}


def tie(rule: Rule, dice: int) -> Fraction:
    """How likely two throws tie."""
    return sum((chance**2 for chance in rank_law(rule, dice).values()), Fraction(0))


TIES = [
    (1, Fraction(1, 6)),
    (2, Fraction(73, 648)),
    (3, Fraction(361, 3888)),
    (4, Fraction(7553, 93312)),
    (5, Fraction(7631, 104976)),
]


@pytest.mark.parametrize("rule", ["sum_high", "sum_low"])
@pytest.mark.parametrize(("dice", "expected"), TIES)
def test_two_sums_tie_as_often_as_they_must(rule: Rule, dice: int, expected: Fraction) -> None:
    assert tie(rule, dice) == expected


@pytest.mark.parametrize(("dice", "expected"), TIES[:2])
def test_two_seats_tie_as_often_as_they_must_at_the_table(dice: int, expected: Fraction) -> None:
    tied = 0
    for faces in throws(2 * dice):
        game = Table(DICE_DUEL, 2, dice=dice, reroll=False, format={"best_of": 1})
        game.act(0, "roll", *faces)
        tied += game.outcome is None
    assert Fraction(tied, 6 ** (2 * dice)) == expected


def test_the_trio_rule_ranks_trio_pair_and_nothing_as_often_as_they_fall() -> None:
    law = dict.fromkeys(range(3), Fraction(0))
    for (group, _), chance in rank_law("trio_pair_sum", 3).items():
        law[group] += chance
    assert law == {2: Fraction(1, 36), 1: Fraction(5, 12), 0: Fraction(5, 9)}


def test_two_throws_tie_under_the_trio_rule_as_often_as_they_must() -> None:
    assert tie("trio_pair_sum", 3) == Fraction(257, 3888)


def test_the_head_of_two_throws_agrees_with_their_ranks() -> None:
    both = sum(
        len(head("trio_pair_sum", {0: mine, 1: theirs})) == 2
        for mine in throws(3)
        for theirs in throws(3)
    )
    assert Fraction(both, 6**6) == Fraction(257, 3888)


def points(mine: Faces, theirs: Faces) -> Fraction:
    """A win counts 1, a tie half: it is broken on equal terms."""
    seats = head("sum_high", {0: mine, 1: theirs})
    return Fraction(0 in seats, len(seats))


@cache
def worth(kept: int, again: int, rival: int) -> Fraction:
    """The points expected against a standing sum when so many dice are thrown again."""
    total = sum((points((kept, *faces), (rival,)) for faces in throws(again)), Fraction(0))
    return total / 6**again


def best_worth(mine: Faces, rival: int) -> Fraction:
    """The points expected with the best of all masks."""
    return max(
        worth(
            sum(face for face, marked in zip(mine, mask, strict=True) if not marked),
            sum(mask),
            rival,
        )
        for mask in product((False, True), repeat=len(mine))
    )


def test_the_best_mask_against_a_known_standing_rival_wins_as_often_as_it_must() -> None:
    rivals = Counter(sum(faces) for faces in throws(3))
    total = sum(
        (ways * best_worth(mine, rival) for mine in throws(3) for rival, ways in rivals.items()),
        Fraction(0),
    )
    assert total / 6**6 == Fraction(14668687, 20155392)
