"""The shapes of requests and answers, as the contract documents them.

Requests are parsed with these models. Answers are rendered by ``views``, once, from objects that
are valid already; a test holds real answers against these shapes.
"""

from typing import Annotated, Any, Literal, Self, Union

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StringConstraints,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from service.api.entry_shapes import EntryShape, Options, OutcomeShape, RulesetKey
from service.clock import TURN_SECONDS_LEAST, TURN_SECONDS_MOST
from service.game import SeedMode, Status
from service.names import LONGEST, canonical_name
from service.rules import RULESETS
from service.rules.base import SEAT_ACTIONS
from service.schema import Model

State: Any = TypeAliasType(
    "State",
    Union[tuple({ruleset.view_type: None for ruleset in RULESETS})],  # noqa: UP007
)


def _name(text: str) -> str:
    try:
        return canonical_name(text)
    except ValueError as error:
        limits = {"min_length": 1, "max_length": LONGEST}
        raise PydanticCustomError(str(error), "", limits) from None


Name = Annotated[
    str,
    AfterValidator(_name),
    Field(
        description="1-40 code points after NFC and trimming; no control or format characters.",
        examples=["Ana"],
    ),
]
Key = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Seat = Annotated[int, Field(ge=0, le=63)]
TurnSeconds = Annotated[int, Field(ge=TURN_SECONDS_LEAST, le=TURN_SECONDS_MOST)]
Version = Annotated[int, Field(ge=0, le=2**53 - 1)]


# --- requests -----------------------------------------------------------------------------------


