"""A game as a value: its life cycle, its actions, and its log folded back into a game. Pure.

    waiting ── start ──▶ playing ── the rules end it ──▶ finished
       │                    └────── nobody plays on ───▶ abandoned
       └── void

Every step takes a game and gives the next one with the log lines that lead there. The log is the
truth: ``replay`` of the lines gives the same game, and ``audit`` checks that the rules, given the
throws, make of each action just what its entry says.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from service import rules
from service.dice import Cup, Die, Face, KeyChain, Throw, context
from service.errors import (
    CubileteError,
    GameNotOver,
    GameNotStarted,
    GameOver,
    GameStarted,
    IllegalAction,
    NotYourTurn,
    SeatsOpen,
    SeatTaken,
    ThrowsExhausted,
)
from service.log import NO_HASH, Entry, EntryType, entry_hash, parse
from service.rules.base import (
    Action,
    Event,
    LegalAction,
    Outcome,
    Resign,
    Ruleset,
    SeatAction,
    TableAction,
)

Status: TypeAlias = Literal["waiting", "playing", "finished", "abandoned", "void"]
SeedMode: TypeAlias = Literal["operator", "practice"]

_ACTIONS: TypeAdapter[Action] = TypeAdapter(SeatAction)
_TABLE_ACTIONS: TypeAdapter[Action] = TypeAdapter(TableAction)
_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


@dataclass(frozen=True, slots=True)
class Player:
    """Who holds a seat, as the log knows it: ``who`` binds a name without telling it."""

    kind: Literal["human", "bot"]
    who: str | None


@dataclass(frozen=True, slots=True)
class Setup:
    """What is fixed when a game is created; ``to_json`` is the heart of its first entry."""

    ruleset: Ruleset[Any, Any, Any]
    options: Any
    seats: int
    seed_mode: SeedMode
    commitment: bytes
    throws_max: int
    dice: Mapping[str, Die]

    def to_json(self) -> dict[str, Any]:
        """As the ``created`` entry and the snapshot hold it."""
        return {
            "commitment": self.commitment.hex(),
            "throws_max": self.throws_max,
            "seed_mode": self.seed_mode,
            "ruleset": {"key": self.ruleset.key, "version": self.ruleset.version},
            "options": self.options.model_dump(mode="json"),
            "seats": self.seats,
            "dice": {name: die.to_json() for name, die in self.dice.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Setup":
        """The setup that ``to_json`` gave; raises an error of any kind if it is none."""
        ruleset = rules.ruleset(data["ruleset"]["key"], data["ruleset"]["version"])
        return cls(
            ruleset=ruleset,
            options=ruleset.load_options(data["options"]),
            seats=data["seats"],
            seed_mode=data["seed_mode"],
            commitment=bytes.fromhex(data["commitment"]),
            throws_max=data["throws_max"],
            dice={
                name: Die(tuple(die["faces"]), tuple(die["weights"]))
                for name, die in data["dice"].items()
            },
        )


@dataclass(frozen=True, slots=True)
class Game:
    """A game after its entry ``version``; ``head`` is the hash of that entry's line.

    ``throws`` counts the throws made, ``last_key`` is the key published last (the commitment
    before the first throw), ``root`` is null until it is revealed. ``state`` is the ruleset's,
    and null before the start.
    """

    id: str
    setup: Setup
    version: int
    head: bytes
    at: int
    status: Status
    players: tuple[Player | None, ...]
    context: bytes | None
    throws: int
    last_key: bytes
    root: bytes | None
    state: Any
    outcome: Outcome | None
    reason: str | None

    @property
    def ruleset(self) -> Ruleset[Any, Any, Any]:
        """The rules in force, in the version that the game was created with."""
        return self.setup.ruleset

    def legal(self) -> tuple[LegalAction, ...]:
        """Every action that may be taken now, for every seat."""
        return self.ruleset.legal(self.state) if self.status == "playing" else ()

    def to_act(self) -> tuple[int, ...]:
        """The seats that the game waits for."""
        return self.ruleset.to_act(self.state) if self.status == "playing" else ()

    def open_seats(self) -> tuple[int, ...]:
        """The seats that nobody holds yet."""
        return tuple(seat for seat, player in enumerate(self.players) if player is None)


@dataclass(frozen=True, slots=True)
class Step:
    """The next game and the log lines, at least one, that lead to it."""

    game: Game
    lines: tuple[bytes, ...]

    def then(self, other: "Step") -> "Step":
        """Both steps as one."""
        return Step(other.game, self.lines + other.lines)


# --- steps --------------------------------------------------------------------------------------


def create(
    game_id: str,
    ruleset: Ruleset[Any, Any, Any],
    options: Any,
    seats: int,
    seed_mode: SeedMode,
    chain: KeyChain,
    at: int,
) -> Step:
    """A new game with all seats open. ``chain`` has ``ruleset.throws_max`` keys."""
    setup = Setup(
        ruleset,
        options,
        seats,
        seed_mode,
        chain.commitment,
        chain.length,
        ruleset.dice(options, seats),
    )
    root = chain.root.hex() if seed_mode == "practice" else None
    data = {**setup.to_json(), "root": root}
    entry = Entry(game_id, 0, NO_HASH, at, "created", data)
    return _written(_created(entry), entry)


def join(game: Game, seat: int, player: Player, at: int) -> Step:
    """A player takes an open seat; what they saw is the commitment."""
    require_waiting(game)
    if game.players[seat] is not None:
        raise SeatTaken
    data = {
        "seat": seat,
        "kind": player.kind,
        "who": player.who,
        "saw": game.setup.commitment.hex(),
        "commit": None,
        "seed": None,
    }
    return _next(game, at, "joined", data)


def leave(game: Game, seat: int, at: int) -> Step:
    """A seat becomes open again."""
    require_waiting(game)
    return _next(game, at, "left", {"seat": seat})


def start(game: Game, chain: KeyChain, at: int) -> Step:
    """The game starts, and the table does what the ruleset opens with (a roll-off)."""
    require_waiting(game)
    if game.open_seats():
        raise SeatsOpen(seats=list(game.open_seats()))
    bound = context(game.id, game.setup.commitment, {})
    step = _next(game, at, "started", {"context": bound.hex()})
    opening = game.ruleset.opening(step.game.state)
    return step if opening is None else step.then(_do(step.game, None, opening, chain, at))


def void(game: Game, chain: KeyChain, at: int, reason: str) -> Step:
    """The game ends before it has started; its root is revealed."""
    require_waiting(game)
    return _next(game, at, "void", {"reason": reason, "root": chain.root.hex()})


def act(game: Game, seat: int | None, action: Action, chain: KeyChain, at: int) -> Step:
    """One action of a seat. Raises NotYourTurn or IllegalAction, and then nothing has changed.

    When too few keys are left the action is not made: the game ends on its current scores.
    """
    require_playing(game)
    _require_legal(game, seat, action)
    return _do(game, seat, action, chain, at)


def require_playing(game: Game) -> None:
    """Raises GameNotStarted or GameOver unless the game is being played."""
    if game.status == "waiting":
        raise GameNotStarted
    if game.status != "playing":
        raise GameOver


def require_over(game: Game) -> None:
    """Raises GameNotOver while the game can still be played."""
    if game.status in ("waiting", "playing"):
        raise GameNotOver


def require_waiting(game: Game) -> None:
    """Raises GameStarted or GameOver once seats and players are fixed."""
    if game.status == "playing":
        raise GameStarted
    if game.status != "waiting":
        raise GameOver


def _require_legal(game: Game, seat: int | None, action: Action) -> None:
    ruleset, legal = game.ruleset, game.legal()
    if isinstance(action, Resign):
        if seat is not None and ruleset.can_resign(game.state, seat):
            return
        raise IllegalAction("out_of_the_game")
    if any(allowed.admits(seat, action) for allowed in legal):
        return
    mine = [allowed.to_json() for allowed in legal if allowed.seat == seat]
    if not mine:
        raise NotYourTurn(to_act=list(game.to_act()))
    raise IllegalAction(ruleset.refusal(game.state, seat, action), legal_actions=mine)


def _do(game: Game, seat: int | None, action: Action, chain: KeyChain, at: int) -> Step:
    """One legal action, and the end of the game if it ends with it."""
    assert game.context is not None
    ruleset = game.ruleset
    cup = Cup(chain, game.context, game.throws, game.setup.dice)
    try:
        events = tuple(ruleset.decide(game.state, seat, action, cup))
    except ThrowsExhausted:
        return _finish(game, ruleset.exhausted(game.state), chain, at)
    data = {
        "seat": seat,
        "action": action.model_dump(mode="json"),
        "throws": [throw.to_json() for throw in cup.throws],
        "events": [_event_json(event) for event in events],
    }
    entry = _entry(game, at, "acted", data)
    step = _written(_acted(game, cup.throws, events), entry)
    outcome = ruleset.outcome(step.game.state)
    return step if outcome is None else step.then(_finish(step.game, outcome, chain, at))


def _event_json(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json", exclude_none=True)


def _finish(game: Game, outcome: Outcome, chain: KeyChain, at: int) -> Step:
    data = {"outcome": outcome.to_json(), "root": chain.root.hex()}
    return _next(game, at, "finished", data)


def _entry(game: Game, at: int, kind: EntryType, data: dict[str, Any]) -> Entry:
    return Entry(game.id, game.version + 1, game.head, max(at, game.at), kind, data)


def _next(game: Game, at: int, kind: EntryType, data: dict[str, Any]) -> Step:
    entry = _entry(game, at, kind, data)
    return _written(_fold(game, entry), entry)


def _written(folded: Game, entry: Entry) -> Step:
    line = entry.line()
    return Step(replace(folded, version=entry.seq, head=entry_hash(line), at=entry.at), (line,))


# --- folding the log ----------------------------------------------------------------------------


class NotReplayable(CubileteError):
    """A log that does not fold: its entries contradict each other. ``seq`` is the first fault."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"entry {seq}: {why}")
        self.seq = seq


