"""Dados puercos: the example table of the rules as data, every option, every fine point."""

from dataclasses import replace
from typing import Any

import pytest

from service.errors import InvalidInput
from service.rules.base import Bet, LegalAction, Outcome
from service.rules.dados_puercos import DADOS_PUERCOS as DADOS
from service.rules.dados_puercos_state import TurnsOptions
from tests.rules.table import Table

FREE, FORCED = ["roll", "hold"], ["roll"]


def table(seats: int = 2, **options: Any) -> Table:
    """A table whose seat 0 starts."""
    return Table(DADOS, seats, **{"starter": "seat", **options})


def session(seats: int = 3, **options: Any) -> Table:
    """A table in mode ``turns`` whose seat 0 starts."""
    return table(seats, mode="turns", **options)


def with_scores(game: Table, *scores: int) -> Table:
    """The same table, further on."""
    game.state = replace(game.state, scores=scores)
    return game


def with_total(game: Table, turn_total: int) -> Table:
    """The same table in the middle of a turn."""
    game.state = replace(game.state, turn_total=turn_total, rolls=1)
    return game


def with_chips(game: Table, *chips: int) -> Table:
    """The same table with the chips elsewhere."""
    assert sum(chips) == sum(game.state.chips)
    game.state = replace(game.state, chips=chips)
    return game


def roll(game: Table, *throws: tuple[int, ...]) -> list[Any]:
    """The seat on turn throws these, one after the other. Returns the last one's events."""
    return [game.act(game.view["seat"], "roll", *faces) for faces in throws][-1]


def bank(game: Table, *throws: tuple[int, ...]) -> list[Any]:
    """A whole turn of the seat whose turn it is."""
    roll(game, *throws)
    return game.act(game.view["seat"], "hold")


def bet(game: Table, *amounts: int) -> list[Any]:
    """The seats asked answer one after the other; 0 = pass. Returns the last one's events."""
    told = []
    for amount in amounts:
        seat = game.view["seat"]
        told = game.act(seat, "bet", amount=amount) if amount else game.act(seat, "pass")
    return told


def bust(game: Table) -> list[Any]:
    return roll(game, (6,))


def kinds(events: list[Any]) -> list[str]:
    return [event.kind for event in events]


def figures(game: Table) -> tuple[list[int], int]:
    return game.view["chips"], game.view["pot"]


def refused(seats: int = 2, **options: Any) -> list[tuple[str, str, Any]]:
    with pytest.raises(InvalidInput) as caught:
        DADOS.parse_options(options, seats)
    return [(wrong.pointer, wrong.code, dict(wrong.params)) for wrong in caught.value.errors]


# --- the example table: throws ------------------------------------------------------------------

OUT: dict[str, Any] = {"double_six": "out", "triple_six": "out"}
SCORE = {"double_six": "score"}
OTHERS = {"lone_six": "bank_others"}
PAIR = {"double_counts": "pair"}
FORCE = {"doubles_force": True}

THROWS = [
    # dice, options, turn total and score before, faces, turn total and score after, whose turn
    (1, {}, 0, 0, (4,), 4, 0, 0),
    (1, {}, 12, 30, (6,), 0, 30, 1),
    (1, {}, 0, 0, (1,), 1, 0, 0),
    (2, {}, 10, 0, (4, 4), 26, 0, 0),
    (2, {}, 0, 0, (1, 1), 4, 0, 0),
    (2, {}, 0, 0, (2, 5), 7, 0, 0),
    (2, {}, 20, 40, (6, 3), 0, 40, 1),
    (2, {}, 20, 40, (6, 6), 0, 40, 1),
    (2, SCORE, 20, 40, (6, 6), 0, 0, 1),
    (2, SCORE, 20, 40, (3, 6), 0, 40, 1),
    (3, {}, 0, 0, (1, 2, 4), 7, 0, 0),
    (3, {}, 0, 0, (4, 4, 2), 20, 0, 0),
    (3, PAIR, 0, 0, (4, 4, 2), 18, 0, 0),
    (3, PAIR, 0, 0, (2, 4, 2), 12, 0, 0),
    (3, {}, 0, 0, (5, 5, 5), 60, 0, 0),
    (3, PAIR, 0, 0, (5, 5, 5), 60, 0, 0),
    (3, {}, 20, 30, (6, 2, 3), 0, 50, 1),
    (3, OTHERS, 20, 30, (6, 2, 3), 0, 55, 1),
    (3, {}, 20, 30, (6, 4, 4), 0, 50, 1),
    (3, OTHERS, 20, 30, (6, 4, 4), 0, 58, 1),
    (3, {}, 0, 30, (6, 1, 2), 0, 30, 1),
    (3, {}, 20, 30, (6, 6, 4), 0, 30, 1),
    (3, {}, 20, 30, (6, 6, 6), 0, 0, 1),
]


