"""Pages in a real Chromium: what they ask for and complain about is watched."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright on this platform")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
ARGUMENTS = [
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT_MS = 30_000

# One worker has the browser, while the others run the other tests.
in_chromium = [
    pytest.mark.xdist_group("chromium"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (apt-get install chromium)"),
]


@contextmanager
def launched() -> "Iterator[Browser]":
    """Chromium, as it is installed."""
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


class Visit:
    """A page, with all that it asked for and complained about."""

    def __init__(self, context: "BrowserContext") -> None:
        context.set_default_timeout(WAIT_MS)
        self.context = context
        self.page: Page = context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.pardoned: list[str] = []

    def pardon(self, *texts: str) -> None:
        """Complaints with one of these texts are the test's own doing, whenever they come: the
        browser tells of them after the page has shown what follows."""
        self.pardoned += texts

    def complains(self, text: str, times: int = 1) -> None:
        """Waits until the page has complained of this so often. That is then pardoned."""
        while sum(text in told for told in self.complaints) < times:
            self.page.wait_for_event("console")
        self.pardon(text)

    def unpardoned(self) -> list[str]:
        """What nothing in the test can have caused."""
        return [told for told in self.complaints if not any(text in told for text in self.pardoned)]


SomeVisit = TypeVar("SomeVisit", bound=Visit)


@contextmanager
def visits(
    browser: "Browser", server: Server, kind: type[SomeVisit]
) -> Iterator[Callable[..., SomeVisit]]:
    """Opens pages of the server in browsers that have never seen it. Whatever is done there,
    nothing is asked for elsewhere and nothing is complained about."""
    made: list[SomeVisit] = []

    def open_page(path: str, init: str = "", **options: Any) -> SomeVisit:
        context = browser.new_context(**{"locale": "en-GB", **options})
        if init:
            context.add_init_script(init)
        visit = kind(context)
        made.append(visit)
        visit.page.goto(server.url + path if path.startswith("/") else path)
        return visit

    yield open_page
    for visit in made:
        visit.context.close()
    for visit in made:
        assert visit.unpardoned() == []
        assert [url for url in visit.asked if not url.startswith((server.url, "file:"))] == []
