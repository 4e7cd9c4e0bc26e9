"""Long polls: ``Prefer: wait`` with ``If-None-Match`` is answered as soon as there is news."""

import threading
import time

import pytest

from tests.game_client import create

AT_ONCE = {"starter": "seat", "target": 1000}


def wait(table, seconds, tag=None, client=None):
    seen = f'"{table.version}"' if tag is None else tag
    headers = {"if-none-match": seen, "prefer": f"wait={seconds}"}
    return (client or table.client).get(table.path, headers=headers)


def timed(ask):
    began = time.monotonic()
    answer = ask()
    return answer, time.monotonic() - began


def polled(server, table, change, seconds=25):
    """What a long poll at ``server`` is answered that waits when ``change`` is made, and after
    how long."""
    tag, answers = f'"{table.version}"', []

    def poll():
        with server.client() as own:
            answers.append(timed(lambda: wait(table, seconds, tag, own)))

    waiting = threading.Thread(target=poll)
    waiting.start()
    with server.client() as own:
        while 'cubilete_listeners{kind="long_poll"} 1.0' not in own.get("/metrics").text:
            assert waiting.is_alive()
    began = time.monotonic()
    change()
    waiting.join(seconds + 10)
    ((answer, _),) = answers
    return answer, time.monotonic() - began


def test_a_long_poll_is_answered_as_soon_as_the_game_changes(server, api):
    table = create(api, options=AT_ONCE)
    answer, took_s = polled(server, table, lambda: table.act(0, "roll"))
    assert (answer.status_code, answer.headers["preference-applied"]) == (200, "wait=25")
    assert answer.json() == table.read()
    assert took_s < 10


def test_a_long_poll_at_a_game_that_has_ended_is_answered_as_soon_as_it_has_its_rematch(
    server, api
):
    table = create(api)
    table.act(0, "resign")
    answer, took_s = polled(server, table, lambda: table.post("/rematch"))
    assert answer.json() == table.read()
    assert answer.json()["series"]["next"]
    assert took_s < 10


def test_a_game_that_has_its_rematch_is_told_at_once(api):
    table = create(api)
    table.act(0, "resign")
    table.post("/rematch")
    answer, took_s = timed(lambda: wait(table, 25))
    assert answer.json() == table.read()
    assert took_s < 10
    assert "preference-applied" not in answer.headers


def test_a_long_poll_without_news_is_answered_304_after_the_wait(api):
    table = create(api, options=AT_ONCE)
    answer, took_s = timed(lambda: wait(table, 1))
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["preference-applied"] == "wait=1"
    assert answer.headers["etag"] == f'"{table.version}"'
    assert 0.9 < took_s < 10


def test_who_has_an_older_version_is_answered_at_once(api):
    table = create(api, options=AT_ONCE)
    answer, took_s = timed(lambda: wait(table, 25, '"1"'))
    assert (answer.status_code, took_s < 10) == (200, True)
    assert "preference-applied" not in answer.headers


@pytest.mark.parametrize("prefer", ["wait=", "wait=-1", "wait=x", "wait=1.5", "respond-async", ""])
def test_a_preference_that_says_nothing_is_passed_over(api, prefer):
    table = create(api, options=AT_ONCE)
    headers = {"if-none-match": f'"{table.version}"', "prefer": prefer}
    answer, took_s = timed(lambda: api.get(table.path, headers=headers))
    assert (answer.status_code, took_s < 0.9) == (304, True)


def test_plain_polling_is_answered_304_at_once(api):
    table = create(api, options=AT_ONCE)
    headers = {"if-none-match": f'"{table.version}"'}
    assert api.get(table.path, headers=headers).status_code == 304
    table.act(0, "roll")
    assert api.get(table.path, headers=headers).status_code == 200
