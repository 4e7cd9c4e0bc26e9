"""Streams of one server: what is told first, what follows, how to resume, and when they end."""

import json
import sqlite3
import threading

import pytest

from tests import contract_check
from tests.game_client import bearer, create
from tests.listener import lines, listening
from tests.server import Server

AT_ONCE = {"starter": "seat", "target": 1000}
NDJSON = {"accept": "application/x-ndjson"}


def playing(client, **more):
    return create(client, options=AT_ONCE, **more)


def stream(table):
    return f"{table.path}/stream"


def stored(table):
    """The lines of the log, as they are stored."""
    log = table.client.get(f"{table.path}/log", headers={"accept": "application/jsonl"})
    return log.text.splitlines()


def finished(client, **more):
    table = playing(client, **more)
    table.act(0, "roll")
    table.act(table.read()["to_act"][0], "resign")
    return table


# --- what is told -------------------------------------------------------------------------------


def test_a_stream_begins_with_the_game_as_it_is_served(client):
    table = playing(client)
    with listening(client, stream(table)) as heard:
        (first,) = heard.until("snapshot")
        assert first.json() == table.read()
        assert first.id == str(table.version)


def test_a_snapshot_is_a_game_as_documented(client):
    table = playing(client)
    with listening(client, stream(table)) as heard:
        (first,) = heard.until("snapshot")
    assert not list(contract_check.faults(contract_check.schema_of("Game"), first.json()))


def test_every_entry_follows_as_it_is_stored_with_its_seq_as_id(client):
    table = playing(client)
    with listening(client, stream(table)) as heard:
        heard.until("snapshot")
        first = table.version
        for _ in range(3):
            table.act(table.read()["to_act"][0], "roll")
        table.act(0, "resign")
        told = heard.until("end")
    entries = [event for event in told if event.name == "entry"]
    assert [event.data for event in entries] == stored(table)[first + 1 :]
    assert [int(event.id or "") for event in entries] == [event.json()["seq"] for event in entries]


def test_lines_of_json_tell_the_same(client):
    table = finished(client)
    with listening(client, stream(table), NDJSON, after=0) as heard:
        assert heard.response.headers["content-type"] == "application/x-ndjson"
        told = [json.loads(line) for line in heard.response.iter_lines() if line]
    with listening(client, stream(table), after=0) as heard:
        events = list(heard)
    assert [one["event"] for one in told] == [event.name for event in events]
    assert [one.get("id") for one in told] == [event.id for event in events]
    assert [one["data"] for one in told] == [event.json() for event in events]


def test_a_browser_reads_a_stream_without_a_token_and_no_proxy_keeps_it(client):
    table = playing(client)
    with listening(client, stream(table), {"accept": "text/event-stream"}) as heard:
        headers = heard.response.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-store"
        assert headers["x-accel-buffering"] == "no"


def test_head_of_a_stream_ends_at_once(client):
    answer = client.head(stream(playing(client)))
    assert (answer.status_code, answer.content) == (200, b"")


# --- resuming -----------------------------------------------------------------------------------


def test_a_stream_resumes_after_the_last_event_without_gap_or_double(client):
    table = finished(client)
    log = stored(table)
    for seq in range(len(log)):
        with listening(client, stream(table), {"last-event-id": str(seq)}) as heard:
            told = heard.until("end")
        assert lines(told) == log[seq + 1 :]
        assert "snapshot" not in [event.name for event in told]


def test_after_resumes_like_the_header_which_goes_before_it(client):
    table = finished(client)
    log = stored(table)
    with listening(client, stream(table), after=1) as heard:
        assert lines(heard.until("end")) == log[2:]
    with listening(client, stream(table), {"last-event-id": "3"}, after=1) as heard:
        assert lines(heard.until("end")) == log[4:]


@pytest.mark.parametrize("last", ["", "x", "-1", "1e3", "01", "999999", "9" * 30, "1,2", "\xe9"])
def test_a_last_event_that_is_none_gives_a_fresh_snapshot(client, last):
    table = finished(client)
    headers = {"last-event-id": last.encode("latin-1")}
    with listening(client, stream(table), headers) as heard:
        told = heard.until("end")
    assert [event.name for event in told] == ["snapshot", "end"]


