"""``best_mask``: its chances are those of every throw counted one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any, cast

import pytest

from service.bots import duel
from service.rules import ruleset
from service.rules.dice_duel import rank
from service.rules.dice_duel_state import DuelState, Faces, Mask, Round, Rule

RULES: tuple[Rule, ...] = ("sum_high", "sum_low", "trio_pair_sum")


def table(faces: Sequence[Faces], choices: Sequence[Mask | None], **options: Any) -> DuelState:
    """A duel in which these dice lie on the table."""
    rules = ruleset("dice-duel")
    parsed = rules.parse_options(
        {"dice": len(faces[0]), "free_formats": True, **options}, len(faces)
    )
    current = replace(Round.rolled(tuple(faces)), choices=tuple(choices))
    return replace(cast(DuelState, rules.start(parsed, len(faces))), current=current)


def all_masks(dice: int) -> Iterator[Mask]:
    return product((False, True), repeat=dice)


def outcomes(faces: Faces, mask: Mask) -> list[Faces]:
    """Every throw that may follow, each equally likely."""
    sides = [range(1, 7) if again else (face,) for face, again in zip(faces, mask, strict=True)]
    return list(product(*sides))


def share(rule: Rule, tail: bool, own: list[Faces], rivals: list[list[Faces]]) -> Fraction:
    """The part of the round that falls to the first, by going through everything."""
    total, count = Fraction(0), 0
    for mine, *others in product(own, *rivals):
        ranks = [rank(rule, shown) for shown in (mine, *others)]
        end = min(ranks) if tail else max(ranks)
        count += 1
        if ranks[0] == end:
            total += Fraction(1, ranks.count(end))
    return total / count


def best_by_counting(rule: Rule, tail: bool, faces: Faces, rivals: list[list[Faces]]) -> Fraction:
    shares = [share(rule, tail, outcomes(faces, mask), rivals) for mask in all_masks(len(faces))]
    return min(shares) if tail else max(shares)


def drawn(random: Random, dice: int) -> Faces:
    return tuple(1 + int(random.random() * 6) for _ in range(dice))


@pytest.mark.parametrize("tail", [False, True], ids=["winner", "loser"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seats", [2, 3])
def test_no_mask_does_better_than_the_one_chosen(rule, tail, seats):
    random = Random(f"{rule}{tail}{seats}")
    dice = 3 if rule == "trio_pair_sum" else 2
    search = {"first_to_lose" if tail else "first_to_win": 2}
    for _ in range(8):
        faces = [drawn(random, dice) for _ in range(seats)]
        marked = (False, True, False)[:dice]
        choices: list[Mask | None] = [None, marked, *[(False,) * dice] * (seats - 2)]
        state = table(faces, choices, rule=rule, format=search)
        rivals = [outcomes(faces[1], marked), *[[shown] for shown in faces[2:]]]
        chosen = duel.choice(state, 0)
        assert share(rule, tail, outcomes(faces[0], chosen), rivals) == best_by_counting(
            rule, tail, faces[0], rivals
        )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("tail", [False, True], ids=["winner", "loser"])
def test_the_shares_are_those_of_counting_every_throw(rule, tail):
    random = Random(f"shares {rule}{tail}")
    for _ in range(6):
        mine, one, two = (drawn(random, 3) for _ in range(3))
        again = [(True, False, False), (False, True, False), (False, False, False)]
        rivals = [duel.after(rule, one, again[1]), duel.after(rule, two, again[2])]
        counted = share(rule, tail, outcomes(mine, again[0]), [outcomes(one, again[1]), [two]])
        assert duel.Shares(rivals, tail).of(duel.after(rule, mine, again[0])) == counted


@pytest.mark.parametrize("rule", ["sum_high", "sum_low"])
def test_of_so_many_dice_of_a_sum_the_worst_are_thrown_again(rule):
    random = Random(rule)
    for _ in range(20):
        faces, rival = drawn(random, 4), drawn(random, 4)
        shares = duel.Shares([duel.ways(rule, tuple(sorted(rival)), 0)], tail=False)
        every = [shares.of(duel.after(rule, faces, mask)) for mask in all_masks(4)]
        few = [shares.of(duel.after(rule, faces, mask)) for mask in duel.masks(rule, faces)]
        assert max(few) == max(every)


def test_against_a_known_standing_rival_it_takes_as_much_as_is_published():
    """Win and half of the ties, three dice, the higher sum: 14668687/20155392."""
    total = Fraction(0)
    throws = list(product(range(1, 7), repeat=3))
    for rival in throws:
        shares = duel.Shares([duel.ways("sum_high", tuple(sorted(rival)), 0)], tail=False)
        known: dict[Faces, Fraction] = {}
        for mine in throws:
            faces = tuple(sorted(mine))
            if faces not in known:
                known[faces] = max(
                    shares.of(duel.after("sum_high", faces, mask))
                    for mask in duel.masks("sum_high", faces)
                )
            total += known[faces]
    assert total / 216**2 == Fraction(14668687, 20155392)


@pytest.mark.parametrize(
    ("rule", "mine", "rival", "expected"),
    [
        ("sum_high", (6, 6, 6), (1, 1, 1), (False, False, False)),
        ("sum_high", (1, 6, 1), (5, 5, 5), (True, False, True)),
        ("sum_low", (1, 1, 1), (6, 6, 6), (False, False, False)),
        ("sum_low", (6, 1, 2), (1, 1, 2), (True, False, False)),
        ("trio_pair_sum", (4, 4, 1), (5, 5, 2), (False, False, True)),
    ],
)
def test_some_choices_are_plain(rule, mine, rival, expected):
    state = table([mine, rival], [None, (False, False, False)], rule=rule, format={"best_of": 3})
    assert duel.choice(state, 0) == expected


def test_a_rival_that_has_not_chosen_is_taken_to_choose_well():
    """The same dice, but the rival on 1-1-1 will throw again, so that a 10 is not enough."""
    faces, keep = [(3, 3, 4), (1, 1, 1)], (False, False, False)
    assert duel.choice(table(faces, [None, keep], format={"best_of": 3}), 0) == keep
    stands = duel.Shares([duel.after("sum_high", faces[1], (True, True, True))], tail=False)
    chosen = duel.choice(table(faces, [None, None], format={"best_of": 3}), 0)
    best = max(stands.of(duel.after("sum_high", faces[0], mask)) for mask in all_masks(3))
    assert stands.of(duel.after("sum_high", faces[0], chosen)) == best
