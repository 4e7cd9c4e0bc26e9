"""Keys and tokens: made once, kept from others, and never two alike."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from service import keys
from service.dice import enc, u32
from service.errors import BadSetting
from service.keys import (
    ServerKey,
    SigningKeys,
    open_server_key,
    open_signing_keys,
    rotate_signing_key,
)
from tests.test_dice import VECTORS

ROOT = Path(__file__).parents[1]
KEY = bytes(range(32))
FILES = {"server.key": open_server_key, "signing.keys": open_signing_keys}


def open_file(name: str, data_dir: Path, entropy: keys.Entropy = os.urandom) -> bytes:
    """What tells one key from another."""
    if name == "server.key":
        return open_server_key(data_dir, None, entropy).fingerprint()
    return open_signing_keys(data_dir, entropy).public[0]


each_file = pytest.mark.parametrize("name", FILES)


# --- signing ------------------------------------------------------------------------------------

a_hash = st.binary(min_size=32, max_size=32)


@given(
    a_hash, st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True), st.integers(0, 2**32 - 1), a_hash
)
def test_two_libraries_sign_a_head_alike(secret, game, seq, head):
    signing, other = SigningKeys(secret), Ed25519PrivateKey.from_private_bytes(secret)
    message = enc(b"fair-dice/1/head", game.encode(), u32(seq), head)
    assert signing.sign(game, seq, head).signature == other.sign(message)
    assert signing.public == (other.public_key().public_bytes_raw(),)


# --- the server key -----------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS["root_from_key"])
def test_a_root_is_derived_as_specified(vector):
    key = ServerKey(bytes.fromhex(vector["server_key"]))
    root = key.root(vector["game"], bytes.fromhex(vector["salt"]))
    assert root.hex() == vector["root"]


def test_a_server_key_has_32_bytes():
    for length in (0, 31, 33):
        with pytest.raises(ValueError, match="32 bytes"):
            ServerKey(bytes(length))


def test_nothing_that_derives_from_a_key_equals_another_thing():
    one, other = ServerKey(KEY), ServerKey(bytes(32))
    derived = [key.fingerprint() for key in (one, other)]
    derived += [
        key.root(game, salt)
        for key in (one, other)
        for game in ("a", "b")
        for salt in (bytes(32), KEY)
    ]
    assert len(set(derived)) == len(derived)
    assert KEY not in derived


def test_a_sealed_answer_opens_with_its_key_alone():
    sealed = ServerKey(KEY).seal(b"cub_seat_secret", bytes(12))
    assert b"secret" not in sealed
    assert ServerKey(KEY).unseal(sealed) == b"cub_seat_secret"
    with pytest.raises(ValueError, match="another server key"):
        ServerKey(bytes(32)).unseal(sealed)


def test_a_sealed_answer_that_was_changed_does_not_open():
    key = ServerKey(KEY)
    sealed = key.seal(b"answer", bytes(12))
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(ValueError, match="sealed"):
            key.unseal(bytes(changed))


# --- the files ----------------------------------------------------------------------------------


@each_file
def test_a_key_file_is_made_once_and_its_owners_alone(tmp_path, name):
    data_dir = tmp_path / "deep" / "data"
    first = open_file(name, data_dir)
    assert open_file(name, data_dir) == first
    (only,) = data_dir.iterdir()
    assert (only.name, only.stat().st_mode & 0o777) == (name, 0o600)


@each_file
def test_a_key_file_is_its_owners_alone_whatever_the_umask(tmp_path, name):
    before = os.umask(0)
    try:
        open_file(name, tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_processes_that_start_at_once_agree_on_one_key(tmp_path):
    program = (
        "import sys, pathlib; from service.keys import *; place = pathlib.Path(sys.argv[1]); "
        "print(open_server_key(place, None).fingerprint().hex(), "
        "open_signing_keys(place).public[0].hex())"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    racing = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(4)]
    told = {process.communicate(timeout=60)[0] for process in racing}
    assert [process.returncode for process in racing] == [0] * 4
    assert len(told) == 1
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)


@each_file
def test_a_process_that_loses_the_race_takes_the_winners_key(tmp_path, name):
    """The other one makes its file between the look and the writing."""

    def slow(size: int) -> bytes:
        winner.append(open_file(name, tmp_path))
        return os.urandom(size)

    winner: list[bytes] = []
    assert open_file(name, tmp_path, slow) == winner[0]
    assert [path.name for path in tmp_path.iterdir()] == [name]


@each_file
def test_what_a_killed_start_has_left_does_not_stop_the_next_one(tmp_path, name):
    """In a container every start has the same process number."""
    for left in (f"{name}.{os.getpid()}", f"{name}.new", f"{name}.1"):
        (tmp_path / left).write_text("half a k")
    open_server_key(tmp_path, None)
    first = open_file(name, tmp_path)
    open_signing_keys(tmp_path)
    rotate_signing_key(tmp_path)
    assert (open_file(name, tmp_path) == first) == (name == "server.key")


@each_file
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_key_file_that_others_could_read_is_refused(tmp_path, name, mode):
    open_file(name, tmp_path)
    (tmp_path / name).chmod(mode)
    with pytest.raises(BadSetting, match="chmod 600"):
        open_file(name, tmp_path)
    (tmp_path / name).chmod(0o400)
    open_file(name, tmp_path)


@each_file
@pytest.mark.parametrize("text", ["", "\n", "00" * 31, "00" * 32 + "\nx", "G" * 64, "é" * 64])
def test_a_file_that_holds_no_key_is_refused_without_its_text(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(0o600)
    with pytest.raises(BadSetting) as refused:
        open_file(name, tmp_path)
    assert len(text) < 2 or text not in str(refused.value)
    assert (tmp_path / name).read_text() == text


@each_file
def test_a_place_that_takes_no_file_is_refused(tmp_path, name):
    (tmp_path / "text").touch()
    with pytest.raises(BadSetting, match="CUBILETE_DATA_DIR"):
        open_file(name, tmp_path / "text")
    (tmp_path / name).mkdir(0o700)
    with pytest.raises(BadSetting, match="CUBILETE_DATA_DIR"):
        open_file(name, tmp_path)


def test_a_server_key_that_is_lost_is_not_made_anew(tmp_path):
    """By the key of the same start that was made after it."""
    open_signing_keys(tmp_path)
    with pytest.raises(BadSetting, match=r"server\.key is missing: put back"):
        open_server_key(tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == ["signing.keys"]
    open_server_key(tmp_path, KEY.hex())


def test_a_key_that_is_given_needs_no_file(tmp_path):
    key = open_server_key(tmp_path, KEY.hex())
    assert key.fingerprint() == ServerKey(KEY).fingerprint()
    assert not list(tmp_path.iterdir())


# --- tokens and ids -----------------------------------------------------------------------------


def test_a_token_has_256_random_bits_and_says_what_it_is_for():
    def entropy(size: int) -> bytes:
        asked.append(size)
        return os.urandom(size)

    asked: list[int] = []
    kinds: tuple[keys.TokenKind, ...] = ("seat", "host")
    tokens = {keys.new_token(kind, entropy) for kind in kinds for _ in range(500)}
    assert len(tokens) == 1000
    assert asked == [32] * 1000
    for token in tokens:
        prefix, digits = token[:9], token[9:]
        assert prefix in ("cub_seat_", "cub_host_")
        assert len(digits) == 43


def test_a_token_is_stored_as_a_hash_that_does_not_lead_back():
    token = keys.new_token("seat", os.urandom)
    stored = keys.token_hash(token)
    assert len(stored) == 32
    assert keys.same(stored, keys.token_hash(token))
    assert not keys.same(stored, keys.token_hash(token[:-1]))
    for strange in ("", "é", "a" * 10_000, "\ud7ff"):
        assert not keys.same(stored, keys.token_hash(strange))


def test_a_game_id_sorts_by_time_and_has_128_random_bits():
    def entropy(size: int) -> bytes:
        assert size == 16
        return os.urandom(size)

    times = [0, 1, 2**40, 1_767_225_600_123, 2**48 - 1]
    ids = [keys.new_game_id(at, entropy) for at in times]
    assert sorted(ids) == ids
    assert len({keys.new_game_id(5, entropy) for _ in range(1000)}) == 1000
    assert {len(one) for one in ids} == {36}
    assert all(one.isascii() and one.isalnum() and one == one.lower() for one in ids)
