"""What a ruleset is, and the words that all rulesets share. Pure.

A ruleset is a stateless object. A game of it moves in one way only: ``legal`` says what may be
done, ``decide`` turns one legal action into events (throwing dice where it must), ``apply`` folds
an event into the state. The events stand in the log, so folding them again gives the same state.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from pydantic import Field, TypeAdapter, ValidationError

from service.dice import D6, Dice, Die
from service.errors import FieldError, InvalidInput
from service.schema import Model, invalid_input

# Twelve seats with 10**9 chips each may meet in one hand; JSON holds integers up to here.
Amount: TypeAlias = Annotated[int, Field(ge=0, le=2**53 - 1)]


@dataclass(frozen=True, slots=True)
class Text:
    """One text in the languages that the server speaks."""

    es: str
    en: str


@dataclass(frozen=True, slots=True)
class Example:
    """A game that one may want to create: so many seats, and the options that are not defaults."""

    title: Text
    seats: int
    options: Mapping[str, Any]


# --- actions: what a seat asks for, in the imperative -------------------------------------------


class Roll(Model):
    """Throw the dice of one's turn (in a duel: of the whole table)."""

    kind: Literal["roll"]


class Hold(Model):
    """Bank the turn total and end the turn; in a duel: keep all dice."""

    kind: Literal["hold"]


class Reroll(Model):
    """Mark the dice to throw again, one flag a die."""

    kind: Literal["reroll"]
    mask: Annotated[tuple[bool, ...], Field(min_length=1, max_length=5)]


class Tiebreak(Model):
    """Throw once more for those tied."""

    kind: Literal["tiebreak"]


class Bet(Model):
    """Stake an amount of chips."""

    kind: Literal["bet"]
    amount: Amount


class Pass(Model):
    """Sit this bet out."""

    kind: Literal["pass"]


class SetLimit(Model):
    """The banker names the most that each seat may bet."""

    kind: Literal["set_limit"]
    amount: Amount


class Resolve(Model):
    """Throw all marked dice again and compare."""

    kind: Literal["resolve"]


class Resign(Model):
    """Give the game up: the seat is out, and what it staked stays in the pot."""

    kind: Literal["resign"]


# What the table does for a seat whose time has run out: the first of these kinds that is legal.
_DEFAULTS: Final = ("hold", "pass", "set_limit", "bet", "roll", "tiebreak")


class RollOff(Model):
    """The table's own: every seat throws for the first turn or the bank."""

    kind: Literal["roll_off"]


class DrawStarter(Model):
    """The table's own: one die with a face for each seat decides who starts."""

    kind: Literal["draw_starter"]


SeatAction: TypeAlias = Annotated[
    Roll | Hold | Reroll | Tiebreak | Bet | Pass | SetLimit | Resolve | Resign,
    Field(discriminator="kind"),
]
TableAction: TypeAlias = Annotated[RollOff | DrawStarter, Field(discriminator="kind")]
Action: TypeAlias = SeatAction | TableAction
SEAT_ACTIONS: Final[tuple[type[Model], ...]] = get_args(get_args(SeatAction)[0])
_SEAT_ACTION: Final[TypeAdapter[Action]] = TypeAdapter(SeatAction)


def kind_of(action: type[Model]) -> str:
    """The word by which a kind of action is asked for."""
    (kind,) = get_args(action.model_fields["kind"].annotation)
    return str(kind)


@dataclass(frozen=True, slots=True)
class LegalAction:
    """One kind of action that a seat may take now, with the bounds of its parameters.

    ``min`` and ``max`` bound an ``amount``; ``dice`` is the length of a ``mask``.
    """

    seat: int | None
    kind: str
    min: int | None = None
    max: int | None = None
    dice: int | None = None

    def admits(self, seat: int | None, action: Action) -> bool:
        """Whether this very action is covered."""
        if self.seat != seat or self.kind != action.kind:
            return False
        if action.kind == "bet" or action.kind == "set_limit":
            return (
                self.min is not None
                and self.max is not None
                and (self.min <= action.amount <= self.max)
            )
        return action.kind != "reroll" or len(action.mask) == self.dice

    def to_json(self) -> dict[str, Any]:
        """As ``legal_actions`` lists it: only the parameters that the kind has."""
        bounds = {"min": self.min, "max": self.max, "dice": self.dice}
        shown = {name: bound for name, bound in bounds.items() if bound is not None}
        return {"seat": self.seat, "kind": self.kind, **shown}


# --- events: what the rules made of an action, in the past tense --------------------------------


class Event(Model):
    """A fact of the game; subclasses fix ``kind`` and are never refused when folded."""

    kind: str


class Resigned(Event):
    """A seat gave up."""

    kind: Literal["resigned"] = "resigned"
    seat: int


