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
from operator import mul
from typing import Any, TypeAlias

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
        raw = {"starter": "seat", "target": 1_000_000, **options}
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
        law: Counter[int] = Counter()
        for total in range(hold):
            here = reached.pop(total, Fraction(0))
            for effect, count in self.effects(total).items():
                part = here * Fraction(count, self.ways)
                if effect.total is None:
                    law[effect.gained] += part  # type: ignore[assignment]
                elif effect.total >= hold:
                    law[effect.total] += part  # type: ignore[assignment]
                else:
                    reached[effect.total] = reached.get(effect.total, Fraction(0)) + part
        return dict(law)

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

TAIL = 72  # points above the hold after which forced throws are cut off


@dataclass(frozen=True)
class Kernel:
    """A turn of Big Pig that holds at ``hold``: the chances to bank hold, hold + 1, .., and to
    end with nothing or without a score."""

    hold: int
    banks: tuple[float, ...]
    nothing: float
    wiped: float

    def value(self, banked: list[float], mine: int) -> float:
        """What the banked scores are worth to a seat that has ``mine``."""
        return sum(map(mul, self.banks, banked[mine + self.hold :]))


def kernel(turn: Turn, hold: int) -> Kernel:
    last = hold + TAIL
    mass = {(0, False): 1.0}
    banks = [0.0] * (TAIL + 1)
    nothing = wiped = 0.0
    for total in range(last + 1):
        for forced in (False, True):
            here = mass.pop((total, forced), 0.0)
            if not here:
                continue
            if total == last or (total >= hold and not forced):
                banks[total - hold] += here
                continue
            for effect, count in turn.effects(0).items():
                part = here * count / turn.ways
                if effect == WIPED:
                    wiped += part
                elif effect.total is None:
                    nothing += part
                else:
                    key = (min(total + effect.total, last), effect.forced)
                    mass[key] = mass.get(key, 0.0) + part
    return Kernel(hold, tuple(banks), nothing, wiped)


