"""Brings a database to the schema that this version of the code needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from service.errors import BadSetting
from service.store.engine import is_sqlite, open_engine, require_durable, writing

_PACKAGE: Final = Path(__file__).parents[1]
# Beside the package in a checkout, inside it when installed.
_PLACES: Final = (_PACKAGE.parent / "migrations", _PACKAGE / "_migrations")
_LOCK: Final = 0x637562  # any number that only this program locks


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option(
        "script_location", str(next(place for place in _PLACES if (place / "env.py").exists()))
    )
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The revision that this version of the code needs."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _opened(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        require_durable(engine)
        yield engine
    finally:
        engine.dispose()


def current(url: str) -> tuple[str | None, str]:
    """The revision that the database is at (null: empty), and the one that is needed."""
    with _opened(url) as engine, engine.connect() as connection:
        return _revision(connection), head()


def upgrade(url: str) -> tuple[str | None, str]:
    """Migrates to the head, one process at a time; returns the revisions before and after."""
    with _opened(url) as engine, writing(engine).begin() as connection:
        if not is_sqlite(engine):
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        before = _revision(connection)
        command.upgrade(_config(connection), "head")
        return before, head()


def require_head(engine: Engine) -> None:
    """Raises BadSetting unless the database is at the head; an embedded one is brought there."""
    if is_sqlite(engine):
        upgrade(engine.url.render_as_string(hide_password=False))
        return
    with engine.connect() as connection:
        found = _revision(connection)
    if found != head():
        raise BadSetting(
            f"the database is at revision {found}, {head()} is needed: run `cubilete db upgrade`"
        )