@pytest.mark.parametrize(
    ("dice", "options", "total", "score", "faces", "total_after", "score_after", "seat"), THROWS
)
def test_throws(
    dice: int,
    options: dict[str, Any],
    total: int,
    score: int,
    faces: tuple[int, ...],
    total_after: int,
    score_after: int,
    seat: int,
) -> None:
    game = with_total(with_scores(table(dice=dice, **options), score, 0), total)
    roll(game, faces)
    view = game.view
    assert (view["turn_total"], view["scores"][0], view["seat"]) == (total_after, score_after, seat)
    assert game.kinds(seat) == (FORCED if seat else FREE)


@pytest.mark.parametrize(("dice", "faces"), [(2, (6, 6)), (3, (6, 6, 6))])
def test_all_sixes_can_cost_the_seat(dice: int, faces: tuple[int, ...]) -> None:
    game = with_total(with_scores(table(3, dice=dice, **OUT), 40, 0, 0), 20)
    assert kinds(roll(game, faces)) == ["rolled", "busted", "knocked_out", "turn_started"]
    assert (game.view["out"], game.view["scores"]) == ([0], [40, 0, 0])
    bank(game, (2,) * dice)
    bank(game, (2,) * dice)
    assert game.view["seat"] == 1


def test_the_last_seat_left_wins_when_the_other_is_knocked_out() -> None:
    game = with_scores(table(dice=2, stake=5, **OUT), 40, 0)
    assert kinds(roll(game, (6, 6)))[-2:] == ["pot_won", "game_won"]
    assert game.outcome == Outcome.of("last_seat", [1], 2, [40, 0], [95, 105])


def test_points_count_only_when_banked() -> None:
    game = with_total(with_scores(table(), 60, 0), 4)
    roll(game, (5,))
    assert (game.view["turn_total"], game.outcome) == (9, None)
    game.act(0, "hold")
    assert game.outcome == Outcome.of("target_reached", [0], 2, [69, 0])


def test_a_banked_lone_six_can_win_by_points() -> None:
    game = with_total(with_scores(table(dice=3), 50, 0), 19)
    assert kinds(roll(game, (6, 1, 3))) == ["rolled", "banked", "game_won"]
    assert game.outcome == Outcome.of("target_reached", [0], 2, [69, 0])


def test_a_hold_before_any_throw_is_refused() -> None:
    assert table().refusal(0, "hold") == "nothing_rolled"


def test_a_bust_on_a_six_carries_the_cry() -> None:
    game = with_total(table(), 12)
    rolled, busted, turn_started = (event.model_dump() for event in roll(game, (6,)))
    assert busted == {"kind": "busted", "seat": 0, "lost": 12, "cry": "piggen-sït!"}
    assert (rolled["points"], rolled["turn_total"]) == (0, 0)
    assert turn_started == {"kind": "turn_started", "seat": 1, "round": 1}


FORCING = [(2, (4, 4), True), (2, (3, 4), False), (3, (4, 4, 2), True), (3, (5, 5, 5), False)]


@pytest.mark.parametrize(("dice", "faces", "forced"), FORCING)
def test_doubles_force_another_throw_but_triples_never(
    dice: int, faces: tuple[int, ...], forced: bool
) -> None:
    game = table(dice=dice, **FORCE)
    roll(game, faces)
    assert game.kinds(0) == (FORCED if forced else FREE)
    assert game.view["must_roll"] is forced
    assert game.refusal(0, "hold") == ("must_roll" if forced else None)


def test_a_lone_six_with_a_pair_banks_even_where_doubles_force() -> None:
    game = with_total(table(dice=3, **FORCE), 20)
    assert kinds(roll(game, (6, 4, 4))) == ["rolled", "banked", "turn_started"]


# --- points and rounds --------------------------------------------------------------------------


def test_everybody_pays_the_stake_at_the_start() -> None:
    game = table(3, stake=20)
    assert figures(game) == ([80, 80, 80], 60)
    assert DADOS.chips_in_play(game.state) == 300


def test_the_first_banked_target_takes_the_pot_at_once() -> None:
    game = with_scores(table(3, stake=20), 66, 68, 0)
    assert kinds(bank(game, (3,))) == ["banked", "pot_won", "game_won"]
    assert game.outcome == Outcome.of("target_reached", [0], 3, [69, 68, 0], [140, 80, 80])


