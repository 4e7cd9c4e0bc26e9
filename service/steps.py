"""The steps of a game: its life cycle and its actions. Pure.

    waiting ── start ──▶ playing ── the rules end it ──▶ finished
       │                    └────── nobody plays on ───▶ abandoned
       └── void

Every step takes a game and gives the next one with the log lines that lead there. A step that is
refused raises, and nothing has happened.
"""

from typing import Any, NamedTuple

from service.clock import ABSENCES, late_action
from service.dice import Cup, KeyChain, client_commit, context
from service.errors import (
    GameNotOver,
    GameNotStarted,
    GameOver,
    GameStarted,
    IllegalAction,
    NotYourTurn,
    SeatNotFound,
    SeatsOpen,
    SeatTaken,
    SeedRefused,
    SeedsMissing,
    ThrowsExhausted,
)
from service.game import (
    GOING,
    Changes,
    Game,
    Player,
    SeedMode,
    Setup,
    acted,
    after,
    changes_of,
    clock_moved,
    created,
)
from service.log import NO_HASH, Entry, EntryType
from service.rules.base import Action, Event, Outcome, Resign, Ruleset
from service.schema import fields_of


class Step(NamedTuple):
    """The next game and the log lines, at least one, that lead to it."""

    game: Game
    lines: tuple[bytes, ...]

    def then(self, other: "Step") -> "Step":
        """Both steps as one."""
        return Step(other.game, self.lines + other.lines)


def create(
    game_id: str,
    ruleset: Ruleset[Any, Any, Any],
    options: Any,
    seats: int,
    seed_mode: SeedMode,
    chain: KeyChain,
    at: int,
    turn_seconds: int | None = None,
) -> Step:
    """A new game with all seats open. ``chain`` has ``ruleset.throws_max`` keys; with
    ``turn_seconds`` the table has a clock."""
    setup = Setup(
        ruleset,
        options,
        seats,
        seed_mode,
        chain.commitment,
        chain.length,
        ruleset.dice(options, seats),
        turn_seconds,
    )
    root = chain.root.hex() if seed_mode == "practice" else None
    data = {**setup.to_json(), "root": root}
    entry = Entry(game_id, 0, NO_HASH, at, "created", data)
    return _written(created(entry), entry, {})


def join(game: Game, seat: int, player: Player, at: int) -> Step:
    """A player takes an open seat; what they saw is the commitment.

    Raises SeedRefused where the player's commit or seed does not fit the game's seed mode.
    """
    _require_unsealed(game)
    if game.players[seat] is not None:
        raise SeatTaken
    _require_fitting_seed(game, player)
    saw = {"seat": seat, "saw": game.setup.commitment.hex()}
    return _next(game, at, "joined", player.to_json() | saw)


def _require_fitting_seed(game: Game, player: Player) -> None:
    mode = game.setup.seed_mode
    if (player.seed is not None and mode != "open") or (
        player.commit is not None and mode != "sealed"
    ):
        raise SeedRefused("not_in_seed_mode")
    if player.seed is not None and game.seeds():
        # Whoever gives a seed last chooses the dice together with the operator.
        raise SeedRefused("second_seed")
    if mode == "open" and len(game.open_seats()) == 1 and not (player.seed or game.seeds()):
        raise SeedRefused("seed_missing")
    known = {other.commit for other in game.players if other is not None and other.commit}
    if player.commit in known:
        raise SeedRefused("copied_commit")


def leave(game: Game, seat: int, at: int) -> Step:
    """A seat becomes open again. In mode ``open`` the seat that gave its seed can't be left."""
    _require_unsealed(game)
    if game.players[seat] is None:
        raise SeatNotFound
    if seat in game.seeds():
        raise SeedRefused("seed_given")
    return _next(game, at, "left", {"seat": seat})


def seal(game: Game, at: int) -> Step:
    """Mode ``sealed``: the roster is complete, and the seeds committed to may be revealed."""
    _require_unsealed(game)
    if game.setup.seed_mode != "sealed":
        raise SeedRefused("not_in_seed_mode")
    if game.open_seats():
        raise SeatsOpen(seats=list(game.open_seats()))
    if not game.unrevealed():
        raise SeedRefused("no_commit")
    return _next(game, at, "sealed", {"seats": game.setup.seats})


def reveal(game: Game, seat: int, seed: bytes, at: int) -> Step:
    """A seat shows the seed that it has committed to."""
    require_waiting(game)
    player = game.players[seat]
    if not game.sealed or player is None or player.commit is None:
        raise SeedRefused("not_sealed" if not game.sealed else "no_commit")
    if player.seed is not None:
        raise SeedRefused("seed_given")
    if client_commit(game.id, seed) != player.commit:
        raise SeedRefused("not_the_seed")
    return _next(game, at, "seed_revealed", {"seat": seat, "seed": seed.hex()})


def ready(game: Game) -> bool:
    """Whether the game can start: every seat is taken and every seed that is due is public."""
    if game.status != "waiting" or game.open_seats() or game.unrevealed():
        return False
    return game.sealed or game.setup.seed_mode != "sealed"


def start(game: Game, chain: KeyChain, at: int) -> Step:
    """The game starts, and the table does what the ruleset opens with (a roll-off)."""
    require_waiting(game)
    if game.open_seats():
        raise SeatsOpen(seats=list(game.open_seats()))
    if not ready(game):
        raise SeedsMissing(seats=list(game.unrevealed()), sealed=game.sealed)
    bound = context(game.id, game.setup.commitment, game.seeds())
    step = _next(game, at, "started", {"context": bound.hex()})
    opening = game.ruleset.opening(step.game.state)
    return step if opening is None else step.then(_do(step.game, None, opening, chain, at))


