"""The table at ``/`` in a real Chromium, against a real server: every game to its end, by the
buttons of the page alone; and what happens when the network, the server or a liar gets in the way.
"""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.at_table import KEYS, SHORT, Place, Sat
from tests.browser import in_chromium
from tests.game_client import create

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = in_chromium
every_ruleset = pytest.mark.parametrize("key", KEYS)


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


@every_ruleset
def test_a_game_is_played_to_its_end_against_bots(sat: Sat, client: httpx.Client, key: str) -> None:
    place = sat()
    place.open_table(key, "bots", 3, **SHORT[key])
    place.play()
    assert "win" in place.ended()
    kinds = [player["kind"] for player in client.get(f"/v1/games/{place.game}").json()["players"]]
    assert kinds == ["human", "bot", "bot"]


def test_only_bots_that_can_play_what_was_chosen_are_offered(sat: Sat) -> None:
    page = sat("/#/new/pig").page
    offered = "all => all.map(one => one.value)"
    options = "[aria-label='Bot in seat 2'] option"
    page.wait_for_selector(options, state="attached")
    assert "optimal" in page.eval_on_selector_all(options, offered)
    page.select_option("[aria-label='Bot in seat 2']", "optimal")
    page.click("#options summary")
    page.select_option("#option-finish", index=1)
    assert "optimal" not in page.eval_on_selector_all(options, offered)
    assert page.input_value("[aria-label='Bot in seat 2']") != "optimal"


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
    place.page.click("#links summary")
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


def test_an_answer_that_is_lost_on_its_way_counts_once(sat: Sat, client: httpx.Client) -> None:
    place = sat()
    place.open_table("pig", "hotseat", target="60")
    before = place.version
    lost: list[int] = []

    def lose(route: "Route") -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch().json()["entry"]["seq"])
            route.abort()

    # The page hears of it by the answer to its second try alone.
    place.page.route("**/stream*", lambda route: route.abort())
    place.page.route("**/actions", lose)
    place.page.click(".controls [data-kind=roll]")
    place.page.wait_for_selector(".message:has-text('Not answered yet')")
    place.page.wait_for_selector(".message", state="detached")
    assert lost == [before + 1]
    assert client.get(f"/v1/games/{place.game}").json()["version"] == before + 1
    place.pardon("ERR_FAILED")


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


def test_what_went_on_meanwhile_is_told_instead_of_rolling_again(sat: Sat) -> None:
    place, other = sat(), sat()
    place.open_table("pig", "hotseat", target="60")
    place.page.click("#links summary")
    other.page.goto(place.page.input_value("#personal-link"))
    other.page.wait_for_selector(".controls [data-kind]")
    stale = other.version
    # The other device hears nothing of what happens here.
    for path in ("**/stream*", f"**/v1/games/{place.game}", "**/log?*"):
        other.page.route(path, lambda route: route.abort())
    other.context.set_offline(True)
    other.context.set_offline(False)
    place.press("roll")
    after = place.version
    assert other.version == stale
    other.page.unroute(f"**/v1/games/{place.game}")
    other.page.unroute("**/log?*")
    other.page.click(".controls [data-kind=roll]")
    other.page.wait_for_selector(".message:has-text('The table has moved on')")
    assert other.version == after
    other.pardon("ERR_FAILED", "ERR_INTERNET_DISCONNECTED", "(Precondition Failed)")


def test_a_history_that_is_rewritten_is_called_out(sat: Sat) -> None:
    place = sat()
    place.open_table("pig", "hotseat", target="60")
    place.press("roll")
    place.page.evaluate("""() => {
        const games = JSON.parse(localStorage["cubilete.games"]);
        for (const game of Object.values(games)) game.receipt.head = "0".repeat(64);
        localStorage["cubilete.games"] = JSON.stringify(games);
    }""")
    place.page.reload()
    assert "not the one that the server had signed" in place.page.inner_text("#alarm")


def test_the_whole_audit_is_one_click_away(sat: Sat) -> None:
    place = sat()
    place.open_table("pig", "hotseat", target="12")
    place.play()
    place.ended()
    with place.context.expect_page() as opened:
        place.page.click("#audit")
    opened.value.wait_for_selector("#verdict.good")
    assert opened.value.inner_text("#verdict").startswith("OK.")


