"""The command line: ``cubilete serve``, ``play``, ``verify``, ``export``, ``openapi``, ``db``,
``keys``."""

import errno
import functools
import json
import logging.config
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn

from service import __version__
from service import verify as verifier
from service.api.access import log_config
from service.api.app import create_app, require_telemetry
from service.api.connection import Connection, ConnectionLimits, Watch
from service.api.draining import end_in_peace
from service.api.house import check, export_old
from service.api.workers import run_workers
from service.errors import BadSetting, Unavailable
from service.keys import key_id, require_server_key, rotate_signing_key
from service.memory import require_room, watch_process
from service.settings import Settings, read, unknown
from service.store import current, upgrade
from service.terminal import Wanted
from service.terminal import play as play_in_terminal

app = typer.Typer(
    help="Dice games whose every throw can be checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
db = typer.Typer(help="The database's schema.", no_args_is_help=True)
app.add_typer(db, name="db")
signing = typer.Typer(help="The keys that sign receipts.", no_args_is_help=True)
app.add_typer(signing, name="keys")

# What is left of ten seconds is for closing the store.
_LAST_REQUESTS_S = 7
# From the end of the drain; a worker that takes longer hangs.
_ENDING_S = 12
_OTHER_FILES = 256

DatabaseUrl = Annotated[
    str | None, typer.Option(help="sqlite:///path or postgresql://user@host/name")
]
DataDir = Annotated[Path | None, typer.Option(help="Embedded database and server key.")]


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cubilete {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version."),
    ] = False,
) -> None:
    """What holds for every command."""


@contextmanager
def _one_line() -> Iterator[None]:
    """A wrong setting stops the command with one line and exit code 2, a store that takes nothing
    with exit code 1."""
    try:
        yield
    except BadSetting as error:
        typer.echo(f"cubilete: {error}", err=True)
        raise typer.Exit(2) from None
    except Unavailable as error:
        typer.echo(f"cubilete: {error}", err=True)
        raise typer.Exit(1) from None


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Port to listen on (8000).")
    ] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Processes; above 1: PostgreSQL.")
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    log_level: Annotated[str | None, typer.Option(help="critical .. debug (info).")] = None,
) -> None:
    """Serve games over HTTP. Every option is also a CUBILETE_* variable."""
    with _one_line():
        settings = read(
            host=host,
            port=port,
            workers=workers,
            database_url=database_url,
            data_dir=data_dir,
            log_level=log_level,
        )
        for line in unknown(os.environ):
            typer.echo(f"cubilete: {line}", err=True)
        require_room()
        if settings.workers > 1 and settings.database.startswith("sqlite"):
            raise BadSetting("CUBILETE_WORKERS: SQLite takes one process; use PostgreSQL for more")
        if settings.telemetry:
            require_telemetry()
        logging.config.dictConfig(log_config(settings.log_level))
        # What is wrong with database or key is told here, in one line, before a worker starts.
        check(settings)
        _require_address(settings.host, settings.port)
    end_in_peace()
    if settings.workers == 1:
        watch_process()
        _run(settings, create_app(settings))
    else:
        os.environ.update(_as_variables(settings))
        _run(settings, "service.cli:from_environment")


def _require_address(host: str, port: int) -> None:
    """Raises BadSetting unless this process may listen there."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise BadSetting("CUBILETE_HOST: not an address of this machine") from None
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as error:
            if error.errno == errno.EAFNOSUPPORT and len(found) > 1:
                continue  # a kernel without IPv6: the server passes it over as well
            raise BadSetting(f"CUBILETE_HOST, CUBILETE_PORT: {error.strerror}") from None


def from_environment() -> Any:
    """The application of one of several workers, whose settings come from the environment."""
    watch_process()
    return create_app(read())


def _as_variables(settings: Settings) -> dict[str, str]:
    given = settings.model_dump(exclude_none=True, exclude={"server_key"})
    return {f"CUBILETE_{name.upper()}": str(value) for name, value in given.items()}


def _run(settings: Settings, application: Any) -> None:
    limits = ConnectionLimits(
        receive_s=settings.receive_timeout_s,
        send_s=settings.send_timeout_s,
        connections=_room(settings.connection_limit),
        connections_per_address=settings.connections_per_address,
        trusted=settings.proxies,
    )
    protocol: Any = functools.partial(Connection, watch=Watch(limits))
    manner: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "http": protocol,
        "ws": "none",
        "log_config": log_config(settings.log_level),
        "log_level": settings.log_level,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": _LAST_REQUESTS_S,
        # A worker that starts on a busy machine is not dead yet.
        "timeout_worker_healthcheck": 30,
    }
    if settings.workers == 1:
        uvicorn.run(application, **manner)
    else:
        config = uvicorn.Config(application, factory=True, **manner)
        run_workers(config, settings.drain_seconds + _ENDING_S)


def _room(connections: int) -> int:
    """How many connections fit into the files that this process may open, which are raised as far
    as the system lets it; some are kept for the database and what else is open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        return connections
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(1, hard - _OTHER_FILES)


