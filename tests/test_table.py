"""The table at ``/`` in a real Chromium, against a real server: every game to its end, by the
buttons of the page alone; and what happens when the network, the server or a liar gets in the way.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from service import rules
from tests.browser import Visit, in_chromium, visits
from tests.game_client import create
from tests.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = in_chromium

KEYS = [ruleset.key for ruleset in rules.RULESETS]
every_ruleset = pytest.mark.parametrize("key", KEYS)
# Short games: what to fill in before the table is opened.
SHORT = {
    "pig": {"target": "12"},
    "two-dice-pig": {"target": "14"},
    "big-pig": {"target": "20"},
    "pass-the-pigs": {"target": "10"},
    "dados-puercos": {"target": "9"},
    "heaven-and-nine": {},
    "dice-duel": {},
}

# Presses what may be pressed, now this and now that, as soon as the page offers it.
PLAY = """() => {
    let turn = 0;
    const press = () => {
        const due = (seat) => document.querySelector(`#seat-${seat}.acts`);
        const all = [...document.querySelectorAll(".controls [data-kind]:not(:disabled)")];
        const waited = all.filter((button) => due(button.dataset.seat));
        const buttons = waited.length > 0 ? waited : all;
        const named = (kind) => buttons.find((button) => button.dataset.kind === kind);
        turn += 1;
        const die = document.querySelector(".seat.acts .die-button[aria-pressed=false]");
        if (named("resolve")) named("resolve").click();
        else if (die && turn % 4 === 1) die.click();
        else if (named("reroll")) named("reroll").click();
        else (named("hold") ?? buttons[turn % 3 ? 0 : buttons.length - 1])?.click();
        if (!document.querySelector("#end")) setTimeout(press, 15);
    };
    press();
}"""


class Place(Visit):
    """A browser window at a table."""

    def open_table(self, key: str, way: str, seats: int = 2, **options: str) -> None:
        """Opens a table by the form; ``options`` are numbers to fill in."""
        page = self.page
        page.click(f".card:has(a[href='#/new/{key}']) .button.main")
        page.check(f"input[value={way}]")
        page.fill("#seat-count", str(seats))
        if options:
            page.click("summary:has-text('Options')")
        for name, value in options.items():
            page.fill(f"#option-{name}", value)
        page.click("#create")
        page.wait_for_selector("main.table")

    @property
    def game(self) -> str:
        return self.page.url.rpartition("/")[2]

    @property
    def version(self) -> int:
        return int(self.page.get_attribute("main.table", "data-version") or 0)

    def until(self, version: int) -> None:
        """Waits until the page shows so much of the game."""
        told = "v => Number(document.querySelector('main.table')?.dataset.version) >= v"
        self.page.wait_for_function(told, arg=version)

    def press(self, kind: str) -> None:
        """Presses a button of an action, and waits for what follows."""
        version = self.version
        self.page.click(f".controls [data-kind={kind}]")
        self.until(version + 1)

    def play(self) -> None:
        self.page.evaluate(PLAY)

    def ended(self) -> str:
        """The end card, once the game is over; all its throws have been checked."""
        self.page.wait_for_selector("#end")
        self.page.wait_for_selector(".check")
        assert self.page.locator(".check.bad, #alarm").count() == 0
        return self.page.inner_text("#end")

    def pardon(self, *texts: str) -> None:
        """Takes complaints back that the test itself has caused."""
        self.complaints = [
            told for told in self.complaints if not any(text in told for text in texts)
        ]


Sat = Callable[..., Place]


@pytest.fixture
def sat(browser: "Browser", server: Server) -> Iterator[Sat]:
    """Opens browser windows. No address that any of them asks for holds a token."""
    with visits(browser, server, Place) as open_page:
        made: list[Place] = []

        def sit(path: str = "/", **options: Any) -> Place:
            made.append(open_page(path, **options))
            return made[-1]

        yield sit
        assert not [url for place in made for url in place.asked if "cub_" in url]


# --- every game to its end ------------------------------------------------------------------------


@every_ruleset
def test_a_game_is_played_to_its_end_at_one_screen(
    sat: Sat, client: httpx.Client, key: str
) -> None:
    place = sat()
    place.open_table(key, "hotseat", 3, **SHORT[key])
    place.play()
    assert "win" in place.ended()
    game = client.get(f"/v1/games/{place.game}").json()
    assert game["status"] == "finished"
    shown = place.page.locator("#end .throw").count()
    assert shown == game["dice"]["throws"] > 0


@every_ruleset
def test_a_game_is_played_to_its_end_in_two_windows(sat: Sat, key: str) -> None:
    host, guest = sat(), sat()
    host.open_table(key, "link", **SHORT[key])
    guest.page.goto(host.page.input_value("#invitation"))
    guest.page.fill("#join-name", "Ben")
    guest.page.click("#join")
    for place in (host, guest):
        place.play()
    # Who chooses at the same moment is told what he had not seen, and his choice is sent again.
    for place in (host, guest):
        place.page.wait_for_selector("#end")
        place.pardon("(Precondition Failed)")
    assert host.ended().replace("Rematch\n\n", "") == guest.ended()


# --- one at a time --------------------------------------------------------------------------------


def test_a_reload_in_the_middle_goes_on(sat: Sat) -> None:
    place = sat()
    place.open_table("pig", "hotseat", target="12")
    place.press("roll")
    version = place.version
    place.page.reload()
    place.until(version)
    place.press("roll" if place.page.locator("[data-kind=roll]").count() else "hold")
    place.play()
    place.ended()


def test_a_personal_link_goes_on_at_another_device(sat: Sat) -> None:
    place, other = sat(), sat()
    place.open_table("pig", "hotseat", target="12")
    place.page.click("summary:has-text('Links')")
    link = place.page.input_value("#personal-link")
    other.page.goto(link)
    other.page.wait_for_selector(".controls [data-kind]")
    assert "cub_" in link
    assert "cub_" not in other.page.url
    other.page.reload()
    other.play()
    other.ended()
    place.ended()


def test_a_connection_that_is_lost_in_the_middle_comes_back_and_counts_once(
    sat: Sat, client: httpx.Client
) -> None:
    place = sat()
    place.open_table("pig", "hotseat", target="40")
    place.press("roll")
    before = place.version
    place.context.set_offline(True)
    place.page.wait_for_function(
        "document.querySelector('.connection').innerText.startsWith('Connection lost')"
    )
    place.page.click(".controls [data-kind=roll]")
    place.page.wait_for_selector(".message:has-text('Not answered yet')")
    place.context.set_offline(False)
    place.until(before + 1)
    place.page.wait_for_function("!document.querySelector('.connection').innerText")
    assert place.page.locator(".message").count() == 0
    log = client.get(f"/v1/games/{place.game}/log").json()["entries"]
    rolled = [one for one in log if one["data"].get("action", {}).get("kind") == "roll"]
    assert len(rolled) == 2
    place.pardon("ERR_INTERNET_DISCONNECTED")


def forging(place: Place, change: Callable[[dict[str, Any]], None]) -> None:
    """From now on the throws of the newest entry are changed on their way, however they come."""

    def forge(route: "Route") -> None:
        answer = route.fetch()
        told = answer.json()
        for entry in [told["entry"]] if "entry" in told else told["entries"][-1:]:
            for throw in entry["data"].get("throws", [])[-1:]:
                change(throw)
        route.fulfill(response=answer, body=json.dumps(told))

    for path in ("**/actions", "**/log?*"):
        place.page.route(path, forge)


def other_face(throw: dict[str, Any]) -> None:
    throw["faces"][0] = throw["faces"][0] % 6 + 1


def other_key(throw: dict[str, Any]) -> None:
    throw["key"] = "00" * 32


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other_face, r"throw \d+ shows other faces than its key gives"),
        (other_key, r"the key of throw \d+ does not hash to the key before it"),
    ],
    ids=["face", "key"],
)
def test_a_forged_throw_is_called_out(
    sat: Sat, change: Callable[[dict[str, Any]], None], told: str
) -> None:
    place = sat()
    place.page.route("**/stream*", lambda route: route.abort())
    place.open_table("pig", "hotseat", target="40")
    place.press("roll")
    assert place.page.locator("#alarm").count() == 0
    forging(place, change)
    place.page.click(".controls [data-kind]")
    assert re.search(told, place.page.inner_text("#alarm"))
    assert place.page.get_attribute("#alarm", "role") == "alert"
    assert place.page.locator(".felt .check.bad").count() > 0
    place.pardon("ERR_FAILED")
