"""The state of a jeopardy dice game, its events, and what each event does to the state. Pure.

The rules that decide these events stand in ``jeopardy.py``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import Field
from typing_extensions import TypedDict

from service.dice import Face
from service.rules.base import Event, Reason, Resigned
from service.schema import Model
from service.values import changed, set_at

# --- options ------------------------------------------------------------------------------------


Target: TypeAlias = Annotated[
    int, Field(ge=1, le=10_000, title="Target", description="The score to reach by banking.")
]
Starter: TypeAlias = Annotated[
    Literal["roll", "seat", "random"],
    Field(
        title="First turn",
        description="Who starts: the best roll-off, the first seat, or a seat drawn by a die.",
    ),
]
HoldBeforeRoll: TypeAlias = Annotated[
    bool,
    Field(
        title="Hold before rolling",
        description="Whether a turn may be given up without a throw.",
    ),
]
AutoHold: TypeAlias = Annotated[
    bool,
    Field(
        title="Hold at the target",
        description="Bank at once when score and turn total together reach the target.",
    ),
]
Finish: TypeAlias = Annotated[
    Literal["at_once", "complete_round"],
    Field(
        title="End",
        description="The target ends the game at once, or the seats after it still take a turn.",
    ),
]

# --- the state ----------------------------------------------------------------------------------

Opts = TypeVar("Opts", bound=Model)
Seats: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class State(Generic[Opts]):
    """A game at one moment. ``round`` is 0 until it is known who starts; ``reached`` is the seat
    that made this the last round; ``reason`` is set when the game is over."""

    options: Opts
    seats: int
    scores: tuple[int, ...]
    starter: int = 0
    round: int = 0
    seat: int = 0
    turn_total: int = 0
    rolls: int = 0
    must_roll: bool = False
    reached: int | None = None
    playoff: Seats | None = None
    out: Seats = ()
    winners: Seats = ()
    reason: Reason | None = None


class JeopardyView(TypedDict):
    """The state as it is served."""

    round: int
    dice: int
    starter: int | None
    seat: int | None
    turn_total: int
    rolls: int
    must_roll: bool
    scores: list[int]
    last_round: bool
    playoff: list[int] | None
    out: list[int]
    chips: list[int] | None
    pot: int
    bets: list[int | None] | None
    turn_totals: list[int | None] | None


def still_in(state: State[Any]) -> list[int]:
    """The seats that have neither resigned nor been knocked out."""
    seats = range(state.seats)
    return [seat for seat in seats if seat not in state.out] if state.out else list(seats)


def contenders(state: State[Any]) -> list[int]:
    """The seats that take turns now: in a playoff only those tied."""
    if state.playoff is None:
        return still_in(state)
    return [seat for seat in state.playoff if seat not in state.out]


def playoff_decided(state: State[Any]) -> bool:
    """Whether a single seat is left of those that were tied."""
    return state.playoff is not None and len(contenders(state)) == 1


def best(seats: Iterable[int], values: Mapping[int, int] | tuple[int, ...]) -> list[int]:
    """Those of the seats that share the highest value."""
    seats = list(seats)
    top = max((values[seat] for seat in seats), default=0)
    return [seat for seat in seats if values[seat] == top]


# --- events -------------------------------------------------------------------------------------


class RolledOff(Event):
    """These seats threw for the first turn; the highest sum starts, a tie throws again."""

    kind: Literal["rolled_off"] = "rolled_off"
    seats: tuple[int, ...]
    faces: tuple[tuple[Face, ...], ...]
    sums: tuple[int, ...]


class StarterChosen(Event):
    """The roll-off or the die over the seats made this seat the starter."""

    kind: Literal["starter_chosen"] = "starter_chosen"
    seat: int


class TurnStarted(Event):
    """It is this seat's turn."""

    kind: Literal["turn_started"] = "turn_started"
    seat: int
    round: int


class Rolled(Event):
    """A throw, what it adds, and the turn total after it (0 after a bust)."""

    kind: Literal["rolled"] = "rolled"
    seat: int
    faces: tuple[Face, ...]
    points: int
    turn_total: int
    must_roll: bool


class Banked(Event):
    """The turn total was added to the score."""

    kind: Literal["banked"] = "banked"
    seat: int
    points: int
    score: int


class Busted(Event):
    """The turn total was lost."""

    kind: Literal["busted"] = "busted"
    seat: int
    lost: int


class ScoreLost(Event):
    """The throw cost the whole score as well."""

    kind: Literal["score_lost"] = "score_lost"
    seat: int
    lost: int