def test_a_game_for_honour_has_no_chips() -> None:
    view = table().view
    assert (view["chips"], view["pot"], view["bets"], view["turn_totals"]) == (None, 0, None, None)
    assert DADOS.chips_in_play(table().state) is None


def test_complete_round_lets_the_seats_after_the_target_play() -> None:
    game = with_scores(table(3, stake=5, finish="complete_round"), 10, 66, 65)
    bust(game)
    assert kinds(bank(game, (3,))) == ["banked", "last_round_started", "turn_started"]
    bank(game, (5,))
    assert game.outcome == Outcome.of("last_round", [2], 3, [10, 69, 70], [95, 95, 110])


def test_complete_round_plays_a_tie_off() -> None:
    game = with_scores(table(finish="complete_round", stake=5), 66, 66)
    bank(game, (3,))
    assert kinds(bank(game, (3,)))[-2:] == ["playoff_started", "turn_started"]
    bust(game)
    bank(game, (1,))
    assert game.outcome == Outcome.of("playoff", [1], 2, [69, 70], [95, 105])


def test_a_knock_out_in_a_playoff_leaves_the_win_to_the_other() -> None:
    game = with_scores(table(3, dice=2, finish="complete_round", **OUT), 66, 66, 0)
    bank(game, (1, 2))
    bank(game, (1, 2))
    roll(game, (6, 1))
    assert game.view["playoff"] == [0, 1]
    assert kinds(roll(game, (6, 6))) == ["rolled", "busted", "knocked_out", "game_won"]
    assert game.outcome == Outcome.of("playoff", [1], 3, [69, 69, 0])


def test_in_rounds_the_dice_grow_after_rounds_per_die_full_rounds() -> None:
    game = table(mode="rounds")
    dice = {}
    while game.view["round"] < 9:
        dice[game.view["round"]] = game.view["dice"]
        roll(game, (6, 6, 1)[: game.view["dice"]])
    assert dice == {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3}


def test_max_dice_and_rounds_per_die_bound_the_growth() -> None:
    game = table(mode="rounds", rounds_per_die=1, max_dice=2)
    for _ in range(6):
        roll(game, (6, 1)[: game.view["dice"]])
    assert (game.view["round"], game.view["dice"]) == (4, 2)


def test_new_dice_come_with_the_first_turn_of_the_round() -> None:
    game = table(mode="rounds", rounds_per_die=1)
    bust(game)
    assert (game.view["seat"], game.view["dice"]) == (1, 1)
    bust(game)
    assert (game.view["seat"], game.view["dice"]) == (0, 2)


def test_extra_rounds_add_dice_as_well() -> None:
    game = with_scores(
        table(mode="rounds", rounds_per_die=1, target=20, finish="complete_round"), 17, 17
    )
    bank(game, (3,))
    bank(game, (3,))
    assert game.view["playoff"] == [0, 1]
    assert (game.view["round"], game.view["dice"]) == (2, 2)


def test_rounds_is_won_at_the_target() -> None:
    game = with_scores(table(mode="rounds"), 295, 0)
    bank(game, (5,))
    assert game.outcome == Outcome.of("target_reached", [0], 2, [300, 0])


def test_auto_hold_and_hold_before_roll_belong_to_dados_puercos_too() -> None:
    game = with_scores(table(auto_hold=True, hold_before_roll=True), 0, 65)
    game.act(0, "hold")
    assert kinds(roll(game, (4,))) == ["rolled", "banked", "game_won"]


def test_a_resigned_seat_leaves_its_stake_in_the_pot() -> None:
    game = with_scores(table(3, stake=20), 60, 0, 0)
    game.act(0, "resign")
    game.act(2, "resign")
    assert game.outcome == Outcome.of("last_seat", [1], 3, [60, 0, 0], [80, 140, 80])


def test_without_throws_the_best_scores_share_the_pot() -> None:
    game = with_scores(table(3, stake=7), 30, 10, 30)
    expected = Outcome.of("throws_exhausted", [0, 2], 3, [30, 10, 30], [104, 93, 103])
    assert DADOS.exhausted(game.state) == expected


def test_the_roll_off_takes_all_dice_of_the_first_turn() -> None:
    game = Table(DADOS, 2, [1, 2, 3, 3, 2, 1, 6, 6, 6, 1, 1, 1], dice=3)
    assert [event.sums for event in game.events[:2]] == [(6, 6), (18, 3)]
    assert Table(DADOS, 2, [1, 6], mode="rounds").view["starter"] == 1


# --- the example table: bets --------------------------------------------------------------------


