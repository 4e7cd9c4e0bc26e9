"""The players of one simulated game, who know nothing but the answers they were given.

They seat themselves, play whatever is legal, ask twice, ask at once, ask for what they may not,
and ask again with the same key whenever no answer has come.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from service.api import views
from service.croupier import Croupier
from service.dice import client_commit, tagged_hash
from service.errors import (
    CubileteError,
    GameOver,
    IllegalAction,
    KeyReused,
    NotYourSeat,
    NotYourTurn,
    StaleVersion,
    TokenMissing,
    TokenUnknown,
    Unavailable,
)
from service.game import SeedMode
from service.requests import Caller, Joining, NewGame
from service.store import Answer, Retry
from soak.auditing import Told
from tests.drawn_options import Json, below, one_of
from tests.played import Rules, action, secret

_RENDERED: Final = {
    "create": views.created,
    "join": views.seated,
    "rotate": views.renewed,
    "rematch": views.rematched,
}
OVER: Final = ("finished", "abandoned", "void")
RESIGNS: Final = 0.01  # of the moves
_STALE: Final = (StaleVersion, GameOver)


def drawn_move(legal: Sequence[Mapping[str, Any]], random: Random) -> tuple[int | None, Json]:
    """Any action that an answer lists as legal, with its seat, as JSON; now and then the seat
    resigns instead."""
    hold = [one for one in legal if one["kind"] == "hold"]
    other = [one for one in legal if one["kind"] != "hold"]
    one = one_of(random, hold if hold and (not other or random.random() < 0.5) else other)
    drawn: Json = {"kind": one["kind"]}
    if "min" in one:
        amounts = (one["min"], one["max"], one["min"] + below(random, one["max"] - one["min"] + 1))
        drawn["amount"] = one_of(random, amounts)
    if "dice" in one:
        drawn["mask"] = [random.random() < 0.5 for _ in range(one["dice"])]
    resigns = one["seat"] is not None and random.random() < RESIGNS
    return one["seat"], {"kind": "resign"} if resigns else drawn


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: a use case of the croupier, its arguments, and who asks. ``refusals`` are those
    it may meet; ``must_fail`` says that it must."""

    what: str
    key: str
    token: str | None
    arguments: tuple[Any, ...]
    version: int | None = None
    refusals: tuple[type[CubileteError], ...] = ()
    must_fail: bool = False

    def sent(self, croupier: Croupier) -> Awaitable[Answer]:
        """The request on its way."""
        scope = hashlib.sha256(f"{self.token} {self.key}".encode()).digest()
        told = hashlib.sha256(repr((self.what, self.arguments, self.version)).encode()).digest()
        caller = Caller(self.token, Retry(scope, told), self.version)
        render = _RENDERED.get(self.what, views.changed)
        asked: Awaitable[Answer] = getattr(croupier, self.what)(*self.arguments, caller, render)
        return asked


