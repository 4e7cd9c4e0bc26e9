"""Opening a database so that what was acknowledged stays, and so that nobody waits for ever.

SQLite: WAL, ``synchronous=FULL``, ``BEGIN IMMEDIATE`` for every write, a library without the
WAL-reset bug, and one process that writes. PostgreSQL: its default durability, asserted.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from service.errors import BadSetting

try:
    import pysqlite3 as _sqlite
except ImportError:  # no wheel for this platform: the one that Python came with, if it will do
    import sqlite3 as _sqlite

SQLITE: Final = _sqlite
# Below this SQLite can lose commits when several connections are open (the WAL-reset race).
SQLITE_FLOOR: Final = (3, 51, 3)
POSTGRESQL_FLOOR: Final = 15
BUSY_TIMEOUT_S: Final = 2
_CONNECT_TIMEOUT_S: Final = 5
_SETTING: Final = "CUBILETE_DATABASE_URL"
_PRAGMAS: Final = {"journal_mode": "WAL", "synchronous": "FULL", "foreign_keys": "ON"}
_DURABLE: Final = {"journal_mode": "wal", "synchronous": 2}
# A process that hangs, or a network that lost it, does not hold its locks for ever.
TIMEOUTS_MS: Final = {
    "lock_timeout": BUSY_TIMEOUT_S * 1000,
    "statement_timeout": 10_000,
    "idle_in_transaction_session_timeout": 10_000,
}
_LIBPQ: Final = {
    "connect_timeout": str(_CONNECT_TIMEOUT_S),
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_READ_ONLY: Final = "25006"


def open_engine(url: str) -> Engine:
    """An engine for ``sqlite:///path`` or ``postgresql://..``; raises BadSetting in one line."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise BadSetting(f"{_SETTING}: not a database URL") from None
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    return _open_postgresql(parsed)


def is_sqlite(engine: Engine) -> bool:
    """Whether this is the embedded database, which one process owns."""
    return engine.dialect.name == "sqlite"


def reading(engine: Engine) -> Engine:
    """An engine over the same database whose connections are for reading: each statement by
    itself, or several in a ``snapshot``."""
    if is_sqlite(engine):
        return engine.execution_options(begin=None)
    reader = _postgresql(engine.url, "AUTOCOMMIT")

    def follow(context: ExceptionContext) -> None:
        if _lost_primary(context):
            reader.dispose()

    event.listen(engine, "handle_error", follow)
    return reader


@contextmanager
def snapshot(connection: Connection) -> Iterator[None]:
    """However many statements, they see one moment."""
    isolated = " ISOLATION LEVEL REPEATABLE READ READ ONLY"
    sqlite = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("BEGIN" if sqlite else f"BEGIN{isolated}")
    yield
    connection.exec_driver_sql("COMMIT")


def writing(engine: Engine) -> Engine:
    """The same engine, whose transactions take the write lock when they begin."""
    return engine.execution_options(begin="BEGIN IMMEDIATE")


# --- SQLite -------------------------------------------------------------------------------------


def _open_sqlite(url: URL) -> Engine:
    require_safe_sqlite(SQLITE.sqlite_version_info)
    if not url.database or url.database == ":memory:" or url.query:
        raise BadSetting(f"{_SETTING}: sqlite needs a file and no options (sqlite:///path)")
    try:
        Path(url.database).absolute().parent.mkdir(parents=True, exist_ok=True)
        # Names and hashes of tokens lie in it: a new file is its owner's alone.
        os.close(os.open(url.database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise BadSetting(f"{_SETTING}: {url.database}: {error.strerror}") from None
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        module=SQLITE,
        connect_args={"timeout": BUSY_TIMEOUT_S, "isolation_level": None},
        pool_timeout=BUSY_TIMEOUT_S,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def require_safe_sqlite(version: tuple[int, ...]) -> None:
    """Raises BadSetting for a SQLite that may lose commits."""
    if version < SQLITE_FLOOR:
        found, floor = (".".join(map(str, one)) for one in (version, SQLITE_FLOOR))
        raise BadSetting(
            f"SQLite {found} can lose commits (WAL-reset bug): {floor} is needed, or PostgreSQL"
        )


def _set_pragmas(connection: Any, _record: object) -> None:
    for name, value in _PRAGMAS.items():
        connection.execute(f"PRAGMA {name}={value}")


def _begin(connection: Connection) -> None:
    # A deferred transaction that turns from reading to writing fails at once when another one
    # has written: whoever means to write says so at the start.
    begin = connection.get_execution_options().get("begin", "BEGIN")
    if begin is not None:
        run_directly(connection, begin)


def run_directly(
    connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]] | None = None
) -> int:
    """Runs a statement of SQLite in the transaction that has begun, once for each row of
    parameters; returns how many rows it met.

    SQLAlchemy does more around a statement than these take, and so their driver is asked itself,
    unless somebody listens to statements. Errors are those of SQLAlchemy.
    """
    if connection.dispatch.before_cursor_execute:
        return connection.exec_driver_sql(statement, rows).rowcount
    driver: Any = connection.connection.driver_connection
    try:
        ran = driver.execute(statement) if rows is None else driver.executemany(statement, rows)
    except SQLITE.Error as error:
        raise _told(connection, statement, error) from error
    return int(ran.rowcount)


