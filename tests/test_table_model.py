"""A table under everything that its people may ask in any order, against a model of a few lines:
who sits where, which version it is, and where the chips are."""

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from service.verify import verify_log
from tests.game_client import Json, Table, create, some_action
from tests.server import Server

BANKROLL = 20
SEATS = 3
_running: list[Server] = []


@pytest.fixture(autouse=True)
def _server(server: Server) -> Iterator[None]:
    _running.append(server)
    yield
    _running.pop()


class AtATable(RuleBasedStateMachine):
    """Dados puercos with bets. ``seats`` holds who sits where; ``version`` counts the entries.

    Which rules may be tried next is never the dice's choice, and so not when the game is over:
    the same example is tried again, and then they fall otherwise.
    """

    @initialize(full=st.sampled_from([False, True, True]))
    def create(self, full: bool) -> None:
        self.client = _running[-1].client()
        names = ["Ana", None, None]
        options = {"mode": "turns", "bankroll": BANKROLL, "bets": 3}
        self.table: Table = create(
            self.client, "dados-puercos", names, options=options, start=False
        )
        self.seats: list[str | None] = list(names)
        self.tokens: dict[int, str] = dict(self.table.tokens)
        self.version: int = self.table.created["version"]
        self.status = "waiting"
        self.void_tokens: list[str] = []
        if full:
            self.join(1, "Ben")
            self.join(2, "Eva")
            self.start()

    def teardown(self) -> None:
        if hasattr(self, "client"):
            whole = self.table.send("GET", "/log", headers={"accept": "application/jsonl"})
            claim = self.status if self.status in ("finished", "void") else "incomplete"
            report = verify_log(whole.content, claim=claim)
            assert report.ok, report.text()
            self.client.close()

    # -- what is asked ---------------------------------------------------------------------------

    def ask(self, good: bool, method: str, path: str, body: Json | None, token: str) -> Json:
        """A change, which is made if it is good and else changes nothing."""
        answer = self.table.send(method, path, body, token=token)
        assert answer.is_success == good, f"{method} {path}: {answer.status_code} {answer.text}"
        told: Json = answer.json()
        if good:
            self.version = told["game"]["version"]
            self.status = told["game"]["status"]
        return told

    @property
    def waiting(self) -> bool:
        return self.status == "waiting"

    @rule(seat=st.integers(0, SEATS - 1), name=st.sampled_from(["Ben", "Eva", "Zoë", "Ana"]))
    def join(self, seat: int, name: str) -> None:
        good = self.waiting and self.seats[seat] is None and name not in self.seats
        answer = self.table.join({"seat": seat, "name": name})
        assert answer.is_success == good, answer.text
        if good:
            self.seats[seat], self.version = name, self.version + 1
            self.tokens[seat] = answer.json()["token"]

    @rule(seat=st.integers(0, SEATS - 1), by_host=st.booleans())
    def leave(self, seat: int, by_host: bool) -> None:
        """A seat leaves, or the host removes it; never once the game has started."""
        token = self.table.host if by_host else self.tokens.get(seat, "cub_seat_" + "A" * 43)
        good = self.waiting and self.seats[seat] is not None
        self.ask(good, "DELETE", f"/seats/{seat}", None, token)
        if good:
            self.seats[seat] = None
            self.void_tokens.append(self.tokens.pop(seat))

    @rule(seat=st.integers(0, SEATS - 1), name=st.sampled_from(["Bo", "Ida"]))
    def rename(self, seat: int, name: str) -> None:
        others = [held for place, held in enumerate(self.seats) if place != seat]
        good = self.waiting and self.seats[seat] is not None and name not in others
        self.ask(good, "PATCH", f"/seats/{seat}", {"name": name}, self.table.host)
        if good:
            self.seats[seat] = name

    @rule(seat=st.integers(0, SEATS - 1))
    def rotate(self, seat: int) -> None:
        if seat in self.tokens:
            before = self.tokens[seat]
            told = self.ask(True, "POST", f"/seats/{seat}/token", None, before)
            self.tokens[seat] = told["token"]
            self.void_tokens.append(before)

    @rule()
    def start(self) -> None:
        good = self.waiting and None not in self.seats
        self.ask(good, "POST", "/start", None, self.table.host)

    @precondition(lambda self: not self.waiting)
    @rule()
    def void(self) -> None:
        """The host ends nothing that has started."""
        self.ask(False, "POST", "/void", None, self.table.host)

    @precondition(lambda self: not self.waiting)
    @rule(seat=st.integers(0, SEATS - 1))
    def play_for_another(self, seat: int) -> None:
        """Neither the host nor a seat acts for a seat that is not theirs."""
        other = self.tokens[(seat + 1) % SEATS]
        body = {"kind": "roll", "seat": seat}
        for token in (self.table.host, other):
            self.ask(False, "POST", "/actions", body, token)

    @precondition(lambda self: not self.waiting)
    @rule(choices=st.lists(st.integers(0, 99), min_size=1, max_size=12))
    def act(self, choices: list[int]) -> None:
        for choice in choices:
            legal = self.table.read()["legal_actions"]
            if not legal:
                return
            one, before = legal[choice % len(legal)], self.version
            asked = some_action(one, choice)
            self.ask(True, "POST", "/actions", asked, self.tokens[one["seat"]])
            assert self.version > before
            self.the_game_is_the_model()

    @precondition(lambda self: not self.waiting)
    @rule(seat=st.integers(0, SEATS - 1), kind=st.sampled_from(["roll", "hold", "bet", "pass"]))
    def act_anyhow(self, seat: int, kind: str) -> None:
        if self.status != "playing":
            return
        legal = [(one["seat"], one["kind"]) for one in self.table.read()["legal_actions"]]
        if (seat, kind) not in legal:
            body: dict[str, Any] = {"kind": kind} | ({"amount": 1} if kind == "bet" else {})
            self.ask(False, "POST", "/actions", body, self.tokens[seat])

    @precondition(lambda self: not self.waiting)
    @rule(seat=st.integers(0, SEATS - 1))
    def resign(self, seat: int) -> None:
        """In the middle of a bet too: what was staked stays in the pot."""
        if self.status != "playing":
            return
        out = seat in self.table.read()["state"]["out"]
        self.ask(not out, "POST", "/actions", {"kind": "resign"}, self.tokens[seat])

    @rule(seat=st.integers(0, SEATS - 1))
    def use_a_void_token(self, seat: int) -> None:
        for token in self.void_tokens[-2:]:
            answer = self.table.post("/actions", {"kind": "roll", "seat": seat}, token=token)
            assert (answer.status_code, answer.json()["code"]) == (401, "token_unknown")

    # -- what must hold --------------------------------------------------------------------------

    @invariant()
    def the_game_is_the_model(self) -> None:
        game = self.table.read()
        assert (game["version"], game["status"]) == (self.version, self.status)
        assert [one["name"] for one in game["players"]] == self.seats
        state = game["state"]
        if state is not None:
            assert min(state["chips"]) >= 0
            pot = state["pot"] if game["outcome"] is None else 0
            chips = state["chips"] if game["outcome"] is None else game["outcome"]["chips"]
            assert sum(chips) + pot == BANKROLL * SEATS
        if self.waiting:
            assert game["dice"]["root"] is None


TestATable = AtATable.TestCase
TestATable.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
