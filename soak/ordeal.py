"""A soak of one database: servers under load, and a seeded schedule of all that can go wrong."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias

import psycopg

from service.keys import ServerKey, open_signing_keys
from service.store import upgrade
from soak import servers as disks
from soak.history import History
from soak.nursery import Nursery
from soak.players import Player
from soak.servers import Servers
from soak.verdict import Verdict, judge
from tests.postgres import PipServer
from tests.wire import Cut, Wire

Kind: TypeAlias = Literal["sqlite", "postgresql"]
PLAYERS: Final = 12
_SERVERS: Final[dict[Kind, int]] = {"sqlite": 1, "postgresql": 2}
_BETWEEN: Final = (2, 30)  # acknowledged requests between two faults
_DISK_MIB: Final = 512
_TURNED_AWAY: Final = 4  # requests, before a broken disk is whole again

# What goes wrong, and how often among the faults. Those of the first group are deaths of a server
# and count as kills.
_KILLS: Final = {"kill -9": 8, "death before COMMIT": 1, "death after COMMIT": 1}
_OTHERS: Final[dict[Kind, dict[str, int]]] = {
    "sqlite": {"drain": 2, "broken disk": 2, "full disk": 2},
    "postgresql": {
        "drain": 2,
        "COMMIT cut off before it": 2,
        "COMMIT cut off after it": 2,
        "COMMIT cut off when answered": 2,
        "kill -9 of a session": 1,
        "PostgreSQL dies": 1,
    },
}
_OTHERS_FOR_KILLS: Final = 3  # one other fault for so many kills


@dataclass
class Report:
    """What was done to the servers, what their clients saw, and what the auditor says."""

    kind: Kind
    seed: int
    done: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    slowest_start_s: float = 0.0
    clocks: Counter[int] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)


def schedule(kind: Kind, kills: int, random: Random) -> list[str]:
    """The faults in their order: so many kills of every sort, if there are enough, and some others
    of each sort among them."""
    each = [*_KILLS][:kills]
    deaths = each + random.choices(list(_KILLS), list(_KILLS.values()), k=kills - len(each))
    others = _OTHERS[kind]
    more = random.choices(list(others), list(others.values()), k=kills // _OTHERS_FOR_KILLS)
    due = [*deaths, *others, *more]
    random.shuffle(due)
    return due


async def soak(kind: Kind, kills: int, seed: int, place: Path) -> Report:
    """Plays under the schedule of a seed and has the database judged."""
    report = Report(kind, seed)
    async with AsyncExitStack() as stack:
        ordeal = await stack.enter_async_context(_prepared(kind, seed, place, report))
        due = schedule(kind, kills, ordeal.random)
        await ordeal.suffer(due)
        report.slowest_start_s = ordeal.servers.slowest_s
        report.clocks = ordeal.servers.clocks
        report.asked = ordeal.history.counts
        ordeal.history.close()
        public = open_signing_keys(ordeal.servers.home).public
        report.verdict = await asyncio.to_thread(
            judge, ordeal.url, ordeal.history_file, ordeal.server_key, tuple(public)
        )
    return report


@asynccontextmanager
async def _prepared(kind: Kind, seed: int, place: Path, report: Report) -> AsyncIterator["Ordeal"]:
    random = Random(f"{kind}/{seed}")
    key = random.randbytes(32)
    home = Path(tempfile.mkdtemp(prefix="soak-", dir=place))
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        data = home / "data"
        data.mkdir()
        database: PipServer | None = None
        wire: Wire | None = None
        if kind == "postgresql":
            database = PipServer()
            stack.callback(database.remove)
            url = database.url
            upgrade(url)
            wire = Wire(url)
            stack.callback(wire.close)
            served = wire.url
        else:
            if disks.mounted(data, _DISK_MIB):
                stack.callback(disks.unmount, data)
            else:
                report.left_out["full disk"] = "no small disk can be mounted here"
            url = served = f"sqlite:///{data / 'cubilete.db'}"
        settings = {"CUBILETE_DATABASE_URL": served, "CUBILETE_SERVER_KEY": key.hex()}
        nursery = await stack.enter_async_context(Nursery())
        servers = Servers(nursery, _SERVERS[kind], data, settings, random)
        history_file = home / "history.jsonl"
        history = History(history_file)
        ordeal = Ordeal(servers, history, random, report, database, wire)
        ordeal.url, ordeal.history_file, ordeal.server_key = url, history_file, ServerKey(key)
        yield ordeal


class Ordeal:
    """Servers, their clients, and what befalls them."""

    url: str
    history_file: Path
    server_key: ServerKey

    def __init__(
        self,
        servers: Servers,
        history: History,
        random: Random,
        report: Report,
        database: PipServer | None,
        wire: Wire | None,
    ) -> None:
        self.servers = servers
        self.history = history
        self.random = random
        self._report = report
        self._database = database
        self._wire = wire
        self._faults: dict[str, Callable[[], Awaitable[None]]] = {
            "kill -9": self._kill,
            "death before COMMIT": lambda: self._die("before"),
            "death after COMMIT": lambda: self._die("after"),
            "drain": self._drain,
            "broken disk": self._break_the_disk,
            "full disk": self._fill_the_disk,
            "COMMIT cut off before it": lambda: self._cut("before"),
            "COMMIT cut off after it": lambda: self._cut("after"),
            "COMMIT cut off when answered": lambda: self._cut("answered"),
            "kill -9 of a session": self._kill_a_session,
            "PostgreSQL dies": self._kill_postgresql,
        }

    async def suffer(self, due: list[str]) -> None:
        """Everything that is due, one after the other, while all play; then all is settled."""
        await self.servers.start_all()
        stop = asyncio.Event()
        players = [
            Player(number, f"{self._report.seed}/{number}", self.servers, self.history)
            for number in range(PLAYERS)
        ]
        playing = asyncio.gather(*(player.play(stop) for player in players))
        suffering = asyncio.ensure_future(self._suffer(due))
        try:
            await asyncio.wait((playing, suffering), return_when=asyncio.FIRST_COMPLETED)
            if not suffering.done():
                playing.result()  # nobody stops by himself
            await suffering
            stop.set()
            await playing
        finally:
            suffering.cancel()
            playing.cancel()
            await asyncio.gather(playing, suffering, return_exceptions=True)
        await self.servers.drain_all()

    async def _suffer(self, due: list[str]) -> None:
        least, most = _BETWEEN
        for fault in due:
            await self.history.more(least + self.random.randrange(most))
            if fault not in self._report.left_out:
                await self._faults[fault]()
                self._report.done[fault] += 1
        await self.history.more(most)

    def _any(self) -> int:
        return self.random.randrange(self.servers.count)

    async def _kill(self) -> None:
        """One of them, or all."""
        first = self._any()
        several = self.servers.count > 1 and self.random.random() < 0.2
        hit = range(self.servers.count) if several else [first]
        await asyncio.gather(*map(self.servers.kill, hit))
        await asyncio.gather(*map(self.servers.start, hit))

    async def _die(self, when: Literal["before", "after"]) -> None:
        await self.servers.start(await self.servers.die_at_commit(when))

    async def _drain(self) -> None:
        server = self._any()
        await self.servers.drain(server)
        await self.servers.start(server)

    async def _break_the_disk(self) -> None:
        self.servers.forbid_writes(0)
        await self.history.more(_TURNED_AWAY, "unknown")
        self.servers.allow_writes(0)
        await self.servers.ready(0)

    async def _fill_the_disk(self) -> None:
        disks.fill(self.servers.home)
        await self.history.more(_TURNED_AWAY, "unknown")
        disks.empty(self.servers.home)
        await self.servers.ready(0)

    async def _cut(self, when: Cut) -> None:
        assert self._wire is not None
        before, self._wire.cut = self._wire.cuts, when
        while self._wire.cuts == before:
            await self.history.more(1)

    async def _kill_a_session(self) -> None:
        """PostgreSQL then ends all sessions and recovers from its log."""
        assert self._database is not None
        query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        async with await psycopg.AsyncConnection.connect(self._database.url) as connection:
            found = await (await connection.execute(query)).fetchall()
            own = connection.info.backend_pid
        for (pid,) in found[:1] if found[0][0] != own else found[1:2]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self._ready()

    async def _kill_postgresql(self) -> None:
        assert self._database is not None
        await asyncio.to_thread(self._database.stop, PipServer.CRASH)
        await asyncio.to_thread(self._database.start)
        await self._ready()

    async def _ready(self) -> None:
        await asyncio.gather(*map(self.servers.ready, range(self.servers.count)))
