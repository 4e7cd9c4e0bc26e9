"""What streams cost the process that tells them, and what ends them: a house without its HTTP.

The other side of a stream is played here: it reads, stops reading and goes away as the tests say.
"""

import asyncio
import json
from contextlib import asynccontextmanager, closing

from sqlalchemy import Engine, Pool, event

from service.api import views
from service.api.framing import ServerSentEvents
from service.api.house import open_house
from service.api.live import EventStream
from service.api.metrics import Metrics
from service.heads import Head
from service.requests import Caller, NewGame
from service.rules.base import Hold, Resign, Roll
from service.settings import Settings
from service.store.engine import SQLITE
from tests.hosted import run

LONG = {"starter": "seat", "target": 1000}


class Reader:
    """Who hears a stream: as an ASGI server hands it on."""

    def __init__(self, stream):
        self.events = []
        self.comments = 0
        self.reading = asyncio.Event()
        self.reading.set()
        self._gone = asyncio.Event()
        self._asked = False
        self._heard = asyncio.Condition()
        self.task = asyncio.create_task(stream({"type": "http"}, self._receive, self._send))

    async def _receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        await self.reading.wait()
        for text in message.get("body", b"").decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
            self.comments += text == ":"
            if fields:
                self.events.append((fields["event"], json.loads(fields["data"])))
        async with self._heard:
            self._heard.notify_all()

    def names(self):
        return [name for name, _ in self.events]

    async def until(self, name):
        async with self._heard:
            await self._heard.wait_for(lambda: name in self.names())
        return self.events[-1][1]

    async def comment(self):
        async with self._heard:
            await self._heard.wait_for(lambda: self.comments)

    def go(self):
        self._gone.set()


def seqs(reader):
    return [data["seq"] for name, data in reader.events if name == "entry"]


class House:
    """A house with one game at a hot seat."""

    def __init__(self, opened, place):
        self.croupier, self.live = opened.croupier, opened.live
        self.store = opened.croupier._store
        self._place = place

    async def create(self):
        wanted = NewGame("pig", LONG, ("Ana", "Ben"), hotseat=True)
        told = json.loads((await self.croupier.create(wanted, Caller(), views.created)).body)
        self.id, self.host = told["game"]["id"], told["tokens"]["host"]
        self.seat = told["tokens"]["seats"][0]["token"]

    async def act(self, action, seat=None):
        caller = Caller(self.host, receipt=False)
        return await self.croupier.act(self.id, seat, action, caller, views.changed)

    async def roll(self, times):
        """Turns of one roll, held as soon as that is legal."""
        for _ in range(times):
            legal = (await self.croupier.read(self.id)).game.legal()
            holds = any(one.kind == "hold" for one in legal)
            await self.act(Hold(kind="hold") if holds else Roll(kind="roll"))

    async def join(self, after=None, token=None):
        """A stream that nobody has heard anything of yet."""
        stream = EventStream(self.live, ServerSentEvents(), token)
        await stream.join([(self.id, after)])
        return stream

    async def listen(self, after=None, token=None):
        return Reader(await self.join(after, token))

    def damage(self, statement):
        """Changes the database behind the back of the house, which no longer remembers it."""
        with closing(SQLITE.connect(self._place / "cubilete.db", timeout=10)) as database, database:
            database.execute(statement)
        self.store._cache.drop([self.id])


@asynccontextmanager
async def opened(place):
    async with open_house(Settings(data_dir=place), Metrics()) as house:
        found = House(house, place)
        await found.create()
        yield found


