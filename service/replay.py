"""The log against the rules: replay folds it, audit decides every action again. Pure."""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from service.clock import (
    TURN_SECONDS_LEAST,
    TURN_SECONDS_MOST,
    is_late,
    late_action,
    late_seat,
)
from service.dice import Cup, Face, KeyChain
from service.errors import CubileteError, ThrowsExhausted
from service.game import Game, fold
from service.log import Entry, EntryType, canonical, parse
from service.rules.base import Action, Resign, SeatAction, TableAction
from service.steps import absent, event_json, require_legal

_ACTIONS: TypeAdapter[Action] = TypeAdapter(SeatAction)
_TABLE_ACTIONS: TypeAdapter[Action] = TypeAdapter(TableAction)


class NotReplayable(CubileteError):
    """A log that does not fold: its entries contradict each other. ``seq`` is the first fault
    and ``why`` its reason."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"entry {seq}: {why}")
        self.seq = seq
        self.why = why


def replay(lines: Iterable[bytes]) -> Game:
    """The game that a log leads to; raises NotReplayable. Dice are checked by ``verify``."""
    games = list(deque(_games(lines), maxlen=1))
    if not games:
        raise NotReplayable(0, "there is none")
    return games[0]


def _games(lines: Iterable[bytes]) -> Iterator[Game]:
    """The game after each line."""
    game: Game | None = None
    for seq, line in enumerate(lines):
        try:
            game = fold(game, parse(line), line)
        except (ValueError, LookupError, TypeError, CubileteError) as error:
            raise NotReplayable(seq, str(error)) from error
        yield game


def audit(lines: Sequence[bytes], *, any_length: bool = False) -> Game:
    """Replays a log and lets the rules decide each action again from its recorded throws.

    Returns the game; raises NotReplayable where dice or options are not the ruleset's, where the
    key chain is shorter than the ruleset's (whoever knows the root could end a game for want of
    throws where it suits; ``any_length`` lets that pass, for simulations), where an action was not
    legal, where events, opening or outcome are not what the rules make of it, and where a game
    does not end when it is decided, or ends for want of throws while there are some. Keys and
    faces are for ``verify`` to check.
    """
    before: Game | None = None
    due: EntryType | None = None
    for game, line in zip(_games(lines), lines, strict=True):
        entry = parse(line)
        try:
            if entry.type == "created":
                _audit_setup(game, entry.data["options"], any_length)
            else:
                _audit_entry(_expect(before), game, entry, due)
        except (ValueError, LookupError, TypeError, CubileteError) as error:
            raise NotReplayable(entry.seq, str(error)) from error
        due = _due(game, entry)
        before = game
    return _expect(before)


def _due(game: Game, entry: Entry) -> EntryType | None:
    """What must come next: the table's opening, or the end of a game that is decided."""
    if entry.type == "started" and game.ruleset.opening(game.state) is not None:
        return "acted"
    if entry.type in ("started", "acted") and game.ruleset.outcome(game.state) is not None:
        return "finished"
    return None


def _audit_entry(before: Game, game: Game, entry: Entry, due: EntryType | None) -> None:
    if entry.type == "finished":
        _audit_outcome(before, game, entry)
    elif due is not None and entry.type != due:
        raise ValueError(f"{due} is due here")
    elif entry.type == "acted":
        _audit_action(before, entry, opening_due=due == "acted")


def _audit_setup(game: Game, written: Any, any_length: bool) -> None:
    """The options are complete and can be played, the dice are those of the ruleset, and there
    are as many throws as it gives."""
    setup = game.setup
    options = game.ruleset.parse_options(setup.options_json, setup.seats)
    if written != setup.options_json or setup.dice != game.ruleset.dice(options, setup.seats):
        raise ValueError("not the options or the dice of this ruleset")
    seconds = setup.turn_seconds
    if seconds is not None and not (
        type(seconds) is int and TURN_SECONDS_LEAST <= seconds <= TURN_SECONDS_MOST
    ):
        raise ValueError("turn_seconds is no time that a clock can give")
    if setup.throws_max < game.ruleset.throws_max(options, setup.seats) and not any_length:
        raise ValueError("fewer throws than this ruleset gives")


