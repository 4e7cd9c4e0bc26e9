"""The log against the rules: replay folds it, audit decides every action again. Pure."""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from service.dice import Face
from service.errors import CubileteError
from service.game import Game, fold
from service.log import Entry, parse
from service.rules.base import Action, SeatAction, TableAction
from service.steps import event_json, require_legal

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
        require_legal(game, data["seat"], action)
    recorded = RecordedDice(data["throws"])
    events = game.ruleset.decide(game.state, data["seat"], action, recorded)
    if [event_json(event) for event in events] != data["events"]:
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
