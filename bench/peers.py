"""Peers, where they install from the registries: boardgame.io and OpenSpiel's pig.

    python -m bench.peers [--long]

boardgame.io is driven over its own protocol by the same load as ours, at the same time, with each
of its storages. A peer that can't be installed is named as missing.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.databases import NewDatabase, migrated, place, postgresql
from bench.engine import Count, plain, simulated
from bench.load import Slice
from bench.measure import Case, Form, create, interleaved, run
from bench.process import ROOT, Process, cubilete
from bench.table import Goal, Table, goals, number, times
from service import rules

_PEERS: Final = ROOT / "bench" / "peers"
_PYTHON: Final = ROOT / "build" / "peers"
_MODULES: Final = _PEERS / "node_modules"
_FILES: Final = "boardgame.io, its files"
_POSTGRESQL: Final = "boardgame.io, its PostgreSQL"
_MEMORY: Final = "boardgame.io, in memory"
_CLIENTS: Final = (64, 16)
_NOTES: Final = (
    "A game like Pig, one match a client. boardgame.io sends the new state to its players before"
    " its storage has written it, and in memory or in its files nothing is forced to the disk: only"
    " ours have each action on the disk before the answer. Its moves go over one open socket, ours"
    " are HTTP requests. Its log of a match lies in one value that grows with every move: each"
    " stretch begins with new matches. Its files are written by node-persist 3.1.0, with which it"
    " is tested: newer ones let a write wait for a second.",
)


def tables(form: Form) -> Iterator[Table]:
    """boardgame.io, then OpenSpiel, then the goals."""
    missing = _install_node()
    if missing is None:
        found = _measured(form)
        yield from (_table(clients, slices) for clients, slices in found.items())
        yield goals("Peers", _goals(found))
    else:
        yield _not_here("boardgame.io", missing)
    missing = _install_python()
    yield _simulation(form) if missing is None else _not_here("OpenSpiel", missing)


def _not_here(peer: str, why: str) -> Table:
    return Table(f"Peers: {peer}", ("", "why"), [["not installed here", why]])


# --- installing ---------------------------------------------------------------------------------


def _install_node() -> str | None:
    """Installs what the lock names, once; why not, if it can't."""
    if shutil.which("npm") is None:
        return "no npm"
    done = _MODULES / ".package-lock.json"
    if done.exists() and done.stat().st_mtime >= (_PEERS / "package-lock.json").stat().st_mtime:
        return None
    return _installed("npm", "ci")


def _install_python() -> str | None:
    if any(_PYTHON.glob("pyspiel*")):
        return None
    chosen = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--target", str(_PYTHON))
    return _installed(
        sys.executable, "-m", "uv", "pip", "install", *chosen, "-r", "requirements.lock"
    )


def _installed(*command: str) -> str | None:
    done = subprocess.run(command, cwd=_PEERS, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


# --- boardgame.io -------------------------------------------------------------------------------


def _measured(form: Form) -> dict[int, dict[str, Slice]]:
    with place() as here, postgresql() as make, ExitStack() as running:
        served = {
            name: running.enter_context(server) for name, server in _servers(here, make).items()
        }
        known: dict[str, Path] = {}
        for name in ("SQLite", "PostgreSQL"):
            known[name] = create(served[name].url, max(_CLIENTS), here, name)
            Case(served[name].url, known[name], "act", max(_CLIENTS)).once()
        return {
            clients: interleaved(
                {
                    name: Case(server.url, known[name], "act", clients)
                    if name in known
                    else Case(server.url, None, "move", clients, module="load_socket")
                    for name, server in served.items()
                },
                form,
            )
            for clients in _CLIENTS
        }


def _servers(here: Path, make: NewDatabase) -> dict[str, Process]:
    (here / "files").mkdir()
    return {
        "SQLite": cubilete(here / "sqlite"),
        "PostgreSQL": cubilete(here / "postgresql", migrated(make)),
        _MEMORY: _boardgame(here / "memory", "memory"),
        _FILES: _boardgame(here / "files", "files", str(here / "files" / "games")),
        _POSTGRESQL: _boardgame(here / "peer", "postgresql", make()),
    }


def _boardgame(here: Path, *storage: str) -> Process:
    command = ["node", str(_PEERS / "server.js"), "{port}", *storage]
    return Process(command, here, {"NODE_ENV": "production"}, ready="/games")


def _table(clients: int, found: Mapping[str, Slice]) -> Table:
    own = found["SQLite"]
    return Table(
        f"Peers: boardgame.io, {clients} clients",
        ("server", "actions/s", "SQLite / it", "p50 ms", "p99 ms"),
        [
            [
                name,
                number(one.rate),
                times(own.rate / one.rate),
                f"{one.p50_ms:.2f}",
                f"{one.p99_ms:.2f}",
            ]
            for name, one in found.items()
        ],
        _NOTES if clients == max(_CLIENTS) else (),
    )


def _goals(found: Mapping[int, Mapping[str, Slice]]) -> Iterator[Goal]:
    many, fewer = (found[clients] for clients in _CLIENTS)
    peer = many[_POSTGRESQL].rate
    yield Goal("64 clients: SQLite / boardgame.io's PostgreSQL", many["SQLite"].rate / peer, 4)
    yield Goal(
        "64 clients: PostgreSQL / boardgame.io's PostgreSQL", many["PostgreSQL"].rate / peer, 2.5
    )
    yield Goal(
        "16 clients: SQLite / boardgame.io's files", fewer["SQLite"].rate / fewer[_FILES].rate, 2
    )


# --- OpenSpiel ----------------------------------------------------------------------------------


def _simulation(form: Form) -> Table:
    own = simulated(rules.ruleset("pig"), plain, form.seconds)
    done = subprocess.run(
        [sys.executable, "-m", "bench.spiel", str(form.seconds)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(_PYTHON)},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = {"ours": own, "OpenSpiel 2.0.2, from Python": Count(**json.loads(done.stdout))}
    return Table(
        "Peers: OpenSpiel, simulation of pig in one process",
        ("engine", "games/s", "actions/s", "throws/s", "ours / it"),
        [
            [
                name,
                number(one.games / one.seconds),
                number(one.actions / one.seconds),
                number(one.throws / one.seconds),
                times((own.actions / own.seconds) / (one.actions / one.seconds)),
            ]
            for name, one in rows.items()
        ],
        [
            "Two seats, 100 points, a hold at 20, dice from a plain generator. OpenSpiel's rules"
            " are C++ and are asked from Python, one call a step; ours are Python."
        ],
    )


if __name__ == "__main__":
    run(tables)