class NewSeat(Model):
    """A seat of a new game: taken at once by ``name``, played by the server's ``bot``, or open for
    somebody to join."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Ana"}, {"bot": "random"}]})

    name: Name | None = None
    bot: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}(:[0-9]{1,4})?$")] | None = Field(
        default=None,
        description="A bot of the ruleset, not together with `name`; `GET /v1/rulesets/{key}` "
        "lists them under `bots`.",
        examples=["hold_20"],
    )

    @model_validator(mode="after")
    def _one_player(self) -> Self:
        if self.name is not None and self.bot is not None:
            raise PydanticCustomError("name_or_bot", "")
        return self


class NewGame(Model):
    """A game to create. Options that are left out take their defaults."""

    ruleset: Annotated[str, Field(min_length=1, max_length=64, examples=["big-pig"])]
    options: dict[str, Any] = Field(
        default={},
        description="The ruleset's options; `GET /v1/rulesets/{key}` has their JSON Schema.",
        examples=[{"target": 50}],
    )
    seats: Annotated[tuple[NewSeat, ...], Field(min_length=1, max_length=64)] = Field(
        description="At least one seat has to be a person's, seated or still to join.",
        examples=[[{"name": "Ana"}, {"bot": "hold_20"}, {}]],
    )
    hotseat: bool = Field(default=False, description="The host's token acts for every seat.")
    visibility: Literal["public", "unlisted"] = "public"
    seed_mode: SeedMode = "operator"
    seed: Key | None = Field(
        default=None, description="Practice games only: the root, public from the start."
    )
    turn_seconds: TurnSeconds | None = Field(
        default=None,
        description="The table's clock: for whoever takes longer it does the ruleset's default.",
    )
    start: bool = Field(default=True, description="Start as soon as every seat is taken.")


class Join(Model):
    """Take an open seat: the lowest one, or ``seat``. The token of a seat that a rematch keeps
    takes that one, under its old name unless ``name`` is given."""

    name: Name | None = None
    seat: Seat | None = None
    saw: Key | None = Field(
        default=None,
        description="The commitment that the player has seen; needed with `commit` or `seed`.",
    )
    commit: Key | None = Field(
        default=None, description="Seed mode sealed: binds a seed that is revealed later."
    )
    seed: Key | None = Field(
        default=None, description="Seed mode open: this player's part in the dice, in clear."
    )
    expected_version: Version | None = None


class Reveal(Model):
    """The seed that the seat has committed to."""

    seed: Key
    expected_version: Version | None = None


class Rename(Model):
    """Another name for a seat, before the start."""

    name: Name
    expected_version: Version | None = None


class Step(Model):
    """A step that needs nothing said; the body may be left out."""

    expected_version: Version | None = None


class Rematch(Model):
    """The next game of the series; ``options`` replace those of this game."""

    options: dict[str, Any] | None = None
    expected_version: Version | None = None


class Acting(Model):
    """What stands beside the fields of an action itself."""

    seat: Seat | None = Field(
        default=None,
        description="Who acts, at a hot seat; may be left out when one seat alone may act.",
    )
    expected_version: Version | None = None


def _act_request(action: type[Model]) -> type[Model]:
    """The shape of a request for one kind of action."""
    return create_model(f"Act{action.__name__}", __base__=(action, Acting), __doc__=action.__doc__)


ActRequest: Any = Annotated[
    Union[tuple(_act_request(action) for action in SEAT_ACTIONS)],  # noqa: UP007 (made here)
    Field(discriminator="kind"),
]


# --- answers ------------------------------------------------------------------------------------


class TextShape(Model):
    """A text in Spanish and English."""

    es: str
    en: str


class SeatRange(Model):
    """How many seats a game may have."""

    min: int
    max: int


class BotNeeds(Model):
    """What a table must be like for a bot: JSON Schemas of single options, and the count of seats
    (null: any)."""

    options: dict[str, dict[str, Any]]
    seats: int | None


class BotShape(Model):
    """A built-in bot. ``pattern`` is the regular expression of its names, which for most is the
    ``name`` alone; `hold_at:N` takes a number."""

    name: str
    pattern: str
    title: TextShape
    description: TextShape
    needs: BotNeeds


class RulesetSummary(Model):
    """A ruleset as the catalogue lists it."""

    key: str
    version: int
    title: TextShape
    summary: TextShape
    seats: SeatRange
    bots: tuple[BotShape, ...]


class Catalogue(Model):
    """Every ruleset."""

    rulesets: tuple[RulesetSummary, ...]


class ActionKind(Model):
    """A kind of action and the JSON Schema of its parameters."""

    kind: str
    schema_: dict[str, Any] = Field(alias="schema")


class OptionText(Model):
    """What an option is called and means."""

    title: str
    description: str


class OptionTexts(Model):
    """Spanish for the English of the options' JSON Schema, by option; one inside another as
    ``end/rounds``."""

    es: dict[str, OptionText]


class ExampleShape(Model):
    """A game that one may want to create; options that are left out take their defaults."""

    title: TextShape
    seats: int
    options: dict[str, Any]


class ReasonShape(Model):
    """Why an action is refused: the ``reason`` of `illegal_action`."""

    code: str
    detail: TextShape


class RulesetShape(RulesetSummary):
    """A ruleset in full: ``rules`` is Markdown; ``options`` and ``events`` are JSON Schemas;
    ``glossary`` names throws in games that have names for them."""

    rules: TextShape
    options: dict[str, Any]
    options_text: OptionTexts
    examples: tuple[ExampleShape, ...]
    phases: tuple[str, ...]
    actions: tuple[ActionKind, ...]
    reasons: tuple[ReasonShape, ...]
    events: dict[str, Any]
    glossary: tuple[dict[str, Any], ...]


class Health(Model):
    """Whether the server lives, or is ready to serve."""

    status: Literal["ok"]


class VersionShape(Model):
    """Which program serves, and with which rulesets."""

    name: Literal["cubilete"]
    version: str
    protocol: Literal["fair-dice/1"]
    rulesets: tuple[RulesetKey, ...]


class ProblemPage(Model):
    """What a problem's code means."""

    code: str
    status: int
    title: TextShape
    detail: TextShape


