"""A game of Pig to 20 in Python: whoever is to act holds where that is legal, else rolls."""

import secrets
import sys

import httpx

server = httpx.Client(base_url=sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")


def post(path, body, **headers):
    headers["Idempotency-Key"] = secrets.token_urlsafe(24)
    return server.post(path, json=body, headers=headers).raise_for_status().json()


table = {"hotseat": True, "seats": [{"name": "Ana"}, {"name": "Ben"}]}
made = post("/v1/games", {"ruleset": "pig", "options": {"target": 20}, **table})
game, token = made["game"], made["tokens"]["host"]
while game["status"] == "playing":
    kind = game["legal_actions"][-1]["kind"]
    path = f"/v1/games/{game['id']}/actions"
    game = post(path, {"kind": kind}, Authorization=f"Bearer {token}")["game"]
print("winners", game["outcome"]["winners"])
