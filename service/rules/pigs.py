"""The Pig family: Pig, Two-Dice Pig and Big Pig (``docs/rules/pig.md`` and its neighbours)."""

from typing import Literal

from pydantic import Field

from service.rules.base import Example, Text
from service.rules.jeopardy import BUST, BUST_AND_SCORE, Plain, Verdict
from service.rules.jeopardy_state import (
    EVENTS,
    AutoHold,
    Finish,
    HoldBeforeRoll,
    ScoreLost,
    Starter,
    State,
    Target,
)
from service.schema import Model


class PigOptions(Model):
    """The options of Pig."""

    target: Target = 100
    finish: Finish = "at_once"
    starter: Starter = "roll"
    hold_before_roll: HoldBeforeRoll = False
    auto_hold: AutoHold = False


class TwoDicePigOptions(Model):
    """The options of Two-Dice Pig."""

    target: Target = 100
    double_one: Literal["turn", "score"] = Field(
        "turn", title="Double one", description="1-1 costs the turn total, or the whole score too."
    )
    finish: Finish = "at_once"
    starter: Starter = "roll"
    hold_before_roll: HoldBeforeRoll = False
    auto_hold: AutoHold = False


class BigPigOptions(Model):
    """The options of Big Pig."""

    target: Target = 100
    double_one: Literal["score", "turn", "25_continue", "25_bank"] = Field(
        "score",
        title="Double one",
        description=(
            "1-1 costs the whole score, or the turn only, or adds 25 and goes on, "
            "or adds 25 and banks."
        ),
    )
    doubles_force: Literal["next_roll", "whole_turn", "no"] = Field(
        "next_roll",
        title="Doubles force",
        description="A double forbids holding at the next roll, for the whole turn, or never.",
    )
    finish: Literal["complete_round", "one_more_turn", "at_once"] = Field(
        "complete_round",
        title="End",
        description=(
            "After the target the seats after it still take a turn, or every other seat does, "
            "or the game ends at once."
        ),
    )
    final_tie: Literal["playoff", "shared", "first_to_reach"] = Field(
        "playoff",
        title="Final tie",
        description=(
            "A tie after the last round is played off, shared, or goes to the seat that was first."
        ),
    )
    starter: Starter = "roll"
    roll_off_tie: Literal["all", "tied"] = Field(
        "all", title="Tied roll-off", description="Who throws again when the highest sum is tied."
    )
    hold_before_roll: HoldBeforeRoll = False
    auto_hold: AutoHold = False


class Pig(Plain[PigOptions]):
    """One die, and a 1 is a bust."""

    key = "pig"
    title = Text(es="Cerdo", en="Pig")
    summary = Text(
        es=(
            "Un dado: suma tiradas cuantas veces te atrevas y plántate antes de que salga el 1, "
            "que se lleva lo acumulado en el turno. Gana quien llega primero a 100."
        ),
        en=(
            "One die: add throw after throw for as long as you dare and hold before a 1 takes "
            "what the turn has gathered. The first to reach 100 wins."
        ),
    )
    options_type = PigOptions
    state_type = State[PigOptions]
    examples = (
        Example(Text(es="La partida de siempre", en="The usual game"), 2, {}),
        Example(
            Text(es="Corta, y la ronda se acaba", en="Short, and the round is played to its end"),
            3,
            {"target": 50, "finish": "complete_round"},
        ),
    )
    number = 1

    def judge(self, options: PigOptions, faces: tuple[int, ...]) -> Verdict:
        """Pig: a 1 is a bust, 2 to 6 add to the turn total."""
        return BUST if faces == (1,) else Verdict(faces[0])


