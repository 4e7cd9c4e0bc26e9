"""The corpus of hostile requests against both databases: refused alike, and nothing moves."""

import re
from collections import Counter
from dataclasses import dataclass

import pytest
from sqlalchemy import select

from service.store import tables
from service.store.engine import open_engine
from tests.game_client import create
from tests.hostile_corpus import corpus
from tests.postgres import POSTGRESQL, migrated_url
from tests.raw import Raw, exchange
from tests.server import Server
from tests.test_hostile import TRANSPORT

KINDS = ["sqlite", *POSTGRESQL[:1]]
# One process attacks once for all tests of this file.
pytestmark = pytest.mark.xdist_group("hostile-corpus")


@dataclass(frozen=True)
class Attacked:
    """What a server answered to each request, by name, and its tables before and after."""

    answers: dict[str, Raw]
    before: dict[str, list[str]]
    after: dict[str, list[str]]
    log: str


def contents(url: str) -> dict[str, list[str]]:
    """Every row of every table."""
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(select(table))))
                for table in tables.metadata.sorted_tables
            }
    finally:
        engine.dispose()


@pytest.fixture(scope="module")
def attacked(request, tmp_path_factory) -> dict[str, Attacked]:
    """A server over each database, each after the whole corpus."""
    return {
        kind: attack(kind, request, tmp_path_factory.mktemp(f"corpus-{kind}")) for kind in KINDS
    }


def attack(kind, request, home) -> Attacked:
    url = migrated_url(kind, request, home, "corpus")
    with Server(home / "data", CUBILETE_DATABASE_URL=url) as server, server.client() as client:
        table = create(client, hotseat=True, options={"starter": "seat"})
        aim = (table.id, table.tokens[0], table.host)
        before = contents(url)
        answers = {one.name: exchange(server, one.aimed(*aim)) for one in corpus()}
        for name, data in TRANSPORT.items():
            answers[f"transport: {name}"] = exchange(server, data, end=True)
        after = contents(url)
        assert client.get("/readyz").status_code == 200
        assert table.act(0, "roll").status_code == 200
    return Attacked(answers, before, after, server.log.read_text("utf-8", "replace"))


def of_the_application(attacked: Attacked) -> dict[str, Raw]:
    """Without what is refused before the application has a request."""
    return {
        name: answer
        for name, answer in attacked.answers.items()
        if not name.startswith("transport: ")
    }


def test_every_request_of_the_corpus_has_its_own_name():
    twice = [name for name, count in Counter(one.name for one in corpus()).items() if count > 1]
    assert not twice
    assert len(corpus()) >= 300


@pytest.mark.parametrize("kind", KINDS)
def test_no_hostile_request_is_a_fault_of_ours(attacked, kind):
    faults = {name: one.status for name, one in attacked[kind].answers.items() if one.status >= 500}
    assert not faults
    assert "Traceback" not in attacked[kind].log


@pytest.mark.parametrize("kind", KINDS)
def test_every_hostile_request_is_refused_with_a_problem(attacked, kind):
    answers = of_the_application(attacked[kind])
    taken = {name: one.status for name, one in answers.items() if not 400 <= one.status < 500}
    assert not taken
    other = [
        name
        for name, one in answers.items()
        if one.headers.get("content-type") != "application/problem+json"
    ]
    assert not other
    assert {one.json()["status"] - one.status for one in answers.values() if one.body} == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_no_hostile_request_changes_a_row(attacked, kind):
    before, after = attacked[kind].before, attacked[kind].after
    assert {name: len(rows) for name, rows in after.items()} == {
        name: len(rows) for name, rows in before.items()
    }
    for rows in (before, after):
        rows.pop("presence")  # the server's own lease, which it renews by itself
    assert after == before
    assert before["entry"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_hostile_request_writes_into_the_log(attacked, kind):
    """No line of its own, no escape for a terminal, nothing of what was sent."""
    log = attacked[kind].log
    assert not re.search("[^\n -~]", log)
    assert not re.search("etc/passwd|event: win|Set-Cookie|OR 1=1|script", log)


def test_both_databases_refuse_alike(attacked):
    told = [{name: one.status for name, one in attacked[kind].answers.items()} for kind in KINDS]
    differing = {
        name: [one[name] for one in told]
        for name in told[0]
        if len({one[name] for one in told}) > 1
    }
    assert not differing
    print(f"{len(told[0])} requests: {Counter(told[0].values()).most_common()}")
