"""What happens to games that nobody asks for: idle ones end, old ones are exported and go."""

import asyncio
import gzip
import json
import os
import re
import sqlite3
from dataclasses import replace

import pytest
from sqlalchemy import func, select, update
from typer.testing import CliRunner

from service import cli
from service.api import views
from service.auditor import Auditor
from service.errors import GameFrozen, GameNotFound
from service.export import path_of
from service.log import jsonl
from service.requests import Caller, NewGame
from service.store import GameFilter, Retry, tables, upkeep
from service.store.engine import open_engine
from service.verify import verify
from tests.game_client import create
from tests.hosted import AT, plan, rows, run
from tests.postgres import DATABASES, migrated_url
from tests.shifted_server import JSONL, ShiftedServer, wait_for
from tests.timed import DAY_MS, SEATED, Game, House, house


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    """A database for these tests alone: a sweeper looks at every game there is."""
    return migrated_url(request.param, request, tmp_path, "sweep")


async def waiting(one: House) -> Game:
    wanted = NewGame("pig", SEATED, ("Ana", None))
    answer = await one.croupier.create(wanted, Caller(), views.created)
    return Game(one, json.loads(answer.body))


async def ended(one: House, **more) -> Game:
    """A game that is over and has passed its audit."""
    game = await one.create(**more)
    audited = asyncio.Event()
    auditor = Auditor(one.store, lambda _: audited.set())
    await game.act(1, "resign")
    auditor.note([await game.stored()])
    await audited.wait()
    await auditor.close()
    return game


def keeping(one: House, **days) -> None:
    """Other days from now on."""
    one.keeping = replace(one.sweeper._keeping, **days)
    one.__post_init__()