def _expect(game: Game | None) -> Game:
    if game is None:
        raise ValueError("nothing is created yet")
    return game


def _audit_action(game: Game, entry: Entry, opening_due: bool) -> None:
    data = entry.data
    seat: int | None = data["seat"]
    if opening_due:
        action: Action = _TABLE_ACTIONS.validate_json(json.dumps(data["action"]))
        if seat is not None or action != game.ruleset.opening(game.state):
            raise ValueError("not the opening of this ruleset")
    elif is_late(seat, data["action"]) or absent(game) is not None:
        seat, action = _audit_late_action(game, entry)
    else:
        action = _ACTIONS.validate_json(json.dumps(data["action"]))
        require_legal(game, seat, action)
        if game.deadline is not None and entry.at >= game.deadline:
            raise ValueError("an action after its deadline")
    recorded = RecordedDice(data["throws"])
    events = game.ruleset.decide(game.state, seat, action, recorded)
    if canonical([event_json(event) for event in events]) != canonical(data["events"]):
        raise ValueError("the rules make other events of this action")
    if recorded.left:
        raise ValueError("more throws than the rules ask for")


def _audit_late_action(game: Game, entry: Entry) -> tuple[int | None, Action]:
    """What the table does because time has run out: only then, and only what the rules and the
    count of absences make it do. Returns for whom, and what."""
    seat = absent(game)
    action: Action = Resign(kind="resign")
    if seat is None:
        if game.deadline is None or entry.at < game.deadline:
            raise ValueError("the clock acts before its deadline")
        seat = late_seat(entry.data["action"])
        if seat not in game.ruleset.clocked(game.state):
            raise ValueError("the clock acts for a seat that the game does not wait for")
        action = game.ruleset.default_action(game.state, seat)
    written = {"seat": entry.data["seat"], "action": entry.data["action"]}
    if canonical(written) != canonical({"seat": None, "action": late_action(action, seat)}):
        raise ValueError("the clock does something else than the rules make it do")
    return seat, action


def _audit_outcome(before: Game, ended: Game, entry: Entry) -> None:
    expected = before.ruleset.outcome(before.state)
    if expected is None:
        if not _exhausted(before, ended):
            raise ValueError("the game is not decided, and there are throws left")
        expected = before.ruleset.exhausted(before.state)
    # Compared as bytes: for Python true is 1.
    if canonical(expected.to_json()) != canonical(entry.data["outcome"]):
        raise ValueError("the rules come to another outcome")


def _exhausted(game: Game, ended: Game) -> bool:
    """Whether some action that was due needs more throws than the revealed root has left."""
    if ended.root is None or game.context is None:
        return False
    chain = KeyChain(ended.root, game.setup.throws_max)
    opening = game.ruleset.opening(game.state)
    asked = [(None, opening)] if opening is not None else _possible(game)
    for seat, action in asked:
        cup = Cup(chain, game.context, game.throws, game.setup.dice)
        try:
            game.ruleset.play(game.state, seat, action, cup)
        except ThrowsExhausted:
            return True
    return False


def _possible(game: Game) -> list[tuple[int | None, Action]]:
    """One action of each kind that is legal, the one that throws most, and resignations."""
    found: list[tuple[int | None, Action]] = [
        (seat, Resign(kind="resign"))
        for seat in range(game.setup.seats)
        if game.ruleset.can_resign(game.state, seat)
    ]
    for legal in game.legal():
        asked: dict[str, Any] = {"kind": legal.kind}
        if legal.min is not None:
            asked["amount"] = legal.min
        if legal.dice is not None:
            asked["mask"] = [True] * legal.dice
        found.append((legal.seat, _ACTIONS.validate_json(json.dumps(asked))))
    return found


class RecordedDice:
    """Dice that show what a log's entry says they showed."""

    def __init__(self, throws: Sequence[Mapping[str, Any]]) -> None:
        self.left = list(throws)

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        """The next recorded throw; raises ValueError if it is not the one asked for."""
        if not self.left or (self.left[0]["seat"], self.left[0]["dice"]) != (seat, list(dice)):
            raise ValueError("the rules ask for another throw")
        return tuple(self.left.pop(0)["faces"])
