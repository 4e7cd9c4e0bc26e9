"""Who may do what: every operation of the contract with every kind of token."""

import pytest

from tests import contract_check
from tests.game_client import bearer, create, new_game

AT_ONCE = {"starter": "seat"}
UNKNOWN = "cub_seat_" + "A" * 43
DONE, NO_TOKEN, NOT_KNOWN = "done", "token_missing", "token_unknown"
NOT_YOURS, HOST_ONLY = "not_your_seat", "host_only"


class Prepared:
    """A game in the state that a change needs, and tokens that have lost their seat in it."""

    def __init__(self, api, names, hotseat, **more):
        self.table = create(api, names=names, start=False, hotseat=hotseat, **more)
        self.removed = self.table.tokens[0]
        assert self.table.send("DELETE", "/seats/0", token=self.table.host).is_success
        joined = self.table.join({"name": "Eve", "seat": 0})
        self.table.tokens[0] = joined.json()["token"]

    def replaced(self):
        """The token of seat 0 before it got its present one."""
        before = self.table.tokens[0]
        answer = self.table.post("/seats/0/token", token=before)
        self.table.tokens[0] = answer.json()["token"]
        return before


def table_of_three(api, hotseat=False):
    return Prepared(api, ["Ana", "Ben", None], hotseat)


def ready(api, hotseat=False):
    return Prepared(api, ["Ana", "Ben"], hotseat)


def playing(api, hotseat=False):
    prepared = Prepared(api, ["Ana", "Ben"], hotseat, options=AT_ONCE)
    assert prepared.table.post("/start").is_success
    return prepared


def over(api, hotseat=False):
    prepared = playing(api, hotseat)
    assert prepared.table.act(0, "resign").is_success
    return prepared


def sealed(api, hotseat=False):
    return Prepared(api, ["Ana", "Ben"], hotseat, seed_mode="sealed")


STRANGERS = {
    "none": NO_TOKEN,
    "unknown": NOT_KNOWN,
    "malformed": NOT_KNOWN,
    "replaced": NOT_KNOWN,
    "removed": NOT_KNOWN,
    "seat of another game": NOT_KNOWN,
    "host of another game": NOT_KNOWN,
}
HOSTS = {**STRANGERS, "other seat": HOST_ONLY, "own seat": HOST_ONLY, "host": DONE}
SEATS = {**STRANGERS, "other seat": NOT_YOURS, "own seat": DONE}
ANYBODY = dict.fromkeys([*STRANGERS, "other seat", "own seat", "host", "hot-seat host"], DONE)

# operation: (the game it is tried on, path below the game's, body, what each token leads to)
CHANGES = {
    "join_game": (table_of_three, "/seats", {}, ANYBODY),
    "rename_seat": (
        table_of_three,
        "/seats/0",
        {"name": "Eva"},
        {**SEATS, "host": DONE, "hot-seat host": DONE},
    ),
    "leave_seat": (
        table_of_three,
        "/seats/0",
        None,
        {**SEATS, "host": DONE, "hot-seat host": DONE},
    ),
    "rotate_token": (
        table_of_three,
        "/seats/0/token",
        None,
        {**SEATS, "host": NOT_YOURS, "hot-seat host": DONE},
    ),
    "reveal_seed": (
        sealed,
        "/seats/0/reveal",
        {"seed": "11" * 32},
        {**SEATS, "host": NOT_YOURS, "hot-seat host": DONE},
    ),
    "seal_game": (sealed, "/seal", None, {**HOSTS, "hot-seat host": DONE}),
    "start_game": (ready, "/start", None, {**HOSTS, "hot-seat host": DONE}),
    "void_game": (table_of_three, "/void", None, {**HOSTS, "hot-seat host": DONE}),
    "erase_name": (
        over,
        "/seats/0/name",
        None,
        {**SEATS, "host": DONE, "hot-seat host": DONE},
    ),
    "rematch_game": (over, "/rematch", None, {**HOSTS, "hot-seat host": DONE}),
    "act": (
        playing,
        "/actions",
        {"kind": "roll", "seat": 0},
        {**SEATS, "host": NOT_YOURS, "hot-seat host": DONE},
    ),
}
# What comes after the question who may: nobody has committed to a seed here.
BEYOND = {"reveal_seed": "seed_refused", "seal_game": "seed_refused"}
# These need no game and no token, and a wrong token does not matter.
OPEN_CHANGES = {"create_game": "/v1/games", "check_record": "/v1/audits"}
READS = {
    "list_rulesets": "/v1/rulesets",
    "read_ruleset": "/v1/rulesets/pig",
    "list_games": "/v1/games",
    "read_game": "/v1/games/{game}",
    "read_log": "/v1/games/{game}/log",
    "read_receipt": "/v1/games/{game}/head",
    "read_audit_record": "/v1/games/{game}/audit",
    "read_series": "/v1/series/{game}",
    "stream_game": "/v1/games/{game}/stream",
    "stream_games": "/v1/stream?games={game}",
    "livez": "/livez",
    "readyz": "/readyz",
    "read_version": "/version",
    "read_metrics": "/metrics",
    "read_public_keys": "/.well-known/fair-dice.json",
    "read_problem": "/problems/not_found",
}
# Who asks for what is theirs.
OWN = {"read_turns": "/v1/me/turns"}
METHODS = {
    operation["operationId"]: method.upper()
    for path in contract_check.document()["paths"].values()
    for method, operation in path.items()
}
CASES = {
    f"{operation} by {who}": (operation, who, expected)
    for operation, (_, _, _, table) in CHANGES.items()
    for who, expected in table.items()
}


