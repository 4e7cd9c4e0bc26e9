"""Pig, Two-Dice Pig and Big Pig: the example tables of the rules as data, and every option."""

from dataclasses import replace
from typing import Any

import pytest

from service.dice import D6, even_die
from service.errors import InvalidInput
from service.rules.base import SEAT_ACTIONS, LegalAction, Outcome, Resign, kind_of
from service.rules.jeopardy import REASONS
from service.rules.jeopardy_state import Banked, Busted
from service.rules.pigs import BIG_PIG, PIG, TWO_DICE_PIG
from tests.rules.table import ACTIONS, GivenDice, Table

FREE, FORCED = ["roll", "hold"], ["roll"]


def table(ruleset: Any = BIG_PIG, seats: int = 2, **options: Any) -> Table:
    """A table whose seat 0 starts."""
    return Table(ruleset, seats, **{"starter": "seat", **options})


def with_scores(game: Table, *scores: int) -> Table:
    """The same table, further on."""
    game.state = replace(game.state, scores=scores)
    return game


def with_total(game: Table, turn_total: int) -> Table:
    """The same table in the middle of a turn."""
    game.state = replace(game.state, turn_total=turn_total, rolls=1)
    return game


def roll(game: Table, *throws: tuple[int, ...]) -> None:
    """The seat on turn throws these, one after the other."""
    for faces in throws:
        game.act(game.state.seat, "roll", *faces)


def hold(game: Table) -> None:
    game.act(game.state.seat, "hold")


def bank(game: Table, *throws: tuple[int, ...]) -> None:
    """A whole turn of the seat whose turn it is."""
    roll(game, *throws)
    hold(game)


def kinds(events: list[Any]) -> list[str]:
    return [event.kind for event in events]


def won(reason: Any, winners: list[int], scores: list[int]) -> Outcome:
    return Outcome.of(reason, winners, len(scores), scores)


def seated(game: Table) -> tuple[int, int]:
    return game.view["seat"], game.view["round"]


# --- the example table of Big Pig ---------------------------------------------------------------

THROWS = [
    # turn total, score, throws, turn total after, score after, whose turn, what it may do
    (0, 0, [(3, 4)], 7, 0, 0, FREE),
    (30, 20, [(1, 5)], 0, 20, 1, FORCED),
    (12, 90, [(1, 1)], 0, 0, 1, FORCED),
    (0, 94, [(4, 4)], 16, 94, 0, FORCED),
    (0, 94, [(4, 4), (1, 5)], 0, 94, 1, FORCED),
    (0, 96, [(3, 3)], 12, 96, 0, FORCED),
    (0, 96, [(3, 3), (1, 1)], 0, 0, 1, FORCED),
    (0, 0, [(2, 2)], 8, 0, 0, FORCED),
    (0, 0, [(2, 2), (3, 3)], 20, 0, 0, FORCED),
    (0, 0, [(2, 2), (3, 3), (5, 2)], 27, 0, 0, FREE),
]


@pytest.mark.parametrize(("before", "score", "throws", "total", "after", "seat", "legal"), THROWS)
def test_big_pig_throws(
    before: int,
    score: int,
    throws: list[tuple[int, int]],
    total: int,
    after: int,
    seat: int,
    legal: list[str],
) -> None:
    game = with_total(with_scores(table(), score, 0), before)
    roll(game, *throws)
    view = game.view
    assert (view["turn_total"], view["scores"][0], view["seat"]) == (total, after, seat)
    assert game.kinds(seat) == legal
    assert view["must_roll"] == (seat == 0 and legal == FORCED)
    assert view["last_round"] is False


def test_a_hold_right_after_a_double_is_refused() -> None:
    game = table()
    roll(game, (4, 4))
    assert game.refusal(0, "hold") == "must_roll"


def test_banking_the_target_starts_the_last_round() -> None:
    game = with_scores(table(), 94, 0)
    roll(game, (2, 4))
    assert kinds(game.act(0, "hold")) == ["banked", "last_round_started", "turn_started"]
    assert game.view["last_round"] is True
    assert game.outcome is None


def test_the_last_seat_of_the_round_wins_at_once() -> None:
    game = with_scores(table(), 40, 96)
    bank(game, (2, 3))
    bank(game, (2, 4))
    assert game.outcome == won("target_reached", [1], [45, 102])
    assert game.ruleset.legal(game.state) == ()
    assert game.view["last_round"] is False


