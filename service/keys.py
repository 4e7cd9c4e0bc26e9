"""Everything secret: the server key and what derives from it, and the tokens of players.

The server key is 32 bytes kept outside the database, so that a stolen database predicts no throw.
"""

import base64
import contextlib
import hashlib
import hmac
import os
import re
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl.bindings import crypto_sign, crypto_sign_BYTES, crypto_sign_seed_keypair

from service.dice import PROTOCOL, enc, u32
from service.durable import sync_names
from service.errors import BadSetting

SIGNING_FILE: Final = "signing.keys"
_SERVER_FILE: Final = "server.key"
_RETIRED: Final = "retired "

TokenKind: TypeAlias = Literal["seat", "host"]
Entropy: TypeAlias = Callable[[int], bytes]

NONCE_SIZE: Final = 12
_HEAD: Final = enc(f"{PROTOCOL}/head".encode())
_KEY_FILE: Final = re.compile(r"[0-9a-f]{64}\n?")
_KEYS_FILE: Final = re.compile(r"[0-9a-f]{64}\n(retired [0-9a-f]{64}\n)*")


class ServerKey:
    """Derives the root of every game and seals stored answers that hold tokens."""

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError("a server key has 32 bytes")
        self._key = key
        self._answers = AESGCM(self._derive(b"", b"cubilete/answers"))

    def _derive(self, salt: bytes, info: bytes) -> bytes:
        return HKDF(algorithm=SHA256(), length=32, salt=salt or None, info=info).derive(self._key)

    def root(self, game: str, salt: bytes) -> bytes:
        """The root of a game's key chain (``docs/fair-dice.md``, section 2)."""
        return self._derive(salt, enc(f"{PROTOCOL}/root".encode(), game.encode()))

    def fingerprint(self) -> bytes:
        """32 bytes that tell this key from another and give nothing of it away."""
        return self._derive(b"", b"cubilete/fingerprint")

    def seal(self, clear: bytes, nonce: bytes) -> bytes:
        """Encrypts an answer for the database; ``nonce`` is 12 bytes never used before."""
        return nonce + self._answers.encrypt(nonce, clear, None)

    def unseal(self, sealed: bytes) -> bytes:
        """What ``seal`` was given; raises ValueError if it was another key's."""
        try:
            return self._answers.decrypt(sealed[:NONCE_SIZE], sealed[NONCE_SIZE:], None)
        except InvalidTag:
            raise ValueError("sealed with another server key") from None


class Receipt(NamedTuple):
    """A head that the server has signed: proof for whoever keeps it (section 5)."""

    game: str
    seq: int
    head: bytes
    key_id: str
    signature: bytes

    def to_json(self) -> dict[str, Any]:
        """As it is served."""
        return {
            "v": 1,
            "game": self.game,
            "seq": self.seq,
            "head": self.head.hex(),
            "key_id": self.key_id,
            "sig": self.signature.hex(),
        }


class SigningKeys:
    """Signs heads with the newest key and knows the public part of those that signed before.

    Every action is signed: libsodium takes little more than half the time that OpenSSL does, for
    the same bytes, and lets other threads go on meanwhile.
    """

    def __init__(self, newest: bytes, retired: Sequence[bytes] = ()) -> None:
        public, self._secret = crypto_sign_seed_keypair(newest)
        self.public = (public, *retired)
        self._key_id = key_id(self.public[0])

    def sign(self, game: str, seq: int, head: bytes) -> Receipt:
        """The receipt for the entry ``seq``, whose hash is ``head``."""
        message = _HEAD + enc(game.encode(), u32(seq), head)
        return Receipt(
            game, seq, head, self._key_id, crypto_sign(message, self._secret)[:crypto_sign_BYTES]
        )


def key_id(public: bytes) -> str:
    """The short name of a public key."""
    return hashlib.sha256(public).hexdigest()[:16]


def open_signing_keys(data_dir: Path, entropy: Entropy = os.urandom) -> SigningKeys:
    """The keys in ``data_dir/signing.keys``, made on the first start; raises BadSetting."""
    path = data_dir / SIGNING_FILE
    lines = _read_private(path, _KEYS_FILE, "a file of signing keys", entropy).splitlines()
    retired = [bytes.fromhex(line.removeprefix(_RETIRED)) for line in lines[1:]]
    return SigningKeys(bytes.fromhex(lines[0]), retired)


