"""The contract: what is committed is what is served, and generators can make clients of it.

That real answers keep to it is checked by every test that uses the fixture ``api``.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from service.api import problems
from service.rules import RULESETS
from tests.contract_check import document, faults, operation_of, schema_of

COMMITTED = Path(__file__).parents[1] / "openapi" / "openapi.json"
HTTP_METHODS = {"get", "post", "put", "patch", "delete"}
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, item in document()["paths"].items()
    for method, operation in item.items()
}
operations = pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS.values(), ids=OPERATIONS.keys()
)


def everywhere(value, at=""):
    """Every object in a JSON value, with where it is."""
    if isinstance(value, dict):
        yield at, value
        for name, item in value.items():
            yield from everywhere(item, f"{at}/{name}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from everywhere(item, f"{at}/{place}")


def test_the_committed_contract_is_the_one_that_is_served():
    assert json.loads(COMMITTED.read_text("utf-8")) == document(), "run `make openapi`"


def test_the_contract_says_which_openapi_it_is():
    assert document()["openapi"].startswith("3.1")
    assert document()["info"]["title"] == "Cubilete"
    assert document()["info"]["version"]


def test_every_reference_leads_somewhere():
    known = document()["components"]["schemas"]
    for at, found in everywhere(document()):
        if isinstance(found.get("$ref"), str):
            name = found["$ref"].removeprefix("#/components/schemas/")
            assert name in known, (at, name)
        for target in found.get("discriminator", {}).get("mapping", {}).values():
            assert target.removeprefix("#/components/schemas/") in known, at


def test_every_schema_is_used():
    text = json.dumps(document())
    used = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert document()["components"]["schemas"].keys() == used


def test_a_schema_is_named_as_what_a_client_holds():
    names = document()["components"]["schemas"]
    assert all(re.fullmatch(r"[A-Z][A-Za-z]+", name) for name in names)
    assert not [name for name in names if name.endswith("Shape")]
    assert {"Game", "Player", "Entry", "LegalAction", "Outcome", "Problem"} <= names.keys()


def test_what_tells_shapes_apart_is_required():
    for at, found in everywhere(document()["components"]["schemas"]):
        if "discriminator" not in found:
            continue
        name = found["discriminator"]["propertyName"]
        for choice in found["oneOf"]:
            schema = schema_of(choice["$ref"].rsplit("/", 1)[1])
            assert name in schema["required"], (at, choice)


def test_operations_are_named_for_generated_clients():
    assert len(OPERATIONS) == sum(len(item) for item in document()["paths"].values())
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in OPERATIONS)
    assert {"create_game", "list_games", "read_game", "join_game", "act"} <= OPERATIONS.keys()


@operations
def test_an_operation_explains_itself(method, path, operation):
    assert method in HTTP_METHODS
    assert operation["summary"][0].isupper()
    assert "\n" not in operation["summary"]
    assert not operation["summary"].endswith(".")
    assert len(operation["tags"]) == 1
    assert all(one.get("description") for one in operation["responses"].values())


def test_every_tag_is_described():
    described = {tag["name"] for tag in document()["tags"]}
    assert all(tag["description"] for tag in document()["tags"])
    assert described == {
        tag for _, _, operation in OPERATIONS.values() for tag in operation["tags"]
    }


@operations
def test_an_operation_has_one_good_answer_and_tells_its_problems(method, path, operation):
    good = [status for status in operation["responses"] if status.startswith("2")]
    assert len(good) == 1
    for status, told in operation["responses"].items():
        if status[0] in "45":
            assert told["content"] == {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            }
            assert told["x-codes"]
            assert {problems.STATUS[code] for code in told["x-codes"]} == {int(status)}
            assert Counter(told["x-codes"]).most_common(1)[0][1] == 1
    assert "500" in operation["responses"]


@operations
def test_every_good_answer_has_a_schema(method, path, operation):
    (good,) = [one for status, one in operation["responses"].items() if status.startswith("2")]
    assert good["content"]
    assert all(told.get("schema") for told in good["content"].values())


@operations
def test_the_parameters_are_those_of_the_path_and_described(method, path, operation):
    parameters = operation.get("parameters", [])
    in_path = [one["name"] for one in parameters if one["in"] == "path"]
    assert sorted(in_path) == sorted(re.findall(r"\{(\w+)\}", path))
    assert all(one.get("description") for one in parameters)
    names = [(one["in"], one["name"]) for one in parameters]
    assert len(names) == len(set(names))


@operations
def test_a_change_names_its_token_its_key_and_its_body(method, path, operation):
    headers = {one["name"] for one in operation.get("parameters", []) if one["in"] == "header"}
    if method == "get" or path == "/v1/audits":
        assert "Idempotency-Key" not in headers
        return
    assert "Idempotency-Key" in headers
    assert ("security" in operation) == ("If-Match" in headers)
    assert operation["requestBody"]["content"].keys() == {"application/json"}


def test_a_token_is_a_bearer_token():
    assert document()["components"]["securitySchemes"] == {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": document()["components"]["securitySchemes"]["token"]["description"],
        }
    }


# --- what a generator makes of it ---------------------------------------------------------------


def test_a_legal_action_has_only_the_parameters_of_its_kind():
    def wrong(legal):
        return list(faults(schema_of("LegalAction"), legal))

    assert not wrong({"seat": 0, "kind": "roll"})
    assert not wrong({"seat": None, "kind": "resolve"})
    assert not wrong({"seat": 0, "kind": "bet", "min": 1, "max": 5})
    assert not wrong({"seat": 0, "kind": "reroll", "dice": 3})
    assert wrong({"seat": 0, "kind": "bet"})
    assert wrong({"seat": 0, "kind": "roll", "min": 1, "max": 5})
    assert wrong({"seat": 0, "kind": "reroll", "dice": None})
    assert wrong({"seat": 0, "kind": "cheat"})


def test_options_and_state_are_those_of_the_rulesets():
    told = json.dumps([schema_of("Options"), schema_of("State")])
    for ruleset in RULESETS:
        assert f"/{ruleset.view_type.__name__}" in told
    assert schema_of("Game")["properties"]["options"] == {"$ref": "#/components/schemas/Options"}
    asked = schema_of("NewGame")["properties"]["options"]
    assert asked["anyOf"] == [{"$ref": "#/components/schemas/Options"}]
    assert "options" not in schema_of("NewGame")["required"]


def test_events_are_those_of_the_rulesets():
    told = {choice["$ref"].rsplit("/", 1)[1] for choice in schema_of("RulesetEvent")["anyOf"]}
    assert told == {event.__name__ for ruleset in RULESETS for event in ruleset.events}
    assert schema_of("ActedData")["properties"]["events"]["items"] == {
        "$ref": "#/components/schemas/RulesetEvent"
    }
    rolled = {"kind": "rolled", "seat": 0, "faces": [3], "points": 3, "turn_total": 3}
    assert not list(faults(schema_of("RulesetEvent"), rolled | {"must_roll": False}))
    assert list(faults(schema_of("RulesetEvent"), rolled))


def test_what_the_examples_show_is_valid():
    for at, found in everywhere(document()["components"]["schemas"]):
        if isinstance(found.get("examples"), list):
            for example in found["examples"]:
                assert not list(faults(found, example)), at


def test_every_documented_path_is_found_by_its_own_operation():
    for name, (method, path, _) in OPERATIONS.items():
        found = operation_of(method.upper(), re.sub(r"\{\w+\}", "x", path))
        assert found is not None
        assert found["operationId"] == name
