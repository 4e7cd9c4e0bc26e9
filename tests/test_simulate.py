"""A hundred random games in every run of the tests; ``make simulate`` plays thousands."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from service import rules
from tests.golden import recorded
from tests.independent_replay import played_again
from tests.simulate import simulate, told

GAMES, SEED = 100, 2026


def test_a_hundred_random_games_agree_with_every_replay() -> None:
    tallies = simulate(GAMES, SEED)
    assert sum(tally.games for tally in tallies.values()) == GAMES
    assert all(tally.throws for tally in tallies.values())
    assert f"(seed {SEED})" in list(told(tallies, SEED, 1.0))[-1]


def test_a_seed_is_a_game() -> None:
    key = rules.RULESETS[3].key
    once, again = (simulate(1, SEED, first=3)[key] for _ in range(2))
    assert once == again


def spoiled_face(data: dict[str, Any]) -> None:
    data["throws"][0]["faces"][0] = 7


def spoiled_event(data: dict[str, Any]) -> None:
    data["events"].pop()


def spoiled_action(data: dict[str, Any]) -> None:
    data["action"] = {"kind": "hold" if data["action"]["kind"] == "roll" else "roll"}


@pytest.mark.parametrize("spoil", [spoiled_face, spoiled_event, spoiled_action])
def test_the_independent_replay_finds_a_fault(spoil: Callable[[dict[str, Any]], None]) -> None:
    entries = [json.loads(line) for line in recorded.lines_of(recorded.of(rules.RULESETS[0])[0])]
    acted = [entry["data"] for entry in entries if entry["type"] == "acted"]
    spoil(next(data for data in acted if data["throws"] and data["seat"] is not None))
    with pytest.raises(AssertionError):
        played_again([json.dumps(entry).encode() for entry in entries])
