"""What can be refused, and why. Knows no HTTP: ``api/problems.py`` gives each class its status.

CubileteError
├── BadSetting                   a setting that stops the start
├── Refusal                      the caller can be told; `code` is stable
│   ├── Unreadable               the body is no JSON as we read it (`reason` says what)
│   ├── InvalidInput             readable, but a field is wrong (`errors`, one each)
│   ├── PreconditionMalformed    an If-Match that names no single version
│   ├── PreconditionMissing      a setting demands what the caller left out
│   ├── KeyReused                the Idempotency-Key belongs to another request
│   ├── TokenMissing, TokenUnknown
│   ├── NotYourSeat, HostOnly
│   ├── GameFrozen               the game's log has failed an audit
│   ├── RecordTooCostly          an uploaded record whose examination takes too much
│   ├── NotFound
│   │   ├── GameNotFound, RulesetNotFound, SeatNotFound, VersionNotFound, SeriesNotFound
│   └── Conflict                 well asked, but not in this state of the game
│       ├── StaleVersion         the caller has seen an older version
│       ├── NotYourTurn, IllegalAction, TurnExpired
│       ├── GameOver, GameNotOver, GameNotStarted, GameStarted, SeatsOpen
│       ├── SeedsMissing, SeedRefused
│       ├── RosterExhausted      too many have come and gone before the start
│       └── SeatTaken, GameFull, NameTaken, RematchExists
├── Unavailable                  the store can't answer now; nothing was acknowledged
└── ThrowsExhausted              no refusal: the game ends on its current scores
"""

import errno
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final


class CubileteError(Exception):
    """The root of everything that this package raises on purpose."""


class BadSetting(CubileteError):
    """A setting that stops the start; the message is one clear line."""


class Refusal(CubileteError):
    """A request that is refused and changed nothing.

    ``code`` is the stable English name of the refusal; ``extras`` are further members of the
    answer, plain JSON values that never repeat the caller's input.
    """

    code: ClassVar[str]

    def __init__(self, **extras: Any) -> None:
        super().__init__(self.code)
        self.extras: dict[str, Any] = extras


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field: ``pointer`` is a JSON Pointer into the body (or ``?name`` for a query
    parameter), ``code`` a stable name, ``params`` what its text needs (a limit, another option).
    """

    pointer: str
    code: str
    params: tuple[tuple[str, int | str], ...] = ()


class Unreadable(Refusal):
    """The body is not JSON as this server reads it; ``reason`` is one of a fixed list."""

    code = "unreadable_body"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class InvalidInput(Refusal):
    """The request could be read, but fields are wrong; ``errors`` names each."""

    code = "invalid_input"

    def __init__(self, *errors: FieldError) -> None:
        super().__init__()
        self.errors: Sequence[FieldError] = errors


class PreconditionMalformed(Refusal):
    """``If-Match`` holds a weak tag, a list or something that is no version."""

    code = "precondition_malformed"


class PreconditionMissing(Refusal):
    """A setting demands ``Idempotency-Key`` or a version, and the request has none."""

    code = "precondition_missing"


class KeyReused(Refusal):
    """The ``Idempotency-Key`` was used with another request."""

    code = "key_reused"


class TokenMissing(Refusal):
    """The route needs a token and none was sent."""

    code = "token_missing"


class TokenUnknown(Refusal):
    """The token is none of this game's."""

    code = "token_unknown"


class NotYourSeat(Refusal):
    """The token does not act for that seat."""

    code = "not_your_seat"


class HostOnly(Refusal):
    """Only the host's token may do this."""

    code = "host_only"


class NotFound(Refusal):
    """What was named does not exist."""


class GameNotFound(NotFound):
    """No game has this id."""

    code = "game_not_found"


class RulesetNotFound(NotFound):
    """No ruleset has this key."""

    code = "ruleset_not_found"


class SeatNotFound(NotFound):
    """The game has no such seat."""

    code = "seat_not_found"


class VersionNotFound(NotFound):
    """The game has not reached this version."""

    code = "version_not_found"


class SeriesNotFound(NotFound):
    """No series has this id."""

    code = "series_not_found"