def test_the_highest_turn_total_takes_the_pot() -> None:
    game = session(stake=5)
    bet(game, 5, 5, 5)
    bank(game, (5,), (5,), (5,), (2,))
    bust(game)
    assert kinds(bank(game, (5,), (5,), (2,))) == ["banked", "pot_won", "bet_opened"]
    assert figures(game) == ([110, 95, 95], 0)


def test_a_tie_is_split_and_the_rest_carried() -> None:
    game = session(stake=5)
    bet(game, 5, 5, 5)
    bank(game, (5,))
    bank(game, (5,))
    bust(game)
    assert figures(game) == ([102, 102, 95], 1)


def test_when_all_bust_the_pot_is_carried() -> None:
    game = session()
    bet(game, 5, 5, 5)
    bust(game)
    bust(game)
    assert kinds(bust(game))[-2:] == ["pot_carried", "bet_opened"]
    bet(game, 5, 5, 5)
    assert figures(game) == ([90, 90, 90], 30)


def test_those_who_pass_sit_the_bet_out() -> None:
    game = session()
    bet(game, 5, 0, 5)
    assert game.view["bets"] == [5, 0, 5]
    bank(game, (5,), (4,))
    assert game.view["seat"] == 2
    bank(game, (5,), (5,), (4,))
    assert figures(game) == ([95, 100, 105], 0)


def test_a_single_bettor_takes_the_stake_back_and_nobody_throws() -> None:
    game = session()
    told = bet(game, 5, 0, 0)
    assert kinds(told) == ["passed", "stakes_returned", "bet_opened"]
    assert figures(game) == ([100, 100, 100], 0)
    assert (game.view["round"], game.view["seat"]) == (2, 1)


# --- betting ------------------------------------------------------------------------------------


def test_the_starter_bets_from_one_to_its_own_chips_and_cannot_pass() -> None:
    game = session()
    assert DADOS.legal(game.state) == (LegalAction(0, "bet", min=1, max=100),)
    assert DADOS.phase(game.state) == "betting"
    assert game.refusal(0, "pass") == "must_bet"
    assert game.refusal(0, "bet", amount=0) == "below_minimum"
    assert game.refusal(0, "bet", amount=101) == "above_maximum"
    assert game.refusal(0, "roll") == "not_in_phase"


def test_the_others_answer_clockwise_with_the_same_amount_or_pass() -> None:
    game = session()
    bet(game, 7)
    assert DADOS.to_act(game.state) == (1,)
    assert DADOS.legal(game.state) == (
        LegalAction(1, "bet", min=7, max=7),
        LegalAction(1, "pass"),
    )
    assert game.refusal(1, "bet", amount=6) == "below_minimum"
    assert game.refusal(1, "bet", amount=8) == "above_maximum"
    assert game.refusal(1, "hold") == "not_in_phase"
    assert game.view["bets"] == [7, None, None]
    assert figures(game) == ([93, 100, 100], 7)


def test_a_fixed_stake_leaves_the_starter_no_choice() -> None:
    game = session(stake=10)
    assert DADOS.legal(game.state) == (LegalAction(0, "bet", min=10, max=10),)


def test_a_seat_that_cannot_pay_is_asked_and_may_only_pass() -> None:
    game = with_chips(session(), 150, 20, 130)
    bet(game, 50)
    assert DADOS.legal(game.state) == (LegalAction(1, "pass"),)
    assert game.refusal(1, "bet", amount=50) == "cannot_pay"


def test_a_seat_that_can_just_pay_is_told_what_is_wrong_with_another_amount() -> None:
    game = with_chips(session(stake=10), 280, 10, 10)
    bet(game, 10)
    assert game.kinds(1) == ["bet", "pass"]
    assert game.refusal(1, "bet", amount=9) == "below_minimum"
    assert game.refusal(1, "bet", amount=11) == "above_maximum"


def test_bets_are_closed_before_the_first_throw() -> None:
    game = session()
    assert kinds(bet(game, 5, 5, 5)) == ["bet_placed", "turn_started"]
    assert DADOS.phase(game.state) == "playing"
    assert game.refusal(0, "bet", amount=5) == "not_in_phase"
    assert game.refusal(0, "pass") == "not_in_phase"
    assert game.refusal(0, "tiebreak") == "not_in_ruleset"


def test_there_is_no_betting_in_the_other_modes() -> None:
    assert table(stake=5).refusal(0, "bet", amount=5) == "not_in_phase"


def test_a_roll_off_decides_the_first_starter() -> None:
    game = Table(DADOS, 3, [1, 2, 5], mode="turns")
    assert kinds(game.events) == ["rolled_off", "starter_chosen", "bet_opened"]
    assert DADOS.to_act(game.state) == (2,)
    bet(game, 5, 5, 5)
    assert game.view["seat"] == 2


