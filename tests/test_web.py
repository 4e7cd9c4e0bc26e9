"""The pages in a real Chromium: the verifier with every vector and by hand, and the reference."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from service import rules, verify
from tests import browser, test_verify
from tests.browser import in_chromium, visits
from tests.game_client import Table, create
from tests.played import Played
from tests.server import Server
from tests.test_verify import FINISHED, VECTORS, chained, entries_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FilePayload

TESTS = Path(__file__).parent
CHECK_VECTORS = (TESTS / "verifier_vectors.mjs").read_text("utf-8").replace("export ", "")
LOG = "".join(line + "\n" for line in FINISHED["lines"])

pytestmark = in_chromium


class Visit(browser.Visit):
    """The verifier's page."""

    def paste(self, text: str) -> str:
        """Pastes and checks; returns the verdict."""
        self.page.fill("#pasted", text)
        self.page.click("#paste-form button")
        return self.verdict()

    def verdict(self) -> str:
        """The verdict, as soon as there is one."""
        self.page.wait_for_selector("#verdict.good, #verdict.bad")
        return self.page.inner_text("#verdict")

    def rows(self, table: str) -> list[list[str]]:
        rows: list[list[str]] = self.page.eval_on_selector_all(
            f"#{table} tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
        )
        return rows

    def checks(self) -> dict[str, str]:
        """By name, without the sign that stands before each result."""
        return {name: result[2:] for name, result in self.rows("checks")}

    def facts(self) -> dict[str, str]:
        names, values = (self.page.locator(f"#facts {tag}") for tag in ("dt", "dd"))
        return dict(zip(names.all_inner_texts(), values.all_inner_texts(), strict=True))

    def notes(self) -> list[str]:
        return self.page.locator("#notes li").all_inner_texts()


Opened = Callable[..., Visit]


@pytest.fixture
def opened(browser: "Browser", server: Server) -> Iterator[Opened]:
    with visits(browser, server, Visit) as open_page:
        yield lambda path="/verify", **options: open_page(path, **options)


def finished_game(client: httpx.Client) -> Table:
    table = create(client, "big-pig", options={"target": 30})
    table.play()
    return table


def forgery(note: str) -> dict[str, Any]:
    return next(vector for vector in VECTORS["forged"] if vector["note"] == note)


