"""Migrations: from nothing to the tables of the code and back, on every database."""

import ast
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import main
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.schema import CreateTable
from typer.testing import CliRunner

from service.cli import app
from service.errors import BadSetting
from service.store import current, migrations, tables, upgrade
from service.store.engine import open_engine
from tests.hosted import created, opened, retry, roll, run
from tests.postgres import POSTGRESQL

ROOT = Path(__file__).parents[1]
VERSIONS = sorted((ROOT / "migrations" / "versions").glob("*.py"))
SCRIPTS = list(ScriptDirectory.from_config(migrations.config()).walk_revisions())[::-1]


def in_transaction(url: str, work: Any, prepared: bool = True) -> Any:
    engine = open_engine(url)
    begin = migrations.migrating if prepared else type(engine).begin
    try:
        with begin(engine) as connection:
            return work(connection)
    finally:
        engine.dispose()


def downgrade(url: str, revision: str = "base") -> None:
    def work(connection: Connection) -> None:
        command.downgrade(migrations.config(connection), revision)

    in_transaction(url, work)


def table_names(url: str) -> set[str]:
    return set(in_transaction(url, lambda connection: inspect(connection).get_table_names()))


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that holds what must be kept: who is present is no such thing."""

    def read(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
        found = {}
        for table in set(tables.metadata.sorted_tables) - {tables.presence}:
            rows = connection.execute(table.select().order_by(*table.primary_key))
            found[table.name] = [tuple(row) for row in rows]
        return found

    return in_transaction(url, read, prepared=False)


async def fill(url: str) -> None:
    """Rows in every table that holds what must be kept."""
    async with opened(url) as store:
        for name in ("Ana", "張偉", None):
            made = await created(store, names=(name, "Ben"))
            await roll(store, made)
            await store.change(made.id, lambda _: None, made.roll(), retry())


def test_an_empty_database_gets_the_tables_of_the_code(empty_database_url):
    assert current(empty_database_url) == (None, migrations.head())
    assert upgrade(empty_database_url) == (None, migrations.head())
    assert upgrade(empty_database_url) == (migrations.head(), migrations.head())
    assert current(empty_database_url) == (migrations.head(), migrations.head())
    assert table_names(empty_database_url) == {*tables.metadata.tables, "alembic_version"}


def test_the_tables_of_the_migrations_are_those_of_the_code(empty_database_url):
    upgrade(empty_database_url)

    def differences(connection: Connection) -> Any:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(
            MigrationContext.configure(connection, opts=options), tables.metadata
        )

    assert in_transaction(empty_database_url, differences) == []


def test_constraints_and_indexes_have_the_names_of_the_code(empty_database_url):
    """What alembic does not compare: primary keys, foreign keys, columns of indexes."""
    upgrade(empty_database_url)

    def check(connection: Connection) -> None:
        found = inspect(connection)
        for table in tables.metadata.sorted_tables:
            key = found.get_pk_constraint(table.name)
            assert key["name"] == table.primary_key.name == f"pk_{table.name}"
            assert key["constrained_columns"] == [column.name for column in table.primary_key]
            foreign = {one["name"] for one in found.get_foreign_keys(table.name)}
            assert foreign == {one.name for one in table.foreign_key_constraints}
            indexes = {
                str(one["name"]): one["column_names"]
                for one in found.get_indexes(table.name)
                if not one.get("duplicates_constraint")
            }
            wanted = {
                str(one.name): [column.name for column in one.columns] for one in table.indexes
            }
            assert indexes == wanted

    in_transaction(empty_database_url, check)


def test_every_constraint_of_the_code_has_a_name():
    for table in tables.metadata.sorted_tables:
        for constraint in table.constraints:
            assert constraint.name, f"{constraint} of {table.name}"
        assert "CONSTRAINT" in str(CreateTable(table))


def test_every_constraint_of_a_migration_has_a_name():
    for path in VERSIONS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=made), keywords=given) if made.endswith(
                    "Constraint"
                ):
                    assert "name" in {keyword.arg for keyword in given}, f"{path.name}: {made}"
                case ast.Call(func=ast.Attribute(attr="Column"), keywords=given):
                    unnamed = {keyword.arg for keyword in given} & {
                        "primary_key",
                        "unique",
                        "index",
                    }
                    assert not unnamed, f"{path.name}: {unnamed}"
                case ast.Attribute(attr="ForeignKey"):
                    pytest.fail(f"{path.name}: a foreign key without a name")


def test_down_and_up_again_leaves_the_same_tables(empty_database_url):
    upgrade(empty_database_url)
    downgrade(empty_database_url)
    assert table_names(empty_database_url) == {"alembic_version"}
    assert current(empty_database_url)[0] is None
    upgrade(empty_database_url)
    run(fill(empty_database_url))


def test_every_step_down_and_up_keeps_what_both_sides_know(empty_database_url):
    """From the head one step back and forth; below the first there is nothing to keep."""
    upgrade(empty_database_url)
    run(fill(empty_database_url))
    before = contents(empty_database_url)
    assert all(before.values())
    for script in SCRIPTS[:0:-1]:
        downgrade(empty_database_url, str(script.down_revision))
        upgrade(empty_database_url)
        assert contents(empty_database_url) == before
    downgrade(empty_database_url)
    upgrade(empty_database_url)
    assert not any(contents(empty_database_url).values())


def test_an_upgrade_of_a_filled_database_changes_no_row(empty_database_url):
    upgrade(empty_database_url)
    run(fill(empty_database_url))
    before = contents(empty_database_url)
    assert upgrade(empty_database_url) == (migrations.head(), migrations.head())
    assert contents(empty_database_url) == before


REMAKE = """
from alembic import op
import sqlalchemy as sa