Reason: TypeAlias = Literal[
    "target_reached",
    "last_round",
    "playoff",
    "bets_played",
    "circuits_played",
    "rounds_played",
    "rounds_won",
    "rounds_lost",
    "last_seat",
    "no_chips",
    "throws_exhausted",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended. ``losers`` are all seats that are not winners; ``scores`` and ``chips``
    are indexed by seat, and null where the ruleset or the table has none."""

    reason: Reason
    winners: tuple[int, ...]
    losers: tuple[int, ...]
    scores: tuple[int, ...] | None
    chips: tuple[int, ...] | None

    def to_json(self) -> dict[str, Any]:
        """As the ``finished`` entry holds it and the API serves it."""
        shown = {name: getattr(self, name) for name in self.__slots__}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in shown.items()
        }

    @classmethod
    def of(
        cls,
        reason: Reason,
        winners: Sequence[int],
        seats: int,
        scores: Sequence[int] | None = None,
        chips: Sequence[int] | None = None,
    ) -> "Outcome":
        """The outcome of a game of so many seats that these seats won."""
        return cls(
            reason,
            tuple(sorted(winners)),
            tuple(seat for seat in range(seats) if seat not in winners),
            None if scores is None else tuple(scores),
            None if chips is None else tuple(chips),
        )


# --- the ruleset itself -------------------------------------------------------------------------

Opts = TypeVar("Opts", bound=Model)
S = TypeVar("S")
E = TypeVar("E", bound=Event)


class Ruleset(ABC, Generic[Opts, S, E]):
    """The rules of one game as pure functions of its state.

    Type parameters: ``Opts`` the options model, ``S`` the state (a frozen slots dataclass that
    holds its options and the count of seats), ``E`` the union of the ruleset's events. The state
    as it is stored is the dataclass dumped to JSON; the state as it is served is ``view``.
    """

    key: ClassVar[str]
    version: ClassVar[int] = 1
    title: ClassVar[Text]
    summary: ClassVar[Text]
    min_seats: ClassVar[int]
    max_seats: ClassVar[int]
    options_type: ClassVar[Any]
    state_type: ClassVar[Any]
    view_type: ClassVar[Any]
    actions: ClassVar[tuple[type[Model], ...]]
    events: ClassVar[tuple[type[Event], ...]]
    phases: ClassVar[tuple[str, ...]]
    reasons: ClassVar[tuple[str, ...]] = ("not_now",)
    # Kinds of action that one seat takes for the whole table, whoever it is.
    table_kinds: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Example, ...]]

    def glossary(self) -> Sequence[Mapping[str, Any]]:
        """What throws are called, in games that name them."""
        return ()

    # -- options ---------------------------------------------------------------------------------

    def parse_options(
        self, raw: Mapping[str, Any], seats: int, at: str = "/options", *, hotseat: bool = False
    ) -> Opts:
        """Complete, checked options; raises InvalidInput with pointers below ``at``."""
        if not self.min_seats <= seats <= self.max_seats:
            few = seats < self.min_seats
            limit = self.min_seats if few else self.max_seats
            code = "too_short" if few else "too_long"
            raise InvalidInput(FieldError("/seats", code, (("limit", limit),)))
        value = dict(raw)
        try:
            filled = self.fill_options(value, seats, hotseat)
            # In JSON mode a strict model takes lists for its tuples, and nothing else more.
            options: Opts = self._options.validate_json(json.dumps(filled))
        except ValidationError as error:
            raise invalid_input(error, value, at) from None
        wrong = tuple(self.check_options(options, seats))
        if wrong:
            moved = (FieldError(at + item.pointer, item.code, item.params) for item in wrong)
            raise InvalidInput(*moved)
        return options

    def fill_options(self, raw: dict[str, Any], seats: int, hotseat: bool) -> dict[str, Any]:
        """Adds what the options model can't know: the discriminator of a union, and defaults
        that depend on the count of seats or on whether one device serves the whole table."""
        return raw

    def check_options(self, options: Opts, seats: int) -> Iterator[FieldError]:
        """Combinations that no table can play; pointers relative to the options."""
        yield from ()

    def load_options(self, dumped: Mapping[str, Any]) -> Opts:
        """The options that stand in a log or a snapshot; raises ValueError if they are none."""
        return self._options.validate_json(json.dumps(dumped))

    @cached_property
    def _options(self) -> TypeAdapter[Opts]:
        return TypeAdapter(self.options_type)

    def options_schema(self) -> dict[str, Any]:
        """JSON Schema of the options, with titles, descriptions and defaults."""
        return self._options.json_schema()

    # -- dice ------------------------------------------------------------------------------------

    def dice(self, options: Opts, seats: int) -> Mapping[str, Die]:
        """Every die that a game may throw, by name; published in the first entry."""
        return {"d6": D6}

    @abstractmethod
    def throws_max(self, options: Opts, seats: int) -> int:
        """The length of the key chain (1 .. 65,535): more than a game normally needs."""

    # -- the game --------------------------------------------------------------------------------

    @abstractmethod
    def start(self, options: Opts, seats: int) -> S:
        """The state in which the game starts; stakes are paid, nothing is thrown."""

    def opening(self, state: S) -> RollOff | DrawStarter | None:
        """What the table does by itself right after the start (seat null), if anything."""
        return None

    @abstractmethod
    def legal(self, state: S) -> tuple[LegalAction, ...]:
        """Every action that may be taken now, for every seat; empty when the game is over.

        ``resign`` is always legal for a seat still in and is not listed.
        """

    @abstractmethod
    def to_act(self, state: S) -> tuple[int, ...]:
        """The seats that the game waits for."""

    def clocked(self, state: S) -> tuple[int | None, ...]:
        """The seats for which the table acts when their time has run out, in order; null where
        one action serves the whole table and nobody in particular is late."""
        return self.to_act(state)

    def default_action(self, state: S, seat: int | None) -> Action:
        """What the table does for one of ``clocked``: hold if that is legal, pass a bet, else the
        smallest amount, else throw."""
        offers = {legal.kind: legal for legal in self.legal(state) if legal.seat == seat}
        offer = next(offers[kind] for kind in _DEFAULTS if kind in offers)
        amount = {} if offer.min is None else {"amount": offer.min}
        return _SEAT_ACTION.validate_python({"kind": offer.kind, **amount})

    def host_kinds(self, options: Opts) -> tuple[str, ...]:
        """The kinds of action that the host takes for the table, at any table."""
        return ()

    @abstractmethod
    def can_resign(self, state: S, seat: int) -> bool:
        """Whether the seat is still in the game."""

    def refusal(self, state: S, seat: int | None, action: Action) -> str:
        """Why an action of a seat that may act is not legal: one of ``reasons``."""
        return "not_now"

    @abstractmethod
    def decide(self, state: S, seat: int | None, action: Action, dice: Dice) -> Iterator[E]:
        """The events of one **legal** action, in order. Throws only through ``dice``.

        The caller has checked the action against ``legal``; the table's own actions come with
        seat null. Raises ThrowsExhausted from ``dice``, and then nothing has happened.
        """

    def play(
        self, state: S, seat: int | None, action: Action, dice: Dice
    ) -> tuple[tuple[E, ...], S]:
        """The events of one legal action, and the state that they lead to.

        The same as ``decide`` with each event folded by ``apply``; a family whose rules fold as
        they decide gives what it has.
        """
        events = tuple(self.decide(state, seat, action, dice))
        for event in events:
            state = self.apply(state, event)
        return events, state

    @abstractmethod
    def apply(self, state: S, event: E) -> S:
        """The state after a fact; total: a fact is never refused."""

    @abstractmethod
    def outcome(self, state: S) -> Outcome | None:
        """How the game ended, or None while it goes on."""

    @abstractmethod
    def exhausted(self, state: S) -> Outcome:
        """How the game ends when its key chain has run out (reason ``throws_exhausted``)."""

    def chips_in_play(self, state: S) -> int | None:
        """Chips of all seats + pots + bets on the table; None in games without chips."""
        return None

    # -- the series ------------------------------------------------------------------------------

    def tally(self, options: Opts, outcome: Outcome) -> tuple[int, ...]:
        """What a finished game adds to the tally of its series, by seat: one to each winner."""
        seats = len(outcome.winners) + len(outcome.losers)
        return tuple(int(seat in outcome.winners) for seat in range(seats))

    def tally_key(self, options: Opts) -> str:
        """What the tally counts in a game with these options: ``won`` or ``lost``. A rematch that
        counts something else starts its series' tally again."""
        return "won"

    # -- what is stored and served ---------------------------------------------------------------

    @abstractmethod
    def phase(self, state: S) -> str:
        """Which kind of action the game waits for: one of ``phases``."""

    @abstractmethod
    def view(self, state: S) -> dict[str, Any]:
        """The public state, an instance of ``view_type`` (a TypedDict)."""

    @cached_property
    def _states(self) -> TypeAdapter[S]:
        return TypeAdapter(self.state_type)

    def dump(self, state: S) -> dict[str, Any]:
        """The state as JSON values."""
        dumped: dict[str, Any] = self._states.dump_python(state, mode="json")
        return dumped

    def load(self, dumped: Mapping[str, Any]) -> S:
        """The state that ``dump`` gave."""
        return self._states.validate_json(json.dumps(dumped))

    @cached_property
    def _events(self) -> TypeAdapter[E]:
        union: Any = Annotated[reduce(or_, self.events), Field(discriminator="kind")]
        return TypeAdapter(union)

    def parse_event(self, data: Mapping[str, Any]) -> E:
        """The event that stands in a log as ``data``; raises ValueError if it is none."""
        return self._events.validate_json(json.dumps(data))

    def event_schema(self) -> dict[str, Any]:
        """JSON Schema of the ruleset's events."""
        return self._events.json_schema(mode="serialization")
