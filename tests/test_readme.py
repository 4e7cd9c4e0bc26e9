"""The README is true: its commands run as written, in order, and print what it shows."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service import verify
from service.rules import RULESETS
from tests.server import Server

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8000"
SHOWN = re.compile(r"^```sh run\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S)
END = "--- end of a block ---"
SEEDS_GIVEN = {"operator": 0, "open": 1, "sealed": 2}  # at a table of two bots


def blocks() -> list[tuple[str, str]]:
    """The commands marked to be run, each with what it is shown to print."""
    found: list[tuple[str, str]] = SHOWN.findall(README)
    assert len(found) == README.count("```sh run\n") > 0
    return found


@pytest.fixture(scope="module")
def printed(server: Server, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block prints, all in one shell, on a server at another address."""
    if shutil.which("curl") is None:
        pytest.skip("no curl here (apt-get install curl)")
    # Beside links to the checkout, so that files it writes stay out of it.
    place = tmp_path_factory.mktemp("readme")
    (place / "service").symlink_to(ROOT / "service")
    binaries = place / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "cubilete").symlink_to(Path(sys.executable).with_name("cubilete"))
    script = "".join(f"{commands}echo '{END}'\n" for commands, _ in blocks())
    ended = subprocess.run(
        ["bash", "-eu"],
        cwd=place,
        env={"PATH": os.environ["PATH"], "PYTHONUTF8": "1"},
        input=script.replace(ADDRESS, server.url),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.split(f"{END}\n")[:-1]


def pattern(shown: str) -> str:
    """What is shown, where … on a line of its own stands for lines and elsewhere for characters."""
    lines = [
        "(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
        for line in shown.splitlines()
    ]
    return "".join(lines)


@pytest.mark.parametrize("number", range(len(blocks())))
def test_a_command_prints_what_is_shown(number: int, printed: list[str]):
    _, shown = blocks()[number]
    assert re.fullmatch(pattern(shown), printed[number]), printed[number]


def test_the_address_is_that_of_make_serve():
    assert README.count(ADDRESS) == len(re.findall(r"http://127\.0\.0\.1:\d+", README))


def test_the_commands_need_nothing_but_curl_and_python():
    programs = {"curl", "python3", "cmp", "echo", "grep", "sed", "tail", "field", "act", "cubilete"}
    programs |= {"until", "do", "done"}  # words of the shell itself
    for commands, _ in blocks():
        shell = re.sub(r"<<'PYTHON'\n.*?^PYTHON$", "", commands, flags=re.M | re.S)
        shell = re.sub(r"'[^']*'|\"[^\"]*\"", "''", shell)
        for word in re.findall(r"(?:^|\| |&& |\$\(|\{ )([\w./]+)(?= |$)", shell, re.M):
            assert Path(word).name in programs, word


# --- the bot ------------------------------------------------------------------------------------


def bot(server: Server, game_id: str, name: str) -> "subprocess.Popen[str]":
    arguments = [sys.executable, "examples/bot.py", server.url, game_id, name]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)


TABLES: list[tuple[str, dict[str, Any], str]] = [  # with options that make their games short
    ("pig", {"target": 30}, "operator"),
    ("two-dice-pig", {"target": 30}, "operator"),
    ("big-pig", {"target": 30}, "operator"),
    ("big-pig", {"target": 30}, "open"),
    ("pass-the-pigs", {"target": 30}, "operator"),
    ("dados-puercos", {"target": 30}, "operator"),
    ("dados-puercos", {"target": 30}, "sealed"),
    ("dados-puercos", {"mode": "turns", "bets": 2}, "operator"),
    ("dados-puercos", {"mode": "rounds", "target": 40, "stake": 5}, "operator"),
    ("heaven-and-nine", {"bankroll": 20, "end": {"rounds": 3}}, "operator"),
    ("dice-duel", {"format": {"best_of": 3}}, "operator"),
]


def test_the_bot_is_tried_with_every_ruleset():
    assert {key for key, _, mode in TABLES if mode == "operator"} == {one.key for one in RULESETS}


def seal(client: httpx.Client, path: str, host: str) -> None:
    """The host closes the roster as soon as every seat is taken."""
    deadline = time.monotonic() + 30
    while client.post(f"{path}/seal", headers={"authorization": f"Bearer {host}"}).is_error:
        assert time.monotonic() < deadline


@pytest.mark.parametrize(("ruleset", "options", "mode"), TABLES)
def test_two_bots_play_a_game_to_its_end(
    ruleset: str, options: dict[str, Any], mode: str, server: Server, client: httpx.Client
):
    table = {"ruleset": ruleset, "options": options, "seats": [{}, {}], "seed_mode": mode}
    created = client.post("/v1/games", json=table).raise_for_status().json()
    path = f"/v1/games/{created['game']['id']}"
    players = [bot(server, created["game"]["id"], name) for name in ("Ada", "Blaise")]
    if mode == "sealed":
        seal(client, path, created["tokens"]["host"])
    told = [player.communicate(timeout=60)[0] for player in players]
    assert [player.returncode for player in players] == [0, 0]
    game = client.get(path).json()
    winners = {game["players"][seat]["name"] for seat in game["outcome"]["winners"]}
    assert {line.split()[0] for line in told if " won: " in line} == winners
    assert len([one for one in game["dice"]["seeds"] if one["seed"]]) == SEEDS_GIVEN[mode]
    report = verify.verify(client.get(f"{path}/audit").content, claim="finished")
    assert report.ok, report.text()


def test_the_bot_is_as_short_as_is_said():
    text = (ROOT / "examples" / "bot.py").read_text("utf-8")
    code = re.sub(r'^""".*?"""', "", text, flags=re.S)
    assert 65 <= len([line for line in code.splitlines() if line.strip()]) <= 75
    assert "in some seventy lines" in README


# --- the project --------------------------------------------------------------------------------


def commands() -> Iterator[str]:
    yield from re.findall(r"`(?:\.venv/bin/)?cubilete ([a-z]+)\b", README)


def test_every_command_that_is_named_exists():
    listed = subprocess.run(
        [sys.executable, "-m", "service", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert set(commands()) <= set(re.findall(r"[a-z]+", listed))
