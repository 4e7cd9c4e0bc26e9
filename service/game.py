"""A game as a value, and its log folded into it. Pure.

The log is the truth: folding its entries gives the game, and the snapshot (``dump``) is a cache of
that, so that nobody needs to fold a long log to read or to act. ``steps`` makes new entries.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from pydantic import TypeAdapter

from service import clock, rules
from service.clock import Clock
from service.dice import Die, Throw
from service.log import NO_HASH, Entry, entry_hash
from service.rules.base import LegalAction, Outcome, Ruleset
from service.values import bytes_or_none, changed, hex_or_none

Status: TypeAlias = Literal["waiting", "playing", "finished", "abandoned", "void"]
GOING: Final = ("waiting", "playing")
"""The statuses of a game that has not ended."""
ENDED: Final = ("finished", "abandoned", "void")
"""And of one that has."""
Changes: TypeAlias = dict[str, Any]
SeedMode: TypeAlias = Literal["operator", "practice", "open", "sealed"]

_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


@dataclass(frozen=True, slots=True)
class Player:
    """Who holds a seat, as the log knows it: ``who`` binds a name without telling it.

    ``commit`` binds a seed that is revealed later (mode ``sealed``), ``seed`` is the player's part
    in the dice once it is public.
    """

    kind: Literal["human", "bot"]
    who: str | None
    commit: bytes | None = None
    seed: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """As the ``joined`` entry and the snapshot hold it."""
        return {
            "kind": self.kind,
            "who": self.who,
            "commit": hex_or_none(self.commit),
            "seed": hex_or_none(self.seed),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Player":
        """The player that ``to_json`` gave, among other members."""
        commit, seed = bytes_or_none(data["commit"]), bytes_or_none(data["seed"])
        return cls(data["kind"], data["who"], commit, seed)


@dataclass(frozen=True, slots=True)
class Setup:
    """What is fixed when a game is created; ``to_json`` is the heart of its first entry.

    ``turn_seconds`` is how long the table waits for a seat, null where it has no clock.
    """

    ruleset: Ruleset[Any, Any, Any]
    options: Any
    seats: int
    seed_mode: SeedMode
    commitment: bytes
    throws_max: int
    dice: Mapping[str, Die]
    turn_seconds: int | None = None
    options_json: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Every answer shows the options; they never change.
        object.__setattr__(self, "options_json", self.options.model_dump(mode="json"))

    def to_json(self) -> dict[str, Any]:
        """As the ``created`` entry and the snapshot hold it."""
        timed = {} if self.turn_seconds is None else {"turn_seconds": self.turn_seconds}
        return {
            "commitment": self.commitment.hex(),
            "throws_max": self.throws_max,
            "seed_mode": self.seed_mode,
            "ruleset": {"key": self.ruleset.key, "version": self.ruleset.version},
            "options": self.options_json,
            "seats": self.seats,
            "dice": {name: die.to_json() for name, die in self.dice.items()},
            **timed,
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
            turn_seconds=data.get("turn_seconds"),
        )


def tallied(before: Sequence[int], setup: Setup, outcome: Outcome) -> tuple[int, ...]:
    """The running tally of a series after a game with this outcome."""
    own = setup.ruleset.tally(setup.options, outcome)
    return tuple(held + more for held, more in zip(before, own, strict=True))


@dataclass(frozen=True)
class Game:
    """A game after its entry ``version``; ``head`` is the hash of that entry's line.

    ``throws`` counts the throws made, ``last_key`` is the key published last (the commitment
    before the first throw), ``root`` is null until it is revealed. ``state`` is the ruleset's,
    and null before the start. ``clock`` is null in a game without one.
    """

    id: str
    setup: Setup
    version: int
    head: bytes
    at: int
    status: Status
    players: tuple[Player | None, ...]
    sealed: bool
    context: bytes | None
    throws: int
    last_key: bytes
    root: bytes | None
    state: Any
    outcome: Outcome | None
    reason: str | None
    clock: Clock | None = None

    @property
    def deadline(self) -> int | None:
        """When the table stops waiting for the seats that are to act, if it ever does."""
        return None if self.clock is None else self.clock.deadline

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

    def seeds(self) -> dict[int, bytes]:
        """The players' seeds that are public, by seat."""
        return {
            seat: player.seed
            for seat, player in enumerate(self.players)
            if player is not None and player.seed is not None
        }

    def unrevealed(self) -> tuple[int, ...]:
        """The seats that have committed to a seed and not shown it."""
        return tuple(
            seat
            for seat, player in enumerate(self.players)
            if player is not None and player.commit is not None and player.seed is None
        )


# --- folding the log ----------------------------------------------------------------------------


def fold(game: Game | None, entry: Entry, line: bytes) -> Game:
    """The game after one more entry, whose line is given too.

    Raises ValueError, LookupError, TypeError or a CubileteError for an entry that can't follow.
    """
    if (entry.seq, entry.prev) != ((0, NO_HASH) if game is None else (game.version + 1, game.head)):
        raise ValueError("it does not follow the entry before")
    if game is None:
        return after(created(entry), entry, line, {})
    return after(game, entry, line, changes_of(game, entry))


def after(game: Game, entry: Entry, line: bytes, changes: Changes) -> Game:
    """The game at the version of ``entry``, with what the entry changes of it."""
    return changed(game, version=entry.seq, head=entry_hash(line), at=entry.at, **changes)