@pytest.mark.parametrize("last", [[(1, 4)], [(2, 3), "hold"]], ids=["bust", "banked"])
def test_nothing_is_left_of_a_turn_that_ends_the_game(last: list[Any]) -> None:
    game = with_total(table(), 106)
    hold(game)
    for step in last:
        if step == "hold":
            hold(game)
        else:
            roll(game, step)
    assert game.outcome is not None
    assert (game.view["turn_total"], game.view["must_roll"]) == (0, False)


@pytest.mark.parametrize(("total", "must_roll"), [(5, False), (0, True), (5, True)])
def test_the_end_of_a_turn_is_an_end_whatever_a_log_tells_before_it(
    total: int, must_roll: bool
) -> None:
    state = replace(table().state, turn_total=total, must_roll=must_roll)
    for event in (Busted(seat=0, lost=5), Banked(seat=0, points=5, score=5)):
        ended = BIG_PIG.apply(state, event)
        assert (ended.turn_total, ended.must_roll) == (0, False)


def test_a_tie_after_the_last_round_is_played_off_by_those_tied_alone() -> None:
    game = with_scores(table(seats=3), 95, 100, 70)
    bank(game, (5, 6))
    bank(game, (2, 4))
    assert kinds(game.act(2, "roll", 1, 2))[-2:] == ["playoff_started", "turn_started"]
    assert game.view["playoff"] == [0, 1]
    assert game.view["last_round"] is True
    assert seated(game) == (0, 2)
    assert game.kinds(0) == FORCED


def test_a_double_one_wipes_the_score_in_a_playoff_too() -> None:
    game = with_scores(table(), 95, 101)
    bank(game, (5, 6))
    bank(game, (2, 3))
    roll(game, (1, 1))
    assert game.view["scores"] == [0, 106]
    bank(game, (3, 2))
    assert game.outcome == won("playoff", [1], [0, 111])


def test_the_highest_score_after_the_last_round_wins() -> None:
    """Four seats: 66, then 106, then 94 after a 1-5, then 1-1: the second player wins."""
    game = with_scores(table(seats=4), 60, 95, 94, 90)
    bank(game, (2, 4))
    bank(game, (5, 6))
    roll(game, (5, 5), (3, 4), (1, 5))
    roll(game, (1, 1))
    assert game.outcome == won("last_round", [1], [66, 106, 94, 0])


def test_the_seats_after_the_target_play_and_those_before_do_not() -> None:
    game = with_scores(table(seats=3, target=50), 10, 40, 39)
    roll(game, (1, 2))
    bank(game, (5, 6))
    assert game.outcome is None
    bank(game, (4, 6))
    assert game.outcome == won("last_round", [1], [10, 51, 49])


def test_a_whole_game_of_big_pig_with_given_faces() -> None:
    """The sources' example: 66, 106, 94 after 110 and a 1-5, 0 after a 1-1."""
    game = Table(BIG_PIG, 4, [5, 6, 4, 5, 3, 3, 2, 1])
    bank(game, (6, 6), (2, 4))  # 30
    bank(game, (5, 5), (6, 6), (2, 4))  # 50
    bank(game, (6, 6), (4, 4), (5, 3))  # 48
    bank(game, (6, 6), (4, 6), (4, 2))  # 40
    bank(game, (6, 6), (2, 3), (3, 4))  # 66
    bank(game, (6, 6), (6, 4), (6, 5))  # 95
    bank(game, (6, 6), (6, 5), (5, 6))  # 94
    bank(game, (5, 5), (6, 6), (2, 4))  # 90
    roll(game, (1, 2))
    bank(game, (5, 6))
    assert game.view["last_round"] is True
    roll(game, (4, 4))
    assert game.view["turn_total"] + game.view["scores"][2] == 110
    assert game.kinds(2) == FORCED
    roll(game, (1, 5))
    assert game.outcome is None
    roll(game, (1, 1))
    assert game.outcome == won("last_round", [1], [66, 106, 94, 0])
    assert [event.kind for event in game.events].count("turn_started") == 12


# --- events -------------------------------------------------------------------------------------


