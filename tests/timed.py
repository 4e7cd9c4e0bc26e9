"""A croupier and a sweeper over a real store, whose clock a test sets. No HTTP."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service import keys
from service.api import views
from service.croupier import Croupier
from service.log import parse
from service.requests import Caller, NewGame
from service.rules.base import Action
from service.server_time import ServerTime
from service.store import HostedGame, Store
from service.sweeper import Keeping, Sweeper, Swept
from tests.hosted import AT, opened
from tests.played import action

TURN_S = 30
SEATED = {"starter": "seat"}
DAY_MS = 24 * 3600 * 1000


class _Set(ServerTime):
    """A clock that a test sets: it heeds no database."""

    async def keep_to(self, ask: Callable[[], Awaitable[int | None]]) -> None:
        pass


@dataclass
class House:
    """One process of a server; ``now`` is its time."""

    store: Store
    directory: Path
    now: int = AT
    keeping: Keeping | None = None
    swept: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    changed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        server_key = keys.open_server_key(self.directory, "5a" * 32)
        signing = keys.open_signing_keys(self.directory)
        self.croupier = Croupier(
            self.store, server_key, signing, lambda: self.now, os.urandom, reveal_seconds=60
        )
        keeping = self.keeping or Keeping(7, 30, 30, None, self.directory / "exported")
        clock = _Set(lambda: self.now, lambda: self.now)
        self.sweeper = Sweeper(self.croupier, self.store, keeping, clock, self._count, self._failed)
        self.store.tell_beside(self.changed.extend)

    def _count(self, what: Swept, count: int) -> None:
        self.swept[what] = self.swept.get(what, 0) + count

    def _failed(self, why: Exception) -> None:
        self.failures += 1

    async def create(self, ruleset: str = "pig", seats: int = 2, **more: Any) -> "Game":
        """A game with its tokens; with a clock, and with a seat that knows who starts."""
        names = tuple(f"Seat {seat}" for seat in range(seats))
        given: dict[str, Any] = {"options": SEATED, "turn_seconds": TURN_S, "names": names}
        wanted = NewGame(ruleset=ruleset, **(given | more))
        answer = await self.croupier.create(wanted, Caller(), views.created)
        return Game(self, json.loads(answer.body))


@dataclass
class Game:
    """A game, and the house through which it is played."""

    house: House
    told: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.told["game"]["id"])

    def token(self, seat: int) -> str:
        return str(
            next(one["token"] for one in self.told["tokens"]["seats"] if one["seat"] == seat)
        )

    async def act(
        self, seat: int, kind: str, house: House | None = None, **parameters: Any
    ) -> dict[str, Any]:
        asked: Action = action(kind, **parameters)
        caller = Caller(self.token(seat))
        through = (house or self.house).croupier
        answer = await through.act(self.id, None, asked, caller, views.changed)
        told: dict[str, Any] = json.loads(answer.body)
        return told

    async def stored(self) -> HostedGame:
        """As the store has it: nobody looks at the clock."""
        hosted = await self.house.store.game(self.id)
        assert hosted is not None
        return hosted

    async def late(self) -> list[tuple[str, int | None]]:
        """What the clock has done, and for whom."""
        acted = [parse(line) for line in await self.house.store.lines(self.id)]
        actions = [one.data["action"] for one in acted if one.type == "acted"]
        return [(one["kind"], one["seat"]) for one in actions if one.get("reason") == "clock"]


@asynccontextmanager
async def house(url: str, directory: Path, **more: Any) -> AsyncIterator[House]:
    """A house over a database at the head of its migrations."""
    async with opened(url) as store:
        yield House(store, directory, **more)
