"""Paraíso y Nueve: the example table of the rules, every option and every fine point.

A is seat 0 and banks first unless a test says otherwise; B, C and D sit to its left.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dice import D6, THROWS_LIMIT, even_die
from service.errors import InvalidInput
from service.rules import base, heaven_and_nine
from service.rules.heaven_and_nine import HEAVEN_AND_NINE as RULES
from service.rules.heaven_and_nine import HeavenAndNineView
from service.rules.heaven_and_nine_throws import THROWS, figure
from tests.rules.table import Table

A, B, C, D = range(4)
STAKES = (10, 20, 30)

Faces = tuple[int, int]


def sit(seats: int = 4, **options: Any) -> Table:
    """A table at which seat 0 holds the bank."""
    return Table(RULES, seats, **{"starter": "seat", **options})


def decide(table: Table, seat: int, amount: int) -> None:
    """A seat bets; 0 passes."""
    if amount:
        table.act(seat, "bet", amount=amount)
    else:
        table.act(seat, "pass")


def bet(table: Table, *amounts: int) -> None:
    """The banker sets the highest limit, and the others decide from its left on."""
    state = table.state
    table.act(state.banker, "set_limit", amount=state.chips[state.banker])
    left = [seat for seat in state.left if state.bets[seat] is None]
    for seat, amount in zip(left, amounts, strict=True):
        decide(table, seat, amount)


def throw(table: Table, *faces: Faces) -> None:
    """Whoever's throw it is throws, throw after throw."""
    for shown in faces:
        table.act(table.view["seat"], "roll", *shown)


def play(table: Table, amounts: Sequence[int], *faces: Faces) -> None:
    bet(table, *amounts)
    throw(table, *faces)


def kinds(events: Sequence[base.Event]) -> list[str]:
    return [event.kind for event in events]


def won(table: Table) -> list[int]:
    """What each seat has won since the start, with its open bet still counted as its own."""
    state = table.state
    bankroll = state.options.bankroll
    return [sum(held) - bankroll for held in zip(state.chips, state.stakes, strict=True)]


def offers(table: Table, seat: int) -> list[dict[str, Any]]:
    return [each.to_json() for each in RULES.legal(table.state) if each.seat == seat]


def test_a_late_seat_sets_the_least_limit_passes_and_throws():
    table = sit(3)
    assert RULES.clocked(table.state) == (A,)
    assert table.default(A) == {"kind": "set_limit", "amount": offers(table, A)[0]["min"]}
    table.act(A, "set_limit", amount=20)
    assert RULES.clocked(table.state) == (B, C)
    assert table.default(C) == {"kind": "pass"}
    decide(table, B, 20)
    decide(table, C, 0)
    (late,) = RULES.clocked(table.state)
    assert late is not None
    assert table.default(late) == {"kind": "roll"}


# --- the 21 throws ------------------------------------------------------------------------------

NAMED = """
civil 1 6-6 1 Paraíso / Heaven / 天
civil 2 1-1 1 Tierra / Earth / 地
civil 3 4-4 1 Hombre / Man / 人
civil 4 3-1 2 Armonía / Harmony / 和
civil 5 5-5 1 Flor de cerezo / Plum Flower / 梅
civil 6 3-3 1 Tres largo / Long Threes / 長三
civil 7 2-2 1 Tronco / Bench / 板凳
civil 8 6-5 2 Cabeza de tigre / Tiger's Head / 斧頭
civil 9 6-4 2 Diez rojo / Red-Head Ten / 紅頭十
civil 10 6-1 2 Siete largo / Long-Leg Seven / 高腳七
civil 11 5-1 2 Seis rojo / Red Mallet Six / 紅鎚六
military 1 5-4 2 Nueve / Nines / 九
military 1 6-3 2 Nueve / Nines / 九
military 2 5-3 2 Ocho / Eights / 八
military 2 6-2 2 Ocho / Eights / 八
military 3 4-3 2 Siete / Sevens / 七
military 3 5-2 2 Siete / Sevens / 七
military 4 4-2 2 Seis / Six / 六
military 5 3-2 2 Cinco / Fives / 五
military 5 4-1 2 Cinco / Fives / 五
military 6 2-1 2 Tres final / Final Three / 三
"""


def test_the_glossary_names_the_21_throws_high_to_low():
    lines = []
    for each in RULES.glossary():
        high, low = each["faces"]
        names = " / ".join(each["names"][language] for language in ("es", "en", "zh"))
        lines.append(f"{each['series']} {each['rank']} {high}-{low} {each['ways']} {names}")
    assert lines == NAMED.split("\n")[1:-1]


def test_the_glossary_is_plain_json():
    assert json.loads(json.dumps(RULES.glossary())) == RULES.glossary()


def test_the_21_throws_are_the_36_ways_of_two_dice():
    assert sum(each.ways for each in THROWS) == 36
    assert len({each.faces for each in THROWS}) == 21


@pytest.mark.parametrize(
    "faces", [(first, second) for first in range(1, 7) for second in range(1, 7)]
)
def test_dice_show_the_same_figure_in_either_order(faces: Faces):
    assert figure(faces) == figure(faces[::-1])
    assert figure(faces).faces == tuple(sorted(faces, reverse=True))


# --- the rules in words -------------------------------------------------------------------------

TEXTS = Path(heaven_and_nine.__file__).parent / "texts"
in_both_languages = pytest.mark.parametrize("language", ["es", "en"])