@app.command()
def play(
    ruleset: Annotated[str, typer.Argument(help="Such as big-pig or dados-puercos.")],
    player: Annotated[
        list[str] | None, typer.Option(help="A player's name; once for each seat.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the ruleset, as name=value.")
    ] = None,
    seed: Annotated[
        str | None, typer.Option(help="64 hex digits: a practice game with this root.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="A new file for the log; `cubilete verify` checks it.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="es or en (from LANG).", show_default=False)
    ] = None,
) -> None:
    """Play at this terminal, all at one keyboard."""
    with _one_line():
        wanted = Wanted(ruleset, player or (), option or (), seed, log, language)
        raise typer.Exit(play_in_terminal(wanted))


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
def verify(context: typer.Context) -> None:
    """Check a game's log or audit record: a file, or the URL of a game. Needs no server."""
    raise typer.Exit(verifier.main(context.args))


@app.command()
def export(
    days: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Games that ended so many days ago (CUBILETE_RETENTION_DAYS)."
        ),
    ] = None,
    export_dir: Annotated[
        Path | None, typer.Option(help="Where their records go (exported in the data directory).")
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Write the records of old games to files, then delete the games. A server does so by itself
    where CUBILETE_RETENTION_DAYS is set."""
    with _one_line():
        settings = read(
            retention_days=days,
            export_dir=export_dir,
            database_url=database_url,
            data_dir=data_dir,
        )
        if settings.retention_days is None:
            raise BadSetting("CUBILETE_RETENTION_DAYS: not set; or name --days")
        _require_there(settings)
        done, failures = export_old(settings)
    typer.echo(f"{done} exported to {settings.exports}, and deleted")
    if failures:
        why = str(failures[-1]) or type(failures[-1]).__name__
        typer.echo(f"cubilete: {len(failures)} could not be exported, and stay: {why}", err=True)
        raise typer.Exit(1)


@app.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    with _one_line():
        document = create_app(read()).openapi()
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True))


@db.command("upgrade")
def db_upgrade(database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Bring the database to the schema that this version needs."""
    with _one_line():
        before, after = upgrade(read(database_url=database_url, data_dir=data_dir).database)
        typer.echo(f"{before or 'empty'} -> {after}")


@db.command("current")
def db_current(database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Tell the database's revision; exit code 1 if it is not the one needed, 2 if there is none."""
    with _one_line():
        settings = read(database_url=database_url, data_dir=data_dir)
        _require_database(settings)
        found, needed = current(settings.database)
        typer.echo(f"{found or 'empty'} (needed: {needed})")
        raise typer.Exit(0 if found == needed else 1)


def _require_there(settings: Settings) -> None:
    """Raises BadSetting where no server has been: what asks or tidies up makes nothing new."""
    if not settings.data_dir.is_dir():
        raise BadSetting(f"CUBILETE_DATA_DIR: {settings.data_dir}: no such directory")
    _require_database(settings)
    if settings.server_key is None:
        require_server_key(settings.data_dir)


def _require_database(settings: Settings) -> None:
    file = settings.database_file
    if file is not None and not file.exists():
        setting = "DATABASE_URL" if settings.database_url else "DATA_DIR"
        raise BadSetting(f"CUBILETE_{setting}: {file}: there is no database")


@signing.command("rotate")
def keys_rotate(data_dir: DataDir = None) -> None:
    """Make a new signing key, used from the next start on; old receipts still check."""
    with _one_line():
        keys = rotate_signing_key(read(data_dir=data_dir).data_dir)
        typer.echo(f"{key_id(keys.public[0])} signs, {len(keys.public) - 1} retired")


def main() -> None:
    """The ``cubilete`` command."""
    app(prog_name="cubilete")
