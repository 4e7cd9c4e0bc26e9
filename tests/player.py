"""A player of the API for tests of what a game leaves behind: its log, record, seeds and receipts.

Every request must succeed, and the game is remembered. Tests of the answers themselves, refusals
included, use ``tests.game_client``, which remembers nothing and hands every answer over.
"""

from typing import Any

import httpx

from tests.game_client import bearer, new_game


class Player:
    """Talks to one server; remembers the tokens of one game and every answer's receipt."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.game: dict[str, Any] = {}
        self.host = ""
        self.seats: dict[int, str] = {}
        self.receipts: list[dict[str, Any]] = []

    @property
    def path(self) -> str:
        return f"/v1/games/{self.game['id']}"

    @property
    def commitment(self) -> str:
        text: str = self.game["dice"]["commitment"]
        return text

    def create(self, ruleset: str = "pig", *names: str | None, **body: Any) -> dict[str, Any]:
        asked = new_game(ruleset, names or ("Ana", "Ben"), **body)
        answer = self.ask("POST", "/v1/games", asked)
        self.host = answer["tokens"]["host"]
        self.seats = {seat["seat"]: seat["token"] for seat in answer["tokens"]["seats"]}
        return answer

    def join(self, **body: Any) -> dict[str, Any]:
        answer = self.ask("POST", f"{self.path}/seats", body)
        self.seats[answer["seat"]] = answer["token"]
        return answer

    def act(self, kind: str, seat: int | None = None, **parameters: Any) -> dict[str, Any]:
        """An action of the seat whose turn it is, or of ``seat``."""
        acting = self.game["to_act"][0] if seat is None else seat
        body = {"kind": kind, **parameters}
        return self.ask("POST", f"{self.path}/actions", body, self.seats[acting])

    def play(self, holds_at: int = 20) -> None:
        """Plays a jeopardy dice game to its end."""
        while self.game["status"] == "playing":
            kinds = [legal["kind"] for legal in self.game["legal_actions"]]
            state = self.game["state"]
            holds = "hold" in kinds and state["turn_total"] >= holds_at
            self.act("hold" if holds else "roll")

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, status: int = 0
    ) -> dict[str, Any]:
        """A request that must be answered with ``status`` (0: any 2xx)."""
        answer = self.client.request(method, path, json=body, headers=bearer(token))
        good = answer.status_code == status if status else answer.is_success
        assert good, f"{method} {path}: {answer.status_code} {answer.text}"
        told: dict[str, Any] = answer.json()
        if answer.is_success:
            self.game = told.get("game", self.game)
            if told.get("receipt"):
                self.receipts.append(told["receipt"])
        return told

    def read(self) -> dict[str, Any]:
        self.game = self.client.get(self.path).json()
        return self.game

    def log(self) -> bytes:
        return self.client.get(f"{self.path}/log", headers={"accept": "application/jsonl"}).content

    def record(self) -> bytes:
        return self.client.get(f"{self.path}/audit").content

    def public_keys(self) -> list[str]:
        told = self.client.get("/.well-known/fair-dice.json").json()
        return [key["public_key"] for key in told["keys"]]
