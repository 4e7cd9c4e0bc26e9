"""A table without a server: the rules alone, thrown with faces that the test gives."""

from collections.abc import Iterable, Sequence
from typing import Any

from service.dice import Face
from service.rules import base

ACTIONS: dict[str, type[Any]] = {
    "roll": base.Roll,
    "hold": base.Hold,
    "reroll": base.Reroll,
    "tiebreak": base.Tiebreak,
    "bet": base.Bet,
    "pass": base.Pass,
    "set_limit": base.SetLimit,
    "resolve": base.Resolve,
    "resign": base.Resign,
}


class GivenDice:
    """Shows the faces it was given, throw after throw, in the order of the dice."""

    def __init__(self, faces: Iterable[Face] = ()) -> None:
        self.faces = list(faces)
        self.thrown: list[tuple[int | None, tuple[str, ...], tuple[Face, ...]]] = []

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        shown, self.faces = tuple(self.faces[: len(dice)]), self.faces[len(dice) :]
        assert len(shown) == len(dice), f"{len(dice)} dice thrown, {len(shown)} faces given"
        self.thrown.append((seat, tuple(dice), shown))
        return shown


class Table:
    """A game of one ruleset, folded event by event as the server does it."""

    def __init__(
        self,
        ruleset: base.Ruleset[Any, Any, Any],
        seats: int,
        faces: Iterable[Face] = (),
        **options: Any,
    ) -> None:
        self.ruleset = ruleset
        self.options = ruleset.parse_options(options, seats)
        self.state = ruleset.start(self.options, seats)
        self.events: list[Any] = []
        opening = ruleset.opening(self.state)
        if opening is not None:
            self._decide(None, opening, faces)

    def act(self, seat: int | None, kind: str, *faces: Face, **parameters: Any) -> list[Any]:
        """Take one action with these faces; every face given must be thrown. Returns its events."""
        action = ACTIONS[kind].model_validate({"kind": kind, **parameters})
        assert kind == "resign" or self.accepts(seat, action), (
            f"{kind} of seat {seat} is not legal: {self.ruleset.legal(self.state)}"
        )
        return self._decide(seat, action, faces)

    def _decide(self, seat: int | None, action: Any, faces: Iterable[Face]) -> list[Any]:
        dice = GivenDice(faces)
        events = list(self.ruleset.decide(self.state, seat, action, dice))
        assert not dice.faces, f"faces left over: {dice.faces}"
        for event in events:
            self.state = self.ruleset.apply(self.state, event)
        self.events += events
        return events

    def accepts(self, seat: int | None, action: Any) -> bool:
        return any(legal.admits(seat, action) for legal in self.ruleset.legal(self.state))

    def refusal(self, seat: int | None, kind: str, **parameters: Any) -> str | None:
        """The reason code with which an action is refused, or None if it is legal."""
        action = ACTIONS[kind].model_validate({"kind": kind, **parameters})
        if self.accepts(seat, action):
            return None
        return self.ruleset.refusal(self.state, seat, action)

    def kinds(self, seat: int | None) -> list[str]:
        """The kinds that a seat may choose from, in the order listed."""
        return [legal.kind for legal in self.ruleset.legal(self.state) if legal.seat == seat]

    def default(self, seat: int | None) -> dict[str, Any]:
        """What the table does for a seat that is late, or for all (null)."""
        return dict(self.ruleset.default_action(self.state, seat))

    @property
    def view(self) -> dict[str, Any]:
        return self.ruleset.view(self.state)

    @property
    def outcome(self) -> base.Outcome | None:
        return self.ruleset.outcome(self.state)
