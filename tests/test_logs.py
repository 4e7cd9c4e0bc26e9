"""What is written: one JSON object a line, whatever a caller sends, and no secret."""

import json
import logging
import re
import sys
import time

import pytest

from service.api.access import JsonLine
from tests.game_client import create
from tests.raw import exchange, wire
from tests.server import Server

PATIENCE_S = 20
CANARY = "canary51c0de"
HOSTILE = {
    "escape": b"/v1/games/\x1b[31m",
    "escaped escape": b"/v1/games/%1b[31m",
    "CRLF": b"/v1/games/%0d%0a{%22level%22:%22error%22}",
    "line separators": b"/v1/games/%e2%80%a8x%e2%80%a9x%c2%85",
    "bytes": b"/v1/games/%ff%fe",
    "NUL": b"/v1/games/%00",
    "quotes": b"/v1/games/%22,%22status%22:200,%22x%22:%22",
    "a line of its own": b"/%0a%7b%22at%22%3a1%7d",
    "a long one": b"/v1/games/" + b"a" * 7000,
}


@pytest.fixture(scope="module")
def noted(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("noted"), CUBILETE_ACCESS_LOG="true") as running:
        yield running


def lines_of(server):
    """Every line of the log, each of which must be one JSON object in ASCII."""
    text = server.log.read_bytes()
    assert text.isascii()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text)
    return [json.loads(line) for line in text.decode().splitlines()]


def requests_of(server):
    return [line for line in lines_of(server) if line["log"] == "cubilete.access"]


def noted_since(server, before, count):
    """The next requests in the log; a line is written when its answer has left."""
    deadline = time.monotonic() + PATIENCE_S
    while len(found := requests_of(server)[before:]) < count:
        assert time.monotonic() < deadline, found
    assert len(found) == count
    return found


@pytest.mark.parametrize("target", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_path_is_one_line(noted, target):
    before = len(requests_of(noted))
    agent = ("User-Agent", b"x\x1b[2J " + CANARY.encode() + b"\xff")
    answer = exchange(noted, wire("GET", target, [agent]))
    if answer.status != 400:  # what is no HTTP reaches no log
        (line,) = noted_since(noted, before, 1)
        assert line["status"] == answer.status
        assert len(line["path"]) <= 300
        assert line.keys() == {
            "at",
            "level",
            "log",
            "message",
            "method",
            "path",
            "status",
            "ms",
        } | {"caller"}
    assert CANARY not in noted.log.read_text()


def test_each_request_is_a_line_with_its_answer(noted):
    before = len(requests_of(noted))
    with noted.client() as client:
        table = create(client, options={"starter": "seat"})
        table.act(0, "roll")
        client.head(table.path)
        client.get("/nothing")
    told = [
        (line["method"], line["path"], line["status"]) for line in noted_since(noted, before, 4)
    ]
    assert told == [
        ("POST", "/v1/games", 201),
        ("POST", f"{table.path}/actions", 200),
        ("HEAD", table.path, 200),
        ("GET", "/nothing", 404),
    ]
    assert {line["caller"] for line in requests_of(noted)} == {"127.0.0.1"}


def test_no_token_is_written_wherever_it_was_sent(noted):
    with noted.client() as client:
        table = create(client)
        for token in (table.host, *table.tokens.values()):
            client.get(table.path, params={"token": token})
            client.get(table.path, headers={"Authorization": f"Bearer {token}", "X-Token": token})
            client.post(f"{table.path}/actions", json={"kind": token})
    assert "cub_" not in noted.log.read_text()


def test_without_the_setting_no_request_is_written(server, client):
    client.get("/nothing")
    assert not requests_of(server)


def test_an_exception_is_one_line():
    try:
        raise ValueError("one\ntwo\x1b[31m\u2028three")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            *("x", logging.ERROR, __file__, 1, "a request\nfailed: %s", ("é\r",)),
            exc_info=sys.exc_info(),
        )
    line = JsonLine().format(record)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    told = json.loads(line)
    assert told["message"] == "a request\nfailed: é\r"
    assert told["exception"].startswith("Traceback")
