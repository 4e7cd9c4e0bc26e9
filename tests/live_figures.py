"""Measures streams, and checks while it does so that nobody misses an entry.

    make streams ARGS="--listeners 200 --idle 2000 --restarts 20"

Starts a PostgreSQL from pip and servers over it; prints its figures, and ends with 1 if anything
was lost.
"""

import argparse
import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.audience import Listener, idle
from tests.crowd import Asked, ask_alone
from tests.game_client import Table, bearer, create, keyed, new_key
from tests.listener import listening
from tests.postgres import Databases, PipServer
from tests.proxy import Proxy
from tests.server import Server

AT_ONCE: Final = {"starter": "seat", "target": 1000}
# All clients have one address here, and none of these figures is about its limits.
VARIABLES: Final = {
    "CUBILETE_SERVER_KEY": "5a" * 32,
    "CUBILETE_CONNECTIONS_PER_ADDRESS": "20000",
    "CUBILETE_CONNECTION_LIMIT": "20000",
    "CUBILETE_RATE_ACTIONS": "0",
    "CUBILETE_RATE_TOKEN": "0",
    "CUBILETE_RATE_READS": "0",
    "CUBILETE_RATE_CREATE": "0",
}
_CUT_BYTES: Final = 6_000
# A game has 1,024 throws.
_ROLLS: Final = 1_000
_PAUSE_S: Final = 0.1


def hot_seats(server: Server, count: int) -> list[Table]:
    """Games that one client can play alone."""
    with server.client() as client:
        return [create(client, options=AT_ONCE, hotseat=True) for _ in range(count)]


def asked(table: Table, **action: object) -> Asked:
    """An action of a hot seat that is safe to send again."""
    return Asked(f"{table.path}/actions", action, {**bearer(table.host), **keyed(new_key())})


def log_of(server: Server, table: Table) -> list[str]:
    """The lines of a log as they are stored."""
    with server.client() as client:
        answer = client.get(f"{table.path}/log", headers={"accept": "application/jsonl"})
        return answer.text.splitlines()


# --- listeners that are cut ---------------------------------------------------------------------


@dataclass
class Load:
    """What clients did, each at its own game: ``refused`` are answers other than 200, ``broken``
    requests that got none; ``took_s`` is how long each request took."""

    acted: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)


async def play(
    port: int,
    tables: Sequence[Table],
    going: Callable[[int], bool],
    load: Load,
    pause_s: float = 0,
) -> None:
    """One client a game rolls as long as it is ``going``, then gives the game up."""

    async def one(table: Table) -> None:
        rolls = 0
        while going(rolls):
            await _ask(port, asked(table, kind="roll"), load)
            await asyncio.sleep(pause_s)
            rolls += 1
        await _ask(port, asked(table, kind="resign", seat=0), load)
        load.acted[table.id] = rolls + 1

    await asyncio.gather(*(one(table) for table in tables))


async def _ask(port: int, action: Asked, load: Load) -> None:
    began = time.perf_counter()
    try:
        answer = await ask_alone(port, action)
    except (OSError, asyncio.IncompleteReadError) as error:
        load.broken.append(repr(error))
        return
    load.took_s.append(time.perf_counter() - began)
    if answer.status != 200:
        load.refused.append(f"{answer.status} {answer.code}")


def audience(ports: Sequence[int], tables: Sequence[Table], each: int, seed: int) -> list[Listener]:
    """So many listeners for each game, most of them cut off at random."""
    chance = Random(seed)
    return [
        Listener(
            ports,
            table.path,
            Random(chance.random()),
            cut_after=0 if number % 5 == 0 else _CUT_BYTES,
            query="?after=0" if number % 3 == 0 else "",
        )
        for table in tables
        for number in range(each)
    ]


def faults(server: Server, tables: Sequence[Table], heard: Sequence[Listener]) -> list[str]:
    """What listeners missed of the logs as they are stored."""
    logs = {table.path: log_of(server, table) for table in tables}
    found = ((one, one.missed(logs[one.path])) for one in heard)
    return [
        f"{one.path} over {one.connections} connections: {fault}" for one, fault in found if fault
    ]