class TwoDicePig(Plain[TwoDicePigOptions]):
    """Two dice, and any 1 is a bust."""

    key = "two-dice-pig"
    title = Text(es="Cerdo con dos dados", en="Two-Dice Pig")
    summary = Text(
        es=(
            "Como el Cerdo, pero con dos dados: cada tirada suma más y cualquier 1 acaba el turno "
            "sin nada. Gana quien llega primero a 100."
        ),
        en=(
            "Pig with two dice: every throw adds more, and any 1 ends the turn with nothing. "
            "The first to reach 100 wins."
        ),
    )
    options_type = TwoDicePigOptions
    state_type = State[TwoDicePigOptions]
    events = (*EVENTS, ScoreLost)
    examples = (
        Example(Text(es="La partida de siempre", en="The usual game"), 2, {}),
        Example(
            Text(es="Corta, y 1-1 cuesta la puntuación", en="Short, and 1-1 costs the score"),
            3,
            {"target": 60, "double_one": "score"},
        ),
    )
    number = 2

    def judge(self, options: TwoDicePigOptions, faces: tuple[int, ...]) -> Verdict:
        """Two-Dice Pig: any 1 is a bust, everything else adds its sum, doubles too. 1-1 is a bust
        like any other (``double_one``: ``score`` = the whole score is lost as well)."""
        if faces == (1, 1) and options.double_one == "score":
            return BUST_AND_SCORE
        return BUST if 1 in faces else Verdict(sum(faces))


class BigPig(Plain[BigPigOptions]):
    """Two dice, doubles count twice and force, 1-1 costs the score, a last round."""

    key = "big-pig"
    title = Text(es="Gran Cerdo", en="Big Pig")
    summary = Text(
        es=(
            "Dos dados: los dobles valen el doble y obligan a tirar otra vez, un 1 se lleva el "
            "turno y 1-1 la puntuación entera. Quien llega a 100 abre la última ronda."
        ),
        en=(
            "Two dice: doubles count twice and force another throw, a 1 takes the turn and 1-1 "
            "the whole score. Whoever reaches 100 opens the last round."
        ),
    )
    max_seats = 4
    options_type = BigPigOptions
    state_type = State[BigPigOptions]
    events = (*EVENTS, ScoreLost)
    reasons = ("must_roll", *Plain.reasons)
    examples = (
        Example(Text(es="La partida de siempre", en="The usual game"), 3, {}),
        Example(
            Text(es="Corta y amable: 1-1 da 25 puntos", en="Short and kind: 1-1 gives 25 points"),
            2,
            {"target": 60, "double_one": "25_continue", "final_tie": "shared"},
        ),
        Example(
            Text(es="Un doble obliga todo el turno", en="A double forces for the whole turn"),
            4,
            {"target": 50, "doubles_force": "whole_turn", "finish": "one_more_turn"},
        ),
    )
    number = 2

    def judge(self, options: BigPigOptions, faces: tuple[int, ...]) -> Verdict:
        """Big Pig: exactly one 1 is a bust; any double but 1-1 adds twice its sum and forces the
        next throw; other throws add their sum."""
        if faces == (1, 1):
            return self.judge_double_one(options)
        if 1 in faces:
            return BUST
        points = sum(faces)
        return Verdict(2 * points, forces=True) if faces[0] == faces[1] else Verdict(points)

    def judge_double_one(self, options: BigPigOptions) -> Verdict:
        """Big Pig, 1-1: turn total and whole score are lost (``double_one``: the turn total only,
        or 25 points that force nothing, or 25 points that are banked at once)."""
        match options.double_one:
            case "score":
                return BUST_AND_SCORE
            case "turn":
                return BUST
            case "25_continue":
                return Verdict(25)
            case "25_bank":
                return Verdict(25, ends="bank")

    def must_roll(self, state: State[BigPigOptions], verdict: Verdict) -> bool:
        """Big Pig, forced throws: a double forbids holding until a throw that is none
        (``doubles_force``: until the turn has ended by itself, or not at all)."""
        match state.options.doubles_force:
            case "next_roll":
                return verdict.forces
            case "whole_turn":
                return verdict.forces or state.must_roll
            case "no":
                return False

    def all_roll_off_again(self, options: BigPigOptions) -> bool:
        """Big Pig, roll-off: a tie for the highest makes all throw again (``roll_off_tie``)."""
        return options.roll_off_tie == "all"

    def final_tie(self, options: BigPigOptions) -> str:
        """Big Pig: a tie after the last round is played off, shared, or the first one's."""
        return options.final_tie


PIG = Pig()
TWO_DICE_PIG = TwoDicePig()
BIG_PIG = BigPig()
