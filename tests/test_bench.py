"""The benchmarks' own tools: that they measure what they say, and still run."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import durable
from bench.filled import pig
from bench.fsync import Order, order
from bench.measure import Case, Form, create, write_tables
from bench.process import Process, bench_server
from bench.table import Goal, Table
from service.log import jsonl
from service.verify import verify_log
from tests.postgres import POSTGRESQL

WAL = "16</x/cubilete.db-wal>"
ASKED = '9 read(20<socket:[1]>, "POST /v1/games/a/actions HTTP"..., 256000) = 228'
WRITTEN = f'7 pwrite64({WAL}, "..."..., 4096, 206056) = 4096'
OTHER_WRITTEN = WRITTEN.replace("7", "8", 1)
SYNCED = f"7 fsync({WAL}) = 0"
SYNC_BEGINS = f"7 fdatasync({WAL} <unfinished ...>"
SYNC_ENDS = "7 <... fdatasync resumed>) = 0"
ANSWERED = '9 write(20<socket:[1]>, "HTTP/1.1 200 OK\\r\\n"..., 278) = 278'


@pytest.mark.parametrize(
    ("trace", "early"),
    [
        ((ASKED, WRITTEN, SYNCED, ANSWERED), 0),
        ((ASKED, WRITTEN, SYNC_BEGINS, SYNC_ENDS, ANSWERED), 0),
        ((WRITTEN, ASKED, SYNCED, ANSWERED), 1),
        ((ASKED, SYNC_BEGINS, OTHER_WRITTEN, SYNC_ENDS, ANSWERED), 1),
        ((ASKED, WRITTEN, SYNC_BEGINS, ANSWERED, SYNC_ENDS), 1),
        ((WRITTEN, SYNCED, ASKED, ANSWERED), 1),
    ],
)
def test_an_answer_is_early_unless_its_own_writing_was_synced(trace, early):
    assert order(trace) == Order(answers=1, early=early, syncs=1)


def test_the_load_counts_answers_and_stops_at_one_that_is_not_expected(tmp_path):
    tables = write_tables([{"id": "none", "token": "none"}] * 2, tmp_path, "tables")
    command = [sys.executable, "-m", "bench.canned", "{port}"]
    with Process(command, tmp_path) as server:
        found = Case(server.url, tables, "act", 2).slice(0.2)
        assert found.answers / 0.2 == pytest.approx(found.rate, rel=0.5)
        assert 0 < found.p50_ms <= found.p99_ms
        with pytest.raises(RuntimeError, match="no ETag"):
            Case(server.url, tables, "read-304", 2).slice(0.2)


@pytest.mark.skipif(not POSTGRESQL, reason="no PostgreSQL on this platform")
@pytest.mark.skipif(sys.platform != "linux", reason="this system knows no batch jobs")
@pytest.mark.parametrize("module", ["load", "load_socket"])
def test_the_load_is_a_batch_job(module):
    script = f"""if True:
        import os, sys
        import bench.{module} as load
        load.uvloop.run = lambda asked: asked.close() or sys.exit(os.sched_getscheduler(0))
        sys.argv = ["load", "act" if "{module}" == "load" else "move", "http://x"]
        load.main()"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == os.SCHED_BATCH


def test_a_lone_change_is_bounded_by_its_disk_and_more_so_with_its_head():
    (table,) = durable.tables(Form("one", slices=1, seconds=0.05, games=0, throws=0))
    _, *databases, _ = table.rows
    assert [row[0] for row in databases] == ["SQLite: the rows", "PostgreSQL: the rows"]
    for _, _, rows, with_head in databases:
        assert 0 <= float(with_head) <= float(rows) < 1


def test_the_naive_way_plays_the_same_game(tmp_path):
    with bench_server("naive", tmp_path) as server:
        tables = create(server.url, 1, tmp_path, "tables")
        assert Case(server.url, tables, "act-keyed", 1).once().answers == 1


def test_a_game_that_fills_tables_is_one_that_was_played():
    log = jsonl(pig(12, 100, "token").lines)
    report = verify_log(log)
    assert report.ok
    assert report.entries == 12


def test_a_goal_says_whether_it_is_met():
    assert Goal("a", 0.6, 0.6).row()[-1] == "met"
    assert Goal("a", 1.21, 1.2, at_most=True).row()[-1] == "NOT met"


def test_a_table_is_aligned_as_it_stands():
    lines = Table("t", ("name", "n"), [["a", "1,000"], ["bcdef", "2"]]).text().splitlines()[2:]
    assert len({len(line) for line in lines}) == 1


def test_the_lock_of_the_peers_names_no_address():
    place = Path(__file__).parents[1] / "bench" / "peers"
    lock = (place / "package-lock.json").read_text("utf-8")
    assert "://" not in lock
    assert json.loads(lock)["packages"]["node_modules/koa-compose"]["version"] == "4.1.0"


def test_every_benchmark_still_knows_the_service():
    for name in ("actions", "growth", "engine", "memory", "peers", "ceiling", "fsync", "__main__"):
        assert importlib.import_module(f"bench.{name}").__doc__