def cut_listeners(server: Server, games: int, each: int, rolls: int, seed: int) -> list[str]:
    """Listeners of games that are played at the same time; returns what any of them missed."""
    tables = hot_seats(server, games)
    heard = audience([server.port], tables, each, seed)
    load = Load()

    async def run() -> None:
        listening = [asyncio.create_task(one.listen()) for one in heard]
        await play(server.port, tables, lambda done: done < rolls, load)
        await asyncio.wait_for(asyncio.gather(*listening), 60)

    began = time.monotonic()
    asyncio.run(run())
    told = sum(len(one.lines) for one in heard)
    print(
        f"{len(heard)} listeners of {games} games on {sum(one.connections for one in heard)} "
        f"connections heard {told} entries in {time.monotonic() - began:.1f} s "
        f"(seed {seed})"
    )
    return [*load.refused, *load.broken, *faults(server, tables, heard)]


# --- restarts -----------------------------------------------------------------------------------


def rolling_restarts(servers: Sequence[Server], restarts: int, seed: int) -> list[str]:
    """Two servers behind a proxy are stopped and started in turn while games are played and heard;
    returns what failed or was missed."""
    tables = hot_seats(servers[0], 8)
    load = Load()
    codes: list[int] = []
    slowest: list[float] = []
    done = False

    async def run() -> tuple[list[Listener], Proxy]:
        async with Proxy([server.port for server in servers]) as proxy:
            heard = audience([proxy.port], tables, 5, seed)
            hearing = [asyncio.create_task(one.listen()) for one in heard]
            playing = asyncio.create_task(
                play(proxy.port, tables, lambda rolls: not done and rolls < _ROLLS, load, _PAUSE_S)
            )
            await restart()
            await playing
            await asyncio.wait_for(asyncio.gather(*hearing), 60)
            return heard, proxy

    async def restart() -> None:
        nonlocal done
        for number in range(restarts):
            server = servers[number % len(servers)]
            began = time.monotonic()
            codes.append(await asyncio.to_thread(server.stop))
            slowest.append(time.monotonic() - began)
            await asyncio.to_thread(server.start)
        done = True

    heard, proxy = asyncio.run(run())
    print(
        f"{restarts} restarts in turn: {sum(load.acted.values())} actions, "
        f"{len(load.broken)} requests without an answer, {len(load.refused)} refused, "
        f"{proxy.failed} that no server took, {proxy.dropped} let in and not answered, "
        f"{proxy.cut} answers cut; a stop took {max(slowest):.1f} s at most; "
        f"{len(heard)} listeners on {sum(one.connections for one in heard)} connections; "
        f"slowest action {max(load.took_s) * 1000:.0f} ms (seed {seed})"
    )
    found = [*load.broken, *load.refused, *faults(servers[0], tables, heard)]
    found += [f"exit code {code}" for code in codes if code]
    found += [f"{proxy.failed} requests without a server"] * bool(proxy.failed)
    for table in tables:
        acted = sum('"type":"acted"' in line for line in log_of(servers[0], table))
        if acted != load.acted[table.id]:
            found.append(f"{load.acted[table.id]} actions answered, {acted} stored")
    return found


# --- idle streams -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Idle:
    """What idle streams cost: actions' times at a server with them and at one without, both asked
    in turn, in seconds; memory and descriptors before, with them and after they are closed."""

    without_s: list[float]
    with_s: list[float]
    resident_kib: tuple[int, int, int]
    descriptors: tuple[int, int, int]
    tasks: tuple[int, int, int]

    def p99_ms(self) -> tuple[float, float]:
        return _p99_ms(self.without_s), _p99_ms(self.with_s)


def _p99_ms(times_s: list[float]) -> float:
    return statistics.quantiles(times_s, n=100)[98] * 1000


