"""Brings a database to the schema that this version of the code needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.errors import BadSetting
from service.store.engine import (
    TIMEOUTS_MS,
    ProcessLock,
    is_sqlite,
    open_engine,
    require_durable,
    why,
    writing,
)

_PACKAGE: Final = Path(__file__).parents[1]
# Beside the package in a checkout, inside it when installed.
_PLACES: Final = (_PACKAGE.parent / "migrations", _PACKAGE / "_migrations")
_LOCK: Final = 0x637562  # any number that only this program locks


def scripts() -> Path:
    """Where the migrations lie."""
    return next(place for place in _PLACES if (place / "env.py").exists())


def config(connection: Connection | None = None) -> Config:
    """What alembic needs to know to run the migrations on this connection."""
    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The revision that this version of the code needs."""
    return str(ScriptDirectory.from_config(config()).get_current_head())


def revision(connection: Connection) -> str | None:
    """The revision that the database is at (null: empty)."""
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _opened(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        require_durable(engine)
        yield engine
    except SQLAlchemyError as error:
        raise BadSetting(f"CUBILETE_DATABASE_URL: {why(error)}") from None
    finally:
        engine.dispose()


def current(url: str) -> tuple[str | None, str]:
    """The revision that the database is at (null: empty), and the one that is needed."""
    with _opened(url) as engine, engine.connect() as connection:
        return revision(connection), head()


def upgrade(url: str) -> tuple[str | None, str]:
    """Migrates to the head, one process at a time; returns the revisions before and after.

    Raises BadSetting if another process serves the embedded database, or if a newer version of
    this program has written it.
    """
    with _opened(url) as engine:
        lock = ProcessLock(engine)
        try:
            return _to_head(engine)
        finally:
            lock.release()


def require_head(engine: Engine) -> None:
    """Raises BadSetting unless the database is at the head; an embedded one is brought there."""
    if is_sqlite(engine):
        _to_head(engine)
        return
    with engine.connect() as connection:
        found = revision(connection)
    if found != head():
        raise BadSetting(
            f"CUBILETE_DATABASE_URL: the database is at revision {found or 'none'}, "
            f"{head()} is needed: run `cubilete db upgrade`"
        )


def _to_head(engine: Engine) -> tuple[str | None, str]:
    with migrating(engine) as connection:
        before = revision(connection)
        try:
            command.upgrade(config(connection), "head")
        except CommandError:
            raise BadSetting(
                f"CUBILETE_DATABASE_URL: this version does not know the database's revision "
                f"{before}: a newer one has written it"
            ) from None
        return before, head()


@contextmanager
def migrating(engine: Engine) -> Iterator[Connection]:
    """A transaction for migrations: alone, unhurried, and no table that is made anew takes the
    rows that refer to it along."""
    with writing(engine).connect() as connection:
        if is_sqlite(engine):
            with _without_foreign_keys(connection), connection.begin():
                yield connection
                broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
                if broken:
                    raise AssertionError(f"rows without what they refer to: {broken[:3]}")
        else:
            with connection.begin():
                for name in TIMEOUTS_MS:
                    connection.exec_driver_sql(f"SET LOCAL {name} = 0")
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
                yield connection


@contextmanager
def _without_foreign_keys(connection: Connection) -> Iterator[None]:
    """Outside a transaction, where alone SQLite can switch them."""
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")