def replay(lines: Iterable[bytes]) -> Game:
    """The game that a log leads to; raises NotReplayable. Dice are checked by ``verify``."""
    game: Game | None = None
    for game in _games(lines):
        pass
    if game is None:
        raise NotReplayable(0, "there is none")
    return game


def _games(lines: Iterable[bytes]) -> Iterator[Game]:
    """The game after each line."""
    game: Game | None = None
    for seq, line in enumerate(lines):
        try:
            entry = parse(line)
            if (entry.seq, entry.prev) != (seq, NO_HASH if game is None else game.head):
                raise ValueError("it does not follow the entry before")
            folded = _created(entry) if game is None else _fold(game, entry)
        except (ValueError, LookupError, TypeError, CubileteError) as error:
            raise NotReplayable(seq, str(error)) from error
        game = replace(folded, version=seq, head=entry_hash(line), at=entry.at)
        yield game


def audit(lines: Sequence[bytes]) -> Game:
    """Replays a log and lets the rules decide each action again from its recorded throws.

    Returns the game; raises NotReplayable where an action was not legal, or where events, opening
    or outcome are not what the rules make of it. Keys and faces are for ``verify`` to check.
    """
    before: Game | None = None
    opening_due = False
    for game, line in zip(_games(lines), lines, strict=True):
        entry = parse(line)
        try:
            if entry.type == "acted":
                _audit_action(_expect(before), entry, opening_due)
            elif entry.type == "finished":
                _audit_outcome(_expect(before), entry)
            elif opening_due:
                raise ValueError("the table's opening is missing")
        except (ValueError, LookupError, TypeError, CubileteError) as error:
            raise NotReplayable(entry.seq, str(error)) from error
        opening_due = entry.type == "started" and game.ruleset.opening(game.state) is not None
        before = game
    return _expect(before)


