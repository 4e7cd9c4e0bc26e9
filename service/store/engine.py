"""Opening a database so that what was acknowledged stays.

SQLite: WAL, ``synchronous=FULL``, ``BEGIN IMMEDIATE`` for every write, a library without the
WAL-reset bug, and one process that writes. PostgreSQL: its default durability, asserted.
"""

import fcntl
import os
from pathlib import Path
from typing import Any, Final

import pysqlite3
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from service.errors import BadSetting

# Below this SQLite can lose commits when several connections are open (the WAL-reset race).
SQLITE_FLOOR: Final = (3, 51, 3)
POSTGRESQL_FLOOR: Final = 15
_BUSY_TIMEOUT_S: Final = 5
_POOL_TIMEOUT_S: Final = 2
_PRAGMAS: Final = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def open_engine(url: str) -> Engine:
    """An engine for ``sqlite:///path`` or ``postgresql://..``; raises BadSetting in one line."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise BadSetting("CUBILETE_DATABASE_URL: not a database URL") from None
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    return _open_postgresql(parsed)


def is_sqlite(engine: Engine) -> bool:
    """Whether this is the embedded database, which one process owns."""
    return engine.dialect.name == "sqlite"


def writing(engine: Engine) -> Engine:
    """The same engine, whose transactions take the write lock when they begin."""
    return engine.execution_options(writes=True)


def _open_sqlite(url: URL) -> Engine:
    require_safe_sqlite(pysqlite3.sqlite_version_info)
    if not url.database or url.database == ":memory:":
        raise BadSetting("CUBILETE_DATABASE_URL: sqlite needs a file (sqlite:///path)")
    try:
        Path(url.database).absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadSetting(f"CUBILETE_DATABASE_URL: {url.database}: {error.strerror}") from None
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        module=pysqlite3,
        connect_args={"timeout": _BUSY_TIMEOUT_S, "isolation_level": None},
        pool_timeout=_POOL_TIMEOUT_S,
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def require_safe_sqlite(version: tuple[int, ...]) -> None:
    """Raises BadSetting for a SQLite that may lose commits."""
    if version < SQLITE_FLOOR:
        found, floor = (".".join(map(str, one)) for one in (version, SQLITE_FLOOR))
        raise BadSetting(f"SQLite {found} can lose commits (WAL-reset bug): {floor} is needed")


def _set_pragmas(connection: Any, _record: object) -> None:
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A deferred transaction that turns from reading to writing fails at once when another one
    # has written: whoever means to write says so at the start.
    immediate = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _open_postgresql(url: URL) -> Engine:
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_timeout=_POOL_TIMEOUT_S,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": _BUSY_TIMEOUT_S},
    )


def require_durable(engine: Engine) -> None:
    """Raises BadSetting for a server that can't be reached, is too old or acknowledges early."""
    if is_sqlite(engine):
        return
    try:
        with engine.connect() as connection:
            names = ("server_version_num", "fsync", "synchronous_commit", "full_page_writes")
            found = {name: connection.execute(text(f"SHOW {name}")).scalar_one() for name in names}
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise BadSetting(f"CUBILETE_DATABASE_URL: {reason}") from None
    if int(found["server_version_num"]) < POSTGRESQL_FLOOR * 10_000:
        raise BadSetting(f"PostgreSQL {POSTGRESQL_FLOOR} or newer is needed")
    for name in names[1:]:
        if found[name] == "off":
            raise BadSetting(f"PostgreSQL runs with {name}=off: it would lose what it acknowledged")


class ProcessLock:
    """Held by the one process that may write an embedded database."""

    def __init__(self, engine: Engine) -> None:
        self._handle: int | None = None
        if not is_sqlite(engine):
            return
        path = f"{engine.url.database}.lock"
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise BadSetting(
                f"{engine.url.database} is served by another process: "
                "SQLite takes one; use PostgreSQL for several"
            ) from None

    def release(self) -> None:
        """Lets another process have the database."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