def test_a_reader_who_stops_reading_is_cut_with_resync_and_misses_nothing_afterwards(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            slow, quick = await house.listen(), await house.listen()
            await slow.until("snapshot")
            slow.reading.clear()
            await house.roll(300)
            await quick.until("entry")
            slow.reading.set()
            await asyncio.wait_for(slow.task, 10)
            assert slow.names()[-1] == "resync"
            told = seqs(slow)
            again = await house.listen(after=told[-1] if told else 3)
            await house.act(Resign(kind="resign"), seat=0)
            last = (await again.until("end"))["version"]
            await quick.until("end")
            assert told + seqs(again) == seqs(quick) == list(range(4, last + 1))

    run(story())


def test_two_hundred_listeners_cost_one_read_an_entry(tmp_path):
    read = []

    def note(connection, cursor, statement, *_):
        if "entry" in statement and statement.lstrip().upper().startswith("SELECT"):
            read.append(statement)

    async def story():
        async with opened(tmp_path) as house:
            readers = [await house.listen() for _ in range(200)]
            for reader in readers:
                await reader.until("snapshot")
            event.listen(Engine, "before_cursor_execute", note)
            try:
                await house.roll(10)
                await house.act(Resign(kind="resign"), seat=0)
                for reader in readers:
                    await reader.until("end")
            finally:
                event.remove(Engine, "before_cursor_execute", note)
            entries = [reader.names().count("entry") for reader in readers]
            assert entries == [entries[0]] * 200
            assert entries[0] >= 11
            assert 1 <= len(read) <= 11 + 2  # the audit of the finished game reads it as well

    run(story())


def test_a_stream_that_waits_holds_no_connection_of_the_database(tmp_path):
    out = []

    def taken(*_):
        out.append(1)

    def given_back(*_):
        out.append(-1)

    async def story():
        event.listen(Pool, "checkout", taken)
        event.listen(Pool, "checkin", given_back)
        try:
            async with opened(tmp_path) as house:
                readers = [await house.listen() for _ in range(20)]
                for reader in readers:
                    await reader.until("snapshot")
                assert 1 in out, "they are counted"
                # The committer keeps one; whatever else looks gives its own back.
                while sum(out) > 1:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                for reader in readers:
                    reader.go()
                    await reader.task
        finally:
            event.remove(Pool, "checkout", taken)
            event.remove(Pool, "checkin", given_back)

    run(story())


def test_a_listener_who_goes_leaves_nothing(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            tasks = len(asyncio.all_tasks())
            for _ in range(3):
                readers = [await house.listen(token=house.seat) for _ in range(20)]
                for reader in readers:
                    await reader.until("snapshot")
                assert house.live.streams == 20
                for reader in readers:
                    reader.go()
                    await reader.task
                assert house.live.streams == 0
                assert len(asyncio.all_tasks()) == tasks

    run(story())


def test_a_stream_that_has_nothing_to_tell_says_that_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr("service.api.live._PING_S", 0.05)

    async def story():
        async with opened(tmp_path) as house:
            reader = await house.listen()
            for _ in range(2):
                await asyncio.wait_for(reader.comment(), 10)
                reader.comments = 0
            assert reader.names() == ["snapshot"]
            reader.go()
            await reader.task

    run(story())


def test_a_stream_ends_when_the_game_is_abandoned(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            reader = await house.listen()
            await reader.until("snapshot")
            ahead = Head(house.id, 99, bytes(32))
            assert await house.croupier.end_restored({house.id: ahead}) == [house.id]
            told = await reader.until("end")
            assert (told["status"], told["reason"]) == ("abandoned", "restored")

    run(story())


def test_presence_lasts_until_the_last_stream_of_a_seat_is_gone_and_a_while_longer(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            one, other = [await house.listen(token=house.seat) for _ in range(2)]
            watching = await house.listen()
            await watching.until("snapshot")
            one.go()
            other.go()
            await other.task
            await asyncio.sleep(0.5)
            back = await house.listen(token=house.seat)  # a page that is loaded anew
            await asyncio.sleep(2.5)
            assert house.croupier.present(await house.croupier.read(house.id)) == {0}
            assert "presence" not in watching.names()
            back.go()
            told = await asyncio.wait_for(watching.until("presence"), 6)
            assert told["present"] == []

    run(story())


# --- what can't be read -------------------------------------------------------------------------


def test_a_game_that_freezes_while_it_is_followed_ends_its_streams(tmp_path, caplog):
    async def story():
        async with opened(tmp_path) as house:
            reader = await house.listen()
            await reader.until("snapshot")
            house.damage("UPDATE game SET deadline = 1, snapshot = '{}'")  # the sweep meets it
            told = await asyncio.wait_for(reader.until("end"), 10)
            assert (told["status"], told["reason"]) == ("playing", "frozen")
            await reader.task
            assert "could not be followed" not in caplog.text

    run(story())


def test_who_comes_back_to_a_game_that_freezes_meanwhile_is_told_its_end(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            await house.roll(3)
            stream = await house.join(after=0)
            house.damage("UPDATE game SET snapshot = '{}'")
            reader = Reader(stream)
            assert (await reader.until("end"))["reason"] == "frozen"
            await reader.task
            assert "entry" not in reader.names()

    run(story())


def test_who_comes_back_to_a_game_that_is_deleted_meanwhile_is_told_its_end(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            await house.roll(3)
            stream = await house.join(after=0)
            assert await house.store.remove(await house.croupier.read(house.id))
            reader = Reader(stream)
            assert (await reader.until("end"))["reason"] == "deleted"
            await reader.task
            assert "entry" not in reader.names()

    run(story())


def test_who_comes_back_while_the_database_is_away_is_told_to_come_again(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            await house.roll(3)
            stream = await house.join(after=0)
            house.damage("ALTER TABLE entry RENAME TO away")
            reader = Reader(stream)
            assert await reader.until("resync") == {"game": house.id}
            await reader.task
            assert reader.names() == ["resync"]
            house.damage("ALTER TABLE away RENAME TO entry")
            again = await house.listen(after=0)
            await house.act(Resign(kind="resign"), seat=0)
            last = (await again.until("end"))["version"]
            assert seqs(again) == list(range(1, last + 1))

    run(story())


def test_lines_that_are_missing_do_not_keep_a_stream_looking_for_them(tmp_path):
    async def story():
        async with opened(tmp_path) as house:
            await house.roll(3)
            stream = await house.join(after=0)
            house.damage("DELETE FROM entry")
            reader = Reader(stream)
            assert await asyncio.wait_for(reader.until("resync"), 10) == {"game": house.id}
            await reader.task

    run(story())
