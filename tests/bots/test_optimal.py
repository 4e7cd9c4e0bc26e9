"""``optimal``: what is stored is what the solver finds, and that has the published values."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Final

import pytest

from service.bots import BOTS, policy, solver
from service.bots.base import Position
from service.bots.optimal import holds
from service.rules import ruleset
from service.rules.base import LegalAction
from service.rules.dados_puercos_state import RaceState
from service.rules.jeopardy_state import State
from tests.golden.policies import LAWS, SOLVED

games = pytest.mark.parametrize("name", LAWS)
PUBLISHED: Final = [
    # T. W. Neller and C. G. M. Presser, "Optimal Play of the Dice Game Pig" (2004), to 100.
    ("pig", 100, 0.530593),
    # Dados puercos with one die, to 69.
    ("dados-puercos", 69, 0.531939),
]


@cache
def solution(name: str) -> solver.Solution:
    return solver.solve(LAWS[name])


# --- the solution -------------------------------------------------------------------------------


@games
def test_what_is_stored_is_what_the_script_computes(name):
    assert (SOLVED / f"{name}.bin").read_bytes() == solution(name).packed()


@games
def test_what_is_packed_is_what_is_unpacked(name):
    found = solution(name)
    table = solver.unpacked(found.packed())
    assert [[list(row) for row in rows] for rows in table] == [
        rows[1:] for rows in found.changes[1:]
    ]


@pytest.mark.parametrize(("name", "target", "value"), PUBLISHED)
def test_the_first_seat_wins_as_often_as_published(name, target, value):
    assert solution(name).value[target][target] == pytest.approx(value, abs=5e-7)


@games
def test_value_iteration_comes_to_the_same_values(name):
    """The equations of Neller and Presser, iterated from zero, for targets that are soon done."""
    law, target = LAWS[name], 10
    bust = 1 - sum(law.values())
    needs = range(1, target + 1)
    value = {(own, rival, k): 0.0 for own in needs for rival in needs for k in range(own)}

    def after(own: int, rival: int, k: int) -> float:
        return 1.0 if k >= own else value[own, rival, k]

    for _ in range(150):
        for own, rival, k in value:
            lost = 1 - value[rival, own, 0]
            rolled = bust * lost + sum(
                chance * after(own, rival, k + points) for points, chance in law.items()
            )
            held = 1 - value[rival, own - k, 0] if k else 0.0
            value[own, rival, k] = max(rolled, held)
    found = solution(name).value
    for own in needs:
        for rival in needs:
            assert found[own][rival] == pytest.approx(value[own, rival, 0], abs=1e-9)


def test_the_first_turn_of_pig_is_held_at_21():
    assert [total for total in range(1, 100) if not holds("pig", 100, 100, total)] == [
        *range(1, 21)
    ]


def test_who_could_win_at_once_holds():
    assert holds("pig", 7, 1, 7)
    assert holds("pig", 7, 1, 8)
    assert not holds("pig", 7, 1, 6)  # the other needs a single throw


# --- against others -----------------------------------------------------------------------------

Holds = Callable[[int, int, int], bool]  # by what it needs, what the other needs, the turn total


def hold_20(own: int, rival: int, total: int) -> bool:
    return total >= min(20, own)


def optimal(own: int, rival: int, total: int) -> bool:
    return holds("pig", own, rival, total)


Values = dict[tuple[int, int], float]


def turn(held: Holds, value: Values, own: int, rival: int) -> tuple[float, float]:
    """The chance to win of who begins a turn of Pig, as ``a + b * c``: ``c`` is that after a bust.
    ``value`` has the other's chances."""
    won, lost = [1.0] * (own + 6), [0.0] * (own + 6)
    for total in range(own - 1, -1, -1):
        if total and held(own, rival, total):
            won[total] = 1 - value[rival, own - total]
        else:
            won[total] = sum(won[total + 2 : total + 7]) / 6
            lost[total] = (1 + sum(lost[total + 2 : total + 7])) / 6
    return won[0], lost[0]


