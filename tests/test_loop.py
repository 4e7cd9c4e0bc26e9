"""Nothing keeps the event loop from the others: no callback of it computes for long.

The server runs in this process, on a loop that measures the processor time of each callback: unlike
the time of the clock it does not depend on what else the machine does.
"""

import asyncio
import json
import socket
import sys
import threading
import time
from asyncio import events
from contextlib import asynccontextmanager

import httpx
import pytest

from service.api.app import create_app
from service.settings import Settings
from tests.game_client import bearer, new_game
from tests.hosted import run

LIMIT_S = 0.05
ENTRIES = 1_100


# What waits for something outside, as the interpreter reports it to audit hooks.
WAITS = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "fcntl.flock")
OURS = ("start", "the test")


class Lags:
    """The longest that a callback has computed, and what has waited on the loop, by what was asked
    meanwhile."""

    def __init__(self) -> None:
        self.asked = "start"
        self.longest: dict[str, float] = {}
        self.waited: set[tuple[str, str]] = set()
        self.thread = threading.get_ident()

    def heard(self, event: str, _: object) -> None:
        if event in WAITS and threading.get_ident() == self.thread:
            self.waited.add((self.asked, event))

    def note(self, took_s: float) -> None:
        self.longest[self.asked] = max(self.longest.get(self.asked, 0.0), took_s)


@pytest.fixture
def lags(monkeypatch: pytest.MonkeyPatch) -> Lags:
    found = Lags()
    run_handle = events.Handle._run

    def measured(handle: events.Handle) -> None:
        began = time.thread_time()
        run_handle(handle)
        found.note(time.thread_time() - began)

    monkeypatch.setattr(events.Handle, "_run", measured)
    sys.addaudithook(found.heard)  # for good: hooks can't be taken away
    return found


@asynccontextmanager
async def serving(settings: Settings, lags: Lags):
    app = create_app(settings)
    transport = httpx.ASGITransport(app)

    async def before(request: httpx.Request) -> None:
        await asyncio.sleep(0)  # what the test itself computes is no part of it
        lags.asked = f"{request.method} {request.url.path.rpartition('/')[2]} {request.url.query!r}"

    async def after(_: httpx.Response) -> None:
        await asyncio.sleep(0)
        lags.asked = "the test"

    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=transport,
            base_url="http://cubilete",
            timeout=60,
            event_hooks={"request": [before], "response": [after]},
        ) as client,
    ):
        yield client


async def long_game(client: httpx.AsyncClient) -> str:
    """A game with a long log: the path of it."""
    body = new_game("pig", options={"target": 10_000, "starter": "seat"}, hotseat=True)
    created = (await client.post("/v1/games", json=body)).json()
    path, headers = f"/v1/games/{created['game']['id']}", bearer(created["tokens"]["host"])
    game = created["game"]
    while game["version"] < ENTRIES:
        hold = any(legal["kind"] == "hold" for legal in game["legal_actions"])
        sits = game["legal_actions"][0]["seat"]
        action = {"kind": "hold" if hold else "roll", "seat": sits}
        answer = await client.post(f"{path}/actions", json=action, headers=headers)
        assert answer.status_code == 200, answer.text
        game = answer.json()["game"]
    return path


def test_no_request_keeps_the_loop_for_long(tmp_path, lags):
    async def story():
        settings = Settings(data_dir=tmp_path / "data", rate_actions=0, rate_token=0)
        async with serving(settings, lags) as client:
            path = await long_game(client)
            record = (await client.get(f"{path}/audit")).content
            assert len(json.loads(record)["log"]) >= ENTRIES
            for target in (
                *(path, f"{path}?version=1050", f"{path}/log?limit=100", f"{path}/head"),
                *("/v1/games", "/v1/rulesets", "/v1/rulesets/dice-duel", "/v1/rulesets/pig"),
                *("/openapi.json", "/docs", "/docs/swagger-ui-bundle.js", "/verify"),
                *("/verify/verify.js", "/metrics", "/version", "/readyz", "/nothing"),
            ):
                assert (await client.get(target)).status_code in (200, 404)
            lines = await client.get(f"{path}/log", headers={"Accept": "application/jsonl"})
            assert lines.content.count(b"\n") >= ENTRIES
            headers = {"Content-Type": "application/json"}
            report = await client.post("/v1/audits", content=record, headers=headers)
            assert report.json()["ok"], report.text
            large = b'{"ruleset":"pig","x":[' + b"[]," * 20_000 + b"1]}"
            answer = await client.post("/v1/games", content=large, headers=headers)
            assert answer.status_code == 422
            deck = {"penalty": {"kind": "forfeit", "deck": ["x" * 40] * 1_000}}
            body = new_game("dice-duel", options=deck)
            assert (await client.post("/v1/games", json=body)).status_code in (201, 422)

    run(story())
    slow = {asked: took_s for asked, took_s in lags.longest.items() if took_s > LIMIT_S}
    slow = {asked: took_s for asked, took_s in slow.items() if asked not in OURS}

    assert not {asked for asked, _ in lags.waited} - set(OURS)
    assert not slow, sorted(lags.longest.items(), key=lambda one: -one[1])[:8]


def test_a_callback_that_computes_for_long_or_waits_would_be_found(lags):
    async def story():
        until = time.thread_time() + 2 * LIMIT_S
        while time.thread_time() < until:
            pass
        socket.getaddrinfo("127.0.0.1", 1)

    asyncio.run(story())
    assert lags.longest["start"] > LIMIT_S
    assert lags.waited == {("start", "socket.getaddrinfo")}
