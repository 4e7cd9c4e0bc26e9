"""Dados puercos: options, state, events, and what each event does to the state. Pure.

The rules stand in ``dados_puercos.py``, those of the betting in ``dados_puercos_bets.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Field

from service.rules.base import Event, Resigned
from service.rules.jeopardy_state import (
    FOLDS,
    AutoHold,
    Banked,
    Finish,
    Fold,
    HoldBeforeRoll,
    PlayoffStarted,
    Starter,
    State,
    Target,
    fold_banked,
    fold_out,
    fold_playoff_started,
)
from service.schema import Model
from service.values import changed, set_at

CHIPS_MOST: Final = 1_000_000_000

# --- options ------------------------------------------------------------------------------------


DiceCount: TypeAlias = Annotated[
    int, Field(ge=1, le=3, title="Dice", description="How many dice are thrown at once.")
]
Bankroll: TypeAlias = Annotated[
    int,
    Field(ge=1, le=CHIPS_MOST, title="Bankroll", description="Chips that each seat starts with."),
]
Stake: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=CHIPS_MOST,
        title="Stake",
        description="Chips that everybody pays into the pot at the start; 0 = for honour.",
    ),
]
LoneSix: TypeAlias = Annotated[
    Literal["bank", "bank_others"],
    Field(
        title="Lone six",
        description="Three dice, one 6: bank the turn total, or add the other two dice first.",
    ),
]
DoubleSix: TypeAlias = Annotated[
    Literal["turn", "score", "out"],
    Field(
        title="Double six",
        description="Two dice, 6-6: costs the turn total, the score too, or the seat.",
    ),
]
TripleSix: TypeAlias = Annotated[
    Literal["score", "out"],
    Field(title="Triple six", description="Three dice, 6-6-6: costs the score, or the seat."),
]
DoubleCounts: TypeAlias = Annotated[
    Literal["throw", "pair"],
    Field(
        title="Double counts",
        description="Three dice: a double multiplies the whole throw, or the pair only.",
    ),
]
DoublesForce: TypeAlias = Annotated[
    bool, Field(title="Doubles force", description="Whether a double forces another throw.")
]


class RaceFields(Model):
    """What the modes that end at a target have in common."""

    target: Target
    stake: Stake = 0
    bankroll: Bankroll = 100
    lone_six: LoneSix = "bank"
    double_six: DoubleSix = "turn"
    triple_six: TripleSix = "score"
    double_counts: DoubleCounts = "throw"
    doubles_force: DoublesForce = False
    finish: Finish = "at_once"
    starter: Starter = "roll"
    hold_before_roll: HoldBeforeRoll = False
    auto_hold: AutoHold = False


# A model's own fields come after those of its bases, and the first base's come last: so every mode
# lists ``mode`` first and its dice before the target.
class PointsDice(Model):
    """Mode ``points``: a number of dice that never changes."""

    mode: Literal["points"] = Field(title="Mode", description="The first to the target wins.")
    dice: DiceCount = 1


class RoundsDice(Model):
    """Mode ``rounds``: the dice grow in number."""

    mode: Literal["rounds"] = Field(
        title="Mode", description="The first to the target wins; the dice grow in number."
    )
    rounds_per_die: int = Field(
        3,
        ge=1,
        le=100,
        title="Rounds per die",
        description="After so many full rounds one die more is thrown.",
    )
    max_dice: int = Field(
        3, ge=1, le=3, title="Most dice", description="The most dice that are thrown at once."
    )


class PointsOptions(RaceFields, PointsDice):
    """Mode ``points``: the first banked score that reaches the target takes the pot."""

    target: Target = 69


class RoundsOptions(RaceFields, RoundsDice):
    """Mode ``rounds``: as ``points``, and the dice grow in number."""

    target: Target = 300


class TurnsOptions(Model):
    """Mode ``turns``: a bet before each turn, and the best turn total takes the pot."""

    mode: Literal["turns"] = Field(
        title="Mode", description="A bet before each turn; the best turn total takes the pot."
    )
    dice: DiceCount = 1
    bets: int = Field(10, ge=1, le=100, title="Bets", description="How many bets are played.")
    stake: int | None = Field(
        None,
        ge=1,
        le=CHIPS_MOST,
        title="Stake",
        description="A fixed bet; null = the starter names it each time.",
    )
    bankroll: Bankroll = 100
    lone_six: LoneSix = "bank"
    lone_six_loses_bet: bool = Field(
        False,
        title="Lone six loses the bet",
        description="Three dice: whether a turn ended by a single 6 loses its bet.",
    )
    double_six: DoubleSix = "turn"
    triple_six: TripleSix = "score"
    double_counts: DoubleCounts = "throw"
    doubles_force: DoublesForce = False
    tie: Literal["split", "playoff", "carry"] = Field(
        "split",
        title="Tied bet",
        description="The best turn total shared by several: split, one more turn, or carried.",
    )
    all_bust: Literal["carry", "return"] = Field(
        "carry",
        title="All bust",
        description="Nobody has a turn total: the pot is carried, or the bets go back.",
    )
    starter: Starter = "roll"
    rotate_starter: bool = Field(
        True,
        title="Starter moves on",
        description="Whether the starter moves one seat with each bet.",
    )
    hold_before_roll: HoldBeforeRoll = False


RaceOptions: TypeAlias = Annotated[PointsOptions | RoundsOptions, Field(discriminator="mode")]
DadosOptions: TypeAlias = Annotated[
    PointsOptions | TurnsOptions | RoundsOptions, Field(discriminator="mode")
]

# --- the state ----------------------------------------------------------------------------------

LOST: Final = -1  # in ``turn_totals``: this turn lost its bet


@dataclass(frozen=True)
class RaceState(State[Any]):
    """Modes ``points`` and ``rounds``; ``chips`` is None in a game for honour."""

    options: RaceOptions
    chips: tuple[int, ...] | None = None
    pot: int = 0


@dataclass(frozen=True)
class TurnsState(State[Any]):
    """Mode ``turns``. A bet is None while the seat has not answered, and 0 when it sits this one
    out; a turn total is None while it is not played, and -1 when it lost the bet."""

    options: TurnsOptions
    chips: tuple[int, ...] = ()
    pot: int = 0
    bets: tuple[int | None, ...] = ()
    turn_totals: tuple[int | None, ...] = ()


DadosState: TypeAlias = RaceState | TurnsState


def asked(state: DadosState) -> int | None:
    """The seat that must answer the bet: clockwise from its starter, one at a time."""
    if isinstance(state, TurnsState):
        for place in range(state.seats):
            seat = (state.starter + place) % state.seats
            if state.bets[seat] is None:
                return seat
    return None


# --- events -------------------------------------------------------------------------------------


class PiggenBusted(Event):
    """The turn total was lost on a 6."""

    kind: Literal["busted"] = "busted"
    seat: int
    lost: int
    cry: Literal["piggen-sït!"] = "piggen-sït!"


class KnockedOut(Event):
    """The throw cost the seat: it is out, and what it staked stays in the pot."""

    kind: Literal["knocked_out"] = "knocked_out"
    seat: int


class BetOpened(Event):
    """A bet begins; this seat is its starter. ``round`` is the number of the bet."""

    kind: Literal["bet_opened"] = "bet_opened"
    seat: int
    round: int


class BetPlaced(Event):
    """The seat put this amount into the pot."""

    kind: Literal["bet_placed"] = "bet_placed"
    seat: int
    amount: int


class Passed(Event):
    """The seat sits this bet out."""

    kind: Literal["passed"] = "passed"
    seat: int


class BetLost(Event):
    """The turn lost its bet, there and then."""

    kind: Literal["bet_lost"] = "bet_lost"
    seat: int


class StakesReturned(Event):
    """These seats took these amounts back out of the pot."""

    kind: Literal["stakes_returned"] = "stakes_returned"
    seats: tuple[int, ...]
    amounts: tuple[int, ...]


class PotWon(Event):
    """The seat took the whole pot."""

    kind: Literal["pot_won"] = "pot_won"
    seat: int
    amount: int


class PotShared(Event):
    """These seats took these amounts out of the pot; what is left stays in it."""

    kind: Literal["pot_shared"] = "pot_shared"
    seats: tuple[int, ...]
    amounts: tuple[int, ...]


class PotCarried(Event):
    """Nobody took the pot: it stays for the next bet."""

    kind: Literal["pot_carried"] = "pot_carried"
    amount: int


# --- what each event does to the state ----------------------------------------------------------


P = TypeVar("P", bound=RaceState | TurnsState)


def pay(state: P, seats: tuple[int, ...], amounts: tuple[int, ...]) -> P:
    """Chips move from the pot to the seats."""
    won = dict(zip(seats, amounts, strict=True))
    chips = tuple(held + won.get(seat, 0) for seat, held in enumerate(state.chips or ()))
    return changed(state, chips=chips, pot=state.pot - sum(amounts))


def answer(state: TurnsState, seat: int, amount: int) -> TurnsState:
    """The seat has answered the bet; its chips go into the pot."""
    paid = pay(state, (seat,), (-amount,))
    return changed(paid, bets=set_at(state.bets, seat, amount))


def total(state: DadosState, seat: int, value: int | None) -> DadosState:
    """What the seat's turn came to in this bet; outside mode ``turns`` nothing changes."""
    if isinstance(state, RaceState):
        return state
    return changed(state, turn_totals=set_at(state.turn_totals, seat, value))


