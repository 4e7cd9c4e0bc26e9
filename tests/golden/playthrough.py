"""A whole game as text that a person can follow: every action, its throws and what came of it.

7  seat 1 roll
     throw  seat 1: 4-4
     event  rolled: faces 4-4, points 16, turn_total 16, must_roll
     state  round 1, seat 1, turn_total 16, rolls 1, must_roll, scores 0 0
     legal  seat 1: roll
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeAlias

from service.game import Game
from service.rules import ruleset
from service.rules.base import LegalAction
from tests.drawn_options import Json
from tests.played import Played, secret

Case: TypeAlias = tuple[int, Mapping[str, Any]]  # seats and options

HOLDS: Final = 0.3  # how often who may hold does so

# Short games in which much happens. A ruleset that has none here plays its last example.
CASES: Final[Mapping[str, Sequence[Case]]] = {
    "pig": (
        (2, {"target": 30}),
        (3, {"target": 20, "finish": "complete_round", "starter": "random", "auto_hold": True}),
    ),
    "two-dice-pig": ((2, {"target": 40, "double_one": "score"}),),
    "big-pig": ((3, {"target": 40}), (2, {"target": 60, "double_one": "25_bank"})),
    "dados-puercos": (
        (2, {"mode": "points", "dice": 2, "target": 40, "stake": 5}),
        (3, {"mode": "turns", "dice": 3, "bets": 3, "tie": "playoff"}),
        (2, {"mode": "rounds", "target": 60, "rounds_per_die": 1}),
    ),
    "heaven-and-nine": ((3, {"end": {"rounds": 3}}),),
    "dice-duel": (
        (2, {}),
        (
            3,
            {
                "rule": "trio_pair_sum",
                "format": {"first_to_lose": 2},
                "penalty": {"kind": "truth", "deck": ["Who cheats?", "What did you dream?"]},
            },
        ),
    ),
}


def playthrough(key: str) -> str:
    """The text of a ruleset's games."""
    last = ruleset(key).examples[-1]
    cases = CASES.get(key, [(last.seats, last.options)])
    games = (_game(key, number, *case) for number, case in enumerate(cases, 1))
    return "\n".join("".join(f"{line}\n" for line in game) for game in games)


def _game(key: str, number: int, seats: int, options: Mapping[str, Any]) -> Iterator[str]:
    rules, name = ruleset(key), f"playthrough-{key}-{number}"
    played = Played.created(name, rules, seats, options, "practice", Random(name))
    setup = played.game.setup
    yield f"=== {key}, version {rules.version}, {seats} seats"
    yield f"options  {_fields(setup.options.model_dump(mode='json'))}"
    for die, shown in setup.dice.items():
        yield f"die      {die}: {_told(shown.faces)}, weights {_told(shown.weights)}"
    yield f"root     {secret(name, 'root').hex()}, {setup.throws_max} throws at most"
    for seat in range(seats):
        played.join(seat)
    written = len(played.lines)
    played.start()
    yield from _entries(played, written)
    while played.game.status == "playing":
        written = len(played.lines)
        played.move(HOLDS)
        yield from _entries(played, written)


def _entries(played: Played, written: int) -> Iterator[str]:
    """The entries that a step has added, and how the game stands after them."""
    entries = [json.loads(line) for line in played.lines[written:]]
    for entry in entries:
        yield from _entry(entry)
    if entries[-1]["type"] != "finished":
        yield from _standing(played.game)


def _entry(entry: Json) -> Iterator[str]:
    data = entry["data"]
    match entry["type"]:
        case "acted":
            yield f"{entry['seq']:>4}  {_seat(data['seat'])} {_action(data['action'])}"
            for throw in data["throws"]:
                yield f"        throw  {_seat(throw['seat'])}: {_dashed(throw['faces'])}"
            for event in data["events"]:
                yield f"        event  {_event(event)}"
        case "finished":
            yield f"{entry['seq']:>4}  finished: {_fields(data['outcome'])}"
        case other:
            yield f"{entry['seq']:>4}  {other}"


def _standing(game: Game) -> Iterator[str]:
    """The public state and what may be done."""
    yield f"        state  {_fields(game.ruleset.view(game.state))}"
    seats: dict[int | None, list[str]] = {}
    for one in game.legal():
        seats.setdefault(one.seat, []).append(_choice(one))
    for seat, kinds in seats.items():
        yield f"        legal  {_seat(seat)}: {', '.join(kinds)}"


def _choice(one: LegalAction) -> str:
    if one.min is not None:
        return f"{one.kind} {one.min} to {one.max}"
    return one.kind if one.dice is None else f"{one.kind} of {one.dice} dice"


def _action(action: Json) -> str:
    rest = (_told(value) for name, value in action.items() if name != "kind")
    return " ".join([action["kind"], *rest])


def _event(event: Json) -> str:
    """The kind and the seat first."""
    first = {"seat": event["seat"]} if "seat" in event else {}
    rest = {name: value for name, value in event.items() if name != "kind"}
    return f"{event['kind']}: {_fields(first | rest)}"


def _seat(seat: int | None) -> str:
    return "table" if seat is None else f"seat {seat}"


def _fields(fields: Mapping[str, Any]) -> str:
    """All that is neither null, nor false, nor empty."""
    told = (
        name if value is True else f"{name} {_dashed(value) if name == 'faces' else _told(value)}"
        for name, value in fields.items()
        if value is not None and value is not False and value not in ([], {})
    )
    return ", ".join(told)


def _told(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case dict():
            return "(" + _fields(value) + ")"
        case list() | tuple():
            return " ".join(
                _dashed(item) if isinstance(item, list) else _told(item) for item in value
            )
    return str(value)


def _dashed(items: Sequence[Any]) -> str:
    """Dice side by side, or nothing; the throws of several seats one after the other."""
    if any(isinstance(item, list) for item in items):
        return _told(items)
    return "-".join(map(_told, items)) or "nothing"
