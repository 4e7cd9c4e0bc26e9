"""A database that can't be trusted with what is acknowledged is refused, in one line that helps."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from service.errors import BadSetting
from service.store import Store, engine, upgrade
from tests.hosted import FINGERPRINT, created, opened, run
from tests.postgres import PipServer

ROOT = Path(__file__).parents[1]


def refusal(url: str, fingerprint: bytes = FINGERPRINT) -> str:
    """The line that an open is refused with; the database is not held afterwards."""
    with pytest.raises(BadSetting) as refused:
        Store.open(url, fingerprint)
    line = str(refused.value)
    assert len(line.splitlines()) == 1
    return line


def test_a_database_of_another_server_key_is_refused(database_url):
    async def story():
        async with opened(database_url):
            pass
        assert "CUBILETE_SERVER_KEY" in refusal(database_url, bytes(32))
        async with opened(database_url) as store:
            await store.ready()

    run(story())


def test_a_database_of_a_newer_version_is_refused(empty_database_url):
    async def story():
        upgrade(empty_database_url)
        async with opened(empty_database_url) as store:
            with store._engine.begin() as connection:
                connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        assert "9999" in refusal(empty_database_url)

    run(story())


def test_a_server_database_that_nobody_has_migrated_is_refused(empty_postgresql_url):
    assert "run `cubilete db upgrade`" in refusal(empty_postgresql_url)
    upgrade(empty_postgresql_url)
    run(open_and_close(empty_postgresql_url))


async def open_and_close(url: str) -> None:
    async with opened(url) as store:
        await store.ready()


def test_an_embedded_database_is_migrated_when_it_is_opened(tmp_path):
    async def story():
        async with opened(f"sqlite:///{tmp_path}/deep/er/new.db") as store:
            assert (await created(store)).id

    run(story())


# --- PostgreSQL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:hunter2@127.0.0.1:1/x",
        "postgresql://ana:hunter2@/x?host=/nowhere/at/all",
        "postgresql://ana:hunter2@127.0.0.1:1/x?colour=red",
        "postgresql://ana:hunter2@127.0.0.1:1,127.0.0.1:2/x",
        "postgresql://ana:hunter2@127.0.0.1:port/x",
        "postgresql://ana:hunter2@x@127.0.0.1:1/x",
        "postgresql://ana:hunter2@[::1/x",
    ],
)
def test_a_server_that_cannot_be_reached_is_refused_without_its_password(url):
    line = refusal(url)
    assert line.startswith("CUBILETE_DATABASE_URL: ")
    assert "hunter2" not in line


def test_a_database_that_does_not_exist_is_refused(postgresql_url):
    other = make_url(postgresql_url).set(database="cubilete_nowhere")
    assert "cubilete_nowhere" in refusal(other.render_as_string(hide_password=False))


def test_a_server_that_acknowledges_before_it_has_written_is_refused(postgresql_url):
    off = {"options": "-csynchronous_commit=off"}
    url = make_url(postgresql_url).update_query_dict(off)
    assert "synchronous_commit=off" in refusal(url.render_as_string(hide_password=False))


@pytest.fixture(params=["fsync", "full_page_writes"])
def switched_off(request: pytest.FixtureRequest, pip_server: PipServer) -> Iterator[str]:
    name: str = request.param
    with psycopg.connect(pip_server.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {name} = off".encode())
        connection.execute("SELECT pg_reload_conf()")
        wait_for(connection, name, "off")
        yield name
        connection.execute(f"ALTER SYSTEM RESET {name}".encode())
        connection.execute("SELECT pg_reload_conf()")
        wait_for(connection, name, "on")


def wait_for(connection: psycopg.Connection, name: str, value: str) -> None:
    while connection.execute(f"SHOW {name}".encode()).fetchone() != (value,):
        pass


def test_a_server_that_would_lose_what_it_wrote_is_refused(pip_url, switched_off):
    assert f"{switched_off}=off" in refusal(pip_url)


def test_a_server_older_than_the_floor_is_refused(postgresql_url, monkeypatch):
    monkeypatch.setattr(engine, "POSTGRESQL_FLOOR", 99)
    assert "99 or newer" in refusal(postgresql_url)


def test_no_session_waits_or_sleeps_for_ever(postgresql_url):
    async def story():
        async with opened(postgresql_url) as store:
            for pool in (store._engine, store._reader):
                with pool.connect() as connection:
                    for name in engine.TIMEOUTS_MS:
                        shown = connection.execute(text(f"SHOW {name}")).scalar_one()
                        assert shown in ("2s", "10s")

    run(story())


# --- SQLite -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
    ],
)
def test_a_sqlite_that_can_lose_commits_is_refused(version, safe):
    if safe:
        engine.require_safe_sqlite(version)
    else:
        with pytest.raises(BadSetting, match=r"WAL-reset bug.*3\.51\.3"):
            engine.require_safe_sqlite(version)


def test_an_old_sqlite_library_stops_the_opening(tmp_path, monkeypatch):
    monkeypatch.setattr(engine.SQLITE, "sqlite_version_info", (3, 51, 1))
    assert "3.51.1" in refusal(f"sqlite:///{tmp_path / 'x.db'}")


def test_one_process_serves_a_file_by_whatever_name(tmp_path):
    async def story():
        async with opened(f"sqlite:///{tmp_path / 'one.db'}"):
            (tmp_path / "other.db").symlink_to(tmp_path / "one.db")
            for name in ("one.db", "other.db", "../" + tmp_path.name + "/one.db"):
                assert "another process" in refusal(f"sqlite:///{tmp_path / name}")
        await open_and_close(f"sqlite:///{tmp_path / 'other.db'}")

    run(story())


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "sqlite:///{dir}/x.db?cache=shared",
        "sqlite:///{dir}",
        "sqlite:///{dir}/text/x.db",
        "sqlite:///{dir}/text",
        "sqlite:///{dir}/locked.db",
        "mysql://",
        "no url",
        "",
    ],
)
def test_what_is_no_database_file_is_refused(tmp_path: Path, url):
    (tmp_path / "text").write_text("This is a text and no database. " * 1000)
    (tmp_path / "locked.db.lock").mkdir()
    assert refusal(url.format(dir=tmp_path)).startswith("CUBILETE_DATABASE_URL: ")


def test_a_file_that_others_write_to_is_refused_soon(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.2)
    other = engine.SQLITE.connect(tmp_path / "busy.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert "locked" in refusal(f"sqlite:///{tmp_path / 'busy.db'}")
    other.close()
    run(open_and_close(f"sqlite:///{tmp_path / 'busy.db'}"))


def test_a_new_file_is_its_owners_alone(tmp_path):
    async def story():
        async with opened(f"sqlite:///{tmp_path / 'x.db'}") as store:
            await created(store)
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("x.db*")}
            names = ("x.db", "x.db-wal", "x.db-shm", "x.db.lock")
            assert modes == dict.fromkeys(names, 0o600)

    run(story())


def test_every_connection_writes_to_the_disk_before_it_answers(tmp_path):
    async def story():
        async with opened(f"sqlite:///{tmp_path / 'x.db'}") as store:
            wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
            connections = [store._engine.connect() for _ in range(3)]
            for connection in connections:
                for name, value in wanted.items():
                    found = connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                    assert found == value
                connection.close()

    run(story())


def test_a_write_has_its_lock_from_the_beginning(tmp_path, monkeypatch):
    """A read that turns into a write fails at once when another has written meanwhile."""
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    opened_twice = [engine.open_engine(url) for _ in range(2)]
    first, second = (engine.writing(one) for one in opened_twice)
    with first.begin(), pytest.raises(OperationalError, match="locked"), second.begin():
        pass
    for one in opened_twice:
        one.dispose()


def test_a_file_system_without_a_write_ahead_log_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(engine._PRAGMAS, "journal_mode", "DELETE")
    assert "journal_mode=wal" in refusal(f"sqlite:///{tmp_path / 'x.db'}")


@pytest.mark.parametrize("heard", [False, True], ids=["by the driver", "heard by a listener"])
def test_a_statement_that_is_run_directly_fails_and_counts_as_any_other(tmp_path: Path, heard):
    heard_of: list[str] = []

    def hear(_c: object, _cursor: object, statement: str, *_: object) -> None:
        heard_of.append(statement)

    opened_engine = engine.open_engine(f"sqlite:///{tmp_path / 'a.db'}")
    if heard:
        event.listen(opened_engine, "before_cursor_execute", hear)
    with opened_engine.begin() as connection:
        engine.run_directly(connection, "CREATE TABLE one (id INTEGER PRIMARY KEY)")
        insert = "INSERT INTO one VALUES (?)"
        assert engine.run_directly(connection, insert, [(1,), (2,)]) == 2
        assert engine.run_directly(connection, "UPDATE one SET id = 3 WHERE id = ?", [(9,)]) == 0
        with pytest.raises(IntegrityError):
            engine.run_directly(connection, insert, [(1,)])
        with pytest.raises(OperationalError) as failed:
            engine.run_directly(connection, "INSERT INTO two VALUES (?)", [("a secret",)])
        assert "a secret" not in str(failed.value)
    with opened_engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.close()
        with pytest.raises(ProgrammingError) as lost:
            engine.run_directly(connection, insert, [(1,)])
        assert lost.value.connection_invalidated
        assert connection.invalidated
    assert (insert in heard_of) is heard
    opened_engine.dispose()


def test_the_sqlite_that_python_came_with_serves_where_there_is_no_other(tmp_path: Path):
    """Its version apart, which is not the point here."""
    script = """
import sys
sys.modules["pysqlite3"] = None
from service.store import engine
from tests.hosted import created, opened, roll, run
engine.SQLITE_FLOOR = (3, 0, 0)
assert engine.SQLITE.__name__ == "sqlite3"
async def story():
    async with opened(f"sqlite:///{sys.argv[1]}") as store:
        made = await created(store)
        await roll(store, made)
        assert len(await store.lines(made.id)) == 5
run(story())
"""
    command = [sys.executable, "-c", script, str(tmp_path / "a.db")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