def created(entry: Entry) -> Game:
    """The game of a first entry."""
    if entry.type != "created":
        raise ValueError("a log begins with created")
    setup = Setup.from_json(entry.data)
    if not setup.ruleset.min_seats <= setup.seats <= setup.ruleset.max_seats:
        raise ValueError("not a count of seats of this ruleset")
    return Game(
        id=entry.game,
        setup=setup,
        version=0,
        head=NO_HASH,
        at=entry.at,
        status="waiting",
        players=(None,) * setup.seats,
        sealed=False,
        context=None,
        throws=0,
        last_key=setup.commitment,
        root=bytes_or_none(entry.data["root"]),
        state=None,
        outcome=None,
        reason=None,
    )


def changes_of(game: Game, entry: Entry) -> Changes:
    """What an entry changes of the game besides its version."""
    data = entry.data
    match entry.type:
        case "joined":
            return _seated(game, data["seat"], Player.from_json(data))
        case "left":
            return _seated(game, data["seat"], None)
        case "sealed":
            return {"sealed": True}
        case "seed_revealed":
            player = game.players[data["seat"]]
            if player is None:
                raise ValueError("nobody sits there")
            revealed = replace(player, seed=bytes.fromhex(data["seed"]))
            return _seated(game, data["seat"], revealed)
        case "started":
            state = game.ruleset.start(game.setup.options, game.setup.seats)
            bound = bytes.fromhex(data["context"])
            begun = {"status": "playing", "context": bound, "state": state}
            return begun | _clock_started(game, state, entry.at)
        case "acted":
            state = _folded(game, data["events"])
            changes = acted(state, [_throw(made) for made in data["throws"]])
            return changes | clock_moved(game, data["seat"], data["action"], state, entry.at)
        case "finished":
            outcome = _OUTCOME.validate_json(json.dumps(data["outcome"]))
            root = bytes.fromhex(data["root"])
            ended = {"status": "finished", "outcome": outcome, "root": root}
            return ended | _clock_stopped(game)
        case "abandoned" | "void":
            root = bytes.fromhex(data["root"])
            ended = {"status": entry.type, "reason": data["reason"], "root": root}
            return ended | _clock_stopped(game)
    raise ValueError("created twice")


def _seated(game: Game, seat: int, player: Player | None) -> Changes:
    return {"players": (*game.players[:seat], player, *game.players[seat + 1 :])}


def _folded(game: Game, events: Sequence[Mapping[str, Any]]) -> Any:
    """The state after the events of an entry."""
    state = game.state
    for event in events:
        state = game.ruleset.apply(state, game.ruleset.parse_event(event))
    return state


def acted(state: Any, throws: Sequence[Throw]) -> Changes:
    """What one action changes: the state it leads to, and what its throws have used up."""
    if not throws:
        return {"state": state}
    return {"state": state, "throws": throws[-1].number, "last_key": throws[-1].key}


def _clock_started(game: Game, state: Any, at: int) -> Changes:
    turn_seconds, seats = game.setup.turn_seconds, game.setup.seats
    if turn_seconds is None:
        return {}
    return {"clock": clock.started(game.ruleset, state, turn_seconds, seats, at)}


def clock_moved(
    game: Game, seat: int | None, action: Mapping[str, Any], state: Any, at: int
) -> Changes:
    """What an ``acted`` entry with this seat and action, which leads to ``state``, changes of the
    game's clock."""
    if game.clock is None or game.setup.turn_seconds is None:
        return {}
    late = clock.is_late(seat, action)
    actor = clock.late_seat(action) if late else seat
    done = clock.Done(actor, action["kind"], late, game.state, state)
    return {"clock": clock.moved(game.clock, game.ruleset, game.setup.turn_seconds, done, at)}


def _clock_stopped(game: Game) -> Changes:
    return {} if game.clock is None else {"clock": replace(game.clock, deadline=None)}


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
    """The game as JSON values, but for its id and setup, which never change: what is stored beside
    the log so that nobody needs to fold it."""
    return {
        "version": game.version,
        "head": game.head.hex(),
        "at": game.at,
        "status": game.status,
        "players": [None if player is None else player.to_json() for player in game.players],
        "sealed": game.sealed,
        "context": hex_or_none(game.context),
        "throws": game.throws,
        "last_key": game.last_key.hex(),
        "root": hex_or_none(game.root),
        "state": None if game.state is None else game.ruleset.dump(game.state),
        "outcome": None if game.outcome is None else game.outcome.to_json(),
        "reason": game.reason,
        **({} if game.clock is None else {"clock": asdict(game.clock)}),
    }


def load(game_id: str, setup: Setup, dumped: Mapping[str, Any]) -> Game:
    """The game that ``dump`` gave."""
    outcome, state = dumped["outcome"], dumped["state"]
    return Game(
        id=game_id,
        setup=setup,
        version=dumped["version"],
        head=bytes.fromhex(dumped["head"]),
        at=dumped["at"],
        status=dumped["status"],
        players=tuple(
            None if player is None else Player.from_json(player) for player in dumped["players"]
        ),
        sealed=dumped["sealed"],
        context=bytes_or_none(dumped["context"]),
        throws=dumped["throws"],
        last_key=bytes.fromhex(dumped["last_key"]),
        root=bytes_or_none(dumped["root"]),
        state=None if state is None else setup.ruleset.load(state),
        outcome=None if outcome is None else _OUTCOME.validate_json(json.dumps(outcome)),
        reason=dumped["reason"],
        clock=_load_clock(dumped.get("clock")),
    )


def _load_clock(dumped: Mapping[str, Any] | None) -> Clock | None:
    return None if dumped is None else Clock(dumped["deadline"], tuple(dumped["missed"]))
