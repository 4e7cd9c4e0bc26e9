"""Chips under pressure: bets that race the dice or each other, and the largest stakes there are."""

from collections import Counter
from typing import Any

import pytest

from service import rules
from service.dice import THROWS_LIMIT
from service.errors import InvalidInput
from tests.crowd import Asked, rounds
from tests.game_client import bearer, create

ROUNDS = 25
JSON_SAFE = 2**53 - 1


def betting(client, **options):
    """A table of heaven and nine that waits for the bet of the seat that is not the banker."""
    table = create(client, "heaven-and-nine", options=options)
    game = table.read()
    while game["phase"] == "limit":
        banker = game["state"]["banker"]
        limit = next(one for one in game["legal_actions"] if one["kind"] == "set_limit")
        answer = table.act(banker, "set_limit", amount=limit["max"])
        assert answer.is_success, answer.text
        game = answer.json()["game"]
    assert game["phase"] == "betting"
    return table, game


def asked(table, seat, kind, **fields):
    return Asked(f"{table.path}/actions", {"kind": kind, **fields}, bearer(table.tokens[seat]))


def test_a_bet_that_races_the_roll_is_made_before_it_or_not_at_all(server, client):
    tables = [betting(client) for _ in range(ROUNDS)]
    racing = []
    for table, game in tables:
        banker = game["state"]["banker"]
        bet = next(one for one in game["legal_actions"] if one["kind"] == "bet")
        racing.append(
            [asked(table, banker, "roll"), asked(table, bet["seat"], "bet", amount=bet["min"])]
        )
    for (table, _), (rolled, bet) in zip(tables, rounds(server, racing), strict=True):
        assert bet.status == 200
        kinds = acted(table)
        if rolled.status == 200:
            assert kinds.index("bet") < kinds.index("roll")
        else:
            assert rolled.status == 409
            assert "roll" not in kinds


def acted(table) -> list[str]:
    entries = table.send("GET", "/log").json()["entries"]
    return [entry["data"]["action"]["kind"] for entry in entries if entry["type"] == "acted"]


def test_of_many_bets_of_most_of_the_chips_one_is_made(server, client):
    tables = [betting(client, bankroll=100) for _ in range(ROUNDS)]
    racing = []
    for table, game in tables:
        bet = next(one for one in game["legal_actions"] if one["kind"] == "bet")
        amount = max(bet["min"], bet["max"] * 8 // 10)
        racing.append([asked(table, bet["seat"], "bet", amount=amount)] * 10)
    for (table, _), answers in zip(tables, rounds(server, racing), strict=True):
        assert Counter(answer.status for answer in answers) == {200: 1, 409: 9}
        assert min(table.read()["state"]["chips"]) >= 0


def largest(schema: dict[str, Any], root: dict[str, Any]) -> list[int]:
    """Every bound above that the options have."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    found = [schema["maximum"]] if "maximum" in schema else []
    for branch in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        found += largest(branch, root)
    for option in schema.get("properties", {}).values():
        if option.get("type") == "integer":
            assert "maximum" in option, option
        found += largest(option, root)
    return found


@pytest.mark.parametrize("ruleset", rules.RULESETS, ids=[one.key for one in rules.RULESETS])
def test_no_sum_of_the_largest_options_leaves_what_json_can_count(ruleset):
    """As if every throw of the longest game paid every seat the largest stake."""
    schema = ruleset.options_schema()
    most = max(largest(schema, schema), default=1)
    assert most * ruleset.max_seats * THROWS_LIMIT < JSON_SAFE


@pytest.mark.parametrize("amount", [2**31, 2**53 - 1])
def test_stakes_beyond_the_bankroll_are_refused_before_anything_is_added(amount):
    for key, options in (
        ("dados-puercos", {"bankroll": amount}),
        ("dados-puercos", {"mode": "turns", "stake": amount}),
        ("heaven-and-nine", {"bankroll": amount}),
    ):
        with pytest.raises(InvalidInput):
            rules.ruleset(key).parse_options(options, 2)
