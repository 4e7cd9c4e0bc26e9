"""Many listeners: nobody misses an entry, whatever is cut, restarted or left open.

`make streams` does the same for longer and prints what it measures.
"""

import secrets

import pytest

from tests import live_figures
from tests.postgres import POSTGRESQL, migrated_url
from tests.server import Server

pytestmark = pytest.mark.skipif(not POSTGRESQL, reason="no PostgreSQL here")


@pytest.fixture(scope="module")
def shared(request, tmp_path_factory):
    """The variables of servers that share a database."""
    url = migrated_url(POSTGRESQL[0], request, tmp_path_factory.mktemp("audience"), "audience")
    return {**live_figures.VARIABLES, "CUBILETE_DATABASE_URL": url}


def test_listeners_that_are_cut_at_random_hear_the_log_as_it_is_stored(shared, tmp_path):
    with Server(tmp_path / "two", **shared, CUBILETE_WORKERS="2") as server:
        assert not live_figures.cut_listeners(server, 4, 50, 25, secrets.randbelow(10**6))


def test_rolling_restarts_lose_no_request_and_no_entry(shared, tmp_path):
    one, other = Server(tmp_path / "one", **shared), Server(tmp_path / "other", **shared)
    with one, other:
        assert not live_figures.rolling_restarts([one, other], 4, secrets.randbelow(10**6))


def test_idle_streams_leave_nothing_behind_and_slow_nobody(shared, tmp_path):
    plain, busy = Server(tmp_path / "one", **shared), Server(tmp_path / "other", **shared)
    with plain, busy:
        costs = live_figures.idle_streams(plain, busy, streams=300, actions=200)
    without, with_streams = costs.p99_ms()
    assert with_streams < 2 * without + 20
    assert costs.resident_kib[1] - costs.resident_kib[0] < 300 * 64
    assert costs.descriptors[1] >= costs.descriptors[0] + 300
    assert costs.descriptors[2] <= costs.descriptors[0]
    assert costs.tasks[1] >= costs.tasks[0] + 300
    assert costs.tasks[2] <= costs.tasks[0]
