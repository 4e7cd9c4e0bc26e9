"""Clocks of tables on real databases: whoever notices that time has run out, it is done once."""

import asyncio
import json
from contextlib import AsyncExitStack
from random import Random

import pytest

from service.api import views
from service.dice import client_commit
from service.errors import GameOver, NotYourTurn, TurnExpired, Unavailable
from service.heads import Head
from service.replay import audit
from service.requests import Caller, Joining, NewGame
from service.store import Retry
from tests.hosted import AT, run, stored
from tests.postgres import DATABASES, POSTGRESQL, migrated_url
from tests.timed import TURN_S, House, house

MS = TURN_S * 1000
ROUNDS = 60


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    """A database for these tests alone: a sweeper looks at every game there is."""
    return migrated_url(request.param, request, tmp_path, "clock")


def test_a_request_that_only_reads_lets_the_game_go_on(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
            one.now += MS - 1
            assert (await one.croupier.read(game.id)).game.version == game.told["game"]["version"]
            one.now += 1
            hosted = await one.croupier.read(game.id)
            assert await game.late() == [("roll", 0)]
            assert hosted.game.deadline == one.now + MS
            assert await one.croupier.lines(game.id)
            assert len(await game.late()) == 1

    run(story())


def test_an_action_after_its_deadline_is_told_so_and_the_table_has_acted(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
            one.now += MS
            with pytest.raises(TurnExpired):
                await game.act(0, "roll")
            assert await game.late() == [("roll", 0)]
            seat = (await game.stored()).game.to_act()[0]
            assert (await game.act(seat, "roll"))["entry"]["data"]["seat"] == seat

    run(story())


def test_an_action_a_moment_before_its_deadline_is_in_time(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
            one.now += MS - 1
            await game.act(0, "roll")
            assert await game.late() == []

    run(story())


def test_the_sweeper_finds_what_nobody_asks_for(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            due = [await one.create() for _ in range(5)]
            one.now += MS
            later = await one.create()
            await one.sweeper.deadlines()
            assert [await game.late() for game in due] == [[("roll", 0)]] * 5
            assert await later.late() == []
            assert one.swept["deadline"] >= 5
            await one.sweeper.deadlines()
            assert [await game.late() for game in due] == [[("roll", 0)]] * 5

    run(story())


def test_deadlines_that_passed_while_no_server_ran_count_once(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
        async with house(url, tmp_path, now=AT + 20 * MS) as other:
            game.house = other
            await other.sweeper.deadlines()
            assert await game.late() == [("roll", 0)]
            assert (await game.stored()).game.deadline == other.now + MS

    run(story())


def test_of_many_that_notice_at_once_one_acts(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            for _ in range(ROUNDS // 4):
                game = await one.create()
                one.now += MS
                settling = [one.croupier.settle(game.id, one.now) for _ in range(8)]
                reading = [one.croupier.read(game.id) for _ in range(8)]
                await asyncio.gather(*settling, *reading, one.sweeper.deadlines())
                assert len(await game.late()) == 1

    run(story())


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_timers_of_all_workers_and_the_player_make_one_event(kind, request, tmp_path):
    """Either the move or the timeout, and never both: two workers whose clocks differ."""
    url = migrated_url(kind, request, tmp_path, "clock")
    random = Random(14)

    async def story():
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(house(url, tmp_path))
            other = await stack.enter_async_context(house(url, tmp_path))
            moved = expired = 0
            for _ in range(ROUNDS):
                other.now = one.now
                game = await one.create(options={"starter": "seat", "target": 1000})
                before = (await game.stored()).game
                # The player's worker is a moment behind: for it there is still time.
                other.now, one.now = one.now + MS - 1, one.now + MS
                asked = [
                    game.act(0, "roll", house=other),
                    one.croupier.settle(game.id, one.now),
                    one.croupier.read(game.id),
                    one.sweeper.deadlines(),
                ]
                random.shuffle(asked)
                found = await asyncio.gather(*asked, return_exceptions=True)
                faults = [fault for fault in found if isinstance(fault, Exception)]
                assert all(isinstance(fault, NotYourTurn) for fault in faults), faults
                late = await game.late()
                lines = await one.store.lines(game.id)
                own = len(lines) - 1 - before.version - len(late)
                assert len(late) <= 1
                moved += own
                expired += len(late)
                if not late:
                    assert own == 1
                assert audit(lines).version == len(lines) - 1
            assert moved
            assert expired

    run(story())


@pytest.mark.parametrize("shift", [24 * 3600 * 1000, -3600 * 1000, 0], ids=["+1d", "-1h", "still"])
def test_a_clock_that_jumps_changes_no_order_and_takes_one_turn_at_most(url, tmp_path, shift):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
            for number in range(6):
                if number == 3:
                    one.now += shift
                seat = (await one.croupier.read(game.id)).game.to_act()[0]
                await game.act(seat, "roll")
            lines = await one.store.lines(game.id)
            assert len(await game.late()) == (shift > 0)
            assert audit(lines) == (await game.stored()).game

    run(story())


def test_after_three_absences_the_other_wins(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            options = {"starter": "seat", "end": {"rounds": 9}, "bank_passes": "never"}
            game = await one.create("heaven-and-nine", options=options)
            while (await game.stored()).game.status == "playing":
                one.now += MS
                await one.sweeper.deadlines()
            hosted = await game.stored()
            assert hosted.game.outcome is not None
            assert hosted.game.outcome.reason == "last_seat"
            assert (await game.late())[-1][0] == "resign"
            assert hosted.deadline is None
            with pytest.raises(GameOver):
                await game.act(0, "roll")

    run(story())


def test_after_the_clock_the_bots_play_on_and_are_never_late(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create(names=("Ana", None), bots=(None, "hold_20"))
            while (await game.stored()).game.status == "playing":
                one.now += MS
                await one.sweeper.deadlines()
                assert (await game.stored()).game.to_act() in ((0,), ())  # never the bot's seat
            late = await game.late()
            assert late[-1] == ("resign", 0)
            assert {seat for _, seat in late} == {0}
            lines = await one.store.lines(game.id)
            assert b'"seat":1,"throws"' in b"".join(lines)
            assert audit(lines) == (await game.stored()).game

    run(story())


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_who_comes_while_bots_are_still_behind_is_told_to_come_again(url, tmp_path, monkeypatch):
    """Nothing else is done before what is due, and that may be more than one transaction holds."""

    async def story():
        async with house(url, tmp_path) as one:
            monkeypatch.setattr("service.hosting.BOT_ACTIONS_MOST", 0)
            game = await one.create(names=(None, "Ana"), bots=("hold_20", None))
            before, token = (await game.stored()).game, game.token(1)
            asked = Caller(token, Retry(bytes(32), bytes(32)))
            one.now += MS
            with pytest.raises(Unavailable) as told:
                await one.croupier.rotate(game.id, 1, asked, views.renewed)
            assert told.value.retry_after_s == 1
            with pytest.raises(TurnExpired):
                await game.act(1, "roll")
            assert (await game.stored()).game == before
            monkeypatch.undo()
            answer = await one.croupier.rotate(game.id, 1, asked, views.renewed)
            assert not answer.replayed, "what was refused has used no key up"
            assert (await game.stored()).game.version > before.version
            assert await game.late() == []
            await one.croupier.close()

    run(story())


def test_in_a_duel_with_a_bot_the_absent_person_alone_misses_choices(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            options = {"format": {"first_to_win": 9}, "free_formats": True}
            game = await one.create(
                "dice-duel", options=options, names=("Ana", None), bots=(None, "best_mask")
            )
            while (await game.stored()).game.status == "playing":
                one.now += MS
                await one.sweeper.deadlines()
            late = await game.late()
            assert late[-1] == ("resign", 0)
            assert {seat for _, seat in late} <= {0, None}
            assert audit(await one.store.lines(game.id)) == (await game.stored()).game

    run(story())


def test_a_game_from_a_backup_ends_before_its_clock_throws_again(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
            before = (await game.stored()).game
            one.now += MS
            known = {game.id: Head(game.id, before.version + 1, bytes(32))}
            assert await one.croupier.end_restored(known) == [game.id]
            hosted = await game.stored()
            assert (hosted.game.status, hosted.game.reason) == ("abandoned", "restored")
            assert hosted.game.version == before.version + 1
            assert await game.late() == []

    run(story())


def test_a_rematch_keeps_the_clock(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await one.create()
            await game.act(1, "resign")
            host = Caller(game.told["tokens"]["host"])
            answer = await one.croupier.rematch(game.id, None, host, views.rematched)
            assert b'"turn_seconds":30' in answer.body
            following = (await game.stored()).series.next_game
            assert following is not None
            hosted = await one.croupier.read(following)
            assert hosted.game.deadline == one.now + MS

    run(story())


# --- seeds that are due ---------------------------------------------------------------------------

SEED = bytes(range(32))


async def sealed(one: House) -> tuple[str, Caller, Caller]:
    """A sealed roster with one seed to come: the game, its host and the seat that committed."""
    wanted = NewGame("pig", {}, (None, None), seed_mode="sealed")
    created = await one.croupier.create(wanted, Caller(), views.created)
    game = json.loads(created.body)
    game_id, host = game["game"]["id"], Caller(game["tokens"]["host"])
    saw = bytes.fromhex(game["game"]["dice"]["commitment"])
    joining = Joining(saw=saw, commit=client_commit(game_id, SEED))
    joined = await one.croupier.join(game_id, joining, Caller(), views.seated)
    await one.croupier.join(game_id, Joining(), Caller(), views.seated)
    await one.croupier.seal(game_id, host, views.changed)
    return game_id, host, Caller(json.loads(joined.body)["token"])


def test_seeds_kept_back_void_the_game_and_name_the_seats(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            read, swept = await sealed(one), await sealed(one)
            one.now += 60_000 - 1
            assert (await one.croupier.read(read[0])).game.status == "waiting"
            one.now += 1
            hosted = await one.croupier.read(read[0])
            assert (hosted.game.status, hosted.game.reason) == ("void", "no_reveal")
            assert hosted.game.unrevealed() == (0,)
            await one.sweeper.deadlines()
            other = await stored(one.store, swept[0])
            assert (other.game.status, other.game.reason) == ("void", "no_reveal")

    run(story())


def test_a_seed_in_time_starts_the_game_and_one_too_late_does_not(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            early, late = await sealed(one), await sealed(one)
            one.now += 60_000 - 1
            await one.croupier.reveal(early[0], 0, SEED, early[2], views.changed)
            assert (await one.croupier.read(early[0])).game.status == "playing"
            one.now += 1
            with pytest.raises(GameOver):
                await one.croupier.reveal(late[0], 0, SEED, late[2], views.changed)
            assert (await one.croupier.read(late[0])).game.reason == "no_reveal"

    run(story())


def test_the_host_names_nobody_before_the_seeds_are_overdue_and_does_after(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            early, late = await sealed(one), await sealed(one)
            one.now += 60_000 - 1
            await one.croupier.void(early[0], early[1], views.changed)
            assert (await one.croupier.read(early[0])).game.reason == "host"
            one.now += 1
            await one.croupier.void(late[0], late[1], views.changed)
            assert (await one.croupier.read(late[0])).game.reason == "no_reveal"

    run(story())