def test_events_tell_a_turn() -> None:
    game = with_scores(table(), 9, 0)
    first = [event.model_dump() for event in game.act(0, "roll", 4, 4)]
    assert first == [
        {
            "kind": "rolled",
            "seat": 0,
            "faces": (4, 4),
            "points": 16,
            "turn_total": 16,
            "must_roll": True,
        }
    ]
    assert [event.model_dump() for event in game.act(0, "roll", 1, 1)] == [
        {
            "kind": "rolled",
            "seat": 0,
            "faces": (1, 1),
            "points": 0,
            "turn_total": 0,
            "must_roll": False,
        },
        {"kind": "busted", "seat": 0, "lost": 16},
        {"kind": "score_lost", "seat": 0, "lost": 9},
        {"kind": "turn_started", "seat": 1, "round": 1},
    ]


def test_rolls_count_the_throws_of_the_turn() -> None:
    game = table(PIG)
    roll(game, (2,), (3,))
    assert game.view["rolls"] == 2
    hold(game)
    assert game.view["rolls"] == 0


def test_a_round_is_one_turn_for_each_seat() -> None:
    game = table(PIG, 3)
    bank(game, (4,))
    roll(game, (1,))
    assert seated(game) == (2, 1)
    bank(game, (2,))
    assert seated(game) == (0, 2)


# --- who starts ---------------------------------------------------------------------------------


def test_a_tied_roll_off_makes_all_throw_again_in_big_pig() -> None:
    game = Table(BIG_PIG, 3, [4, 5, 3, 6, 1, 4, 2, 2, 1, 2, 6, 3])
    assert [(event.seats, event.sums) for event in game.events[:2]] == [
        ((0, 1, 2), (9, 9, 5)),
        ((0, 1, 2), (4, 3, 9)),
    ]
    assert kinds(game.events) == ["rolled_off", "rolled_off", "starter_chosen", "turn_started"]
    assert game.view["starter"] == 2


def test_roll_off_tie_tied_lets_only_the_tied_throw_again() -> None:
    game = Table(BIG_PIG, 3, [4, 5, 1, 4, 3, 6, 2, 2, 1, 2], roll_off_tie="tied")
    assert [event.seats for event in game.events[:2]] == [(0, 1, 2), (0, 2)]
    assert game.view["starter"] == 0


def test_in_pig_only_the_tied_throw_again_with_the_die_of_the_first_turn() -> None:
    game = Table(PIG, 3, [5, 2, 5, 5, 5, 3, 4])
    assert [event.seats for event in game.events[:3]] == [(0, 1, 2), (0, 2), (0, 2)]
    assert seated(game) == (2, 1)


def test_a_tie_below_the_highest_sum_is_no_tie() -> None:
    game = Table(BIG_PIG, 3, [1, 2, 6, 6, 2, 1])
    assert game.view["starter"] == 1


def test_starter_random_throws_one_die_over_the_seats() -> None:
    game = Table(PIG, 4, [2], starter="random")
    assert game.view["starter"] == 2
    assert kinds(game.events) == ["starter_chosen", "turn_started"]
    dice = GivenDice([2])
    state = PIG.start(game.options, 4)
    opening = PIG.opening(state)
    assert opening is not None
    assert list(PIG.decide(state, None, opening, dice)) == game.events
    assert dice.thrown == [(None, ("seat",), (2,))]


@pytest.mark.parametrize("ruleset", [PIG, TWO_DICE_PIG, BIG_PIG])
def test_the_die_over_the_seats_is_published_only_where_it_is_thrown(ruleset: Any) -> None:
    drawn = ruleset.parse_options({"starter": "random"}, 3)
    assert ruleset.dice(drawn, 3) == {"d6": D6, "seat": even_die(3)}
    assert ruleset.dice(ruleset.parse_options({}, 3), 3) == {"d6": D6}


def test_starter_seat_needs_no_opening() -> None:
    state = PIG.start(PIG.parse_options({"starter": "seat"}, 2), 2)
    assert PIG.opening(state) is None
    assert PIG.to_act(state) == (0,)


def test_nobody_is_on_turn_before_the_roll_off() -> None:
    state = PIG.start(PIG.parse_options({}, 2), 2)
    assert (PIG.legal(state), PIG.to_act(state)) == ((), ())
    assert (PIG.view(state)["starter"], PIG.view(state)["seat"]) == (None, None)