def _expect(game: Game | None) -> Game:
    if game is None:
        raise ValueError("nothing is created yet")
    return game


def _audit_action(game: Game, entry: Entry, opening_due: bool) -> None:
    data = entry.data
    if opening_due:
        action: Action = _TABLE_ACTIONS.validate_json(json.dumps(data["action"]))
        if data["seat"] is not None or action != game.ruleset.opening(game.state):
            raise ValueError("not the opening of this ruleset")
    else:
        action = _ACTIONS.validate_json(json.dumps(data["action"]))
        _require_legal(game, data["seat"], action)
    recorded = RecordedDice(data["throws"])
    events = game.ruleset.decide(game.state, data["seat"], action, recorded)
    if [_event_json(event) for event in events] != data["events"]:
        raise ValueError("the rules make other events of this action")
    if recorded.left:
        raise ValueError("more throws than the rules ask for")


def _audit_outcome(game: Game, entry: Entry) -> None:
    expected = game.ruleset.outcome(game.state)
    if expected is None:
        expected = game.ruleset.exhausted(game.state)
    if expected.to_json() != entry.data["outcome"]:
        raise ValueError("the rules come to another outcome")


class RecordedDice:
    """Dice that show what a log's entry says they showed."""

    def __init__(self, throws: Sequence[Mapping[str, Any]]) -> None:
        self.left = list(throws)

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        """The next recorded throw; raises ValueError if it is not the one asked for."""
        if not self.left or (self.left[0]["seat"], self.left[0]["dice"]) != (seat, list(dice)):
            raise ValueError("the rules ask for another throw")
        return tuple(self.left.pop(0)["faces"])


