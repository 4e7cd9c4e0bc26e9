"""The shapes of log entries, one for each type (``docs/fair-dice.md``, section 4)."""

from typing import Annotated, Any, Final, Literal, Union

from pydantic import Field
from typing_extensions import TypeAliasType

from service.game import SeedMode
from service.rules import RULESETS
from service.rules.base import Reason
from service.schema import Model

# Each model once: rulesets of one family may share theirs.
Options: Any = TypeAliasType(
    "Options",
    Union[tuple({ruleset.options_type: None for ruleset in RULESETS})],  # noqa: UP007
)

EVENTS: Final = tuple({event: None for ruleset in RULESETS for event in ruleset.events})
RulesetEvent: Any = TypeAliasType("RulesetEvent", Union[EVENTS])  # noqa: UP007


class RulesetKey(Model):
    """Which rules, in which version."""

    key: str
    version: int


class OutcomeShape(Model):
    """How a finished game ended."""

    reason: Reason
    winners: tuple[int, ...]
    losers: tuple[int, ...]
    scores: tuple[int, ...] | None
    chips: tuple[int, ...] | None


class DieShape(Model):
    """A die: its faces and how often each comes up, all weights equal for a fair one."""

    faces: tuple[int | str, ...]
    weights: tuple[int, ...]


class CreatedData(Model):
    """Everything that is fixed when a game is created; ``root`` is known in practice games, and
    ``turn_seconds`` stands there at a table with a clock only."""

    commitment: str
    throws_max: int
    seed_mode: SeedMode
    ruleset: RulesetKey
    options: Options
    seats: int
    dice: dict[str, DieShape]
    root: str | None
    turn_seconds: int | None = None


class JoinedData(Model):
    """A seat was taken; ``who`` binds the name, ``saw`` is the commitment they were shown."""

    seat: int
    kind: Literal["human", "bot"]
    who: str | None
    saw: str
    commit: str | None
    seed: str | None


class LeftData(Model):
    """A seat was left."""

    seat: int


class SealedData(Model):
    """The roster was closed."""

    seats: int


class SeedRevealedData(Model):
    """A seat showed its seed."""

    seat: int
    seed: str


class StartedData(Model):
    """The game started; ``context`` goes into every throw."""

    context: str


class ThrowShape(Model):
    """One throw: its number, whose it is (null: the table's), dice, faces and the key."""

    throw: int
    seat: int | None
    dice: tuple[str, ...]
    faces: tuple[int | str, ...]
    key: str


class ActedData(Model):
    """An action and all that the rules made of it: `GET /v1/rulesets/{key}` tells which events are
    whose. ``seat`` is null for what the table does by itself; when a seat's time has run out,
    ``action`` names that seat, with the reason ``clock``."""

    seat: int | None
    action: dict[str, Any]
    throws: tuple[ThrowShape, ...]
    events: tuple[RulesetEvent, ...]


class FinishedData(Model):
    """The rules ended the game; ``root`` opens every key."""

    outcome: OutcomeShape
    root: str


class EndedData(Model):
    """The game ended without an outcome."""

    reason: str
    root: str


class EntryHead(Model):
    """What all entries share: ``prev`` is the hash of the line before, ``at`` milliseconds."""

    v: Literal[1]
    game: str
    seq: int
    prev: str
    at: int


class CreatedEntry(EntryHead):
    """The game was created."""

    type: Literal["created"]
    data: CreatedData


class JoinedEntry(EntryHead):
    """A seat was taken."""

    type: Literal["joined"]
    data: JoinedData


class LeftEntry(EntryHead):
    """A seat was left."""

    type: Literal["left"]
    data: LeftData


class SealedEntry(EntryHead):
    """The roster was closed."""

    type: Literal["sealed"]
    data: SealedData


class SeedRevealedEntry(EntryHead):
    """A seat showed its seed."""

    type: Literal["seed_revealed"]
    data: SeedRevealedData


class StartedEntry(EntryHead):
    """The game started."""

    type: Literal["started"]
    data: StartedData


class ActedEntry(EntryHead):
    """An action was taken."""

    type: Literal["acted"]
    data: ActedData


class FinishedEntry(EntryHead):
    """The game ended with an outcome."""

    type: Literal["finished"]
    data: FinishedData


class AbandonedEntry(EntryHead):
    """The game ended without an outcome."""

    type: Literal["abandoned"]
    data: EndedData


class VoidEntry(EntryHead):
    """The game was called off before its start."""

    type: Literal["void"]
    data: EndedData


EntryShape = TypeAliasType(
    "EntryShape",
    Annotated[
        CreatedEntry
        | JoinedEntry
        | LeftEntry
        | SealedEntry
        | SeedRevealedEntry
        | StartedEntry
        | ActedEntry
        | FinishedEntry
        | AbandonedEntry
        | VoidEntry,
        Field(discriminator="type"),
    ],
)
