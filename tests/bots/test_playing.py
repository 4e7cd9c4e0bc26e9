"""Bots at whole tables: legal, to the end, found in order by every audit; and blind."""

import dataclasses
import json
from collections import Counter
from random import Random
from typing import Any

import pytest

from service import bots, verify
from service.bots.base import Position
from service.dice import KeyChain, Throw
from service.game import Game
from service.hosting import BOT_ACTIONS_MOST, bot_due
from service.log import jsonl
from service.replay import audit, replay
from service.rules import RULESETS, ruleset
from tests.bots.tables import BotTable, Rules, names_of
from tests.drawn_options import table
from tests.javascript import NEEDS_NODE, JavaScriptVerifier
from tests.played import action

GAMES = 30  # of each ruleset
every_ruleset = pytest.mark.parametrize("rules", RULESETS, ids=lambda rules: rules.key)


def drawn_table(number: int, rules: Rules, people: bool = True) -> BotTable:
    """Random options and a random mix of bots, and of people in up to half of the seats."""
    random = Random(f"bots/{number}")
    seats, options = table(rules, random)
    known = names_of(rules, rules.parse_options(options, seats), seats)
    seated: list[str | None] = [known[random.randrange(len(known))] for _ in range(seats)]
    for _ in range(1 + random.randrange(seats // 2) if people else 0):
        seated[random.randrange(seats)] = None
    return BotTable.of(f"{rules.key}-{number}", rules, seated, options)


def in_order(played: BotTable) -> bool:
    """Whether the dice, the log and the rules are as they have to be."""
    report = verify.verify_log(jsonl(played.lines), claim="finished")
    assert report.ok, (played.game.id, report.failure)
    return audit(played.lines) == played.game == replay(played.lines)


# --- whole games --------------------------------------------------------------------------------


@every_ruleset
def test_bots_play_every_table_to_the_end_and_no_audit_finds_anything(rules):
    for number in range(GAMES):
        played = drawn_table(number, rules)
        played.play()
        assert played.game.status == "finished"
        assert in_order(played)


@every_ruleset
def test_bots_alone_come_to_an_end(rules):
    for number in range(10):
        played = drawn_table(number, rules, people=False)
        while played.let_bots_act():
            pass
        assert played.game.status == "finished"
        assert in_order(played)


@every_ruleset
def test_every_bot_of_a_ruleset_plays_at_the_usual_table(rules):
    seats = max(2, rules.min_seats)
    for name in names_of(rules, rules.parse_options({}, seats), seats):
        played = BotTable.of(f"{rules.key}-{name}".replace(":", "-"), rules, [None, name], {})
        played.play()
        assert in_order(played)


@NEEDS_NODE
def test_the_verifier_of_the_page_accepts_games_with_bots():
    with JavaScriptVerifier() as other:
        for rules in RULESETS:
            played = drawn_table(1, rules)
            played.play()
            other.ask(jsonl(played.lines), {})
            assert other.answer()["ok"], rules.key


def test_a_persons_turn_is_left_to_the_person():
    played = BotTable.of("left", ruleset("pig"), ["hold_20", None], {"starter": "seat"})
    assert played.let_bots_act() > 0
    assert played.game.to_act() == (1,)
    assert played.let_bots_act() == 0
    assert not bot_due(played.hosted())


def test_bots_wait_for_people_to_resolve_as_long_as_there_is_one():
    rules = ruleset("dice-duel")
    played = BotTable.of("press", rules, [None, "random", "best_mask"], {"press": "anyone"})
    assert played.let_bots_act() == 0  # anybody may roll, so a person does
    played.act(0, action("roll"))
    assert played.let_bots_act() == 2
    played.act(0, action("hold"))
    assert not bot_due(played.hosted())
    played.act(0, action("resign"))
    assert bot_due(played.hosted())


def test_a_request_holds_a_bounded_number_of_bots_actions_and_the_next_goes_on():
    options = {"target": 2_000, "starter": "seat"}
    played = BotTable.of("long", ruleset("pig"), [None, "random", "hold_20"], options)
    played.act(0, action("resign"))
    assert played.let_bots_act() == BOT_ACTIONS_MOST
    assert bot_due(played.hosted())
    while played.let_bots_act():
        pass
    assert played.game.status == "finished"
    assert in_order(played)


# --- what they see ------------------------------------------------------------------------------


def seen(value: Any, found: dict[int, Any]) -> dict[int, Any]:
    """Everything that can be reached from a value, the rules themselves apart."""
    if id(value) in found or isinstance(value, (str, int, type(None), type)):
        return found
    found[id(value)] = value
    if isinstance(value, (tuple, list, set, frozenset)):
        inside: Any = value
    elif isinstance(value, dict):
        inside = [*value, *value.values()]
    elif dataclasses.is_dataclass(value):
        inside = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        inside = getattr(value, "__dict__", {}).values()
    for one in inside:
        seen(one, found)
    return found


@every_ruleset
def test_what_a_bot_can_reach_holds_no_key_no_dice_and_no_game(rules):
    played = drawn_table(0, rules, people=False)
    for _ in range(20):
        due = bots.awaited(rules, played.game.state, played.bots)
        if played.game.status != "playing" or due is None or due[0] is None:
            break
        position = Position(rules, played.game.state, due[0], due[1], played.game.head)
        told = [getattr(position, name) for name in ("state", "seat", "legal", "head")]
        found = list(seen(told, {}).values())
        assert len(found) > 2  # the walk sees something
        assert not [one for one in found if isinstance(one, (KeyChain, Throw, Game))]
        hashes = [one for one in found if isinstance(one, (bytes, bytearray, memoryview))]
        assert hashes == [position.head]
        played.let_bots_act()


def test_a_bot_is_told_five_things_and_no_more():
    fields = [field.name for field in dataclasses.fields(Position)]
    assert fields == ["ruleset", "state", "seat", "legal", "head"]


def test_a_key_within_reach_would_be_found():
    played = drawn_table(0, ruleset("pig"), people=False)
    chain = KeyChain(bytes(32), 8)
    found = seen(dataclasses.replace(played.game, state=(chain,)), {})
    assert chain in found.values()


@every_ruleset
def test_what_a_bot_does_follows_from_what_it_sees(rules):
    played = drawn_table(3, rules, people=False)
    while played.game.status == "playing":
        due = next_action(played)
        assert due == next_action(played)
        state = rules.load(json.loads(json.dumps(rules.dump(played.game.state))))
        assert due == bots.next_action(rules, state, played.bots, played.game.head)
        played.act(*due)


def next_action(played: BotTable, head: bytes | None = None) -> tuple[int | None, Any]:
    """What the bot that is due does, with another hash of the log if one is given."""
    game = played.game
    due = bots.next_action(game.ruleset, game.state, played.bots, head or game.head)
    assert due is not None
    return due


@every_ruleset
def test_only_random_minds_the_hash_of_the_log(rules):
    played = drawn_table(4, rules, people=False)
    while played.game.status == "playing":
        due = next_action(played)
        if due[0] is not None and played.bots[due[0]] != "random":
            assert due == next_action(played, bytes(32)) == next_action(played, b"\xff" * 32)
        played.act(*due)


def test_random_takes_every_legal_action_equally_often():
    options = {"starter": "seat", "hold_before_roll": True}
    played = BotTable.of("even", ruleset("pig"), ["random", None], options)
    kinds = Counter(
        next_action(played, number.to_bytes(32, "big"))[1].kind for number in range(1, 2_001)
    )
    assert set(kinds) == {"roll", "hold"}
    assert abs(kinds["roll"] - 1_000) < 5 * 500**0.5  # five standard deviations


def test_random_bets_every_amount_that_it_may():
    rules = ruleset("heaven-and-nine")
    options = {"starter": "seat", "bankroll": 5}
    played = BotTable.of("amounts", rules, ["random", None], options)
    amounts = {next_action(played, bytes([number]) * 32)[1].amount for number in range(1, 200)}
    assert amounts == {1, 2, 3, 4, 5}


def test_an_unknown_bot_has_no_policy():
    with pytest.raises(LookupError):
        bots.policy("pig", "best_mask")
