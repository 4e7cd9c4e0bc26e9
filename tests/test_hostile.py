"""Hostile requests: each gets a 4xx problem, changes nothing, and is never repeated back."""

import json

import pytest

from tests import contract_check
from tests.game_client import create, new_game
from tests.raw import exchange, wire

CANARY = "canary7f3a9e"
C = CANARY.encode()
JSON = ("Content-Type", "application/json")
DEEP = 60_000
LIMIT = 64 * 1024

ROLL = b'{"kind":"roll"}'


# What stands in a body, for whatever route: (body, status, code).
BODIES = {
    "empty": (b"", 400, "unreadable_body"),
    "spaces": (b"   ", 400, "unreadable_body"),
    "a word": (C, 400, "unreadable_body"),
    "an array": (b'["%s"]' % C, 422, "invalid_input"),
    "a text": (b'"%s"' % C, 422, "invalid_input"),
    "null": (b"null", 422, "invalid_input"),
    "true": (b"true", 422, "invalid_input"),
    "a number": (b"5", 422, "invalid_input"),
    "cut short": (b'{"%s":' % C, 400, "unreadable_body"),
    "single quotes": (b"{'%s':1}" % C, 400, "unreadable_body"),
    "a comment": (b"{} // " + C, 400, "unreadable_body"),
    "two values": (b'{} "%s"' % C, 400, "unreadable_body"),
    "a trailing comma": (b'{"%s":1,}' % C, 400, "unreadable_body"),
    "an unknown field": (b'{"%s":1}' % C, 422, "invalid_input"),
    "__proto__": (b'{"__proto__":{"%s":1}}' % C, 422, "invalid_input"),
    "equal keys": (b'{"%s":1,"%s":2}' % (C, C), 400, "unreadable_body"),
    "equal keys, one escaped": (b'{"x%s":1,"\\u0078%s":2}' % (C, C), 400, "unreadable_body"),
    "NaN": (b'{"%s":NaN}' % C, 400, "unreadable_body"),
    "Infinity": (b'{"%s":Infinity}' % C, 400, "unreadable_body"),
    "-Infinity": (b'{"%s":-Infinity}' % C, 400, "unreadable_body"),
    "1e400": (b'{"%s":1e400}' % C, 400, "unreadable_body"),
    "2**53": (b'{"%s":9007199254740992}' % C, 400, "unreadable_body"),
    "2**63": (b'{"%s":9223372036854775808}' % C, 400, "unreadable_body"),
    "400 digits": (b'{"%s":' % C + b"7" * 400 + b"}", 400, "unreadable_body"),
    "5,000 digits": (b'{"%s":' % C + b"7" * 5000 + b"}", 400, "unreadable_body"),
    "invalid UTF-8": (b'{"%s":"\xff"}' % C, 400, "unreadable_body"),
    "overlong UTF-8": (b'{"%s":"\xc0\xaf"}' % C, 400, "unreadable_body"),
    "Latin-1": (b'{"%s":"\xe9"}' % C, 400, "unreadable_body"),
    "UTF-16": (f'{{"{CANARY}":1}}'.encode("utf-16"), 400, "unreadable_body"),
    "UTF-16-LE": (f'{{"{CANARY}":1}}'.encode("utf-16-le"), 400, "unreadable_body"),
    "UTF-32": (f'{{"{CANARY}":1}}'.encode("utf-32"), 400, "unreadable_body"),
    "a byte order mark": (b'\xef\xbb\xbf{"%s":1}' % C, 400, "unreadable_body"),
    "a lone surrogate": (b'{"%s":"\\ud800"}' % C, 400, "unreadable_body"),
    "a lone surrogate in a key": (b'{"%s\\udc00":1}' % C, 400, "unreadable_body"),
    "NUL": (b'{"%s":"\\u0000"}' % C, 400, "unreadable_body"),
    "NUL in a key": (b'{"%s\\u0000":1}' % C, 400, "unreadable_body"),
    "a raw NUL": (b'{"%s":"\x00"}' % C, 400, "unreadable_body"),
    "a control character": (b'{"%s":"\\u001b[31m"}' % C, 400, "unreadable_body"),
    "a line break": (b'{"%s":"\\r\\nSet-Cookie: a=b"}' % C, 400, "unreadable_body"),
    "a C1 control character": (b'{"%s":"\\u0085"}' % C, 400, "unreadable_body"),
    "17 deep": (b'{"%s":' % C + b"[" * 16 + b"]" * 16 + b"}", 400, "unreadable_body"),
    "60,000 deep": (b'["%s",' % C + b"[" * DEEP, 400, "unreadable_body"),
    "100,000 deep": (b'["%s",' % C + b"[" * 100_000, 413, "body_too_large"),
    "many keys": (
        b"{" + b",".join(b'"%s%d":0' % (C, key) for key in range(3000)) + b"}",
        422,
        "invalid_input",
    ),
    "one byte too many": (b'"%s"' % C + b" " * (LIMIT - len(C) - 1), 413, "body_too_large"),
    "a million bytes": (b'"%s"' % C + b" " * 1_000_000, 413, "body_too_large"),
}

