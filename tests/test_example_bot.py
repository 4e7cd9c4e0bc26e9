"""The example bot when things go wrong: it goes on, does nothing twice, and says what is wrong."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from tests.game_client import Table, create
from tests.server import Server

BOT = Path(__file__).parents[1] / "examples" / "bot.py"
PATIENCE_S = 30
Bot: TypeAlias = "subprocess.Popen[str]"


def started(*arguments: str) -> Bot:
    command = [sys.executable, str(BOT), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


@contextmanager
def at(table: Table, url: str) -> Iterator[Bot]:
    """A bot at a table, which does not outlive the test."""
    with started(url, table.id, "Robot") as bot:
        try:
            yield bot
        finally:
            bot.kill()


def until_it_waits(api: httpx.Client, bot: Bot) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while 'cubilete_listeners{kind="long_poll"} 1.0' not in api.get("/metrics").text:
        assert bot.poll() is None, bot.communicate()
        assert time.monotonic() < deadline


def told(bot: Bot) -> str:
    """The next line of what it tells about its troubles."""
    assert bot.stderr is not None
    return bot.stderr.readline()


def test_a_server_that_restarts_while_the_bot_waits_is_asked_again(own: Server):
    with own.client() as api:
        table = create(api, names=["Ana", None], options={"starter": "seat"})
        with at(table, own.url) as bot:
            until_it_waits(api, bot)
            own.kill()
            assert told(bot).endswith("again in 1 s\n")
            own.start()
            until_it_waits(api, bot)
            table.act(0, "resign")
            assert bot.communicate(timeout=PATIENCE_S)[0].startswith("Robot won")
            assert bot.returncode == 0


def test_who_asks_too_often_waits_as_long_as_it_is_told(tmp_path: Path):
    with Server(tmp_path / "data", CUBILETE_RATE_ACTIONS="30") as server, server.client() as api:
        against = [{}, {"bot": "hold_20"}]
        table = create(api, seats=against, options={"target": 1000})
        with at(table, server.url) as bot:
            assert told(bot) in ("429, again in 1 s\n", "429, again in 2 s\n")
            version = table.version
            while table.version == version:
                assert bot.poll() is None, bot.communicate()


class Forgetful(ThreadingHTTPServer):
    """Hands requests on to ``server``; of each path the first answer to a POST is lost on its way
    back. ``keys`` are those of the changes, in the order in which they were asked for."""

    def __init__(self, server: Server) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.api = server.client()
        self.lost: set[str] = set()
        self.keys: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Forgetful

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = dict(self.headers)
        answer = self.server.api.request(self.command, self.path, content=body, headers=headers)
        if self.command == "POST":
            self.server.keys.append(headers["Idempotency-Key"])
            if self.path not in self.server.lost:
                self.server.lost.add(self.path)
                return
        self.send_response(answer.status_code)
        for name in ("Content-Type", "Content-Length", "ETag"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.end_headers()
        self.wfile.write(answer.content)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Nothing: what a test prints is about the test."""


@contextmanager
def forgetful(server: Server) -> Iterator[Forgetful]:
    with Forgetful(server) as relay:
        serving = threading.Thread(target=relay.serve_forever)
        serving.start()
        try:
            yield relay
        finally:
            relay.shutdown()
            serving.join()
            relay.api.close()


def test_what_was_not_answered_is_asked_again_with_the_same_key(
    server: Server, client: httpx.Client
):
    options = {"target": 10, "starter": "seat"}
    table = create(client, options=options, seats=[{}, {"bot": "hold_20"}])
    with forgetful(server) as relay, at(table, f"http://127.0.0.1:{relay.server_port}") as bot:
        _, errors = bot.communicate(timeout=PATIENCE_S)
        assert (bot.returncode, len(errors.splitlines())) == (0, 2), errors
    keys = relay.keys
    join, action = keys[0], keys[2]
    assert keys[:4] == [join, join, action, action]
    assert len(set(keys)) == len(keys) - 2
    own = [
        entry["type"]
        for entry in client.get(f"{table.path}/log").json()["entries"]
        if entry["data"].get("seat") == 0 and entry["type"] in ("joined", "acted")
    ]
    assert len(own) == len(set(keys))


def test_a_refusal_is_told_in_its_own_words(server: Server):
    bot = started(server.url, "g" * 26, "Robot")
    assert bot.communicate(timeout=PATIENCE_S) == ("", "No game has this id.\n")
    assert bot.returncode == 1


def test_who_gives_other_arguments_is_told_which_are_wanted(server: Server):
    bot = started(server.url, "Robot")
    assert bot.communicate(timeout=PATIENCE_S)[1].startswith("usage: ")
    assert bot.returncode == 1