def test_rounds_begin_with_the_starter() -> None:
    game = Table(PIG, 3, [2, 5, 4])
    order = []
    for _ in range(6):
        order.append(seated(game))
        roll(game, (1,))
    assert order == [(1, 1), (2, 1), (0, 1), (1, 2), (2, 2), (0, 2)]


# --- throws of Pig and Two-Dice Pig -------------------------------------------------------------


@pytest.mark.parametrize("face", range(2, 7))
def test_in_pig_two_to_six_add(face: int) -> None:
    game = with_total(table(PIG), 3)
    roll(game, (face,))
    assert (game.view["turn_total"], game.kinds(0)) == (3 + face, FREE)


def test_in_pig_a_one_loses_the_turn_total() -> None:
    game = with_total(with_scores(table(PIG), 30, 0), 12)
    assert kinds(game.act(0, "roll", 1)) == ["rolled", "busted", "turn_started"]
    assert game.view["scores"] == [30, 0]


def test_pig_ends_at_once() -> None:
    game = with_scores(table(PIG, 3), 96, 99, 99)
    bank(game, (4,))
    assert game.outcome == won("target_reached", [0], [100, 99, 99])


TWO_DICE = [  # on a turn total of 10 and a score of 40
    ({}, (1, 4), 0, 40),
    ({}, (1, 1), 0, 40),
    ({"double_one": "score"}, (1, 1), 0, 0),
    ({"double_one": "score"}, (4, 1), 0, 40),
    ({}, (4, 4), 18, 40),
    ({}, (2, 5), 17, 40),
]


@pytest.mark.parametrize(("options", "faces", "total", "score"), TWO_DICE)
def test_two_dice_pig_throws(
    options: dict[str, Any], faces: tuple[int, int], total: int, score: int
) -> None:
    game = with_total(with_scores(table(TWO_DICE_PIG, **options), 40, 0), 10)
    roll(game, faces)
    assert (game.view["turn_total"], game.view["scores"][0]) == (total, score)
    assert game.kinds(game.view["seat"]) == (FREE if total else FORCED)


# --- options of Big Pig -------------------------------------------------------------------------


def test_double_one_turn_keeps_the_score() -> None:
    game = with_scores(table(double_one="turn"), 90, 0)
    assert kinds(game.act(0, "roll", 1, 1)) == ["rolled", "busted", "turn_started"]
    assert game.view["scores"] == [90, 0]


def test_double_one_25_continue_adds_25_and_forces_nothing() -> None:
    game = table(double_one="25_continue")
    roll(game, (3, 3), (1, 1))
    assert (game.view["turn_total"], game.kinds(0)) == (37, FREE)


def test_double_one_25_bank_adds_25_and_banks() -> None:
    game = with_scores(table(double_one="25_bank"), 5, 0)
    assert kinds(game.act(0, "roll", 1, 1)) == ["rolled", "banked", "turn_started"]
    assert game.view["scores"] == [30, 0]


def test_double_one_25_bank_can_reach_the_target() -> None:
    game = with_scores(table(double_one="25_bank", finish="at_once"), 75, 0)
    roll(game, (1, 1))
    assert game.outcome == won("target_reached", [0], [100, 0])


def test_doubles_force_whole_turn_forbids_holding_until_the_turn_ends_by_itself() -> None:
    game = table(doubles_force="whole_turn")
    roll(game, (3, 4))
    assert game.kinds(0) == FREE
    roll(game, (2, 2), (3, 4))
    assert game.kinds(0) == FORCED
    roll(game, (1, 2), (3, 4))
    assert game.kinds(1) == FREE


def test_doubles_force_no_leaves_the_choice() -> None:
    game = table(doubles_force="no")
    roll(game, (4, 4))
    assert (game.view["turn_total"], game.kinds(0)) == (16, FREE)


def test_a_forced_throw_stays_forced_in_the_last_round() -> None:
    game = with_scores(table(), 95, 100)
    bank(game, (2, 3))
    roll(game, (4, 4))
    assert game.view["last_round"] is True
    assert game.kinds(1) == FORCED


def test_finish_at_once_ends_big_pig_at_the_target() -> None:
    game = with_scores(table(finish="at_once"), 95, 90)
    bank(game, (2, 3))
    assert game.outcome == won("target_reached", [0], [100, 90])


