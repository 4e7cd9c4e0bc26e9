"""Problems: every refusal has a code, a status and texts, in the language that is asked for."""

import ast
import inspect
import re
import threading
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter

import httpx
import pytest
import uvicorn

import service
from service import errors, rules
from service.api import problems, views
from service.api.app import create_app
from service.api.texts import FIELDS, PROBLEMS, READING, REASONS, SEEDS
from service.settings import Settings
from tests.game_client import create
from tests.raw import exchange, wire
from tests.server import free_port

CODE = re.compile(r"[a-z][a-z0-9_]*")


def all_of(kind: type[errors.Refusal]) -> list[type[errors.Refusal]]:
    return [kind, *(below for one in kind.__subclasses__() for below in all_of(one))]


REFUSALS = all_of(errors.Refusal)
CODES = [one.code for one in REFUSALS if "code" in vars(one)]


@cache
def calls() -> list[ast.Call]:
    """Every call in the package."""
    sources = [path.read_text("utf-8") for path in Path(service.__file__).parent.rglob("*.py")]
    nodes = (node for source in sources for node in ast.walk(ast.parse(source)))
    return [node for node in nodes if isinstance(node, ast.Call)]


def called(name: str) -> list[ast.Call]:
    """Every call of a function or class of this name in the package."""
    return [call for call in calls() if isinstance(call.func, ast.Name) and call.func.id == name]