def test_a_long_log_is_told_whole_to_who_comes_late(client):
    table = create(client, options={**AT_ONCE, "target": 1000}, hotseat=True)
    for _ in range(260):
        game = table.read()
        kinds = [legal["kind"] for legal in game["legal_actions"]]
        table.post("/actions", {"kind": "hold" if "hold" in kinds else "roll"})
    table.post("/actions", {"kind": "resign", "seat": 0})
    with listening(client, stream(table), after=0) as heard:
        assert lines(heard.until("end")) == stored(table)[1:]


# --- how a stream ends --------------------------------------------------------------------------


def ends_as(heard, status, reason):
    *_, last = heard.until("end")
    told = last.json()
    assert (told["status"], told["reason"]) == (status, reason)
    assert last.retry_ms is not None
    assert last.retry_ms > 1_000_000, "a browser does not come back for nothing"
    assert list(heard) == []


def test_a_stream_ends_when_the_game_is_finished(client):
    table = playing(client)
    with listening(client, stream(table)) as heard:
        heard.until("snapshot")
        table.act(0, "resign")
        ends_as(heard, "finished", "last_seat")


def test_a_stream_ends_when_the_game_is_called_off(client):
    table = create(client, start=False)
    with listening(client, stream(table)) as heard:
        heard.until("snapshot")
        table.post("/void")
        ends_as(heard, "void", "host")


def test_a_stream_of_a_game_that_is_over_ends_at_once(client):
    table = finished(client)
    with listening(client, stream(table)) as heard:
        ends_as(heard, "finished", "last_seat")


# --- several games ------------------------------------------------------------------------------


def test_several_games_are_told_on_one_connection(client):
    one, other = playing(client), playing(client)
    with listening(client, "/v1/stream", games=f"{one.id},{other.id}") as heard:
        first, second = heard.until("snapshot") + heard.until("snapshot")
        assert (first.id, second.id) == ("3,", "3,3")
        assert (first.json()["id"], second.json()["id"]) == (one.id, other.id)
        other.act(0, "roll")
        *_, entry = heard.until("entry")
        assert (entry.id, entry.json()["game"]) == ("3,4", other.id)
        one.act(0, "resign")
        *_, ended = heard.until("end")
        assert (ended.json()["game"], ended.retry_ms) == (one.id, None)
        other.act(0, "resign")
        ends_as(heard, "finished", "last_seat")


def test_a_stream_of_several_games_resumes_each_where_it_was(client):
    one, other = finished(client), finished(client)
    with listening(
        client, "/v1/stream", {"last-event-id": "4,5"}, games=f"{one.id},{other.id}"
    ) as heard:
        told = list(heard)
    assert lines(told) == stored(one)[5:] + stored(other)[6:]


def test_a_stream_of_several_games_asks_for_games_that_there_are(client):
    known = playing(client).id
    for games, after, status in [
        (known, "x", 422),
        (known, "1,2", 422),
        (f"{known},{known}", "", 422),
        (",".join(f"g{number}" for number in range(21)), "", 422),
        (f"{known},none", "", 404),
        ("", "", 404),
    ]:
        query = {"games": games, **({"after": after} if after else {})}
        assert client.get("/v1/stream", params=query).status_code == status, games
    assert client.get("/v1/stream").json()["errors"][0]["code"] == "missing"


# --- who is there -------------------------------------------------------------------------------


def present(game):
    return [seat["seat"] for seat in game["players"] if seat["present"]]


def test_a_seat_is_present_while_its_stream_is_open(client):
    table = playing(client)
    assert present(table.read()) == []
    with listening(client, stream(table)) as watched:
        watched.until("snapshot")
        with listening(client, stream(table), bearer(table.tokens[1])) as heard:
            (first,) = heard.until("snapshot")
            assert present(first.json()) == [1]
            assert watched.until("presence")[-1].json() == {"game": table.id, "present": [1]}
            assert watched.comments == 0, "it is told at once"
            assert present(table.read()) == [1]
            assert present(table.act(0, "roll").json()["game"]) == [1]
        heard.response.close()
        assert watched.until("presence")[-1].json() == {"game": table.id, "present": []}
        assert present(table.read()) == []


def test_presence_has_no_id_so_that_a_stream_resumes_from_its_log(client):
    table = playing(client)
    with listening(client, stream(table), {"last-event-id": "3"}) as heard:
        (event,) = heard.until("presence")
    assert event.id is None


