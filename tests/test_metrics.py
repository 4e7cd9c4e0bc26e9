"""What an operator watches: each request counted once, under names that no caller can make up."""

import json
import re
import socket
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.game_client import create, keyed, new_key
from tests.listener import listening
from tests.server import Server

AT_ONCE = {"starter": "seat", "target": 1000}


def metrics(client):
    """Every sample by its name and labels."""
    text = client.get("/metrics").text
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def grown(client, before, name, **labels):
    """How much a sample has grown since ``before``."""
    key = (name, *sorted(labels.items()))
    return metrics(client).get(key, 0) - before.get(key, 0)


def test_a_request_is_counted_by_its_route_and_status(client):
    table = create(client, options=AT_ONCE)
    before = metrics(client)
    table.read()
    table.act(0, "roll")
    client.get("/v1/games/none")
    labels = {"method": "GET", "route": "/v1/games/{id}"}
    name = "cubilete_request_seconds_count"
    assert grown(client, before, name, **labels, status="200") == 1
    assert grown(client, before, name, **labels, status="404") == 1
    acted = {"method": "POST", "route": "/v1/games/{id}/actions", "status": "200"}
    assert grown(client, before, name, **acted) == 1


def test_a_head_is_counted_under_the_route_that_served_it(client):
    table = create(client, options=AT_ONCE)
    before = metrics(client)
    assert client.head(table.path).status_code == 200
    labels = {"method": "HEAD", "route": "/v1/games/{id}", "status": "200"}
    assert grown(client, before, "cubilete_request_seconds_count", **labels) == 1


def test_no_caller_makes_up_a_label(client):
    for path in ("/nowhere", "/v1/games/x/y", "/v1/%22%7D"):
        client.request("BREW", path)
        client.get(path)
    create(client)
    client.post("/v1/games/made-up/actions", json={"kind": "roll"})
    text = client.get("/metrics").text
    assert not re.search(r"nowhere|made-up|BREW|/x/y", text)


def test_an_action_is_counted_by_ruleset_and_what_came_of_it(client):
    table = create(client, "big-pig", options={"starter": "seat"})
    before = metrics(client)
    key = keyed(new_key())
    table.act(0, "roll", headers=key)
    table.act(0, "roll", headers=key)
    table.act(1, "roll") if table.read()["to_act"] == [0] else table.act(0, "roll")
    client.post(f"{table.path}/actions", json={"kind": "roll"})
    results = {
        result: grown(client, before, "cubilete_actions_total", ruleset="big-pig", result=result)
        for result in ("done", "replayed", "not_your_turn", "token_missing", "unavailable")
    }
    assert results == {
        "done": 1,
        "replayed": 1,
        "not_your_turn": 1,
        "token_missing": 1,
        "unavailable": 0,
    }


def test_the_committer_tells_its_batches_and_waits(client):
    table = create(client, options=AT_ONCE)
    before = metrics(client)
    table.act(0, "roll")
    for name in ("cubilete_batch_changes", "cubilete_batch_seconds", "cubilete_change_seconds"):
        assert grown(client, before, f"{name}_count") >= 1
    assert grown(client, before, "cubilete_batch_changes_sum") >= 1


def test_a_histogram_is_one_that_prometheus_reads(client):
    create(client)
    found = metrics(client)
    for key, count in found.items():
        if key[0].endswith("_bucket"):
            labels = dict(key[1:])
            labels.pop("le")
            name = key[0].removesuffix("_bucket")
            assert count <= found[(f"{name}_count", *sorted(labels.items()))]
    assert (
        found[("cubilete_batch_changes_bucket", ("le", "+Inf"))]
        == found[("cubilete_batch_changes_count",)]
    )


def test_open_streams_are_counted(own):
    with own.client() as client:
        table = create(client, options=AT_ONCE)
        streams = ("cubilete_listeners", ("kind", "stream"))
        assert metrics(client)[streams] == 0
        with (
            listening(client, f"{table.path}/stream") as one,
            listening(client, f"{table.path}/stream") as other,
        ):
            one.until("snapshot")
            other.until("snapshot")
            assert metrics(client)[streams] == 2


# --- request ids --------------------------------------------------------------------------------


def test_every_answer_has_an_id_of_its_own(api):
    ids = {api.get("/livez").headers["x-request-id"] for _ in range(20)}
    ids.add(api.get("/nowhere").headers["x-request-id"])
    assert len(ids) == 21


def test_an_id_that_is_given_is_kept(api):
    answer = api.get("/livez", headers={"x-request-id": "from.a-proxy_1"})
    assert answer.headers["x-request-id"] == "from.a-proxy_1"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, 'a"b', "ñ"])
def test_an_id_that_could_break_a_log_is_not(api, given):
    answer = api.get("/livez", headers={"x-request-id": given.encode()})
    assert answer.headers["x-request-id"] != given
    assert re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", answer.headers["x-request-id"])


@pytest.mark.parametrize("route", ["/v1/games", "/v1/games/{id}/actions"])
def test_who_hangs_up_in_the_middle_of_a_request_is_counted_as_not_answered(server, api, route):
    before = metrics(api)
    head = f"POST {route.replace('{id}', 'g')} HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(head.encode() + b"{")
    name, asked = "cubilete_request_seconds_count", {"method": "POST", "route": route}
    deadline = time.monotonic() + 10
    while not grown(api, before, name, **asked, status="0"):
        assert not grown(api, before, name, **asked, status="500")
        assert time.monotonic() < deadline


def test_what_is_logged_of_a_request_has_its_id(tmp_path):
    with (
        Server(tmp_path / "data", CUBILETE_ACCESS_LOG="true") as server,
        server.client() as client,
    ):
        client.get("/version", headers={"x-request-id": "mine-1"})
    # A request is noted once it has been answered: by the server's end all are.
    logged = [json.loads(line) for line in server.log.read_text().splitlines()]
    told = {line["path"]: line["request_id"] for line in logged if line["message"] == "request"}
    assert told["/version"] == "mine-1"
    assert told["/readyz"] not in ("mine-1", None)
