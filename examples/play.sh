#!/bin/sh
# A game of Pig to 20 with curl: whoever is to act holds where that is legal, and rolls where not.
set -eu
BASE=${1:-http://127.0.0.1:8000}
post() { # path, body, token
    key=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
    curl -fsS --retry 5 "$BASE$1" -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
        ${3:+-H "Authorization: Bearer $3"} -d "$2"
}
made=$(post /v1/games '{"ruleset": "pig", "options": {"target": 20}, "hotseat": true,
    "seats": [{"name": "Ana"}, {"name": "Ben"}]}')
id=$(printf %s "$made" | sed 's/.*"game":{"id":"\([^"]*\)".*/\1/')
token=$(printf %s "$made" | sed 's/.*"host":"\([^"]*\)".*/\1/')
while game=$(curl -fsS "$BASE/v1/games/$id"); do
    case $game in
    *'"status":"finished"'*) printf '%s\n' "$game" | grep -o '"winners":\[[0-9]\]'; exit ;;
    *'"kind":"hold"'*) post "/v1/games/$id/actions" '{"kind": "hold"}' "$token" >/dev/null ;;
    *) post "/v1/games/$id/actions" '{"kind": "roll"}' "$token" >/dev/null ;;
    esac
done
