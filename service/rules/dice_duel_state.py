"""What a duel consists of: its options, its state, its events and what each makes of the state.

Which events happen is for the rules to decide, in ``dice_duel``.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypedDict

from service.rules import base
from service.schema import Model
from service.values import changed, set_at

Faces: TypeAlias = tuple[int, ...]
Mask: TypeAlias = tuple[bool, ...]
Rule: TypeAlias = Literal["sum_high", "sum_low", "trio_pair_sum"]
Phase: TypeAlias = Literal["rolling", "choosing", "tiebreak"]

# --- options ------------------------------------------------------------------------------------

DECK_MOST: Final = 4_000
"""Code points of all texts of a deck: every answer about a game holds them."""
# No control characters, and none that break the line or turn the direction of writing.
_TEXT: Final = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+$"


class BestOf(Model):
    """Whoever wins more than half of so many rounds wins the match."""

    best_of: int = Field(
        ge=1,
        le=9,
        title="Best of",
        description="An odd number of rounds; more than half of them win the match.",
        json_schema_extra={"enum": [1, 3, 5, 7, 9]},
    )


class FirstToWin(Model):
    """Whoever first wins so many rounds wins the match."""

    first_to_win: int = Field(
        ge=1, le=9, title="First to win", description="Rounds to win for the match."
    )


class FirstToLose(Model):
    """Whoever first loses so many rounds loses the match, and all others win it."""

    first_to_lose: int = Field(
        ge=1, le=9, title="First to lose", description="Lost rounds that lose the match."
    )


_FORMATS: Final = {
    "best_of": "BestOf",
    "first_to_win": "FirstToWin",
    "first_to_lose": "FirstToLose",
}


def _format_tag(value: Any) -> str | None:
    """Which format is meant: by its one key in JSON, by its class in Python."""
    if isinstance(value, Model):
        return type(value).__name__
    keys = list(value) if isinstance(value, dict) else []
    return _FORMATS.get(keys[0]) if len(keys) == 1 else None


Format: TypeAlias = Annotated[
    Annotated[BestOf, Tag("BestOf")]
    | Annotated[FirstToWin, Tag("FirstToWin")]
    | Annotated[FirstToLose, Tag("FirstToLose")],
    Discriminator(
        _format_tag,
        custom_error_type="literal_error",
        custom_error_context={"expected": "exactly one of best_of, first_to_win, first_to_lose"},
    ),
]


class Penalty(Model):
    """What the losers of the match owe: each draws one text. Joining means agreeing."""

    kind: Literal["forfeit", "truth"] = Field(
        title="Kind", description="A thing to do, or a question to answer truthfully."
    )
    deck: tuple[Annotated[str, Field(min_length=1, max_length=200, pattern=_TEXT)], ...] = Field(
        min_length=1,
        max_length=64,
        title="Deck",
        description=(
            "The texts drawn from, together up to 4,000 characters; a text can be drawn more "
            "than once."
        ),
    )


class DuelOptions(Model):
    """How a duel is played."""

    rule: Rule = Field(
        "sum_high",
        title="Rule",
        description="What is better: the higher sum, the lower sum, or trio over pair over sum.",
    )
    dice: int = Field(
        3, ge=1, le=5, title="Dice", description="Dice of each seat; always 3 with trio_pair_sum."
    )
    reroll: bool = Field(
        True,
        title="Throw again",
        description="Whether every seat may mark dice once a round to throw them again.",
    )
    format: Format = Field(
        BestOf(best_of=3),
        title="Format",
        description=(
            "Exactly one key. Two seats: best_of 1, 3 or 5 (default 3). Three or more: "
            "first_to_win (default 2) or first_to_lose, 1 to 9. See free_formats."
        ),
    )
    press: Literal["all", "anyone", "host"] = Field(
        "all",
        title="Who resolves",
        description=(
            "all: the round is resolved when the last seat has chosen. anyone: a seat sends "
            "resolve once all have chosen (default at a hot-seat table). host: the host does."
        ),
    )
    penalty: Penalty | None = Field(
        None, title="Penalty", description="What the losers of the match owe, or null."
    )
    free_formats: bool = Field(
        False,
        title="Free formats",
        description="Allows every format with any number of seats, and best_of up to 9.",
    )

    @property
    def loser_searched(self) -> bool:
        """Whether the rounds look for a loser instead of a winner."""
        return isinstance(self.format, FirstToLose)

    @property
    def rounds_needed(self) -> int:
        """Rounds, won or lost, that decide the match for a seat."""
        match self.format:
            case BestOf(best_of=rounds):
                return rounds // 2 + 1
            case FirstToWin(first_to_win=rounds) | FirstToLose(first_to_lose=rounds):
                return rounds


# --- state --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TieBreak:
    """One throw of those tied; ``faces`` go with ``seats``."""

    seats: tuple[int, ...]
    faces: tuple[Faces, ...]


@dataclass(frozen=True)
class Round:
    """One round, open or past. ``before`` and ``after`` (throwing again) are indexed by seat and
    empty for a seat without dice; ``seat`` took the round."""

    before: tuple[Faces, ...]
    after: tuple[Faces, ...]
    choices: tuple[Mask | None, ...]
    tied: tuple[int, ...] = ()
    tiebreaks: tuple[TieBreak, ...] = ()
    seat: int | None = None

    @classmethod
    def rolled(cls, faces: tuple[Faces, ...]) -> "Round":
        """A round of which these are the first throws."""
        return cls(before=faces, after=faces, choices=(None,) * len(faces))


@dataclass(frozen=True)
class DuelState:
    """A duel as it stands. ``wins`` are rounds won, or lost where a loser is searched;
    ``penalties`` are pairs of a seat and the number of its text in the deck."""

    options: DuelOptions
    seats: int
    wins: tuple[int, ...]
    current: Round
    rounds: tuple[Round, ...] = ()
    out: tuple[int, ...] = ()
    penalties: tuple[tuple[int, int], ...] = ()

    @property
    def seats_in(self) -> tuple[int, ...]:
        """The seats that have not resigned."""
        return tuple(seat for seat in range(self.seats) if seat not in self.out)

    @property
    def not_chosen(self) -> tuple[int, ...]:
        """The seats still in whose choice is open."""
        return tuple(seat for seat in self.seats_in if self.current.choices[seat] is None)

    @property
    def decided(self) -> tuple[int, ...]:
        """The seat that has the rounds that decide the match, once there is one."""
        needed = self.options.rounds_needed
        return tuple(seat for seat in self.seats_in if self.wins[seat] >= needed)

    @property
    def phase(self) -> Phase:
        """What the round waits for."""
        if self.current.tied:
            return "tiebreak"
        return "choosing" if any(self.current.before) else "rolling"


class TieBreakView(TypedDict):
    """A throw of those tied: ``faces`` go with ``seats``."""

    seats: list[int]
    faces: list[list[int]]


class RoundView(TypedDict):
    """A past round: faces by seat before and after throwing again (empty for a seat without
    dice), its tie-breaks, and the seat that won it (lost it, where a loser is searched)."""

    round: int
    before: list[list[int]]
    after: list[list[int]]
    tiebreaks: list[TieBreakView]
    seat: int


class PenaltyView(TypedDict):
    """What a loser of the match drew."""

    seat: int
    text: str


class DuelView(TypedDict):
    """The public state. ``faces`` (empty = no dice on the table), ``choices`` (null = none yet,
    else the mask) and ``wins`` (rounds lost, where a loser is searched) are indexed by seat."""

    round: int
    faces: list[list[int]]
    choices: list[list[bool] | None]
    tied: list[int]
    wins: list[int]
    rounds: list[RoundView]
    penalties: list[PenaltyView] | None


# --- events -------------------------------------------------------------------------------------


class TableRolled(base.Event):
    """The table's dice were thrown: faces by seat, empty for a seat that is out."""

    kind: Literal["table_rolled"] = "table_rolled"
    round: int
    faces: tuple[Faces, ...]


