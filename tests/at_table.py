"""Browser windows at the table: what people do there, by the buttons of the page alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from service import rules
from tests.browser import Visit, visits
from tests.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEYS = [ruleset.key for ruleset in rules.RULESETS]
# Short games: what to fill in before the table is opened.
SHORT: dict[str, dict[str, Any]] = {
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

    def open_table(self, key: str, way: str, seats: int = 2, **options: Any) -> None:
        """Opens a table by the form; ``options`` are numbers to fill in."""
        page = self.page
        page.click(f".card:has(a[href='#/new/{key}']) .button.main")
        page.check(f"input[value={way}]")
        page.fill("#seat-count", str(seats))
        if options:
            page.click("#options summary")
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

    def press(self, kind: str = "") -> None:
        """Presses a button of an action, or the first one, and waits for what follows."""
        self.page.wait_for_selector(".controls [data-kind]")
        version = self.version
        self.page.click(f".controls [data-kind{kind and '='}{kind}]")
        self.until(version + 1)

    def play(self) -> None:
        self.page.evaluate(PLAY)

    def ended(self) -> str:
        """The end card, once the game is over; all its throws have been checked."""
        self.page.wait_for_selector("#end")
        self.page.wait_for_selector(".check")
        assert self.page.locator(".check.bad, #alarm").count() == 0
        return self.page.inner_text("#end")


Sat: TypeAlias = Callable[..., Place]


@contextmanager
def windows(browser: "Browser", server: Server) -> Iterator[Sat]:
    """Opens browser windows. No address that any of them asks for holds a token."""
    with visits(browser, server, Place) as open_page:
        made: list[Place] = []

        def sit(path: str = "/", **options: Any) -> Place:
            made.append(open_page(path, **options))
            return made[-1]

        yield sit
        assert not [url for place in made for url in place.asked if "cub_" in url]