def test_one_more_turn_goes_once_round_from_the_seat_that_reached_the_target() -> None:
    game = with_scores(table(seats=4, finish="one_more_turn"), 80, 90, 70, 60)
    roll(game, (1, 2))
    bank(game, (4, 6))
    turns = []
    while game.outcome is None:
        turns.append(seated(game))
        roll(game, (1, 2))
    assert turns == [(2, 1), (3, 1), (0, 2)]
    assert game.outcome == won("last_round", [1], [80, 100, 70, 60])


def test_one_more_turn_of_the_last_seat_lets_all_others_play() -> None:
    game = with_scores(table(finish="one_more_turn"), 80, 90)
    roll(game, (1, 2))
    bank(game, (4, 6))
    assert game.outcome is None
    bank(game, (6, 6), (4, 5))
    assert game.outcome == won("last_round", [0], [113, 100])


def test_a_resigned_seat_takes_no_last_turn() -> None:
    game = with_scores(table(seats=3, finish="one_more_turn"), 80, 95, 60)
    roll(game, (1, 2))
    bank(game, (2, 3))
    game.act(1, "resign")
    roll(game, (1, 2))
    assert seated(game) == (0, 2)
    roll(game, (1, 2))
    assert game.outcome == won("last_round", [0], [80, 100, 60])


def tied_game(**options: Any) -> Table:
    game = with_scores(table(seats=3, **options), 70, 95, 95)
    roll(game, (1, 2))
    bank(game, (5, 6))
    bank(game, (6, 5))
    return game


def test_final_tie_shared_lets_the_tied_win_together() -> None:
    assert tied_game(final_tie="shared").outcome == won("last_round", [1, 2], [70, 106, 106])


def test_final_tie_first_to_reach_favours_the_earlier_turn() -> None:
    outcome = tied_game(final_tie="first_to_reach").outcome
    assert outcome == won("last_round", [1], [70, 106, 106])


def test_first_to_reach_counts_from_the_seat_that_made_it_the_last_turn() -> None:
    game = with_scores(table(final_tie="first_to_reach", finish="one_more_turn"), 95, 95)
    roll(game, (1, 2))
    bank(game, (5, 6))
    bank(game, (5, 6))
    assert game.outcome == won("last_round", [1], [106, 106])


def test_first_to_reach_goes_clockwise_from_there_to_the_others_that_tie() -> None:
    options = {"final_tie": "first_to_reach", "finish": "one_more_turn"}
    game = with_scores(table(seats=3, **options), 90, 90, 95)
    roll(game, (1, 2))
    roll(game, (1, 2))
    bank(game, (5, 6))
    bank(game, (6, 5), (6, 4))
    bank(game, (5, 6), (6, 4))
    assert game.outcome == won("last_round", [0], [111, 111, 106])


def test_final_tie_playoff_starts_an_extra_round() -> None:
    game = tied_game()
    assert game.outcome is None
    assert seated(game) == (1, 2)
    roll(game, (1, 2))
    assert seated(game) == (2, 2)
    bank(game, (2, 3))
    assert game.outcome == won("playoff", [2], [70, 106, 111])


def test_a_playoff_without_a_leader_goes_on() -> None:
    game = tied_game()
    roll(game, (1, 1), (1, 1))
    assert seated(game) == (1, 3)
    assert game.view["scores"] == [70, 0, 0]
    roll(game, (1, 3))
    bank(game, (2, 3))
    assert game.outcome == won("playoff", [2], [70, 0, 5])


def test_those_who_fall_behind_drop_out_of_the_playoff() -> None:
    game = with_scores(table(seats=3), 95, 95, 95)
    for _ in range(3):
        bank(game, (2, 3))
    assert game.view["playoff"] == [0, 1, 2]
    roll(game, (1, 2))
    bank(game, (2, 3))
    bank(game, (3, 2))
    assert game.view["playoff"] == [1, 2]
    assert seated(game) == (1, 3)


# --- finish, hold_before_roll, auto_hold --------------------------------------------------------