# What stands in an action in place of an integer.
INTEGERS = {
    "true": b"true",
    "false": b"false",
    "null": b"null",
    "text": b'"5"',
    "5.0": b"5.0",
    "1e2": b"1e2",
    "-0.0": b"-0.0",
    "-1": b"-1",
    "a fraction": b"0.5",
    "an array": b"[5]",
    "an object": b'{"value":5}',
    "the canary": b'"%s"' % C,
}

# Headers of an action that is right but for them: (headers, status, code).
HEADERS = {
    "no content type": ([], 415, "unsupported_media_type"),
    "text": ([("Content-Type", f"text/plain; x={CANARY}")], 415, "unsupported_media_type"),
    "a form": (
        [("Content-Type", "application/x-www-form-urlencoded")],
        415,
        "unsupported_media_type",
    ),
    "multipart": (
        [("Content-Type", f"multipart/form-data; boundary={CANARY}")],
        415,
        "unsupported_media_type",
    ),
    "XML": ([("Content-Type", "application/xml")], 415, "unsupported_media_type"),
    "JSON lines": ([("Content-Type", "application/jsonl")], 415, "unsupported_media_type"),
    "almost JSON": ([("Content-Type", "application/jsonx")], 415, "unsupported_media_type"),
    "another charset": (
        [("Content-Type", "application/json; charset=utf-16")],
        415,
        "unsupported_media_type",
    ),
    "a strange parameter": (
        [("Content-Type", f"application/json; {CANARY}=1")],
        415,
        "unsupported_media_type",
    ),
    "bytes as content type": ([("Content-Type", b"\xff\xfe" + C)], 415, "unsupported_media_type"),
    "two content types": (
        [("Content-Type", "text/plain"), ("Content-Type", "application/json")],
        415,
        "unsupported_media_type",
    ),
    "gzip": ([JSON, ("Content-Encoding", "gzip")], 415, "unsupported_media_type"),
    "deflate": ([JSON, ("Content-Encoding", "deflate")], 415, "unsupported_media_type"),
    "gzip in a list": (
        [JSON, ("Content-Encoding", "identity, gzip")],
        415,
        "unsupported_media_type",
    ),
    "gzip in a second line": (
        [JSON, ("Content-Encoding", "identity"), ("Content-Encoding", "gzip")],
        415,
        "unsupported_media_type",
    ),
    "an unknown encoding": ([JSON, ("Content-Encoding", CANARY)], 415, "unsupported_media_type"),
    "a weak If-Match": ([JSON, ("If-Match", 'W/"1"')], 400, "precondition_malformed"),
    "a list in If-Match": ([JSON, ("If-Match", '"1", "2"')], 400, "precondition_malformed"),
    "two If-Match": (
        [JSON, ("If-Match", '"1"'), ("If-Match", '"2"')],
        400,
        "precondition_malformed",
    ),
    "any If-Match": ([JSON, ("If-Match", "*")], 400, "precondition_malformed"),
    "no quotes in If-Match": ([JSON, ("If-Match", "1")], 400, "precondition_malformed"),
    "an empty If-Match": ([JSON, ("If-Match", "")], 400, "precondition_malformed"),
    "the canary in If-Match": ([JSON, ("If-Match", f'"{CANARY}"')], 400, "precondition_malformed"),
    "bytes in If-Match": ([JSON, ("If-Match", b'"\xff"')], 400, "precondition_malformed"),
    "400 digits in If-Match": (
        [JSON, ("If-Match", '"' + "7" * 400 + '"')],
        400,
        "precondition_malformed",
    ),
    "10 KB in If-Match": (
        [JSON, ("If-Match", '"' + CANARY * 800 + '"')],
        400,
        "precondition_malformed",
    ),
    "a stale If-Match": ([JSON, ("If-Match", '"0"')], 412, "stale_version"),
    "a far If-Match": ([JSON, ("If-Match", '"9999999999999999"')], 412, "stale_version"),
    "an empty key": ([JSON, ("Idempotency-Key", "")], 422, "invalid_input"),
    "a key of two words": ([JSON, ("Idempotency-Key", f"a {CANARY}")], 422, "invalid_input"),
    "a key of 256 characters": ([JSON, ("Idempotency-Key", "k" * 256)], 422, "invalid_input"),
    "a key of 10 KB": ([JSON, ("Idempotency-Key", CANARY * 800)], 422, "invalid_input"),
    "bytes as key": ([JSON, ("Idempotency-Key", b"\xff\xfe" + C)], 422, "invalid_input"),
    "a tab in a key": ([JSON, ("Idempotency-Key", f"a\t{CANARY}")], 422, "invalid_input"),
    "two keys": (
        [JSON, ("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
        422,
        "invalid_input",
    ),
}

# The Authorization header; None leaves it out, {token} is the right one.
AUTHORIZATIONS = {
    "none": (None, "token_missing"),
    "nothing": ([""], "token_unknown"),
    "the scheme alone": (["Bearer"], "token_unknown"),
    "no scheme": (["{token}"], "token_unknown"),
    "another scheme": (["Basic {token}"], "token_unknown"),
    "the canary": ([f"Bearer {CANARY}"], "token_unknown"),
    "a forged token": (["Bearer cub_seat_" + "A" * 43], "token_unknown"),
    "a forged host": (["Bearer cub_host_" + "A" * 43], "token_unknown"),
    "one character more": (["Bearer {token}A"], "token_unknown"),
    "one word more": (["Bearer {token} {token}"], "token_unknown"),
    "twice": (["Bearer {token}", "Bearer {token}"], "token_unknown"),
    "a list": (["Bearer {token}, Bearer x"], "token_unknown"),
    "quotes": (['Bearer "{token}"'], "token_unknown"),
    "a tab": (["Bearer\t{token}"], "token_unknown"),
    "Latin-1": ([b"Bearer caf\xe9" + C], "token_unknown"),
    "UTF-8": ([f"Bearer ☃{CANARY}".encode()], "token_unknown"),
    "10 KB": (["Bearer " + CANARY * 800], "token_unknown"),
    "SQL": (["Bearer ' OR 1=1 --"], "token_unknown"),
}

# (method, target, status, code); {game} is the id of a game.
ADDRESSES = {
    "an unknown route": ("GET", f"/{CANARY}", 404, "not_found"),
    "an unknown route below": ("GET", f"/v1/games/{{game}}/{CANARY}", 404, "not_found"),
    "an unknown route of a version": ("GET", "/v2/games", 404, "not_found"),
    "a slash at the end": ("GET", "/v1/games/", 404, "not_found"),
    "a slash at the end of a game": ("GET", "/v1/games/{game}/", 404, "not_found"),
    "a slash at the end of a change": ("POST", "/v1/games/{game}/actions/", 404, "not_found"),
    "two slashes at the start": ("GET", "//v1/games", 404, "not_found"),
    "two slashes inside": ("GET", "/v1//games", 404, "not_found"),
    "two slashes before the log": ("GET", "/v1/games/{game}//log", 404, "not_found"),
    "capitals": ("GET", "/V1/games", 404, "not_found"),
    "dots": ("GET", "/v1/games/../rulesets", 404, "not_found"),
    "escaped dots": ("GET", "/v1/games/%2e%2e/rulesets", 404, "not_found"),
    "a file": ("GET", "/../../etc/passwd", 404, "not_found"),
    "escaped slashes": ("GET", "/..%2f..%2fetc%2fpasswd", 404, "not_found"),
    "backslashes": ("GET", "/v1\\games", 404, "not_found"),
    "a semicolon": ("GET", f"/v1/games;{CANARY}", 404, "not_found"),
    "an unknown game": ("GET", f"/v1/games/{CANARY}", 404, "game_not_found"),
    "NUL as game": ("GET", f"/v1/games/%00{CANARY}", 404, "game_not_found"),
    "NUL after a game": ("GET", "/v1/games/{game}%00", 404, "game_not_found"),
    "%ff as game": ("GET", f"/v1/games/%ff{CANARY}", 404, "game_not_found"),
    "an overlong dot as game": ("GET", "/v1/games/%c0%ae", 404, "game_not_found"),
    "a line break as game": ("GET", f"/v1/games/%0d%0a{CANARY}", 404, "game_not_found"),
    "a line separator as game": ("GET", "/v1/games/%e2%80%a8", 404, "game_not_found"),
    "a quote as game": ("GET", f"/v1/games/%27%20OR%201=1--{CANARY}", 404, "game_not_found"),
    "markup as game": ("GET", f"/v1/games/%3Cscript%3E{CANARY}", 404, "game_not_found"),
    "a percent sign as game": ("GET", "/v1/games/%", 404, "game_not_found"),
    "a half escape as game": ("GET", "/v1/games/%2", 404, "game_not_found"),
    "capitals in a game": ("GET", "/v1/games/{GAME}", 404, "game_not_found"),
    "6 KB as game": ("GET", "/v1/games/" + CANARY * 500, 404, "game_not_found"),
    "NUL as log": ("GET", "/v1/games/%00/log", 404, "game_not_found"),
    "NUL as record": ("GET", "/v1/games/%00/audit", 404, "game_not_found"),
    "NUL as series": ("GET", f"/v1/series/%00{CANARY}", 404, "series_not_found"),
    "%ff as series": ("GET", "/v1/series/%ff", 404, "series_not_found"),
    "NUL as ruleset": ("GET", f"/v1/rulesets/%00{CANARY}", 404, "ruleset_not_found"),
    "an unknown ruleset": ("GET", f"/v1/rulesets/{CANARY}", 404, "ruleset_not_found"),
    "a file as ruleset": ("GET", "/v1/rulesets/..%5c..%5cetc", 404, "ruleset_not_found"),
    "an unknown problem": ("GET", f"/problems/{CANARY}", 404, "not_found"),
    "NUL as problem": ("GET", "/problems/%00", 404, "not_found"),
    "PUT": ("PUT", "/v1/games", 405, "method_not_allowed"),
    "DELETE of the list": ("DELETE", "/v1/games", 405, "method_not_allowed"),
    "DELETE of a game": ("DELETE", "/v1/games/{game}", 405, "method_not_allowed"),
    "PATCH of a game": ("PATCH", "/v1/games/{game}", 405, "method_not_allowed"),
    "POST to a game": ("POST", "/v1/games/{game}", 405, "method_not_allowed"),
    "POST to a log": ("POST", "/v1/games/{game}/log", 405, "method_not_allowed"),
    "GET of an action": ("GET", "/v1/games/{game}/actions", 405, "method_not_allowed"),
    "GET of a start": ("GET", "/v1/games/{game}/start", 405, "method_not_allowed"),
    "HEAD of an action": ("HEAD", "/v1/games/{game}/actions", 405, None),
    "OPTIONS": ("OPTIONS", "/v1/games", 405, "method_not_allowed"),
    "OPTIONS of everything": ("OPTIONS", "*", 404, "not_found"),
    "TRACE": ("TRACE", "/v1/games", 405, "method_not_allowed"),
    "PROPFIND": ("PROPFIND", "/v1/games", 405, "method_not_allowed"),
}

# (target, code); each is told as 422.
QUERIES = {
    "an unknown parameter": f"/v1/games?{CANARY}=1",
    "an unknown parameter of a game": f"/v1/games/{{game}}?{CANARY}=1",
    "a token": f"/v1/games/{{game}}?token=cub_seat_{CANARY}",
    "an access token": f"/v1/games?access_token={CANARY}",
    "a repeated parameter": "/v1/games?limit=1&limit=1",
    "a repeated version": "/v1/games/{game}?version=1&version=2",
    "no value": "/v1/games?limit",
    "an empty value": "/v1/games?limit=",
    "an empty name": f"/v1/games?={CANARY}",
    "the canary as limit": f"/v1/games?limit={CANARY}",
    "a negative limit": "/v1/games?limit=-1",
    "no limit": "/v1/games?limit=0",
    "a huge limit": "/v1/games?limit=1000000000",
    "a limit of 5,000 digits": "/v1/games?limit=" + "9" * 5000,
    "a limit with SQL": f"/v1/games?limit=1;{CANARY}",
    "a limit as a float": "/v1/games?limit=1e1",
    "a limit in other digits": "/v1/games?limit=%EF%BC%91",
    "a limit with a sign": "/v1/games?limit=%2B1",
    "a limit with NUL": f"/v1/games?limit=1%00{CANARY}",
    "a limit with bytes": "/v1/games?limit=%ff",
    "the canary as cursor": f"/v1/games?cursor={CANARY}",
    "a cursor with NUL": "/v1/games?cursor=AAAA",
    "a cursor with bytes": "/v1/games?cursor=%ff%fe",
    "a cursor of 6 KB": "/v1/games?cursor=" + CANARY * 500,
    "an unknown status": f"/v1/games?status={CANARY}",
    "a status in brackets": f"/v1/games?status[$ne]={CANARY}",
    "an unknown ruleset": f"/v1/games?ruleset={CANARY}",
    "NUL as ruleset": "/v1/games?ruleset=%00",
    "a bad boolean": "/v1/games?open_seats=TRUE",
    "NUL as name": f"/v1/games?%00{CANARY}=1",
    "the canary as version": f"/v1/games/{{game}}?version={CANARY}",
    "a negative version": "/v1/games/{game}?version=-1",
    "a version beyond 2**53": "/v1/games/{game}?version=9007199254740992",
    "a version beyond 2**63": "/v1/games/{game}?version=9223372036854775808",
    "a bad after": f"/v1/games/{{game}}/log?after={CANARY}",
    "a negative after": "/v1/games/{game}/log?after=-2",
    "a far after": "/v1/games/{game}/log?after=9223372036854775807",
    "a bad after of a series": "/v1/series/{game}?after=x",
    "400 parameters": "/v1/games?" + "&".join(f"{CANARY}{n}=1" for n in range(400)),
    "7 KB": "/v1/games?limit=" + "1" * 7_000,
}

# Malformed HTTP: whatever comes back, it is no success and no fault of ours.
TRANSPORT = {
    "no HTTP": C + b"\r\n\r\n",
    "bytes": b"\x00\xff\xfe" + C + b"\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + C,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9.9": b"GET /%s HTTP/9.9\r\nHost: x\r\n\r\n" % C,
    "no version": b"GET /%s\r\n\r\n" % C,
    "a method in small letters": b"get /v1/games HTTP/1.1\r\nHost: x\r\n\r\n",
    "an unknown method": b"%s /v1/games HTTP/1.1\r\nHost: x\r\n\r\n" % C.upper(),
    "a target without a slash": b"GET v1/games HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the target": b"GET /v1/games/\xff%s HTTP/1.1\r\nHost: x\r\n\r\n" % C,
    "spaces in the target": b"GET /v1/games %s HTTP/1.1\r\nHost: x\r\n\r\n" % C,
    "a header without a colon": b"GET / HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n" % C,
    "a header without a name": b"GET / HTTP/1.1\r\nHost: x\r\n: %s\r\n\r\n" % C,
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : %s\r\n\r\n" % C,
    "NUL in a header": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: \x00%s\r\n\r\n" % C,
    "NUL in a header's name": b"GET / HTTP/1.1\r\nHost: x\r\nX\x00A: %s\r\n\r\n" % C,
    "a header of 100 KB": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + C * 10_000 + b"\r\n\r\n",
    "two lengths": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}%s" % C,
    "a negative length": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
    "a length with a sign": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}",
    "no host": b"GET /v1/games HTTP/1.1\r\nConnection: close\r\n\r\n",
    "two hosts": b"GET /v1/games HTTP/1.1\r\nHost: x\r\nHost: %s\r\nConnection: close\r\n\r\n" % C,
    "a length that is none": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\n{}"
    % C,
    "a length beyond 2**64": b"POST /v1/games HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    "length and chunks": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown transfer encoding": b"POST /v1/games HTTP/1.1\r\nHost: x\r\n"
    b"Transfer-Encoding: %s\r\n\r\n{}" % C,
    "a bad chunk size": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%s\r\n{}\r\n0\r\n\r\n" % C,
    "a bad chunk end": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}%s0\r\n\r\n" % C,
    "a body cut short": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b'Content-Length: 500\r\n\r\n{"%s":1}' % C,
    "chunks cut short": b"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b'Transfer-Encoding: chunked\r\n\r\n50\r\n{"%s":1}' % C,
    "headers cut short": b"GET /v1/games HTTP/1.1\r\nX-A: " + C,
    "nothing": b"",
    "line breaks": b"\r\n\r\n\r\n\r\n",
    "CONNECT": b"CONNECT %s:443 HTTP/1.1\r\nHost: x\r\n\r\n" % C,
}