@pytest.fixture(scope="module")
def strangers(server):
    """The tokens of a game that is another one."""
    with server.client() as client:
        other = create(client)
        return {
            "none": None,
            "unknown": UNKNOWN,
            "malformed": "cub_seat_x",
            "seat of another game": other.tokens[0],
            "host of another game": other.host,
        }


def test_every_operation_is_in_one_of_the_tables():
    assert {*CHANGES, *OPEN_CHANGES, *READS, *OWN} == METHODS.keys()


def test_every_table_says_what_each_token_leads_to():
    assert all(table.keys() == ANYBODY.keys() for _, _, _, table in CHANGES.values())


@pytest.mark.parametrize(("operation", "who", "expected"), CASES.values(), ids=CASES.keys())
def test_a_change_is_made_by_whom_it_is_for(api, strangers, operation, who, expected):
    prepare, path, body, _ = CHANGES[operation]
    prepared = prepare(api, hotseat=who == "hot-seat host")
    table = prepared.table
    tokens = strangers | {
        "replaced": prepared.replaced() if who == "replaced" else None,
        "removed": prepared.removed,
        "other seat": table.tokens[1],
        "own seat": table.tokens[0],
        "host": table.host,
        "hot-seat host": table.host,
    }
    before = table.read()
    answer = table.send(METHODS[operation], path, body, token=tokens[who])
    if expected == DONE:
        assert answer.json().get("code", DONE) == BEYOND.get(operation, DONE), answer.text
        return
    assert answer.json()["code"] == expected
    assert answer.status_code == (401 if expected in (NO_TOKEN, NOT_KNOWN) else 403)
    assert table.read() == before


@pytest.mark.parametrize("operation", CHANGES.keys())
def test_a_game_that_is_none_is_told_to_everybody_alike(api, strangers, operation):
    _, path, body, _ = CHANGES[operation]
    answers = [
        api.request(
            METHODS[operation],
            f"/v1/games/none{path}",
            headers=bearer(token),
            **({} if body is None else {"json": body}),
        )
        for token in strangers.values()
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize("operation", READS.keys())
def test_whatever_can_be_read_is_read_with_any_token_or_none(api, strangers, operation):
    prepared = over(api)  # a stream of it ends
    path = READS[operation].format(game=prepared.table.id)
    tokens = [*strangers.values(), prepared.removed, prepared.replaced(), prepared.table.tokens[1]]
    answers = [api.get(path, headers=bearer(token)) for token in [*tokens, prepared.table.host]]
    assert {answer.status_code for answer in answers} == {200}


@pytest.mark.parametrize("path", OWN.values(), ids=OWN.keys())
def test_what_is_ones_own_is_told_to_whom_it_belongs(api, path):
    table = playing(api).table
    expected = {None: NO_TOKEN, UNKNOWN: NOT_KNOWN}
    for token, code in expected.items():
        answer = api.get(path, headers=bearer(token))
        assert (answer.status_code, answer.json()["code"]) == (401, code)
    for token in (table.tokens[0], table.host):
        assert api.get(path, headers=bearer(token)).status_code == 200


@pytest.mark.parametrize("operation", OPEN_CHANGES.keys())
def test_what_needs_no_token_takes_any(api, strangers, operation):
    body = {"create_game": new_game(), "check_record": {"log": []}}[operation]
    for token in strangers.values():
        answer = api.post(OPEN_CHANGES[operation], json=body, headers=bearer(token))
        assert answer.is_success, answer.text


@pytest.mark.parametrize("operation", [*READS, *OWN, *OPEN_CHANGES, *CHANGES])
def test_no_operation_takes_a_query_that_it_does_not_know(api, operation):
    """A token in an address would stand in logs and histories."""
    table = create(api)
    below = {name: f"{table.path}{path}" for name, (_, path, _, _) in CHANGES.items()}
    path = (READS | OWN | OPEN_CHANGES | below)[operation].format(game=table.id)
    answer = api.request(METHODS[operation], path, params={"token": table.host})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "query:"
    assert table.host not in answer.text