def test_the_starter_moves_one_seat_each_bet() -> None:
    game = session()
    starters = []
    for _ in range(4):
        starters.append(game.view["starter"])
        bet(game, 1, 0, 0)
    assert starters == [0, 1, 2, 0]


def test_rotate_starter_false_keeps_the_starter() -> None:
    game = session(rotate_starter=False)
    bet(game, 1, 0, 0)
    assert (game.view["starter"], game.view["round"]) == (0, 2)


def test_a_seat_without_chips_is_skipped_as_starter() -> None:
    game = with_chips(session(), 150, 0, 150)
    bet(game, 1, 0, 0)
    assert game.view["starter"] == 2


def test_a_starter_must_be_able_to_pay_a_fixed_stake() -> None:
    game = with_chips(session(stake=10), 150, 9, 141)
    bet(game, 10, 0, 0)
    assert game.view["starter"] == 2


# --- playing for the pot ------------------------------------------------------------------------


def test_a_bust_loses_the_bet_there_and_then() -> None:
    game = session()
    bet(game, 5, 5, 5)
    assert kinds(bust(game)) == ["rolled", "busted", "bet_lost", "turn_started"]
    assert game.view["turn_totals"] == [-1, None, None]


def test_a_total_of_zero_contends_like_any_other() -> None:
    game = session(hold_before_roll=True)
    bet(game, 5, 5, 0)
    game.act(0, "hold")
    bust(game)
    assert figures(game) == ([105, 95, 100], 0)


def test_a_lone_six_banks_and_contends() -> None:
    game = session(2, dice=3)
    bet(game, 5, 5)
    roll(game, (1, 2, 3), (6, 1, 1))
    assert game.view["turn_totals"] == [6, None]
    roll(game, (6, 6, 1))
    assert figures(game) == ([105, 95], 0)


def test_lone_six_loses_bet_still_banks_the_points() -> None:
    game = session(2, dice=3, lone_six_loses_bet=True)
    bet(game, 5, 5)
    told = roll(game, (1, 2, 3), (6, 1, 1))
    assert kinds(told) == ["rolled", "banked", "bet_lost", "turn_started"]
    assert game.view["turn_totals"] == [-1, None]
    assert game.view["scores"] == [6, 0]
    bank(game, (1, 2, 4))
    assert figures(game) == ([95, 105], 0)


def test_the_score_is_a_statistic_of_the_session() -> None:
    game = session(2)
    for _ in range(2):
        bet(game, 5, 5)
        bank(game, (4,))
        bank(game, (5,))
    assert game.view["scores"] == [9, 9]


def test_all_bust_return_gives_each_bettor_its_own_stake_back() -> None:
    game = session(all_bust="return")
    bet(game, 5, 5, 0)
    bust(game)
    assert kinds(bust(game))[-2:] == ["stakes_returned", "bet_opened"]
    assert figures(game) == ([100, 100, 100], 0)


def test_all_bust_return_leaves_the_stake_of_who_left_in_the_pot() -> None:
    game = session(all_bust="return")
    bet(game, 5, 5, 5)
    game.act(0, "resign")
    bust(game)
    bust(game)
    assert figures(game) == ([95, 100, 100], 5)


def test_a_carried_pot_stays_when_nobody_throws() -> None:
    game = session(bets=5)
    bet(game, 5, 5, 0)
    bust(game)
    bust(game)
    bet(game, 5, 0, 0)
    assert figures(game) == ([95, 95, 100], 10)
    assert game.view["round"] == 3


def test_tie_carry_leaves_the_pot_for_the_next_bet() -> None:
    game = session(tie="carry")
    bet(game, 5, 5, 0)
    bank(game, (5,))
    assert kinds(bank(game, (5,))) == ["banked", "pot_carried", "bet_opened"]
    assert figures(game) == ([95, 95, 100], 10)


def tied_session(**options: Any) -> Table:
    """Seats 0 and 1 are tied on 5, seat 2 has 4."""
    game = session(tie="playoff", **options)
    bet(game, 5, 5, 5)
    bank(game, (5,))
    bank(game, (5,))
    assert kinds(bank(game, (4,))) == ["banked", "playoff_started", "turn_started"]
    return game


def test_tie_playoff_lets_the_tied_take_one_more_turn_each() -> None:
    game = tied_session()
    assert (game.view["playoff"], game.view["round"]) == ([0, 1], 1)
    assert game.view["turn_totals"] == [None, None, 4]
    bank(game, (2,))
    bank(game, (3,))
    assert figures(game) == ([95, 110, 95], 0)
    assert game.view["scores"] == [7, 8, 4]
    assert game.view["playoff"] is None


