"""Paraíso y Nueve in exact numbers: every throw is made through the rules, none by hand.

A throw of the other series changes nothing, so the chances of the next throw that counts are
those of the counting throws among the 36.
"""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import pytest

from service.rules import base
from service.rules.heaven_and_nine import HEAVEN_AND_NINE as RULES
from service.rules.heaven_and_nine_state import HeavenAndNineState
from service.rules.heaven_and_nine_throws import THROWS
from tests.rules.table import GivenDice, Table

ROLL = base.Roll(kind="roll")
Events: TypeAlias = list[Any]
Throws: TypeAlias = list[tuple[Fraction, tuple[int, int]]]

ORDERED: Throws = [(Fraction(1, 36), faces) for faces in product(range(1, 7), range(1, 7))]
UNORDERED: Throws = [(Fraction(each.ways, 36), each.faces) for each in THROWS]


def placed(bettors: int, **options: Any) -> HeavenAndNineState:
    """Seat 0 banks, all others have bet 1 chip, and the banker is about to throw."""
    table = Table(RULES, bettors + 1, starter="seat", **options)
    table.act(0, "set_limit", amount=1)
    for seat in range(1, bettors + 1):
        table.act(seat, "bet", amount=1)
    return table.state


def rolled(state: HeavenAndNineState, faces: tuple[int, int]) -> Events:
    (seat,) = RULES.to_act(state)
    return list(RULES.decide(state, seat, ROLL, GivenDice(faces)))


def after(state: HeavenAndNineState, events: Events) -> HeavenAndNineState:
    """The state after these events, whatever the last throw showed."""
    for event in events:
        state = RULES.apply(state, event)
    return replace(state, last_throw=None)


def counting(state: HeavenAndNineState, throws: Throws) -> list[tuple[Fraction, Events]]:
    """The events of the next throw that counts, with their chances."""
    made = [(chance, rolled(state, faces)) for chance, faces in throws]
    counted = [(chance, events) for chance, events in made if getattr(events[0], "counts", True)]
    total = sum((chance for chance, _ in counted), Fraction(0))
    return [(chance / total, events) for chance, events in counted]


def test_a_throw_that_does_not_count_changes_nothing():
    for _, events in counting(placed(1), ORDERED):
        settling = after(placed(1), events)
        voids = [rolled(settling, faces) for _, faces in ORDERED if events[-1].kind == "mark_set"]
        for void in voids:
            assert void[0].counts or after(settling, void) == settling


@cache
def law_of_a_bet() -> dict[int, Fraction]:
    """What a single bet of 1 chip wins, with its chance."""
    law: defaultdict[int, Fraction] = defaultdict(Fraction)
    for chance, events in counting(placed(1), ORDERED):
        if events[-1].kind == "mark_set":
            for more, further in counting(after(placed(1), events), ORDERED):
                law[further[1].won] += chance * more
        else:
            law[events[1].won] += chance
    return dict(law)


@cache
def chance_that_the_bank_passes(bettors: int, **options: Any) -> Fraction:
    passes = Fraction(0)
    layer = {placed(bettors, **options): Fraction(1)}
    while layer:
        following: defaultdict[HeavenAndNineState, Fraction] = defaultdict(Fraction)
        for state, chance in layer.items():
            for more, events in counting(state, UNORDERED):
                kinds = [event.kind for event in events]
                if "round_ended" not in kinds:
                    following[after(state, events)] += chance * more
                elif "bank_passed" in kinds:
                    passes += chance * more
        layer = following
    return passes


def test_the_chances_of_a_bet_are_the_published_ones():
    assert law_of_a_bet() == {
        -1: Fraction(65, 144),
        1: Fraction(1267, 2880),
        0: Fraction(313, 2880),
    }


def test_the_banks_edge_is_11_in_960():
    assert -sum(won * chance for won, chance in law_of_a_bet().items()) == Fraction(11, 960)


@pytest.mark.parametrize(
    ("bettors", "chance"),
    [(1, 0.439931), (2, 0.590812), (3, 0.670877), (4, 0.718913), (5, 0.750505)],
)
def test_the_bank_passes_as_often_as_published(bettors: int, chance: float):
    assert abs(chance_that_the_bank_passes(bettors) - Fraction(chance)) < Fraction(1, 10**6) / 2


def test_an_automatic_loss_that_does_not_pass_takes_4_of_36():
    kept = chance_that_the_bank_passes(1, automatic_loss_passes=False)
    assert chance_that_the_bank_passes(1) - kept == Fraction(4, 36)


def test_the_bank_passes_after_the_round_as_often_as_at_once():
    for bettors in (1, 2, 3):
        at_once = chance_that_the_bank_passes(bettors, bank_passes="at_once")
        assert at_once == chance_that_the_bank_passes(bettors)


def test_a_bettor_throws_fewer_than_two_times_a_round_on_average():
    mean = Fraction(0)
    for chance, events in counting(placed(1), ORDERED):
        if events[-1].kind == "mark_set":
            settling = after(placed(1), events)
            shares = [share for share, faces in ORDERED if rolled(settling, faces)[0].counts]
            mean += chance / sum(shares, Fraction(0))
    assert Fraction(3, 2) < mean < 2
