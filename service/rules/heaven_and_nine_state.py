"""What a game of Paraíso y Nueve consists of: its options, its state and its events.

Each event says itself what it makes of a state; which events happen is for the rules to decide.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from service.rules.base import Event, Reason, Resigned
from service.rules.heaven_and_nine_throws import Faces, Series
from service.schema import Model
from service.values import changed, set_at

# --- options ------------------------------------------------------------------------------------


class Circuits(Model):
    """The game ends when the bank has gone so many times round the table."""

    circuits: Annotated[
        int, Field(ge=1, le=50, title="Circuits", description="Times round the table.")
    ]


class Rounds(Model):
    """The game ends after so many rounds."""

    rounds: Annotated[int, Field(ge=1, le=1000, title="Rounds", description="Rounds to play.")]


def _end_tag(value: Any) -> str | None:
    """Which end is meant: by its one key in JSON, by its class in Python."""
    if isinstance(value, Model):
        return type(value).__name__
    return {("circuits",): "Circuits", ("rounds",): "Rounds"}.get(
        tuple(value) if isinstance(value, dict) else ()
    )


End: TypeAlias = Annotated[
    Annotated[Circuits, Tag("Circuits")] | Annotated[Rounds, Tag("Rounds")],
    Discriminator(
        _end_tag,
        custom_error_type="literal_error",
        custom_error_context={"expected": "exactly one of circuits and rounds"},
    ),
]


class HeavenAndNineOptions(Model):
    """What a table may choose before the game."""

    bankroll: int = Field(
        100, ge=1, le=10**9, title="Bankroll", description="Chips that each seat starts with."
    )
    end: End = Field(
        Circuits(circuits=1),
        title="End of the game",
        description="After so many circuits of the bank, or after so many rounds. It also ends"
        " when fewer than two seats have chips.",
    )
    bank_passes: Literal["round_end", "at_once", "every_round", "never"] = Field(
        "round_end",
        title="When the bank passes",
        description="round_end: after a round in which the banker lost a bet. at_once: at its"
        " first lost bet, and later bets go back. every_round: after each round. never: only when"
        " the banker has no chips or resigns (needs an end in rounds).",
    )
    automatic_loss_passes: bool = Field(
        True,
        title="An automatic loss passes the bank",
        description="Whether a mark that loses by itself counts as a lost bet.",
    )
    roll_off_tie: Literal["tied", "all"] = Field(
        "tied",
        title="Tie for the first bank",
        description="Who throws again: those tied for the highest sum, or all.",
    )
    cover: Literal["left_first", "proportional", "refuse"] = Field(
        "left_first",
        title="Bets beyond the bank's chips",
        description="left_first: covered from the banker's left until its chips end."
        " proportional: in equal parts of each bet, what remains from the left. refuse: a bet that"
        " the bank can't cover is refused when placed.",
    )
    military_order: Literal["pairs", "strict"] = Field(
        "pairs",
        title="Military throws of one number",
        description="pairs: both tie. strict: the first listed is higher.",
    )
    direction: Literal["clockwise", "counterclockwise"] = Field(
        "clockwise",
        title="Direction",
        description="Which way the bank passes, bets are covered and bettors throw.",
    )
    starter: Literal["roll", "seat", "random"] = Field(
        "roll",
        title="First banker",
        description="roll: the largest sum of two dice. seat: seat 0. random: drawn by one die"
        " with a face for each seat.",
    )


# --- state --------------------------------------------------------------------------------------

Phase: TypeAlias = Literal["limit", "betting", "banker_roll", "settling"]


@dataclass(frozen=True, slots=True)
class LastThrow:
    """The last throw of a banker or a bettor; ``counts`` is false in the other series."""

    seat: int
    faces: Faces
    counts: bool


@dataclass(frozen=True)
class HeavenAndNineState:
    """A game between two actions.

    ``round`` is 0 until the first banker is known. ``bets`` are as made and ``covered`` what the
    bank answers for; ``stakes`` are what lies on the table now. ``results`` are null while open,
    the banker's counts on. ``out`` are the seats that resigned.
    """

    options: HeavenAndNineOptions
    seats: int
    chips: tuple[int, ...]
    bets: tuple[int | None, ...]
    results: tuple[int | None, ...]
    covered: tuple[int, ...]
    stakes: tuple[int, ...]
    round: int = 0
    circuit: int = 1
    banker: int = 0
    banked: tuple[int, ...] = ()
    phase: Phase = "limit"
    limit: int | None = None
    mark: Faces | None = None
    last_throw: LastThrow | None = None
    out: tuple[int, ...] = ()
    ended: Reason | None = None

    @property
    def left(self) -> tuple[int, ...]:
        """The other seats from the banker's left on (counterclockwise: from its right)."""
        step = 1 if self.options.direction == "clockwise" else -1
        return tuple((self.banker + step * far) % self.seats for far in range(1, self.seats))

    @property
    def present(self) -> tuple[int, ...]:
        """The seats still in."""
        return tuple(seat for seat in range(self.seats) if seat not in self.out)

    @property
    def able(self) -> tuple[int, ...]:
        """The seats still in that have chips besides those on the table."""
        return tuple(seat for seat in self.present if self.chips[seat])

    @property
    def undecided(self) -> tuple[int, ...]:
        """The seats that have yet to bet or pass this round."""
        return tuple(seat for seat, bet in enumerate(self.bets) if bet is None)

    @property
    def open_bets(self) -> tuple[int, ...]:
        """The seats with chips on the table, in the order in which they throw."""
        return tuple(seat for seat in self.left if self.stakes[seat])

    @property
    def thrower(self) -> int | None:
        """The seat whose throw the game waits for."""
        if self.phase == "banker_roll" and self.ended is None:
            return self.banker
        return next(iter(self.open_bets), None) if self.phase == "settling" else None

    @property
    def awaited(self) -> tuple[int, ...]:
        """The seats that the game waits for; nobody before the first bank and after the end."""
        if self.ended is not None or not self.round:
            return ()
        if self.phase == "betting":
            return self.undecided
        seat = self.banker if self.phase == "limit" else self.thrower
        return () if seat is None else (seat,)

    def new_round(self, number: int) -> "HeavenAndNineState":
        """The table cleared; the other seats with chips have yet to decide."""
        asked = {seat for seat in self.able if seat != self.banker}
        open_ = tuple(None if seat in asked else 0 for seat in range(self.seats))
        none = (0,) * self.seats
        return changed(
            self,
            round=number,
            phase="limit",
            limit=None,
            mark=None,
            bets=open_,
            results=open_,
            covered=none,
            stakes=none,
        )

    def without(self, seat: int) -> "HeavenAndNineState":
        """A seat has left the game; what it staked is settled by an event of its own."""
        gone = changed(self, out=(*self.out, seat))
        if self.bets[seat] is not None:
            return gone
        return changed(gone, bets=set_at(self.bets, seat, 0), results=set_at(self.results, seat, 0))


