"""The clock of a table: how long the game waits for a seat, and who let the time run out. Pure.

A game with a clock waits ``turn_seconds`` for whoever is to act. Then the table acts for them with
the ruleset's default, and after ``ABSENCES`` such actions in a row it resigns for the seat. Times
are integer milliseconds UTC, those of the log's entries: a deadline follows from the log alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.rules.base import Action, Ruleset
from service.values import set_at

TURN_SECONDS_LEAST: Final = 5
TURN_SECONDS_MOST: Final = 7 * 24 * 3600
ABSENCES: Final = 3
_REASON: Final = "clock"


@dataclass(frozen=True, slots=True)
class Clock:
    """``deadline`` is when the table stops waiting, null while nobody is waited for; ``missed``
    counts, by seat, how often in a row the table has acted for it."""

    deadline: int | None
    missed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What was done: by or for a seat (null: the table), whether because its time had run out,
    and the state before and after it."""

    actor: int | None
    kind: str
    late: bool
    before: Any
    after: Any


def started(
    rules: Ruleset[Any, Any, Any], state: Any, turn_seconds: int, seats: int, at: int
) -> Clock:
    """The clock of a game that starts now; it waits for nobody while the table has to open."""
    deadline = at + turn_seconds * 1000 if rules.clocked(state) else None
    return Clock(deadline, (0,) * seats)


def moved(
    clock: Clock, rules: Ruleset[Any, Any, Any], turn_seconds: int, done: Done, at: int
) -> Clock:
    """The clock after an action.

    What begins is timed anew. Where several decide at once (bets, the choices of a duel) and some
    still have to, one who has decided gives the others no further time.
    """
    missed = clock.missed
    if done.actor is not None and not (done.late and done.kind == "resign"):
        count = missed[done.actor] + 1 if done.late else 0
        missed = set_at(missed, done.actor, count)
    if not rules.clocked(done.after):
        return Clock(None, missed)
    if _goes_on(rules, done):
        return Clock(clock.deadline, missed)
    return Clock(at + turn_seconds * 1000, missed)


def _goes_on(rules: Ruleset[Any, Any, Any], done: Done) -> bool:
    """Whether the game still waits for the same decision of others than the one who acted."""
    if done.actor is None or rules.phase(done.before) != rules.phase(done.after):
        return False
    asked, left = set(rules.to_act(done.before)), set(rules.to_act(done.after))
    return left <= asked - {done.actor} and bool(left) == bool(asked)


def late_action(action: Action, seat: int | None) -> dict[str, Any]:
    """An action as the log holds it when the table takes it because time has run out."""
    return {**action.model_dump(mode="json"), "seat": seat, "reason": _REASON}


def late_seat(action: Mapping[str, Any]) -> int | None:
    """For whom the table has acted; see ``is_late``."""
    seat: int | None = action["seat"]
    return seat


def is_late(seat: int | None, action: Mapping[str, Any]) -> bool:
    """Whether an ``acted`` entry with this seat and action is one of the clock's."""
    return seat is None and action.get("reason") == _REASON
