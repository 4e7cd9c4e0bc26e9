"""Pass the Pigs: two dice in the shape of pigs (``docs/rules/pass-the-pigs.md``)."""

from collections.abc import Mapping
from typing import Final

from service.dice import Die, Face
from service.rules.base import Example, Text
from service.rules.jeopardy import BUST, Plain, Verdict
from service.rules.jeopardy_state import (
    AutoHold,
    Finish,
    HoldBeforeRoll,
    Starter,
    State,
    Target,
)
from service.schema import Model

# How 11,954 pigs came to lie (6,000 throws of a pair, but for 23 in which the pigs touched), in
# parts of about 10,000: J. C. Kern, "Pig Data and Bayesian Inference on Multinomial
# Probabilities", Journal of Statistics Education 14(3), 2006.
PIG: Final = Die(
    ("dot_up", "dot_down", "trotter", "razorback", "snouter", "leaning_jowler"),
    (3020, 3490, 880, 2240, 300, 61),
)
SIDES: Final = ("dot_up", "dot_down")
POINTS: Final[Mapping[Face, int]] = {
    "trotter": 5,
    "razorback": 5,
    "snouter": 10,
    "leaning_jowler": 15,
}


class PassThePigsOptions(Model):
    """The options of Pass the Pigs."""

    target: Target = 100
    finish: Finish = "at_once"
    starter: Starter = "roll"
    hold_before_roll: HoldBeforeRoll = False
    auto_hold: AutoHold = False


class PassThePigs(Plain[PassThePigsOptions]):
    """Two pigs; one on either side is a bust."""

    key = "pass-the-pigs"
    title = Text(es="Pasa los cerdos", en="Pass the Pigs")
    summary = Text(
        es=(
            "Dos cerditos en vez de dados: cuanto más rara la postura en que caen, más puntos. Si "
            "quedan sobre costados opuestos, se pierde lo acumulado en el turno. Gana quien llega "
            "primero a 100."
        ),
        en=(
            "Two little pigs instead of dice: the rarer the way they land, the more points. One "
            "on either side takes what the turn has gathered. The first to reach 100 wins."
        ),
    )
    options_type = PassThePigsOptions
    state_type = State[PassThePigsOptions]
    examples = (
        Example(Text(es="La partida de siempre", en="The usual game"), 2, {}),
        Example(
            Text(es="Corta, y la ronda se acaba", en="Short, and the round is played to its end"),
            3,
            {"target": 50, "finish": "complete_round"},
        ),
    )
    die_name = "pig"
    die = PIG
    number = 2

    def judge(self, options: PassThePigsOptions, faces: tuple[Face, ...]) -> Verdict:
        """Pass the Pigs: both on the same side 1 point, one on either side a bust; a side adds
        nothing to a position; two positions count their sum, twice that if they are equal."""
        first, second = faces
        if first in SIDES and second in SIDES:
            return Verdict(1) if first == second else BUST
        points = POINTS.get(first, 0) + POINTS.get(second, 0)
        return Verdict(2 * points if first == second else points)

    def roll_off_sum(self, options: PassThePigsOptions, faces: tuple[Face, ...]) -> int:
        """Pass the Pigs, roll-off: the points of the throw; a bust counts 0."""
        return self.judge(options, faces).points


PASS_THE_PIGS: Final = PassThePigs()