@pytest.fixture
def table(client):
    """A game in which seat 0 is to move."""
    return create(client, options={"starter": "seat"})


@pytest.fixture(autouse=True, scope="module")
def _nothing_of_it_in_the_log(server):
    yield
    log = server.log.read_text("utf-8", "replace")
    assert "Traceback" not in log
    assert "cub_seat_" not in log
    assert "cub_host_" not in log


def authorised(table):
    return ("Authorization", f"Bearer {table.tokens[0]}")


def refused(table, server, data, status, code, **how):
    """Sends the bytes and checks all that holds for every refusal."""
    answer = exchange(server, data, **how)
    assert answer.status == status, answer.wire[:2000]
    assert C not in answer.wire.lower()
    assert b"Traceback" not in answer.wire
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    if code is not None:
        problem = answer.json()
        assert problem["code"] == code
        assert problem["status"] == status
        assert not list(contract_check.faults(contract_check.schema_of("Problem"), problem))
    assert table.version == table.created["version"]
    return answer


def test_the_corpus_is_large():
    tables = (BODIES, INTEGERS, HEADERS, AUTHORIZATIONS, ADDRESSES, QUERIES, TRANSPORT)
    assert sum(len(one) for one in tables) >= 150


@pytest.mark.parametrize(("body", "status", "code"), BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_a_hostile_body_is_refused(server, table, body, status, code, chunked):
    path = f"{table.path}/actions"
    data = wire("POST", path, [JSON, authorised(table)], body, chunked=chunked)
    refused(table, server, data, status, code)


BODY_ROUTES = sorted(
    (method.upper(), path)
    for path, item in contract_check.document()["paths"].items()
    for method, operation in item.items()
    if "requestBody" in operation and path != "/v1/audits"
)


@pytest.mark.parametrize(("method", "path"), BODY_ROUTES, ids=[" ".join(x) for x in BODY_ROUTES])
def test_every_route_reads_its_body_as_strictly(server, table, method, path):
    target = path.replace("{id}", table.id).replace("{seat}", "0")
    for name, (body, status, code) in BODIES.items():
        if len(body.strip()) > 0 and len(body) < 10_000:
            data = wire(method, target, [JSON, authorised(table)], body)
            answer = exchange(server, data)
            assert (answer.status, answer.json()["code"]) == (status, code), name
            assert C not in answer.wire.lower(), name
    assert table.version == table.created["version"]


@pytest.mark.parametrize("amount", INTEGERS.values(), ids=INTEGERS.keys())
def test_what_is_no_integer_is_refused_as_one(server, table, amount):
    bodies = [
        b'{"kind":"bet","amount":%s}' % amount,
        b'{"kind":"roll","seat":%s}' % amount,
        b'{"kind":"roll","expected_version":%s}' % amount,
    ]
    for body in bodies[: 1 if amount == b"null" else 3]:
        data = wire("POST", f"{table.path}/actions", [JSON, authorised(table)], body)
        refused(table, server, data, 422, "invalid_input")


@pytest.mark.parametrize(("headers", "status", "code"), HEADERS.values(), ids=HEADERS.keys())
def test_a_hostile_header_is_refused(server, table, headers, status, code):
    data = wire("POST", f"{table.path}/actions", [authorised(table), *headers], ROLL)
    refused(table, server, data, status, code)


@pytest.mark.parametrize(("sent", "code"), AUTHORIZATIONS.values(), ids=AUTHORIZATIONS.keys())
def test_a_hostile_authorization_is_refused(server, table, sent, code):
    token = table.tokens[0].encode()
    lines = [line.encode() if isinstance(line, str) else line for line in sent or ()]
    headers = [("Authorization", line.replace(b"{token}", token)) for line in lines]
    data = wire("POST", f"{table.path}/actions", [JSON, *headers], ROLL)
    answer = refused(table, server, data, 401, code)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert token not in answer.wire


@pytest.mark.parametrize(
    ("method", "target", "status", "code"), ADDRESSES.values(), ids=ADDRESSES.keys()
)
def test_a_hostile_address_is_refused(server, table, method, target, status, code):
    target = target.replace("{game}", table.id).replace("{GAME}", table.id.upper())
    body = b"{}" if method in ("POST", "PUT", "PATCH") else None
    data = wire(method, target, [JSON, authorised(table)], body)
    answer = refused(table, server, data, status, code)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize("target", QUERIES.values(), ids=QUERIES.keys())
def test_a_hostile_query_is_refused(server, table, target):
    data = wire("GET", target.replace("{game}", table.id))
    refused(table, server, data, 422, "invalid_input")


@pytest.mark.parametrize("data", TRANSPORT.values(), ids=TRANSPORT.keys())
def test_malformed_http_is_no_success_and_no_fault_of_ours(server, table, data):
    answer = exchange(server, data, end=True)
    assert answer.status == 0 or 400 <= answer.status < 500, answer.wire[:500]
    assert C not in answer.wire.lower()
    assert table.version == table.created["version"]


def test_an_escaped_slash_opens_nothing_that_a_slash_does_not(server, table):
    for method, target in (
        ("GET", f"/v1/games/{table.id}%2Flog"),
        ("POST", f"/v1/games/{table.id}%2Fstart"),
        ("POST", f"/v1%2fgames%2f{table.id}/start"),
    ):
        plain = target.replace("%2F", "/").replace("%2f", "/")
        body = b"{}" if method == "POST" else None
        escaped, straight = (
            exchange(server, wire(method, one, [JSON], body)) for one in (target, plain)
        )
        assert escaped.status in (404, straight.status)
        assert straight.status in (200, 401)


def test_a_header_does_not_turn_one_method_into_another(server, table):
    for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        data = wire("POST", table.path, [JSON, (name, "GET")], b"{}")
        refused(table, server, data, 405, "method_not_allowed")


def test_a_host_that_is_a_trap_changes_nothing(server, table):
    for host in (b"a/?x=", b"cubilete, evil", b"\xff", b"", C):
        data = b"POST %s/start HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (
            table.path.encode(),
            host,
        )
        answer = exchange(server, data)
        assert answer.status in (0, 400, 401)
        assert C not in answer.wire.lower()


