"""``hold_20``, ``hold_at:N`` and ``simple``: when they hold, and what they bet."""

from typing import Any, cast

import pytest

from service.bots import policy
from service.bots.base import Position
from service.rules import ruleset
from service.rules.dados_puercos_state import TurnsState
from service.rules.jeopardy_state import State


def kind(name: str, key: str, state: Any, seat: int = 0) -> str:
    """What a bot does, of what the rules let it do."""
    return asked(name, key, state, seat).kind


def asked(name: str, key: str, state: Any, seat: int = 0) -> Any:
    rules = ruleset(key)
    legal = tuple(one for one in rules.legal(state) if one.seat == seat)
    return policy(key, name)(Position(rules, state, seat, legal, bytes(32)))


def pig(
    total: int, scores: tuple[int, ...] = (0, 0), key: str = "pig", rolls: int = 1, **more: Any
) -> State[Any]:
    """Seat 0's turn, with this turn total."""
    options = more.pop("options", {})
    parsed = ruleset(key).parse_options(options, len(scores))
    return State(parsed, len(scores), scores, round=1, turn_total=total, rolls=rolls, **more)


def turns(total: int, totals: tuple[int | None, ...], dice: int = 1, **more: Any) -> TurnsState:
    """Seat 0's turn in a bet in which all have staked 5."""
    rules, seats = ruleset("dados-puercos"), len(totals)
    options = rules.parse_options({"mode": "turns", "dice": dice}, seats)
    return TurnsState(
        options,
        seats,
        (0,) * seats,
        round=1,
        turn_total=total,
        rolls=1,
        chips=(95,) * seats,
        pot=5 * seats,
        bets=(5,) * seats,
        turn_totals=totals,
        **more,
    )


def bet(chips: tuple[int, ...], bets: tuple[int | None, ...], **options: Any) -> TurnsState:
    """A bet of Dados puercos that is being answered; seat 1 is its starter."""
    rules = ruleset("dados-puercos")
    parsed = rules.parse_options({"mode": "turns", **options}, len(chips))
    nobody = (None,) * len(chips)
    return TurnsState(
        parsed,
        len(chips),
        (0,) * len(chips),
        starter=1,
        round=1,
        chips=chips,
        bets=bets,
        turn_totals=nobody,
    )


# --- holding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "state", "expected"),
    [
        ("hold_20", pig(19), "roll"),
        ("hold_20", pig(20), "hold"),
        ("hold_at:25", pig(24), "roll"),
        ("hold_at:25", pig(25), "hold"),
        ("hold_at:1", pig(2), "hold"),
        ("hold_20", pig(5, (95, 0)), "hold"),  # the target is made
        ("hold_20", pig(4, (95, 0)), "roll"),
        ("hold_20", pig(0, rolls=0), "roll"),
        ("hold_20", pig(0, rolls=0, options={"hold_before_roll": True}), "roll"),
    ],
)
def test_a_turn_is_held_at_the_number_or_at_the_target(name, state, expected):
    assert kind(name, "pig", state) == expected


def test_a_forced_throw_is_made():
    assert kind("hold_at:1", "big-pig", pig(40, key="big-pig", must_roll=True)) == "roll"


@pytest.mark.parametrize(
    ("total", "scores", "expected"),
    [
        (20, (60, 104), "roll"),  # 80 would lose the game
        (44, (60, 104), "hold"),  # a tie, and 20 or more: a playoff
        (14, (90, 104), "roll"),  # a tie, with a small total
        (15, (90, 104), "hold"),  # ahead
    ],
)
def test_in_a_last_round_it_does_not_hold_behind_another(total, scores, expected):
    state = pig(total, scores, key="big-pig", reached=1)
    assert kind("hold_20", "big-pig", state) == expected


def test_who_is_out_is_not_waited_for():
    state = pig(5, (96, 104, 0), key="big-pig", reached=2, out=(1,))
    assert kind("hold_20", "big-pig", state) == "hold"


def test_a_playoff_is_not_held_at_the_first_points():
    state = pig(6, (104, 104), key="big-pig", reached=1, playoff=(0, 1))
    assert kind("hold_20", "big-pig", state) == "roll"


# --- bets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (turns(12, (None, None, None)), "roll"),
        (turns(20, (None, None, None)), "hold"),
        (turns(20, (None, 24, None)), "roll"),  # less than the best takes nothing
        (turns(12, (None, 9, -1)), "hold"),  # the last to play, and ahead
        (turns(12, (None, 9, None)), "roll"),
        (turns(1, (None, -1, -1)), "hold"),  # the others have lost their bets
        (turns(12, (None, 9, None), out=(2,)), "hold"),
    ],
)
def test_in_a_bet_only_the_best_total_counts(state, expected):
    assert kind("hold_20", "dados-puercos", state) == expected


@pytest.mark.parametrize(("dice", "least"), [(1, 15), (2, 17), (3, 113)])
def test_simple_holds_where_the_mean_of_a_turn_is_highest(dice, least):
    alone = (None, None)
    assert kind("simple", "dados-puercos", turns(least - 1, alone, dice)) == "roll"
    assert kind("simple", "dados-puercos", turns(least, alone, dice)) == "hold"


@pytest.mark.parametrize(
    ("name", "chips", "bets", "options", "seat", "expected"),
    [
        ("simple", (100, 100), (None, None), {}, 1, ("bet", 10)),
        ("hold_20", (100, 7), (None, None), {}, 1, ("bet", 1)),
        ("simple", (100, 60), (None, 40), {}, 0, ("bet", 40)),
        ("simple", (79, 60), (None, 40), {}, 0, ("pass", None)),
        ("simple", (30, 60), (None, 40), {}, 0, ("pass", None)),
        ("simple", (50, 10), (None, 40), {"stake": 40}, 0, ("bet", 40)),
    ],
)
def test_a_bet_is_answered_by_what_one_has(name, chips, bets, options, seat, expected):
    action = asked(name, "dados-puercos", bet(chips, bets, **options), seat)
    assert (action.kind, getattr(action, "amount", None)) == expected


# --- the bank -----------------------------------------------------------------------------------


def test_the_banker_puts_half_of_its_chips_at_risk_and_a_bettor_a_tenth():
    rules = ruleset("heaven-and-nine")
    options = rules.parse_options({"starter": "seat", "bankroll": 120}, 4)
    state = cast(Any, rules.start(options, 4))
    limit = asked("simple", "heaven-and-nine", state)
    assert (limit.kind, limit.amount) == ("set_limit", 20)
    (event,) = rules.decide(state, 0, limit, cast(Any, None))
    state = rules.apply(state, event)
    staked = asked("simple", "heaven-and-nine", state, 2)
    assert (staked.kind, staked.amount) == ("bet", 12)
