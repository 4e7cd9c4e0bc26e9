"""Schemathesis against a real server: every operation of the contract, with what it allows and with
what it forbids. A seed makes the same requests again; ``--examples`` makes more of them.

The checks: no answer of 500 or above, only documented statuses, media types, headers and bodies,
nothing accepted that the contract forbids, no token ignored, no method or resource beyond it; see
``schemathesis.toml`` for those left out.
"""

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz_hooks import GAMES, PLACEHOLDER
from tests.game_client import Table, create
from tests.server import Server

OPEN: dict[str, Any] = {"names": ["Ana", None, None], "start": False}


def games(server: Server) -> Iterator[Table]:
    """A game of every status and seed mode, so that requests get beyond the first refusal."""
    with server.client() as client:
        yield create(client, hotseat=True, options={"starter": "seat"})
        yield create(client, "dados-puercos", hotseat=True)
        yield create(client, "heaven-and-nine", hotseat=True)
        yield create(client, "dice-duel", hotseat=True)
        yield create(client, hotseat=True, **OPEN)
        yield create(client, seed_mode="sealed", **OPEN)
        yield create(client, hotseat=True, seed_mode="open", **OPEN)
        over = create(client, hotseat=True)
        over.act(0, "resign")
        yield over


def run(server: Server, examples: int, seed: int) -> subprocess.CompletedProcess[str]:
    """One run; its output tells every failure with a request that repeats it."""
    known = ",".join(f"{table.id}={table.host}" for table in games(server))
    config = Path(__file__).with_name("schemathesis.toml")
    command = [str(Path(sys.executable).with_name("schemathesis"))]
    command += ["--config-file", str(config), "run"]
    command += [f"{server.url}/openapi.json", "--url", server.url, "--no-color"]
    command += ["--header", f"Authorization: Bearer {PLACEHOLDER}", "--output-sanitize", "false"]
    command += ["--continue-on-failure"]
    command += ["--max-examples", str(examples), "--seed", str(seed), "--warnings", "off"]
    command += ["--generation-database", "none", "--suppress-health-check", "all"]
    with tempfile.TemporaryDirectory() as empty:
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd=empty,
            env={
                **os.environ,
                GAMES: known,
                "SCHEMATHESIS_HOOKS": "tests.fuzz_hooks",
                "PYTHONPATH": str(Path(__file__).parents[1]),
            },
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=100, help="for each operation")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--database-url", help="a migrated PostgreSQL; SQLite if left out")
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.examples} examples for each operation", flush=True)
    variables = {"CUBILETE_DATABASE_URL": given.database_url} if given.database_url else {}
    with tempfile.TemporaryDirectory() as home, Server(Path(home), **variables) as server:
        done = run(server, given.examples, given.seed)
        faults = "Traceback" in server.log.read_text("utf-8", "replace")
    print(done.stdout, done.stderr)
    sys.exit(f"FAILED: seed {given.seed}" if done.returncode or faults else 0)


if __name__ == "__main__":
    main()