def cells(text: str) -> list[list[str]]:
    """The rows of all tables in a rules text."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@in_both_languages
def test_the_rules_text_has_the_table_of_throws(language: str):
    text = (TEXTS / f"heaven-and-nine.{language}.md").read_text("utf-8")
    rows = [row for row in cells(text) if row[0].isdigit()]
    expected: dict[tuple[str, int], list[str]] = {}
    for each in RULES.glossary():
        names = [each["names"][name] for name in (language, "en" if language == "es" else "es")]
        faces = "-".join(map(str, each["faces"]))
        row = [str(each["rank"]), faces, str(each["ways"]), *names, each["names"]["zh"]]
        twin = expected.setdefault((each["series"], each["rank"]), row)
        if twin is not row:
            twin[1:3] = [f"{twin[1]}, {faces}", str(int(twin[2]) + each["ways"])]
    assert rows == list(expected.values())


@in_both_languages
def test_the_rules_text_explains_every_option_and_its_values(language: str):
    text = (TEXTS / f"heaven-and-nine.{language}.md").read_text("utf-8")
    for name, option in RULES.options_schema()["properties"].items():
        assert f"| `{name}` |" in text
        for value in option.get("enum", []):
            assert f"`{value}`" in text


# --- the example table --------------------------------------------------------------------------

EXAMPLES = {
    "the mark 6-6 wins all bets": ([(6, 6)], [60, -10, -20, -30], A),
    "the mark 5-4 wins all bets": ([(5, 4)], [60, -10, -20, -30], A),
    "the mark 6-3 wins all bets": ([(6, 3)], [60, -10, -20, -30], A),
    "the mark 5-1 pays all": ([(5, 1)], [-60, 10, 20, 30], B),
    "the mark 2-1 pays all": ([(2, 1)], [-60, 10, 20, 30], B),
    "the mark in its other order": ([(1, 2)], [-60, 10, 20, 30], B),
    "3-3, 6-2 is void, 3-1 is higher": (
        [(3, 3), (6, 2), (3, 1), (3, 3), (3, 3)],
        [-10, 10, 0, 0],
        B,
    ),
    "3-3 against 3-3 takes the bet back": ([(3, 3), (3, 3), (3, 3), (3, 3)], [0, 0, 0, 0], A),
    "5-3 against 6-2 takes the bet back": ([(5, 3), (6, 2), (6, 2), (5, 3)], [0, 0, 0, 0], A),
    "4-2, 4-3 is higher, 3-2 lower": (
        [(4, 2), (4, 3), (3, 2), (4, 2)],
        [10, 10, -20, 0],
        B,
    ),
    "1-1 against 6-6: the bettor wins": ([(1, 1), (6, 6), (1, 1), (1, 1)], [-10, 10, 0, 0], B),
    "5-5 against 6-1, 4-4, 5-5": ([(5, 5), (6, 1), (4, 4), (5, 5)], [-10, -10, 20, 0], B),
    "5-2 against 4-3, 3-2, 2-1": ([(5, 2), (4, 3), (3, 2), (2, 1)], [50, 0, -20, -30], A),
    "a bettor's Seis rojo only loses": ([(3, 3), (5, 1), (3, 3), (3, 3)], [10, -10, 0, 0], A),
    "a bettor's Paraíso wins even money": ([(3, 3), (3, 3), (3, 3), (6, 6)], [-30, 0, 0, 30], B),
    "a bettor's Nueve wins even money": ([(5, 3), (5, 4), (5, 3), (6, 2)], [-10, 10, 0, 0], B),
}


@pytest.mark.parametrize(("faces", "expected", "bank"), EXAMPLES.values(), ids=EXAMPLES)
def test_example(faces: list[Faces], expected: list[int], bank: int):
    table = sit()
    play(table, STAKES, *faces)
    assert won(table) == expected
    assert table.view["banker"] == bank
    assert (table.view["round"], RULES.phase(table.state)) == (2, "limit")


def test_no_bettor_throws_against_a_mark_that_decides_by_itself():
    for mark in ((6, 6), (5, 4), (6, 3), (5, 1), (2, 1)):
        table = sit()
        play(table, STAKES, mark)
        assert "rolled" not in kinds(table.events)
        assert kinds(table.events).count("settled") == 3


def test_a_throw_of_the_other_series_is_void_and_the_seat_rolls_again():
    table = sit()
    play(table, STAKES, (4, 2), (5, 1))
    assert RULES.to_act(table.state) == (B,)
    assert won(table) == [0, 0, 0, 0]
    assert table.view["last_throw"] == {
        "seat": B,
        "faces": [5, 1],
        "series": "civil",
        "rank": 11,
        "counts": False,
    }


def test_void_throws_have_no_limit():
    table = sit()
    play(table, STAKES, (4, 2), *[(6, 6)] * 200)
    assert RULES.to_act(table.state) == (B,)
    throw(table, (4, 3))
    assert won(table)[B] == 10


def test_a_bet_above_the_limit_is_refused():
    table = sit()
    table.act(A, "set_limit", amount=15)
    assert table.refusal(C, "bet", amount=20) == "above_limit"
    assert offers(table, C) == [
        {"seat": C, "kind": "bet", "min": 1, "max": 15},
        {"seat": C, "kind": "pass"},
    ]


def test_bets_are_covered_from_the_left_until_the_bank_has_no_chips():
    table = sit(bankroll=25)
    bet(table, 10, 10, 10)
    assert table.view["covered"] == [0, 10, 10, 5]
    assert table.view["chips"] == [25, 15, 15, 20]


def test_only_those_tied_for_the_largest_sum_throw_again():
    table = Table(RULES, 3, (2, 6, 5, 6, 6, 5, 3, 4, 2, 1))
    assert [(event.seats, event.sums) for event in table.events[:2]] == [
        ((0, 1, 2), (8, 11, 11)),
        ((1, 2), (7, 3)),
    ]
    assert table.view["banker"] == 1


def test_at_once_the_bank_passes_at_the_first_loss_and_later_bets_go_back():
    table = sit(bank_passes="at_once")
    play(table, STAKES, (4, 1), (4, 3))
    assert won(table) == [-10, 10, 0, 0]
    assert table.view["banker"] == B
    assert table.events[-4].amounts == (0, 0, 20, 30)


# --- a round, step by step ----------------------------------------------------------------------


def test_the_bettors_throw_in_turn_from_the_bankers_left():
    table = sit()
    play(table, STAKES, (5, 5))
    seats: list[int] = []
    while RULES.phase(table.state) == "settling":
        seats += RULES.to_act(table.state)
        throw(table, (5, 5))
    assert seats == [B, C, D]


def test_seats_bet_in_any_order_and_decide_once():
    table = sit()
    table.act(A, "set_limit", amount=50)
    assert RULES.to_act(table.state) == (B, C, D)
    table.act(D, "bet", amount=30)
    table.act(B, "pass")
    assert RULES.to_act(table.state) == (C,)
    assert table.refusal(D, "bet", amount=1) == "not_in_phase"
    assert table.refusal(B, "bet", amount=1) == "not_in_phase"


def test_a_seat_that_passed_does_not_throw():
    table = sit()
    play(table, (0, 20, 0), (5, 5))
    assert table.view["seat"] == C
    throw(table, (4, 4))
    assert won(table) == [-20, 0, 20, 0]


def test_when_nobody_bets_nobody_throws_and_the_bank_passes():
    table = sit()
    bet(table, 0, 0, 0)
    assert kinds(table.events)[-3:] == ["round_ended", "bank_passed", "round_started"]
    assert (table.view["banker"], table.view["round"]) == (B, 2)


def test_a_bet_leaves_the_chips_when_it_is_made():
    table = sit()
    table.act(A, "set_limit", amount=50)
    table.act(C, "bet", amount=20)
    assert table.view["chips"] == [100, 100, 80, 100]
    assert RULES.chips_in_play(table.state) == 400


def test_the_cover_stays_in_the_banks_chips_until_it_loses():
    table = sit()
    play(table, STAKES, (5, 5), (4, 4))
    assert table.view["chips"] == [90, 110, 80, 70]
    assert RULES.chips_in_play(table.state) == 400


def test_a_seat_may_bet_no_more_than_its_chips():
    table = sit(3)
    play(table, (80, 0), (6, 6))
    table.act(A, "set_limit", amount=100)
    assert offers(table, B)[0]["max"] == 20
    assert table.refusal(B, "bet", amount=21) == "above_chips"


def test_a_seat_without_chips_is_not_asked():
    table = sit(3)
    play(table, (100, 10), (6, 6))
    table.act(A, "set_limit", amount=100)
    assert RULES.to_act(table.state) == (C,)
    assert table.view["bets"] == [0, 0, None]


def test_the_bank_passes_over_a_seat_without_chips():
    table = sit(3)
    play(table, (100, 10), (6, 6))
    play(table, (10,), (5, 1))
    assert table.view["banker"] == C
    assert table.view["banked"] == [A, C]


def test_a_banker_without_chips_passes_the_bank_in_every_mode():
    for passes in ("round_end", "at_once", "every_round", "never"):
        table = sit(bank_passes=passes, end={"rounds": 9}, automatic_loss_passes=False)
        play(table, (50, 50, 0), (5, 1))
        assert table.view["chips"][A] == 0
        assert table.view["banker"] == B


def test_the_banker_keeps_the_bank_when_no_bet_was_lost():
    table = sit()
    play(table, STAKES, (5, 5), (6, 1), (5, 5), (2, 2))
    assert won(table) == [40, -10, 0, -30]
    assert table.view["banker"] == A
    assert "bank_passed" not in kinds(table.events)


# --- options ------------------------------------------------------------------------------------


def test_every_seat_starts_with_the_bankroll():
    assert sit(bankroll=7).view["chips"] == [7, 7, 7, 7]


def test_the_defaults_are_those_of_the_rules():
    assert RULES.parse_options({}, 2).model_dump(mode="json") == {
        "bankroll": 100,
        "end": {"circuits": 1},
        "bank_passes": "round_end",
        "automatic_loss_passes": True,
        "roll_off_tie": "tied",
        "cover": "left_first",
        "military_order": "pairs",
        "direction": "clockwise",
        "starter": "roll",
    }


WRONG = {
    "no bank without chips": ({"bankroll": 0}, "/bankroll", "too_small"),
    "a bankroll beyond counting": ({"bankroll": 10**9 + 1}, "/bankroll", "too_large"),
    "no circuit": ({"end": {"circuits": 0}}, "/end/circuits", "too_small"),
    "too many circuits": ({"end": {"circuits": 51}}, "/end/circuits", "too_large"),
    "circuits as a truth": ({"end": {"circuits": True}}, "/end/circuits", "wrong_type"),
    "no round": ({"end": {"rounds": 0}}, "/end/rounds", "too_small"),
    "too many rounds": ({"end": {"rounds": 1001}}, "/end/rounds", "too_large"),
    "no end": ({"end": {}}, "/end", "not_allowed"),
    "two ends": ({"end": {"circuits": 1, "rounds": 1}}, "/end", "not_allowed"),
    "another end": ({"end": {"minutes": 5}}, "/end", "not_allowed"),
    "an end as a number": ({"end": 3}, "/end", "not_allowed"),
    "never without rounds": ({"bank_passes": "never"}, "/bank_passes", "needs_rounds"),
    "never with circuits": (
        {"bank_passes": "never", "end": {"circuits": 2}},
        "/bank_passes",
        "needs_rounds",
    ),
    "an unknown cover": ({"cover": "half"}, "/cover", "not_allowed"),
    "an unknown direction": ({"direction": "left"}, "/direction", "not_allowed"),
    "holding before a roll": ({"hold_before_roll": True}, "", "unknown_field"),
    "holding by itself": ({"auto_hold": True}, "", "unknown_field"),
}


@pytest.mark.parametrize(("raw", "pointer", "code"), WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused_with_their_pointer(raw: Any, pointer: str, code: str):
    with pytest.raises(InvalidInput) as refused:
        RULES.parse_options(raw, 4)
    assert [(e.pointer, e.code) for e in refused.value.errors] == [("/options" + pointer, code)]


@pytest.mark.parametrize(("seats", "code"), [(1, "too_short"), (13, "too_long")])
def test_two_to_twelve_seats_play(seats: int, code: str):
    with pytest.raises(InvalidInput) as refused:
        RULES.parse_options({}, seats)
    assert [(e.pointer, e.code) for e in refused.value.errors] == [("/seats", code)]
    assert RULES.parse_options({}, 2) == RULES.parse_options({}, 12)


def test_the_schema_shows_that_an_end_has_exactly_one_key():
    schema = RULES.options_schema()
    end = schema["properties"]["end"]
    branches = [schema["$defs"][ref["$ref"].rsplit("/", 1)[1]] for ref in end["oneOf"]]
    assert [(list(each["properties"]), each["required"]) for each in branches] == [
        (["circuits"], ["circuits"]),
        (["rounds"], ["rounds"]),
    ]
    assert all(each["additionalProperties"] is False for each in branches)
    assert end["default"] == {"circuits": 1}


def test_the_schema_titles_and_describes_every_option():
    for option in RULES.options_schema()["properties"].values():
        assert option["title"]
        assert option["description"].endswith(".")
        assert "default" in option


def pass_the_bank(table: Table) -> None:
    """A round in which nobody bets."""
    bet(table, *[0] * len([seat for seat in table.state.able if seat != table.state.banker]))


def test_a_circuit_is_over_when_the_bank_comes_back():
    table = sit()
    for banker in (A, B, C, D):
        assert table.outcome is None
        assert table.view["banker"] == banker
        assert table.view["banked"] == list(range(banker + 1))
        pass_the_bank(table)
    assert table.outcome == base.Outcome.of("circuits_played", range(4), 4, chips=[100] * 4)


def test_a_circuit_starts_with_the_first_banker_whoever_it_is():
    table = Table(RULES, 3, (1, 1, 2, 2, 6, 6))
    for banker in (2, 0, 1):
        assert table.view["banker"] == banker
        pass_the_bank(table)
    assert table.outcome is not None
    assert table.outcome.reason == "circuits_played"


def test_banked_starts_anew_in_each_circuit():
    table = sit(2, end={"circuits": 2})
    seen = []
    while table.outcome is None:
        seen.append(table.view["banked"])
        pass_the_bank(table)
    assert seen == [[A], [A, B], [A], [A, B]]


def test_a_circuit_skips_a_seat_without_chips():
    table = sit(3)
    play(table, (100, 10), (6, 6))
    pass_the_bank(table)
    assert table.view["banked"] == [A, C]
    pass_the_bank(table)
    assert table.outcome is not None
    assert table.outcome.reason == "circuits_played"


def test_a_game_in_rounds_ends_after_them_wherever_the_bank_is():
    table = sit(end={"rounds": 2})
    play(table, STAKES, (6, 6))
    assert table.outcome is None
    play(table, STAKES, (6, 6))
    assert table.outcome == base.Outcome.of("rounds_played", [A], 4, chips=[220, 80, 60, 40])


def test_the_game_ends_when_fewer_than_two_seats_have_chips():
    for end in ({"circuits": 9}, {"rounds": 9}):
        table = sit(2, end=end)
        play(table, (100,), (5, 1))
        assert table.outcome == base.Outcome.of("no_chips", [B], 2, chips=[0, 200])


def test_seats_with_equally_many_chips_share_the_win():
    table = sit(3, end={"rounds": 1})
    play(table, (10, 10), (5, 1))
    assert table.outcome is not None
    assert table.outcome.winners == (B, C)
    assert table.outcome.losers == (A,)
    assert table.outcome.scores is None


def test_at_once_bets_before_the_loss_stay_settled():
    table = sit(bank_passes="at_once")
    play(table, STAKES, (5, 5), (6, 1), (4, 4))
    assert won(table) == [-10, -10, 20, 0]
    assert table.view["banker"] == B


def test_at_once_an_automatic_loss_still_pays_all():
    for passes, bank in ((True, B), (False, A)):
        table = sit(bank_passes="at_once", automatic_loss_passes=passes)
        play(table, STAKES, (2, 1))
        assert won(table) == [-60, 10, 20, 30]
        assert table.view["banker"] == bank


def test_at_once_a_round_without_a_loss_keeps_the_bank():
    table = sit(bank_passes="at_once")
    play(table, STAKES, (5, 5), (6, 1), (5, 5), (2, 2))
    assert table.view["banker"] == A


def test_every_round_the_bank_passes_even_after_a_round_without_a_loss():
    table = sit(bank_passes="every_round")
    play(table, STAKES, (6, 6))
    assert table.view["banker"] == B


def test_never_keeps_the_bank_after_losses_and_rounds_without_bets():
    table = sit(bank_passes="never", end={"rounds": 9})
    play(table, STAKES, (5, 1))
    play(table, STAKES, (3, 3), (6, 6), (3, 3), (3, 3))
    pass_the_bank(table)
    assert (table.view["banker"], table.view["round"]) == (A, 4)


def test_an_automatic_loss_does_not_pass_the_bank_when_the_option_says_so():
    table = sit(automatic_loss_passes=False)
    play(table, STAKES, (5, 1))
    assert won(table) == [-60, 10, 20, 30]
    assert table.view["banker"] == A


def test_another_loss_passes_the_bank_whatever_the_automatic_one_does():
    table = sit(automatic_loss_passes=False)
    play(table, STAKES, (3, 3), (6, 6), (3, 3), (3, 3))
    assert table.view["banker"] == B


def test_all_throw_again_when_the_option_says_so():
    table = Table(RULES, 3, (2, 6, 5, 6, 6, 5, 6, 6, 1, 1, 1, 2), roll_off_tie="all")
    assert [event.seats for event in table.events[:2]] == [(0, 1, 2), (0, 1, 2)]
    assert table.view["banker"] == 0


def test_a_tie_below_the_largest_sum_does_not_matter():
    table = Table(RULES, 3, (1, 1, 1, 1, 6, 6))
    assert table.view["banker"] == 2


def test_the_roll_off_goes_on_until_one_sum_is_largest():
    table = Table(RULES, 3, (1, 1, 6, 6, 6, 6, 3, 3, 2, 4, 1, 2, 1, 1))
    assert [event.seats for event in table.events[:3]] == [(0, 1, 2), (1, 2), (1, 2)]
    assert kinds(table.events)[3:] == ["starter_chosen", "round_started"]
    assert table.view["banker"] == 1


def test_a_drawn_starter_is_named_by_a_die_over_the_seats():
    table = Table(RULES, 5, [3], starter="random")
    assert table.view["banker"] == 3
    assert table.view["banked"] == [3]


def test_only_a_drawn_starter_publishes_the_die_over_the_seats():
    for starter, dice in (("roll", {}), ("seat", {}), ("random", {"seat": even_die(5)})):
        options = RULES.parse_options({"starter": starter}, 5)
        assert RULES.dice(options, 5) == {"d6": D6, **dice}


def test_before_the_first_bank_is_known_nobody_may_act():
    for starter, kind in (("roll", "roll_off"), ("random", "draw_starter")):
        state = RULES.start(RULES.parse_options({"starter": starter}, 3), 3)
        opening = RULES.opening(state)
        assert opening is not None
        assert opening.kind == kind
        assert RULES.legal(state) == ()
        assert RULES.to_act(state) == ()
        assert (RULES.view(state)["round"], RULES.view(state)["banker"]) == (0, None)
    assert RULES.opening(sit().state) is None


def test_proportional_cover_rounds_down_and_shares_the_rest_from_the_left():
    table = sit(cover="proportional", bankroll=25)
    bet(table, 10, 10, 10)
    assert table.view["covered"] == [0, 9, 8, 8]
    assert table.view["chips"] == [25, 16, 17, 17]


def test_proportional_cover_follows_the_size_of_the_bets():
    table = sit(cover="proportional", bankroll=25)
    bet(table, 5, 25, 20)
    # 2.5, 12.5 and 10 chips: two, twelve and ten, and one more for the first on the left.
    assert table.view["covered"] == [0, 3, 12, 10]


def test_proportional_cover_is_whole_when_the_bank_can_pay():
    table = sit(cover="proportional")
    bet(table, *STAKES)
    assert table.view["covered"] == [0, *STAKES]


def test_a_bet_covered_with_nothing_goes_back_and_is_not_thrown_for():
    for cover, covered in (("proportional", [0, 1, 1, 0]), ("left_first", [0, 2, 0, 0])):
        table = sit(cover=cover, bankroll=2)
        bet(table, 2, 2, 2)
        assert table.view["covered"] == covered
        uncovered = [seat for seat in (B, C, D) if not covered[seat]]
        assert [table.view["results"][seat] for seat in uncovered] == [0] * len(uncovered)
        assert [table.view["chips"][seat] for seat in uncovered] == [2] * len(uncovered)
        throw(table, (5, 5))
        throwers = []
        while RULES.phase(table.state) == "settling":
            throwers.append(table.view["seat"])
            throw(table, (5, 5))
        assert throwers == [seat for seat in (B, C, D) if covered[seat]]


@given(
    bank=st.integers(1, 40),
    stakes=st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any),
    cover=st.sampled_from(["left_first", "proportional"]),
)
def test_the_bank_covers_as_much_as_it_can_and_no_bet_more_than_whole(
    bank: int, stakes: list[int], cover: str
):
    table = sit(bankroll=40, cover=cover)
    # A limit above the bank's chips, which no banker can set: any bets at all are covered.
    chips = (bank, 40, 40, 40)
    table.state = replace(table.state, chips=chips, phase="betting", limit=40)
    for seat, amount in zip((B, C, D), stakes, strict=True):
        decide(table, seat, amount)
    covered = table.view["covered"][1:]
    assert sum(covered) == min(bank, sum(stakes))
    assert all(kept <= stake for kept, stake in zip(covered, stakes, strict=True))
    if cover == "proportional" and sum(stakes) > bank:
        exact = [stake * bank / sum(stakes) for stake in stakes]
        assert all(abs(kept - share) <= 1 for kept, share in zip(covered, exact, strict=True))


def test_a_bet_that_the_bank_cannot_cover_is_refused_when_placed():
    table = sit(cover="refuse", bankroll=25)
    table.act(A, "set_limit", amount=20)
    table.act(D, "bet", amount=18)
    assert offers(table, B)[0] == {"seat": B, "kind": "bet", "min": 1, "max": 7}
    assert table.refusal(B, "bet", amount=8) == "above_cover"
    table.act(C, "bet", amount=7)
    assert offers(table, B) == [{"seat": B, "kind": "pass"}]
    assert table.refusal(B, "bet", amount=1) == "above_cover"
    table.act(B, "pass")
    assert table.view["covered"] == [0, 0, 7, 18]


def test_both_throws_of_a_number_tie_in_pairs_and_not_in_strict_order():
    for high, low in (((5, 3), (6, 2)), ((4, 3), (5, 2)), ((3, 2), (4, 1))):
        for order, results in (("pairs", (0, 0)), ("strict", (-10, 10))):
            below, above = sit(2, military_order=order), sit(2, military_order=order)
            play(below, (10,), high, low)
            play(above, (10,), low, high)
            assert (won(below)[B], won(above)[B]) == results


def test_strict_order_changes_nothing_else():
    for mark in ((5, 4), (6, 3)):
        table = sit(military_order="strict")
        play(table, STAKES, mark)
        assert won(table) == [60, -10, -20, -30]
    table = sit(military_order="strict")
    play(table, STAKES, (6, 2))
    assert table.view["mark"] == {"series": "military", "rank": 2, "faces": [6, 2]}
    throw(table, (2, 6), (4, 3), (3, 3), (5, 4))
    assert won(table) == [-10, 0, -20, 30]


def test_counterclockwise_turns_throwing_covering_and_passing_round():
    table = sit(direction="counterclockwise", bankroll=25)
    table.act(A, "set_limit", amount=25)
    for seat in (B, C, D):
        table.act(seat, "bet", amount=10)
    assert table.view["covered"] == [0, 5, 10, 10]
    throw(table, (5, 5))
    seats = []
    while RULES.phase(table.state) == "settling":
        seats.append(table.view["seat"])
        throw(table, (4, 4))
    assert seats == [D, C, B]
    assert table.view["banker"] == D


def test_counterclockwise_the_rest_of_a_proportional_cover_goes_to_the_right():
    table = sit(direction="counterclockwise", cover="proportional", bankroll=25)
    table.act(A, "set_limit", amount=25)
    for seat in (B, C, D):
        table.act(seat, "bet", amount=10)
    assert table.view["covered"] == [0, 8, 8, 9]


# --- resigning ----------------------------------------------------------------------------------


def test_a_bettor_who_resigns_loses_its_open_bet_to_the_bank():
    for faces in ([], [(5, 5)], [(5, 5), (6, 2)]):
        table = sit()
        play(table, STAKES, *faces)
        events = table.act(B, "resign")
        assert kinds(events) == ["resigned", "settled"]
        assert won(table) == [10, -10, 0, 0]
        assert B not in RULES.to_act(table.state)


def test_a_bet_lost_while_others_still_bet_is_lost_whole():
    table = sit()
    table.act(A, "set_limit", amount=50)
    table.act(B, "bet", amount=50)
    table.act(B, "resign")
    assert won(table) == [50, -50, 0, 0]
    assert RULES.to_act(table.state) == (C, D)


def test_the_next_bettor_throws_when_the_one_to_throw_resigns():
    table = sit()
    play(table, STAKES, (5, 5))
    table.act(B, "resign")
    assert table.view["seat"] == C


def test_a_bettor_whose_bet_is_settled_loses_nothing_by_resigning():
    table = sit()
    play(table, STAKES, (5, 5), (4, 4))
    assert kinds(table.act(B, "resign")) == ["resigned"]
    assert won(table) == [-10, 10, 0, 0]


def test_a_seat_that_resigns_before_it_has_bet_sits_the_round_out():
    table = sit()
    table.act(A, "set_limit", amount=50)
    table.act(B, "bet", amount=10)
    table.act(C, "bet", amount=10)
    assert kinds(table.act(D, "resign")) == ["resigned", "covered"]
    assert table.view["bets"] == [0, 10, 10, 0]
    assert table.view["results"] == [0, None, None, 0]
    assert RULES.phase(table.state) == "banker_roll"


def test_the_round_is_over_without_a_throw_when_every_bettor_has_resigned():
    table = sit()
    bet(table, 10, 0, 0)
    assert kinds(table.act(B, "resign"))[-2:] == ["round_ended", "round_started"]
    assert table.view["banker"] == A
    assert won(table) == [10, -10, 0, 0]


def test_when_the_banker_resigns_open_bets_go_back_and_the_bank_passes():
    for faces in ([], [(5, 5)], [(5, 5), (6, 2)]):
        table = sit()
        play(table, STAKES, *faces)
        events = table.act(A, "resign")
        assert kinds(events) == [
            "resigned",
            "bets_returned",
            "round_ended",
            "bank_passed",
            "round_started",
        ]
        assert won(table) == [0, 0, 0, 0]
        assert (table.view["banker"], table.view["round"]) == (B, 2)


def test_the_banker_may_resign_before_it_sets_a_limit_and_while_others_bet():
    table = sit()
    table.act(A, "resign")
    assert (table.view["banker"], RULES.phase(table.state)) == (B, "limit")
    table.act(B, "set_limit", amount=10)
    table.act(C, "bet", amount=10)
    events = table.act(B, "resign")
    assert table.view["chips"] == [100] * 4
    assert table.view["banker"] == C
    assert events[2].results == (0, 0, 0, None)


def test_a_banker_who_resigns_passes_the_bank_even_if_it_never_passes():
    table = sit(bank_passes="never", end={"rounds": 9})
    table.act(A, "resign")
    assert table.view["banker"] == B


def test_a_resigned_seat_is_passed_over_as_banker_and_not_asked_to_bet():
    table = sit()
    table.act(B, "resign")
    bet(table, 0, 0)
    assert table.view["banker"] == C
    table.act(C, "set_limit", amount=10)
    assert RULES.to_act(table.state) == (A, D)


def test_a_circuit_ends_at_the_next_seat_when_its_first_banker_resigned():
    table = sit(3)
    table.act(A, "resign")
    pass_the_bank(table)
    assert table.view["banked"] == [A, B, C]
    pass_the_bank(table)
    assert table.outcome is not None
    assert table.outcome.reason == "circuits_played"


def test_the_last_seat_left_wins():
    table = sit(3)
    bet(table, 10, 20)
    table.act(C, "resign")
    table.act(A, "resign")
    assert table.outcome == base.Outcome.of("last_seat", [B], 3, chips=[120, 100, 80])
    assert RULES.legal(table.state) == ()


def test_the_bank_is_the_last_seat_with_a_bet_that_was_resigned():
    table = sit(2)
    bet(table, 10)
    table.act(B, "resign")
    assert table.outcome == base.Outcome.of("last_seat", [A], 2, chips=[110, 90])
    assert table.view["seat"] is None


def test_a_seat_that_resigned_cannot_win_with_its_chips():
    table = sit(3, end={"rounds": 2})
    play(table, (90, 10), (6, 6))
    table.act(A, "resign")
    assert table.outcome == base.Outcome.of("rounds_played", [C], 3, chips=[200, 10, 90])


def test_resigning_can_leave_too_few_seats_with_chips():
    table = sit(3)
    play(table, (100, 10), (6, 6))
    table.act(C, "resign")
    assert table.outcome == base.Outcome.of("no_chips", [A], 3, chips=[200, 0, 100])


def test_a_seat_resigns_once_and_not_after_the_end():
    table = sit(3)
    assert RULES.can_resign(table.state, B)
    table.act(B, "resign")
    assert not RULES.can_resign(table.state, B)
    table.act(C, "resign")
    assert not RULES.can_resign(table.state, A)


def test_a_seat_without_chips_may_resign():
    table = sit(3)
    play(table, (100, 10), (6, 6))
    assert RULES.can_resign(table.state, B)
    assert kinds(table.act(B, "resign")) == ["resigned"]


def test_a_bet_refused_for_cover_is_possible_after_a_resigned_one():
    table = sit(cover="refuse", bankroll=25)
    table.act(A, "set_limit", amount=25)
    table.act(B, "bet", amount=25)
    table.act(B, "resign")
    assert offers(table, C)[0]["max"] == 25


# --- the end of the key chain -------------------------------------------------------------------


def test_exhausted_throws_give_open_bets_back_before_chips_decide():
    table = sit()
    play(table, STAKES, (5, 5), (4, 4))
    outcome = RULES.exhausted(table.state)
    assert outcome == base.Outcome.of("throws_exhausted", [B], 4, chips=[90, 110, 100, 100])


def test_the_chain_is_as_long_as_rounds_and_seats_ask_for():
    def length(seats: int, **options: Any) -> int:
        return RULES.throws_max(RULES.parse_options(options, seats), seats)

    assert length(2) == 1024
    assert length(12, end={"rounds": 1000}) == 48_000
    assert length(12, end={"circuits": 50}) == 62_400
    for seats in range(2, 13):
        for end in ({"circuits": 50}, {"rounds": 1000}, {"circuits": 1}, {"rounds": 1}):
            assert 1024 <= length(seats, end=end) <= THROWS_LIMIT


# --- refusals -----------------------------------------------------------------------------------


def test_every_reason_is_given_where_it_applies():
    table = sit(cover="refuse")
    play(table, (90, 0, 0), (6, 6))
    given_ = {table.refusal(A, "hold"), table.refusal(A, "roll")}
    given_ |= {table.refusal(A, "set_limit", amount=0)}
    assert table.refusal(A, "set_limit", amount=191) == "above_chips"
    table.act(A, "set_limit", amount=150)
    given_ |= {table.refusal(B, "bet", amount=amount) for amount in (0, 11, 151)}
    table.act(C, "bet", amount=100)
    table.act(D, "bet", amount=90)
    given_ |= {table.refusal(B, "bet", amount=1)}
    assert given_ == set(heaven_and_nine.REASONS)


def test_each_phase_knows_only_its_kinds():
    table = sit(2)
    asked = {"limit": A, "betting": B, "banker_roll": A, "settling": B}
    kinds_ = {
        "limit": ["set_limit"],
        "betting": ["bet", "pass"],
        "banker_roll": ["roll"],
        "settling": ["roll"],
    }
    steps: list[tuple[str, list[int], dict[str, int]]] = [
        ("set_limit", [], {"amount": 10}),
        ("bet", [], {"amount": 10}),
        ("roll", [5, 5], {}),
        ("roll", [5, 5], {}),
    ]
    for phase, (kind, faces, parameters) in zip(kinds_, steps, strict=True):
        seat = asked[phase]
        assert RULES.phase(table.state) == phase
        assert RULES.to_act(table.state) == (seat,)
        assert table.kinds(seat) == kinds_[phase]
        for other in {"set_limit", "bet", "pass", "roll"} - set(kinds_[phase]):
            amount = {"amount": 1} if other in ("set_limit", "bet") else {}
            assert table.refusal(seat, other, **amount) == "not_in_phase"
        table.act(seat, kind, *faces, **parameters)


def test_a_limit_is_between_one_and_the_bankers_chips():
    table = sit(bankroll=25)
    assert offers(table, A) == [{"seat": A, "kind": "set_limit", "min": 1, "max": 25}]
    assert table.refusal(A, "set_limit", amount=26) == "above_chips"
    assert table.refusal(A, "set_limit", amount=0) == "below_minimum"


# --- the state as it is served and stored -------------------------------------------------------


def test_the_view_has_the_documented_fields_in_every_phase():
    table = sit()
    views = [table.view]
    table.act(A, "set_limit", amount=50)
    table.act(B, "bet", amount=10)
    table.act(D, "pass")
    views.append(table.view)
    table.act(C, "bet", amount=50)
    views.append(table.view)
    throw(table, (4, 1), (1, 1), (5, 2))
    views.append(table.view)
    assert all(view.keys() == HeavenAndNineView.__annotations__.keys() for view in views)
    fresh = {
        "round": 1,
        "banker": A,
        "banked": [A],
        "limit": None,
        "bets": [0, None, None, None],
        "covered": [0, 0, 0, 0],
        "mark": None,
        "seat": None,
        "last_throw": None,
        "results": [0, None, None, None],
        "chips": [100, 100, 100, 100],
    }
    betting = {
        "limit": 50,
        "bets": [0, 10, None, 0],
        "results": [0, None, None, 0],
        "chips": [100, 90, 100, 100],
    }
    rolling = {
        "limit": 50,
        "bets": [0, 10, 50, 0],
        "covered": [0, 10, 50, 0],
        "results": [0, None, None, 0],
        "chips": [100, 90, 50, 100],
        "seat": A,
    }
    settling = {
        **rolling,
        "mark": {"series": "military", "rank": 5, "faces": [4, 1]},
        "last_throw": {
            "seat": B,
            "faces": [5, 2],
            "series": "military",
            "rank": 3,
            "counts": True,
        },
        "results": [-10, 10, None, 0],
        "chips": [90, 110, 50, 100],
        "seat": C,
    }
    assert views == [fresh, fresh | betting, fresh | rolling, fresh | settling]


def test_a_new_round_clears_the_table_and_remembers_the_last_throw():
    table = sit()
    play(table, STAKES, (5, 1))
    view = table.view
    assert (view["limit"], view["mark"], view["seat"]) == (None, None, None)
    assert view["bets"] == view["results"] == [None, 0, None, None]
    assert view["covered"] == [0, 0, 0, 0]
    assert view["last_throw"]["faces"] == [5, 1]


def test_the_last_round_of_a_game_stays_on_the_table():
    table = sit(end={"rounds": 1})
    play(table, STAKES, (5, 5), (6, 1), (4, 4), (5, 5))
    assert table.view["results"] == [-10, -10, 20, 0]
    assert table.view["mark"] == {"series": "civil", "rank": 5, "faces": [5, 5]}


def test_the_results_of_a_round_are_recorded_when_it_ends():
    table = sit()
    play(table, STAKES, (5, 5), (6, 1), (4, 4), (5, 5))
    ended = next(event for event in table.events if event.kind == "round_ended")
    assert (ended.round, ended.results) == (1, (-10, -10, 20, 0))


def test_state_and_events_survive_json():
    table = Table(RULES, 4, (6, 6, 1, 1, 1, 1, 1, 1), cover="proportional", end={"rounds": 3})
    play(table, STAKES, (4, 1), (1, 1), (5, 2))
    table.act(A, "resign")
    bet(table, 0, 10)
    assert RULES.load(json.loads(json.dumps(RULES.dump(table.state)))) == table.state
    state = RULES.start(table.options, 4)
    for event in table.events:
        stored = json.loads(json.dumps(event.model_dump(mode="json")))
        assert RULES.parse_event(stored) == event
        state = RULES.apply(state, RULES.parse_event(stored))
    assert state == table.state


def test_every_event_and_its_fields_are_documented():
    schema = RULES.event_schema()["$defs"]
    for event in RULES.events:
        assert schema[event.__name__]["description"]
        if event is not base.Resigned:
            fields = schema[event.__name__]["properties"]
            assert set(fields) > {"kind"}