def constants(node: ast.expr) -> set[str]:
    """The texts that an expression can be, as far as they stand in the source."""
    if isinstance(node, ast.IfExp):
        return constants(node.body) | constants(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


# --- one table of codes, statuses and texts -----------------------------------------------------


def test_every_code_belongs_to_one_refusal():
    assert len(CODES) == len(set(CODES))


def test_every_refusal_has_a_code_or_is_a_family_of_refusals():
    assert all("code" in vars(one) or one.__subclasses__() for one in REFUSALS)


def test_every_code_has_a_status_and_texts():
    assert {*CODES} == problems.STATUS.keys() == PROBLEMS.keys()


@pytest.mark.parametrize("code", sorted(problems.STATUS))
def test_a_code_is_a_word_and_its_status_an_error(code):
    assert CODE.fullmatch(code)
    assert 400 <= problems.STATUS[code] <= 599


def test_every_field_code_in_the_source_has_a_text():
    used = {code for call in called("FieldError") for code in constants(call.args[1])}
    assert used >= {"missing", "wrong_form", "above_bankroll"}
    assert used <= FIELDS.keys()


def test_every_reason_that_a_ruleset_documents_has_a_text():
    modules = [import_module(f"service.rules.{one.name}") for one in iter_modules(rules.__path__)]
    documented = {reason for one in modules for reason in getattr(one, "REASONS", ())}
    assert documented >= {"must_roll", "mask_length", "above_cover"}
    raised = {code for call in called("IllegalAction") for code in constants(call.args[0])}
    assert documented | raised | {"not_now"} == REASONS.keys()


def test_every_reason_in_the_source_has_a_text():
    for name, texts in (("Unreadable", READING), ("SeedRefused", SEEDS)):
        used = {code for call in called(name) for code in constants(call.args[0])}
        assert used == texts.keys()


ALL_TEXTS = {
    **{f"title of {code}": title for code, (title, _) in PROBLEMS.items()},
    **{f"detail of {code}": detail for code, (_, detail) in PROBLEMS.items()},
    **{f"field {code}": text for code, text in FIELDS.items()},
    **{f"reason {code}": text for code, text in REASONS.items()},
    **{f"reading {code}": text for code, text in READING.items()},
    **{f"seeds {code}": text for code, text in SEEDS.items()},
}


@pytest.mark.parametrize("text", ALL_TEXTS.values(), ids=ALL_TEXTS.keys())
def test_every_text_is_there_in_both_languages(text):
    assert text.es.strip() == text.es != ""
    assert text.en.strip() == text.en != ""
    assert text.es != text.en
    assert fields_of(text.es) == fields_of(text.en)


def fields_of(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_only_texts_of_fields_have_places_to_fill():
    filled = {name for name, text in ALL_TEXTS.items() if fields_of(text.en)}
    assert filled == {f"field {code}" for code in FIELDS if fields_of(FIELDS[code].en)}
    assert all(fields_of(FIELDS[name[6:]].en) in ({"limit"}, {"option"}) for name in filled)


def test_whatever_a_text_needs_is_given_with_its_code():
    for call in called("FieldError"):
        for code in constants(call.args[1]):
            if fields_of(FIELDS[code].en):
                assert len(call.args) == 3, ast.unparse(call)


@pytest.mark.parametrize("code", sorted(PROBLEMS))
def test_every_problem_has_its_page(client, code):
    page = client.get(f"/problems/{code}").json()
    assert (page["code"], page["status"]) == (code, problems.STATUS[code])
    assert page["title"] == {"es": PROBLEMS[code][0].es, "en": PROBLEMS[code][0].en}


# --- as they are told ---------------------------------------------------------------------------


def test_a_problem_is_told_as_rfc_9457_has_it(client):
    answer = client.get("/v1/games/none")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["content-language"] == "en"
    assert answer.headers["vary"] == "Accept-Language"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == {
        "type": "/problems/game_not_found",
        "title": "Game not found",
        "status": 404,
        "code": "game_not_found",
        "detail": "No game has this id.",
    }
    assert client.get(answer.json()["type"]).json()["code"] == "game_not_found"


LANGUAGES = {
    "nothing": (None, "en"),
    "empty": ("", "en"),
    "Spanish": ("es", "es"),
    "English": ("en", "en"),
    "Mexican Spanish": ("es-MX", "es"),
    "capitals": ("ES-419", "es"),
    "German": ("de", "en"),
    "German, else Spanish": ("de, es;q=0.5", "es"),
    "Spanish, else English": ("es, en;q=0.9", "es"),
    "English, else Spanish": ("en, es;q=0.9", "en"),
    "English less than Spanish": ("en;q=0.1, es;q=0.2", "es"),
    "no English": ("en;q=0, es;q=0.1", "es"),
    "no Spanish": ("es;q=0", "en"),
    "anything": ("*", "en"),
    "anything but English": ("en;q=0, *", "es"),
    "Spanish, else anything": ("es, *;q=0.1", "es"),
    "anything rather than Spanish": ("es;q=0.5, *", "en"),
    "two kinds of Spanish": ("es-MX;q=0.1, es-ES;q=0.8, en;q=0.5", "es"),
    "spaces": ("es ; q=1 , en ; q=0.5", "es"),
    "nonsense": ("e%s;q=nan,,;", "en"),
    "a word that begins like Spanish": ("est", "en"),
}


@pytest.mark.parametrize(("asked", "spoken"), LANGUAGES.values(), ids=LANGUAGES.keys())
def test_a_problem_is_told_in_the_language_that_the_caller_likes(client, asked, spoken):
    headers = {} if asked is None else {"Accept-Language": asked}
    answer = client.get("/v1/games/none", headers=headers)
    assert answer.headers["content-language"] == spoken
    title = PROBLEMS["game_not_found"][0]
    assert answer.json()["title"] == (title.es if spoken == "es" else title.en)
    assert answer.json()["code"] == "game_not_found"


def test_details_of_fields_and_reasons_are_in_that_language_too(client):
    spanish = {"Accept-Language": "es"}
    answer = client.post("/v1/games", json={"ruleset": "pig", "seats": []}, headers=spanish)
    assert answer.json()["errors"][0]["detail"] == "Son al menos 1."
    table = create(client, options={"starter": "seat"})
    problem = table.act(0, "hold", headers=spanish).json()
    assert problem["detail"] == REASONS["nothing_rolled"].es
    broken = client.post(
        "/v1/games", content=b"{", headers={**spanish, "Content-Type": "application/json"}
    )
    assert broken.json()["detail"] == READING["not_json"].es


def test_a_method_that_a_resource_does_not_take_is_told_with_those_it_takes(client):
    for path, allowed in {
        "/v1/games": "GET, HEAD, POST",
        "/v1/games/x": "GET, HEAD",
        "/v1/games/x/actions": "POST",
        "/v1/games/x/seats/0": "PATCH, DELETE",
        "/openapi.json": "GET, HEAD",
    }.items():
        answer = client.put(path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("hosts", [[], ["a", "b"], ["a", "a"]], ids=["none", "two", "twice"])
def test_a_request_has_one_host(server, hosts):
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    for method in ("GET", "POST"):
        data = f"{method} /v1/games HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"
        answer = exchange(server, data.encode())
        assert (answer.status, answer.json()["code"]) == (400, "malformed_request")
    assert exchange(server, b"GET /livez HTTP/1.0\r\n\r\n").status == 200


def test_a_401_tells_a_token_that_is_unknown_from_none(client):
    path = f"{create(client).path}/start"
    assert client.post(path).headers["www-authenticate"] == "Bearer"
    answer = client.post(path, headers={"Authorization": "Bearer x"})
    assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'


# --- faults of ours -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A server with routes that fail, and the address where it listens."""
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("broken")))

    @app.get("/fails")
    async def fails() -> None:
        raise RuntimeError("the secret 4711")

    @app.get("/waits")
    async def waits() -> None:
        raise errors.Unavailable("the disk 4711 is full", retry_after_s=7)

    port = free_port()
    config = uvicorn.Config(app, port=port, log_level="critical", server_header=False)
    served = uvicorn.Server(config)
    thread = threading.Thread(target=served.run)
    thread.start()
    while not served.started:
        time.sleep(0.01)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", verify=False) as client:
        yield client
    served.should_exit = True
    thread.join()


def test_a_fault_of_ours_is_a_problem_that_tells_nothing_of_it(broken):
    answer = broken.get("/fails", headers={"Accept-Language": "es"})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["content-language"] == "es"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["code"] == "internal"
    assert "4711" not in answer.text
    assert "RuntimeError" not in answer.text


def test_an_action_that_met_a_fault_of_ours_is_counted_as_one(broken, monkeypatch):
    table = create(broken, options={"starter": "seat"})

    def fails(_: object) -> None:
        raise RuntimeError("the secret 4711")

    monkeypatch.setattr(views, "changed", fails)
    assert table.act(0, "roll").status_code == 500
    text = broken.get("/metrics").text
    assert 'cubilete_actions_total{result="internal",ruleset="pig"} 1.0' in text


def test_after_a_fault_the_connection_goes_on(broken):
    assert broken.get("/fails").status_code == 500
    assert broken.get("/livez").status_code == 200


def test_a_server_that_can_not_now_tells_when_to_try_again(broken):
    answer = broken.get("/waits")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "7"
    assert "4711" not in answer.text


def test_a_caller_who_goes_away_half_way_is_no_fault(server):
    before = server.log.read_text("utf-8", "replace").count("Traceback")
    headers = [("Content-Type", "application/json"), ("X", "1")]
    data = wire("POST", "/v1/games", headers, b"{}").replace(b"Length: 2", b"Length: 20")
    exchange(server, data, end=True)
    assert server.log.read_text("utf-8", "replace").count("Traceback") == before


def test_every_problem_class_explains_itself():
    assert all(inspect.getdoc(one) for one in REFUSALS)
