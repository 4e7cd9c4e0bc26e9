"""What an operator types: each command in a process of its own, where it goes wrong as well."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from service import __version__
from service.keys import open_signing_keys
from service.store import upgrade
from service.store.engine import SQLITE
from tests.game_client import create
from tests.postgres import POSTGRESQL
from tests.server import Server

ROOT = Path(__file__).parents[1]


Told: TypeAlias = tuple[int, str, str]
"""Exit code, standard output, standard error."""


def ran(*arguments: str, before: Callable[[], None] | None = None, **variables: str) -> Told:
    """Python with these arguments; ``before`` is done in its process, ahead of it."""
    known = {name: text for name, text in os.environ.items() if "CUBILETE" not in name}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**known, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=before,
    )
    return done.returncode, done.stdout, done.stderr


def cubilete(*arguments: str, before: Callable[[], None] | None = None) -> Told:
    return ran("-m", "service", *arguments, before=before)


def require_refused(told: Told, *words: str) -> None:
    code, out, refusal = told
    assert (code, out) == (2, ""), told
    assert refusal.startswith("cubilete: ")
    assert len(refusal.splitlines()) == 1, refusal
    assert all(word in refusal for word in words), refusal


# --- keys ---------------------------------------------------------------------------------------


def test_a_rotated_key_is_the_servers_whoever_rotates_it(tmp_path: Path):
    """Root may, and another user's server has to read the file at its next start."""
    open_signing_keys(tmp_path)
    owner = 12345 if os.geteuid() == 0 else os.geteuid()
    path = tmp_path / "signing.keys"
    os.chown(path, owner, -1)
    before = path.read_text()
    assert cubilete("keys", "rotate", "--data-dir", str(tmp_path))[0] == 0
    assert path.read_text() != before
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (owner, 0o600)


def test_a_key_that_cannot_be_written_is_not_rotated_and_nothing_is_left(tmp_path: Path):
    open_signing_keys(tmp_path)
    before = (tmp_path / "signing.keys").read_text()

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    told = cubilete("keys", "rotate", "--data-dir", str(tmp_path), before=full)
    require_refused(told, "signing.keys", "too large")
    assert [path.name for path in tmp_path.iterdir()] == ["signing.keys"]
    assert (tmp_path / "signing.keys").read_text() == before


def test_a_server_key_that_is_lost_is_asked_for_and_nothing_is_written(own: Server):
    own.stop()
    (own.data_dir / "server.key").unlink()
    before = {path.name for path in own.data_dir.iterdir()}
    for command in (("serve",), ("export", "--days", "1")):
        told = cubilete(*command, "--data-dir", str(own.data_dir))
        require_refused(told, "server.key is missing", "put back")
    assert {path.name for path in own.data_dir.iterdir()} == before


# --- the wrong place ----------------------------------------------------------------------------

ASKING = {
    "current": ("db", "current"),
    "rotate": ("keys", "rotate"),
    "export": ("export", "--days", "30"),
}


@pytest.mark.parametrize("there", [True, False], ids=["an empty directory", "none"])
@pytest.mark.parametrize("command", ASKING.values(), ids=ASKING)
def test_where_no_server_has_been_nothing_is_made(
    tmp_path: Path, command: tuple[str, ...], there: bool
):
    place = tmp_path / "dtaa"
    if there:
        place.mkdir()
    require_refused(cubilete(*command, "--data-dir", str(place)), str(place))
    assert [path.name for path in tmp_path.rglob("*")] == ["dtaa"] * there


@pytest.mark.parametrize("command", [ASKING["current"], ASKING["export"]])
def test_a_database_that_is_not_there_is_not_made(own: Server, command: tuple[str, ...]):
    url = f"sqlite:///{own.data_dir}/cubi%20lete.db"
    told = cubilete(*command, "--data-dir", str(own.data_dir), "--database-url", url)
    require_refused(told, "CUBILETE_DATABASE_URL", "cubi lete.db")
    assert not list(own.data_dir.glob("cubi lete*"))


@pytest.mark.parametrize("empty_postgresql_url", POSTGRESQL[:1], indirect=True)
def test_an_export_without_the_servers_key_does_not_claim_the_database(
    tmp_path: Path, empty_postgresql_url: str
):
    upgrade(empty_postgresql_url)
    url = ("--database-url", empty_postgresql_url)
    told = cubilete("export", "--days", "1", "--data-dir", str(tmp_path), *url)
    require_refused(told, "server.key is missing")
    assert not list(tmp_path.iterdir())


# --- the start ----------------------------------------------------------------------------------


def test_what_the_check_before_the_start_logs_is_json(own: Server):
    """A restored backup is noticed by it, before there is a server."""
    with own.client() as client:
        table = create(client)
    own.stop()
    with (own.data_dir / "heads.log").open("a") as heads:
        heads.write(f"{table.id} 99 {'0' * 64}\n")
    own.log.unlink()
    own.start()
    own.stop()
    told = [json.loads(line) for line in own.log.read_text().splitlines()]
    assert [line["level"] for line in told if "behind its last known head" in line["message"]] == [
        "warning"
    ]


WITHOUT = "import sys; sys.modules[sys.argv.pop(1)] = None; from service.cli import main; main()"


def test_an_exporter_that_is_not_installed_is_named(tmp_path: Path):
    asked = ("opentelemetry.exporter", "serve", "--data-dir", str(tmp_path))
    told = ran("-c", WITHOUT, *asked, CUBILETE_TELEMETRY="true")
    require_refused(told, "CUBILETE_TELEMETRY: ", "is not installed", "cubilete[telemetry]")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("empty_postgresql_url", POSTGRESQL[:1], indirect=True)
def test_a_bell_that_is_not_installed_is_named(tmp_path: Path, empty_postgresql_url: str):
    upgrade(empty_postgresql_url)
    asked = ("serve", "--data-dir", str(tmp_path), "--database-url", empty_postgresql_url)
    told = ran("-c", WITHOUT, "redis", *asked, CUBILETE_BELL="redis://127.0.0.1:1/0")
    require_refused(told, "CUBILETE_BELL: ", "is not installed", "cubilete[redis]")


def test_the_version_is_told():
    assert cubilete("--version") == (0, f"cubilete {__version__}\n", "")
    code, out, _ = cubilete("--help")
    assert (code, "Dice games whose every throw can be checked." in out) == (0, True)


# --- backup -------------------------------------------------------------------------------------


def test_the_backup_by_python_copies_the_database_of_a_running_server(own: Server):
    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    (program,) = re.findall(r'^python -c "(import os, sqlite3.*)"$', text, re.M)
    with own.client() as client:
        table = create(client)
    command = [sys.executable, "-c", program]
    subprocess.run(command, cwd=own.data_dir.parent, check=True, timeout=60)
    copy = own.data_dir.parent / "copy.db"
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(SQLITE.connect(copy)) as database:
        assert database.execute("SELECT id FROM game").fetchall() == [(table.id,)]
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
