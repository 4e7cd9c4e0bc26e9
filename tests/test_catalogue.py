"""The catalogue over HTTP: it explains every ruleset, in both languages, and what it says holds."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import service
from service.api.texts import REASONS
from service.rules import RULESETS
from tests.drawn_options import Json, branches

KEYS = [ruleset.key for ruleset in RULESETS]
OPTIONS_ES = json.loads(
    (Path(service.__file__).parent / "rules/texts/options.es.json").read_text("utf-8")
)
every_ruleset = pytest.mark.parametrize("key", KEYS)


@pytest.fixture
def told(client: httpx.Client, key: str) -> Json:
    """What the catalogue tells of a ruleset."""
    answer = client.get(f"/v1/rulesets/{key}")
    assert answer.status_code == 200, answer.text
    ruleset: Json = answer.json()
    return ruleset


def create(
    client: httpx.Client, key: str, seats: int, options: Json, language: str = "en"
) -> httpx.Response:
    names = [{"name": f"Seat {seat}"} for seat in range(seats)]
    body = {"ruleset": key, "seats": names, "options": options}
    return client.post("/v1/games", json=body, headers={"accept-language": language})


def fields(schema: Json, root: Json, at: str = "") -> Iterator[tuple[str, Json, bool]]:
    """Every option in every mode: where it stands, its schema, and whether it must be given."""
    for branch in branches(schema, root):
        for name, option in branch.get("properties", {}).items():
            yield at + name, option, name in branch.get("required", ())
            yield from fields(option, root, f"{at}{name}/")


# --- texts --------------------------------------------------------------------------------------


@every_ruleset
def test_a_ruleset_has_titles_and_rules_in_both_languages(told: Json) -> None:
    for what, least in (("title", 3), ("summary", 60), ("rules", 1_500)):
        text = told[what]
        assert text.keys() == {"es", "en"}
        assert min(map(len, text.values())) >= least, what
        assert text["es"] != text["en"] or what == "title"
    assert all(text.startswith("# ") for text in told["rules"].values())


@every_ruleset
def test_the_rules_speak_of_every_option(told: Json) -> None:
    names = {name.partition("/")[0] for name, _, _ in fields(told["options"], told["options"])}
    for language, text in told["rules"].items():
        silent = {name for name in names if f"`{name}`" not in text}
        assert not silent, language


@every_ruleset
def test_an_option_has_a_title_a_description_and_a_default(told: Json) -> None:
    options = list(fields(told["options"], told["options"]))
    assert options
    for name, option, required in options:
        assert option["title"], name
        assert option["description"], name
        assert required or "default" in option, name


# --- options in Spanish -------------------------------------------------------------------------


@every_ruleset
def test_every_option_is_told_in_spanish(told: Json) -> None:
    spanish = told["options_text"]["es"]
    assert set(spanish) == {name for name, _, _ in fields(told["options"], told["options"])}
    for name, option, _ in fields(told["options"], told["options"]):
        assert spanish[name].keys() == {"title", "description"}
        assert spanish[name]["description"] != option["description"]


@every_ruleset
def test_the_spanish_text_of_an_option_explains_each_of_its_values(told: Json) -> None:
    spanish = told["options_text"]["es"]
    for name, option, _ in fields(told["options"], told["options"]):
        for branch in branches(option, told["options"]):
            for value in [*branch.get("enum", ()), branch.get("const")]:
                if isinstance(value, str):
                    assert f"{value}:" in spanish[name]["description"], f"{name}: {value}"


def test_a_shared_spanish_text_stands_for_one_english_text() -> None:
    english: dict[str, set[tuple[str, str]]] = {name: set() for name in OPTIONS_ES["*"]}
    for ruleset in RULESETS:
        schema = ruleset.options_schema()
        for name, option, _ in fields(schema, schema):
            if name not in OPTIONS_ES.get(ruleset.key, {}):
                english[name].add((option["title"], option["description"]))
    assert {name: len(texts) for name, texts in english.items()} == dict.fromkeys(english, 1)


def test_no_spanish_text_is_left_over() -> None:
    assert OPTIONS_ES.keys() <= {"*", *KEYS}
    for ruleset in RULESETS:
        schema = ruleset.options_schema()
        known = {name for name, _, _ in fields(schema, schema)}
        assert OPTIONS_ES.get(ruleset.key, {}).keys() <= known, ruleset.key


# --- examples, phases, actions, reasons, glossary -----------------------------------------------


@every_ruleset
def test_an_example_is_a_game_that_can_be_created(
    client: httpx.Client, key: str, told: Json
) -> None:
    assert told["examples"]
    for example in told["examples"]:
        assert all(example["title"][language] for language in ("es", "en"))
        answer = create(client, key, example["seats"], example["options"])
        assert answer.status_code == 201, answer.text
        game = answer.json()["game"]
        assert example["options"].items() <= game["options"].items()
        assert game["phase"] in told["phases"]


@every_ruleset
def test_an_action_has_a_schema_that_names_its_kind_and_parameters(told: Json) -> None:
    parameters = {"bet": {"amount"}, "set_limit": {"amount"}, "reroll": {"mask"}}
    kinds = [action["kind"] for action in told["actions"]]
    assert "resign" in kinds
    assert len(set(kinds)) == len(kinds)
    for action in told["actions"]:
        schema, kind = action["schema"], action["kind"]
        assert schema["description"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["kind"]["const"] == kind
        assert set(schema["required"]) == {"kind", *parameters.get(kind, ())}


@every_ruleset
def test_a_reason_of_refusal_has_its_text_in_both_languages(told: Json) -> None:
    codes = [reason["code"] for reason in told["reasons"]]
    assert len(set(codes)) == len(codes)
    for reason in told["reasons"]:
        text = REASONS[reason["code"]]
        assert reason["detail"] == {"es": text.es, "en": text.en}


@pytest.mark.parametrize("key", ["heaven-and-nine"])
def test_the_glossary_names_the_21_throws_in_three_languages(told: Json) -> None:
    assert len(told["glossary"]) == 21
    for throw in told["glossary"]:
        assert throw["names"].keys() == {"es", "en", "zh"}
        assert all(throw["names"].values())
    assert sum(throw["ways"] for throw in told["glossary"]) == 36
    assert told["glossary"][0]["names"]["es"] == "Paraíso"


@pytest.mark.parametrize("key", ["pig"])
def test_a_ruleset_without_names_for_throws_has_an_empty_glossary(told: Json) -> None:
    assert told["glossary"] == []


# --- what the options refuse --------------------------------------------------------------------

WRONG = [
    # ruleset, seats, options, pointer, code
    ("dice-duel", 3, {"format": {"best_of": 3}}, "/options/format", "needs_two_seats"),
    ("dice-duel", 2, {"format": {"first_to_lose": 2}}, "/options/format", "needs_three_seats"),
    ("dice-duel", 2, {"format": {"best_of": 2}}, "/options/format/best_of", "not_allowed"),
    ("dice-duel", 2, {"format": {"best_of": 7}}, "/options/format/best_of", "too_large"),
    ("dice-duel", 2, {"format": {}}, "/options/format", "not_allowed"),
    ("dice-duel", 2, {"rule": "trio_pair_sum", "dice": 2}, "/options/dice", "needs_three_dice"),
    ("dados-puercos", 2, {"mode": "rounds", "dice": 2}, "/options", "unknown_field"),
    ("dados-puercos", 2, {"mode": "turns", "target": 50}, "/options", "unknown_field"),
    ("dados-puercos", 2, {"mode": "turns", "auto_hold": True}, "/options", "unknown_field"),
    ("dados-puercos", 2, {"mode": "points", "bets": 3}, "/options", "unknown_field"),
    ("dados-puercos", 2, {"mode": "rounds", "bets": 3}, "/options", "unknown_field"),
    ("dados-puercos", 2, {"bets": 3}, "/options", "unknown_field"),
    ("dados-puercos", 2, {"mode": "cards"}, "/options/mode", "not_allowed"),
    ("dados-puercos", 2, {"stake": 101}, "/options/stake", "above_bankroll"),
    ("dados-puercos", 2, {"mode": "turns", "stake": 0}, "/options/stake", "too_small"),
    ("heaven-and-nine", 3, {"bank_passes": "never"}, "/options/bank_passes", "needs_rounds"),
    ("heaven-and-nine", 3, {"end": {"rounds": 1, "circuits": 1}}, "/options/end", "not_allowed"),
    ("heaven-and-nine", 3, {"auto_hold": True}, "/options", "unknown_field"),
    ("pig", 2, {"doubles_force": "no"}, "/options", "unknown_field"),
    ("pass-the-pigs", 2, {"double_one": "score"}, "/options", "unknown_field"),
    ("pass-the-pigs", 9, {}, "/seats", "too_long"),
    ("big-pig", 5, {}, "/seats", "too_long"),
]


@pytest.mark.parametrize(("key", "seats", "options", "pointer", "code"), WRONG)
def test_options_that_do_not_go_together_are_refused_where_they_stand(
    client: httpx.Client, key: str, seats: int, options: Json, pointer: str, code: str
) -> None:
    details = set()
    for language in ("es", "en"):
        answer = create(client, key, seats, options, language)
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (422, "invalid_input"), problem
        assert [(each["pointer"], each["code"]) for each in problem["errors"]] == [(pointer, code)]
        details |= {problem["errors"][0]["detail"]}
    assert len(details) == 2


def numbers(told: Json) -> Iterator[tuple[str, Any]]:
    """Every integer option, and options in which it is yet to be set: mode by mode."""
    for branch in branches(told["options"], told["options"]):
        mode = branch["properties"].get("mode", {}).get("const")
        for name, option, _ in fields(branch, told["options"]):
            if any(one.get("type") == "integer" for one in branches(option, told["options"])):
                yield name, {} if mode is None else {"mode": mode}


@every_ruleset
@pytest.mark.parametrize("value", [True, 1.0, "1", [1], None], ids=repr)
def test_nothing_but_an_integer_is_an_integer_option(
    client: httpx.Client, key: str, told: Json, value: Any
) -> None:
    for name, options in numbers(told):
        *outer, last = name.split("/")
        inner: Json = {last: value}
        for part in reversed(outer):
            inner = {part: inner}
        if value is None and name == "stake" and options.get("mode") == "turns":
            continue  # null: the starter of a bet names it
        answer = create(client, key, 2, options | inner)
        assert answer.status_code == 422, f"{name} took {value!r}"
        pointers = {each["pointer"] for each in answer.json()["errors"]}
        assert f"/options/{name}" in pointers, answer.text