def jsonl(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


# --- the vectors ----------------------------------------------------------------------------------


def counted() -> dict[str, int]:
    return {kind: len(VECTORS[kind]) for kind in VECTORS.keys() - {"about", "protocol"}}


def test_the_page_passes_every_vector(opened: Opened) -> None:
    check = f"vectors => {{ {CHECK_VECTORS} return checkVectors(fairDice, vectors); }}"
    found = opened().page.evaluate(check, VECTORS)
    assert found == {"counts": counted(), "failures": []}


def test_the_module_passes_every_vector(opened: Opened) -> None:
    check = (
        f"async vectors => {{ {CHECK_VECTORS}"
        " return checkVectors(await import('/verify/verify.js'), vectors); }"
    )
    # A page whose policy lets a script in; only such a page can ask for its picture.
    visit = opened("/livez", bypass_csp=True)
    assert visit.page.evaluate(check, VECTORS) == {"counts": counted(), "failures": []}
    visit.pardon("(Not Found)")


# --- by hand --------------------------------------------------------------------------------------


def test_a_pasted_log_is_verified(opened: Opened) -> None:
    visit = opened()
    assert visit.paste(LOG) == "OK. The log agrees with itself and with its dice."
    report = verify.verify(LOG.encode())
    facts = visit.facts()
    assert facts["Game"] == FINISHED["lines"][0].partition('"game":"')[2].partition('"')[0]
    assert facts["Status"] == "finished"
    assert facts["Entries read without fault"] == "21"
    assert facts["Throws read without fault"] == "14"
    assert facts["Hash of the last of these entries"] == FINISHED["head"]
    assert "the browser's own SHA-256 agrees" in facts["SHA-256 of all that was read"]
    idle = {"not reached": "nothing to check"}
    assert visit.checks() == {name: idle.get(told, told) for name, told in report.checks}
    assert visit.notes() == list(report.notes)
    assert visit.rows("throws")[2] == ["3", "d6 5, d6 5", "✓ right", "0", "5"]
    assert len(visit.rows("throws")) == 14


def test_a_pasted_record_is_verified_with_receipts_and_keys(opened: Opened) -> None:
    visit = opened()
    record = test_verify.record_of(FINISHED["lines"], "finished", receipt=test_verify.RECEIPT)
    assert visit.paste(json.dumps(json.loads(record), indent=2)).startswith("OK.")
    assert visit.checks()["receipts"] == "passed"
    assert visit.checks()["claim"] == "passed"
    assert any("own public keys" in note for note in visit.notes())
    visit.page.click("summary")
    visit.page.fill("#keys", test_verify.PUBLIC_KEY)
    visit.page.fill("#receipts", json.dumps([test_verify.RECEIPT], indent=1))
    assert visit.paste(LOG).startswith("OK.")
    assert visit.checks()["receipts"] == "passed"
    visit.page.fill("#receipts", f"{json.dumps(test_verify.RECEIPT)}\n" * 2)
    assert visit.paste(LOG).startswith("OK.")
    visit.page.fill("#keys", "00" * 32)
    assert visit.paste(LOG).startswith("Refused at entry 20 (receipt_key): ")
    visit.page.fill("#keys", "00")
    assert visit.paste(LOG) == "A public key is not 64 lowercase hex digits."
    visit.page.fill("#keys", "")
    visit.page.fill("#receipts", "{")
    assert visit.paste(LOG).startswith("The receipts are not JSON: ")


def test_every_forgery_is_refused_at_its_entry_with_its_reason(opened: Opened) -> None:
    visit = opened()
    visit.page.click("summary")
    for vector in VECTORS["forged"]:
        visit.page.fill("#receipts", json.dumps(vector.get("receipts", [])))
        visit.page.fill("#keys", "\n".join(vector.get("public_keys", [])))
        visit.page.select_option("#claim", vector.get("claim", ""))
        verdict = visit.paste(jsonl(vector["lines"]))
        told = rf"Refused at entry {vector['seq']} \({vector['code']}\): \w.*\."
        assert re.fullmatch(told, verdict), (vector["note"], verdict)
        assert list(visit.checks().values()).count("failed") == 1


def test_a_wrong_face_is_shown_among_the_throws(opened: Opened) -> None:
    visit = opened()
    verdict = visit.paste(jsonl(forgery("one face changed")["lines"]))
    told = "Refused at entry 4 (faces): throw 1, die 0 shows 2, the key gives 1."
    assert verdict == told
    assert visit.rows("throws") == [["1", "d6 2, d6 2", "✗ not what the key gives", "0", "4"]]
    assert visit.checks()["faces"] == "failed"
    assert visit.checks()["root"] == "not reached"
    assert visit.page.is_hidden("#notes-title")


def test_what_pasting_does_to_the_end_of_a_log_is_put_right_and_told(opened: Opened) -> None:
    visit = opened()
    for text in (LOG.rstrip("\n"), LOG + "\n\n"):
        assert visit.paste(text).startswith("OK.")
        assert any("line feed" in note for note in visit.notes())
    assert visit.paste(LOG.replace("\n", "\n\n", 1)).startswith("Refused at entry 1 (canonical)")


def test_nothing_is_checked_where_nothing_is_given(opened: Opened) -> None:
    visit = opened()
    assert visit.paste(" \n").startswith("There is nothing to check yet")
    assert visit.page.is_hidden("#report")


def test_a_dropped_file_is_verified_as_its_bytes(opened: Opened) -> None:
    visit = opened()
    drop = """([text, name]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        const event = (type) => new DragEvent(type, {
            dataTransfer: data, bubbles: true, cancelable: true,
        });
        const taken = !document.querySelector("h1").dispatchEvent(event("dragover"));
        document.querySelector("h1").dispatchEvent(event("drop"));
        return taken;
    }"""
    assert visit.page.evaluate(drop, [LOG, "game.jsonl"])
    assert visit.verdict().startswith("OK.")
    assert visit.facts()["Source"] == "file game.jsonl"
    visit.page.evaluate(drop, [LOG.rstrip("\n"), "cut.jsonl"])
    visit.page.wait_for_selector("#verdict.bad")
    assert visit.verdict().startswith("Refused at entry 20 (canonical): ")


def test_a_chosen_file_is_verified_as_its_bytes(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "game.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + LOG.encode())
    visit = opened()
    visit.page.set_input_files("#file", path)
    assert visit.verdict().startswith("Refused at entry 0 (canonical): ")


def test_a_game_is_fetched_by_its_id(opened: Opened, client: httpx.Client) -> None:
    table = finished_game(client)
    visit = opened()
    visit.page.fill("#address", table.id)
    visit.page.press("#address", "Enter")
    assert visit.verdict().startswith("OK.")
    assert visit.facts()["Source"] == table.id
    assert visit.checks()["receipts"] == "passed"
    assert visit.asked[1:] == [str(client.base_url.join(f"{table.path}/audit"))]


@pytest.mark.parametrize("ending", ["", "/", "/audit", "/log"])
def test_a_game_is_fetched_by_its_address(
    opened: Opened, client: httpx.Client, ending: str
) -> None:
    table = finished_game(client)
    visit = opened()
    visit.page.fill("#address", str(client.base_url.join(table.path + ending)))
    visit.page.click("#fetch-form button")
    assert visit.verdict().startswith("OK.")
    assert visit.facts()["Status"] == "finished"


def test_a_link_names_the_game_to_check(opened: Opened, client: httpx.Client) -> None:
    table = finished_game(client)
    visit = opened(f"/verify#{table.id}")
    assert visit.verdict().startswith("OK.")
    assert visit.facts()["Game"] == table.id


def test_a_game_that_goes_on_is_incomplete(opened: Opened, client: httpx.Client) -> None:
    visit = opened(f"/verify#{create(client).id}")
    assert visit.verdict().startswith("OK.")
    assert visit.facts()["Status"] == "incomplete"
    assert "incomplete: the log has no last entry" in visit.notes()


def test_a_game_that_is_not_there_is_told(opened: Opened) -> None:
    visit = opened("/verify#nobody-knows-it")
    assert visit.verdict() == "The server answered with status 404."
    visit.complains("Failed to load resource")


def test_another_server_is_not_asked(opened: Opened) -> None:
    visit = opened()
    visit.page.fill("#address", "https://dice.example/v1/games/g")
    visit.page.click("#fetch-form button")
    assert visit.verdict().startswith("This page reads from its own server only.")
    visit.page.fill("#address", "http://[")
    visit.page.click("#fetch-form button")
    assert visit.verdict() == "That is neither a game id nor a URL."
    assert len(visit.asked) == 1


def test_a_server_out_of_reach_is_told(opened: Opened) -> None:
    visit = opened()
    visit.page.context.set_offline(True)
    visit.page.fill("#address", "g")
    visit.page.click("#fetch-form button")
    assert visit.verdict() == "The server could not be reached."
    visit.complains("Failed to load resource")


# --- a saved copy ---------------------------------------------------------------------------------


@pytest.fixture
def saved(client: httpx.Client, tmp_path: Path) -> str:
    path = tmp_path / "verify.html"
    path.write_bytes(client.get("/verify").content)
    return path.as_uri()


def test_a_saved_copy_works_without_a_network(opened: Opened, saved: str) -> None:
    visit = opened(saved, offline=True)
    assert visit.page.is_hidden("#fetch-form")
    assert visit.page.inner_text("#fetch-off").startswith("This copy was opened from a file")
    assert visit.paste(LOG).startswith("OK.")
    verdict = visit.paste(jsonl(forgery("one face changed")["lines"]))
    assert verdict.startswith("Refused at entry 4 (faces): ")
    assert visit.asked == [saved]


def test_a_copy_of_the_drawn_page_works_too(opened: Opened, tmp_path: Path) -> None:
    visit = opened(locale="es-MX")
    visit.paste(LOG)
    path = tmp_path / "whole.html"
    path.write_text(f"<!doctype html>{visit.page.content()}", "utf-8")
    copy = opened(path.as_uri(), offline=True)
    assert copy.page.inner_text("h1") == "Check the dice"
    assert copy.page.is_hidden("#report")
    assert copy.paste(LOG).startswith("OK.")
    assert len(copy.rows("throws")) == 14


@pytest.mark.parametrize("copy", [False, True], ids=["served", "saved"])
def test_no_other_script_runs(opened: Opened, saved: str, copy: bool) -> None:
    visit = opened(saved if copy else "/verify")
    visit.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "globalThis.intruder = true";
        document.body.append(script);
        document.body.setAttribute("onclick", "globalThis.intruder = true");
        document.body.click();
    }""")
    assert visit.page.evaluate("globalThis.intruder") is None
    visit.complains("Content Security Policy", times=2)


# --- the browser's own hash -----------------------------------------------------------------------


def test_without_webcrypto_nothing_is_missing_but_the_comparison(opened: Opened) -> None:
    visit = opened(init="Object.defineProperty(crypto, 'subtle', { value: undefined })")
    assert visit.paste(LOG).startswith("OK.")
    assert "was not compared" in visit.facts()["SHA-256 of all that was read"]


def test_a_browser_with_another_hash_is_not_trusted(opened: Opened) -> None:
    visit = opened(init="SubtleCrypto.prototype.digest = async () => new ArrayBuffer(32)")
    assert visit.paste(LOG).startswith("The browser's own SHA-256 comes to another result")
    assert visit.page.is_hidden("#report")


def test_a_page_that_fails_says_so(opened: Opened) -> None:
    visit = opened(init="SubtleCrypto.prototype.digest = async () => { throw new Error('mine'); }")
    assert visit.paste(LOG).startswith("This page itself has failed")
    assert visit.page.is_hidden("#report")
    visit.pardon("mine")


# --- for everybody --------------------------------------------------------------------------------


def test_the_page_speaks_the_language_of_the_browser_and_the_other(opened: Opened) -> None:
    visit = opened(locale="es-MX")
    page = visit.page
    assert page.inner_text("h1") == "Comprueba los dados"
    assert page.get_attribute("html", "lang") == "es"
    told = "Rechazado en la entrada 4 (faces): tirada 1: el dado 0 muestra 2, la clave da 1."
    assert visit.paste(jsonl(forgery("one face changed")["lines"])) == told
    assert visit.checks()["caras"] == "fallida"
    page.click("button[lang=en]")
    assert page.get_attribute("html", "lang") == "en"
    assert page.get_attribute("button[lang=en]", "aria-pressed") == "true"
    assert visit.verdict().startswith("Refused at entry 4 (faces): throw 1, die 0 shows 2")
    assert visit.checks()["faces"] == "failed"
    assert visit.paste(LOG).startswith("OK.")
    page.click("button[lang=es]")
    assert visit.verdict().startswith("Correcto.")
    assert all(result in ("superada", "nada que comprobar") for result in visit.checks().values())
    assert not any(re.search(r"\b(?:the|is|of)\b", note) for note in visit.notes())


MARKUP = "<img src=x onerror=alert(1)><b>\u202e\x07</b>"


def test_texts_of_a_record_stay_texts(opened: Opened) -> None:
    entries = entries_of(FINISHED)
    entries[0]["data"]["dice"]["d6"]["faces"][0] = MARKUP
    entries[0]["data"]["ruleset"]["key"] = MARKUP
    entries[4]["data"]["throws"][0]["faces"] = [MARKUP, 6]
    visit = opened()
    verdict = visit.paste(jsonl(chained(entries)))
    assert verdict.startswith("Refused at entry 4 (faces): ")
    assert "<img src=x onerror=alert(1)>" in verdict
    (row,) = visit.rows("throws")
    assert row[1] == "d6 <img src=x onerror=alert(1)><b>\\u{202e}\\u{7}</b>, d6 6"
    record = test_verify.record_of(FINISHED["lines"], "finished", status=MARKUP)
    assert "(claim)" in visit.paste(record.decode())
    entries[4]["game"] = MARKUP
    assert "(game)" in visit.paste(jsonl(chained(entries)))
    assert visit.page.locator("img, b").count() == 0
    for text in visit.page.locator("body").all_inner_texts():
        assert "\u202e" not in text


def test_every_field_has_a_label_and_the_verdict_is_announced(opened: Opened) -> None:
    page = opened().page
    unlabelled = page.eval_on_selector_all(
        "input, textarea, select", "fields => fields.filter(f => !f.labels.length).map(f => f.id)"
    )
    assert unlabelled == []
    unnamed = page.eval_on_selector_all(
        "button, [role=region], [role=group]",
        "parts => parts.filter(p => !p.innerText && !p.ariaLabel && !p.hidden).map(p => p.id)",
    )
    assert [name for name in unnamed if name != "more-throws"] == []
    assert page.get_attribute("#verdict", "role") == "status"
    assert page.eval_on_selector_all("h1, h2, h3", "all => all.filter(h => h.tagName === 'H1')")
    assert page.locator("main").count() == page.locator("h1").count() == 1


def test_the_page_works_with_the_keyboard_alone(opened: Opened) -> None:
    visit = opened()
    page, seen = visit.page, []
    page.focus("#pasted")
    page.keyboard.insert_text(LOG)
    for _ in range(10):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert seen[:3] == ["BUTTON", "file", "SUMMARY"]
    page.keyboard.press("Shift+Tab")
    page.focus("#paste-form button")
    outline = "getComputedStyle(document.activeElement).outlineWidth"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(outline) == "3px"
    page.keyboard.press("Enter")
    assert visit.verdict().startswith("OK.")


CONTRAST = """() => {
    const light = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map((part) => {
            const c = part / 255;
            return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
        for (let e = element; e; e = e.parentElement) {
            const color = getComputedStyle(e).backgroundColor;
            if (!color.endsWith(", 0)")) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const weak = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (element.closest("script, style, noscript")) continue;
        const pair = [light(getComputedStyle(element).color), light(ground(element))];
        const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        if (ratio < 4.5) weak.push([walker.currentNode.data, ratio]);
    }
    return weak;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("note", ["", "one face changed"], ids=["good", "bad"])
def test_every_text_stands_out_from_its_ground(opened: Opened, scheme: str, note: str) -> None:
    visit = opened(color_scheme=scheme)
    visit.page.click("summary")
    visit.paste(jsonl(forgery(note)["lines"]) if note else LOG)
    assert visit.page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("locale", ["en", "es"])
def test_the_page_fits_on_a_phone(opened: Opened, locale: str) -> None:
    visit = opened(locale=locale, viewport={"width": 320, "height": 640}, has_touch=True)
    visit.page.click("summary")
    visit.paste(LOG)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 320
    low = visit.page.eval_on_selector_all(
        "button, input, select", "all => all.map(b => b.offsetHeight).filter(h => h && h < 44)"
    )
    assert low == []


def long_log(throws: int) -> str:
    """A game that goes on after at least as many throws."""
    options = {"target": 10_000}
    played = Played.created("long", rules.ruleset("pig"), 2, options, "practice", Random(1), 4_000)
    played.seat_all()
    played.start()
    while played.game.throws < throws:
        played.move(holds=0.1)
    return jsonl([line.decode() for line in played.lines])


def test_many_throws_are_shown_in_portions(opened: Opened) -> None:
    visit = opened()
    log = long_log(450)
    throws = verify.verify(log.encode()).throws
    assert visit.paste(log).startswith("OK.")
    for shown in (200, 400, throws):
        assert len(visit.rows("throws")) == shown
        left = throws - shown
        assert visit.page.is_visible("#more-throws") == (left > 0)
        if left:
            assert visit.page.inner_text("#more-throws") == f"Show more ({left} left)"
            visit.page.click("#more-throws")
    assert visit.rows("throws")[-1][0] == str(throws)


def test_a_newer_check_ends_an_older_one(opened: Opened) -> None:
    visit = opened(init="globalThis.held = []; setTimeout = (then) => held.push(then);")
    long: FilePayload = {"name": "long", "mimeType": "", "buffer": long_log(2_000).encode()}
    visit.page.set_input_files("#file", long)
    while not visit.page.evaluate("held.length"):
        continue  # it has not paused yet
    visit.page.fill("#pasted", LOG)
    visit.page.click("#paste-form button")
    while not visit.page.locator("#verdict.good").count() or visit.page.evaluate("held.length"):
        visit.page.evaluate("held.splice(0).forEach(then => then())")
    assert visit.verdict().startswith("OK.")
    assert visit.facts()["Throws read without fault"] == "14"


# --- the reference --------------------------------------------------------------------------------


def test_the_reference_is_drawn_from_this_server_alone(
    opened: Opened, client: httpx.Client
) -> None:
    visit = opened("/docs")
    page = visit.page
    page.wait_for_selector(".opblock")
    paths = client.get("/openapi.json").json()["paths"]
    assert page.locator(".opblock").count() == sum(len(path) for path in paths.values())
    assert page.inner_text(".title").startswith("Cubilete")
    page.click("#operations-rulesets-list_rulesets")
    page.click(".try-out__btn")
    page.click(".execute")
    page.wait_for_selector(".live-responses-table")
    assert "dados-puercos" in page.inner_text(".live-responses-table")
    assert {url.rpartition("/")[2] for url in visit.asked} == {
        "docs", "docs.css", "docs.js", "openapi.json", "rulesets", "swagger-ui.css",
        "swagger-ui-bundle.js",
    }  # fmt: skip
