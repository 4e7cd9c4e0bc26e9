"""Recorded games, kept as they are: every version of every ruleset must replay them for ever."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from service.rules.base import kind_of
from tests.drawn_options import Value, offered, table, taken
from tests.played import SEED_MODES, Played, Rules, action

LOGS: Final = Path(__file__).parent / "logs"
CANDIDATES: Final = 400  # games from which those to keep are chosen
RESIGNS: Final = 0.01  # of the moves
THROWS_LEAST: Final = 6  # in a game worth keeping
SMALL: Final = {
    "target": 12,
    "bets": 3,
    "circuits": 1,
    "rounds": 3,
    "first_to_win": 2,
    "first_to_lose": 2,
}
FEW: Final = 5  # a number with more values need not be shown with each


def of(ruleset: Rules) -> list[Path]:
    """The recorded games of a ruleset in its version."""
    return sorted(LOGS.glob(f"{ruleset.key}-v{ruleset.version}-*.jsonl"))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def wanted(ruleset: Rules) -> set[Value]:
    """What recorded games have to show: every choice of options in each mode, every seed mode,
    every kind of action and of event."""
    modes = {("seed mode", "", mode) for mode in SEED_MODES}
    actions = {("action", "", kind_of(each)) for each in ruleset.actions}
    events = {("event", "", each.model_fields["kind"].default) for each in ruleset.events}
    return offered(ruleset, FEW) | modes | actions | events


def shown(ruleset: Rules, lines: list[bytes]) -> set[Value]:
    """What one recorded game shows of that."""
    entries = [json.loads(line) for line in lines]
    setup = entries[0]["data"]
    acted = [entry["data"] for entry in entries if entry["type"] == "acted"]
    actions = {("action", "", data["action"]["kind"]) for data in acted}
    events = {("event", "", event["kind"]) for data in acted for event in data["events"]}
    mode = ("seed mode", "", setup["seed_mode"])
    return {*taken(ruleset.load_options(setup["options"])), mode, *actions, *events}


def missing(ruleset: Rules) -> set[Value]:
    """What no recorded game shows."""
    there = (shown(ruleset, lines_of(path)) for path in of(ruleset))
    return wanted(ruleset).difference(*there)


def record(ruleset: Rules) -> Iterator[Path]:
    """Adds games until nothing is missing; those that are there stay as they are."""
    lacking = missing(ruleset)
    if not lacking:
        return
    played = (_played(ruleset, number) for number in range(CANDIDATES))
    games = [one.lines for one in played if one.game.throws >= THROWS_LEAST]
    shows = [shown(ruleset, lines) & lacking for lines in games]
    sizes = [sum(map(len, lines)) for lines in games]
    number = len(of(ruleset))
    while lacking:
        best = max(range(len(games)), key=lambda one: len(shows[one] & lacking) / sizes[one])
        if not shows[best] & lacking:
            raise LookupError(f"{ruleset.key}: no game shows {sorted(lacking)}")
        lacking -= shows[best]
        number += 1
        path = LOGS / f"{ruleset.key}-v{ruleset.version}-{number:02}.jsonl"
        with path.open("xb") as file:
            file.writelines(line + b"\n" for line in games[best])
        yield path


def _played(ruleset: Rules, number: int) -> Played:
    """A short random game."""
    name = f"recorded-{ruleset.key}-{ruleset.version}-{number}"
    random = Random(name)
    seats, options = table(ruleset, random, SMALL)
    mode = SEED_MODES[number % len(SEED_MODES)]
    played = Played.created(name, ruleset, seats, options, mode, random)
    played.seat_all()
    played.start()
    while played.game.status == "playing":
        if random.random() < RESIGNS:
            seat = played.resigning()[0]
            played.act(seat, action("resign"))
        else:
            played.move()
    return played
