"""A bot for every ruleset: takes an open seat, has its part in the dice, and acts when it may.

python examples/bot.py http://127.0.0.1:8000 GAME_ID NAME
"""

import hashlib
import random
import secrets
import sys
import time
import uuid
from typing import Any

import httpx

server, game_id, name = sys.argv[1:]
http = httpx.Client(base_url=f"{server}/v1/games/")


def post(path: str, body: dict[str, Any], **headers: str) -> Any:
    """The answer, or the game as it stands now if it had moved on from what we know."""
    headers |= {"Idempotency-Key": uuid.uuid4().hex, "If-Match": f'"{game["version"]}"'}
    answer = http.post(f"{game_id}/{path}", json=body, headers=headers)
    return {"game": read()} if answer.status_code == 412 else answer.raise_for_status().json()


def read() -> Any:
    return http.get(game_id).raise_for_status().json()


def choose(legal: list[dict[str, Any]]) -> dict[str, Any]:
    """Hold at 20 where a turn total is at stake; else whatever is legal, within its bounds."""
    state, chosen = game["state"], random.choice(legal)
    if "turn_total" in state:
        total, target = state["turn_total"], game["options"].get("target", sys.maxsize)
        kind = "hold" if total >= 20 or state["scores"][seat] + total >= target else "roll"
        chosen = next((one for one in legal if one["kind"] == kind), chosen)
    action = {"kind": chosen["kind"]}
    if "max" in chosen:
        action["amount"] = random.randint(chosen["min"], chosen["max"])
    if "dice" in chosen:
        action["mask"] = [random.random() < 0.5 for _ in range(chosen["dice"])]
    return action


game, joined, seed = read(), {}, secrets.token_bytes(32)
fields = (b"fair-dice/1/client-commit", game_id.encode(), seed)  # docs/fair-dice.md, section 2
encoded = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
commit = hashlib.sha256(encoded).hexdigest()
while "token" not in joined:
    mode, part = game["dice"]["seed_mode"], {"saw": game["dice"]["commitment"]}
    if mode == "sealed":
        part["commit"] = commit
    elif mode == "open" and not game["dice"]["seeds"]:
        part["seed"] = seed.hex()
    joined = post("seats", {"name": name, **part})
    game = joined["game"]
seat, token = joined["seat"], f"Bearer {joined['token']}"

mine = {"seat": seat, "commit": commit, "seed": None}  # no longer so once we have revealed
while game["status"] in ("waiting", "playing"):
    if game["dice"]["sealed"] and mine in game["dice"]["seeds"]:
        reveal = {"seed": seed.hex()}
        game = post(f"seats/{seat}/reveal", reveal, authorization=token)["game"]
    elif legal := [one for one in game["legal_actions"] if one["seat"] == seat]:
        game = post("actions", choose(legal), authorization=token)["game"]
    else:
        time.sleep(0.1)
        game = read()
won = game["outcome"] is not None and seat in game["outcome"]["winners"]
print(f"{name} {'won' if won else 'did not win'}: {game['outcome'] or game['ended']}")