class ListedPlayer(Model):
    """A seat and who holds it; ``kind`` is null while it is open. A bot is called as it was asked
    for (``hold_at:25``)."""

    seat: int
    name: str | None
    kind: Literal["human", "bot"] | None


class PlayerShape(ListedPlayer):
    """A seat and who holds it. ``present`` says whether the player has a stream of the game
    open."""

    present: bool


class LegalPlain(Model):
    """An action without parameters; ``seat`` is null for what the host does for the table."""

    seat: int | None
    kind: Literal["roll", "hold", "tiebreak", "pass", "resolve"]


class LegalAmount(Model):
    """An action with an ``amount`` from ``min`` to ``max``."""

    seat: int | None
    kind: Literal["bet", "set_limit"]
    min: int
    max: int


class LegalReroll(Model):
    """Marking dice to throw again: ``mask`` has one flag for each of so many ``dice``."""

    seat: int | None
    kind: Literal["reroll"]
    dice: int


LegalActionShape = TypeAliasType(
    "LegalActionShape",
    Annotated[LegalPlain | LegalAmount | LegalReroll, Field(discriminator="kind")],
)


class SeedShape(Model):
    """A seat's part in the dice: what it committed to, and its seed once that is public."""

    seat: int
    commit: str | None
    seed: str | None


class DiceShape(Model):
    """What is public of a game's dice: see ``docs/fair-dice.md``. ``seeds`` lists the seats that
    contribute; ``sealed`` says that the roster is closed and seeds are being revealed."""

    protocol: Literal["fair-dice/1"]
    seed_mode: SeedMode
    commitment: str
    seeds: tuple[SeedShape, ...]
    sealed: bool
    throws: int
    throws_max: int
    last_key: str | None
    root: str | None


class Ended(Model):
    """Why a game ended without an outcome; ``seats`` are those that kept their seeds back."""

    reason: str
    seats: tuple[int, ...]


class ReceiptShape(Model):
    """The head of a log, signed: keep it, and nobody can rewrite the log behind your back."""

    v: Literal[1]
    game: str
    seq: int
    head: str
    key_id: str
    sig: str


class PublicKeyShape(Model):
    """A key that signs receipts, or that did (``retired``)."""

    key_id: str
    public_key: str
    retired: bool


class PublicKeys(Model):
    """What receipts are checked with."""

    protocol: Literal["fair-dice/1"]
    keys: tuple[PublicKeyShape, ...]


class SeriesShape(Model):
    """Which game of which series this is; ``tally`` is indexed by seat. ``next`` is the id of the
    rematch, once there is one."""

    id: str
    number: int
    tally: tuple[int, ...]
    next: str | None


class GameShape(Model):
    """A game as it is served. ``deadline`` is when it goes on without those it waits for: at a
    table with a clock, and while seeds are due."""

    id: str
    ruleset: RulesetKey
    options: Options
    status: Status
    version: int
    players: tuple[PlayerShape, ...]
    phase: str | None
    to_act: tuple[int, ...]
    state: State | None
    legal_actions: tuple[LegalActionShape, ...]
    outcome: OutcomeShape | None
    ended: Ended | None
    dice: DiceShape
    series: SeriesShape
    hotseat: bool
    visibility: Literal["public", "unlisted"]
    turn_seconds: int | None
    deadline: str | None
    created_at: str
    updated_at: str


class SeatToken(Model):
    """A token that acts for one seat; shown once."""

    seat: int
    token: str


class Tokens(Model):
    """The tokens of a new game; shown once."""

    host: str
    seats: tuple[SeatToken, ...]


class GameSummary(Model):
    """A game as lists show it."""

    id: str
    ruleset: RulesetKey
    status: Status
    version: int
    players: tuple[ListedPlayer, ...]
    open_seats: int
    outcome: OutcomeShape | None
    seed_mode: SeedMode
    hotseat: bool
    turn_seconds: int | None
    series: SeriesShape
    created_at: str
    updated_at: str