def _plus(chips: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(held + added for held, added in zip(chips, more, strict=True))


# --- events -------------------------------------------------------------------------------------

Seat: TypeAlias = Annotated[int, Field(description="Seat, from 0.")]
Chips: TypeAlias = Annotated[int, Field(description="Chips.")]
BySeat: TypeAlias = Annotated[tuple[int, ...], Field(description="Chips, indexed by seat.")]
Rank: TypeAlias = Annotated[int, Field(description="Rank in the series; 1 is the highest.")]


class Fact(Event):
    """An event that says what it makes of a state."""

    @abstractmethod
    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The state after it."""


class BankRolledFor(Fact):
    """These seats threw for the first bank; the largest sum has it, a tie throws again."""

    kind: Literal["rolled_off"] = "rolled_off"
    seats: Annotated[tuple[int, ...], Field(description="The seats that threw.")]
    faces: Annotated[tuple[Faces, ...], Field(description="What they threw, in that order.")]
    sums: Annotated[tuple[int, ...], Field(description="The sums, in that order.")]

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """Who banks is told by an event of its own."""
        return state


class FirstBankerChosen(Fact):
    """The roll-off or the die over the seats gave this seat the first bank."""

    kind: Literal["starter_chosen"] = "starter_chosen"
    seat: Seat

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """It is the first to hold the bank."""
        return changed(state, banker=self.seat, banked=(self.seat,))


class RoundStarted(Fact):
    """A round began: the banker has yet to set the limit."""

    kind: Literal["round_started"] = "round_started"
    round: Annotated[int, Field(description="Number of the round, from 1.")]
    banker: Seat

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The table is cleared."""
        return changed(state, banker=self.banker).new_round(self.round)


class LimitSet(Fact):
    """The banker named the most that each seat may bet."""

    kind: Literal["limit_set"] = "limit_set"
    seat: Seat
    amount: Chips

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The other seats may bet."""
        return changed(state, limit=self.amount, phase="betting")


class BettorBet(Fact):
    """A seat put chips on the table."""

    kind: Literal["bet_placed"] = "bet_placed"
    seat: Seat
    amount: Chips

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The bet has left the chips of the seat."""
        return changed(
            state,
            chips=set_at(state.chips, self.seat, state.chips[self.seat] - self.amount),
            bets=set_at(state.bets, self.seat, self.amount),
            stakes=set_at(state.stakes, self.seat, self.amount),
        )


class BettorPassed(Fact):
    """A seat sits this round out."""

    kind: Literal["passed"] = "passed"
    seat: Seat

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """It neither throws nor wins or loses."""
        return changed(
            state,
            bets=set_at(state.bets, self.seat, 0),
            results=set_at(state.results, self.seat, 0),
        )


class Covered(Fact):
    """All have decided; the bank answers for the bets as far as its chips go."""

    kind: Literal["covered"] = "covered"
    amounts: Annotated[
        tuple[int, ...], Field(description="What the bank covers of each bet, by seat.")
    ]
    returned: Annotated[tuple[int, ...], Field(description="What goes back, by seat.")]

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The excess is back in the chips; a bet without cover is over."""
        uncovered = {seat for seat in state.open_bets if not self.amounts[seat]}
        return changed(
            state,
            chips=_plus(state.chips, self.returned),
            covered=self.amounts,
            stakes=self.amounts,
            results=tuple(
                0 if seat in uncovered else result for seat, result in enumerate(state.results)
            ),
            phase="banker_roll",
        )


class MarkSet(Fact):
    """The banker threw the mark."""

    kind: Literal["mark_set"] = "mark_set"
    seat: Seat
    faces: Faces
    series: Series
    rank: Rank

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The bettors throw against it."""
        last = LastThrow(self.seat, self.faces, counts=True)
        return changed(state, mark=self.faces, last_throw=last, phase="settling")


class BettorRolled(Fact):
    """A bettor threw; a throw of the other series does not count."""

    kind: Literal["rolled"] = "rolled"
    seat: Seat
    faces: Faces
    series: Series
    rank: Rank
    counts: Annotated[bool, Field(description="Whether it is of the mark's series.")]

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """It is the last throw; what it wins is settled by an event of its own."""
        return changed(state, last_throw=LastThrow(self.seat, self.faces, self.counts))


class Settled(Fact):
    """A bet left the table: won, lost to the bank, or (0) taken back."""

    kind: Literal["settled"] = "settled"
    seat: Seat
    stake: Chips
    won: Annotated[int, Field(description="The stake, minus the stake, or 0.")]

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """The bank pays or takes, the bettor has what is left of its stake."""
        bank = state.banker
        chips = set_at(state.chips, self.seat, state.chips[self.seat] + self.stake + self.won)
        results = set_at(state.results, self.seat, self.won)
        return changed(
            state,
            chips=set_at(chips, bank, chips[bank] - self.won),
            results=set_at(results, bank, (results[bank] or 0) - self.won),
            stakes=set_at(state.stakes, self.seat, 0),
        )


class BetsReturned(Fact):
    """All bets still open went back: the round ends before they were thrown for."""

    kind: Literal["bets_returned"] = "bets_returned"
    amounts: BySeat

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """They are in the chips again."""
        return changed(
            state,
            chips=_plus(state.chips, self.amounts),
            results=tuple(
                0 if amount else result
                for amount, result in zip(self.amounts, state.results, strict=True)
            ),
            stakes=(0,) * state.seats,
        )


class RoundEnded(Fact):
    """No bet is open any more."""

    kind: Literal["round_ended"] = "round_ended"
    round: Annotated[int, Field(description="Number of the round, from 1.")]
    results: Annotated[
        tuple[int | None, ...],
        Field(description="Chips won by seat; null = had not decided when the banker resigned."),
    ]

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """Everything has been settled before: this sums the round up for those who read it."""
        return state


class BankPassed(Fact):
    """The bank went on to another seat."""

    kind: Literal["bank_passed"] = "bank_passed"
    seat: Seat
    to: Annotated[int, Field(description="Seat of the next banker.")]
    circuit: Annotated[int, Field(description="Number of the circuit it banks in, from 1.")]

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """Those who have held it are counted anew in each circuit."""
        before = state.banked if self.circuit == state.circuit else ()
        return changed(state, banker=self.to, banked=(*before, self.to), circuit=self.circuit)


class GameEnded(Fact):
    """The game is over."""

    kind: Literal["game_ended"] = "game_ended"
    reason: Reason

    def fold(self, state: HeavenAndNineState) -> HeavenAndNineState:
        """Nobody may act any more."""
        return changed(state, ended=self.reason)


HeavenAndNineEvent: TypeAlias = (
    BankRolledFor
    | FirstBankerChosen
    | RoundStarted
    | LimitSet
    | BettorBet
    | BettorPassed
    | Covered
    | MarkSet
    | BettorRolled
    | Settled
    | BetsReturned
    | RoundEnded
    | BankPassed
    | GameEnded
    | Resigned
)