def test_complete_round_ends_pig_like_big_pig() -> None:
    game = with_scores(table(PIG, 3, finish="complete_round"), 50, 97, 97)
    roll(game, (1,))
    bank(game, (4,))
    bank(game, (4,))
    assert game.view["playoff"] == [1, 2]
    bank(game, (4,))
    bank(game, (5,))
    assert game.outcome == won("playoff", [2], [50, 105, 106])


def test_a_hold_before_any_throw_is_refused() -> None:
    game = table(PIG)
    assert game.refusal(0, "hold") == "nothing_rolled"


def test_hold_before_roll_lets_a_turn_be_given_up() -> None:
    game = with_scores(table(PIG, hold_before_roll=True), 7, 0)
    assert game.kinds(0) == FREE
    hold(game)
    assert (game.view["scores"], game.view["seat"]) == ([7, 0], 1)


def test_auto_hold_banks_at_the_target() -> None:
    game = with_scores(table(PIG, auto_hold=True), 90, 0)
    assert kinds(game.act(0, "roll", 6)) == ["rolled"]
    assert kinds(game.act(0, "roll", 4)) == ["rolled", "banked", "game_won"]
    assert game.outcome == won("target_reached", [0], [100, 0])


def test_auto_hold_waits_while_a_throw_is_forced() -> None:
    game = with_scores(table(auto_hold=True), 90, 0)
    assert kinds(game.act(0, "roll", 5, 5)) == ["rolled"]
    assert game.kinds(0) == FORCED
    assert kinds(game.act(0, "roll", 2, 3))[:2] == ["rolled", "banked"]
    assert game.view["scores"] == [115, 0]


def test_auto_hold_applies_in_the_last_round_too() -> None:
    game = with_scores(table(auto_hold=True), 90, 95)
    roll(game, (6, 6), (6, 5))
    roll(game, (2, 3))
    assert game.outcome == won("last_round", [0], [125, 100])


def test_auto_hold_applies_in_a_playoff_too() -> None:
    game = with_scores(table(auto_hold=True), 90, 90)
    roll(game, (4, 6))
    roll(game, (6, 4))
    assert game.view["playoff"] == [0, 1]
    roll(game, (2, 3))
    roll(game, (2, 4))
    assert game.outcome == won("playoff", [1], [105, 106])


# --- resignations -------------------------------------------------------------------------------


def test_the_last_seat_left_wins() -> None:
    game = with_scores(table(seats=3), 5, 90, 3)
    game.act(1, "resign")
    assert seated(game) == (0, 1)
    assert kinds(game.act(0, "resign")) == ["resigned", "game_won"]
    assert game.outcome == won("last_seat", [2], [5, 90, 3])
    assert game.view["out"] == [0, 1]


def test_a_resignation_on_turn_passes_the_turn_on() -> None:
    game = table(seats=3)
    roll(game, (4, 4))
    assert kinds(game.act(0, "resign")) == ["resigned", "turn_started"]
    assert seated(game) == (1, 1)
    assert (game.view["turn_total"], game.view["must_roll"]) == (0, False)
    roll(game, (1, 2))
    roll(game, (1, 2))
    assert seated(game) == (1, 2)


def test_the_last_round_stays_the_last_when_its_seat_resigns() -> None:
    game = with_scores(table(seats=4), 95, 40, 30, 80)
    bank(game, (2, 3))
    game.act(0, "resign")
    for _ in range(3):
        roll(game, (1, 2))
    assert game.outcome == won("last_round", [3], [100, 40, 30, 80])


def test_the_last_one_left_in_a_playoff_wins_it() -> None:
    game = tied_game()
    game.act(2, "resign")
    assert game.outcome == won("playoff", [1], [70, 106, 106])


def test_a_resignation_outside_the_playoff_changes_nothing_in_it() -> None:
    game = tied_game()
    roll(game, (4, 4))
    assert kinds(game.act(0, "resign")) == ["resigned"]
    assert game.kinds(1) == FORCED


def test_who_resigned_or_has_won_cannot_resign() -> None:
    game = table(seats=3)
    game.act(1, "resign")
    assert [BIG_PIG.can_resign(game.state, seat) for seat in range(3)] == [True, False, True]
    game.act(0, "resign")
    assert not BIG_PIG.can_resign(game.state, 2)


# --- the rest -----------------------------------------------------------------------------------


