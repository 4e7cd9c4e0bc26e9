"""``fair-dice/1`` in the server: every vector, and what dice must be."""

import json
import struct
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from service import dice
from service.dice import D6, Cup, Die, KeyChain, even_die, faces
from service.errors import ThrowsExhausted
from service.keys import ServerKey

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


def raw(texts: list[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


@pytest.mark.parametrize("vector", VECTORS["enc"])
def test_enc(vector: dict[str, Any]) -> None:
    assert dice.enc(*raw(vector["fields"])).hex() == vector["hex"]


@pytest.mark.parametrize("vector", VECTORS["hash"])
def test_hash(vector: dict[str, Any]) -> None:
    assert dice.tagged_hash(vector["name"], *raw(vector["fields"])).hex() == vector["hash"]


@pytest.mark.parametrize("vector", VECTORS["mac"])
def test_mac(vector: dict[str, Any]) -> None:
    key = bytes.fromhex(vector["key"])
    assert dice.tagged_mac(key, vector["name"], *raw(vector["fields"])).hex() == vector["mac"]


@pytest.mark.parametrize("vector", VECTORS["chain"])
def test_chain(vector: dict[str, Any]) -> None:
    chain = KeyChain(bytes.fromhex(vector["root"]), vector["throws_max"])
    for number, key in vector["keys"].items():
        assert chain.key(int(number)).hex() == key
    assert chain.commitment.hex() == vector["keys"]["0"]


@pytest.mark.parametrize("vector", VECTORS["root_from_key"])
def test_root_from_key(vector: dict[str, Any]) -> None:
    key = ServerKey(bytes.fromhex(vector["server_key"]))
    assert key.root(vector["game"], bytes.fromhex(vector["salt"])).hex() == vector["root"]


@pytest.mark.parametrize("vector", VECTORS["who"])
def test_who(vector: dict[str, Any]) -> None:
    assert dice.pseudonym(bytes.fromhex(vector["salt"]), vector["name"]).hex() == vector["who"]


@pytest.mark.parametrize("vector", VECTORS["client_commit"])
def test_client_commit(vector: dict[str, Any]) -> None:
    seed = bytes.fromhex(vector["seed"])
    assert dice.client_commit(vector["game"], seed).hex() == vector["commit"]


def seeds_of(vector: dict[str, Any]) -> dict[int, bytes]:
    return {one["seat"]: bytes.fromhex(one["seed"]) for one in vector["seeds"]}


@pytest.mark.parametrize("vector", VECTORS["context"])
def test_context(vector: dict[str, Any]) -> None:
    commitment = bytes.fromhex(vector["commitment"])
    bound = dice.context(vector["game"], commitment, seeds_of(vector))
    assert bound.hex() == vector["context"]


@pytest.mark.parametrize("vector", VECTORS["dice"], ids=lambda vector: vector["note"])
def test_die(vector: dict[str, Any]) -> None:
    chain = KeyChain(bytes.fromhex(vector["root"]), vector["throws_max"])
    bound = dice.context(vector["game"], chain.commitment, seeds_of(vector))
    die = Die(tuple(vector["faces"]), tuple(vector["weights"]))
    shown = faces(chain.key(vector["throw"]), bound, vector["throw"], [die] * (vector["die"] + 1))
    assert shown[vector["die"]] == vector["face"]


def spelled_out(key: bytes, bound: bytes, throw: int, number: int, die: Die) -> Any:
    """Section 3 word for word, with ``hmac.digest``."""
    total = sum(die.weights)
    for block in range(1000):
        fields = (bound, b"", dice.u32(throw), dice.u32(number), dice.u32(block))
        for word in struct.unpack(">8I", dice.tagged_mac(key, "die", *fields)):
            if word < 2**32 - 2**32 % total:
                return die.face_of(word % total)
    raise AssertionError("never")


HALF_REFUSED = Die((0, 1, 2), (2**30, 2**30, 1))  # by the words above the limit, 2^31 + 1


@pytest.mark.parametrize("die", [D6, even_die(1), even_die(5), HALF_REFUSED])
def test_messages_with_a_layout_give_what_the_encoding_field_by_field_gives(die: Die) -> None:
    random = Random(20_261_130)
    for _ in range(500):
        key, bound, throw = random.randbytes(32), random.randbytes(32), random.randint(1, 65_535)
        assert dice.previous_key(throw, key) == dice.tagged_hash("chain", dice.u32(throw), key)
        shown = faces(key, bound, throw, [die] * 4)
        assert shown == tuple(spelled_out(key, bound, throw, number, die) for number in range(4))


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 64, 65, 1000])
def test_a_chain_gives_the_same_keys_in_any_order_and_at_any_length(length: int) -> None:
    root = bytes(range(32))
    walked = {length: root}
    for number in range(length, 0, -1):
        walked[number - 1] = dice.previous_key(number, walked[number])
    chain = KeyChain(root, length)
    for number in [*range(length, -1, -1), *range(length + 1)]:
        assert chain.key(number) == walked[number]


