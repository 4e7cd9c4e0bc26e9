"""Places for databases: a directory that is removed, and PostgreSQL databases that are dropped."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from bench.process import ROOT
from service.store import upgrade
from tests import postgres

NewDatabase: TypeAlias = Callable[[], str]
_SHOWN: Final = ("server_version", "shared_buffers", "synchronous_commit", "fsync")


@contextmanager
def place() -> Iterator[Path]:
    """A directory on the disk of the checkout: a temporary one may lie in memory."""
    (ROOT / "build").mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="bench-", dir=ROOT / "build"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def postgresql() -> Iterator[NewDatabase]:
    """What makes a new, empty database: on the machine's own server if it lets us, else on one
    from pip. They are dropped at the end."""
    if "own" in postgres.POSTGRESQL:
        with _databases(postgres.OWN) as make:
            yield make
        return
    server = postgres.PipServer()
    try:
        with _databases(server.url) as make:
            yield make
    finally:
        server.remove()


@contextmanager
def _databases(server_url: str) -> Iterator[NewDatabase]:
    made: list[str] = []

    def make() -> str:
        name = f"cubilete_bench_{uuid4().hex[:16]}"
        _do(server_url, "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", name)
        made.append(name)
        return make_url(server_url).set(database=name).render_as_string(hide_password=False)

    try:
        yield make
    finally:
        for name in made:
            _do(server_url, "DROP DATABASE {} WITH (FORCE)", name)


def _do(server_url: str, command: str, name: str) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL(command).format(sql.Identifier(name)))


def told(url: str) -> str:
    """What a PostgreSQL server is, in one line."""
    with psycopg.connect(url) as connection:
        values = [connection.execute(f"SHOW {name}").fetchone() for name in _SHOWN]
    pairs = zip(_SHOWN, values, strict=True)
    return "PostgreSQL: " + ", ".join(f"{name} {value and value[0]}" for name, value in pairs)


def migrated(make: NewDatabase) -> str:
    """A new database at the head of its migrations."""
    url = make()
    upgrade(url)
    return url
