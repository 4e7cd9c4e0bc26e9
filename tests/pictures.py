"""Draws `docs/pictures/`: the lobby, and each game in play and finished, on a phone and on a
desktop, in both languages. ``make pictures``.
"""

import base64
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from service import rules
from tests.browser import WAIT_MS, launched
from tests.game_client import Table, create
from tests.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SCREENS = {"phone": (390, 780), "desktop": (1120, 720)}
LOCALES = {"en": "en-GB", "es": "es-ES"}
NAMES = ("Ana", "Ben", "Carla")
OPTIONS = {
    "pig": {"target": 40},
    "two-dice-pig": {"target": 40},
    "big-pig": {"target": 50},
    "pass-the-pigs": {"target": 40},
    "dados-puercos": {"mode": "turns", "dice": 3, "bets": 2},
    "heaven-and-nine": {},
    "dice-duel": {"format": {"first_to_win": 2}},
}
# How many actions a game in play is shown after.
STEPS = {"heaven-and-nine": 5, "dice-duel": 8, "dados-puercos": 6}
# Chromium itself knows how to write WebP, in a fifth of a PNG's bytes.
TO_WEBP = """async (png) => {
    const picture = await createImageBitmap(await (await fetch(png)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext("2d").drawImage(picture, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.82 });
    return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
}"""


def step(table: Table, number: int) -> None:
    """The same game every time but for its dice: everybody who may hold does every third time."""
    game = table.read()
    if game["status"] != "playing":
        return
    rolls = (game["state"] or {}).get("rolls", 0)
    holds = [one for one in game["legal_actions"] if one["kind"] == "hold" and rolls > 1]
    chosen = holds[:1] or [one for one in game["legal_actions"] if one["kind"] != "pass"]
    answer = table.step({**game, "legal_actions": chosen}, number)
    assert answer.status_code == 200, answer.text


class Camera:
    """Takes the picture of a page in every language on every screen."""

    def __init__(self, browser: "Browser", server: Server) -> None:
        self._server = server
        self._darkroom = browser.new_page()
        self._pages: dict[str, Page] = {}
        for screen, (width, height) in SCREENS.items():
            for language, locale in LOCALES.items():
                context = browser.new_context(
                    locale=locale,
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                )
                context.set_default_timeout(WAIT_MS)
                self._pages[f"{screen}-{language}"] = context.new_page()

    def take(self, name: str, path: str, ready: str) -> None:
        """``name`` as it is at ``path`` once ``ready`` is there."""
        for kind, page in self._pages.items():
            page.goto("about:blank")
            page.goto(self._server.url + path)
            page.wait_for_selector(ready)
            png = base64.b64encode(page.screenshot()).decode()
            webp = self._darkroom.evaluate(TO_WEBP, f"data:image/png;base64,{png}")
            (PICTURES / f"{name}-{kind}.webp").write_bytes(base64.b64decode(webp))


def main() -> int:
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.webp"):
        old.unlink()
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder)) as server,
        server.client() as client,
        launched() as browser,
    ):
        camera = Camera(browser, server)
        camera.take("lobby", "/", ".card")
        for key in (ruleset.key for ruleset in rules.RULESETS):
            table = create(client, key, NAMES, hotseat=True, options=OPTIONS[key])
            path = f"/#/game/{table.id}/host={table.host}"
            for number in range(STEPS.get(key, 9)):
                step(table, number)
            camera.take(f"{key}-in-play", path, ".controls [data-kind]")
            number = 0
            while table.read()["status"] == "playing":
                step(table, number)
                number += 1
            camera.take(f"{key}-finished", path, "#end .check")
    size = sum(path.stat().st_size for path in PICTURES.glob("*.webp"))
    print(f"{len(list(PICTURES.glob('*.webp')))} pictures, {size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