revision = "remake"
down_revision = {down!r}


def upgrade():
    with op.batch_alter_table("game") as batch:
        batch.alter_column("ruleset", type_=sa.String(80), existing_nullable=False)
        batch.add_column(sa.Column("extra", sa.Integer(), nullable=True))
    {then}


def downgrade():
    with op.batch_alter_table("game") as batch:
        batch.drop_column("extra")
"""


@pytest.fixture
def with_another_migration(tmp_path, monkeypatch):
    """The migrations and one more, which makes a table anew that others refer to."""

    def add(then: str = "") -> None:
        place = tmp_path / "migrations"
        shutil.copytree(migrations.scripts(), place)
        remake = REMAKE.format(down=migrations.head(), then=then)
        (place / "versions" / "2099-01-01-0000_remake.py").write_text(remake)
        monkeypatch.setattr(migrations, "_PLACES", (place,))

    return add


def test_a_table_that_is_made_anew_keeps_the_rows_that_refer_to_it(
    empty_database_url, with_another_migration
):
    upgrade(empty_database_url)
    run(fill(empty_database_url))
    before = contents(empty_database_url)
    with_another_migration()
    assert upgrade(empty_database_url)[1] == "remake"
    assert contents(empty_database_url) == before
    run(fill(empty_database_url))


@pytest.mark.parametrize("then", ["op.execute('DELETE FROM game')", "op.execute('no sql')"])
def test_a_migration_that_fails_changes_nothing(empty_database_url, with_another_migration, then):
    upgrade(empty_database_url)
    run(fill(empty_database_url))
    before, names = contents(empty_database_url), table_names(empty_database_url)
    revision = migrations.head()
    with_another_migration(then)
    with pytest.raises((BadSetting, AssertionError)):
        upgrade(empty_database_url)
    assert current(empty_database_url) == (revision, "remake")
    assert contents(empty_database_url) == before
    assert table_names(empty_database_url) == names

    def columns(connection: Connection) -> set[str]:
        return {column["name"] for column in inspect(connection).get_columns("game")}

    assert "extra" not in in_transaction(empty_database_url, columns)


def test_foreign_keys_hold_again_after_a_migration(tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with migrations.migrating(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 0
    with engine.begin() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
    engine.dispose()


# --- the files ----------------------------------------------------------------------------------


def test_revisions_are_one_line_and_their_files_are_named_by_time():
    assert [Path(str(script.path)) for script in SCRIPTS] == VERSIONS
    assert [script.down_revision for script in SCRIPTS] == [
        None,
        *(script.revision for script in SCRIPTS[:-1]),
    ]
    for path in VERSIONS:
        match = re.fullmatch(r"(\d{4}-\d\d-\d\d-\d{4})_[a-z0-9_]+\.py", path.name)
        assert match, path.name
        datetime.strptime(match[1], "%Y-%m-%d-%H%M").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "migrations").rglob("*.py")), ids=lambda path: path.name
)
def test_a_migration_does_not_import_the_program(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert not [name for name in names if name.split(".")[0] == "service"]


def test_alembic_by_hand_takes_an_address(empty_database_url):
    """For developers: writing a migration, going back one step."""
    by_hand = ["-c", str(ROOT / "alembic.ini"), "-x", f"url={empty_database_url}"]
    main([*by_hand, "upgrade", "head"])
    assert current(empty_database_url)[0] == migrations.head()
    main([*by_hand, "downgrade", "base"])
    assert current(empty_database_url)[0] is None


# --- the commands -------------------------------------------------------------------------------


def cubilete(*arguments: str) -> tuple[int, str, str]:
    """The command in a process of its own: exit code, standard output, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "service", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_migrates_and_tells_where_a_database_stands(empty_database_url, monkeypatch):
    head = migrations.head()
    monkeypatch.setenv("CUBILETE_DATABASE_URL", empty_database_url)
    if empty_database_url.startswith("sqlite"):
        Path(empty_database_url.removeprefix("sqlite:///")).touch()
    told = [CliRunner().invoke(app, ["db", what]) for what in ("current", "upgrade", "current")]
    assert [(one.exit_code, one.output) for one in told] == [
        (1, f"empty (needed: {head})\n"),
        (0, f"empty -> {head}\n"),
        (0, f"{head} (needed: {head})\n"),
    ]