def test_a_playoff_that_ties_goes_on_with_fewer() -> None:
    game = session(tie="playoff")
    bet(game, 5, 5, 5)
    for _ in range(3):
        bank(game, (5,))
    assert game.view["playoff"] == [0, 1, 2]
    bank(game, (2,))
    bank(game, (3,))
    bank(game, (3,))
    assert game.view["playoff"] == [1, 2]
    bust(game)
    bank(game, (1,))
    assert figures(game) == ([95, 95, 110], 0)


def test_a_playoff_in_which_all_bust_starts_again() -> None:
    game = tied_session()
    bust(game)
    assert kinds(bust(game))[-2:] == ["playoff_started", "turn_started"]
    assert game.view["turn_totals"] == [None, None, 4]
    bust(game)
    bank(game, (1,))
    assert figures(game) == ([95, 110, 95], 0)


def test_the_last_one_left_in_a_playoff_takes_the_pot() -> None:
    game = tied_session()
    roll(game, (3,))
    told = game.act(1, "resign")
    assert kinds(told) == ["resigned", "pot_won", "bet_opened"]
    assert figures(game) == ([110, 95, 95], 0)


def test_a_knock_out_in_a_playoff_leaves_the_pot_to_the_other() -> None:
    game = session(tie="playoff", dice=2, **OUT)
    bet(game, 5, 5, 5)
    bank(game, (1, 2))
    bank(game, (1, 2))
    roll(game, (6, 1))
    assert kinds(roll(game, (6, 6)))[-3:] == ["knocked_out", "pot_won", "bet_opened"]
    assert figures(game) == ([95, 110, 95], 0)


# --- what the table does for who is late --------------------------------------------------------


@pytest.mark.parametrize(("stake", "least"), [(None, 1), (10, 10)])
def test_a_late_seat_bets_the_least_passes_throws_and_holds(stake: int | None, least: int) -> None:
    game = session(stake=stake)
    assert game.default(0) == {"kind": "bet", "amount": least}
    bet(game, least)
    assert game.default(1) == {"kind": "pass"}
    bet(game, least, 0)
    assert game.default(0) == {"kind": "roll"}
    roll(game, (4,))
    assert game.default(0) == {"kind": "hold"}


# --- the end of a session -----------------------------------------------------------------------


def test_the_session_ends_after_so_many_bets_and_most_chips_win() -> None:
    game = session(bets=1)
    bet(game, 5, 5, 5)
    bust(game)
    bank(game, (5,))
    assert kinds(bank(game, (4,))) == ["banked", "pot_won", "game_won"]
    assert game.outcome == Outcome.of("bets_played", [1], 3, [0, 5, 4], [95, 110, 95])
    assert DADOS.phase(game.state) == "playing"


def test_equal_chips_share_the_win() -> None:
    game = session(bets=1)
    bet(game, 5, 0, 0)
    assert game.outcome == Outcome.of("bets_played", [0, 1, 2], 3, [0, 0, 0], [100, 100, 100])


def test_a_left_over_pot_is_split_and_the_remainder_goes_to_the_lowest_seats() -> None:
    game = session(4, bets=1)
    bet(game, 5, 5, 0, 0)
    bust(game)
    assert kinds(bust(game))[-2:] == ["pot_shared", "game_won"]
    assert game.events[-2].amounts == (3, 3, 2, 2)
    assert game.outcome is not None
    assert game.outcome.chips == (98, 98, 102, 102)
    assert game.outcome.winners == (2, 3)


def test_a_left_over_pot_is_split_among_the_seats_still_in() -> None:
    game = session(3, bets=1)
    bet(game, 5, 5, 5)
    game.act(0, "resign")
    bust(game)
    bust(game)
    assert game.outcome == Outcome.of("bets_played", [1], 3, [0, 0, 0], [95, 103, 102])


def test_the_session_ends_when_fewer_than_two_seats_can_pay_a_chip() -> None:
    game = session(2)
    bet(game, 100, 100)
    bust(game)
    bank(game, (1,))
    assert game.outcome == Outcome.of("no_chips", [1], 2, [0, 1], [0, 200])


def test_a_fixed_stake_that_one_seat_cannot_pay_does_not_end_the_session() -> None:
    game = with_chips(session(2, stake=10), 195, 5)
    bet(game, 10)
    assert game.kinds(1) == ["pass"]
    bet(game, 0)
    assert game.view["round"] == 2
    assert game.view["starter"] == 0


