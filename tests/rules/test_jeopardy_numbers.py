"""Published and exact figures of the jeopardy games, recomputed from the rules themselves.

What a throw does is never written down here: ``Turn`` asks ``decide`` and ``apply`` about every
combination of faces. Neller & Presser, *Optimal Play of the Dice Game Pig*, UMAP Journal 25
(2004), is the source of the figures of Pig.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from operator import mul
from typing import Any

import pytest

from service.rules.base import Roll
from service.rules.dados_puercos import DADOS_PUERCOS
from service.rules.pigs import BIG_PIG, PIG
from tests.rules.table import GivenDice

SCORE = 500  # of the seat that throws, so that a lost score shows
ROLL = Roll(kind="roll")


@dataclass(frozen=True)
class Effect:
    """What a throw does to the turn: it goes on with this turn total, or it has ended and changed
    the score by ``gained``."""

    total: int | None
    forced: bool = False
    gained: int = 0


WIPED = Effect(None, gained=-SCORE)


class Turn:
    """The throws of one turn of a ruleset, with the number of ways of each effect."""

    def __init__(self, ruleset: Any, **options: Any) -> None:
        raw = {"starter": "seat", "target": 10_000, **options}
        self._ruleset = ruleset
        start = ruleset.start(ruleset.parse_options(raw, 2), 2)
        self._start = replace(start, scores=(SCORE, SCORE), rolls=1)
        dice = ruleset.view(start)["dice"]
        self._faces = list(product(range(1, 7), repeat=dice))
        self.ways = len(self._faces)
        self.effects = cache(self._effects)

    def _effects(self, total: int, forced: bool = False) -> Counter[Effect]:
        """The effects of every throw on a turn total."""
        before = replace(self._start, turn_total=total, must_roll=forced)
        return Counter(self._effect(before, faces) for faces in self._faces)

    def _effect(self, before: Any, faces: tuple[int, ...]) -> Effect:
        after = before
        for event in self._ruleset.decide(before, 0, ROLL, GivenDice(faces)):
            after = self._ruleset.apply(after, event)
        if after.seat == 0:
            return Effect(after.turn_total, forced=after.must_roll)
        return Effect(None, gained=after.scores[0] - SCORE)

    def chance(self, wanted: Callable[[Effect], bool]) -> Fraction:
        """The probability of an effect of the first throw."""
        ways = sum(count for effect, count in self.effects(0).items() if wanted(effect))
        return Fraction(ways, self.ways)

    def law(self, hold: int) -> dict[int, Fraction]:
        """The distribution of the points banked by a seat that holds at ``hold``."""
        reached = {0: Fraction(1)}
        law: dict[int, Fraction] = {}
        for total in range(hold):
            here = reached.pop(total, Fraction(0))
            for effect, count in self.effects(total).items():
                part = here * Fraction(count, self.ways)
                ended = effect.total is None or effect.total >= hold
                points = effect.gained if effect.total is None else effect.total
                there = law if ended else reached
                there[points] = there.get(points, Fraction(0)) + part
        return law

    def mean(self, hold: int, number: type[Any] = float) -> Any:
        """The mean points of a turn that holds at ``hold``; a lost score counts as no points.

        Forced throws may run on for ever: after as many as reach 200 above the hold they stop.
        """
        means: dict[tuple[int, bool], Any] = {}

        def then(effect: Effect) -> Any:
            if effect.total is None:
                return max(effect.gained, 0)
            settled = effect.total >= hold and not effect.forced
            if settled or effect.total > hold + 200:
                return effect.total
            key = (effect.total, effect.forced)
            if key not in means:
                means[key] = after(*key)
            return means[key]

        def after(total: int, forced: bool) -> Any:
            effects = self.effects(total, forced).items()
            return sum(count * then(effect) for effect, count in effects) / number(self.ways)

        return after(0, False)


def best_hold(turn: Turn, most: int) -> int:
    """The hold with the highest mean."""
    return max(range(1, most), key=turn.mean)


# --- one turn -----------------------------------------------------------------------------------

NELLER_PRESSER = {
    0: 0.624541,
    20: 0.099713,
    21: 0.094991,
    22: 0.074189,
    23: 0.054196,
    24: 0.035198,
    25: 0.017173,
}


def test_pig_holding_at_20_has_the_published_law() -> None:
    law = Turn(PIG).law(20)
    assert sum(law.values()) == 1
    assert {points: float(part) for points, part in law.items()} == pytest.approx(
        NELLER_PRESSER, abs=5e-7
    )


def test_pig_holding_at_20_has_the_published_mean() -> None:
    turn = Turn(PIG)
    exact = Fraction(492303203, 60466176)
    assert turn.mean(20, Fraction) == exact
    assert sum(points * part for points, part in turn.law(20).items()) == exact


def test_one_die_has_its_best_hold_at_15() -> None:
    turn = Turn(DADOS_PUERCOS, dice=1)
    assert best_hold(turn, 60) == 15
    assert turn.mean(15, Fraction) == Fraction(2893395172951, 470184984576)
    assert {points: float(part) for points, part in turn.law(15).items()} == pytest.approx(
        {0: 0.622215, 15: 0.131281, 16: 0.100920, 17: 0.074076, 18: 0.048135, 19: 0.023372},
        abs=5e-7,
    )


def test_two_dice_have_their_best_hold_at_17() -> None:
    turn = Turn(DADOS_PUERCOS, dice=2)
    assert best_hold(turn, 80) == 17
    assert turn.mean(17, Fraction) == Fraction(113670331, 15116544)
    assert float(turn.law(17)[0]) == pytest.approx(0.644701, abs=5e-7)


def test_three_dice_have_their_best_hold_at_113() -> None:
    turn = Turn(DADOS_PUERCOS, dice=3)
    assert best_hold(turn, 170) == 113
    assert [turn.mean(hold) for hold in (30, 60, 113)] == pytest.approx(
        [13.973708, 15.917134, 16.375275], abs=5e-7
    )


def test_big_pig_throws_have_the_published_chances() -> None:
    turn = Turn(BIG_PIG)
    assert turn.chance(lambda effect: effect.total is not None and not effect.forced) == Fraction(
        20, 36
    )
    assert turn.chance(lambda effect: effect.forced) == Fraction(5, 36)
    assert turn.chance(lambda effect: effect == Effect(None)) == Fraction(10, 36)
    assert turn.chance(lambda effect: effect == WIPED) == Fraction(1, 36)


def test_big_pig_has_its_best_hold_at_20() -> None:
    turn = Turn(BIG_PIG)
    assert best_hold(turn, 60) == 20
    assert turn.mean(20) == pytest.approx(9.43116, abs=5e-6)


# --- whole games of two seats with one die ------------------------------------------------------


class OneDie:
    """A race of two seats with one die in which a bust ends the turn and nothing else is lost.

    ``wins[i][j]`` is the chance of the seat on turn with score i against j.
    """

    def __init__(self, turn: Turn, target: int) -> None:
        self.turn = turn
        self.target = target
        effects = turn.effects(0)
        self.adds = [(e.total, n / turn.ways) for e, n in effects.items() if e.total is not None]
        self.bust = effects[Effect(None)] / turn.ways
        self.wins = [[0.0] * target for _ in range(target)]

    def solve(self, play: Callable[[int, int, float], tuple[float, float]]) -> float:
        """The first seat's chance when both play so; ``play`` gives the turn's value as a pair
        (a, b): a + b * (chance if this turn banks nothing)."""
        wins = self.wins
        for both in range(2 * self.target - 2, -1, -1):
            for mine in range(max(0, both - self.target + 1), both // 2 + 1):
                theirs = both - mine
                x = y = 0.5
                while True:
                    a, b = play(mine, theirs, 1 - y)
                    c, d = play(theirs, mine, 1 - x)
                    # x = a + b * (1 - y) and y = c + d * (1 - x)
                    solved = (a + b * (1 - c - d)) / (1 - b * d)
                    moved, x = abs(solved - x), solved
                    y = c + d * (1 - x)
                    if moved < 1e-9:
                        break
                wins[mine][theirs], wins[theirs][mine] = x, y
        return wins[0][0]

    def optimal(self, mine: int, theirs: int, nothing: float) -> tuple[float, float]:
        """The best play of a turn, given the chance after a turn without points."""
        need = self.target - mine
        row = self.wins[theirs]
        sure, hung = [1.0] * (need + 6), [0.0] * (need + 6)
        for total in range(need - 1, -1, -1):
            a, b = 0.0, self.bust
            for points, weight in self.adds:
                a += weight * sure[total + points]
                b += weight * hung[total + points]
            if total and (held := 1 - row[mine + total]) > a + b * nothing:
                a, b = held, 0.0
            sure[total], hung[total] = a, b
        return sure[0], hung[0]

    def holding(self, hold: int) -> Callable[[int, int, float], tuple[float, float]]:
        """Hold at so many points or at the target."""
        laws = cache(self.turn.law)

        def play(mine: int, theirs: int, _: float) -> tuple[float, float]:
            sure = hung = 0.0
            for points, part in laws(min(hold, self.target - mine)).items():
                score = mine + points
                if not points:
                    hung = float(part)
                else:
                    chance = 1.0 if score >= self.target else 1 - self.wins[theirs][score]
                    sure += float(part) * chance
            return sure, hung

        return play


def test_pig_optimal_against_optimal() -> None:
    race = OneDie(Turn(PIG), 100)
    assert race.solve(race.optimal) == pytest.approx(0.530593, abs=5e-7)


def test_pig_holding_at_20_against_itself() -> None:
    race = OneDie(Turn(PIG), 100)
    assert race.solve(race.holding(20)) == pytest.approx(0.5347, abs=5e-5)


def test_pig_alone_holding_at_20_takes_12_6368_turns() -> None:
    turn = Turn(PIG)
    turns: dict[int, float] = {}
    for score in range(99, -1, -1):
        law = turn.law(min(20, 100 - score))
        rest = sum(float(part) * turns.get(score + won, 0) for won, part in law.items() if won)
        turns[score] = (1 + rest) / (1 - float(law[0]))
    assert turns[0] == pytest.approx(12.6368, abs=5e-5)


def test_one_die_to_69_optimal_against_optimal() -> None:
    race = OneDie(Turn(DADOS_PUERCOS, dice=1), 69)
    assert race.solve(race.optimal) == pytest.approx(0.531939, abs=5e-7)


# --- Big Pig with its last round ----------------------------------------------------------------

TARGET = 100
HELD = 125  # so far beyond the target that everybody holds where it is allowed
REACH = 260  # beyond it a forced throw counts as held
NOTHING = 0.6  # about how often a turn banks nothing: a step length only


class LastRound:
    """Big Pig of two seats, both at their best in every turn.

    ``first[j][s]`` is what it is worth to the seat that plays first in the round to have s after
    its turn while the other has j, and ``second`` the same for the other seat.
    """

    def __init__(self, turn: Turn) -> None:
        effects = {effect: count / turn.ways for effect, count in turn.effects(0).items()}
        adds = {e.total: n for e, n in effects.items() if e.total and not e.forced}
        doubles = {e.total: n for e, n in effects.items() if e.total and e.forced}
        assert sorted(adds) == list(range(5, 12))  # which the slices below rely on
        assert sorted(doubles) == list(range(8, 25, 4))
        self.adds = tuple(adds[points] for points in sorted(adds))
        self.double = min(doubles.values())
        self.lost, self.wiped = effects[Effect(None)], effects[WIPED]
        self.tie = self.tie_at_zero = 0.5
        for _ in range(8):
            self.chasing = [0.0, *(self.catch_up(gap) for gap in range(1, REACH))]
            self.play_off()
        self.first = [self.row(other, 0.0, self.chasing) for other in range(TARGET)]
        self.second = [self.row(other, 0.1, [0.0] * REACH) for other in range(TARGET)]
        self.beyond_first = [self.forced(row, HELD, 0) for row in self.first]
        self.beyond_second = [self.forced(row, TARGET, 0) for row in self.second]
        self.slope_first = self.forced([0.0] * REACH, HELD, 1)
        self.slope_second = self.forced([0.0] * REACH, TARGET, 1)

    @staticmethod
    def row(other: int, ahead: float, chasing: list[float]) -> list[float]:
        """Rough start values below the target; from it on what the last round leaves."""
        below = (
            ahead + 1 / (1 + exp((other + 14 - score) / (55 - 0.19 * (score + other))))
            for score in range(TARGET)
        )
        return [*below, *(1 - chasing[score - other] for score in range(TARGET, REACH))]

    # -- one turn: ``held[s]`` is the worth of holding with s, ``base`` that of a turn lost -------

    def forced(self, held: list[float], limit: int, base: float) -> list[float]:
        """What forced throws from the limit on are worth, where all hold as soon as they may."""
        worth = held[limit:]
        for at in range(len(worth) - 25, -1, -1):
            then = limit + at
            worth[at] = (
                base
                + sum(map(mul, self.adds, held[then + 5 : then + 12]))
                + self.double * sum(worth[at + 8 : at + 25 : 4])
            )
        return worth[:25]

    def best(self, held: list[float], mine: int, base: float, beyond: list[float]) -> float:
        """The best turn of a seat that has ``mine``; ``beyond`` is what ``forced`` gave."""
        limit = len(held) - 25
        adds, double = self.adds, self.double
        free, forced = held[:], held[:limit] + beyond
        for at in range(limit - 1, mine - 1, -1):
            throw = base + sum(map(mul, adds, free[at + 5 : at + 12]))
            forced[at] = throw = throw + double * sum(forced[at + 8 : at + 25 : 4])
            if throw > free[at]:
                free[at] = throw
        return forced[mine]

    def alone(self, held: list[float], limit: int, nothing: float, wiped: float) -> float:
        """The best turn from 0 on its own."""
        base = self.lost * nothing + self.wiped * wiped
        return self.best(held[: limit + 25], 0, base, self.forced(held, limit, base))

    # -- the end of a game -----------------------------------------------------------------------

    def catch_up(self, gap: int) -> float:
        """The chance of the second seat to win with one turn in which it needs ``gap`` to tie."""
        held = [*[0.0] * gap, 1 - self.tie, *[1.0] * 150]
        return self.alone(held, gap + 1, 0.0, 0.0)

    def play_off(self) -> None:
        """The chance of the first seat in a playoff, with equal scores and with none at all.
        Against a seat that banked nothing any point wins."""
        ones = [1.0] * 150
        ahead = [1 - chance for chance in self.chasing]
        stands = 1 - self.alone(ones, 1, 1 - self.tie, 0.0)
        fallen = 1 - self.alone(ones, 1, 1.0, 1 - self.tie_at_zero)
        at_zero = 1 - self.alone(ones, 1, 1 - self.tie_at_zero, 1 - self.tie_at_zero)
        self.tie = self.alone(ahead, HELD, stands, fallen)
        self.tie_at_zero = self.alone(ahead, HELD, at_zero, at_zero)

    # -- the whole game --------------------------------------------------------------------------

    def sweep(self, step: int = 1) -> float:
        """Every pair of scores once, the highest first. Returns the first seat's chance.

        With a step only every so many scores are looked at, and those between are interpolated:
        a quick way to good start values.
        """
        scores = range(0, TARGET, step)
        for mine, theirs in sorted(product(scores, scores), key=sum, reverse=True):
            self.pair(mine, theirs)
        for rows in (self.first, self.second):
            self.interpolate(rows, step)
        return 1 - self.second[0][0]

    @staticmethod
    def interpolate(rows: list[list[float]], step: int) -> None:
        """Fills in what lies between the scores that are multiples of the step."""
        between = [score for score in range(TARGET) if score % step]
        for score in between:
            low, part = score - score % step, score % step / step
            for row in rows[::step]:
                row[score] = row[low] + part * (row[low + step] - row[low])
        for score in between:
            low, part = score - score % step, score % step / step
            ends = zip(rows[low][:TARGET], rows[low + step][:TARGET], strict=True)
            rows[score][:TARGET] = [a + part * (b - a) for a, b in ends]

    def pair(self, mine: int, theirs: int) -> None:
        """Both turns at these scores. Each depends on the other if it banks nothing, so both move
        together, by Newton's rule with one slope for all."""
        row, other = self.first[theirs], self.second[mine]
        base = self.lost * row[mine] + self.wiped * row[0]
        beyond = zip(self.beyond_first[theirs], self.slope_first, strict=True)
        x = self.best(row[: HELD + 25], mine, base, [sure + base * by for sure, by in beyond])
        base = self.lost * other[theirs] + self.wiped * other[0]
        beyond = zip(self.beyond_second[mine], self.slope_second, strict=True)
        y = self.best(other[: TARGET + 25], theirs, base, [sure + base * by for sure, by in beyond])
        x += NOTHING * (1 - row[mine])
        y += NOTHING * (1 - other[theirs])
        x = (x - NOTHING * y) / (1 - NOTHING**2)
        other[theirs], row[mine] = 1 - x, 1 - (y - NOTHING * x)


def test_big_pig_with_the_last_round_optimal_against_optimal() -> None:
    game = LastRound(Turn(BIG_PIG))
    for _ in range(7):
        game.sweep(step=3)
    before, then, now = (game.sweep() for _ in range(3))
    # A geometric series: each sweep moves it about half as far as the one before.
    limit = now + (now - then) ** 2 / ((then - before) - (now - then))
    assert limit == pytest.approx(0.4743, abs=5e-5)
