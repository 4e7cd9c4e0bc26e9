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

if len(sys.argv) != 4:
    sys.exit("usage: python examples/bot.py ADDRESS GAME_ID NAME")
server, game_id, name = sys.argv[1:]
http = httpx.Client(base_url=f"{server}/v1/games/", timeout=40)


def ask(method: str, path: str, headers: dict[str, str], body: Any = None) -> httpx.Response:
    """The answer; a request that got none is sent again as it was, so with the same key."""
    while True:
        try:
            answer = http.request(method, game_id + path, headers=headers, json=body)
            if answer.status_code not in (429, 502, 503, 504):
                break
            again_s, why = int(answer.headers.get("Retry-After", "1")), f"{answer.status_code}"
        except httpx.TransportError as error:
            again_s, why = 1, f"{error}"
        print(f"{why}, again in {again_s} s", file=sys.stderr)
        time.sleep(again_s)
    if answer.status_code not in (200, 201, 304, 412):
        told = "problem+json" in answer.headers.get("Content-Type", "")
        sys.exit(answer.json()["detail"] if told else f"{answer.status_code} {answer.text}")
    return answer


def read() -> Any:
    """The game as soon as it is another than the one we know, and after 25 seconds anyway."""
    seen = {"If-None-Match": f'"{game["version"]}"', "Prefer": "wait=25"}
    answer = ask("GET", "", seen)
    return game if answer.status_code == 304 else answer.json()


def post(path: str, body: dict[str, Any], **headers: str) -> Any:
    """The answer, or the game as it stands now if it had moved on from what we know."""
    headers |= {"Idempotency-Key": uuid.uuid4().hex, "If-Match": f'"{game["version"]}"'}
    answer = ask("POST", path, headers, body)
    return {"game": read()} if answer.status_code == 412 else answer.json()


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


game, joined, seed = ask("GET", "", {}).json(), {}, secrets.token_bytes(32)
fields = (b"fair-dice/1/client-commit", game_id.encode(), seed)  # docs/fair-dice.md, section 2
encoded = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
commit = hashlib.sha256(encoded).hexdigest()
while "token" not in joined:
    mode, part = game["dice"]["seed_mode"], {"saw": game["dice"]["commitment"]}
    if mode == "sealed":
        part["commit"] = commit
    elif mode == "open" and not game["dice"]["seeds"]:
        part["seed"] = seed.hex()
    joined = post("/seats", {"name": name, **part})
    game = joined["game"]
seat, token = joined["seat"], f"Bearer {joined['token']}"

mine = {"seat": seat, "commit": commit, "seed": None}  # no longer so once we have revealed
while game["status"] in ("waiting", "playing"):
    if game["dice"]["sealed"] and mine in game["dice"]["seeds"]:
        reveal = {"seed": seed.hex()}
        game = post(f"/seats/{seat}/reveal", reveal, authorization=token)["game"]
    elif legal := [one for one in game["legal_actions"] if one["seat"] == seat]:
        game = post("/actions", choose(legal), authorization=token)["game"]
    else:
        game = read()
won = game["outcome"] is not None and seat in game["outcome"]["winners"]
print(f"{name} {'won' if won else 'did not win'}: {game['outcome'] or game['ended']}")