class Chose(base.Event):
    """A seat marked the dice that it will throw again; no flag set = it keeps them all."""

    kind: Literal["chose"] = "chose"
    seat: int
    mask: Mask


class Resolved(base.Event):
    """The marked dice were thrown: the faces compared, by seat, empty for a seat that is out."""

    kind: Literal["resolved"] = "resolved"
    faces: tuple[Faces, ...]


class Tied(base.Event):
    """These seats share the searched end and must throw once more."""

    kind: Literal["tied"] = "tied"
    seats: tuple[int, ...]


class TiebreakRolled(base.Event):
    """Those tied threw all their dice; ``faces`` go with ``seats``."""

    kind: Literal["tiebreak_rolled"] = "tiebreak_rolled"
    seats: tuple[int, ...]
    faces: tuple[Faces, ...]


class RoundWon(base.Event):
    """A seat won the round; ``wins`` are all rounds won since, by seat."""

    kind: Literal["round_won"] = "round_won"
    seat: int
    wins: tuple[int, ...]


class RoundLost(base.Event):
    """A seat lost the round; ``losses`` are all rounds lost since, by seat."""

    kind: Literal["round_lost"] = "round_lost"
    seat: int
    losses: tuple[int, ...]


class PenaltyDrawn(base.Event):
    """A loser of the match drew the text with number ``card`` (from 0) of the deck."""

    kind: Literal["penalty_drawn"] = "penalty_drawn"
    seat: int
    card: int
    text: str


DuelEvent: TypeAlias = (
    TableRolled
    | Chose
    | Resolved
    | Tied
    | TiebreakRolled
    | RoundWon
    | RoundLost
    | PenaltyDrawn
    | base.Resigned
)

# --- folding ------------------------------------------------------------------------------------


def fold(state: DuelState, event: DuelEvent) -> DuelState:
    """The state after an event."""
    current = state.current
    match event:
        case TableRolled(faces=faces):
            return changed(state, current=Round.rolled(faces))
        case Chose(seat=seat, mask=mask):
            current = changed(current, choices=set_at(current.choices, seat, mask))
        case Resolved(faces=faces):
            current = changed(current, after=faces)
        case Tied(seats=seats):
            current = changed(current, tied=seats)
        case TiebreakRolled(seats=seats, faces=faces):
            thrown = TieBreak(seats, faces)
            current = changed(current, tiebreaks=(*current.tiebreaks, thrown))
        case RoundWon(seat=seat, wins=counts) | RoundLost(seat=seat, losses=counts):
            past = changed(current, tied=(), seat=seat)
            return changed(
                state, wins=counts, rounds=(*state.rounds, past), current=no_dice(state.seats)
            )
        case base.Resigned(seat=seat):
            tied = tuple(other for other in current.tied if other != seat)
            choices = set_at(current.choices, seat, None)
            current = changed(current, tied=tied, choices=choices)
            return changed(state, current=current, out=tuple(sorted({*state.out, seat})))
        case PenaltyDrawn(seat=seat, card=card):
            return changed(state, penalties=(*state.penalties, (seat, card)))
    return changed(state, current=current)


def no_dice(seats: int) -> Round:
    """The round that waits for its first throws."""
    return Round.rolled(((),) * seats)
