"""A bot for Pig, Two-Dice Pig and Big Pig: takes an open seat and holds at 20.

python examples/bot.py http://127.0.0.1:8000 GAME_ID NAME
"""

import sys
import time
import uuid
from typing import Any

import httpx

server, game_id, name = sys.argv[1:]
http = httpx.Client(base_url=f"{server}/v1/games/")


def post(path: str, body: dict[str, str], **headers: str) -> Any:
    headers["Idempotency-Key"] = uuid.uuid4().hex  # sent again, it is done once
    return http.post(f"{game_id}/{path}", json=body, headers=headers).raise_for_status().json()


joined = post("seats", {"name": name})
game, seat, token = joined["game"], joined["seat"], f"Bearer {joined['token']}"
while game["status"] in ("waiting", "playing"):
    kinds = [legal["kind"] for legal in game["legal_actions"] if legal["seat"] == seat]
    if not kinds:
        time.sleep(0.1)
        game = http.get(game_id).raise_for_status().json()
        continue
    total, score = game["state"]["turn_total"], game["state"]["scores"][seat]
    enough = total >= 20 or score + total >= game["options"]["target"]
    kind = "hold" if enough and "hold" in kinds else "roll"
    game = post("actions", {"kind": kind}, authorization=token)["game"]
won = game["outcome"] is not None and seat in game["outcome"]["winners"]
print(f"{name} {'won' if won else 'lost'}: {game['state'] and game['state']['scores']}")