def test_a_chain_ends_after_its_root() -> None:
    chain = KeyChain(bytes(32), 3)
    with pytest.raises(ThrowsExhausted):
        chain.key(4)


@pytest.mark.parametrize(("root", "length"), [(bytes(31), 3), (bytes(32), 0), (bytes(32), 65_536)])
def test_a_chain_has_a_whole_root_and_a_length_that_the_protocol_allows(
    root: bytes, length: int
) -> None:
    with pytest.raises(ValueError, match="a chain has"):
        KeyChain(root, length)


@pytest.mark.parametrize(
    ("shown", "weights"),
    [
        ((1, 2), (1,)),
        ((1,), (-1,)),
        ((1, 2), (3, -1)),
        ((1, 2), (0, 0)),
        ((), ()),
        ((1,), (2**32,)),
    ],
)
def test_a_die_needs_weights_that_can_be_drawn(
    shown: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="die"):
        Die(shown, weights)


@pytest.mark.parametrize("die", [D6, even_die(2), even_die(12), Die(("a", "b", "c"), (3, 0, 5))])
def test_every_number_below_the_weight_has_its_share_of_faces(die: Die) -> None:
    total = sum(die.weights)
    drawn = Counter(die.face_of(number) for number in range(total))
    weighted = dict(zip(die.faces, die.weights, strict=True))
    assert drawn == {face: weight for face, weight in weighted.items() if weight}


def test_a_cup_numbers_its_throws_and_records_them() -> None:
    chain = KeyChain(bytes(32), 10)
    cup = Cup(chain, bytes(32), 4, {"d6": D6, "seat": even_die(3)})
    first, second = cup.throw(1, ["d6", "d6"]), cup.throw(None, ["seat"])
    assert [throw.number for throw in cup.throws] == [5, 6]
    assert cup.throws[0].key == chain.key(5)
    assert (cup.throws[0].faces, cup.throws[1].faces) == (first, second)
    assert first == faces(chain.key(5), bytes(32), 5, [D6, D6])


@pytest.mark.parametrize("count", [0, 65])
def test_a_throw_has_1_to_64_dice(count: int) -> None:
    with pytest.raises(ValueError, match="a throw has"):
        Cup(KeyChain(bytes(32), 1), bytes(32), 0, {"d6": D6}).throw(0, ["d6"] * count)


def chi_square(counts: Counter[Any], total: int, kinds: int) -> float:
    expected = total / kinds
    return sum((count - expected) ** 2 / expected for count in counts.values())


CHI_SQUARE_1_PERCENT_5 = 15.086  # five degrees of freedom
CHI_SQUARE_1_PERCENT_35 = 57.342


def test_600_000_dice_are_even_and_the_test_would_notice_a_byte_modulo_six() -> None:
    chain, bound = KeyChain(bytes(range(32)), 10_000), bytes(32)
    counts: Counter[Any] = Counter()
    crooked: Counter[int] = Counter()
    for throw in range(1, 10_001):
        key = chain.key(throw)
        counts.update(faces(key, bound, throw, [D6] * 60))
        stream = b"".join(dice.tagged_mac(key, "x", dice.u32(part)) for part in (0, 1))
        crooked.update(byte % 6 for byte in stream[:60])
    assert counts.total() == crooked.total() == 600_000
    assert chi_square(counts, 600_000, 6) < CHI_SQUARE_1_PERCENT_5
    assert chi_square(crooked, 600_000, 6) > CHI_SQUARE_1_PERCENT_5


def test_two_dice_of_a_throw_and_two_throws_in_a_row_know_nothing_of_each_other() -> None:
    chain, bound = KeyChain(bytes(range(32, 64)), 20_000), bytes(32)
    pairs: Counter[Any] = Counter()
    follows: Counter[Any] = Counter()
    before = 0
    for throw in range(1, 20_001):
        first, second = faces(chain.key(throw), bound, throw, [D6, D6])
        pairs[first, second] += 1
        if before:
            follows[before, first] += 1
        before = int(first)
    assert set(pairs) == set(product(range(1, 7), repeat=2))
    assert chi_square(pairs, 20_000, 36) < CHI_SQUARE_1_PERCENT_35
    assert chi_square(follows, 19_999, 36) < CHI_SQUARE_1_PERCENT_35


def test_the_next_die_guessed_from_what_is_published_is_right_one_time_in_six() -> None:
    chain, bound = KeyChain(bytes(range(64, 96)), 12_000), bytes(32)
    right = 0
    for throw in range(1, 12_001):
        published = chain.key(throw - 1)
        (guess,) = faces(published, bound, throw, [D6])
        (shown,) = faces(chain.key(throw), bound, throw, [D6])
        right += guess == shown
    assert abs(right / 12_000 - 1 / 6) < 4 * (5 / 36 / 12_000) ** 0.5