class LastRound:
    """Big Pig of two seats to a target, both at their best.

    ``first[j][s]`` is what it is worth to the seat that plays first in the round to have s after
    its turn while the other has j, and ``second`` the same for the other seat.

    A turn holds at one number, the best for its scores, which is enough almost everywhere. Where
    two quite different numbers are nearly as good (stop at a few points, or go for the target) the
    best turn holds at some totals and goes on at higher ones: there every total is decided alone.
    """

    def __init__(self, turn: Turn, target: int) -> None:
        self.target = target
        self.reach = 2 * target + TAIL + 41
        self.effects = [(e, n / turn.ways) for e, n in turn.effects(0).items() if e.total]
        self.lost = turn.effects(0)[Effect(None)] / turn.ways
        self.wiped = turn.effects(0)[WIPED] / turn.ways
        self.kernels = [kernel(turn, hold) for hold in range(1, 2 * target)]
        self.tie = self.tie_at_zero = 0.5
        for _ in range(30):
            self.chasing = [self.catch_up(gap) for gap in range(1, self.reach)]
            self.tie, self.tie_at_zero = self.playoff(), self.playoff(at_zero=True)
        self.first = [self.guesses(other, self.chasing) for other in range(target)]
        self.second = [self.guesses(other, [0.0] * self.reach) for other in range(target)]
        self.holds: dict[tuple[int, int, bool], int] = {}
        self.split: set[tuple[int, int, bool]] = set()

    def guesses(self, other: int, chasing: list[float]) -> list[float]:
        """Start values below the target; from the target on what the last round leaves."""
        below = [0.5 + 0.4 * (score - other) / self.target for score in range(self.target)]
        reached = range(self.target, self.reach)
        return below + [1 - chasing[score - other - 1] for score in reached]

    def catch_up(self, gap: int) -> float:
        """The chance of the second seat to win with one turn in which it needs ``gap`` to tie:
        it stops there, or goes on until it leads."""
        if gap >= len(self.kernels):
            return 0.0
        level, ahead = self.kernels[gap - 1 : gap + 1]
        return max(level.banks[0] * (1 - self.tie) + sum(level.banks[1:]), sum(ahead.banks))

    def playoff(self, at_zero: bool = False) -> float:
        """The chance of the first seat in a playoff of two equal scores."""
        answer = self.kernels[0]  # against a seat that banked nothing any point wins
        tied, wiped_tied = (self.tie_at_zero, self.tie_at_zero) if at_zero else (self.tie, 1.0)
        stand = answer.nothing * tied + answer.wiped * wiped_tied
        fallen = stand if at_zero else answer.wiped * self.tie_at_zero
        ahead = [1.0, *(1 - chance for chance in self.chasing)]
        return max(
            play.value(ahead, 0) + play.nothing * stand + play.wiped * fallen
            for play in self.kernels
        )

    def turn(self, mine: int, theirs: int, first: bool) -> tuple[float, float]:
        """The best turn of a seat as a pair (a, b): a + b * (chance if it banks nothing)."""
        row = (self.first if first else self.second)[theirs]
        key = (mine, theirs, first)
        if key in self.split:
            return self.each_total(row, mine)
        known = self.holds.get(key)
        far = self.target - mine
        near = range(max(1, known - 2), known + 3) if known else [*range(1, 40, 2), far, far + 10]
        values = {
            hold: play.value(row, mine) + play.nothing * row[mine] + play.wiped * row[0]
            for hold in near
            if (play := self.kernels[hold - 1])
        }
        hold = self.holds[key] = max(values, key=values.__getitem__)
        play = self.kernels[hold - 1]
        return play.value(row, mine) + play.wiped * row[0], play.nothing

    def find_splits(self) -> None:
        """Looks for the turns in which quite another hold is nearly as good, or better."""
        for (mine, theirs, first), known in list(self.holds.items()):
            row = (self.first if first else self.second)[theirs]
            far = self.target - mine
            values = {
                hold: play.value(row, mine) + play.nothing * row[mine] + play.wiped * row[0]
                for hold in (known, *range(14, 40, 4), far, far + 8, far + 16)
                if (play := self.kernels[hold - 1])
            }
            if max(v for h, v in values.items() if abs(h - known) > 6) > values[known] - 0.004:
                self.split.add((mine, theirs, first))

    def each_total(self, row: list[float], mine: int) -> tuple[float, float]:
        """The best turn if every total may be held or thrown on; a pair like that of ``turn``."""
        top = self.target - mine + 45
        held = row[mine : mine + top + 24]
        sure, hung = [*held], [0.0] * len(held)
        forced = [*held], [0.0] * len(held)
        nothing = row[mine]
        for total in range(top - 1, -1, -1):
            a, b = self.wiped * row[0], self.lost
            for effect, weight in self.effects:
                then = total + (effect.total or 0)
                a += weight * (forced[0] if effect.forced else sure)[then]
                b += weight * (forced[1] if effect.forced else hung)[then]
            forced[0][total], forced[1][total] = a, b
            if not total or held[total] <= a + b * nothing:
                sure[total], hung[total] = a, b
        return sure[0], hung[0]

    def sweep(self) -> float:
        """Every pair of scores once, the highest first. Returns the largest change."""
        change = 0.0
        for both in range(2 * self.target - 2, -1, -1):
            for mine in range(max(0, both - self.target + 1), min(both, self.target - 1) + 1):
                theirs = both - mine
                a, b = self.turn(mine, theirs, True)
                c, d = self.turn(theirs, mine, False)
                x = (a + b * (1 - c - d)) / (1 - b * d)
                y = c + d * (1 - x)
                change = max(change, abs(self.second[mine][theirs] - (1 - x)))
                self.second[mine][theirs], self.first[theirs][mine] = 1 - x, 1 - y
        return change


def test_big_pig_with_the_last_round_optimal_against_optimal() -> None:
    game = LastRound(Turn(BIG_PIG), 100)
    for _ in range(4):
        game.sweep()
    game.find_splits()
    while game.sweep() > 2e-5:
        pass
    assert 1 - game.second[0][0] == pytest.approx(0.4743, abs=5e-5)