def _created(entry: Entry) -> Game:
    if entry.type != "created":
        raise ValueError("a log begins with created")
    setup = Setup.from_json(entry.data)
    return Game(
        id=entry.game,
        setup=setup,
        version=0,
        head=NO_HASH,
        at=entry.at,
        status="waiting",
        players=(None,) * setup.seats,
        context=None,
        throws=0,
        last_key=setup.commitment,
        root=_bytes(entry.data["root"]),
        state=None,
        outcome=None,
        reason=None,
    )


def _fold(game: Game, entry: Entry) -> Game:
    data = entry.data
    match entry.type:
        case "joined":
            return _seated(game, data["seat"], Player(data["kind"], data["who"]))
        case "left":
            return _seated(game, data["seat"], None)
        case "started":
            state = game.ruleset.start(game.setup.options, game.setup.seats)
            bound = bytes.fromhex(data["context"])
            return replace(game, status="playing", context=bound, state=state)
        case "acted":
            events = [game.ruleset.parse_event(event) for event in data["events"]]
            return _acted(game, [_throw(made) for made in data["throws"]], events)
        case "finished":
            outcome = _OUTCOME.validate_json(json.dumps(data["outcome"]))
            return replace(
                game, status="finished", outcome=outcome, root=bytes.fromhex(data["root"])
            )
        case "abandoned" | "void":
            return replace(
                game,
                status=entry.type,
                reason=data["reason"],
                root=bytes.fromhex(data["root"]),
            )
    raise ValueError(f"no entry {entry.type} in seed mode {game.setup.seed_mode}")


def _seated(game: Game, seat: int, player: Player | None) -> Game:
    players = (*game.players[:seat], player, *game.players[seat + 1 :])
    return replace(game, players=players)


def _acted(game: Game, throws: Sequence[Throw], events: Iterable[Any]) -> Game:
    state = game.state
    for event in events:
        state = game.ruleset.apply(state, event)
    if not throws:
        return replace(game, state=state)
    return replace(game, state=state, throws=throws[-1].number, last_key=throws[-1].key)


def _throw(made: Mapping[str, Any]) -> Throw:
    return Throw(
        made["throw"],
        made["seat"],
        tuple(made["dice"]),
        tuple(made["faces"]),
        bytes.fromhex(made["key"]),
    )


# --- the snapshot -------------------------------------------------------------------------------


def dump(game: Game) -> dict[str, Any]:
    """The game as JSON values: what is stored beside the log so that nobody needs to fold it."""
    return {
        "id": game.id,
        "setup": game.setup.to_json(),
        "version": game.version,
        "head": game.head.hex(),
        "at": game.at,
        "status": game.status,
        "players": [None if player is None else asdict(player) for player in game.players],
        "context": _hex(game.context),
        "throws": game.throws,
        "last_key": game.last_key.hex(),
        "root": _hex(game.root),
        "state": None if game.state is None else game.ruleset.dump(game.state),
        "outcome": None if game.outcome is None else game.outcome.to_json(),
        "reason": game.reason,
    }


def load(dumped: Mapping[str, Any]) -> Game:
    """The game that ``dump`` gave."""
    setup = Setup.from_json(dumped["setup"])
    outcome, state = dumped["outcome"], dumped["state"]
    return Game(
        id=dumped["id"],
        setup=setup,
        version=dumped["version"],
        head=bytes.fromhex(dumped["head"]),
        at=dumped["at"],
        status=dumped["status"],
        players=tuple(None if player is None else Player(**player) for player in dumped["players"]),
        context=_bytes(dumped["context"]),
        throws=dumped["throws"],
        last_key=bytes.fromhex(dumped["last_key"]),
        root=_bytes(dumped["root"]),
        state=None if state is None else setup.ruleset.load(state),
        outcome=None if outcome is None else _OUTCOME.validate_json(json.dumps(outcome)),
        reason=dumped["reason"],
    )


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
