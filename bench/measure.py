"""Slices of load, interleaved: every case is measured in turn, round after round, so that what
disturbs the machine for a while disturbs them all."""

import json
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

import httpx

from bench.load import Slice
from bench.process import ROOT
from bench.table import Table

_CREATORS: Final = 4


@dataclass(frozen=True, slots=True)
class Form:
    """How long to measure, and how much to fill tables with."""

    name: str
    slices: int
    seconds: float
    games: int
    throws: int


SHORT: Final = Form("short", slices=3, seconds=0.8, games=100_000, throws=200_000)
LONG: Final = Form("long", slices=7, seconds=5.0, games=1_000_000, throws=1_000_000)
Tables: TypeAlias = Callable[[Form], Iterable[Table]]


def run(tables: Tables) -> None:
    """Runs one benchmark by itself: prints its tables as they come."""
    parser = ArgumentParser()
    parser.add_argument("--long", action="store_true", help="the long form")
    form = LONG if parser.parse_args().long else SHORT
    for table in tables(form):
        print(table.text(), flush=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure: which server, asked how, by how many clients at once."""

    url: str
    tables: Path | None
    mode: str
    clients: int
    module: str = "load"

    def slice(self, seconds: float) -> Slice:
        """One stretch of it, in a process of its own."""
        return Slice(**_run(self, "--seconds", str(seconds)))

    def once(self) -> Slice:
        """Each of its tables one time."""
        return Slice(**_run(self, "--once"))


def _run(case: Case, *more: str) -> Any:
    tables = () if case.tables is None else ("--tables", str(case.tables))
    clients = ("--clients", str(case.clients))
    return _load(case.module, case.mode, case.url, *tables, *clients, *more)


def _load(module: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments[:2]}: {done.stderr[-3000:]}")
    return json.loads(done.stdout)


def create(url: str, games: int, place: Path, name: str) -> Path:
    """Creates games on a server; the file that tells a load of them."""
    tables = _load("load", "create", url, "--games", str(games), "--clients", str(_CREATORS))
    return write_tables(tables, place, name)


def write_tables(tables: Sequence[Mapping[str, str]], place: Path, name: str) -> Path:
    """The file that tells a load which tables there are."""
    file = place / f"{name}.json"
    file.write_text(json.dumps(tables))
    return file


def one_answer(url: str, tables: Path) -> bytes:
    """The body of the answer to one action."""
    table = json.loads(tables.read_bytes())[0]
    path, headers = (
        f"/v1/games/{table['id']}/actions",
        {"Authorization": f"Bearer {table['token']}"},
    )
    answer = httpx.post(url + path, json={"kind": "roll"}, headers=headers)
    return answer.raise_for_status().content


def interleaved(cases: Mapping[str, Case], form: Form) -> dict[str, Slice]:
    """The medians of each case."""
    found: dict[str, list[Slice]] = {name: [] for name in cases}
    for _ in range(form.slices):
        for name, case in cases.items():
            found[name].append(case.slice(form.seconds))
    return {name: middle(slices) for name, slices in found.items()}


def middle(slices: Sequence[Slice]) -> Slice:
    """Slices of one case as one, each number the median of theirs."""
    numbers = {
        field.name: median(asdict(one)[field.name] for one in slices) for field in fields(Slice)
    }
    return replace(Slice(**numbers), answers=sum(one.answers for one in slices))
