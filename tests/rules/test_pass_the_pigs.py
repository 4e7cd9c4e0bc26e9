"""Pass the Pigs: all 36 pairs as a table, the chances of a throw, and what it shares with Pig.

The chances are those of J. C. Kern, "Pig Data and Bayesian Inference on Multinomial Probabilities",
Journal of Statistics Education 14(3), 2006: 6,000 throws of a pair of pigs.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest

from service.dice import Face, even_die
from service.errors import InvalidInput
from service.rules.base import Outcome
from service.rules.pass_the_pigs import PASS_THE_PIGS, PIG, POINTS, SIDES
from tests.rules.table import Table

BUST = 0
POSITIONS = ("dot_up", "dot_down", "trotter", "razorback", "snouter", "leaning_jowler")
# The points of a throw: one pig by row, the other by column, in the order of POSITIONS.
THROWS = (
    (1, BUST, 5, 5, 10, 15),
    (BUST, 1, 5, 5, 10, 15),
    (5, 5, 20, 10, 15, 20),
    (5, 5, 10, 20, 15, 20),
    (10, 10, 15, 15, 40, 25),
    (15, 15, 20, 20, 25, 60),
)
PAIRS = [
    (one, other, points)
    for one, row in zip(POSITIONS, THROWS, strict=True)
    for other, points in zip(POSITIONS, row, strict=True)
]
OPTIONS = PASS_THE_PIGS.parse_options({}, 2)


def table(seats: int = 2, faces: tuple[Face, ...] = (), **options: Any) -> Table:
    return Table(PASS_THE_PIGS, seats, faces, **{"starter": "seat", **options})


def with_scores(game: Table, *scores: int) -> Table:
    game.state = replace(game.state, scores=scores)
    return game


# --- throws -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other", "points"), PAIRS)
def test_every_pair_has_its_points(one: str, other: str, points: int) -> None:
    game = table()
    rolled = game.act(0, "roll", one, other)[0]
    assert rolled.faces == (one, other)
    assert rolled.points == points
    assert game.view["turn_total"] == points
    assert game.view["seat"] == (1 if points == BUST else 0)


def test_the_table_has_all_36_pairs() -> None:
    assert set(PIG.faces) == set(POSITIONS) == {*SIDES, *POINTS}
    assert len(PAIRS) == 36


def test_opposite_sides_lose_the_turn_total_and_keep_the_score() -> None:
    game = with_scores(table(), 30, 0)
    game.act(0, "roll", "razorback", "razorback")
    events = game.act(0, "roll", "dot_up", "dot_down")
    assert [event.kind for event in events] == ["rolled", "busted", "turn_started"]
    assert events[1].lost == 20
    assert game.view["scores"] == [30, 0]


def test_equal_positions_force_nothing() -> None:
    game = table()
    game.act(0, "roll", "snouter", "snouter")
    assert game.kinds(0) == ["roll", "hold"]


# --- chances by exact enumeration ---------------------------------------------------------------


@cache
def chances() -> dict[int | None, Fraction]:
    """The probability of each number of points; None is a bust."""
    weights = dict(zip(PIG.faces, PIG.weights, strict=True))
    total = sum(PIG.weights)
    law: dict[int | None, Fraction] = {}
    for one, other in product(PIG.faces, repeat=2):
        verdict = PASS_THE_PIGS.judge(OPTIONS, (one, other))
        points = None if verdict.ends == "bust" else verdict.points
        part = Fraction(weights[one] * weights[other], total**2)
        law[points] = law.get(points, Fraction(0)) + part
    return law


def banked(hold: int) -> dict[int, Fraction]:
    """The law of the points that a turn banks when it holds at so many."""
    reached: dict[int, Fraction] = {0: Fraction(1)}
    law: dict[int, Fraction] = {}
    for total in range(hold):
        here = reached.pop(total, Fraction(0))
        for points, part in chances().items() if here else ():
            after = 0 if points is None else total + points
            ended = points is None or after >= hold
            into = law if ended else reached
            into[after] = into.get(after, Fraction(0)) + here * part
    return law


def mean(hold: int) -> float:
    return float(sum(points * part for points, part in banked(hold).items()))


def test_the_weights_are_those_that_were_counted() -> None:
    total = sum(PIG.weights)
    assert total == 9_991
    shares = [round(100 * weight / total, 1) for weight in PIG.weights]
    assert shares == [30.2, 34.9, 8.8, 22.4, 3.0, 0.6]


def test_one_throw_in_five_is_a_bust() -> None:
    assert chances()[None] == Fraction(21_079_600, 9_991**2)
    assert float(chances()[None]) == pytest.approx(0.211176, abs=5e-7)


def test_the_mean_of_a_throw_is_4_72_points() -> None:
    whole = sum(points * part for points, part in chances().items() if points is not None)
    assert whole == Fraction(471_080_860, 9_991**2)
    assert float(whole) == pytest.approx(4.719300, abs=5e-7)


def test_every_number_of_points_has_its_chance() -> None:
    law = {points: float(part) for points, part in chances().items() if points is not None}
    assert law == pytest.approx(
        {
            1: 0.213389,
            5: 0.406956,
            10: 0.078625,
            15: 0.026710,
            20: 0.061838,
            25: 0.000367,
            40: 0.000902,
            60: 0.000037,
        },
        abs=5e-7,
    )


def test_the_best_number_to_hold_at_is_23() -> None:
    assert max(range(15, 32), key=mean) == 23
    assert mean(23) == pytest.approx(9.994360, abs=5e-7)
    assert float(banked(23)[0]) == pytest.approx(0.646754, abs=5e-7)


# --- the roll-off -------------------------------------------------------------------------------


def test_the_roll_off_goes_by_the_points_of_the_throw() -> None:
    faces = ("dot_up", "dot_down", "snouter", "trotter", "razorback", "dot_up")
    game = table(3, faces, starter="roll")
    assert game.events[0].sums == (0, 15, 5)
    assert game.events[0].faces == (faces[0:2], faces[2:4], faces[4:6])
    assert game.view["starter"] == 1


def test_only_those_tied_for_the_most_points_throw_again() -> None:
    first = ("dot_up", "dot_down", "trotter", "dot_up", "dot_up", "razorback")
    game = table(3, (*first, "dot_up", "dot_up", "dot_up", "snouter"), starter="roll")
    assert [event.seats for event in game.events[:2]] == [(0, 1, 2), (1, 2)]
    assert game.view["starter"] == 2


def test_the_starter_can_be_drawn_or_be_seat_0() -> None:
    assert table(3, (2,), starter="random").view["starter"] == 2
    assert table(3).view["starter"] == 0
    drawn = PASS_THE_PIGS.parse_options({"starter": "random"}, 3)
    assert PASS_THE_PIGS.dice(drawn, 3) == {"pig": PIG, "seat": even_die(3)}
    assert PASS_THE_PIGS.dice(OPTIONS, 2) == {"pig": PIG}


# --- options and the end, as in Pig -------------------------------------------------------------


def test_the_first_to_bank_100_wins_at_once() -> None:
    game = with_scores(table(), 40, 0)
    game.act(0, "roll", "leaning_jowler", "leaning_jowler")
    assert game.outcome is None
    game.act(0, "hold")
    assert game.outcome == Outcome.of("target_reached", [0], 2, [100, 0])


def test_the_round_can_be_completed() -> None:
    game = with_scores(table(finish="complete_round"), 90, 95)
    game.act(0, "roll", "snouter", "dot_up")
    game.act(0, "hold")
    assert game.view["last_round"] is True
    game.act(1, "roll", "trotter", "razorback")
    game.act(1, "hold")
    assert game.outcome == Outcome.of("last_round", [1], 2, [100, 105])


def test_reaching_the_target_can_hold_by_itself() -> None:
    game = with_scores(table(auto_hold=True), 99, 0)
    game.act(0, "roll", "dot_up", "dot_up")
    assert game.outcome == Outcome.of("target_reached", [0], 2, [100, 0])


def test_a_turn_begins_with_a_throw_unless_the_table_says_otherwise() -> None:
    assert table().refusal(0, "hold") == "nothing_rolled"
    assert table(hold_before_roll=True).refusal(0, "hold") is None


@pytest.mark.parametrize("seats", [1, 9])
def test_two_to_eight_seats_play(seats: int) -> None:
    with pytest.raises(InvalidInput):
        PASS_THE_PIGS.parse_options({}, seats)
