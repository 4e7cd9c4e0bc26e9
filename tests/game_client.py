"""Tables to test with: games created and played over HTTP, each answer handed over as it came.

For tests of the answers, refusals included. ``tests.player`` is for tests of what a game leaves
behind: there every request must succeed, and the game and its receipts are remembered.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

Json = dict[str, Any]


def bearer(token: str | None) -> dict[str, str]:
    """The header that carries a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def keyed(key: str) -> dict[str, str]:
    """The header that makes a request safe to repeat."""
    return {"Idempotency-Key": key}


def new_key() -> str:
    """A key that nobody guesses."""
    return secrets.token_urlsafe(24)


class Table:
    """A game with the tokens that its creator was given."""

    def __init__(self, client: httpx.Client, created: Json) -> None:
        self.client = client
        self.id: str = created["game"]["id"]
        self.path = f"/v1/games/{self.id}"
        self.created: Json = created["game"]
        self.host: str = created["tokens"]["host"]
        self.tokens: dict[int, str] = {
            one["seat"]: one["token"] for one in created["tokens"]["seats"]
        }

    def read(self, **query: Any) -> Json:
        """The game now, or at ``version``."""
        answer = self.client.get(self.path, params=query)
        assert answer.status_code == 200, answer.text
        game: Json = answer.json()
        return game

    @property
    def version(self) -> int:
        return int(self.read()["version"])

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """A request below the game's path."""
        given = {**bearer(token), **(headers or {})}
        content = {} if body is None else {"json": body}
        return self.client.request(method, f"{self.path}{path}", headers=given, **content)

    def post(
        self,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """A POST below the game's path, by the host if no token is named."""
        return self.send("POST", path, body, token=token or self.host, headers=headers)

    def join(self, body: Json | None = None, **headers: str) -> httpx.Response:
        """Joins without a token."""
        return self.send("POST", "/seats", body or {}, headers=headers)

    def act(
        self, by: int, kind: str, headers: Mapping[str, str] | None = None, **fields: Any
    ) -> httpx.Response:
        """An action by a seat's own token."""
        body = {"kind": kind, **fields}
        return self.post("/actions", body, token=self.tokens[by], headers=headers)

    def play(self, limit: int = 2_000) -> list[Json]:
        """Plays legal actions until the game ends; returns the game after each of them."""
        games = [self.read()]
        for number in range(limit):
            if games[-1]["status"] != "playing":
                return games
            answer = self.step(games[-1], number)
            assert answer.status_code == 200, answer.text
            games.append(answer.json()["game"])
        return games

    def step(self, game: Json, number: int = 0) -> httpx.Response:
        """One of the legal actions, with one of its parameters."""
        legal = game["legal_actions"]
        chosen = legal[number % len(legal)]
        action = some_action(chosen, number)
        hot = game["hotseat"] or chosen["seat"] is None
        if game["hotseat"] and chosen["seat"] is not None:
            action["seat"] = chosen["seat"]
        token = self.host if hot else self.tokens[chosen["seat"]]
        return self.post("/actions", action, token=token)


def some_action(legal: Json, number: int) -> Json:
    """A legal action as it is asked for, with parameters that vary with the number."""
    action: Json = {"kind": legal["kind"]}
    if "max" in legal:
        action["amount"] = legal["min"] if number % 3 else legal["max"]
    if "dice" in legal:
        action["mask"] = [(number >> die) % 2 == 0 for die in range(legal["dice"])]
    return action


def new_game(
    ruleset: str = "pig", names: Sequence[str | None] = ("Ana", "Ben"), **more: Any
) -> Json:
    """The body that creates a game; a null name leaves the seat open."""
    seats = [{} if name is None else {"name": name} for name in names]
    return {"ruleset": ruleset, "seats": seats, **more}


def create(
    client: httpx.Client,
    ruleset: str = "pig",
    names: Sequence[str | None] = ("Ana", "Ben"),
    **more: Any,
) -> Table:
    """A game that is created now."""
    answer = client.post("/v1/games", json=new_game(ruleset, names, **more))
    assert answer.status_code == 201, answer.text
    return Table(client, answer.json())
