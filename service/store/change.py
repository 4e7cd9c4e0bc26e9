"""What the store keeps of a game, and what one request changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from service.game import Game

Visibility: TypeAlias = Literal["public", "unlisted"]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a seat, as it stands beside the log, where it can be erased: the name, the salt
    that binds it to ``who``, and the hash of the seat's token (null for a hot seat's guests)."""

    name: str | None
    salt: bytes
    token_hash: bytes | None


@dataclass(frozen=True, slots=True)
class Series:
    """The games that a table plays in a row. ``number`` counts from 1; ``tally`` is what each
    seat had won (or lost) before this game; ``next_game`` is the rematch, once there is one."""

    id: str
    number: int
    tally: tuple[int, ...]
    next_game: str | None = None


@dataclass(frozen=True)
class HostedGame:
    """A game with all that stands beside its log. ``salt`` leads, with the server key, to the
    root (in a practice game nothing does). ``audit`` is the verdict of the server's own audit,
    null before there is one. ``reveal_by`` is when the seeds of a sealed roster are due.
    ``revision`` counts the changes of the whole. ``bots`` names the bot that each seat was created
    with (null: none), and is empty at a table without bots."""

    game: Game
    holders: tuple[Holder | None, ...]
    host_hash: bytes
    salt: bytes
    hotseat: bool
    visibility: Visibility
    start_when_full: bool
    created_at: int
    series: Series
    audit: Literal["passed", "failed"] | None = None
    reveal_by: int | None = None
    revision: int = 0
    bots: tuple[str | None, ...] = ()

    @property
    def seated_bots(self) -> tuple[str | None, ...]:
        """The bot that sits in each seat now; a bot's seat may have been given to a person."""
        if not self.bots:
            return (None,) * len(self.holders)
        return tuple(
            bot if player is not None and player.kind == "bot" else None
            for bot, player in zip(self.bots, self.game.players, strict=True)
        )

    @property
    def deadline(self) -> int | None:
        """When the game goes on without those it waits for (ms UTC), if it ever does."""
        if self.game.status == "playing":
            return self.game.deadline
        if self.reveal_by is None or self.game.status != "waiting" or not self.game.unrevealed():
            return None
        return self.reveal_by

    def due(self, at: int) -> bool:
        """Whether somebody's time has run out, and the table has to go on by itself."""
        deadline = self.deadline
        return deadline is not None and deadline <= at and self.audit != "failed"


@dataclass(frozen=True)
class Answer:
    """An answer as bytes. ``sealed`` says that the body is encrypted (it holds tokens);
    ``replayed`` that it comes from the store and nothing was done this time."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    sealed: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """Makes a request safe to send again. ``scope`` is the hash of token and Idempotency-Key,
    ``fingerprint`` the hash of method, path and canonical body."""

    scope: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Write:
    """A game as it shall be stored, with the log lines that are new (they end at its version)."""

    hosted: HostedGame
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What one request does, all or nothing. ``kept`` is the answer as the store keeps it for a
    retry, if it differs from the one that is given now."""

    writes: tuple[Write, ...]
    answer: Answer
    kept: Answer | None = None


Committed: TypeAlias = Callable[[Sequence[HostedGame]], None]
Decide: TypeAlias = Callable[[HostedGame | None], Change]
Check: TypeAlias = Callable[[HostedGame | None], None]


class Measure(Protocol):
    """Is told what the committer does; both may be called from any thread."""

    def committed(self, changes: int, took_s: float) -> None:
        """One batch of so many changes was carried out."""

    def waited(self, waited_s: float) -> None:
        """One change was answered, so long after it was asked for."""


@dataclass(frozen=True, slots=True)
class Job:
    """A change that waits for the committer.

    ``check`` raises a Refusal for a caller who may not even see an earlier answer; ``decide``
    makes the change from the game as it stands (null if there is none), or raises a Refusal; it
    runs right after a ``check`` of the same game, and may use what that has found. Both may run
    more than once and must change nothing else.
    """

    game_id: str
    check: Check
    decide: Decide
    retry: Retry | None