def test_an_absolute_target_is_judged_by_its_path(server, table):
    target = f"http://{CANARY}{table.path}/start"
    answer = exchange(server, wire("POST", target))
    assert answer.status in (400, 401, 404)
    assert C not in answer.wire.lower()


def test_a_body_that_is_too_large_is_refused_before_it_has_come(server, table):
    head = wire(
        "POST", f"{table.path}/actions", [JSON, authorised(table), ("Expect", "100-continue")]
    )
    data = head.replace(b"Connection:", b"Content-Length: 20000000\r\nConnection:")
    refused(table, server, data, 413, "body_too_large")


def test_a_body_of_just_the_limit_is_read(server, table):
    start = b'{"kind":"bet","amount":1'
    body = start + b" " * (LIMIT - len(start) - 1) + b"}"
    assert len(body) == LIMIT
    data = wire("POST", f"{table.path}/actions", [JSON, authorised(table)], body)
    refused(table, server, data, 409, "illegal_action")


def test_a_record_may_be_larger_than_other_bodies_and_not_without_end(server, table):
    body = json.dumps({"log": ["x" * 1_000_000]}).encode()
    answer = exchange(server, wire("POST", "/v1/audits", [JSON], body))
    assert answer.status == 200
    body = json.dumps({"log": ["x" * 8_500_000]}).encode()
    refused(table, server, wire("POST", "/v1/audits", [JSON], body), 413, "body_too_large")


