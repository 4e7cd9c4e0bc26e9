"""The canary: nothing that is still secret shows in anything a server sends, logs or counts."""

import base64
import itertools
import json
import random
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from service import verify
from service.dice import D6, KeyChain, client_commit, faces
from service.keys import open_server_key
from service.rules import RULESETS
from tests.player import Player
from tests.server import Server

SEED = 20_261_130
MODES = ("operator", "open", "sealed")
AHEAD, DICE = 200, 6  # throws and dice of which the bytes are searched for as well
HEX = re.compile(rb"[0-9a-f]{64}", re.IGNORECASE)
DECIMAL = re.compile(rb"[0-9]{60,80}")
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{43}=?")


class Recorder:
    """Every byte that comes back from a server: status, headers, bodies."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def note(self, response: httpx.Response) -> None:
        response.read()
        self.bytes += f"{response.status_code} {response.reason_phrase}\n".encode()
        for name, value in response.headers.raw:
            self.bytes += name + b": " + value + b"\n"
        self.bytes += response.content + b"\n"


def act_at_random(player: Player, chance: random.Random) -> None:
    legal = chance.choice(player.game["legal_actions"])
    body: dict[str, Any] = {"kind": legal["kind"]}
    if legal["seat"] is not None:
        body["seat"] = legal["seat"]
    if "min" in legal:
        body["amount"] = chance.randint(legal["min"], min(legal["max"], legal["min"] + 9))
    if "dice" in legal:
        body["mask"] = [chance.random() < 0.5 for _ in range(legal["dice"])]
    player.ask("POST", f"{player.path}/actions", body, player.host)


def provoke(player: Player) -> None:
    """Errors of many kinds: they must not tell either."""
    path, client = player.path, player.client
    client.post(f"{path}/actions", content=b"{", headers={"content-type": "application/json"})
    client.post(f"{path}/actions", json={"kind": "roll"})
    client.post(f"{path}/actions", json={"kind": "roll", "seat": 63, "x": 1})
    client.post(f"{path}/void", headers={"authorization": f"Bearer {player.host}"})
    client.get(path, params={"version": "9999999"})
    client.get(f"{path}/nothing")
    client.put(path)


def read_everything(player: Player) -> None:
    client, path = player.client, player.path
    for what in ("", "/log", "/audit", "/head", "?version=1"):
        client.get(path + what)
    client.get(f"{path}/log", headers={"accept": "application/jsonl"})
    client.get(f"/v1/series/{player.game['series']['id']}")


def games(client: httpx.Client, chance: random.Random) -> Iterator[Player]:
    """Games of every ruleset at a hot seat in each mode that has a secret, some played for long."""
    for ruleset, mode in itertools.product(RULESETS, MODES):
        player = Player(client)
        player.create(ruleset.key, None, None, seed_mode=mode, hotseat=True)
        seeds = [chance.randbytes(32) for _ in range(2)]
        for seat, seed in enumerate(seeds):
            commit = client_commit(player.game["id"], seed).hex()
            given = {"commit": commit} if mode == "sealed" else {}
            if mode == "open" and seat == 1:
                given = {"seed": seed.hex()}
            player.join(**given, saw=player.commitment)
        if mode == "sealed":
            player.ask("POST", f"{player.path}/seal", None, player.host)
            for seat, seed in enumerate(seeds):
                read_everything(player)
                path = f"{player.path}/seats/{seat}/reveal"
                player.ask("POST", path, {"seed": seed.hex()}, player.host)
        for _ in range(40 if mode == "operator" else 400):
            if player.game["status"] != "playing":
                break
            act_at_random(player, chance)
        provoke(player)
        read_everything(player)
        yield player


def secrets_of(data_dir: Path) -> tuple[set[bytes], int]:
    """All that must not show: the server key, salts of roots, and of games that go on the root
    and every key not published yet. Also how many games go on."""
    server_key = open_server_key(data_dir, None)
    secret = {bytes.fromhex((data_dir / "server.key").read_text().strip())}
    secret.add(bytes.fromhex((data_dir / "signing.keys").read_text().split()[0]))
    going = 0
    with sqlite3.connect(data_dir / "cubilete.db") as database:
        for game_id, salt, setup, snapshot in database.execute(
            "SELECT id, salt, setup, snapshot FROM game JOIN root_salt ON id = game_id"
        ):
            secret.add(salt)
            now = json.loads(snapshot)
            if now["status"] == "playing":
                going += 1
                root = server_key.root(game_id, salt)
                chain = KeyChain(root, json.loads(setup)["throws_max"])
                numbers = range(now["throws"] + 1, chain.length + 1)
                secret |= {chain.key(number) for number in numbers}
                context = bytes.fromhex(now["context"])
                secret |= {
                    block(chain.key(number), context, number, die)
                    for number in numbers[:AHEAD]
                    for die in range(DICE)
                }
        secret |= {row[0] for row in database.execute("SELECT salt FROM holder")}
    database.close()
    return secret, going


def block(key: bytes, context: bytes, throw: int, die: int) -> bytes:
    """The first bytes that a die of a throw comes from (docs/fair-dice.md, section 3)."""
    return verify.mac(key, "die", context, b"", verify.u32(throw), verify.u32(die), verify.u32(0))


def shown(secret: set[bytes], recorded: bytes) -> list[str]:
    """Secrets that the recording holds as hex, base64 or a number, or as they are."""
    hexes = [text for text in HEX.findall(recorded) if bytes.fromhex(text.decode()) in secret]
    coded = [text for start in range(4) for text in BASE64.findall(recorded[start:])]
    found = [text for text in coded if decoded(text) in secret]
    numbers = {one.to_bytes(32, "big"): str(one) for one in secret_numbers(recorded)}
    found += [text.encode() for one, text in numbers.items() if one in secret]
    windows = {recorded[at : at + 32] for at in range(len(recorded) - 31)}
    return [text.decode() for text in hexes + found] + [one.hex() for one in secret & windows]


def secret_numbers(recorded: bytes) -> list[int]:
    """Numbers in decimal digits that could be 32 bytes."""
    return [int(text) for text in DECIMAL.findall(recorded) if int(text) < 2**256]


def decoded(text: bytes) -> bytes:
    """Base64 in either alphabet."""
    return base64.b64decode(text.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=") + b"=")


def test_nothing_secret_shows_in_a_whole_run_of_all_rulesets(tmp_path: Path) -> None:
    chance, recorder = random.Random(SEED), Recorder()
    with (
        Server(tmp_path / "data", CUBILETE_LOG_LEVEL="debug") as server,
        server.client(event_hooks={"response": [recorder.note]}) as client,
    ):
        played = list(games(client, chance))
        for path in ("/metrics", "/version", "/readyz", "/v1/rulesets", "/openapi.json"):
            client.get(path)
        client.get("/v1/games", params={"limit": 100})
        client.get("/.well-known/fair-dice.json")
    recorded = bytes(recorder.bytes) + server.log.read_bytes()
    secret, going = secrets_of(server.data_dir)
    assert len(played) == len(MODES) * len(RULESETS)
    assert going >= 2
    assert len(recorded) > 500_000
    assert not shown(secret, recorded)
    tokens = [token for player in played for token in (player.host, *player.seats.values())]
    log = server.log.read_text()
    assert not [token for token in tokens if token in log]


def test_the_canary_would_sing() -> None:
    secret = {bytes(range(32)), bytes(range(1, 33)), b"x" * 32}
    told = b"a" + bytes(range(32)).hex().upper().encode() + b" "
    told += base64.urlsafe_b64encode(bytes(range(1, 33))) + b" " + b"x" * 32
    assert len(shown(secret, told)) >= 3
    number = int.from_bytes(b"x" * 32, "big")
    assert shown(secret, b"[%d]" % number) == [str(number)]


def test_the_bytes_that_are_searched_for_are_those_of_the_dice() -> None:
    key, context = bytes(range(32)), bytes(32)
    for die, face in enumerate(faces(key, context, 7, [D6] * DICE)):
        word = int.from_bytes(block(key, context, 7, die)[:4], "big")
        assert word % 6 + 1 == face
