"""The pages as they are served: one source of truth, policies, caches, vendored code."""

import base64
import hashlib
import json
import re
from itertools import count
from pathlib import Path
from typing import get_args

import httpx
import pytest

from service.api.entry_shapes import EVENTS
from service.api.single_file import bundle, single_file
from service.rules import RULESETS
from service.rules.base import Reason, kind_of

WEB = Path(__file__).parents[1] / "service" / "web"
VENDOR = WEB / "vendor"
PATHS = {
    "/": "text/html; charset=utf-8",
    "/web/table/app.js": "text/javascript; charset=utf-8",
    "/web/table/table.css": "text/css; charset=utf-8",
    "/web/table/icon.svg": "image/svg+xml",
    "/web/vendor/htm-preact/LICENSE": "text/plain; charset=utf-8",
    "/verify": "text/html; charset=utf-8",
    "/verify/verify.js": "text/javascript; charset=utf-8",
    "/docs": "text/html; charset=utf-8",
    "/docs/docs.css": "text/css; charset=utf-8",
    "/docs/docs.js": "text/javascript; charset=utf-8",
    "/docs/swagger-ui.css": "text/css; charset=utf-8",
    "/docs/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}
every_path = pytest.mark.parametrize("path", PATHS)


def read(name: str) -> str:
    return (WEB / name).read_text("utf-8")


def inlined(page: str, tag: str) -> str:
    """The text of the one element of its kind."""
    (text,) = re.findall(rf"<{tag}(?: type=\"module\")?>(.*?)</{tag}>", page, re.DOTALL)
    assert isinstance(text, str)
    return text


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_of(answer: httpx.Response) -> dict[str, list[str]]:
    directives = answer.headers["content-security-policy"].split(";")
    return {name: sources for name, *sources in (one.split() for one in directives)}


# --- one source of truth ------------------------------------------------------------------------


def test_the_page_holds_the_very_text_of_the_module(client: httpx.Client) -> None:
    module = client.get("/verify/verify.js").text
    assert inlined(client.get("/verify").text, "script").startswith("\n" + module)


@pytest.mark.parametrize("name", ["verify.js", "verify-page.js"])
def test_the_page_holds_its_sources_but_for_their_imports(client: httpx.Client, name: str) -> None:
    source = re.sub(r'^import \{[^}]*\} from "[^"]+";\n', "", read(name), flags=re.M)
    assert "\nimport " not in source
    script = inlined(client.get("/verify").text, "script")
    kept = [block for block in source.split("\n\n") if block.strip()]
    places = [script.find(block) for block in kept]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(
    "path", sorted(VENDOR.glob("noble-*/*.js")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_vendored_code_loses_nothing_but_imports_and_exports(
    client: httpx.Client, path: Path
) -> None:
    module = client.get("/verify/verify.js").text
    lines = [line.removeprefix("export ") for line in path.read_text("utf-8").splitlines()]
    place = module.index(f"// --- {path.relative_to(WEB).as_posix()}\n")
    for line in lines:
        if re.match(r'import .* from "\./|\{ .* \};$', line):
            continue
        found = module.find(line, place)
        assert found >= 0, line
        place = found + len(line)


def test_the_style_sheet_of_the_page_is_its_file(client: httpx.Client) -> None:
    assert inlined(client.get("/verify").text, "style") == "\n" + read("verify.css")


def test_the_page_asks_for_nothing(client: httpx.Client) -> None:
    markup = re.sub(r"<(script|style).*?</\1>", "", client.get("/verify").text, flags=re.DOTALL)
    assert not re.search(r"\b(?:src|href|action|url)\b\s*[=(]", markup)
    own = read("verify.html") + read("verify.css") + read("verify-page.js") + read("verify.js")
    assert not re.search(r"https?://|//\w+\.\w+/", own)


def test_a_bundle_with_more_entries_begins_like_one_with_fewer() -> None:
    assert bundle(WEB, "verify.js", "verify-page.js").startswith(bundle(WEB, "verify.js"))


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({"a.js": 'import { x as y } from "./b.js";\n', "b.js": "export const x = 1;\n"}, "other"),
        ({"a.js": 'import * as b from "./b.js";\n', "b.js": "export const x = 1;\n"}, "other"),
    ],
)
def test_open_modules_are_imported_under_their_own_names(
    tmp_path: Path, files: dict[str, str], wrong: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=wrong):
        bundle(tmp_path, "b.js", "a.js")


@pytest.mark.parametrize("text", ["const a = '</script>';\n", "const a = '<!--';\n"])
def test_a_script_that_would_end_too_early_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.js").write_text(text)
    (tmp_path / "a.css").write_text("")
    (tmp_path / "a.html").write_text(
        '<meta charset="utf-8">\n<link rel="stylesheet" href="a.css">'
        '<script type="module" src="a.js"></script>'
    )
    with pytest.raises(ValueError, match="too early"):
        single_file(tmp_path, "a.html", [])


def test_a_page_without_a_script_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<meta charset="utf-8">\n')
    with pytest.raises(ValueError, match="one script"):
        single_file(tmp_path, "a.html", [])


# --- what is said beside the page -----------------------------------------------------------------


@every_path
def test_a_page_is_what_it_says_it_is(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == PATHS[path]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert policy_of(answer)["default-src"] == ["'none'"]
    assert policy_of(answer)["frame-ancestors"] == ["'none'"]


def test_the_verifier_runs_its_own_script_and_style_only(client: httpx.Client) -> None:
    answer = client.get("/verify")
    page = answer.text
    assert policy_of(answer) == {
        "default-src": ["'none'"],
        "script-src": [hash_of(inlined(page, "script"))],
        "style-src": [hash_of(inlined(page, "style"))],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }


def test_a_saved_verifier_keeps_its_policy(client: httpx.Client) -> None:
    answer = client.get("/verify")
    stated = re.findall(
        r'<meta http-equiv="content-security-policy" content="([^"]+)">', answer.text
    )
    # A page can't forbid by itself that it is framed: browsers take that from the header only.
    whole = answer.headers["content-security-policy"]
    assert stated == [whole.removesuffix("; frame-ancestors 'none'")]


def test_the_table_runs_the_scripts_of_this_server_only(client: httpx.Client) -> None:
    assert policy_of(client.get("/")) == {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }


def test_every_file_of_the_table_is_served_as_it_is(client: httpx.Client) -> None:
    own = {path.relative_to(WEB).as_posix() for path in (WEB / "table").iterdir()}
    listed = set(re.findall(r'(?:href|src)="/web/([^"]+)"', client.get("/").text))
    assert own <= listed
    for name in listed:
        assert client.get(f"/web/{name}").content == (WEB / name).read_bytes()


@every_path
def test_a_browser_that_has_a_page_is_sent_nothing(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    tag = first.headers["etag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(path, headers={"if-none-match": given})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        for name in ("cache-control", "content-security-policy"):
            assert again.headers[name] == first.headers[name]
    assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@every_path
def test_head_tells_what_get_would(client: httpx.Client, path: str) -> None:
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("etag", "content-type", "content-length"):
        assert head.headers[name] == got.headers[name]


@pytest.mark.parametrize(
    "path",
    [
        "/docs/swagger-ui.js",
        "/docs/LICENSE",
        "/docs/..%2fverify.html",
        "/web/package.json",
        "/web/table/..%2fverify.html",
        "/web/vendor/swagger-ui/swagger-ui.css",
        "/web/",
    ],
)
def test_the_pages_have_no_other_files(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_pages_are_no_operations_of_the_api(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert not paths.keys() & PATHS.keys()
    assert client.post("/verify").status_code == 405


# --- vendored code --------------------------------------------------------------------------------


def test_vendored_files_are_those_that_came() -> None:
    lines = (VENDOR / "SHA256SUMS").read_text("ascii").splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    there = {path.relative_to(VENDOR).as_posix(): path for path in VENDOR.glob("*/*")}
    assert listed == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items()
    }


def test_every_vendored_folder_has_a_version_and_a_licence() -> None:
    told = (VENDOR / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| `([@/\w-]+)` \| (\d+\.\d+\.\d+) \|", told, re.M)
    folders = {path.name for path in VENDOR.iterdir() if path.is_dir()}
    assert {folder for folder, _, _ in rows} == folders
    for folder in folders:
        assert "Copyright" in (VENDOR / folder / "LICENSE").read_text("utf-8")


def test_the_licences_of_vendored_code_go_with_it(client: httpx.Client) -> None:
    page = client.get("/verify").text
    for folder in ("noble-hashes", "noble-ed25519"):
        assert (VENDOR / folder / "LICENSE").read_text("utf-8").strip() in page
    assert "LICENSE" in client.get("/docs/swagger-ui-bundle.js").text[:200]


# --- the two languages ----------------------------------------------------------------------------


def template(literal: str) -> str:
    """What stands in a template literal, its values numbered."""
    number = count()
    return re.sub(r"\$\{[^{}]*\}", lambda _: f"{{{next(number)}}}", literal)


def sentences() -> set[str]:
    """The templates of all that the verifier says, as its source spells them."""
    code = read("fair-dice.js") + read("verify.js")
    code = re.sub(r"/\*\*.*?\*/", "", code, flags=re.DOTALL)
    return {template(literal) for literal in re.findall(r"[ (]say`([^`]*)`", code)}


def texts() -> dict[str, dict[str, dict[str, str]]]:
    """TEXTS, WORDS and SENTENCES; the file holds nothing that Python reads otherwise but this."""
    source = re.sub(r"/\*\*.*?\*/|//.*$", "", read("verify-texts.js"), flags=re.DOTALL)
    source = re.sub(r'"\s*\+\s*"', "", source)
    source = re.sub(r"^(\s*)(\w+):", r'\1"\2":', source, flags=re.M)
    source = re.sub(r",(\s*[}\]])", r"\1", source)
    found = re.findall(r"export const (\w+) = (\{.*?\n\});", source, re.DOTALL)
    return {name: json.loads(body) for name, body in found}


def gaps(text: str) -> list[str]:
    return sorted(re.findall(r"\{\d+\}", text))


def test_every_sentence_of_the_verifier_is_told_in_spanish() -> None:
    translated = texts()["SENTENCES"]["es"]
    assert set(translated) == sentences()
    assert len(translated) > 80
    for template, spanish in translated.items():
        assert gaps(template) == gaps(spanish)
        assert template != spanish


def test_the_page_says_the_same_in_both_languages() -> None:
    english, spanish = texts()["TEXTS"]["en"], texts()["TEXTS"]["es"]
    assert english.keys() == spanish.keys()
    for name, text in english.items():
        assert gaps(text) == gaps(spanish[name])


def test_the_page_uses_every_text_that_there_is() -> None:
    markup, script = read("verify.html"), read("verify-page.js")
    used = set(re.findall(r'data-(?:text|label)="(\w+)"', markup))
    known = set(texts()["TEXTS"]["en"])
    assert used <= known
    spoken = {name for name in known if re.search(rf'"{name}"|^    {name}: ', script, re.M)}
    assert known - used - spoken == set()


def table_texts(language: str) -> dict[str, str]:
    """The words of the table: one key, one text, one line."""
    lines = re.findall(r'^  (\w+): "(.*)",$', read(f"table/text-{language}.js"), re.M)
    assert len({key for key, _ in lines}) == len(lines)
    return dict(lines)


def named_gaps(text: str) -> set[str]:
    return set(re.findall(r"\{\w+\}", text))


def test_the_table_says_the_same_in_both_languages() -> None:
    english, spanish = table_texts("en"), table_texts("es")
    assert english.keys() == spanish.keys()
    assert len(english) > 200
    for key, text in english.items():
        assert named_gaps(text) == named_gaps(spanish[key]), key


def test_the_table_uses_every_text_that_there_is() -> None:
    code = "".join(path.read_text("utf-8") for path in sorted((WEB / "table").glob("*.js")))
    code = re.sub(r"export const (?:en|es) = \{.*?^\};", "", code, flags=re.S | re.M)
    spoken = {key for key in table_texts("en") if re.search(rf"[\"'`]{key}[\"'`]", code)}
    started = (
        "a_",
        "e_",
        "o_",
        "face_",
        "reason_",
        "phase_",
        "series_",
        "visibility_",
        "kind_",
        "way_",
        "seed_",
    )
    unused = {key for key in table_texts("en").keys() - spoken if not key.startswith(started)}
    assert unused == set()


def test_every_event_action_choice_and_end_has_its_words_at_the_table() -> None:
    words = table_texts("en").keys()
    kinds = {str(get_args(event.model_fields["kind"].annotation)[0]) for event in EVENTS}
    told_otherwise = {"settled", "chose"}  # by what came of them
    # What the end card tells, or the button that was pressed.
    silent = {"game_won", "game_ended", "round_ended"}
    assert {f"e_{kind}" for kind in kinds - told_otherwise - silent} <= words
    assert {f"reason_{reason}" for reason in get_args(Reason)} <= words
    actions = {kind_of(action) for ruleset in RULESETS for action in ruleset.actions}
    assert {f"a_{kind}" for kind in actions} <= words
    phases = {phase for ruleset in RULESETS for phase in ruleset.phases}
    assert {f"phase_{phase}" for phase in phases} <= words
    choices: set[str] = set()
    for ruleset in RULESETS:
        found = json.dumps(ruleset.options_schema())
        choices |= {one for enum in re.findall(r'"enum": \[("[^\]]+)\]', found)
                    for one in re.findall(r'"(\w+)"', enum)}  # fmt: skip
        choices |= set(re.findall(r'"const": "(\w+)"', found))
    assert {f"o_{choice}" for choice in choices} <= words


def test_every_check_has_a_spanish_name() -> None:
    block = read("verify.js").partition("export const CHECKS = {")[2].partition("};")[0]
    checks = re.findall(r'^  (?:"([^"]+)"|(\w+)): \[', block, re.M)
    assert {one or other for one, other in checks} <= set(texts()["WORDS"]["es"])
