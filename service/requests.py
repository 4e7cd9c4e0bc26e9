"""What the croupier is asked for, and what it hands back to be answered."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from service.game import SeedMode
from service.keys import Receipt
from service.store import Answer, HostedGame, Retry
from service.store.change import Visibility


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game to create. ``names`` and ``bots`` have one item a seat: a name or a bot takes the
    seat at once, null leaves it to the other, and both leave it open. ``root`` is given for
    practice games only. ``turn_seconds`` gives the table a clock."""

    ruleset: str
    options: Mapping[str, Any]
    names: tuple[str | None, ...]
    bots: tuple[str | None, ...] = ()
    hotseat: bool = False
    visibility: Visibility = "public"
    seed_mode: SeedMode = "operator"
    root: bytes | None = None
    start: bool = True
    turn_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Joining:
    """Who wants a seat: the lowest open one, if none is named. ``saw`` is the commitment as the
    player has seen it; ``commit`` and ``seed`` belong to the seed modes sealed and open."""

    name: str | None = None
    seat: int | None = None
    saw: bytes | None = None
    commit: bytes | None = None
    seed: bytes | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the bearer token, what makes the request safe to repeat, the version that the
    caller has seen (null: any), and whether a receipt is wanted."""

    token: str | None = None
    retry: Retry | None = None
    version: int | None = None
    receipt: bool = True


@dataclass(frozen=True, slots=True)
class Done:
    """What a change led to, for the answer: the game, its new lines, the receipt of its head,
    tokens shown once, and the seats that are present."""

    hosted: HostedGame
    lines: tuple[bytes, ...]
    receipt: Receipt | None
    host_token: str | None = None
    seat_tokens: Mapping[int, str] | None = None
    present: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A game that waits for somebody: for ``seats``, with null for what the host does for the
    table."""

    hosted: HostedGame
    seats: tuple[int | None, ...]


Render: TypeAlias = Callable[[Done], Answer]