def rates(first: Holds, second: Holds) -> tuple[float, float]:
    """How often the first way to play wins at Pig to 100: as first seat, and as second."""
    mine: Values = {}
    other: Values = {}
    for total in range(2, 201):
        for own in range(max(1, total - 100), min(100, total - 1) + 1):
            rival = total - own
            a, b = turn(first, other, own, rival)
            c, d = turn(second, mine, rival, own)
            # mine[own, rival] = a + b (1 - other[rival, own]), other = c + d (1 - mine)
            mine[own, rival] = (a + b * (1 - c - d)) / (1 - b * d)
            other[rival, own] = c + d * (1 - mine[own, rival])
    return mine[100, 100], 1 - other[100, 100]


def test_the_reckoning_below_gives_what_is_published_of_hold_20():
    assert rates(hold_20, hold_20)[0] == pytest.approx(0.5347, abs=5e-5)


def test_optimal_beats_hold_20_from_either_seat():
    """Reckoned exactly; hold_20 wins 0.5347 as the first seat against itself."""
    first, second = rates(optimal, hold_20)
    assert first == pytest.approx(0.571498, abs=5e-7)
    assert second == pytest.approx(0.508342, abs=5e-7)


# --- at the table -------------------------------------------------------------------------------

OFFERS = (LegalAction(0, "roll"), LegalAction(0, "hold"))


def at_table(name: str, target: int, own: int, rival: int, total: int) -> str:
    """What a bot of Pig does when it needs ``own`` points and the other ``rival``."""
    rules = ruleset("pig")
    options = rules.parse_options({"target": target}, 2)
    scores = (target - own, target - rival)
    state = State(options, 2, scores, round=1, turn_total=total, rolls=1)
    return policy("pig", name)(Position(rules, state, 0, OFFERS, bytes(32))).kind


@pytest.mark.parametrize("target", [100, 60])
def test_bots_hold_by_what_is_needed_whatever_the_target(target):
    random = Random(target)
    for _ in range(500):
        own, rival = (1 + random.randrange(target) for _ in range(2))
        total = 2 + random.randrange(own + 3)
        held = at_table("optimal", target, own, rival, total) == "hold"
        assert held == (total >= own or optimal(own, rival, total))
        assert (at_table("hold_20", target, own, rival, total) == "hold") == (
            total >= own or total >= 20
        )


def test_it_plays_dados_puercos_by_its_own_solution():
    """Where Pig and Dados puercos part ways it goes the latter's."""
    places = [
        (own, rival, total)
        for own in range(21, 70)
        for rival in range(1, 70)
        for total in (16, 18, 20)
    ]
    differing = [
        place for place in places if holds("pig", *place) != holds("dados-puercos", *place)
    ]
    assert differing
    rules = ruleset("dados-puercos")
    options = rules.parse_options({}, 2)
    for own, rival, total in differing[:50]:
        scores = (69 - own, 69 - rival)
        state = RaceState(options, 2, scores, round=1, turn_total=total, rolls=1)
        position = Position(rules, state, 0, OFFERS, bytes(32))
        held = policy("dados-puercos", "optimal")(position).kind == "hold"
        assert held == holds("dados-puercos", own, rival, total)


# --- which tables it plays at -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "options", "refused"),
    [
        ("pig", {}, None),
        ("pig", {"target": 60, "auto_hold": True, "starter": "random"}, None),
        ("pig", {"target": 101}, "target"),
        ("pig", {"finish": "complete_round"}, "finish"),
        ("pig", {"hold_before_roll": True}, "hold_before_roll"),
        ("dados-puercos", {}, None),
        ("dados-puercos", {"stake": 10, "target": 100, "double_six": "out"}, None),
        ("dados-puercos", {"dice": 2}, "dice"),
        ("dados-puercos", {"mode": "turns"}, "mode"),
        ("dados-puercos", {"mode": "rounds"}, "mode"),
        ("dados-puercos", {"finish": "complete_round"}, "finish"),
    ],
)
def test_it_plays_only_what_its_solution_covers(key, options, refused):
    (bot,) = [bot for bot in BOTS[key] if bot.name == "optimal"]
    assert bot.refused(ruleset(key).parse_options(options, 2)) == refused
    assert bot.seats == 2
