"""One contract for every database: what the store promises of changes and reads."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select

from service.errors import CubileteError, KeyReused, NotYourSeat, StaleVersion, Unavailable
from service.log import parse
from service.replay import audit, replay
from service.store import (
    DAY_MS,
    Answer,
    Change,
    GameFilter,
    HostedGame,
    Retry,
    Store,
    Write,
    records,
    statements,
)
from service.store.batch import Batch, Result
from service.store.committer import Committer
from service.store.tables import game
from tests.hosted import (
    AT,
    anybody,
    asked,
    created,
    one_batch,
    opened,
    retry,
    roll,
    rows,
    run,
    stored,
    table,
)

OTHER = bytes([1]) * 32


async def outcomes(*answers: "asyncio.Future[Answer]") -> list[Answer | BaseException]:
    return await asyncio.gather(*answers, return_exceptions=True)


async def version(store: Store, game_id: str) -> int:
    hosted = await store.game(game_id)
    assert hosted is not None
    return hosted.game.version


# --- changes ------------------------------------------------------------------------------------


def test_a_change_is_there_for_every_reader_once_it_is_answered(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            for number in range(4, 12):
                answer = await roll(store, made)
                assert await version(store, made.id) == number
                assert (await store.lines(made.id, number - 1)) == [answer.body]
        async with opened(database_url) as store:
            assert await version(store, made.id) == 11

    run(story())


def test_the_stored_log_is_gapless_and_folds_to_the_stored_game(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            await asyncio.gather(*(asked(store, made, made.roll(AT + n)) for n in range(100)))
        async with opened(database_url) as store:
            hosted = await store.game(made.id)
            lines = await store.lines(made.id)
            assert [parse(line).seq for line in lines] == list(range(104))
            assert hosted is not None
            assert hosted.game == replay(lines) == audit(lines)
            assert hosted.holders == made.start.hosted.holders
            assert replace(hosted, game=made.start.hosted.game, revision=0) == made.start.hosted

    run(story())


def test_lines_come_in_order_from_where_they_are_asked(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            for _ in range(6):
                await roll(store, made)
            whole = await store.lines(made.id)
            assert len(whole) == 10
            assert await store.lines(made.id, 2, 3) == whole[3:6]
            assert await store.lines(made.id, 8) == whole[9:]
            assert await store.lines(made.id, 9) == []
            assert await store.lines("nobody") == []

    run(story())


def test_a_seq_is_stored_once(database_url):
    """Whatever a change says, the database refuses a second entry with the same number."""

    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            line = (await roll(store, made)).body

            def forged(found: HostedGame | None) -> Change:
                assert found is not None
                return Change((Write(found, (line,)),), Answer(200, (), b"forged"))

            with pytest.raises(Unavailable):
                await store.change(made.id, anybody, forged)
            assert (await store.lines(made.id))[4:] == [line]
            assert (await roll(store, made)).status == 200

    run(story())


def test_the_second_of_two_changes_in_one_transaction_sees_the_first(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            async with one_batch(store):
                both = [asked(store, made, made.roll(version=seen)) for seen in (3, 4)]
            first, second = [parse((await one).body) for one in both]
            assert (first.seq, second.seq) == (4, 5)
            assert len(await store.lines(made.id)) == 6

    run(story())


def test_one_of_many_changes_wins_a_version(database_url):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            async with one_batch(store):
                racing = [asked(store, made, made.roll(AT + n, version=3)) for n in range(20)]
            told = await outcomes(*racing)
            assert [type(one) for one in told] == [Answer] + [StaleVersion] * 19
            assert await version(store, made.id) == 4

    run(story())


def test_a_refused_change_does_not_sink_the_others(database_url):
    async def story():
        async with opened(database_url) as store:
            made, other = await created(store), await created(store)

            def refuse(_: HostedGame | None) -> None:
                raise NotYourSeat

            async with one_batch(store):
                first = asked(store, made, made.roll())
                refused = asked(store, made, made.roll(), check=refuse)
                last = asked(store, other, other.roll())
            told = await outcomes(first, refused, last)
            assert [type(one) for one in told] == [Answer, NotYourSeat, Answer]
            assert await version(store, made.id) == await version(store, other.id) == 4

    run(story())


@pytest.mark.parametrize("error", [ZeroDivisionError, StopIteration, KeyError])
def test_a_change_that_fails_unexpectedly_sinks_only_itself(database_url, error):
    async def story():
        async with opened(database_url) as store:
            made = await created(store)

            def broken(_: HostedGame | None) -> Change:
                raise error

            async with one_batch(store):
                changes = [made.roll(), broken, made.roll()]
                told = [asked(store, made, decide) for decide in changes]
            first, failed, last = await outcomes(*told)
            assert isinstance(first, Answer)
            assert isinstance(failed, (error, RuntimeError))
            assert isinstance(last, Answer)
            assert await version(store, made.id) == 5

    run(story())


def test_a_change_that_cannot_be_stored_sinks_only_itself(database_url):
    """What no database takes is the caller's own failure, and the committer goes on."""

    async def story():
        async with opened(database_url) as store:
            made, other = await created(store), await created(store)
            async with one_batch(store):
                first = asked(store, other, other.roll())
                failed = asked(store, made, made.rename("\ud800"))
                last = asked(store, other, other.roll())
            told = await outcomes(first, failed, last)
            assert [isinstance(one, Answer) for one in told] == [True, False, True]
            assert not isinstance(told[1], CubileteError)
            hosted = await store.game(made.id)
            assert hosted is not None
            assert hosted.holders == made.start.hosted.holders

    run(story())


