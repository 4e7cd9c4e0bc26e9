"""The short examples: each plays its game to the end, and is as short as is said."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests.server import Server

EXAMPLES = Path(__file__).parents[1] / "examples"
LINES_MAX = 20
TYPES_STRIPPED = (22, 18)  # Node runs TypeScript as it is from this version on


def version(node: str) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", told)))


def node_for_types() -> str | None:
    """A Node that is new enough: the one on the path, or the one that Playwright brings along."""
    playwright = find_spec("playwright")
    places = [shutil.which("node")]
    if playwright is not None and playwright.origin is not None:
        places.append(shutil.which(Path(playwright.origin).with_name("driver") / "node"))
    return next((one for one in places if one and version(one) >= TYPES_STRIPPED), None)


PROGRAMS = {"play.sh": shutil.which("sh"), "play.py": sys.executable, "play.ts": node_for_types()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_plays_its_game_to_the_end(
    server: Server, client: httpx.Client, name: str
) -> None:
    program = PROGRAMS[name]
    if program is None:
        pytest.skip("no Node of version 22.18 or newer here, and no Playwright that brings one")
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
