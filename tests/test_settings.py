"""A wrong setting stops the start with one line that names it and repeats nothing of it."""

import asyncio
import logging.config
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import uvicorn
from typer.testing import CliRunner, Result

from service import cli
from service.api.app import create_app
from service.api.house import check
from service.errors import BadSetting
from service.settings import Settings, read
from service.store.engine import SQLITE
from tests.hosted import FINGERPRINT, opened, run
from tests.postgres import POSTGRESQL, migrated_url

ROOT = Path(__file__).parents[1]
SECRET = "hunter2"
KEY = "5a" * 32

# Every setting and values that it can't have; {dir} is an empty directory.
WRONG = {
    "host": ["nowhere.invalid", "999.1.1.1", "", "a" * 300, "192.0.2.1"],
    "port": ["-1", "65536", "http", "80.5", ""],
    "workers": ["0", "65", "-1", "two", "1.5", "2"],
    "data_dir": ["{dir}/text", "{dir}/text/data"],
    "database_url": [
        "",
        SECRET,
        "mysql://ana:hunter2@localhost/x",
        "postgres://ana:hunter2@localhost/x",
        "postgresql://ana:hunter2@127.0.0.1:port/x",
        "postgresql://ana:hunter2@127.0.0.1:1/x",
        "postgresql://ana:hunter2@x@127.0.0.1:1/x",
        "postgresql+asyncpg://ana:hunter2@127.0.0.1:1/x",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///{dir}",
        "sqlite:///{dir}/text",
        "sqlite:///{dir}/text/x.db",
    ],
    "server_key": ["", SECRET, KEY[1:], KEY + "0", KEY[:-1] + "g", KEY.upper(), "é" * 64],
    "require_idempotency_key": ["", "perhaps", "2"],
    "require_version": ["", "perhaps", "2"],
    "drain_seconds": ["-1", "301", "nan", "soon"],
    "bell": ["", "loud", SECRET, "http://ana:hunter2@localhost"],
    "stream_limit": ["0", "100001", "-1", "many"],
    "queue_limit": ["0", "100001", "-1", "many"],
    "sync_heads": ["", "perhaps"],
    "reveal_seconds": ["4", "604801", "soon", ""],
    "sweep_seconds": ["0", "3601", "0.5", "often"],
    "waiting_days": ["0", "-1", "36501", "week"],
    "idle_days": ["0", "-1", "36501", "month"],
    "answer_days": ["0", "-1", "36501", "month"],
    "retention_days": ["0", "-1", "36501", "never", ""],
    "export_dir": ["{dir}/text", "{dir}/text/records"],
    "log_level": ["", "loud", "INFO"],
    "access_log": ["", "perhaps"],
    "telemetry": ["", "perhaps"],
    "receive_timeout_s": ["", "0", "-1", "61", "nan", "soon"],
    "send_timeout_s": ["", "0", "-1", "601", "soon"],
    "connection_limit": ["", "0", "-1", "1000001"],
    "connections_per_address": ["", "0", "-1", "1000001"],
    "trusted_proxies": ["proxy", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.1;10.0.0.2", "*"],
    "allowed_hosts": ["*", "a b", "https://example.org", "example.org:443", "exa*mple.org"],
    "cors_origins": ["cubilete.org", "https://example.org/", "https://*.example.org", "null"],
    "cors_credentials": ["", "perhaps"],
    "rate_create": ["", "-1", "10000001", "60/minute"],
    "rate_join": ["", "-1", "10000001"],
    "rate_actions": ["", "-1", "10000001"],
    "rate_token": ["", "-1", "10000001"],
    "rate_audits": ["", "-1", "10000001"],
    "rate_reads": ["", "-1", "10000001"],
    "rate_failed_tokens": ["", "-1", "10000001"],
    "waiting_games": ["", "-1", "1000001"],
    "audit_seconds": ["", "0", "-1", "601", "nan"],
}
# Those that `serve` also takes as options.
OPTIONS = {"host", "port", "workers", "database_url", "data_dir", "log_level"}


@pytest.fixture(autouse=True)
def nothing_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(*_: object, **__: object) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr(uvicorn, "run", serve)
    # What a test has set up to log to would be gone with it.
    monkeypatch.setattr(logging.config, "dictConfig", lambda _: None)
    for name in os.environ:
        if name.startswith("CUBILETE_"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text("no database and no directory")
    return tmp_path


def serve(*arguments: str, **variables: str) -> Result:
    return CliRunner().invoke(cli.app, ["serve", *arguments], env=variables)


def require_one_line(told: Result, name: str) -> None:
    assert (told.exit_code, told.stdout) == (2, ""), told.stderr
    assert told.stderr.startswith("cubilete: ")
    assert told.stderr.endswith("\n")
    assert len(told.stderr.splitlines()) == 1
    assert f"CUBILETE_{name.upper()}" in told.stderr
    assert SECRET not in told.stderr


CASES = [(name, value) for name, values in WRONG.items() for value in values]


def test_every_setting_has_values_that_it_cannot_have():
    assert WRONG.keys() == Settings.model_fields.keys()


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_wrong_variable_is_told_in_one_line(home, name, value):
    variables = {"CUBILETE_DATA_DIR": f"{home}/data", f"CUBILETE_{name.upper()}": value}
    told = serve(**{variable: text.format(dir=home) for variable, text in variables.items()})
    require_one_line(told, name)
    if len(value) > 3 and "{dir}" not in value:  # which file it is may be told
        assert value not in told.stderr.replace("sqlite:///path", "")


@pytest.mark.parametrize(("name", "value"), [case for case in CASES if case[0] in OPTIONS])
def test_a_wrong_option_is_told_in_one_line(home, name, value):
    option = f"--{name.replace('_', '-')}={value.format(dir=home)}"
    require_one_line(serve(option, CUBILETE_DATA_DIR=f"{home}/data"), name)


def test_days_that_are_no_number_are_told_in_one_line():
    require_one_line(CliRunner().invoke(cli.app, ["export", "--days", SECRET]), "retention_days")


def test_an_option_goes_before_its_variable(monkeypatch):
    monkeypatch.setenv("CUBILETE_PORT", "1234")
    assert read(port=99).port == 99
    assert read(port=None).port == 1234


def test_any_origin_with_credentials_is_told_in_one_line(home):
    told = serve(
        CUBILETE_DATA_DIR=f"{home}/data",
        CUBILETE_CORS_ORIGINS="https://example.org, *",
        CUBILETE_CORS_CREDENTIALS="true",
    )
    require_one_line(told, "cors_credentials")
    named = read(cors_origins="https://example.org", cors_credentials=True)
    assert named.origins == {"https://example.org"}


def test_lists_are_separated_by_commas():
    settings = read(
        trusted_proxies="10.0.0.0/8, ::1", allowed_hosts="Example.org,*.example.org,[::1]"
    )
    assert [str(one) for one in settings.proxies] == ["10.0.0.0/8", "::1/128"]
    assert settings.hosts == ("example.org", "*.example.org", "[::1]")
    assert (read().proxies, read().hosts, read().origins) == ((), (), frozenset())


def test_an_address_that_is_taken_is_told_in_one_line(home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = serve(CUBILETE_DATA_DIR=f"{home}/data", CUBILETE_PORT=str(taken.getsockname()[1]))
    require_one_line(told, "port")


@pytest.mark.parametrize("others", [True, False])
def test_an_address_of_a_family_that_the_kernel_lacks_is_passed_over(home, monkeypatch, others):
    """As IPv6 may be: it stops the start where there is no other address."""
    lacking = (99, socket.SOCK_STREAM, 0, "", ("::1", 0))
    there = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 0))
    found = [lacking, there] if others else [lacking]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    told = serve(CUBILETE_DATA_DIR=f"{home}/data", CUBILETE_HOST="localhost")
    if others:
        assert isinstance(told.exception, AssertionError)  # it came to serving
    else:
        require_one_line(told, "host")


def test_a_key_file_that_others_can_read_is_told_in_one_line(home):
    for name in ("server.key", "signing.keys"):
        (home / name).write_text(KEY)
        (home / name).chmod(0o644)
        told = serve(CUBILETE_DATA_DIR=str(home))
        assert (told.exit_code, len(told.stderr.splitlines())) == (2, 1)
        assert KEY not in told.stderr
        assert "chmod 600" in told.stderr
        (home / name).chmod(0o600)


def test_a_database_of_another_key_is_told_in_one_line(home):
    url = f"sqlite:///{home}/x.db"

    async def story():
        async with opened(url) as store:
            await store.ready()

    run(story())
    told = serve(CUBILETE_DATA_DIR=str(home), CUBILETE_DATABASE_URL=url, CUBILETE_SERVER_KEY=KEY)
    require_one_line(told, "server_key")
    assert FINGERPRINT.hex() not in told.stderr
    assert KEY not in told.stderr


@pytest.mark.parametrize("kind", POSTGRESQL[:1])
def test_a_database_that_can_not_be_read_now_is_told_in_one_line(home, request, kind):
    """A game of the head file has to be looked up, and a maintenance command holds its table."""
    url = migrated_url(kind, request, home, "start")
    given = {"data_dir": home, "database_url": url, "server_key": KEY}
    check(read(**given))
    (home / "heads.log").write_text(f"nobody 3 {'0' * 64}\n")
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE game IN ACCESS EXCLUSIVE MODE")
        told = serve(**{f"CUBILETE_{name.upper()}": str(value) for name, value in given.items()})
    require_one_line(told, "database_url")


def test_a_locked_database_is_told_in_one_line(home):
    url = f"sqlite:///{home}/x.db"
    check(read(data_dir=home, database_url=url))
    with closing(SQLITE.connect(home / "x.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        told = serve(CUBILETE_DATA_DIR=str(home), CUBILETE_DATABASE_URL=url)
    require_one_line(told, "database_url")


def test_an_application_that_does_not_start_says_so_in_one_line(home, monkeypatch, capsys):
    """What was right when the settings were checked may be wrong when a worker starts."""
    monkeypatch.undo()
    (home / "server.key").write_text(KEY)
    server = uvicorn.Server(uvicorn.Config(create_app(read(data_dir=home)), port=0, lifespan="on"))
    with pytest.raises(SystemExit):
        asyncio.run(server.serve())
    errors = [line for line in capsys.readouterr().err.splitlines() if "INFO" not in line]
    assert len(errors) == 2
    assert "chmod 600" in errors[0]


@pytest.mark.parametrize("command", [["openapi"], ["db", "current"], ["db", "upgrade"]])
def test_every_command_tells_a_wrong_setting_in_one_line(command):
    told = CliRunner().invoke(cli.app, command, env={"CUBILETE_PORT": SECRET})
    require_one_line(told, "port")


def test_a_variable_that_is_no_setting_is_named_without_its_value(home):
    (home / "text").write_text("")
    told = serve(
        CUBILETE_SREVER_KEY=KEY,
        CUBILETE_ELSEWHERE=SECRET,
        CUBILETE_SERVICE_HOST="10.0.0.1",
        CUBILETE_PORT_8000_TCP_ADDR="10.0.0.1",
        CUBILETE_DB_SERVICE_PORT_SQL="5432",
        CUBILETE_DB_PORT="tcp://10.0.0.1:5432",
        CUBILETE_LOG_LEVEL="debug",
        cubilete_queue_limit="7",
        CUBILETE_DATA_DIR=str(home / "text"),
    )
    *passed_over, last = told.stderr.splitlines()
    assert passed_over == [
        "cubilete: CUBILETE_ELSEWHERE: no such setting, passed over",
        "cubilete: CUBILETE_SREVER_KEY: no such setting (CUBILETE_SERVER_KEY?), passed over",
    ]
    assert last.startswith("cubilete: CUBILETE_DATA_DIR")


def test_the_settings_never_show_the_server_key(monkeypatch):
    monkeypatch.setenv("CUBILETE_SERVER_KEY", KEY)
    settings = read()
    assert settings.server_key is not None
    assert settings.server_key.get_secret_value() == KEY
    assert KEY not in f"{settings} {settings!r} {settings.model_dump()}"
    with pytest.raises(BadSetting) as refused:
        read(port=-1)
    assert KEY not in str(refused.value)


def test_without_any_setting_an_embedded_database_is_used():
    settings = read()
    assert (settings.host, settings.port, settings.workers) == ("127.0.0.1", 8000, 1)
    assert settings.database == "sqlite:///data/cubilete.db"
    assert read(data_dir="/elsewhere").database == "sqlite:////elsewhere/cubilete.db"


@pytest.mark.parametrize("name", ["a%20b", "100%", "what?", "a#b", "é b"])
def test_the_embedded_database_lies_in_the_data_directory_whatever_it_is_called(name, tmp_path):
    home = tmp_path / name
    check(Settings(data_dir=home))
    assert (home / "cubilete.db").exists()
    assert list(tmp_path.iterdir()) == [home]


def test_a_real_process_tells_it_too(home):
    known = {name: text for name, text in os.environ.items() if "CUBILETE" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "service", "serve", "--data-dir", str(home / "text")],
        cwd=ROOT,
        env=known,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"cubilete: CUBILETE_DATA_DIR: {home}/text")
    assert len(done.stderr.splitlines()) == 1