@pytest.mark.parametrize("body", [C, b"", b"[]", b'{"log":[%s]}' % C, b"\xff", b"[" * 100_000])
def test_whatever_is_uploaded_as_a_record_gets_a_verdict_or_a_refusal(server, body):
    answer = exchange(server, wire("POST", "/v1/audits", [JSON], body))
    assert answer.status in (200, 400, 422), answer.wire[:500]
    assert answer.status != 200 or answer.json()["ok"] is False
    assert C not in answer.wire.lower()


CREATIONS = {
    "an unknown ruleset": {"ruleset": CANARY},
    "an unknown option": {"options": {CANARY: 1}},
    "a wrong option": {"options": {"target": CANARY}},
    "a wrong choice": {"options": {"finish": CANARY}},
    "options in options": {"options": {"target": {CANARY: CANARY}}},
    "an unknown mode": {"ruleset": "dados-puercos", "options": {"mode": CANARY}},
    "an unknown option of a mode": {"ruleset": "dados-puercos", "options": {CANARY: "turns"}},
    "an unknown format": {"ruleset": "dice-duel", "options": {"format": {CANARY: 1}}},
    "a wrong format": {"ruleset": "dice-duel", "options": {"format": {"best_of": CANARY}}},
    "a wrong deck": {
        "ruleset": "dice-duel",
        "options": {"penalty": {"kind": "truth", "deck": [f"{CANARY}\u202e"]}},
    },
    "an unknown end": {"ruleset": "heaven-and-nine", "options": {"end": {CANARY: 1}}},
    "a wrong end": {"ruleset": "heaven-and-nine", "options": {"end": {"rounds": CANARY}}},
    "an unknown field of a seat": {"seats": [{CANARY: 1}, {}]},
    "a wrong name": {"seats": [{"name": f"{CANARY}\u200b"}, {}]},
    "a wrong visibility": {"visibility": CANARY},
    "a wrong seed mode": {"seed_mode": CANARY},
    "a wrong seed": {"seed_mode": "practice", "seed": CANARY},
}