def idle_streams(plain: Server, busy: Server, streams: int, actions: int) -> Idle:
    """Opens streams of as many games at ``busy`` and plays at both servers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * streams + 512)), hard))
    played = hot_seats(busy, 4)
    listened = [table.path for table in hot_seats(busy, streams)]
    states = [_state(busy)]

    async def run() -> tuple[list[float], list[float]]:
        writers = await idle(busy.port, listened)
        states.append(_state(busy))
        plain_load, busy_load = Load(), Load()
        for _ in range(actions // len(played)):
            for server, load in ((plain, plain_load), (busy, busy_load)):
                await asyncio.gather(
                    *(_ask(server.port, asked(table, kind="roll"), load) for table in played)
                )
        for writer in writers:
            writer.transport.abort()
        if plain_load.refused or busy_load.refused:
            raise AssertionError(plain_load.refused + busy_load.refused)
        return plain_load.took_s, busy_load.took_s

    without_s, with_s = asyncio.run(run())
    deadline = time.monotonic() + 20
    while (after := _state(busy))[1:] != states[0][1:] and time.monotonic() < deadline:
        time.sleep(0.1)
    return Idle(without_s, with_s, *zip(*states, after, strict=True))


def _state(server: Server) -> tuple[int, int, int]:
    """Resident memory in KiB, open descriptors, and tasks of a server of one process."""
    place = Path(f"/proc/{server.pid}")
    resident = next(
        line for line in (place / "status").read_text().splitlines() if line.startswith("VmRSS")
    )
    with server.client() as client:
        metrics = client.get("/metrics", headers={"connection": "close"}).text
        tasks = next(line for line in metrics.splitlines() if line.startswith("cubilete_tasks"))
    descriptors = len(list((place / "fd").iterdir()))
    return int(resident.split()[1]), descriptors, int(float(tasks.split()[1]))


# --- how soon -----------------------------------------------------------------------------------


def delays(one: Server, other: Server, rounds: int) -> list[float]:
    """How long after the answer at one server an entry is heard at the other, sorted, in s."""
    found = []
    with one.client() as client, other.client() as elsewhere:
        table = create(client, options=AT_ONCE, hotseat=True)
        with listening(elsewhere, f"{table.path}/stream") as heard:
            heard.until("snapshot")
            for _ in range(rounds):
                answer = table.post("/actions", {"kind": "roll"})
                answered = time.monotonic()
                *_, entry = heard.until("entry")
                found.append(time.monotonic() - answered)
                if entry.data.encode() not in answer.content:
                    raise AssertionError("another entry was heard")
            table.post("/actions", {"kind": "resign", "seat": 0})
            heard.until("end")
    return sorted(found)


# --- the command --------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make streams")
    parser.add_argument("--listeners", type=int, default=200)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=Random().randrange(10**6))
    given = parser.parse_args(arguments)
    postgres = PipServer()
    try:
        with tempfile.TemporaryDirectory() as place:
            faults = _measure(Path(place), Databases(postgres.url).migrated(), given)
    finally:
        postgres.remove()
    for fault in faults:
        print(f"FAULT {fault}")
    return 1 if faults else 0


def _measure(place: Path, url: str, given: argparse.Namespace) -> list[str]:
    shared = {**VARIABLES, "CUBILETE_DATABASE_URL": url}
    found: list[str] = []
    with Server(place / "two", **shared, CUBILETE_WORKERS="2") as two:
        each = max(1, given.listeners // 8)
        found += cut_listeners(two, 8, each, 100, given.seed)
    one, other = Server(place / "one", **shared), Server(place / "other", **shared)
    with one, other:
        found += _told_delays("by notices", delays(one, other, 200))
        costs = idle_streams(other, one, given.idle, 2000)
        found += _told_costs(costs, given.idle)
        found += rolling_restarts([one, other], given.restarts, given.seed)
    shared["CUBILETE_BELL"] = "poll"
    with Server(place / "one", **shared) as one, Server(place / "other", **shared) as other:
        _told_delays("without notices", delays(one, other, 8))
    return found


def _told_delays(how: str, found: list[float]) -> list[str]:
    median, p99 = statistics.median(found) * 1000, found[int(len(found) * 0.99)] * 1000
    print(f"an entry is heard at another server {how} after {median:.1f} ms (p99 {p99:.1f} ms)")
    return [] if median < 50 else [f"entries are heard after {median:.0f} ms"]


def _told_costs(costs: Idle, streams: int) -> list[str]:
    without, with_streams = costs.p99_ms()
    before, opened, after = costs.resident_kib
    print(
        f"{streams} idle streams: an action's p99 is {with_streams:.1f} ms with them and "
        f"{without:.1f} ms without; {(opened - before) / streams:.1f} KiB a stream "
        f"({before / 1024:.0f} MiB before, {opened / 1024:.0f} with, {after / 1024:.0f} after); "
        f"descriptors {costs.descriptors}, tasks {costs.tasks}"
    )
    found = [] if with_streams < 2 * without else ["idle streams double an action's p99"]
    for name, (first, _, last) in (("descriptors", costs.descriptors), ("tasks", costs.tasks)):
        if last > first:
            found.append(f"{last - first} {name} are left")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