# --- who is there, and until when -----------------------------------------------------------------


def test_whoever_comes_and_goes_is_seen(sat: Sat) -> None:
    host, guest = sat(), sat()
    host.open_table("pig", "link", target="60")
    guest.page.goto(host.page.input_value("#invitation"))
    guest.page.fill("#join-name", "Ben")
    guest.page.click("#join")
    host.page.wait_for_selector("#seat-1 .presence.here")
    guest.page.goto("about:blank")
    host.page.wait_for_selector("#seat-1 .presence:not(.here)")


def test_the_clock_is_shown_and_a_turn_that_expires_goes_on(sat: Sat) -> None:
    place = sat("/#/new/pig")
    place.page.check("input[value=hotseat]")
    place.page.click("#settings summary")
    place.page.fill("#table-clock", "5")
    place.page.click("#create")
    place.page.wait_for_selector(".clock")
    assert re.fullmatch(r"0:0\d left|Time is up", place.page.inner_text(".clock").strip())
    place.until(place.version + 1)
    place.page.wait_for_selector(".entries li:has-text('Time is up for')")


# --- who makes the dice, and the next game --------------------------------------------------------


@pytest.mark.parametrize("mode", ["open", "sealed"])
def test_players_have_a_part_in_the_dice(sat: Sat, client: httpx.Client, mode: str) -> None:
    host, guest = sat(), sat()
    host.page.goto(f"{host.page.url}#/new/pig")
    host.page.check("input[value=link]")
    host.page.click("#options summary")
    host.page.fill("#option-target", "12")
    host.page.click("#settings summary")
    host.page.select_option("#table-seed_mode", index=["operator", "open", "sealed"].index(mode))
    host.page.click("#create")
    guest.page.goto(host.page.input_value("#invitation"))
    guest.page.fill("#join-name", "Ben")
    guest.page.click("#join")
    if mode == "sealed":
        host.page.click("#seal")
    host.play()
    guest.play()
    host.ended()
    guest.ended()
    (seed,) = client.get(f"/v1/games/{host.game}").json()["dice"]["seeds"]
    assert seed["seat"] == 1
    assert len(seed["seed"]) == 64


def test_a_rematch_takes_both_windows_along(sat: Sat, client: httpx.Client) -> None:
    host, guest = sat(), sat()
    host.open_table("pig", "link", target="10")
    guest.page.goto(host.page.input_value("#invitation"))
    guest.page.fill("#join-name", "Ben")
    guest.page.click("#join")
    first = host.game
    host.play()
    guest.play()
    host.ended()
    guest.ended()
    host.page.click("#rematch")
    guest.page.click("#next")
    for place in (host, guest):
        place.page.wait_for_selector(".controls", state="attached")
        place.play()
    host.ended()
    guest.ended()
    assert host.game == guest.game != first
    tally = client.get(f"/v1/games/{host.game}").json()["series"]["tally"]
    assert sum(tally) == 2


def test_the_rematch_is_found_however_long_the_series_is(sat: Sat, client: httpx.Client) -> None:
    table, games = create(client), []
    for _ in range(102):
        games.append(table.path.rpartition("/")[2])
        table.act(0, "resign")
        table.path = f"/v1/games/{table.post('/rematch').json()['game']['id']}"
    place = sat(f"/#/game/{games[-2]}")
    place.page.click("#next")
    place.page.wait_for_url(f"**/#/game/{games[-1]}")


def test_whoever_has_no_seat_watches(sat: Sat, client: httpx.Client) -> None:
    table = create(client, "pig", options={"target": 12})
    place = sat(f"/#/game/{table.id}")
    assert place.page.inner_text(".board").endswith("You are watching.")
    assert place.page.locator(".controls button").count() == 0
    table.play()
    assert "win" in place.ended()


def test_a_game_that_is_not_there_is_told(sat: Sat) -> None:
    place = sat("/#/game/nobody-knows-it")
    place.page.wait_for_selector("main:has-text('There is no such game')")
    place.pardon("(Not Found)")