class LastRoundStarted(Event):
    """This seat banked the target; the others that are still to play play on."""

    kind: Literal["last_round_started"] = "last_round_started"
    seat: int


class PlayoffStarted(Event):
    """These seats are tied and go on alone."""

    kind: Literal["playoff_started"] = "playoff_started"
    seats: tuple[int, ...]


class GameWon(Event):
    """The game is over."""

    kind: Literal["game_won"] = "game_won"
    seats: tuple[int, ...]
    reason: Reason


# The events of every game that is for points alone.
EVENTS: Final[tuple[type[Event], ...]] = (
    RolledOff,
    StarterChosen,
    TurnStarted,
    Rolled,
    Banked,
    Busted,
    LastRoundStarted,
    PlayoffStarted,
    Resigned,
    GameWon,
)

# Events are values, and those of a turn happen again and again, at every table: what was made and
# checked once is told again. So many of a kind are kept.
_KEPT: Final = 4_096


@lru_cache(_KEPT, typed=True)
def rolled(
    seat: int, faces: tuple[Face, ...], points: int, turn_total: int, must_roll: bool
) -> Rolled:
    return Rolled(seat=seat, faces=faces, points=points, turn_total=turn_total, must_roll=must_roll)


@lru_cache(_KEPT, typed=True)
def busted(seat: int, lost: int) -> Busted:
    return Busted(seat=seat, lost=lost)


@lru_cache(_KEPT, typed=True)
def banked(seat: int, points: int, score: int) -> Banked:
    return Banked(seat=seat, points=points, score=score)


@lru_cache(_KEPT, typed=True)
def turn_started(seat: int, round: int) -> TurnStarted:
    return TurnStarted(seat=seat, round=round)


# --- what each event does to the state ----------------------------------------------------------

S = TypeVar("S", bound=State[Any])
Fold: TypeAlias = Callable[[Any, Any], Any]


def fold_rolled_off(state: S, _: RolledOff) -> S:
    return state


def fold_starter_chosen(state: S, event: StarterChosen) -> S:
    return changed(state, starter=event.seat)


def fold_turn_started(state: S, event: TurnStarted) -> S:
    return changed(
        state, seat=event.seat, round=event.round, turn_total=0, rolls=0, must_roll=False
    )


def fold_rolled(state: S, event: Rolled) -> S:
    return changed(
        state,
        turn_total=event.turn_total,
        rolls=state.rolls + 1,
        must_roll=event.must_roll,
    )


def fold_banked(state: S, event: Banked) -> S:
    scores = set_at(state.scores, event.seat, event.score)
    return changed(state, scores=scores, turn_total=0, must_roll=False)


def fold_busted(state: S, _: Event) -> S:
    """The throw that was a bust has said so already, as a rule."""
    if not state.turn_total and not state.must_roll:
        return state
    return changed(state, turn_total=0, must_roll=False)


def fold_score_lost(state: S, event: ScoreLost) -> S:
    return changed(state, scores=set_at(state.scores, event.seat, 0))


def fold_last_round_started(state: S, event: LastRoundStarted) -> S:
    return changed(state, reached=event.seat)


def fold_playoff_started(state: S, event: PlayoffStarted) -> S:
    return changed(state, playoff=event.seats)


def fold_out(state: S, event: Any) -> S:
    """A seat that resigned or was knocked out keeps what it has, but cannot win."""
    return changed(state, out=tuple(sorted({*state.out, event.seat})))


def fold_game_won(state: S, event: GameWon) -> S:
    return changed(state, winners=event.seats, reason=event.reason, must_roll=False)


FOLDS: Final[Mapping[str, Fold]] = {
    "rolled_off": fold_rolled_off,
    "starter_chosen": fold_starter_chosen,
    "turn_started": fold_turn_started,
    "rolled": fold_rolled,
    "banked": fold_banked,
    "busted": fold_busted,
    "score_lost": fold_score_lost,
    "last_round_started": fold_last_round_started,
    "playoff_started": fold_playoff_started,
    "resigned": fold_out,
    "game_won": fold_game_won,
}


class Course(Generic[S]):
    """The events of one action as they are decided, and the state that they have led to."""

    __slots__ = ("_apply", "events", "state")

    def __init__(self, apply: Callable[[S, Event], S], state: S) -> None:
        self._apply = apply
        self.state = state
        self.events: list[Event] = []

    def add(self, *events: Event) -> None:
        """These happen next, and the state follows."""
        self.events += events
        for event in events:
            self.state = self._apply(self.state, event)