def test_without_throws_the_best_scores_share() -> None:
    game = with_scores(table(seats=3), 50, 50, 20)
    assert BIG_PIG.exhausted(game.state) == won("throws_exhausted", [0, 1], [50, 50, 20])


def test_without_throws_a_playoff_is_shared_by_those_still_in_it() -> None:
    game = tied_game()
    roll(game, (1, 1))
    assert BIG_PIG.exhausted(game.state) == won("throws_exhausted", [2], [70, 0, 106])


def test_the_tally_counts_games_won_by_every_seat() -> None:
    options = BIG_PIG.parse_options({}, 4)
    shared = won("throws_exhausted", [0, 2], [50, 20, 50, 7])
    assert BIG_PIG.tally(options, shared) == (1, 0, 1, 0)
    assert BIG_PIG.tally_key(options) == "won"


def test_legal_actions_list_roll_before_hold() -> None:
    game = with_total(table(), 5)
    assert BIG_PIG.legal(game.state) == (LegalAction(0, "roll"), LegalAction(0, "hold"))


def test_actions_of_other_games_are_not_in_the_ruleset() -> None:
    game = table()
    for kind, parameters in [("bet", {"amount": 1}), ("pass", {}), ("tiebreak", {})]:
        assert game.refusal(0, kind, **parameters) == "not_in_ruleset"
    assert "not_in_ruleset" in REASONS


def test_a_seat_may_ask_for_every_kind_of_action_but_the_tables_own() -> None:
    assert {kind_of(action) for action in SEAT_ACTIONS} == set(ACTIONS)


def test_resigning_is_an_action_of_the_ruleset_that_is_not_listed() -> None:
    assert Resign in BIG_PIG.actions
    assert "resign" not in table().kinds(0)


@pytest.mark.parametrize(
    ("ruleset", "seats", "options", "throws"),
    [(BIG_PIG, 2, {"target": 40}, 1024), (PIG, 8, {"target": 10_000}, 65_535)],
)
def test_the_key_chain_grows_with_target_and_seats(
    ruleset: Any, seats: int, options: dict[str, Any], throws: int
) -> None:
    assert ruleset.throws_max(ruleset.parse_options(options, seats), seats) == throws


COMMON = {"target": 100, "starter": "roll", "hold_before_roll": False, "auto_hold": False}
DEFAULTS = [
    (PIG, {**COMMON, "finish": "at_once"}),
    (TWO_DICE_PIG, {**COMMON, "finish": "at_once", "double_one": "turn"}),
    (
        BIG_PIG,
        {
            **COMMON,
            "finish": "complete_round",
            "roll_off_tie": "all",
            "double_one": "score",
            "doubles_force": "next_roll",
            "final_tie": "playoff",
        },
    ),
]


@pytest.mark.parametrize(("ruleset", "defaults"), DEFAULTS)
def test_the_first_value_of_an_option_is_its_default(
    ruleset: Any, defaults: dict[str, Any]
) -> None:
    assert ruleset.parse_options({}, 2).model_dump() == defaults


WRONG = [
    (PIG, 2, {"double_one": "turn"}, "/options", "unknown_field"),
    (PIG, 2, {"finish": "one_more_turn"}, "/options/finish", "not_allowed"),
    (PIG, 2, {"target": 0}, "/options/target", "too_small"),
    (PIG, 2, {"target": 10_001}, "/options/target", "too_large"),
    (PIG, 2, {"target": True}, "/options/target", "wrong_type"),
    (PIG, 9, {}, "/seats", "too_long"),
    (PIG, 1, {}, "/seats", "too_short"),
    (BIG_PIG, 5, {}, "/seats", "too_long"),
    (BIG_PIG, 2, {"dice": 2}, "/options", "unknown_field"),
    (TWO_DICE_PIG, 2, {"double_one": "25_bank"}, "/options/double_one", "not_allowed"),
    (TWO_DICE_PIG, 2, {"auto_hold": 1}, "/options/auto_hold", "wrong_type"),
]


@pytest.mark.parametrize(("ruleset", "seats", "options", "pointer", "code"), WRONG)
def test_wrong_options_are_refused(
    ruleset: Any, seats: int, options: dict[str, Any], pointer: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        ruleset.parse_options(options, seats)
    assert [(wrong.pointer, wrong.code) for wrong in caught.value.errors] == [(pointer, code)]