@pytest.mark.parametrize("stake", [None, 10])
def test_a_session_goes_on_with_a_starter_who_can_just_pay(stake: int | None) -> None:
    least = stake or 1
    game = with_chips(session(stake=stake), least, least, 300 - 2 * least)
    assert kinds(bet(game, least, 0, 0)) == ["passed", "stakes_returned", "bet_opened"]
    assert (game.view["round"], game.view["starter"]) == (2, 1)


def test_a_fixed_stake_that_nobody_can_pay_ends_the_session() -> None:
    game = with_chips(session(3, stake=90), 280, 10, 10)
    game.act(0, "resign")
    assert game.outcome == Outcome.of("no_chips", [1, 2], 3, [0, 0, 0], [280, 10, 10])


# --- resignations in a session ------------------------------------------------------------------


def test_a_starter_that_resigns_before_betting_is_replaced() -> None:
    game = session()
    told = game.act(0, "resign")
    assert kinds(told) == ["resigned", "bet_opened"]
    assert (game.view["round"], game.view["starter"]) == (1, 1)
    assert game.view["bets"] == [0, None, None]
    assert DADOS.legal(game.state) == (LegalAction(1, "bet", min=1, max=100),)


def test_a_starter_that_resigns_after_betting_leaves_its_stake() -> None:
    game = session()
    bet(game, 5)
    assert kinds(game.act(0, "resign")) == ["resigned"]
    bet(game, 5, 5)
    assert game.view["seat"] == 1
    bank(game, (2,))
    bust(game)
    assert figures(game) == ([95, 110, 95], 0)


def test_a_seat_that_resigns_before_its_answer_sits_out() -> None:
    game = session()
    bet(game, 5)
    game.act(2, "resign")
    assert kinds(bet(game, 5)) == ["bet_placed", "turn_started"]


def test_the_last_answer_can_be_a_resignation() -> None:
    game = session()
    bet(game, 5, 5)
    assert kinds(game.act(2, "resign")) == ["resigned", "turn_started"]
    game = session()
    bet(game, 5, 0)
    assert kinds(game.act(2, "resign")) == ["resigned", "stakes_returned", "bet_opened"]


def test_a_resignation_in_the_turn_is_like_a_bust() -> None:
    game = session()
    bet(game, 5, 5, 0)
    roll(game, (5,))
    assert kinds(game.act(0, "resign")) == ["resigned", "turn_started"]
    bust(game)
    assert figures(game) == ([95, 95, 100], 10)


def test_a_turn_total_of_a_seat_that_resigned_does_not_contend() -> None:
    game = session()
    bet(game, 5, 5, 5)
    bank(game, (5,))
    game.act(0, "resign")
    bank(game, (1,))
    bust(game)
    assert figures(game) == ([95, 110, 95], 0)


def test_the_last_seat_of_a_session_takes_the_pot() -> None:
    game = session(2)
    bet(game, 5, 5)
    assert kinds(game.act(0, "resign")) == ["resigned", "pot_won", "game_won"]
    assert game.outcome == Outcome.of("last_seat", [1], 2, [0, 0], [95, 105])


def test_a_resigned_seat_cannot_win_by_its_chips() -> None:
    game = with_chips(session(3, bets=1), 280, 10, 10)
    bet(game, 1, 0, 0)
    assert game.outcome is not None
    assert game.outcome.winners == (0,)
    game = with_chips(session(3, bets=1), 280, 10, 10)
    game.act(0, "resign")
    bet(game, 1, 0)
    assert game.outcome == Outcome.of("bets_played", [1, 2], 3, [0, 0, 0], [280, 10, 10])


# --- without throws -----------------------------------------------------------------------------


def test_without_throws_open_bets_go_back() -> None:
    game = session()
    bet(game, 5, 5, 5)
    bank(game, (5,))
    outcome = DADOS.exhausted(game.state)
    assert outcome == Outcome.of("throws_exhausted", [0, 1, 2], 3, [5, 0, 0], [100, 100, 100])


def test_without_throws_a_lost_bet_is_split() -> None:
    game = session()
    bet(game, 5, 5, 5)
    bust(game)
    outcome = DADOS.exhausted(game.state)
    assert outcome == Outcome.of("throws_exhausted", [1], 3, [0, 0, 0], [97, 102, 101])


# --- options ------------------------------------------------------------------------------------


