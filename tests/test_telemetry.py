"""Traces for who collects them: off unless it is asked for, and nothing secret in them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.game_client import create
from tests.server import Server


class Collector(ThreadingHTTPServer):
    """Takes whatever is exported to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.taken: list[tuple[str, bytes]] = []


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append((self.path, body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing of it is told."""


@contextmanager
def collecting() -> Iterator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()


def rolled(server: Server) -> tuple[str, list[str]]:
    """One roll: where it was asked for, and the tokens of its game."""
    with server.client() as client:
        table = create(client, options={"starter": "seat"})
        assert table.act(0, "roll").is_success
        return f"{table.path}/actions", [*table.tokens.values(), table.host]


def test_requests_are_traced_and_no_token_is_in_a_trace(tmp_path):
    with collecting() as collector:
        endpoint = f"http://127.0.0.1:{collector.server_port}"
        asked = {
            "CUBILETE_TELEMETRY": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        }
        with Server(tmp_path, **asked) as server:
            path, tokens = rolled(server)
    traces = b"".join(body for place, body in collector.taken if place == "/v1/traces")
    assert path.encode() in traces
    assert not [token for token in tokens if token.encode() in traces]


def test_nothing_is_sent_unless_it_is_asked_for(tmp_path):
    with collecting() as collector:
        endpoint = f"http://127.0.0.1:{collector.server_port}"
        with Server(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint) as server:
            rolled(server)
    assert collector.taken == []