@dataclass
class Clients:
    """All clients of one game. ``faults`` are what they must not have seen."""

    name: str
    rules: Rules
    seats: int
    options: dict[str, Any]
    mode: SeedMode
    random: Random
    root: bytes | None = None
    game: dict[str, Any] | None = None
    tokens: dict[int, str] = field(default_factory=dict)
    host: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    told: list[Told] = field(default_factory=list)
    again: dict[str, Asked] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    calls_off: bool = False
    plays_on: bool = False
    next: "Clients | None" = None
    _asked: list[Asked] = field(default_factory=list)
    _keys: int = 0

    @property
    def id(self) -> str:
        """The game's id, once it has one."""
        return "" if self.game is None else str(self.game["id"])

    @property
    def over(self) -> bool:
        """Whether the game has ended and every request is settled."""
        due = self.plays_on and self.next is None
        return self.game is not None and self._ended() and not self.again and not due

    def _ended(self) -> bool:
        return self.game is not None and self.game["status"] in OVER

    # -- asking ----------------------------------------------------------------------------------

    def asks(self) -> list[Asked]:
        """What is asked at one moment: first of all what was not answered."""
        if self.again:
            return list(self.again.values())
        chance = self.random.random()
        if self.game is None:
            return [self._creation()]
        if self.game["status"] == "waiting":
            return [self._before_the_start()]
        if self._ended():
            return [self._ask("rematch", self.host, self.id, None)]
        if self._asked and chance < 0.04:
            self.done["old requests sent again"] += 1
            return [one_of(self.random, self._asked)]
        if chance < 0.10:
            return [self._mischief()]
        if chance < 0.12:
            return [self._renewal()]
        move = self._move()
        if chance < 0.17:
            self.done["sent twice at once"] += 1
            return [move, move]
        if chance < 0.22:
            self.done["two actions on one version"] += 1
            return [move, self._move()]
        return [move]

    def _ask(self, what: str, token: str | None, *arguments: Any, **beside: Any) -> Asked:
        self._keys += 1
        return Asked(what, f"{self.name}-{self._keys}", token, arguments, **beside)

    def _creation(self) -> Asked:
        named = self.mode in ("operator", "practice")
        names = tuple(
            f"seat {seat}" if named and self.random.random() < 0.5 else None
            for seat in range(self.seats)
        )
        wanted = NewGame(
            self.rules.key,
            self.options,
            names,
            seed_mode=self.mode,
            root=self.root if self.mode == "practice" else None,
            start=self.random.random() < 0.7,
        )
        return self._ask("create", None, wanted)

    def _before_the_start(self) -> Asked:
        assert self.game is not None
        free = [one["seat"] for one in self.game["players"] if one["kind"] is None]
        if self.calls_off:
            return self._ask("void", self.host, self.id)
        if free:
            return self._ask("join", None, self.id, self._joining(free))
        if self.mode == "sealed" and not self.game["dice"]["sealed"]:
            return self._ask("seal", self.host, self.id)
        hidden = [one["seat"] for one in self.game["dice"]["seeds"] if one["seed"] is None]
        if hidden:
            seat = one_of(self.random, hidden)
            seed = secret(self.name, seat)
            # What comes when seeds are overdue finds the game void.
            return self._ask("reveal", self.tokens[seat], self.id, seat, seed, refusals=(GameOver,))
        return self._ask("start", self.host, self.id)

    def _joining(self, free: list[int]) -> Joining:
        assert self.game is not None
        seat = one_of(self.random, free)
        seed, given = secret(self.name, seat), self.game["dice"]["seeds"]
        gives = not given or (self.mode == "sealed" and self.random.random() < 0.5)
        sealed = client_commit(self.id, seed) if gives and self.mode == "sealed" else None
        return Joining(
            f"seat {seat}",
            seat,
            bytes.fromhex(self.game["dice"]["commitment"]),
            commit=sealed,
            seed=seed if gives and self.mode == "open" else None,
        )

    def _move(self) -> Asked:
        assert self.game is not None
        version: int = self.game["version"]
        seat, chosen = drawn_move(self.game["legal_actions"], self.random)
        token = self.host if seat is None else self.tokens[seat]
        arguments = (self.id, None, action(**chosen))
        return self._ask("act", token, *arguments, version=version, refusals=_STALE)

    def _renewal(self) -> Asked:
        seat = one_of(self.random, sorted(self.tokens))
        self.done["tokens renewed"] += 1
        return self._ask("rotate", self.tokens[seat], self.id, seat)

    def _mischief(self) -> Asked:
        """Something that must be refused, and change nothing."""
        move = self._move()
        while move.arguments[2].kind == "resign":  # which is always legal
            move = self._move()
        idle = [seat for seat in self.tokens if seat not in self._may_act()]
        nobody = f"cub_seat_{'A' * 43}"
        kinds: list[Asked] = [
            replace(move, token=None, refusals=(TokenMissing,)),
            replace(move, token=nobody, refusals=(TokenUnknown,)),
            replace(move, version=(move.version or 0) - 1, refusals=(StaleVersion,)),
            replace(move, arguments=(self.id, 99, move.arguments[2]), refusals=(NotYourSeat,)),
        ]
        if idle:
            other = self.tokens[one_of(self.random, idle)]
            kinds.append(replace(move, token=other, refusals=(NotYourTurn, IllegalAction)))
        acted = [one for one in self._asked if one.what == "act" and one.token in self._held()]
        if acted:
            known = one_of(self.random, acted)
            kinds.append(replace(known, version=10**6, refusals=(KeyReused,)))
        return replace(one_of(self.random, kinds), must_fail=True)

    def _may_act(self) -> set[int]:
        assert self.game is not None
        return {one["seat"] for one in self.game["legal_actions"]}

    def _held(self) -> set[str | None]:
        return {self.host, *self.tokens.values()}

    # -- hearing ---------------------------------------------------------------------------------

    def heard(self, asked: Asked, answer: Answer | BaseException | None, lost: bool) -> None:
        """What came of a request; ``lost`` on its way, or null for nothing at all."""
        if isinstance(answer, Answer):
            self._answered(asked, answer, lost)
        elif answer is None or isinstance(answer, Unavailable):
            self.again[asked.key] = asked
        elif isinstance(answer, asked.refusals):
            self.done[f"refused: {answer.code}"] += 1  # type: ignore[attr-defined]
            self.again.pop(asked.key, None)
            if asked.what == "reveal" and self.game is not None:
                self.game = {**self.game, "status": "void"}
        else:
            self.faults.append(f"{asked.what} {asked.key}: {answer!r}")

    def _answered(self, asked: Asked, answer: Answer, lost: bool) -> None:
        if asked.must_fail:
            self.faults.append(f"{asked.what} {asked.key} should have been refused")
        if not answer.replayed and asked.key in self.made:
            self.faults.append(f"{asked.what} {asked.key} was made twice")
        if not answer.replayed:
            self.made.add(asked.key)
        known = self.answers.setdefault(asked.key, answer)
        self.done["answers repeated"] += answer.replayed
        if (answer.status, answer.headers, answer.body) != (
            known.status,
            known.headers,
            known.body,
        ):
            self.faults.append(f"{asked.what} {asked.key} was answered differently the second time")
        if lost:
            self.done["answers lost"] += 1
            self.again[asked.key] = asked
            return
        self.again.pop(asked.key, None)
        if all(one.key != asked.key for one in self._asked):
            self._noted(asked, answer)

    def _noted(self, asked: Asked, answer: Answer) -> None:
        self.done["changes acknowledged"] += 1
        told = Told(asked.key, answer.body, adds=asked.what != "rotate")
        body = json.loads(answer.body)
        if asked.what == "rematch":
            self.next = self._next(told, body["game"])
            return
        self.told.append(told)
        if self.game is None or body["game"]["version"] >= self.game["version"]:
            self.game = body["game"]
        if asked.what == "create":
            self.host = body["tokens"]["host"]
            self.tokens = {one["seat"]: one["token"] for one in body["tokens"]["seats"]}
        elif "token" in body:
            self.tokens[body["seat"]] = body["token"]
        # Whoever has given up a token is a stranger to what was asked with it.
        self._asked = [one for one in self._asked if one.token in {None, *self._held()}]
        self._asked.append(asked)

    def _next(self, told: Told, game: dict[str, Any]) -> "Clients":
        """The clients of the rematch: the same people with the same tokens."""
        root = None if self.root is None else tagged_hash("practice-rematch", self.root)
        return Clients(
            f"{self.name}+",
            self.rules,
            self.seats,
            self.options,
            self.mode,
            self.random,
            root,
            game=game,
            tokens=dict(self.tokens),
            host=self.host,
            told=[told],
        )
