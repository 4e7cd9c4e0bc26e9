"""What an attacker could learn without being told: from times, and from hashes that are public."""

import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import httpx

from service.errors import TokenUnknown
from service.keys import new_token, token_hash
from service.roles import role_of
from service.store import Holder
from tests.game_client import create
from tests.hosted import table as hosted_table
from tests.test_canary import HEX, Recorder

PAIRS = 5_000
# Of a pair the one or the other is slower in half of the cases: six standard deviations.
EVEN = 6 * 0.5 / PAIRS**0.5


def slower(one: Callable[[str], object], near: str, far: str) -> float:
    """The share of interleaved pairs in which the near miss takes longer; ties count half."""
    random, score = Random(1), 0.0
    for _ in range(PAIRS):
        took = {}
        for token in random.sample((near, far), 2):
            began = time.perf_counter_ns()
            one(token)
            took[token] = time.perf_counter_ns() - began
        score += 0.5 if took[near] == took[far] else took[near] > took[far]
    return score / PAIRS


def test_a_token_that_is_almost_right_takes_no_longer_to_be_refused():
    token = new_token("seat", os.urandom)
    near, far = token[:-1] + ("A" if token[-1] != "A" else "B"), "cub_seat_" + "~" * 43
    start = hosted_table().start.hosted
    holders = (Holder("Ana", bytes(32), token_hash(token)), *start.holders[1:])
    hosted = replace(start, holders=holders)

    def ask(sent: str) -> None:
        try:
            role_of(hosted, sent)
        except TokenUnknown:
            return
        raise AssertionError("a wrong token was taken")

    assert role_of(hosted, token) == 0
    assert abs(slower(ask, near, far) - 0.5) < EVEN + 0.02


def test_a_comparison_that_stops_at_the_first_difference_would_be_found():
    token = "cub_seat_" + "x" * 43

    def ask(sent: str) -> bool:
        return all(one == other for one, other in zip(sent, token, strict=True))

    assert slower(ask, token[:-1] + "y", "~" * len(token)) > 0.9


def guesses(faces: tuple[int, ...], salt: bytes) -> Iterator[bytes]:
    """The ways in which somebody might have hashed five faces."""
    texts = [
        json.dumps(faces).encode(),
        json.dumps(faces, separators=(",", ":")).encode(),
        ",".join(map(str, faces)).encode(),
        "".join(map(str, faces)).encode(),
        bytes(faces),
        bytes(face - 1 for face in faces),
    ]
    for text in texts:
        yield hashlib.sha256(text).digest()
        yield hashlib.sha256(salt + text).digest()
        yield hashlib.sha256(text + salt).digest()


def found(published: set[bytes], salt: bytes) -> list[tuple[int, ...]]:
    """Every throw of five dice whose hash is among those that are public."""
    return [
        faces
        for faces in itertools.product(range(1, 7), repeat=5)
        if not published.isdisjoint(guesses(faces, salt))
    ]


def test_no_public_hash_is_one_of_the_7776_throws_that_are_to_come(server):
    recorder = Recorder()
    with server.client(event_hooks={"response": [recorder.note]}) as client:
        options = {"dice": 5, "reroll": False}
        table = create(client, "dice-duel", options=options, hotseat=True)
        for path in ("", "/log", "/head", "/audit"):
            client.get(table.path + path)
    assert table.created["state"]["faces"] == [[], []]
    published = {bytes.fromhex(text.decode()) for text in HEX.findall(bytes(recorder.bytes))}
    assert bytes.fromhex(table.created["dice"]["commitment"]) in published
    assert not found(published, table.id.encode())
    assert not found(published, bytes.fromhex(table.created["dice"]["commitment"]))


def test_a_public_hash_of_a_throw_would_be_found():
    leaked = hashlib.sha256(b"game" + json.dumps((6, 1, 1, 3, 2)).encode()).digest()
    assert found({bytes(32), leaked}, b"game") == [(6, 1, 1, 3, 2)]


def test_an_etag_tells_the_version_and_nothing_else(client: httpx.Client):
    table = create(client, "dice-duel", options={"dice": 5})
    assert client.get(table.path).headers["etag"] == f'"{table.version}"'
    assert client.get(f"{table.path}/head").headers["etag"] == f'"{table.version}"'
