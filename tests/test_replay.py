"""The log against the rules: what the dice verifier cannot see is refused here."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from service import rules, steps
from service.dice import KeyChain
from service.game import Game, Player
from service.log import canonical, entry_hash
from service.replay import NotReplayable, audit, replay
from service.rules.base import Hold, Roll

ROOT = bytes(range(32))


def played(length: int = 1024, hold_at: int = 8) -> tuple[Game, list[bytes]]:
    """A game of pig between two who hold at so many points, with its log."""
    ruleset = rules.ruleset("pig")
    chosen = {"target": 20, "starter": "seat", "auto_hold": False}
    options = ruleset.parse_options(chosen, 2)
    chain = KeyChain(ROOT, length)
    step = steps.create("g-1", ruleset, options, 2, "operator", chain, 1)
    for seat in (0, 1):
        step = step.then(steps.join(step.game, seat, Player("human", None), 2))
    step = step.then(steps.start(step.game, chain, 3))
    while step.game.status == "playing":
        game = step.game
        holds = game.state.turn_total >= hold_at
        action = Hold(kind="hold") if holds else Roll(kind="roll")
        step = step.then(steps.act(game, game.state.seat, action, chain, 4))
    return step.game, list(step.lines)


def forged(lines: list[bytes], change: Callable[[list[Any]], None]) -> list[bytes]:
    """The log after a change of its entries, with numbers and hashes that fit again."""
    entries = [json.loads(line) for line in lines]
    change(entries)
    out: list[bytes] = []
    prev = "0" * 64
    for seq, entry in enumerate(entries):
        line = canonical(entry | {"prev": prev, "seq": seq})
        out.append(line)
        prev = entry_hash(line).hex()
    return out


def test_a_true_log_replays_to_the_game_and_passes():
    game, lines = played()
    assert replay(lines) == audit(lines) == game


def test_a_game_that_ran_out_of_throws_passes():
    game, lines = played(hold_at=10_000)
    assert game.outcome is not None
    assert game.outcome.reason == "throws_exhausted"
    assert audit(lines) == game


def test_a_game_may_have_more_throws_than_its_ruleset_gives():
    game, lines = played(length=1025)
    assert audit(lines) == game


@pytest.mark.parametrize(("length", "hold_at"), [(9, 10_000), (1023, 8)])
def test_a_game_with_fewer_throws_than_its_ruleset_gives_is_refused(length: int, hold_at: int):
    """Whoever knows the root could let it run out while their friend leads."""
    game, lines = played(length, hold_at)
    with pytest.raises(NotReplayable, match="fewer throws") as refused:
        audit(lines)
    assert refused.value.seq == 0
    assert audit(lines, any_length=True) == game


def crooked_die(entries: list[Any]) -> None:
    entries[0]["data"]["dice"]["d6"]["weights"] = [0, 0, 0, 0, 0, 1]


def another_option(entries: list[Any]) -> None:
    entries[0]["data"]["options"]["target"] = 0


def missing_option(entries: list[Any]) -> None:
    del entries[0]["data"]["options"]["finish"]


def more_points(entries: list[Any]) -> None:
    entries[4]["data"]["events"][0]["points"] += 1


def another_winner(entries: list[Any]) -> None:
    outcome = entries[-1]["data"]["outcome"]
    outcome["winners"], outcome["losers"] = outcome["losers"], outcome["winners"]


def abandoned_when_won(entries: list[Any]) -> None:
    entries[-1]["type"] = "abandoned"
    entries[-1]["data"] = {"reason": "restored", "root": entries[-1]["data"]["root"]}


def out_of_throws_too_soon(entries: list[Any]) -> None:
    del entries[5:-1]
    entries[-1]["data"]["outcome"] = {
        "reason": "throws_exhausted",
        "winners": [0, 1],
        "losers": [],
        "scores": [0, 0],
        "chips": None,
    }


def out_of_turn(entries: list[Any]) -> None:
    entries[4]["data"]["seat"] = 1


@pytest.mark.parametrize(
    ("change", "seq"),
    [
        (crooked_die, 0),
        (another_option, 0),
        (missing_option, 0),
        (more_points, 4),
        (out_of_turn, 4),
        (out_of_throws_too_soon, 5),
        (another_winner, -1),
        (abandoned_when_won, -1),
    ],
)
def test_what_the_rules_do_not_make_is_refused_at_its_entry(
    change: Callable[[list[Any]], None], seq: int
):
    _, lines = played()
    log = forged(lines, change)
    with pytest.raises(NotReplayable) as refused:
        audit(log)
    assert refused.value.seq == range(len(log))[seq]
