"""What a bot is: a pure function from what everybody at the table sees to one legal action.

A bot is given no keys, no dice and no clock, so it knows nothing that a player does not.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from service.rules.base import (
    SEAT_ACTIONS,
    Action,
    Bet,
    LegalAction,
    Reroll,
    Ruleset,
    SeatAction,
    SetLimit,
    Text,
    kind_of,
)


@dataclass(frozen=True, slots=True)
class Position:
    """All that a bot sees: the rules, the public state (which holds the options), its seat, what
    this seat may do now (at least one action), and the hash of the log's last line."""

    ruleset: Ruleset[Any, Any, Any]
    state: Any
    seat: int
    legal: tuple[LegalAction, ...]
    head: bytes

    def offer(self, kind: str) -> LegalAction | None:
        """The legal action of this kind, if there is one."""
        return next((legal for legal in self.legal if legal.kind == kind), None)


Policy: TypeAlias = Callable[[Position], Action]

_ACTIONS: Final[TypeAdapter[Action]] = TypeAdapter(SeatAction)

PLAIN: Final[Mapping[str, Action]] = {
    kind_of(action): _ACTIONS.validate_python({"kind": kind_of(action)})
    for action in SEAT_ACTIONS
    if action not in (Bet, SetLimit, Reroll)
}
"""The actions without parameters, by kind."""


def amounting(legal: LegalAction, wanted: int) -> Bet | SetLimit:
    """A bet or a limit of so many chips, or of as many as are allowed."""
    low, high = legal.min or 0, legal.max or 0
    amount = min(max(wanted, low), high)
    if legal.kind == "bet":
        return Bet(kind="bet", amount=amount)
    return SetLimit(kind="set_limit", amount=amount)


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot of the catalogue.

    ``pattern`` is the regular expression of its names, ``make`` turns what its group matches (or
    null) into a policy. ``seats`` is the only count of seats it plays with, null for any;
    ``options`` are JSON Schemas (``const`` or ``maximum``) of the options that it needs.
    """

    name: str
    title: Text
    description: Text
    make: Callable[[str | None], Policy]
    pattern: str = ""
    seats: int | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def names(self) -> str:
        """The regular expression that its names match."""
        return self.pattern or f"^{re.escape(self.name)}$"

    def refused(self, options: Any) -> str | None:
        """The first option that it does not play, if there is one."""
        for name, needed in self.options.items():
            value = getattr(options, name, None)
            if "const" in needed and value != needed["const"]:
                return name
            if "maximum" in needed and (value is None or value > needed["maximum"]):
                return name
        return None