@pytest.mark.parametrize("name", ["Zoë", "張偉", "👩‍🚀", "a" * 40, "Ω" * 40, None, "'\"\\%s:x"])
def test_a_name_comes_back_as_it_was_given(database_url, name):
    async def story():
        async with opened(database_url) as store:
            made = await created(store, names=(name, "Ben"), at=AT + 877)
        async with opened(database_url) as store:
            hosted = await store.game(made.id)
            assert hosted is not None
            assert hosted.holders[0] is not None
            assert hosted.holders[0].name == name
            assert hosted.created_at == AT + 877
            assert parse((await store.lines(made.id))[0]).at == AT + 877

    run(story())


def test_a_nul_is_kept_or_refused_and_never_cut(database_url):
    """The API lets none through; one database could store it and another can't."""

    async def story():
        async with opened(database_url) as store:
            made, other = await created(store), await created(store)
            async with one_batch(store):
                named = asked(store, made, made.rename("a\0b"))
                rolled = asked(store, other, other.roll())
            told, answer = await outcomes(named, rolled)
            assert isinstance(answer, Answer)
        async with opened(database_url) as store:
            hosted = await store.game(made.id)
            assert hosted is not None
            assert hosted.holders[0] is not None
            kept = "a\0b" if isinstance(told, Answer) else "Ana"
            assert hosted.holders[0].name == kept

    run(story())


# --- repeated requests --------------------------------------------------------------------------


def test_a_repeated_request_in_one_transaction_is_answered_the_same(database_url):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()
            async with one_batch(store):
                both = [asked(store, made, made.roll(AT + n), key) for n in range(2)]
            first, second = await asyncio.gather(*both)
            assert (first.replayed, second.replayed) == (False, True)
            assert second == replace(first, replayed=True)
            assert await version(store, made.id) == 4

    run(story())


def test_a_repeated_request_is_answered_the_same_later_and_after_a_restart(database_url):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()
            headers = (("etag", '"4"'), ("location", "/v1/games/ñ"))
            rolled = made.roll()

            def decide(found: HostedGame | None) -> Change:
                change = rolled(found)
                return replace(change, answer=replace(change.answer, headers=headers))

            first = await store.change(made.id, anybody, decide, key)
            await roll(store, made)
            again = await store.change(made.id, anybody, made.roll(), key)
        async with opened(database_url) as store:
            after = await store.change(made.id, anybody, made.roll(), key)
            assert again == after == replace(first, replayed=True)
            assert first.headers == headers
            assert await version(store, made.id) == 5

    run(story())


def test_what_is_kept_for_a_repetition_may_differ_from_what_was_told(database_url):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()
            kept = Answer(200, (), b"sealed", sealed=True)

            def decide(found: HostedGame | None) -> Change:
                return replace(made.roll()(found), kept=kept)

            async with one_batch(store):
                both = [asked(store, made, decide, key) for _ in range(2)]
            first, second = await asyncio.gather(*both)
            assert parse(first.body).seq == 4
            assert second == replace(kept, replayed=True)
            assert await store.change(made.id, anybody, decide, key) == second

    run(story())


def test_a_key_of_another_request_is_refused(database_url):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()
            other = Retry(key.scope, OTHER)
            async with one_batch(store):
                both = [asked(store, made, made.roll(), one) for one in (key, other)]
            told = await outcomes(*both)
            assert [type(one) for one in told] == [Answer, KeyReused]
            with pytest.raises(KeyReused):
                await store.change(made.id, anybody, made.roll(), other)
            assert await version(store, made.id) == 4

    run(story())


def test_an_earlier_answer_is_shown_only_to_those_who_pass_the_check(database_url):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()

            def refuse(_: HostedGame | None) -> None:
                raise NotYourSeat

            await store.change(made.id, anybody, made.roll(), key)
            with pytest.raises(NotYourSeat):
                await store.change(made.id, refuse, made.roll(), key)

    run(story())


def test_a_refusal_uses_no_key_up(database_url):
    async def story():
        async with opened(database_url) as store:
            made, key = await created(store), retry()
            with pytest.raises(StaleVersion):
                await store.change(made.id, anybody, made.roll(version=1), key)
            answer = await store.change(made.id, anybody, made.roll(version=3), key)
            assert not answer.replayed

    run(story())