class Conflict(Refusal):
    """Well asked, but not possible in the game's present state."""


class StaleVersion(Conflict):
    """The caller named a version that the game has left behind."""

    code = "stale_version"


class NotYourTurn(Conflict):
    """The seat is not one of those that may act now."""

    code = "not_your_turn"


class IllegalAction(Conflict):
    """The seat may act, but not so; ``reason`` is a stable code of the ruleset."""

    code = "illegal_action"

    def __init__(self, reason: str, **extras: Any) -> None:
        super().__init__(reason=reason, **extras)
        self.reason = reason


class TurnExpired(Conflict):
    """The action came after its deadline: the table has acted for the seat."""

    code = "turn_expired"


class GameOver(Conflict):
    """The game has ended."""

    code = "game_over"


class GameNotStarted(Conflict):
    """The game has not started yet."""

    code = "game_not_started"


class GameNotOver(Conflict):
    """The game is not over yet, so there is no rematch."""

    code = "game_not_over"


class GameStarted(Conflict):
    """The game has started, so this is no longer possible."""

    code = "game_started"


class SeatsOpen(Conflict):
    """The game can't start while seats are open."""

    code = "seats_open"


class SeedsMissing(Conflict):
    """The game can't start before it is sealed and every seed committed to is revealed."""

    code = "seeds_missing"


class SeedRefused(Conflict):
    """A commit, seed, seal or leave that the game's seed mode does not take now; ``reason`` is
    one of a fixed list."""

    code = "seed_refused"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


class GameFrozen(Refusal):
    """The game's log failed an audit: nothing more happens in it until an operator has looked."""

    code = "game_frozen"


class RecordTooCostly(Refusal):
    """Examining the record takes more time or memory than this server gives to one."""

    code = "record_too_costly"


class RosterExhausted(Conflict):
    """Too many have come and gone before the start: the log of a waiting game has a bound."""

    code = "roster_exhausted"


class SeatTaken(Conflict):
    """Somebody else holds this seat."""

    code = "seat_taken"


class GameFull(Conflict):
    """No seat is open."""

    code = "game_full"


class NameTaken(Conflict):
    """Another player of the game has this name (or one that looks the same)."""

    code = "name_taken"


class RematchExists(Conflict):
    """The game already has its rematch; the answer names it."""

    code = "rematch_exists"


class Unavailable(CubileteError):
    """The store can't take the request now: nothing was acknowledged.

    ``retry_after_s`` is the number of seconds after which trying again makes sense.
    """

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ThrowsExhausted(CubileteError):
    """An action needs more throws than the key chain has left."""


# --- what nobody raises on purpose ----------------------------------------------------------------

_DEPTH: Final = 32
_NO_THREAD: Final = ("can't start new thread", "can't allocate lock")
_NO_BUFFER: Final = "Not enough memory"  # orjson, as if the text were wrong
_NO_MEMORY: Final = re.compile("out of memory|cannot allocate memory", re.IGNORECASE)
_BY_A_SERVER: Final = re.compile("(ERROR|FATAL|PANIC):")


def failed_allocation(error: BaseException | None) -> BaseException | None:
    """The failed allocation behind a failure, whatever a library has made of it."""
    for _ in range(_DEPTH):
        if error is None or _is_one(error):
            return error
        error = error.__cause__ or error.__context__
    return None


def _is_one(error: BaseException) -> bool:
    """By the type first: no text of a caller's making may end a process."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, RuntimeError):
        return str(error) in _NO_THREAD
    if isinstance(error, ValueError):
        return str(getattr(error, "msg", "")).startswith(_NO_BUFFER)
    return _is_one_of_a_driver(error)


def _is_one_of_a_driver(error: BaseException) -> bool:
    """SQLite names it. libpq has its words and no SQLSTATE; a server that is itself out of memory
    has one, or says by which severity, and lives elsewhere."""
    if str(getattr(error, "sqlite_errorname", "")).endswith("NOMEM"):
        return True
    if getattr(error, "sqlstate", "") is not None:
        return False
    said = str(error)
    return _NO_MEMORY.search(said) is not None and _BY_A_SERVER.search(said) is None