THROWN = {
    "bankroll": 100,
    "lone_six": "bank",
    "double_six": "turn",
    "triple_six": "score",
    "double_counts": "throw",
    "doubles_force": False,
    "starter": "roll",
    "hold_before_roll": False,
}
RACE = {**THROWN, "stake": 0, "finish": "at_once", "auto_hold": False}
DEFAULTS = [
    ({}, {**RACE, "mode": "points", "dice": 1, "target": 69}),
    (
        {"mode": "rounds"},
        {**RACE, "mode": "rounds", "target": 300, "rounds_per_die": 3, "max_dice": 3},
    ),
    (
        {"mode": "turns"},
        {
            **THROWN,
            "mode": "turns",
            "dice": 1,
            "bets": 10,
            "stake": None,
            "tie": "split",
            "all_bust": "carry",
            "rotate_starter": True,
            "lone_six_loses_bet": False,
        },
    ),
]


@pytest.mark.parametrize(("options", "defaults"), DEFAULTS)
def test_the_first_value_of_an_option_is_its_default(
    options: dict[str, Any], defaults: dict[str, Any]
) -> None:
    assert DADOS.parse_options(options, 2).model_dump() == defaults


FOREIGN = [
    {"mode": "rounds", "dice": 2},
    {"mode": "turns", "target": 50},
    {"mode": "turns", "finish": "at_once"},
    {"mode": "turns", "auto_hold": True},
    {"bets": 3},
    {"mode": "rounds", "bets": 3},
    {"tie": "split"},
    {"rounds_per_die": 2},
    {"double_one": "turn"},
]


@pytest.mark.parametrize("options", FOREIGN, ids=str)
def test_options_of_another_mode_are_refused(options: dict[str, Any]) -> None:
    assert refused(**options) == [("/options", "unknown_field", {})]


WRONG = [
    ({"stake": 101}, "/options/stake", "above_bankroll", {"limit": 100}),
    (
        {"mode": "turns", "stake": 11, "bankroll": 10},
        "/options/stake",
        "above_bankroll",
        {"limit": 10},
    ),
    ({"mode": "turns", "stake": 0}, "/options/stake", "too_small", {"limit": 1}),
    ({"stake": -1}, "/options/stake", "too_small", {"limit": 0}),
    ({"dice": 4}, "/options/dice", "too_large", {"limit": 3}),
    ({"dice": True}, "/options/dice", "wrong_type", {}),
    ({"mode": "rounds", "max_dice": 0}, "/options/max_dice", "too_small", {"limit": 1}),
    ({"mode": "turns", "bets": 0}, "/options/bets", "too_small", {"limit": 1}),
    ({"mode": "turns", "bets": 101}, "/options/bets", "too_large", {"limit": 100}),
    ({"bankroll": 0}, "/options/bankroll", "too_small", {"limit": 1}),
    ({"bankroll": 10**9 + 1}, "/options/bankroll", "too_large", {"limit": 10**9}),
    ({"mode": "poker"}, "/options/mode", "not_allowed", {}),
]


@pytest.mark.parametrize(("options", "pointer", "code", "params"), WRONG, ids=str)
def test_wrong_options_are_refused(
    options: dict[str, Any], pointer: str, code: str, params: dict[str, int]
) -> None:
    assert refused(**options) == [(pointer, code, params)]


@pytest.mark.parametrize(("seats", "code"), [(1, "too_short"), (9, "too_long")])
def test_other_numbers_of_seats_are_refused(seats: int, code: str) -> None:
    ((pointer, found, _),) = refused(seats)
    assert (pointer, found) == ("/seats", code)


def test_the_whole_bankroll_may_be_the_stake() -> None:
    game = table(stake=100)
    assert figures(game) == ([0, 0], 200)


def test_the_largest_sums_can_be_bet() -> None:
    game = with_chips(session(8, bankroll=10**9), 8 * 10**9, *(0,) * 7)
    assert game.accepts(0, Bet(kind="bet", amount=8 * 10**9))


@pytest.mark.parametrize(
    ("options", "seats", "throws"),
    [
        ({}, 2, 1104),
        ({"mode": "turns", "bets": 1}, 2, 1024),
        ({"mode": "turns"}, 8, 2560),
        ({"mode": "turns", "bets": 100}, 8, 25_600),
        ({"mode": "rounds"}, 8, 19_200),
    ],
)
def test_the_key_chain_grows_with_the_game(
    options: dict[str, Any], seats: int, throws: int
) -> None:
    parsed = DADOS.parse_options(options, seats)
    assert DADOS.throws_max(parsed, seats) == throws


def test_a_state_of_each_mode_survives_storage() -> None:
    for game in (table(stake=5), session(), table(mode="rounds")):
        assert DADOS.load(DADOS.dump(game.state)) == game.state
    assert isinstance(DADOS.load(DADOS.dump(session().state)).options, TurnsOptions)