def fold_bet_opened(state: TurnsState, event: BetOpened) -> TurnsState:
    nobody = (None,) * state.seats
    return changed(
        state,
        seat=event.seat,
        starter=event.seat,
        round=event.round,
        turn_total=0,
        rolls=0,
        must_roll=False,
        playoff=None,
        bets=tuple(0 if seat in state.out else None for seat in range(state.seats)),
        turn_totals=nobody,
    )


def fold_bet_placed(state: TurnsState, event: BetPlaced) -> TurnsState:
    return answer(state, event.seat, event.amount)


def fold_passed(state: TurnsState, event: Passed) -> TurnsState:
    return answer(state, event.seat, 0)


def fold_banked_total(state: DadosState, event: Banked) -> DadosState:
    return total(fold_banked(state, event), event.seat, event.points)


def fold_bet_lost(state: TurnsState, event: BetLost) -> DadosState:
    return total(state, event.seat, LOST)


def fold_left(state: DadosState, event: Resigned) -> DadosState:
    """A seat that resigns before it has answered a bet sits that one out."""
    state = fold_out(state, event)
    if isinstance(state, TurnsState) and state.bets[event.seat] is None:
        return answer(state, event.seat, 0)
    return state


def fold_paid(state: DadosState, event: StakesReturned | PotShared) -> DadosState:
    return pay(state, event.seats, event.amounts)


def fold_pot_won(state: DadosState, event: PotWon) -> DadosState:
    return pay(state, (event.seat,), (event.amount,))


def fold_pot_carried(state: TurnsState, _: PotCarried) -> TurnsState:
    return state


def fold_tied(state: DadosState, event: PlayoffStarted) -> DadosState:
    """In mode ``turns`` the turn totals of those tied restart."""
    state = fold_playoff_started(state, event)
    for seat in event.seats:
        state = total(state, seat, None)
    return state


DADOS_FOLDS: Final[Mapping[str, Fold]] = {
    **FOLDS,
    "banked": fold_banked_total,
    "resigned": fold_left,
    "playoff_started": fold_tied,
    "knocked_out": fold_out,
    "bet_opened": fold_bet_opened,
    "bet_placed": fold_bet_placed,
    "passed": fold_passed,
    "bet_lost": fold_bet_lost,
    "stakes_returned": fold_paid,
    "pot_won": fold_pot_won,
    "pot_shared": fold_paid,
    "pot_carried": fold_pot_carried,
}
