"""Clients under load: each plays one table after another over connections of its own, and writes
down all that it asks and hears."""

import asyncio
from random import Random
from typing import Any, Final, Protocol

from service import rules
from soak.clients import OVER, drawn_move
from soak.history import History
from tests.crowd import Answered, Asked, ask, hang_up
from tests.drawn_options import one_of, table

_PATIENCE_S: Final = 20
_TURNED_AWAY_S: Final = 0.02
_TIGHTER: Final = {"target": 30, "bets": 3, "circuits": 1, "rounds": 4}
_MODES: Final = ("operator", "practice")
_BROKEN: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError)


class Servers(Protocol):
    """The servers as their clients know them."""

    def port(self, server: int) -> int:
        """Where a server listens."""

    async def one_that_is_up(self, after: int) -> int:
        """The next server that answers, after that one."""


class Player:
    """One client. ``play`` it until ``stop`` is set; what it has begun it settles."""

    def __init__(self, number: int, seed: str, servers: Servers, history: History) -> None:
        self._number = number
        self._random = Random(seed)
        self._servers = servers
        self._history = history
        self._lines: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._keys = 0
        self._server = number
        self._game: dict[str, Any] = {}
        self._tokens: dict[int, str] = {}
        self._host = ""

    async def play(self, stop: asyncio.Event) -> None:
        """Plays on and on."""
        try:
            while not stop.is_set():
                await self._take_a_table()
                while not stop.is_set() and self._game["status"] not in OVER:
                    await self._move()
        finally:
            for _, writer in self._lines.values():
                await hang_up(writer)

    # -- playing ---------------------------------------------------------------------------------

    async def _take_a_table(self) -> None:
        if self._game and self._random.random() < 0.3:
            path = f"/v1/games/{self._game['id']}/rematch"
            answer = await self._settled(self._asked(path, None, self._host))
            self._game = answer.json()["game"]
            return
        ruleset = one_of(self._random, rules.RULESETS)
        seats, options = table(ruleset, self._random, _TIGHTER)
        mode = one_of(self._random, _MODES)
        body: dict[str, Any] = {
            "ruleset": ruleset.key,
            "options": options,
            "seats": [{"name": f"Player {seat}"} for seat in range(seats)],
            "seed_mode": mode,
        }
        if mode == "practice":
            body["seed"] = self._random.randbytes(32).hex()
        created = (await self._settled(self._asked("/v1/games", body, None))).json()
        self._game = created["game"]
        self._host = created["tokens"]["host"]
        self._tokens = {one["seat"]: one["token"] for one in created["tokens"]["seats"]}

    async def _move(self) -> None:
        chance = self._random.random()
        asked = [self._drawn()]
        if chance < 0.06:
            asked *= 2  # one request, twice at once
        elif chance < 0.12:
            asked.append(self._drawn())  # two requests for one version
        answers = await asyncio.gather(
            *(self._settled(one, self._server + place) for place, one in enumerate(asked))
        )
        made = [answer for answer in answers if answer.status == 200]
        if made:
            self._game = made[0].json()["game"]
        if not made or chance > 0.95:
            await self._look()

    def _drawn(self) -> Asked:
        seat, body = drawn_move(self._game["legal_actions"], self._random)
        token = self._host if seat is None else self._tokens[seat]
        path = f"/v1/games/{self._game['id']}/actions"
        return self._asked(path, body | {"expected_version": self._game["version"]}, token)

    async def _look(self) -> None:
        """Reads the game from another server than the one that answered last."""
        seen: int = self._game["version"]
        asked = Asked(f"/v1/games/{self._game['id']}", method="GET")
        self._game = (await self._settled(asked, self._server + 1)).json()
        self._history.read(self._number, self._game["id"], seen, self._game["version"])

    # -- asking ----------------------------------------------------------------------------------

    def _asked(self, path: str, body: Any, token: str | None) -> Asked:
        self._keys += 1
        headers = {"Idempotency-Key": f"player-{self._number}-request-{self._keys:06}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return Asked(path, body, headers)

    async def _settled(self, asked: Asked, server: int | None = None) -> Answered:
        """Asks, again and again with the same key, until there is an answer."""
        place = self._server if server is None else server
        while True:
            place = await self._servers.one_that_is_up(place)
            number = self._history.invoke(self._number, asked, place)
            try:
                answer = await asyncio.wait_for(self._ask(asked, place), _PATIENCE_S)
            except _BROKEN as error:
                self._history.unknown(number, type(error).__name__)
                place += 1
                continue
            if answer.status >= 500:
                self._history.unknown(number, str(answer.status))
                await asyncio.sleep(_TURNED_AWAY_S)
                continue
            if answer.status < 300:
                self._history.ok(number, answer)
            else:
                self._history.fail(number, answer)
            self._server = place
            return answer

    async def _ask(self, asked: Asked, place: int) -> Answered:
        """Over a connection that nobody else uses meanwhile, kept if it goes well."""
        line = self._lines.pop(place, None)
        if line is None:
            line = await asyncio.open_connection("127.0.0.1", self._servers.port(place))
        try:
            answer = await ask(*line, asked)
        except BaseException:
            await hang_up(line[1])
            raise
        if place in self._lines or answer.headers.get("connection") == "close":
            await hang_up(line[1])
        else:
            self._lines[place] = line
        return answer