class Created(Model):
    """A new game and its tokens."""

    game: GameShape
    tokens: Tokens
    receipt: ReceiptShape | None


class Seated(Model):
    """The game with the seat taken, and the seat's token."""

    game: GameShape
    seat: int
    token: str
    receipt: ReceiptShape | None


class Changed(Model):
    """The caller's own entry (null if the log has none of it), and the game after everything that
    followed from it."""

    entry: EntryShape | None
    game: GameShape
    receipt: ReceiptShape | None


class Rematched(Model):
    """The next game of the series; tokens stay what they were."""

    game: GameShape
    receipt: ReceiptShape | None


class Games(Model):
    """One page of games, newest first."""

    games: tuple[GameSummary, ...]
    next_cursor: str | None


class TurnShape(Model):
    """A game that waits for the caller: for these seats, null for what a host does for the
    table."""

    game: GameShape
    seats: tuple[int | None, ...]


class Turns(Model):
    """The games that wait for the caller."""

    turns: tuple[TurnShape, ...]


class LogPage(Model):
    """One page of a log; ``next_cursor`` is the next page's ``after``."""

    entries: tuple[EntryShape, ...]
    next_cursor: str | None


class AuditRecord(Model):
    """Everything that a verifier needs, as one file: ``log`` holds the stored lines as text."""

    protocol: Literal["fair-dice/1"]
    game: str
    status: Status
    log: tuple[str, ...]
    public_keys: tuple[str, ...]
    receipt: ReceiptShape


class CheckShape(Model):
    """One check of an audit."""

    name: str
    result: Literal["passed", "failed", "not reached"]


class FailureShape(Model):
    """The first fault; ``seq`` is its entry (null: the record around the log)."""

    seq: int | None
    code: str
    detail: str


class ThrownShape(Model):
    """One throw as the log shows it, and whether its key gives the same faces."""

    seq: int
    throw: int
    seat: int | None
    dice: tuple[str, ...]
    faces: tuple[int | str, ...]
    ok: bool


class AuditReport(Model):
    """What an audit came to; ``entries``, ``throws`` and ``head`` tell how far it could read."""

    ok: bool
    status: str
    game: str | None
    entries: int
    throws: int
    head: str
    checks: tuple[CheckShape, ...]
    failure: FailureShape | None
    notes: tuple[str, ...]
    thrown: tuple[ThrownShape, ...]


class SeriesPage(Model):
    """A series: its running tally and one page of its games, in order."""

    id: str
    tally: tuple[int, ...]
    games: tuple[GameSummary, ...]
    next_cursor: str | None


class FieldProblem(Model):
    """One wrong field: where it is, as a JSON Pointer into the body (``query:name`` and
    ``header:Name`` elsewhere), a stable code, and what is wrong with it."""

    pointer: str
    code: str
    detail: str


class Problem(Model):
    """RFC 9457; members below ``detail`` come with some codes only (see ``/problems/{code}``)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: tuple[FieldProblem, ...] = Field((), description="invalid_input: every wrong field.")
    reason: str | None = Field(None, description="What exactly was refused: a stable code.")
    version: int | None = Field(
        None, description="stale_version, version_not_found: the version now."
    )
    entries: tuple[EntryShape, ...] = Field((), description="stale_version: the entries missed.")
    legal_actions: tuple[LegalActionShape, ...] = Field((), description="What may be done now.")
    to_act: tuple[int, ...] = Field((), description="not_your_turn: whom the game waits for.")
    seats: tuple[int, ...] = Field(
        (), description="seats_open: the seats that are open; seeds_missing: whose seed is missing."
    )
    sealed: bool | None = Field(None, description="seeds_missing: whether the roster is closed.")
    game: str | GameShape | None = Field(
        None, description="rematch_exists: the id of the rematch; turn_expired: the game now."
    )
    limit: int | None = Field(None, description="body_too_large: the most bytes that are read.")
