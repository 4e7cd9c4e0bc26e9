"""Connections: what comes slowly, what is too large, what is too many. Bytes on real sockets."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.api.connection import HEAD_LIMIT, HEADERS_LIMIT, TARGET_LIMIT, ConnectionLimits
from service.settings import Settings
from tests.game_client import create
from tests.raw import Raw, exchange, wire
from tests.server import Server

DEADLINE_S = 1.0
SEND_S = 1.0
PATIENCE_S = 15
SLOW = int(os.environ.get("CUBILETE_TESTS_SLOW", "200"))  # 1000 for the long form
CONNECTIONS = SLOW + 100
PER_ADDRESS = 200
JSON = ("Content-Type", "application/json")
HEAD = b"GET /livez HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A server that waits a second for a request and has room for few connections."""
    with Server(
        tmp_path_factory.mktemp("quick"),
        CUBILETE_RECEIVE_TIMEOUT_S=str(DEADLINE_S),
        CUBILETE_SEND_TIMEOUT_S=str(SEND_S),
        CUBILETE_CONNECTION_LIMIT=str(CONNECTIONS),
        CUBILETE_CONNECTIONS_PER_ADDRESS=str(PER_ADDRESS),
    ) as running:
        yield running


def connect(server, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", server.port), PATIENCE_S, (source, 0))


def rest_of(line):
    """All that comes until the server ends the connection."""
    got = bytearray()
    try:
        while piece := line.recv(65_536):
            got += piece
    except ConnectionResetError:
        pass
    return Raw(bytes(got))


def ask(line):
    """A whole request and its whole answer, on a connection that goes on."""
    line.sendall(HEAD + b"\r\n")
    got = b""
    while not got.endswith(b"}"):
        piece = line.recv(65_536)
        assert piece, got
        got += piece
    assert got.startswith(b"HTTP/1.1 200")


def until_it_is_cut(server, *pieces, every_s=0.2):
    """Sends the pieces, then the last one again and again; returns the answer and the seconds."""
    began = time.monotonic()
    with connect(server) as line:
        got = bytearray()
        line.settimeout(every_s)
        for piece in pieces:
            line.sendall(piece)
        while time.monotonic() - began < PATIENCE_S:
            try:
                piece = line.recv(65_536)
                if not piece:
                    break
                got += piece
            except TimeoutError:
                try:
                    line.sendall(pieces[-1][-1:] if pieces else b"")
                except OSError:
                    break
            except OSError:
                break
        return Raw(bytes(got)), time.monotonic() - began


def require_problem(answer, status, code):
    assert answer.status == status, answer.wire[:500]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["code"] == code
    assert int(answer.headers["content-length"]) == len(answer.body)


# --- slow ---------------------------------------------------------------------------------------


def test_without_a_setting_a_request_may_take_ten_seconds():
    settings = Settings()
    assert settings.receive_timeout_s == ConnectionLimits().receive_s == 10
    assert settings.send_timeout_s == ConnectionLimits().send_s == 30


def test_a_silent_connection_is_ended_without_a_word(quick):
    answer, took_s = until_it_is_cut(quick)
    assert answer.wire == b""
    assert took_s < DEADLINE_S + 2


@pytest.mark.parametrize("start", [b"GET /", HEAD, HEAD + b"X-A: b"])
def test_a_head_that_comes_slowly_is_cut(quick, start):
    answer, took_s = until_it_is_cut(quick, start, b"a")
    require_problem(answer, 408, "request_timeout")
    assert DEADLINE_S / 2 < took_s < DEADLINE_S + 2


def test_empty_lines_are_no_request(quick):
    answer, took_s = until_it_is_cut(quick, b"\r\n", b"\n")
    assert answer.status in (0, 400)
    assert took_s < DEADLINE_S + 2


@pytest.mark.parametrize("path", ["/v1/games", "/v1/audits", "/livez"])
@pytest.mark.parametrize("how", ["Content-Length: 5000\r\n", "Transfer-Encoding: chunked\r\n"])
def test_a_body_that_comes_slowly_is_cut(quick, path, how):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{how}\r\n"
    if "chunked" in how:
        head += "1388\r\n"
    answer, took_s = until_it_is_cut(quick, head.encode() + b"{", b" ")
    assert answer.status in (405, 408)
    assert took_s < DEADLINE_S + 7


def test_a_second_request_on_a_connection_has_its_own_deadline(quick):
    with connect(quick) as line:
        ask(line)
        line.sendall(b"GET /liv")
        began = time.monotonic()
        require_problem(rest_of(line), 408, "request_timeout")
        assert time.monotonic() - began < DEADLINE_S + 2


def test_a_request_behind_another_one_has_a_deadline_too(quick):
    with connect(quick) as line:
        line.sendall(HEAD + b"\r\n" + b"GET /liv")
        answer = rest_of(line)
    assert answer.wire.startswith(b"HTTP/1.1 200")
    assert b"request_timeout" in answer.wire


@pytest.mark.parametrize("asked", [HEAD, HEAD.replace(b"livez", b"nowhere")])
def test_head_and_body_of_an_answer_leave_in_one_piece(quick, asked):
    with connect(quick) as line:
        for _ in range(20):
            line.sendall(asked + b"\r\n")
            answer = Raw(line.recv(65_536))
            assert len(answer.body) == int(answer.headers["content-length"]) > 0


@pytest.mark.parametrize("late", [b"", b"late!"], ids=["whole", "answered before it is whole"])
def test_an_idle_connection_is_closed_in_the_end(quick, late):
    with connect(quick) as line:
        if late:
            line.sendall(b"POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
            assert line.recv(65_536).startswith(b"HTTP/1.1 404")
            line.sendall(late)
        else:
            ask(line)
        began = time.monotonic()
        assert line.recv(100) == b""
        assert 4 <= time.monotonic() - began < PATIENCE_S


def test_an_idle_connection_is_kept_for_its_next_request(quick):
    with connect(quick) as line:
        for _ in range(3):
            ask(line)
            line.settimeout(DEADLINE_S + 0.6)
            with pytest.raises(TimeoutError):
                line.recv(1)
            line.settimeout(PATIENCE_S)


def test_an_upload_that_moves_is_not_cut(quick):
    body = json.dumps({"log": ["x" * 4_000_000]}).encode()
    head = wire("POST", "/v1/audits", [JSON], b"").replace(
        b"Content-Length: 0", b"Content-Length: %d" % len(body)
    )
    with connect(quick) as line:
        line.sendall(head)
        for start in range(0, len(body), 400_000):
            line.settimeout(0.3)
            with pytest.raises(TimeoutError):
                line.recv(1)
            line.settimeout(PATIENCE_S)
            line.sendall(body[start : start + 400_000])
        assert rest_of(line).status == 200


def test_a_client_that_reads_nothing_is_cut(quick):
    file = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n"
    with connect(quick) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        line.sendall(file * 20)
        began = time.monotonic()
        with quick.client() as client:
            size = len(client.get("/docs/swagger-ui-bundle.js").content)
            while time.monotonic() - began < 3 * SEND_S:  # nothing is read meanwhile
                assert client.get("/livez").elapsed.total_seconds() < 1
        assert len(rest_of(line).wire) < 10 * size


def test_slow_connections_by_the_hundred_leave_the_others_quick(quick):
    """Most of what fits is held by slow clients of other addresses; the healthy go on."""
    slow = [connect(quick, f"127.0.1.{place % 8 + 1}") for place in range(SLOW)]
    try:
        for place, line in enumerate(slow):
            line.sendall(HEAD[: place % len(HEAD)] or b"G")
        took_s = []
        with quick.client() as client:
            for _ in range(100):
                began = time.monotonic()
                assert client.get("/v1/rulesets").status_code == 200
                took_s.append(time.monotonic() - began)
        assert sorted(took_s)[98] < 0.25
        for line in slow:
            rest_of(line)  # each is ended by the server
    finally:
        for line in slow:
            line.close()


# --- too large ----------------------------------------------------------------------------------


def test_a_head_of_just_the_limit_is_read(server):
    used = len("/livez") + len("hostcubilete") + 4 + len("connectionclose") + 4 + len("x") + 4
    answer = exchange(server, wire("GET", "/livez", [("X", "a" * (HEAD_LIMIT - used))]))
    assert answer.status == 200
    answer = exchange(server, wire("GET", "/livez", [("X", "a" * (HEAD_LIMIT - used + 1))]))
    require_problem(answer, 431, "headers_too_large")


def test_a_head_behind_another_request_has_the_same_limit(server):
    for size, served in ((HEAD_LIMIT - 200, 2), (HEAD_LIMIT, 1)):
        answer = exchange(server, HEAD + b"\r\n" + wire("GET", "/livez", [("X", "a" * size)]))
        assert answer.wire.count(b"HTTP/1.1 200") == served


def test_headers_are_counted(server):
    many = [(f"X-{number}", "a") for number in range(HEADERS_LIMIT - 2)]
    assert exchange(server, wire("GET", "/livez", many)).status == 200
    answer = exchange(server, wire("GET", "/livez", [*many, ("X", "a")]))
    require_problem(answer, 431, "headers_too_large")


def test_a_target_that_is_too_long_is_refused(server):
    answer = exchange(server, wire("GET", "/v1/games?limit=" + "1" * TARGET_LIMIT))
    require_problem(answer, 414, "target_too_long")


@pytest.mark.parametrize(
    "start",
    [HEAD + b"X-A: ", HEAD + b"X: 1\r\n" * 4000, b"GET /", b"GET / HTTP/1.1\r\nHost: "],
    ids=["a value", "lines", "a target", "a host"],
)
def test_a_head_without_end_is_not_kept(server, start):
    answer = exchange(server, start + b"a" * 1_000_000)
    assert answer.status in (0, 400, 414, 431)


@pytest.mark.parametrize(
    "body", [b"5;" + b"a" * 1_000_000, b"2\r\n{}\r\n0\r\nX-A: " + b"b" * 1_000_000]
)
def test_chunks_cannot_be_wrapped_without_end(server, body):
    head = wire("POST", "/v1/games", [JSON, ("Transfer-Encoding", "chunked")])
    answer = exchange(server, head + body)
    assert answer.status in (0, 400, 422)


def test_a_body_that_nobody_reads_is_not_taken_without_end(server):
    head = b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 200000000\r\n\r\n"
    sent = 0
    with connect(server) as line:
        line.sendall(head)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while sent < 200_000_000:
                sent += line.send(b"a" * 1_000_000)
    assert sent < 100_000_000


# --- ambiguous ----------------------------------------------------------------------------------


def test_a_trailer_is_no_header(server, client):
    table = create(client, options={"starter": "seat"})
    token = f"Authorization: Bearer {table.tokens[0]}\r\n".encode()
    head = wire("POST", f"{table.path}/actions", [JSON, ("Transfer-Encoding", "chunked")])
    body = b'f\r\n{"kind":"roll"}\r\n0\r\n'
    answer = exchange(server, head + body + token + b"\r\n")
    assert answer.json()["code"] == "token_missing"
    with_header = head.replace(b"Connection", token.rstrip() + b"\r\nConnection", 1)
    assert exchange(server, with_header + body + b"\r\n").status == 200


@pytest.mark.parametrize(
    "coding",
    ["gzip, chunked", "chunked, chunked", "identity", "chunked;x=1", "xchunked", ""],
)
def test_only_plain_chunks_are_read(server, coding):
    head = wire("POST", "/v1/games", [JSON, ("Transfer-Encoding", coding)])
    answer = exchange(server, head + b"2\r\n{}\r\n0\r\n\r\n")
    require_problem(answer, 400, "malformed_request")


def test_chunked_twice_is_refused(server):
    lines = [JSON, ("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]
    answer = exchange(server, wire("POST", "/v1/games", lines) + b"2\r\n{}\r\n0\r\n\r\n")
    require_problem(answer, 400, "malformed_request")


def test_chunks_have_no_place_in_http_1_0(server):
    data = wire("POST", "/v1/games", [JSON, ("Transfer-Encoding", "chunked")])
    answer = exchange(server, data.replace(b"HTTP/1.1", b"HTTP/1.0") + b"2\r\n{}\r\n0\r\n\r\n")
    require_problem(answer, 400, "malformed_request")


@pytest.mark.parametrize(
    "data",
    [
        b"GET /livez\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked"
        b"\r\n\r\n0\r\n\r\n",
        b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"GET /livez HTTP/1.1\r\nHost : x\r\n\r\n",
    ],
    ids=["no version", "TLS", "length and chunks", "two lengths", "a space before the colon"],
)
def test_what_is_no_http_is_a_problem_and_the_end(server, data):
    require_problem(exchange(server, data), 400, "malformed_request")


def test_a_bad_chunk_end_is_the_end(server):
    head = wire("POST", "/v1/games", [JSON, ("Transfer-Encoding", "chunked")])
    answer = exchange(server, head + b"2\r\n{}XX0\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.status == 400
    assert answer.wire.count(b"HTTP/1.1") == 1


def test_what_follows_a_whole_request_does_not_take_its_answer(server):
    answer = exchange(server, HEAD + b"\r\n" + b"no HTTP at all\r\n\r\n")
    assert answer.wire.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "TLS/1.0"])
def test_a_request_to_change_the_protocol_is_answered_as_any_other(server, protocol):
    before = server.log.read_text("utf-8")
    headers = [
        ("Upgrade", protocol),
        ("Sec-WebSocket-Key", "A" * 22 + "=="),
        ("HTTP2-Settings", ""),
    ]
    data = wire("GET", "/livez", headers).replace(b"Connection: close", b"Connection: Upgrade")
    answer = exchange(server, data + wire("GET", "/livez"))
    assert answer.status == 200
    assert answer.wire.count(b"HTTP/1.1 200 ") == 2
    assert server.log.read_text("utf-8") == before


def test_all_that_ask_to_change_the_protocol_in_one_packet_are_answered(server, client):
    upgrade = [("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA")]
    tables = [create(client, start=False) for _ in range(3)]
    data = b"".join(
        void(table, b"{}", *upgrade, chunked=table is tables[1]).replace(
            b"Connection: close", b"Connection: Upgrade, HTTP2-Settings"
        )
        for table in tables
    )
    assert statuses(exchange(server, data + wire("GET", "/livez"))) == [200] * 4


def test_what_follows_a_request_to_change_the_protocol_is_read_as_strictly(server):
    asked = on(wire("GET", "/livez", [("Connection", "Upgrade"), ("Upgrade", "h2c")]))
    assert statuses(exchange(server, asked * 2 + b"no HTTP at all\r\n\r\n"))[:1] == [200]
    connect = b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"
    assert statuses(exchange(server, asked * 2 + connect + asked))[:2] == [200, 200]


def test_who_speaks_http_1_0_and_asks_for_more_is_answered_in_1_0(server):
    """Which needs no host, and ends the connection."""
    answer = exchange(server, b"GET /livez HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert (answer.status, answer.headers["connection"]) == (200, "close")


# --- too many -----------------------------------------------------------------------------------


def test_one_address_does_not_take_all_connections(quick):
    held = [connect(quick, "127.0.0.3") for _ in range(PER_ADDRESS)]
    try:
        for line in held:
            line.sendall(b"G")
        with connect(quick, "127.0.0.3") as more:
            more.sendall(HEAD + b"\r\n")
            answer = rest_of(more)
        require_problem(answer, 503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        with connect(quick, "127.0.0.4") as other:
            other.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert rest_of(other).status == 200
    finally:
        for line in held:
            line.close()


def test_a_connection_that_has_ended_makes_room(quick):
    for _ in range(3):
        held = [connect(quick, "127.0.0.5") for _ in range(PER_ADDRESS // 2)]
        for line in held:
            line.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert rest_of(line).status == 200
            line.close()


def test_many_at_once_are_served_or_told(server):
    together = threading.Barrier(32)

    def ask(_):
        together.wait(PATIENCE_S)
        return exchange(server, HEAD + b"Connection: close\r\n\r\n").status

    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(ask, range(32))) == {200}


# --- what is asked beside the request itself ------------------------------------------------------


def void(table, body, *headers, **how):
    """Asks to call a game off."""
    asked = [("Authorization", f"Bearer {table.host}"), JSON, *headers]
    return wire("POST", f"{table.path}/void", asked, body, **how)


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_counts_whatever_else_the_connection_could_speak(quick, protocol, chunked):
    with quick.client() as client:
        table = create(client, start=False)
    upgrade = [("Upgrade", protocol), ("HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA")]
    for body, status in ((b'{"expected_version":99}', 412), (b'{"nonsense":', 400), (b"{}", 200)):
        data = void(table, body, *upgrade, chunked=chunked).replace(
            b"Connection: close", b"Connection: Upgrade, HTTP2-Settings, close"
        )
        assert exchange(quick, data).status == status
        half = len(data) - 5
        with connect(quick) as line:  # and its body may come by itself
            line.sendall(data[:half])
            time.sleep(0.05)
            line.sendall(data[half:])
            assert rest_of(line).status == (409 if status == 200 else status)


def test_a_change_is_answered_to_who_sends_no_more(quick):
    with quick.client() as client:
        table = create(client, start=False)
    data = void(table, b"{}").replace(b"Connection: close\r\n", b"")
    assert exchange(quick, data, end=True).status == 200


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer.wire)]


def on(connection):
    """A request that does not ask to close the connection after it."""
    return connection.replace(b"Connection: close\r\n", b"")


def all_at_once(server, data):
    """What is answered where the end has come with all that it follows: the server reads nothing
    before both are there."""
    server.send(signal.SIGSTOP)
    try:
        with connect(server) as line:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            server.send(signal.SIGCONT)
            return rest_of(line)
    finally:
        server.send(signal.SIGCONT)


VOID = "a change"
GET = HEAD + b"\r\n"
HALF = b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"
BROKEN = b"POST /v1/games HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        ([VOID, VOID], [200, 409]),
        ([VOID, GET, VOID, VOID], [200, 200, 409, 409]),
        ([GET, VOID], [200, 200]),
        ([VOID, GET], [200]),
        ([VOID, HALF], [200]),
        ([VOID, VOID, HALF], [200, 409]),
        ([VOID, BROKEN], [200]),
        ([VOID, HEAD], [200]),
        ([GET, GET], None),  # with or without answers, as it happens
        ([GET, HALF], None),
        ([HALF], []),
    ],
    ids=str,
)
def test_all_changes_are_answered_to_who_sends_no_more(quick, asked, answers):
    before = len(quick.log.read_text("utf-8"))
    with quick.client() as client:
        table = create(client, start=False)
    data = b"".join(on(void(table, b"{}")) if one is VOID else one for one in asked)
    answer = all_at_once(quick, data)
    if answers is not None:
        assert statuses(answer) == answers
        assert answer.wire.count(b"connection: close") == min(len(answers), 1)
    assert quick.log.read_text("utf-8")[before:] == ""


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_change_by_another_method_is_answered_to_who_sends_no_more(quick, method):
    with quick.client() as client:
        table = create(client, start=False)
    asked = [("Authorization", f"Bearer {table.tokens[0]}"), JSON]
    data = wire(method, f"{table.path}/seats/0", asked, b'{"name":"Eva"}' * (method == "PATCH"))
    assert all_at_once(quick, on(data)).status == 200


def test_a_fault_behind_a_change_does_not_take_its_answer(quick):
    with quick.client() as client:
        table = create(client, start=False)
    assert statuses(exchange(quick, on(void(table, b"{}")) + BROKEN)) == [200]


def streams(client):
    rows = re.findall(r"^cubilete_listeners\{\S+ (\S+)$", client.get("/metrics").text, re.M)
    return sum(map(float, rows))


def test_a_stream_ends_with_its_client_though_that_has_asked_for_more(quick):
    before = len(quick.log.read_text("utf-8"))
    with quick.client() as client, connect(quick) as line:
        table = create(client)
        line.sendall(on(wire("GET", f"{table.path}/stream")) + GET)
        assert line.recv(100).startswith(b"HTTP/1.1 200 ")
        assert streams(client) == 1
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.close()
        deadline = time.monotonic() + PATIENCE_S
        while streams(client):
            assert time.monotonic() < deadline
    assert quick.log.read_text("utf-8")[before:] == ""


def test_a_request_has_one_answer_though_its_body_never_comes(quick):
    head = b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with connect(quick) as line:
        line.sendall(head + b"Content-Length: 100000\r\n\r\n" + b" " * 50)
        answer = rest_of(line)
    assert answer.status == 413
    assert answer.wire.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("target", [b"/\xff", b"http://evil", b"/" + b"x" * TARGET_LIMIT])
def test_a_refused_head_has_no_body(quick, target):
    answer = exchange(quick, b"HEAD " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.status in (400, 404, 414)
    assert answer.body == b""


def test_half_a_request_behind_another_one_has_its_own_time(server):
    with connect(server) as line:
        line.sendall(HEAD + b"\r\n" + HEAD)
        assert Raw(line.recv(65_536)).status == 200
        time.sleep(6)  # longer than a connection may be idle
        line.sendall(b"\r\n")
        assert Raw(line.recv(65_536)).status == 200