def void(game: Game, chain: KeyChain, at: int, reason: str) -> Step:
    """The game ends before it has started; its root is revealed.

    ``unrevealed`` of the game after it names the seats that kept their seeds back.
    """
    require_waiting(game)
    return _next(game, at, "void", {"reason": reason, "root": chain.root.hex()})


def abandon(game: Game, chain: KeyChain, at: int, reason: str) -> Step:
    """A started game ends without an outcome; its root is revealed."""
    require_playing(game)
    return _next(game, at, "abandoned", {"reason": reason, "root": chain.root.hex()})


def act(game: Game, seat: int | None, action: Action, chain: KeyChain, at: int) -> Step:
    """One action of a seat. Raises NotYourTurn or IllegalAction, and then nothing has changed.

    When too few keys are left the action is not made: the game ends on its current scores.
    """
    require_playing(game)
    require_legal(game, seat, action)
    return _do(game, seat, action, chain, at)


def run_out(game: Game, chain: KeyChain, at: int) -> Step:
    """The deadline has passed: the table acts for every seat that it still waits for, and resigns
    for one that has been late too often in a row. What follows is timed from ``at`` on.

    One deadline at a time: however long nobody has looked, nobody is late more than once.
    """
    require_playing(game)
    deadline = game.deadline
    if deadline is None or at < deadline:
        raise ValueError("nobody is late")
    step = Step(game, ())
    while step.game.deadline == deadline:
        late = game.ruleset.clocked(step.game.state)[0]
        default = game.ruleset.default_action(step.game.state, late)
        step = step.then(_do(step.game, late, default, chain, at, late=True))
        gone = absent(step.game)
        if gone is not None:
            step = step.then(_do(step.game, gone, Resign(kind="resign"), chain, at, late=True))
    return step


def absent(game: Game) -> int | None:
    """The seat for which the table has to resign now."""
    if game.clock is None or game.status != "playing":
        return None
    for seat, missed in enumerate(game.clock.missed):
        if missed >= ABSENCES and game.ruleset.can_resign(game.state, seat):
            return seat
    return None


def require_playing(game: Game) -> None:
    """Raises GameNotStarted or GameOver unless the game is being played."""
    if game.status == "waiting":
        raise GameNotStarted
    if game.status != "playing":
        raise GameOver


def require_over(game: Game) -> None:
    """Raises GameNotOver while the game can still be played."""
    if game.status in GOING:
        raise GameNotOver


def require_waiting(game: Game) -> None:
    """Raises GameStarted or GameOver once seats and players are fixed."""
    if game.status == "playing":
        raise GameStarted
    if game.status != "waiting":
        raise GameOver


def _require_unsealed(game: Game) -> None:
    require_waiting(game)
    if game.sealed:
        raise SeedRefused("sealed")


def require_legal(game: Game, seat: int | None, action: Action) -> None:
    """Raises NotYourTurn or IllegalAction unless the rules let this seat do this now."""
    ruleset, legal = game.ruleset, game.legal()
    if action.kind == "resign":
        if seat is not None and ruleset.can_resign(game.state, seat):
            return
        raise IllegalAction("out_of_the_game", legal_actions=[])
    for allowed in legal:
        if allowed.admits(seat, action):
            return
    mine = [allowed.to_json() for allowed in legal if allowed.seat == seat]
    if not mine and seat is not None:
        raise NotYourTurn(to_act=list(game.to_act()))
    raise IllegalAction(ruleset.refusal(game.state, seat, action), legal_actions=mine)


def _do(
    game: Game, seat: int | None, action: Action, chain: KeyChain, at: int, *, late: bool = False
) -> Step:
    """One legal action, and the end of the game if it ends with it; ``late``: by the table."""
    if game.context is None:
        raise ValueError("a started game has its context")
    ruleset = game.ruleset
    cup = Cup(chain, game.context, game.throws, game.setup.dice)
    try:
        events, state = ruleset.play(game.state, seat, action, cup)
    except ThrowsExhausted:
        return _finish(game, ruleset.exhausted(game.state), chain, at)
    asked = late_action(action, seat) if late else fields_of(action)
    data: dict[str, Any] = {
        "seat": None if late else seat,
        "action": asked,
        "throws": [throw.to_json() for throw in cup.throws],
        "events": [event_json(event) for event in events],
    }
    entry = _entry(game, at, "acted", data)
    changes = acted(state, cup.throws)
    if game.clock is not None:
        changes |= clock_moved(game, data["seat"], asked, state, entry.at)
    step = _written(game, entry, changes)
    outcome = ruleset.outcome(step.game.state)
    return step if outcome is None else step.then(_finish(step.game, outcome, chain, at))


def event_json(event: Event) -> dict[str, Any]:
    """An event as an ``acted`` entry holds it; no event has models inside."""
    return {name: value for name, value in fields_of(event).items() if value is not None}


def _finish(game: Game, outcome: Outcome, chain: KeyChain, at: int) -> Step:
    data = {"outcome": outcome.to_json(), "root": chain.root.hex()}
    return _next(game, at, "finished", data)


def _entry(game: Game, at: int, kind: EntryType, data: dict[str, Any]) -> Entry:
    return Entry(game.id, game.version + 1, game.head, max(at, game.at), kind, data)


def _next(game: Game, at: int, kind: EntryType, data: dict[str, Any]) -> Step:
    entry = _entry(game, at, kind, data)
    return _written(game, entry, changes_of(game, entry))


def _written(game: Game, entry: Entry, changes: Changes) -> Step:
    line = entry.line()
    return Step(after(game, entry, line, changes), (line,))