def test_who_only_watches_is_nobody(client):
    table = playing(client)
    other = playing(client)
    for token in (None, table.host, other.tokens[0], "cub_seat_" + "A" * 43, "x"):
        with listening(client, stream(table), bearer(token)) as heard:
            (first,) = heard.until("snapshot")
        assert present(first.json()) == []


def test_at_a_hot_seat_the_host_is_everybody(client):
    table = playing(client, hotseat=True)
    with listening(client, stream(table), bearer(table.host)) as heard:
        (first,) = heard.until("snapshot")
    assert present(first.json()) == [0, 1]


def test_at_a_hot_seat_the_host_is_whoever_sits_there(client):
    table = create(client, start=False, hotseat=True)
    with listening(client, stream(table), bearer(table.host)) as heard:
        assert present(heard.until("snapshot")[0].json()) == [0, 1]
        for seat, left in ((0, [1]), (1, [])):
            assert table.send("DELETE", f"/seats/{seat}", token=table.host).status_code == 200
            assert heard.until("presence")[-1].json()["present"] == left
        assert table.post("/seats", {"seat": 1, "name": "Eva"}).status_code == 201
        assert heard.until("presence")[-1].json()["present"] == [1]
        table.post("/void")
        heard.until("end")


def test_a_replaced_token_cuts_its_stream_and_no_other(client):
    table = playing(client)
    with (
        listening(client, stream(table), bearer(table.tokens[0])) as mine,
        listening(client, stream(table), bearer(table.tokens[1])) as other,
    ):
        mine.until("snapshot")
        other.until("snapshot")
        table.post("/seats/0/token", token=table.tokens[0])
        assert mine.until("token_void")[-1].json() == {"game": table.id}
        assert list(mine) == []
        table.act(0, "roll")
        table.act(1, "resign")
        other.until("end")


def test_whose_token_was_replaced_is_present_no_more_while_other_games_are_told(client):
    table, other = playing(client), playing(client)
    both = f"{table.id},{other.id}"
    with (
        listening(client, stream(table)) as watched,
        listening(client, "/v1/stream", bearer(table.tokens[0]), games=both) as mine,
    ):
        mine.until("snapshot")
        while watched.until("presence")[-1].json()["present"] != [0]:
            pass
        table.post("/seats/0/token", token=table.tokens[0])
        mine.until("token_void")
        assert watched.until("presence")[-1].json()["present"] == []


# --- many ---------------------------------------------------------------------------------------


def test_many_listeners_of_one_game_all_hear_everything(server, client):
    table = playing(client)
    ready, heard = threading.Barrier(21), []

    def listen():
        with server.client() as own, listening(own, stream(table)) as listener:
            listener.until("snapshot")
            ready.wait(30)
            heard.append(lines(listener.until("end")))

    threads = [threading.Thread(target=listen) for _ in range(20)]
    for thread in threads:
        thread.start()
    ready.wait(30)
    for _ in range(10):
        table.act(table.read()["to_act"][0], "roll")
    table.act(0, "resign")
    for thread in threads:
        thread.join(30)
    assert heard == [stored(table)[4:]] * 20


def test_streams_beyond_the_limit_are_told_to_come_back(tmp_path):
    with Server(tmp_path / "data", CUBILETE_STREAM_LIMIT="2") as server, server.client() as client:
        path = stream(playing(client))
        with listening(client, path) as one, listening(client, path) as other:
            one.until("snapshot")
            other.until("snapshot")
            with client.stream("GET", path) as answer:
                assert answer.status_code == 503
                assert json.loads(answer.read())["code"] == "unavailable"
                assert int(answer.headers["retry-after"]) > 0
        while 'kind="stream"} 0.0' not in client.get("/metrics").text:
            pass
        with listening(client, path) as one:
            one.until("snapshot")


def test_a_stream_of_a_frozen_game_ends(tmp_path):
    server = Server(tmp_path / "data").start()
    with server.client() as client:
        table = finished(client)
    server.stop()
    with sqlite3.connect(tmp_path / "data" / "cubilete.db") as database:
        database.execute("UPDATE game SET audit = 'failed'")
    database.close()
    with server as again, again.client() as client, listening(client, stream(table)) as heard:
        ends_as(heard, "finished", "frozen")