def test_a_game_that_waits_too_long_is_void_and_one_that_moved_is_not(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            old = await waiting(one)
            one.now += DAY_MS
            young = await waiting(one)
            one.now += 6 * DAY_MS - 1
            await one.sweeper.idle()
            assert (await old.stored()).game.status == "waiting"
            one.now += 1
            await one.sweeper.idle()
            hosted = await old.stored()
            assert (hosted.game.status, hosted.game.reason) == ("void", "idle")
            assert (await young.stored()).game.status == "waiting"

    run(story())


def test_a_game_without_a_clock_is_abandoned_and_one_with_a_clock_is_played_on(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            still = await one.create(turn_seconds=None)
            timed = await one.create()
            one.now += 30 * DAY_MS
            await one.sweeper.sweep()
            hosted = await still.stored()
            assert (hosted.game.status, hosted.game.reason) == ("abandoned", "idle")
            assert await timed.late() == [("roll", 0)]
            record = await one.store.lines(still.id)
            assert b'"abandoned"' in record[-1]

    run(story())


def test_answers_are_kept_while_the_game_goes_on_and_some_days_longer(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game, going = await ended(one), await one.create(turn_seconds=None)
            asked = {
                other.id: Caller(other.token(0), Retry(os.urandom(32), bytes(32)))
                for other in (game, going)
            }
            for game_id, caller in asked.items():
                await one.croupier.rotate(game_id, 0, caller, views.renewed)

            def kept(which: Game) -> int:
                answer = tables.answer
                query = select(func.count()).where(answer.c.game_id == which.id)
                return rows(url, query)[0]

            one.now += 29 * DAY_MS
            await one.sweeper.answers()
            assert (kept(game), kept(going)) == (1, 1)
            one.now += 2 * DAY_MS
            await one.sweeper.answers()
            assert (kept(game), kept(going)) == (0, 1)
            again = await one.croupier.rotate(going.id, 0, asked[going.id], views.renewed)
            assert again.replayed

    run(story())


def test_answers_of_a_change_to_a_game_of_long_ago_are_forgotten_as_well(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await ended(one)
            one.now += 31 * DAY_MS
            await one.sweeper.answers()
            asking = Caller(game.token(0), Retry(os.urandom(32), bytes(32)))
            await one.croupier.rotate(game.id, 0, asking, views.renewed)
            kept = select(func.count()).where(tables.answer.c.game_id == game.id)
            assert rows(url, kept) == [1]
            one.now += DAY_MS
            await one.sweeper.answers()
            assert rows(url, kept) == [0]

    run(story())


def test_an_old_game_is_deleted_once_its_record_is_on_disk(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            old, going = await ended(one), await one.create(turn_seconds=None)
            log = await one.store.lines(old.id)
            one.now += 400 * DAY_MS
            await one.sweeper.retention()
            assert await one.store.game(old.id) is not None  # off by default
            keeping(one, retention_days=90)
            await one.sweeper.retention()
            assert await one.store.game(old.id) is None
            with pytest.raises(GameNotFound):
                await one.croupier.read(old.id)
            for table in tables.metadata.sorted_tables:
                if "game_id" in table.c:
                    query = select(func.count()).where(table.c.game_id == old.id)
                    assert rows(url, query) == [0], table.name
            assert (await going.stored()).game.status == "playing"
            record = gzip.decompress(
                path_of(tmp_path / "exported", "2026-01-01", old.id).read_bytes()
            )
            assert verify(record).ok
            assert [line.encode() for line in json.loads(record)["log"]] == log
            assert b"Seat 0" not in record
            assert one.failures == 0
            assert old.id in one.changed

    run(story())


def test_a_record_that_cannot_be_written_keeps_its_game(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            old = await ended(one)
            one.now += 400 * DAY_MS
            (tmp_path / "text").write_text("no directory")
            keeping(one, retention_days=90, export_dir=tmp_path / "text" / "records")
            await one.sweeper.sweep()
            assert await one.store.game(old.id) is not None
            assert one.failures >= 1

    run(story())


def test_a_game_whose_audit_has_not_passed_stays(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            unaudited = await one.create()
            await unaudited.act(1, "resign")
            one.now += 400 * DAY_MS
            keeping(one, retention_days=90)
            await one.sweeper.retention()
            assert await one.store.game(unaudited.id) is not None

    run(story())


def test_a_game_that_moves_while_it_is_exported_is_not_deleted(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            game = await ended(one)
            before = await game.stored()
            host = Caller(game.told["tokens"]["host"])
            await one.croupier.rematch(game.id, None, host, views.rematched)
            assert not await one.store.remove(before)
            assert await one.store.game(game.id) is not None

    run(story())


def damage(url: str, game_id: str, **columns) -> None:
    engine = open_engine(url)
    game = tables.game
    with engine.begin() as connection:
        changed = {**columns, "revision": game.c.revision + 1}
        connection.execute(update(game).where(game.c.id == game_id).values(changed))
    engine.dispose()


def test_a_row_that_is_no_game_stops_neither_the_sweep_nor_the_others(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            bad, good = await one.create(), await one.create()
        damage(url, bad.id, snapshot='{"version": "one"}')
        async with house(url, tmp_path, now=AT + DAY_MS) as one:
            good.house = one
            await one.sweeper.deadlines()
            assert await good.late() == [("roll", 0)]
            with pytest.raises(GameFrozen):
                await one.croupier.read(bad.id)
            failures = one.failures
            await one.sweeper.deadlines()
            assert one.failures == failures >= 1  # it is frozen, and not tried again
            assert one.changed.count(bad.id) == 1
            audit = select(tables.game.c.audit).where(tables.game.c.id == bad.id)
            assert rows(url, audit) == ["failed"]

    run(story())


def test_who_listens_to_a_game_is_told_that_a_list_has_frozen_it(url, tmp_path):
    async def story():
        async with house(url, tmp_path) as one:
            bad = await one.create()
        damage(url, bad.id, snapshot='{"version": "one"}')
        async with house(url, tmp_path) as one:
            await one.croupier.listed(GameFilter(), None, 10)
            assert bad.id in one.changed  # others share the database

    run(story())


def test_the_sweep_finds_its_games_by_an_index(url, tmp_path):
    queries = {
        "ix_game_deadline": upkeep.due(AT, (-1, ""), 100),
        "ix_game_activity": upkeep.idle("waiting", 20_000, (-1, ""), 100),
        "ix_game_activity ": upkeep.with_answers((0, 20_000), 100),
        "ix_holder_token_hash": upkeep.games_of(b"h" * 32, 3)[0],
        "ix_game_host_hash": upkeep.games_of(b"h" * 32, 3)[1],
    }
    for name, query in queries.items():
        assert name in plan(url, query)


# --- a whole server -------------------------------------------------------------------------------


def one_that_ended_long_ago(home):
    """The id and the log of the only game of a server that has stopped."""
    with ShiftedServer(home) as server, server.client() as client:
        server.set_clock(AT)
        table = create(client)
        table.act(0, "resign")
        log = table.client.get(f"{table.path}/log", headers=JSONL).content
        wait_for(lambda: 'passed"} 1.0' in client.get("/metrics").text)
    return table.id, log


def test_export_writes_old_games_to_files_and_deletes_them(tmp_path):
    home = tmp_path / "data"
    game_id, log = one_that_ended_long_ago(home)
    told = CliRunner().invoke(cli.app, ["export", "--data-dir", str(home)])
    assert told.exit_code == 2
    assert "CUBILETE_RETENTION_DAYS" in told.stderr
    out = str(tmp_path / "out")
    asked = ["export", "--days", "1", "--export-dir", out, "--data-dir", str(home)]
    told = CliRunner().invoke(cli.app, asked)
    assert (told.exit_code, told.stdout) == (0, f"1 exported to {out}, and deleted\n"), told.stderr
    record = gzip.decompress(path_of(tmp_path / "out", "2026-01-01", game_id).read_bytes())
    assert verify(record).ok
    assert jsonl([line.encode() for line in json.loads(record)["log"]]) == log
    with ShiftedServer(home) as server, server.client() as client:
        assert client.get(f"/v1/games/{game_id}").status_code == 404
    assert CliRunner().invoke(cli.app, asked).stdout.startswith("0 exported")


def test_export_says_that_a_record_could_not_be_written_and_the_game_stays(tmp_path):
    home, out = tmp_path / "data", tmp_path / "out"
    game_id, _ = one_that_ended_long_ago(home)
    out.mkdir()
    in_the_way = out / "2026-01-01"
    in_the_way.write_text("no directory")
    asked = ["export", "--days", "1", "--export-dir", str(out), "--data-dir", str(home)]
    told = CliRunner().invoke(cli.app, asked)
    assert (told.exit_code, told.stdout) == (1, f"0 exported to {out}, and deleted\n")
    last = told.stderr.splitlines()[-1]
    assert re.match(r"cubilete: 1 could not be exported, and stay: .*File exists", last), last
    assert "Traceback" not in told.stderr
    in_the_way.unlink()
    assert CliRunner().invoke(cli.app, asked).stdout.startswith("1 exported")
    assert path_of(out, "2026-01-01", game_id).exists()


def test_export_from_a_store_that_breaks_off_says_so_in_one_line(tmp_path):
    home = tmp_path / "data"
    one_that_ended_long_ago(home)
    with sqlite3.connect(home / "cubilete.db") as connection:
        connection.execute("ALTER TABLE answer RENAME TO elsewhere")
    connection.close()
    told = CliRunner().invoke(cli.app, ["export", "--days", "1", "--data-dir", str(home)])
    assert told.exit_code == 1, told.output
    assert told.stderr.startswith("cubilete: ")
    assert told.stderr.count("\n") == 1