def rotate_signing_key(data_dir: Path, entropy: Entropy = os.urandom) -> SigningKeys:
    """A new signing key from the next start on; of the old ones the public part is kept.

    The file stays its owner's, whoever rotates. Raises BadSetting if there is none.
    """
    path = data_dir / SIGNING_FILE
    if not path.exists():
        raise BadSetting(f"CUBILETE_DATA_DIR: {path}: no such file: no server has started here")
    keys = open_signing_keys(data_dir, entropy)
    newest = entropy(32)
    lines = [newest.hex(), *(_RETIRED + public.hex() for public in keys.public)]
    try:
        _draft(path, "".join(f"{line}\n" for line in lines), path.stat().st_uid).replace(path)
        sync_names(data_dir)
    except OSError as error:
        raise BadSetting(f"CUBILETE_DATA_DIR: {path}: {error.strerror}") from None
    return SigningKeys(newest, keys.public)


def open_server_key(data_dir: Path, given: str | None, entropy: Entropy = os.urandom) -> ServerKey:
    """The server key: the one given (64 hex digits), or the one in ``data_dir/server.key``.

    The file is made on the first start, readable by its owner alone. Raises BadSetting if it
    can't be made or read, if others could read it, or if it is lost: a start makes it before
    ``signing.keys``, so where that one stands a new key would be a wrong one.
    """
    if given is not None:
        return ServerKey(bytes.fromhex(given))
    if (data_dir / SIGNING_FILE).exists():
        require_server_key(data_dir)
    path = data_dir / _SERVER_FILE
    text = _read_private(path, _KEY_FILE, "a server key of 64 hex digits", entropy)
    return ServerKey(bytes.fromhex(text.strip()))


def require_server_key(data_dir: Path) -> None:
    """Raises BadSetting if ``data_dir/server.key`` is missing."""
    path = data_dir / _SERVER_FILE
    if not path.exists():
        raise BadSetting(
            f"CUBILETE_DATA_DIR: {path} is missing: put back the one of this server, "
            "or set CUBILETE_SERVER_KEY"
        )


def _read_private(path: Path, form: re.Pattern[str], what: str, entropy: Entropy) -> str:
    """A file that only its owner can read, made with 32 random bytes if it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with contextlib.suppress(FileExistsError):  # another process was first
                _write_new(path, entropy(32).hex() + "\n")
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BadSetting(f"{path}: others can read it (chmod 600 it)")
        text = path.read_text("ascii", "replace")
    except OSError as error:
        raise BadSetting(f"CUBILETE_DATA_DIR: {path}: {error.strerror}") from None
    if not form.fullmatch(text):
        raise BadSetting(f"{path}: not {what}")
    return text


def _write_new(path: Path, text: str) -> None:
    """Writes a file that is whole or absent; raises FileExistsError if it is there already."""
    draft = _draft(path, text, os.geteuid())
    try:
        os.link(draft, path)
        sync_names(path.parent)
    finally:
        draft.unlink()


def _draft(path: Path, text: str, owner: int) -> Path:
    """A file beside ``path`` that only its owner can read; its text is on the disk."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            if owner != os.geteuid():
                os.fchown(handle, owner, -1)
            file.write(text)
            file.flush()
            os.fsync(handle)
    except OSError:
        os.unlink(name)
        raise
    return Path(name)


def new_token(kind: TokenKind, entropy: Entropy) -> str:
    """A bearer token of 256 random bits."""
    digits = base64.urlsafe_b64encode(entropy(32)).rstrip(b"=").decode()
    return f"cub_{kind}_{digits}"


def token_hash(token: str) -> bytes:
    """What is stored of a token: it has full entropy, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).digest()


def same(one: bytes, other: bytes) -> bool:
    """Whether two hashes are equal, in constant time."""
    return hmac.compare_digest(one, other)


def new_game_id(at: int, entropy: Entropy) -> str:
    """A game id: 48 bits of time, so that ids sort by age, and 128 random bits."""
    return base64.b32hexencode(at.to_bytes(6, "big") + entropy(16)).rstrip(b"=").decode().lower()
