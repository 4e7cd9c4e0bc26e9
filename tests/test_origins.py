"""Whose names and pages the server answers, what it tells browsers, what caches may keep."""

import json

import httpx
import pytest

from tests.game_client import bearer, create, new_game
from tests.raw import exchange, wire
from tests.server import Server

OURS = "https://play.example.org"
EVIL = "https://evil.example"
PREFLIGHT = {"Access-Control-Request-Method": "POST"}


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A server that is reached under names, and whose API the pages of one origin may call."""
    with Server(
        tmp_path_factory.mktemp("named"),
        CUBILETE_ALLOWED_HOSTS="127.0.0.1, dice.example.org, *.tables.example.org, [::1]",
        CUBILETE_CORS_ORIGINS=f"{OURS}, http://localhost:3000",
    ) as running:
        yield running


@pytest.fixture
def page(named):
    with named.client() as client:
        yield client


# --- hosts --------------------------------------------------------------------------------------


def at_host(server, host, path="/v1/games"):
    data = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return exchange(server, data.encode("latin-1"))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "dice.example.org",
        "DICE.Example.ORG",
        "dice.example.org:8443",
        "a.tables.example.org",
        "a.b.tables.example.org:80",
        "[::1]",
        "[::1]:8000",
    ],
)
def test_a_host_of_ours_is_served(named, host):
    assert at_host(named, host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "dice.example.org.evil.example",
        "evildice.example.org",
        "tables.example.org.evil.example",
        "tables.example.org",
        "dice.example.org@evil.example",
        "dice.example.org/?x=",
        "dice.example.org:80:80",
        "dice.example.org, evil.example",
        "",
        "::1",
        "\xff",
    ],
)
def test_another_host_is_told_so(named, host):
    answer = at_host(named, host)
    assert (answer.status, answer.json()["code"]) == (421, "misdirected_request")
    assert host not in answer.body.decode() or not host


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_health_is_told_under_any_name(named, path):
    assert at_host(named, "10.1.2.3:8000", path).status == 200


def test_a_change_under_another_name_is_not_made(named, page):
    before = page.get("/v1/games").json()
    body = json.dumps(new_game()).encode()
    data = wire("POST", "/v1/games", [("Content-Type", "application/json")], body)
    assert exchange(named, data.replace(b"Host: cubilete", b"Host: evil.example")).status == 421
    assert page.get("/v1/games").json() == before


def test_without_a_list_any_host_is_served(server):
    assert at_host(server, "whatever.example").status == 200


# --- origins ------------------------------------------------------------------------------------


def cors(answer):
    return {name for name in answer.headers if name.startswith("access-control-")}


@pytest.mark.parametrize("path", ["/v1/games", "/v1/games/none", "/nothing", "/livez"])
def test_a_page_of_a_named_origin_may_read_every_answer(page, path):
    answer = page.get(path, headers={"Origin": OURS})
    assert answer.headers["access-control-allow-origin"] == OURS
    assert "Origin" in answer.headers["vary"]
    assert "ETag" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        EVIL,
        "null",
        "http://play.example.org",
        "https://play.example.org:444",
        "https://play.example.org.evil.example",
        "https://PLAY.example.org",
        "https://sub.play.example.org",
        f"{OURS}, {EVIL}",
        f"{OURS} ",
        "*",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_page_of_another_origin_may_read_nothing(named, origin, method):
    headers = [("Origin", origin), *PREFLIGHT.items()]
    answer = exchange(named, wire(method, "/v1/games", headers).replace(b"cubilete", b"127.0.0.1"))
    if origin != f"{OURS} ":  # a space at the end is no part of a header
        assert not cors(answer)
        assert answer.status in (200, 400, 405, 415)
    assert "Origin" in answer.wire.decode("latin-1")  # in Vary, for caches


def test_a_page_of_a_named_origin_is_told_what_it_may_send(page):
    asked = {"Origin": OURS, **PREFLIGHT, "Access-Control-Request-Headers": "authorization"}
    for path in ("/v1/games", "/v1/games/x/actions", "/v1/audits"):
        answer = page.options(path, headers=asked)
        assert (answer.status_code, answer.content) == (204, b"")
        allowed = answer.headers["access-control-allow-headers"].lower()
        assert {"authorization", "content-type", "idempotency-key", "if-match"} <= set(
            allowed.split(", ")
        )
        methods = answer.headers["access-control-allow-methods"].split(", ")
        assert {"GET", "POST", "PATCH", "DELETE"} <= set(methods)


def test_a_page_may_read_and_send_every_header_that_the_contract_has(page):
    contract = page.get("/openapi.json").json()
    operations = [one for path in contract["paths"].values() for one in path.values()]
    parameters = [given for one in operations for given in one.get("parameters", ())]
    sent = {given["name"] for given in parameters if given["in"] == "header"}
    answers = [answer for one in operations for answer in one["responses"].values()]
    read = {name for answer in answers for name in answer.get("headers", ())}
    asked = {"Origin": OURS, **PREFLIGHT}
    told = page.options("/v1/games", headers=asked).headers
    assert sent <= set(told["access-control-allow-headers"].split(", "))
    assert read <= set(told["access-control-expose-headers"].split(", "))


def test_without_origins_no_page_of_another_one_may_read(client):
    headers = {"Origin": OURS, **PREFLIGHT}
    for method in ("GET", "OPTIONS"):
        assert not cors(client.request(method, "/v1/games", headers=headers))
    assert client.options("/v1/games", headers=headers).status_code == 405


def test_any_origin_may_be_named_but_never_with_credentials(tmp_path):
    with Server(tmp_path / "any", CUBILETE_CORS_ORIGINS="*") as running:
        answer = httpx.get(f"{running.url}/v1/games", headers={"Origin": EVIL}, verify=False)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


def test_credentials_are_for_origins_that_are_named(tmp_path):
    with Server(
        tmp_path / "with", CUBILETE_CORS_ORIGINS=OURS, CUBILETE_CORS_CREDENTIALS="true"
    ) as running:
        ours, evil = (
            httpx.get(f"{running.url}/v1/games", headers={"Origin": origin}, verify=False)
            for origin in (OURS, EVIL)
        )
    assert ours.headers["access-control-allow-credentials"] == "true"
    assert not cors(evil)


# --- what another site's page can send ----------------------------------------------------------

FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")


@pytest.mark.parametrize("kind", FORMS)
def test_what_a_form_of_another_site_can_send_changes_nothing(client, kind):
    """A form sends three media types and no headers of its own: no token and no key."""
    table = create(client, start=False)
    listed = client.get("/v1/games").json()
    headers = {"Origin": EVIL, "Sec-Fetch-Site": "cross-site", "Cookie": f"token={table.host}"}
    if kind:
        headers["Content-Type"] = kind
    for path, body in (
        ("/v1/games", new_game()),
        (f"{table.path}/seats", {"name": "Eve"}),
        (f"{table.path}/start", {}),
        (f"{table.path}/void", {}),
        ("/v1/audits", {"log": []}),
    ):
        answer = client.post(path, content=json.dumps(body), headers=headers)
        assert answer.status_code in (401, 415), path
    assert client.get("/v1/games").json() == listed
    assert table.version == table.created["version"]


def test_an_empty_form_needs_the_token_too(client):
    table = create(client, start=False)
    for path in ("/start", "/void", "/seal", "/rematch"):
        answer = client.post(f"{table.path}{path}", headers={"Origin": EVIL})
        assert answer.json()["code"] == "token_missing"


# --- headers ------------------------------------------------------------------------------------

PLACES = ["/v1/games", "/v1/rulesets", "/livez", "/nothing", "/docs", "/verify", "/openapi.json"]


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_every_answer_keeps_browsers_from_guessing(client, method, path):
    answer = client.request(method, path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"]
    assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/docs", "/verify"])
def test_a_page_stands_alone(client, path):
    answer = client.get(path)
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "camera=()" in answer.headers["permissions-policy"]
    for policy in answer.headers["content-security-policy"].split(";"):
        assert "unsafe-inline" not in policy
        assert "*" not in policy
        assert "http" not in policy


# --- caches -------------------------------------------------------------------------------------


def test_an_answer_with_a_token_is_never_kept(client):
    created = client.post("/v1/games", json=new_game(names=["Ana", None], start=False))
    game, tokens = created.json()["game"], created.json()["tokens"]
    path = f"/v1/games/{game['id']}"
    joined = client.post(f"{path}/seats", json={})
    rotated = client.post(f"{path}/seats/1/token", json={}, headers=bearer(joined.json()["token"]))
    started = client.post(f"{path}/start", headers=bearer(tokens["host"]))
    for answer in (created, joined, rotated, started):
        assert answer.is_success, answer.text
        assert answer.headers["cache-control"] == "no-store"


def test_what_a_shared_cache_may_keep_is_the_same_for_everybody(client):
    table = create(client)
    for path in ("", "/log", "/audit", "/head"):
        answers = [
            client.get(f"{table.path}{path}", headers=bearer(token))
            for token in (None, table.host, table.tokens[0], "cub_seat_" + "A" * 43)
        ]
        assert len({answer.content for answer in answers}) == 1
        assert {answer.headers["cache-control"] for answer in answers} == {"no-cache"}
        for token in (table.host, *table.tokens.values()):
            assert token not in answers[0].text


def test_an_answer_that_depends_on_a_header_says_so(client):
    table = create(client)
    for kind in ("application/json", "application/jsonl"):
        answer = client.get(f"{table.path}/log", headers={"Accept": kind})
        assert answer.headers["content-type"] == kind
        assert "Accept" in answer.headers["vary"]
    for language in ("es", "en"):
        answer = client.get("/nothing", headers={"Accept-Language": language})
        assert answer.headers["content-language"] == language
        assert "Accept-Language" in answer.headers["vary"]


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/docs/swagger-ui-bundle.js", "/verify", "/verify/verify.js"])
def test_a_thousand_ranges_cost_no_more_than_the_file(client, path):
    whole = client.get(path)
    ranges = ",".join(f"{place}-{place + 1}" for place in range(1000))
    answer = client.get(path, headers={"Range": f"bytes={ranges}"})
    assert (answer.status_code, answer.content) == (200, whole.content)
    assert answer.elapsed.total_seconds() < 1


@pytest.mark.parametrize(
    "path",
    [
        "/docs/../service/settings.py",
        "/docs/%2e%2e/docs.html",
        "/docs/..%2fdocs.html",
        "/docs/..%5cdocs.html",
        "/docs/vendor/README.md",
        "/docs/vendor%2fREADME.md",
        "/docs//etc/passwd",
        "/docs/docs.html",
        "/docs-sibling/docs.js",
        "/docs/docs.js/",
        "/docs/docs.js%00.html",
        "/docs/DOCS.JS",
        "/verify/../verify.css",
        "/verify/verify-page.js",
    ],
)
def test_no_path_leads_to_another_file(server, path):
    answer = exchange(server, wire("GET", path))
    assert answer.status == 404, answer.wire[:300]
    assert answer.json()["code"] == "not_found"