@pytest.mark.parametrize("empty_postgresql_url", POSTGRESQL[:1], indirect=True)
def test_two_upgrades_at_once_do_the_work_once(empty_postgresql_url):
    head = migrations.head()
    url = f"--database-url={empty_postgresql_url}"
    with ThreadPoolExecutor() as pool:
        both = [pool.submit(cubilete, "db", "upgrade", url) for _ in range(2)]
        told = sorted(one.result() for one in both)
    assert told == [(0, f"{head} -> {head}\n", ""), (0, f"empty -> {head}\n", "")]


def test_an_upgrade_waits_for_another_one(empty_postgresql_url):
    """Longer than any other lock is waited for."""
    engine = open_engine(empty_postgresql_url)
    with ThreadPoolExecutor() as pool, migrations.migrating(engine) as connection:
        second = pool.submit(upgrade, empty_postgresql_url)
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while not connection.execute(text(waiting)).scalar_one():
            assert not second.done()
        timeouts = [f"SHOW {name}" for name in ("lock_timeout", "statement_timeout")]
        assert {connection.execute(text(one)).scalar_one() for one in timeouts} == {"0"}
        command.upgrade(migrations.config(connection), "head")
    assert second.result() == (migrations.head(), migrations.head())
    engine.dispose()


def test_a_database_that_is_served_is_not_migrated(tmp_path):
    url = f"sqlite:///{tmp_path / 'x.db'}"

    async def story():
        async with opened(url):
            return cubilete("db", "upgrade", f"--database-url={url}")

    code, output, error = run(story())
    assert (code, output) == (2, "")
    assert re.fullmatch(r"cubilete: CUBILETE_DATABASE_URL: .* another process.*\n", error)