@pytest.mark.parametrize("change", CREATIONS.values(), ids=CREATIONS.keys())
def test_a_creation_that_is_refused_repeats_nothing(server, table, change):
    body = json.dumps(new_game("pig", [None, None]) | change).encode()
    status = 404 if change.get("ruleset") == CANARY else 422
    refused(table, server, wire("POST", "/v1/games", [JSON], body), status, None)


NAMES = {
    "markup": f"<img src=x onerror={CANARY}>",
    "a line separator": f"x\u2028{CANARY}",
    "a direction": f"\u202e{CANARY}",
    "zero width": f"\u200b{CANARY}",
    "too long": CANARY * 5,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_hostile_name_is_kept_as_text_or_refused_unspoken(server, table, name):
    body = json.dumps(new_game(names=[name, None])).encode()
    answer = exchange(server, wire("POST", "/v1/games", [JSON], body))
    if answer.status == 201:
        assert answer.json()["game"]["players"][0]["name"] == name
        assert answer.headers["content-type"] == "application/json"
    else:
        assert answer.status == 422
        assert C not in answer.wire.lower()


def test_a_language_that_is_none_is_answered_in_english(server, table):
    for asked in (b"\xff\xfe", CANARY * 800, "es;q=x", ",,,;;q=", "*;q=9", "x" * 10_000):
        data = wire("GET", "/nothing", [("Accept-Language", asked)])
        answer = refused(table, server, data, 404, "not_found")
        assert answer.headers["content-language"] == "en"


def test_requests_in_a_row_do_not_read_each_other(server, table):
    one = wire("POST", f"{table.path}/actions", [JSON], b'{"kind":"%s"}' % C)
    kept = one.replace(b"Connection: close", b"Connection: keep-alive")
    answer = exchange(server, kept * 3 + wire("GET", "/livez"))
    assert answer.wire.count(b"HTTP/1.1 422") == 3
    assert answer.wire.count(b"HTTP/1.1 200") == 1
    assert C not in answer.wire.lower()


def test_the_server_is_well_after_all_that(table, client):
    assert client.get("/readyz").status_code == 200
    assert table.act(0, "roll").status_code == 200
