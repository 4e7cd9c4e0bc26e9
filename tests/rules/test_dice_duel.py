"""Duelo de dados: the example table of the rules as data, every option, every fine point."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import TypeAdapter

from service.errors import FieldError, InvalidInput
from service.rules.base import Action, Hold, LegalAction, Outcome, Reroll, Roll, Tiebreak
from service.rules.dice_duel import DICE_DUEL as DUEL
from service.rules.dice_duel import REASONS
from service.rules.dice_duel_state import DuelView
from tests.rules.table import GivenDice, Table

WIN_2 = {"first_to_win": 2}
LOSE_2 = {"first_to_lose": 2}


def table(seats: int, **options: Any) -> Table:
    return Table(DUEL, seats, **options)


def one_throw(rule: str, search: str, *throws: Sequence[int], **options: Any) -> Table:
    """A table whose first throw decides: a winner or a loser is searched."""
    game = table(
        len(throws),
        rule=rule,
        dice=len(throws[0]),
        reroll=False,
        format=WIN_2 if search == "winner" else LOSE_2,
        free_formats=len(throws) == 2,
        **options,
    )
    game.act(0, "roll", *(face for throw in throws for face in throw))
    return game


def last(game: Table) -> Any:
    return game.events[-1]


def kinds(events: list[Any]) -> list[str]:
    return [event.kind for event in events]


def refused(seats: int, **options: Any) -> list[FieldError]:
    with pytest.raises(InvalidInput) as caught:
        DUEL.parse_options(options, seats)
    return list(caught.value.errors)


# --- the example table --------------------------------------------------------------------------

TAKEN = [
    ("sum_high", "winner", [(2, 5, 6), (3, 3, 4)], 0),
    ("sum_low", "winner", [(2, 5, 6), (3, 3, 4)], 1),
    ("trio_pair_sum", "winner", [(2, 2, 6), (3, 5, 6)], 0),
    ("trio_pair_sum", "winner", [(1, 1, 1), (6, 6, 5)], 0),
    ("trio_pair_sum", "winner", [(2, 2, 2), (5, 5, 5)], 1),
    ("trio_pair_sum", "winner", [(4, 5, 6), (1, 1, 2)], 1),
    ("sum_low", "loser", [(1, 2, 4), (2, 2, 3), (3, 4, 5)], 2),
    ("sum_high", "winner", [(1, 2, 4), (2, 2, 3), (3, 4, 5)], 2),
]
TIED = [
    ("trio_pair_sum", "winner", [(6, 6, 2), (6, 6, 5)], (0, 1)),
    ("trio_pair_sum", "winner", [(1, 2, 6), (2, 3, 4)], (0, 1)),
    ("sum_high", "loser", [(1, 2, 4), (2, 2, 3), (3, 4, 5)], (0, 1)),
    ("sum_low", "winner", [(1, 2, 4), (2, 2, 3), (3, 4, 5)], (0, 1)),
    ("trio_pair_sum", "loser", [(1, 1, 6), (1, 1, 2), (3, 3, 4)], (0, 1)),
    ("sum_high", "loser", [(1, 4, 5), (2, 2, 6), (3, 3, 4)], (0, 1, 2)),
]


@pytest.mark.parametrize(("rule", "search", "throws", "seat"), TAKEN)
def test_the_seat_alone_at_the_searched_end_takes_the_round(
    rule: str, search: str, throws: list[tuple[int, ...]], seat: int
) -> None:
    game = one_throw(rule, search, *throws)
    assert (last(game).kind, last(game).seat) == (
        "round_won" if search == "winner" else "round_lost",
        seat,
    )
    assert game.view["wins"] == [int(other == seat) for other in range(len(throws))]


@pytest.mark.parametrize(("rule", "search", "throws", "seats"), TIED)
def test_several_at_the_searched_end_must_break_the_tie(
    rule: str, search: str, throws: list[tuple[int, ...]], seats: tuple[int, ...]
) -> None:
    game = one_throw(rule, search, *throws)
    assert (last(game).kind, last(game).seats) == ("tied", seats)
    assert DUEL.phase(game.state) == "tiebreak"
    assert game.view["tied"] == list(seats)
    assert game.view["wins"] == [0] * len(throws)


def test_a_tiebreak_is_compared_only_among_those_tied() -> None:
    game = one_throw("sum_high", "winner", (4, 5, 6), (4, 5, 6), (4, 4, 6))
    game.act(0, "tiebreak", 1, 1, 1, 1, 1, 3)
    assert (last(game).kind, last(game).seat) == ("round_won", 1)


def test_a_tiebreak_for_the_tail_is_lost_by_the_worst_of_those_tied() -> None:
    game = one_throw("sum_high", "loser", (1, 2, 4), (2, 2, 3), (3, 4, 5))
    game.act(2, "tiebreak", 6, 6, 6, 6, 6, 5)
    assert (last(game).kind, last(game).seat) == ("round_lost", 1)


def test_those_still_tied_go_on_alone() -> None:
    game = one_throw("sum_high", "winner", (1, 2, 3), (1, 2, 3), (1, 2, 3))
    game.act(0, "tiebreak", 5, 5, 1, 4, 5, 2, 3, 3, 3)
    assert (last(game).kind, last(game).seats) == ("tied", (0, 1))
    game.act(0, "tiebreak", 1, 1, 1, 1, 1, 2)
    assert (last(game).kind, last(game).seat) == ("round_won", 1)


def test_best_of_three_is_over_after_two_rounds_won_by_one_seat() -> None:
    game = table(2, reroll=False, format={"best_of": 3})
    game.act(0, "roll", 6, 6, 6, 1, 1, 1)
    assert game.outcome is None
    game.act(0, "roll", 6, 6, 6, 1, 1, 1)
    assert game.outcome == Outcome("rounds_won", (0,), (1,), (2, 0), None)
    assert DUEL.legal(game.state) == ()
    assert DUEL.to_act(game.state) == ()
    assert not DUEL.can_resign(game.state, 1)


def test_a_loser_of_two_rounds_is_searched_until_one_seat_has_lost_two() -> None:
    game = table(3, reroll=False, dice=1, format=LOSE_2)
    game.act(0, "roll", 1, 5, 6)
    game.act(0, "roll", 5, 1, 6)
    game.act(0, "roll", 5, 6, 1)
    assert (game.view["wins"], game.view["round"], game.outcome) == ([1, 1, 1], 4, None)
    game.act(0, "roll", 5, 1, 6)
    assert game.outcome == Outcome("rounds_lost", (0, 2), (1,), (1, 2, 1), None)


def test_nothing_can_be_marked_after_the_round_was_resolved() -> None:
    game = table(2)
    game.act(0, "roll", 6, 6, 6, 1, 1, 1)
    game.act(0, "hold")
    game.act(1, "hold")
    assert game.refusal(0, "reroll", mask=(True, False, False)) == "already_resolved"
    assert game.refusal(1, "hold") == "already_resolved"


def test_nothing_can_be_marked_in_a_tiebreak() -> None:
    game = table(2)
    game.act(0, "roll", 1, 2, 3, 1, 2, 3)
    game.act(0, "hold")
    game.act(1, "hold")
    assert game.kinds(0) == game.kinds(1) == ["tiebreak"]
    assert game.refusal(0, "reroll", mask=(True, False, False)) == "already_resolved"
    assert game.refusal(0, "roll") == "must_break_tie"


# --- options ------------------------------------------------------------------------------------


def test_the_defaults_are_three_dice_the_high_sum_and_one_choice() -> None:
    assert DUEL.parse_options({}, 2).model_dump(mode="json") == {
        "rule": "sum_high",
        "dice": 3,
        "reroll": True,
        "format": {"best_of": 3},
        "press": "all",
        "penalty": None,
        "free_formats": False,
    }


@pytest.mark.parametrize(("seats", "code"), [(1, "too_short"), (9, "too_long")])
def test_other_numbers_of_seats_are_refused(seats: int, code: str) -> None:
    (error,) = refused(seats)
    assert (error.pointer, error.code) == ("/seats", code)


@pytest.mark.parametrize("seats", range(3, 9))
def test_three_or_more_seats_play_the_first_to_win_two_by_default(seats: int) -> None:
    assert DUEL.parse_options({}, seats).model_dump()["format"] == {"first_to_win": 2}


def test_at_a_hot_seat_table_anyone_resolves_by_default() -> None:
    assert DUEL.parse_options({}, 2, hotseat=True).press == "anyone"
    assert DUEL.parse_options({"press": "all"}, 2, hotseat=True).press == "all"


@pytest.mark.parametrize(
    ("seats", "form"),
    [(2, {"best_of": n}) for n in (1, 3, 5)]
    + [(3, {"first_to_win": n}) for n in range(1, 10)]
    + [(8, {"first_to_lose": n}) for n in range(1, 10)],
)
def test_every_format_is_allowed_with_its_count_of_seats(seats: int, form: dict[str, int]) -> None:
    options = DUEL.parse_options({"format": form}, seats)
    assert options.model_dump()["format"] == form
    assert DUEL.load_options(options.model_dump(mode="json")) == options


@pytest.mark.parametrize(
    ("seats", "form", "errors"),
    [
        (3, {"best_of": 3}, [FieldError("/options/format", "needs_two_seats")]),
        (2, LOSE_2, [FieldError("/options/format", "needs_three_seats")]),
        (2, WIN_2, [FieldError("/options/format", "needs_three_seats")]),
        (2, {"best_of": 7}, [FieldError("/options/format/best_of", "too_large", (("limit", 5),))]),
        (2, {"best_of": 2}, [FieldError("/options/format/best_of", "not_allowed")]),
    ],
)
def test_a_format_for_another_count_of_seats_is_refused(
    seats: int, form: dict[str, int], errors: list[FieldError]
) -> None:
    assert refused(seats, format=form) == errors


@pytest.mark.parametrize(
    ("seats", "form"), [(8, {"best_of": 9}), (3, {"best_of": 1}), (2, WIN_2), (2, LOSE_2)]
)
def test_free_formats_allow_every_mix(seats: int, form: dict[str, int]) -> None:
    DUEL.parse_options({"format": form, "free_formats": True}, seats)


def test_best_of_takes_an_odd_number_even_in_free_formats() -> None:
    assert refused(3, format={"best_of": 4}, free_formats=True) == [
        FieldError("/options/format/best_of", "not_allowed")
    ]


@pytest.mark.parametrize(
    ("form", "pointer", "code"),
    [
        ({}, "", "not_allowed"),
        (None, "", "not_allowed"),
        ({"best_of": 3, "first_to_win": 2}, "", "not_allowed"),
        ({"rounds": 3}, "", "not_allowed"),
        ({"best_of": True}, "/best_of", "wrong_type"),
        ({"best_of": 3.0}, "/best_of", "wrong_type"),
        ({"first_to_win": 0}, "/first_to_win", "too_small"),
        ({"first_to_lose": 10}, "/first_to_lose", "too_large"),
    ],
)
def test_a_malformed_format_is_refused_at_its_own_pointer(
    form: Any, pointer: str, code: str
) -> None:
    (error,) = refused(2, format=form)
    assert (error.pointer, error.code) == (f"/options/format{pointer}", code)


def test_the_schema_of_the_options_shows_each_format_as_one_key() -> None:
    schema = DUEL.options_schema()
    names = [branch["$ref"].rsplit("/")[-1] for branch in schema["properties"]["format"]["oneOf"]]
    shown = [schema["$defs"][name]["required"] for name in names]
    assert shown == [["best_of"], ["first_to_win"], ["first_to_lose"]]
    assert all(
        {"title", "description", "default"} <= option.keys()
        for option in schema["properties"].values()
    )


@pytest.mark.parametrize("dice", [1, 2, 3, 4, 5])
def test_the_sum_is_taken_of_one_to_five_dice(dice: int) -> None:
    game = table(2, dice=dice, format={"best_of": 1})
    game.act(1, "roll", *[6] * dice, *[5] * dice)
    assert game.refusal(0, "reroll", mask=(True,) * (dice % 5 + 1)) == "mask_length"
    game.act(0, "reroll", mask=(True,) * dice)
    game.act(1, "hold", *[1] * dice)
    assert game.outcome is not None
    assert game.outcome.winners == (1,)


@pytest.mark.parametrize("dice", [0, 6, "3", None])
def test_other_counts_of_dice_are_refused(dice: Any) -> None:
    assert [error.pointer for error in refused(2, dice=dice)] == ["/options/dice"]


def test_the_trio_rule_has_three_dice() -> None:
    assert refused(2, rule="trio_pair_sum", dice=2) == [
        FieldError("/options/dice", "needs_three_dice")
    ]
    assert DUEL.parse_options({"rule": "trio_pair_sum"}, 2).dice == 3
    assert DUEL.parse_options({"rule": "trio_pair_sum", "dice": 3}, 2).dice == 3


def test_without_reroll_the_first_throw_decides() -> None:
    game = table(2, reroll=False)
    assert kinds(game.act(1, "roll", 6, 6, 6, 1, 1, 1)) == ["table_rolled", "round_won"]
    assert game.kinds(0) == ["roll"]
    assert game.refusal(0, "hold") == "no_reroll"


# --- a round ------------------------------------------------------------------------------------


def throws_of(game: Table, seat: int | None, action: Action, *faces: int) -> list[Any]:
    """The seat and the count of dice of each throw that an action would make."""
    dice = GivenDice(faces)
    list(DUEL.decide(game.state, seat, action, dice))
    assert not dice.faces
    return [(thrower, len(names)) for thrower, names, _ in dice.thrown]


def choosing(seats: int, *faces: int, **options: Any) -> Table:
    """A table whose dice lie and whose seats may choose."""
    game = table(seats, **options)
    game.act(0, "roll", *faces)
    return game


def test_any_seat_rolls_for_the_whole_table_and_each_seat_has_its_own_throw() -> None:
    game = table(3)
    assert DUEL.phase(game.state) == "rolling"
    assert DUEL.to_act(game.state) == (0, 1, 2)
    assert [game.kinds(seat) for seat in range(3)] == [["roll"]] * 3
    made = throws_of(game, 2, Roll(kind="roll"), *[1] * 9)
    assert made == [(0, 3), (1, 3), (2, 3)]


def test_after_the_roll_every_seat_chooses_in_any_order() -> None:
    game = choosing(3, 1, 2, 3, 4, 5, 6, 1, 1, 1)
    assert DUEL.phase(game.state) == "choosing"
    assert game.view["faces"] == [[1, 2, 3], [4, 5, 6], [1, 1, 1]]
    assert DUEL.to_act(game.state) == (0, 1, 2)
    game.act(2, "reroll", mask=(True, False, True))
    game.act(0, "hold")
    assert DUEL.to_act(game.state) == (1,)
    assert game.view["choices"] == [[False, False, False], None, [True, False, True]]


def test_a_choice_may_be_changed_until_the_round_is_resolved() -> None:
    game = choosing(2, 1, 1, 1, 2, 2, 2)
    game.act(0, "reroll", mask=(True, True, True))
    assert game.kinds(0) == ["reroll", "hold"]
    game.act(0, "hold")
    game.act(1, "hold")
    assert game.view["wins"] == [0, 1]


def test_the_last_choice_resolves_the_round_in_its_own_entry() -> None:
    game = choosing(2, 1, 1, 1, 2, 2, 2)
    assert kinds(game.act(1, "hold")) == ["chose"]
    assert kinds(game.act(0, "reroll", 6, 6, 6, mask=(True, True, True))) == [
        "chose",
        "resolved",
        "round_won",
    ]


def test_only_marked_dice_are_thrown_again_in_seat_order() -> None:
    game = choosing(3, 1, 2, 3, 4, 5, 6, 1, 1, 1)
    game.act(2, "reroll", mask=(True, False, True))
    game.act(1, "hold")
    reroll = Reroll(kind="reroll", mask=(False, True, False))
    assert throws_of(game, 0, reroll, 6, 5, 4) == [(0, 1), (2, 2)]
    game.act(0, "reroll", 6, 5, 4, mask=(False, True, False))
    assert game.events[-2].faces == ((1, 6, 3), (4, 5, 6), (5, 1, 4))


def test_a_mask_without_a_flag_is_a_hold() -> None:
    game, other = (choosing(2, 1, 1, 1, 2, 2, 2) for _ in range(2))
    game.act(0, "reroll", mask=(False, False, False))
    other.act(0, "hold")
    assert game.events == other.events
    assert throws_of(game, 1, Hold(kind="hold")) == []


def test_where_anyone_presses_the_round_waits_for_a_resolve_after_all_have_chosen() -> None:
    game = choosing(2, 1, 1, 1, 2, 2, 2, press="anyone")
    game.act(0, "hold")
    assert game.refusal(0, "resolve") == "choices_open"
    game.act(1, "hold")
    assert DUEL.to_act(game.state) == (0, 1)
    assert game.kinds(0) == game.kinds(1) == ["reroll", "hold", "resolve"]
    game.act(1, "reroll", mask=(True, True, True))
    assert kinds(game.act(0, "resolve", 1, 1, 2)) == ["resolved", "round_won"]


def test_where_the_host_presses_only_the_host_resolves() -> None:
    game = choosing(2, 1, 1, 1, 2, 2, 2, press="host")
    game.act(0, "hold")
    assert game.kinds(None) == []
    assert game.refusal(None, "resolve") == "choices_open"
    game.act(1, "hold")
    assert DUEL.legal(game.state)[-1] == LegalAction(None, "resolve")
    assert DUEL.to_act(game.state) == ()
    assert game.kinds(0) == ["reroll", "hold"]
    assert game.refusal(0, "resolve") == "host_resolves"
    game.act(None, "resolve")
    assert game.view["wins"] == [0, 1]


@pytest.mark.parametrize(("press", "kinds"), [("host", ("resolve",)), ("anyone", ())])
def test_only_a_host_who_presses_acts_for_the_table(press: str, kinds: tuple[str, ...]) -> None:
    assert DUEL.host_kinds(DUEL.parse_options({"press": press}, 2)) == kinds


def test_a_seat_that_does_not_take_part_in_a_tie_may_ask_for_the_tiebreak() -> None:
    game = one_throw("sum_high", "winner", (6, 6, 6), (6, 6, 6), (1, 1, 1))
    assert DUEL.to_act(game.state) == (0, 1, 2)
    assert [game.kinds(seat) for seat in range(3)] == [["tiebreak"]] * 3
    made = throws_of(game, 2, Tiebreak(kind="tiebreak"), 1, 1, 1, 2, 2, 2)
    assert made == [(0, 3), (1, 3)]


def test_a_tiebreak_after_throwing_again_gives_no_further_choice() -> None:
    game = choosing(2, 1, 2, 3, 3, 2, 1)
    game.act(0, "hold")
    game.act(1, "hold")
    assert kinds(game.act(1, "tiebreak", 1, 1, 1, 1, 1, 2)) == ["tiebreak_rolled", "round_won"]


def test_a_tiebreak_belongs_to_its_round() -> None:
    game = one_throw("sum_high", "winner", (6, 6, 6), (6, 6, 6), (1, 1, 1))
    assert game.view["round"] == 1
    game.act(0, "tiebreak", 2, 2, 2, 1, 1, 1)
    assert (game.view["round"], game.view["wins"]) == (2, [1, 0, 0])


REFUSALS = [
    ("rolling", {}, 0, "hold", {}, "nothing_rolled"),
    ("rolling", {}, 0, "reroll", {"mask": (True, True, True)}, "nothing_rolled"),
    ("rolling", {}, 0, "resolve", {}, "nothing_rolled"),
    ("rolling", {}, 0, "tiebreak", {}, "no_tie"),
    ("rolling", {}, 0, "pass", {}, "not_in_phase"),
    ("rolling", {"reroll": False}, 0, "reroll", {"mask": (True, True, True)}, "no_reroll"),
    ("choosing", {}, 0, "roll", {}, "already_rolled"),
    ("choosing", {}, 0, "tiebreak", {}, "no_tie"),
    ("choosing", {}, 0, "reroll", {"mask": (True, True)}, "mask_length"),
    ("choosing", {}, 0, "resolve", {}, "resolves_itself"),
    ("choosing", {"press": "anyone"}, 0, "resolve", {}, "choices_open"),
    ("choosing", {"press": "host"}, 0, "resolve", {}, "host_resolves"),
    ("choosing", {"press": "host"}, None, "resolve", {}, "choices_open"),
    ("tiebreak", {}, 0, "roll", {}, "must_break_tie"),
    ("tiebreak", {}, 0, "resolve", {}, "already_resolved"),
]


@pytest.mark.parametrize(("phase", "options", "seat", "kind", "parameters", "reason"), REFUSALS)
def test_a_refusal_names_its_reason(
    phase: str,
    options: dict[str, Any],
    seat: int | None,
    kind: str,
    parameters: dict[str, Any],
    reason: str,
) -> None:
    game = table(2, **options)
    if phase != "rolling":
        game.act(0, "roll", 1, 2, 3, 1, 2, 3)
    if phase == "tiebreak":
        game.act(0, "hold")
        game.act(1, "hold")
    assert DUEL.phase(game.state) == phase
    assert game.refusal(seat, kind, **parameters) == reason


def test_every_documented_reason_is_given_somewhere() -> None:
    shown = {reason for *_, reason in REFUSALS}
    assert shown == set(REASONS)


# --- resigning ----------------------------------------------------------------------------------


def test_a_seat_that_resigned_throws_no_more() -> None:
    game = table(3)
    game.act(1, "resign")
    assert DUEL.to_act(game.state) == (0, 2)
    assert game.kinds(1) == []
    assert not DUEL.can_resign(game.state, 1)
    assert throws_of(game, 0, Roll(kind="roll"), *[1] * 6) == [(0, 3), (2, 3)]
    game.act(0, "roll", 1, 1, 1, 2, 2, 2)
    assert game.view["faces"] == [[1, 1, 1], [], [2, 2, 2]]


def test_the_dice_of_a_seat_that_resigned_no_longer_count() -> None:
    game = choosing(3, 6, 6, 6, 1, 1, 2, 1, 1, 1)
    game.act(0, "resign")
    assert game.view["faces"] == [[], [1, 1, 2], [1, 1, 1]]
    game.act(1, "hold")
    game.act(2, "hold")
    (past,) = game.view["rounds"]
    assert past["before"] == [[6, 6, 6], [1, 1, 2], [1, 1, 1]]
    assert past["after"] == [[], [1, 1, 2], [1, 1, 1]]
    assert past["seat"] == 1


def test_a_marking_of_a_seat_that_resigned_is_not_thrown() -> None:
    game = choosing(3, 6, 6, 6, 1, 1, 2, 1, 1, 1)
    game.act(0, "reroll", mask=(True, True, True))
    game.act(0, "resign")
    assert game.view["choices"] == [None, None, None]
    game.act(1, "hold")
    assert kinds(game.act(2, "hold")) == ["chose", "resolved", "round_won"]


def test_the_round_is_resolved_when_the_only_seat_that_had_not_chosen_resigns() -> None:
    game = choosing(3, 1, 1, 1, 6, 6, 6, 2, 2, 2)
    game.act(0, "reroll", mask=(True, False, False))
    game.act(2, "hold")
    assert kinds(game.act(1, "resign", 5)) == ["resigned", "resolved", "round_won"]
    assert game.view["wins"] == [1, 0, 0]


def test_a_resigning_seat_resolves_nothing_while_others_have_not_chosen() -> None:
    game = choosing(3, 1, 1, 1, 6, 6, 6, 2, 2, 2)
    game.act(0, "hold")
    game.act(0, "resign")
    assert DUEL.to_act(game.state) == (1, 2)


@pytest.mark.parametrize(("press", "presser"), [("anyone", 0), ("host", None)])
def test_where_somebody_presses_a_resigning_seat_resolves_nothing(
    press: str, presser: int | None
) -> None:
    game = choosing(3, 1, 1, 1, 6, 6, 6, 2, 2, 2, press=press)
    game.act(0, "hold")
    game.act(2, "hold")
    assert kinds(game.act(1, "resign")) == ["resigned"]
    game.act(presser, "resolve")
    assert game.view["wins"] == [0, 0, 1]


@pytest.mark.parametrize(
    ("search", "outside", "kind"),
    [("winner", (1, 1, 1), "round_won"), ("loser", (5, 5, 5), "round_lost")],
)
def test_one_tied_seat_left_takes_the_round(
    search: str, outside: tuple[int, ...], kind: str
) -> None:
    game = one_throw("sum_high", search, (3, 3, 3), (3, 3, 3), outside)
    assert kinds(game.act(0, "resign")) == ["resigned", kind]
    assert last(game).seat == 1


def test_a_tie_goes_on_among_several_when_one_of_them_resigns() -> None:
    game = one_throw("sum_high", "winner", (3, 3, 3), (3, 3, 3), (3, 3, 3), (3, 3, 3))
    game.act(0, "resign")
    assert game.view["tied"] == [1, 2, 3]
    game.act(3, "resign")
    assert game.view["tied"] == [1, 2]
    game.act(1, "tiebreak", 1, 1, 1, 1, 1, 2)
    assert last(game).seat == 2


def test_a_tie_goes_on_when_a_seat_outside_it_resigns() -> None:
    game = one_throw("sum_high", "winner", (6, 6, 6), (6, 6, 6), (1, 1, 1))
    assert kinds(game.act(2, "resign")) == ["resigned"]
    assert game.view["tied"] == [0, 1]
    game.act(0, "tiebreak", 1, 1, 1, 2, 2, 2)
    assert last(game).seat == 1


@pytest.mark.parametrize("faces", [(), (1, 2, 3, 1, 2, 4), (1, 2, 3, 1, 2, 3)])
def test_the_last_seat_left_wins_the_match_in_every_phase(faces: tuple[int, ...]) -> None:
    game = table(2, format={"first_to_lose": 1}, free_formats=True)
    if faces:
        game.act(0, "roll", *faces)
        game.act(1, "hold")
    if faces[-1:] == (3,):
        game.act(0, "hold")
        assert DUEL.phase(game.state) == "tiebreak"
    assert kinds(game.act(0, "resign")) == ["resigned"]
    assert game.outcome == Outcome("last_seat", (1,), (0,), (0, 0), None)
    assert game.view["round"] == 1
    assert DUEL.legal(game.state) == ()


def test_a_seat_that_resigned_does_not_win_with_the_others_when_one_loses() -> None:
    game = table(4, reroll=False, dice=1, format={"first_to_lose": 1})
    game.act(3, "resign")
    game.act(0, "roll", 6, 1, 5)
    assert game.outcome == Outcome("rounds_lost", (0, 2), (1, 3), (0, 1, 0, 0), None)


# --- the end ------------------------------------------------------------------------------------


def test_when_the_throws_run_out_the_most_rounds_won_share_the_match() -> None:
    game = table(3, reroll=False, dice=1, format={"first_to_win": 9})
    game.act(0, "roll", 6, 1, 1)
    game.act(0, "roll", 1, 6, 1)
    assert DUEL.exhausted(game.state) == Outcome("throws_exhausted", (0, 1), (2,), (1, 1, 0), None)
    game.act(0, "resign")
    assert DUEL.exhausted(game.state).winners == (1,)


def test_when_the_throws_run_out_the_fewest_rounds_lost_share_the_match() -> None:
    game = table(3, reroll=False, dice=1, format={"first_to_lose": 9})
    game.act(0, "roll", 1, 6, 6)
    assert DUEL.exhausted(game.state) == Outcome("throws_exhausted", (1, 2), (0,), (1, 0, 0), None)
    game.act(1, "resign")
    assert DUEL.exhausted(game.state).winners == (2,)


@pytest.mark.parametrize(
    ("form", "rounds"),
    [({"best_of": 1}, 1), ({"best_of": 3}, 2), ({"best_of": 9}, 5), ({"first_to_win": 3}, 3)],
)
def test_the_match_is_won_with_the_rounds_that_its_format_needs(
    form: dict[str, int], rounds: int
) -> None:
    game = table(3, reroll=False, dice=1, format=form, free_formats=True)
    played = 0
    while game.outcome is None:
        game.act(0, "roll", 1, 2, 3)
        played += 1
    assert (played, game.outcome.reason, game.outcome.winners) == (rounds, "rounds_won", (2,))


@pytest.mark.parametrize("seats", range(2, 9))
def test_the_key_chain_is_long_enough_and_never_too_long(seats: int) -> None:
    for form in ({"best_of": 9}, {"first_to_win": 9}, {"first_to_lose": 1}):
        options = DUEL.parse_options({"format": form, "free_formats": True}, seats)
        longest = seats * (options.rounds_needed - 1) + 1
        assert max(1024, 4 * seats * longest) <= DUEL.throws_max(options, seats) <= 65_535


@pytest.mark.parametrize(
    ("seats", "form", "length"),
    [
        (8, {"first_to_win": 9}, 8 * 8 * 65),
        (8, {"first_to_lose": 9}, 8 * 8 * 65),
        (5, {"best_of": 9}, 1024),  # 21 rounds at most, and a chain is never shorter
        (8, {"best_of": 9}, 8 * 8 * 33),
    ],
)
def test_the_key_chain_has_eight_throws_a_seat_in_each_round_of_the_longest_match(
    seats: int, form: dict[str, int], length: int
) -> None:
    options = DUEL.parse_options({"format": form, "free_formats": True}, seats)
    assert DUEL.throws_max(options, seats) == length


# --- penalties ----------------------------------------------------------------------------------

DECK = ["sing", "dance", "tell a secret"]


def test_each_loser_of_the_match_draws_one_text_by_a_throw_in_the_last_entry() -> None:
    game = table(
        3,
        reroll=False,
        dice=1,
        format={"first_to_win": 1},
        penalty={"kind": "forfeit", "deck": DECK},
    )
    assert game.view["penalties"] is None
    dice = GivenDice((1, 6, 2, 2, 0))
    events = list(DUEL.decide(game.state, 0, Roll(kind="roll"), dice))
    assert dice.thrown[3:] == [(0, ("penalty",), (2,)), (2, ("penalty",), (0,))]
    assert [event.model_dump(exclude={"kind"}) for event in events[2:]] == [
        {"seat": 0, "card": 2, "text": "tell a secret"},
        {"seat": 2, "card": 0, "text": "sing"},
    ]
    game.act(0, "roll", 1, 6, 2, 2, 0)
    assert game.view["penalties"] == [
        {"seat": 0, "text": "tell a secret"},
        {"seat": 2, "text": "sing"},
    ]


def test_where_a_loser_is_searched_only_that_seat_draws() -> None:
    game = table(
        3,
        reroll=False,
        dice=1,
        format={"first_to_lose": 1},
        penalty={"kind": "truth", "deck": DECK},
    )
    assert kinds(game.act(0, "roll", 1, 6, 2, 1)) == [
        "table_rolled",
        "round_lost",
        "penalty_drawn",
    ]


def test_a_seat_that_resigned_draws_with_the_losers() -> None:
    game = table(2, penalty={"kind": "truth", "deck": DECK})
    assert kinds(game.act(0, "resign", 1)) == ["resigned", "penalty_drawn"]
    assert game.view["penalties"] == [{"seat": 0, "text": "dance"}]


def test_nobody_draws_before_the_match_is_over() -> None:
    game = table(2, reroll=False, penalty={"kind": "truth", "deck": DECK})
    game.act(0, "roll", 1, 1, 1, 2, 2, 2)
    assert game.view["penalties"] is None


def test_the_penalty_die_has_a_face_for_each_text_and_is_published_only_when_used() -> None:
    plain = DUEL.parse_options({}, 2)
    assert set(DUEL.dice(plain, 2)) == {"d6"}
    options = DUEL.parse_options({"penalty": {"kind": "truth", "deck": DECK}}, 2)
    assert DUEL.dice(options, 2)["penalty"].to_json() == {"faces": [0, 1, 2], "weights": [1, 1, 1]}


@pytest.mark.parametrize(
    ("deck", "pointer", "code"),
    [
        ([], "", "too_short"),
        (["x"] * 65, "", "too_long"),
        (["x", ""], "/1", "too_short"),
        (["x", "x" * 201], "/1", "too_long"),
        (["x", "sing\n"], "/1", "wrong_form"),
        (["x", "\u0000"], "/1", "wrong_form"),
        (["x", "x\u202ey"], "/1", "wrong_form"),
        (["x", 1], "/1", "wrong_type"),
        ("sing", "", "wrong_type"),
        (["x" * 200] * 20 + ["x"], "", "texts_too_long"),
    ],
)
def test_a_malformed_deck_is_refused(deck: Any, pointer: str, code: str) -> None:
    (error,) = refused(2, penalty={"kind": "truth", "deck": deck})
    assert (error.pointer, error.code) == (f"/options/penalty/deck{pointer}", code)


def test_a_deck_holds_one_to_sixty_four_texts_of_up_to_two_hundred_code_points() -> None:
    for deck in (["¿Cantas? 🎲"], ["🎲" * 200] * 20, ["🎲" * 62] * 64):
        options = DUEL.parse_options({"penalty": {"kind": "forfeit", "deck": deck}}, 2)
        assert DUEL.load_options(options.model_dump(mode="json")) == options


# --- the series ---------------------------------------------------------------------------------


def test_the_tally_counts_matches_won() -> None:
    options = DUEL.parse_options({}, 3)
    outcome = Outcome.of("rounds_won", [1], 3, (0, 2, 1))
    assert DUEL.tally(options, outcome) == (0, 1, 0)
    assert DUEL.tally_key(options) == "won"


def test_the_tally_counts_matches_lost_where_a_loser_is_searched() -> None:
    options = DUEL.parse_options({"format": LOSE_2}, 3)
    outcome = Outcome.of("rounds_lost", [0, 2], 3, (1, 2, 1))
    assert DUEL.tally(options, outcome) == (0, 1, 0)
    assert DUEL.tally_key(options) == "lost"


# --- the clock ----------------------------------------------------------------------------------


def test_the_clock_waits_for_who_has_not_chosen_else_for_nobody_in_particular() -> None:
    game = table(3, press="anyone")
    assert (DUEL.clocked(game.state), game.default(None)) == ((None,), {"kind": "roll"})
    game.act(0, "roll", *[1] * 6, 2, 2, 2)
    assert (DUEL.clocked(game.state), game.default(2)) == ((0, 1, 2), {"kind": "hold"})
    game.act(1, "hold")
    assert DUEL.clocked(game.state) == (0, 2)
    game.act(0, "hold")
    game.act(2, "reroll", mask=(True, True, True))
    assert (DUEL.clocked(game.state), game.default(None)) == ((None,), {"kind": "resolve"})
    game.act(0, "resolve", 1, 1, 1)
    assert (DUEL.clocked(game.state), game.default(None)) == ((None,), {"kind": "tiebreak"})
    game.act(0, "resign")
    game.act(1, "resign")
    assert DUEL.clocked(game.state) == ()


# --- what is stored and served ------------------------------------------------------------------


def long_game() -> Table:
    """Marks, a tie-break, a seat that resigns, and penalties."""
    game = choosing(3, *[1, 2, 3] * 3, penalty={"kind": "truth", "deck": DECK})
    game.act(0, "reroll", mask=(True, False, False))
    game.act(1, "hold")
    game.act(2, "hold", 1)
    game.act(0, "tiebreak", 5, 5, 5, 5, 5, 5, 1, 1, 1)
    game.act(0, "resign")
    game.act(1, "roll", 6, 6, 6, 1, 1, 1)
    game.act(2, "hold")
    game.act(1, "hold", 0, 2)
    return game


def test_the_view_has_just_the_documented_fields_and_shows_the_dice_of_each_round() -> None:
    game = long_game()
    assert game.outcome == Outcome("rounds_won", (1,), (0, 2), (0, 2, 0), None)
    assert (
        TypeAdapter(DuelView).validate_python(game.view, strict=True)
        == game.view
        == {
            "round": 2,
            "faces": [[], [], []],
            "choices": [None, None, None],
            "tied": [],
            "wins": [0, 2, 0],
            "rounds": [
                {
                    "round": 1,
                    "before": [[1, 2, 3]] * 3,
                    "after": [[1, 2, 3]] * 3,
                    "tiebreaks": [{"seats": [0, 1, 2], "faces": [[5, 5, 5], [5, 5, 5], [1, 1, 1]]}],
                    "seat": 1,
                },
                {
                    "round": 2,
                    "before": [[], [6, 6, 6], [1, 1, 1]],
                    "after": [[], [6, 6, 6], [1, 1, 1]],
                    "tiebreaks": [],
                    "seat": 1,
                },
            ],
            "penalties": [{"seat": 0, "text": "sing"}, {"seat": 2, "text": "tell a secret"}],
        }
    )


def test_the_state_survives_storing_after_each_event() -> None:
    game = long_game()
    state = DUEL.start(game.options, 3)
    for event in game.events:
        parsed = DUEL.parse_event(json.loads(event.model_dump_json()))
        assert parsed == event
        state = DUEL.load(json.loads(json.dumps(DUEL.dump(DUEL.apply(state, parsed)))))
    assert state == game.state


def test_an_event_of_each_kind_is_documented_with_its_fields() -> None:
    kinds_shown = set(DUEL.event_schema()["discriminator"]["mapping"])
    assert kinds_shown == {event.model_fields["kind"].default for event in DUEL.events}