def _told(connection: Connection, statement: str, error: Any) -> BaseException:
    """An error of SQLite's driver as SQLAlchemy tells it."""
    dialect = connection.dialect
    lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    told: BaseException = DBAPIError.instance(
        statement,
        None,
        error,
        SQLITE.Error,
        hide_parameters=True,
        connection_invalidated=lost,
        dialect=dialect,
    )
    if lost:
        connection.invalidate(error)
    return told


# --- PostgreSQL ---------------------------------------------------------------------------------


def _open_postgresql(url: URL) -> Engine:
    if "@" in (url.host or ""):
        raise BadSetting(f"{_SETTING}: not a database URL (an @ in a password is written %40)")
    url = url.set(drivername="postgresql+psycopg", query={**_LIBPQ, **url.query})
    return _postgresql(url, "READ COMMITTED")


def _postgresql(url: URL, isolation_level: Literal["READ COMMITTED", "AUTOCOMMIT"]) -> Engine:
    engine = create_engine(
        url,
        pool_timeout=BUSY_TIMEOUT_S,
        isolation_level=isolation_level,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_timeouts)
    event.listen(engine, "handle_error", _drop_read_only)
    return engine


def _set_timeouts(connection: Any, _record: object) -> None:
    names = ", ".join("set_config(%s, %s, false)" for _ in TIMEOUTS_MS)
    values = [str(part) for setting in TIMEOUTS_MS.items() for part in setting]
    connection.execute(f"SELECT {names}", values)
    connection.commit()


def _drop_read_only(context: ExceptionContext) -> None:
    if _lost_primary(context):
        context.is_disconnect = True


def _lost_primary(context: ExceptionContext) -> bool:
    """After a failover the old primary takes no writes any more: look for the new one."""
    return getattr(context.original_exception, "sqlstate", None) == _READ_ONLY


# --- what a database must be --------------------------------------------------------------------


def why(error: SQLAlchemyError) -> str:
    """What a database says is wrong, in one line."""
    said = str(error.orig) if isinstance(error, DBAPIError) else type(error).__name__
    return said.strip().splitlines()[0] if said.strip() else type(error).__name__


def require_durable(engine: Engine) -> None:
    """Raises BadSetting for a database that can't be reached, is too old or acknowledges early."""
    try:
        with engine.connect() as connection:
            check = _require_durable_sqlite if is_sqlite(engine) else _require_durable_postgresql
            check(connection)
    except DBAPIError as error:
        raise BadSetting(f"{_SETTING}: {why(error)}") from None


def _require_durable_sqlite(connection: Connection) -> None:
    for name, wanted in _DURABLE.items():
        found = connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        if found != wanted:
            raise BadSetting(f"{_SETTING}: SQLite can't work here with {name}={wanted}")


def _require_durable_postgresql(connection: Connection) -> None:
    names = ("server_version_num", "fsync", "synchronous_commit", "full_page_writes")
    found = {name: connection.execute(text(f"SHOW {name}")).scalar_one() for name in names}
    if int(found["server_version_num"]) < POSTGRESQL_FLOOR * 10_000:
        raise BadSetting(f"{_SETTING}: PostgreSQL {POSTGRESQL_FLOOR} or newer is needed")
    for name in names[1:]:
        if found[name] == "off":
            raise BadSetting(
                f"{_SETTING}: PostgreSQL runs with {name}=off and would lose what it acknowledged"
            )


class ProcessLock:
    """Held by the one process that may write an embedded database."""

    def __init__(self, engine: Engine) -> None:
        self._handle: int | None = None
        if not is_sqlite(engine):
            return
        file = engine.url.database or ""
        try:
            # By whatever name it is opened, a file has one lock.
            path = f"{os.path.realpath(file)}.lock"
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise BadSetting(
                f"{_SETTING}: {file} is served by another process: "
                "SQLite takes one; use PostgreSQL for several"
            ) from None
        except OSError as error:
            self.release()
            raise BadSetting(f"{_SETTING}: {file}: {error.strerror}") from None

    def release(self) -> None:
        """Lets another process have the database."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
