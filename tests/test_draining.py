"""A server that ends: it is not ready, tells its streams, finishes what it has begun, exits 0."""

import signal
import socket
import threading
import time

import pytest

from tests.game_client import create
from tests.listener import listening
from tests.postgres import POSTGRESQL, migrated_url
from tests.server import Server
from tests.test_long_polls import wait

AT_ONCE = {"starter": "seat", "target": 1000}


@pytest.fixture
def slow_to_end(tmp_path):
    """A server that serves on for a while after it is told to end."""
    server = Server(tmp_path / "data", CUBILETE_DRAIN_SECONDS="3")
    yield server.start()
    server.stop()


def test_a_server_ends_with_exit_code_0_and_soon(own):
    with own.client() as client:
        create(client)
    began = time.monotonic()
    assert own.stop() == 0
    assert time.monotonic() - began < 10
    assert "Traceback" not in own.log.read_text()


def test_a_second_signal_does_no_harm(own):
    with own.client() as client, listening(client, f"{create(client).path}/stream") as heard:
        heard.until("snapshot")
        for _ in range(5):
            own.send(signal.SIGTERM)
        heard.until("server_closing")
    assert own.stop() == 0
    assert "Traceback" not in own.log.read_text()


def test_a_server_that_is_stopped_at_the_keyboard_exits_0_as_well(own):
    own.send(signal.SIGINT)
    assert own.stop() == 0


def test_streams_are_told_that_the_server_closes_and_when_to_come_back(own):
    with own.client() as client:
        paths = [f"{create(client, options=AT_ONCE).path}/stream" for _ in range(3)]
        with (
            listening(client, paths[0]) as one,
            listening(client, paths[1]) as two,
            listening(client, paths[2]) as three,
        ):
            for heard in (one, two, three):
                heard.until("snapshot")
            own.send(signal.SIGTERM)
            for heard in (one, two, three):
                *_, last = heard.until("server_closing")
                assert 1000 <= (last.retry_ms or 0) <= 3000
                assert last.id is None, "it resumes from the log"
                assert list(heard) == []


def test_long_polls_are_answered_when_the_server_closes(own):
    answers = []
    with own.client() as client:
        table = create(client, options=AT_ONCE)

        def poll():
            with own.client() as other:
                answers.append(wait(table, 60, f'"{table.created["version"]}"', other))

        waiting = threading.Thread(target=poll)
        waiting.start()
        while 'kind="long_poll"} 1.0' not in client.get("/metrics").text:
            assert waiting.is_alive()
        began = time.monotonic()
        own.send(signal.SIGTERM)
        waiting.join(20)
    assert (answers[0].status_code, time.monotonic() - began < 10) == (304, True)


def test_a_server_that_ends_is_alive_but_not_ready_and_serves_until_its_time(slow_to_end):
    with slow_to_end.client() as client:
        table = create(client, options=AT_ONCE)
        assert client.get("/readyz").status_code == 200
        slow_to_end.send(signal.SIGTERM)
        while (answer := client.get("/readyz")).status_code == 200:
            pass
        assert answer.json()["code"] == "unavailable"
        assert client.get("/livez").status_code == 200
        assert table.act(0, "roll").status_code == 200
        assert client.get(f"{table.path}/stream").status_code == 503
    assert slow_to_end.stop() == 0


@pytest.mark.parametrize(
    ("used", "begun"),
    [(False, False), (False, True), (True, True)],
    ids=["fresh", "begun", "used and begun"],
)
def test_a_connection_that_was_let_in_before_the_end_is_still_answered(own, used, begun):
    request = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    with own.client() as client:
        create(client)
    with socket.create_connection(("127.0.0.1", own.port)) as early:
        early.settimeout(20)
        if used:
            early.sendall(request)
            assert early.recv(65536).startswith(b"HTTP/1.1 200 ")
        if begun:
            early.sendall(request[:10])
            request = request[10:]
        # Only a request on another connection shows that this one has been let in.
        with own.client() as client:
            client.get("/livez")
        own.send(signal.SIGTERM)
        while True:
            try:
                socket.create_connection(("127.0.0.1", own.port), 1).close()
            except OSError:
                break
        early.sendall(request)
        answer = early.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer.lower()
    assert own.stop() == 0


@pytest.mark.skipif(not POSTGRESQL, reason="no PostgreSQL here")
def test_several_workers_end_with_exit_code_0_and_tell_their_streams(request, tmp_path):
    url = migrated_url(POSTGRESQL[0], request, tmp_path, "draining")
    variables = {"CUBILETE_DATABASE_URL": url, "CUBILETE_WORKERS": "2"}
    server = Server(tmp_path / "data", **variables).start()
    with server.client() as client:
        table = create(client, options=AT_ONCE)
        with listening(client, f"{table.path}/stream") as heard:
            heard.until("snapshot")
            server.send(signal.SIGTERM)
            heard.until("server_closing")
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 10
