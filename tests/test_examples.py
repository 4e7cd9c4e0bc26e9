"""The short examples: each plays its game to the end, and is as short as is said."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.javascript import node
from tests.server import Server

EXAMPLES = Path(__file__).parents[1] / "examples"
LINES_MAX = 20
TYPES_STRIPPED = (22, 18)  # Node runs TypeScript as it is from this version on
PROGRAMS = {
    "play.sh": shutil.which("sh"),
    "play.py": sys.executable,
    "play.ts": node(TYPES_STRIPPED),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_plays_its_game_to_the_end(
    server: Server, client: httpx.Client, name: str
) -> None:
    program = PROGRAMS[name]
    if program is None:
        pytest.skip("no Node from 22.18 on runs here, nor one that Playwright brings along")
    command = [program, str(EXAMPLES / name), server.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.search(r"winners\W+[01]\b", done.stdout)
    games = client.get("/v1/games", params={"ruleset": "pig", "status": "finished"}).json()["games"]
    assert games[0]["players"][0]["name"] == "Ana"


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_is_short(name: str) -> None:
    text = (EXAMPLES / name).read_text("utf-8")
    code = [line for line in text.splitlines() if re.match(r"\s*[^\s#/\"]", line)]
    assert 10 < len(code) <= LINES_MAX
    assert all(len(line) <= 100 for line in text.splitlines())