# --- lists --------------------------------------------------------------------------------------


def test_public_games_are_listed_newest_first_and_page_by_page(database_url):
    async def story():
        async with opened(database_url) as store:
            late = AT + 1_000_000  # newer than whatever other tests have left there
            made = [await created(store, at=late) for _ in range(5)]
            hidden = table(at=late)
            unlisted = replace(
                hidden.start, hosted=replace(hidden.start.hosted, visibility="unlisted")
            )
            await store.change(hidden.id, anybody, replace(hidden, start=unlisted).create)
            ids = [one.id for one in reversed(made)]
            wanted = GameFilter("playing", "pig", open_seats=False)
            first = await store.listed(wanted, None, 3)
            assert first.last == (first.games[-1].id, first.games[-1].series_number)
            rest = await store.listed(wanted, first.last[0], 2)
            assert [one.id for one in (*first.games, *rest.games)] == ids
            every = await store.listed(wanted, None, 100)
            assert hidden.id not in {one.id for one in every.games}
            for other in (
                GameFilter("void"),
                GameFilter(ruleset="big-pig"),
                GameFilter("playing", "pig", True),
            ):
                found = {one.id for one in (await store.listed(other, None, 100)).games}
                assert not found & set(ids)

    run(story())


def test_a_series_lists_its_games_in_order(database_url):
    async def story():
        async with opened(database_url) as store:
            made = [table() for _ in range(3)]
            series = replace(made[0].start.hosted.series, id=made[0].id)
            for number, one in enumerate(made, 1):
                hosted = replace(
                    one.start.hosted, series=replace(series, number=number, tally=(7, 0))
                )
                await store.change(
                    one.id, anybody, replace(one, start=Write(hosted, one.start.lines)).create
                )
            found = await store.series(made[0].id, 0, 2)
            assert [(one.id, one.series_number) for one in found.games] == [
                (made[0].id, 1),
                (made[1].id, 2),
            ]
            assert found.last == (made[1].id, 2)
            rest = await store.series(made[0].id, 2, 9)
            assert ([one.id for one in rest.games], rest.last) == ([made[2].id], None)
            (last,) = (await store.last_of_series(made[0].id)).games
            assert (last.id, last.tally) == (made[2].id, (7, 0))
            assert (await store.last_of_series("none")).games == ()
            assert await store.game("none") is None

    run(story())


def test_a_snapshot_holds_neither_name_nor_salt(database_url):
    """They have columns of their own, where they can be erased."""

    async def story():
        async with opened(database_url) as store:
            made = await created(store, names=("Wilhelmina", "Ben"))
        for column in (game.c.setup, game.c.snapshot):
            (stored,) = rows(database_url, select(column).where(game.c.id == made.id))
            assert json.loads(stored)
            assert "Wilhelmina" not in stored
            assert made.start.hosted.salt.hex() not in stored

    run(story())


def test_every_column_that_moves_is_written():
    hosted = table().start.hosted
    assert set(records.moved_row(hosted)) == set(statements.MOVED)


def test_an_action_sets_no_column_that_stays_as_it_is_where_that_costs_an_index(tmp_path: Path):
    updates: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE game"):
            updates.append(statement)

    async def story() -> None:
        async with opened(f"sqlite:///{tmp_path / 'a.db'}") as store:
            made = await created(store)
            event.listen(store._engine, "before_cursor_execute", note)
            await roll(store, made)
            await roll(store, made, at=AT + DAY_MS)

    run(story())
    plain, later = updates
    assert ["status" in plain, "active_on" in plain, "snapshot" in plain] == [False, False, True]
    assert all(f"{name}=" in later for name in statements.MOVED)


@pytest.mark.parametrize("what", ["freeze", "remove"])
def test_a_game_that_is_frozen_or_removed_is_not_remembered_by_a_change_under_way(
    what, database_url, monkeypatch
):
    """Neither goes through the committer, which may have looked at the game right before."""
    committed, go_on = threading.Event(), threading.Event()
    done = Committer._done

    def done_later(committer: Committer, batch: Batch) -> list[Result]:
        committed.set()
        assert go_on.wait(30)
        return done(committer, batch)

    def refuse(_: HostedGame | None) -> Change:
        raise StaleVersion(version=0)

    async def story():
        async with opened(database_url) as store:
            made = await created(store)
            hosted = await stored(store, made.id)
            monkeypatch.setattr(Committer, "_done", done_later)
            refused = asked(store, made, refuse)
            assert await asyncio.to_thread(committed.wait, 30)
            await (store.freeze([made.id]) if what == "freeze" else store.remove(hosted))
            go_on.set()
            with pytest.raises(StaleVersion):
                await refused
            found = await store.game(made.id)
            assert (found and found.audit) == ("failed" if what == "freeze" else None)
            assert store.remembered(made.id) == found

    run(story())
