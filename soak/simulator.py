"""Many games at once over the real croupier and store, on a schedule that one seed decides.

    make simulator ARGS="--games 20000 --seed 7"

The clients of many tables ask, in batches. Between and within the batches the process dies (in the
middle of a transaction, before its COMMIT, after it, after the head file) and is opened again from
its files; statements and COMMITs fail, answers get lost and are asked for again, and the clock
jumps. Then every game is audited: its dice and chips, its log and rules, and that each
acknowledged change stands in it once and nothing else does.

The games are played in worlds of some hundred, with a database each, by as many processes as there
are processors. A world follows from its seed alone; a fault prints the arguments that play it
again.
"""

import argparse
import asyncio
import functools
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from service import rules
from service.errors import Unavailable
from service.keys import ServerKey, SigningKeys
from service.store import Answer, upgrade
from soak.auditing import Stored, faults
from soak.clients import Asked, Clients
from soak.house import DEATHS, ERRORS, Fault, House, InlineLoop
from tests.drawn_options import one_of, table
from tests.played import AT, SEED_MODES, secret

WORLD: Final = 500  # games
_TABLES: Final = 160  # at once
_DEATHS: Final = 0.06  # of the batches
_ERRORS: Final = 0.10
_JUMPS: Final = 0.05
_LOST: Final = 0.03  # of the answers
_BATCHES_MOST: Final = 50  # for each game
# Games that are over soon: what is tried here is the way to the disk.
_SHORT: Final = {"target": 8, "bets": 1, "circuits": 1, "rounds": 2}
_FEW: Final = 3  # seats, as a rule
_EMPTY: Final = "empty.db"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - where it is, a disk in memory


@dataclass
class Tally:
    """What was played, and what has gone wrong on purpose."""

    games: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    entries: int = 0

    def add(self, other: "Tally") -> None:
        """Both as one."""
        self.games += other.games
        self.done += other.done
        self.entries += other.entries


class World:
    """Some games on one database, from one seed."""

    def __init__(self, number: int, seed: int, games: int, home: Path) -> None:
        self._random = Random(f"{seed}/{number}")
        self._home = home
        self._at = AT
        self._number = number
        self._games = games
        self._made = 0
        self._server_key = ServerKey(secret(seed, number, "server key"))
        self._signing = SigningKeys(secret(seed, number, "signing key"))
        self._house = self._opened()
        self._playing: list[Clients] = []
        self._over: list[Clients] = []
        self.tally = Tally()

    def _opened(self) -> House:
        return House(self._home, self._server_key, self._signing, self._now, self._entropy)

    def _now(self) -> int:
        return self._at

    def _entropy(self, size: int) -> bytes:
        return self._random.randbytes(size)

    async def play(self) -> Tally:
        """Plays all games to their end and audits them; raises AssertionError at a fault."""
        for _ in range(_BATCHES_MOST * (self._games + 1)):
            self._seat_more()
            if not self._playing:
                break
            await self._batch()
        else:
            raise AssertionError("the games don't end")
        await self._reopen()
        for clients in self._over:
            await self._audit(clients)
        await self._house.close()
        return self.tally

    def _seat_more(self) -> None:
        over = [clients for clients in self._playing if clients.over]
        self._over += over
        rematches = [one.next for one in over if one.next is not None]
        self._playing = [one for one in self._playing if not one.over] + rematches
        while len(self._playing) < _TABLES and self._made < self._games:
            self._playing.append(self._clients(self._made))
            self._made += 1

    def _clients(self, number: int) -> Clients:
        ruleset = rules.RULESETS[number % len(rules.RULESETS)]
        seats, options = table(ruleset, self._random, _SHORT)
        while seats > _FEW and self._random.random() < 0.9:
            seats, options = table(ruleset, self._random, _SHORT)
        mode = one_of(self._random, SEED_MODES)
        name = f"w{self._number}-g{number}"
        return Clients(
            name,
            ruleset,
            seats,
            options,
            mode,
            self._random,
            secret(name, "root") if mode == "practice" else None,
            calls_off=self._random.random() < 0.02,
            plays_on=mode in ("operator", "practice") and self._random.random() < 0.15,
        )

    # -- one batch -------------------------------------------------------------------------------

    async def _batch(self) -> None:
        """What everybody asks at one moment, as one transaction of the committer."""
        self._at += 1 + int(self._random.random() * 1000)
        if self._random.random() < _JUMPS:
            self._at += one_of(self._random, (-3_600_000, 86_400_000))
            self.tally.done["clock jumps"] += 1
        asked = [(clients, one) for clients in self._playing for one in clients.asks()]
        asked.sort(key=lambda _: self._random.random())
        croupier = self._house.croupier
        sent = [one.sent(croupier) for _, one in asked]
        answers = await self._house.one_batch(sent, self._fault())
        for fired in self._house.fired:
            self.tally.done[f"fault: {fired.kind}"] += 1
        self._house.fired.clear()
        for (clients, one), answer in zip(asked, answers, strict=True):
            self._hand_over(clients, one, answer)
        if self._house.died.is_set():
            self._house.bury()
            await self._start_again()

    def _fault(self) -> Fault | None:
        chance, statement = self._random.random(), 1 + int(self._random.random() * 8)
        if chance < _DEATHS:
            return Fault(one_of(self._random, DEATHS), statement)
        if chance < _DEATHS + _ERRORS:
            return Fault(one_of(self._random, ERRORS), statement)
        return None

    def _hand_over(self, clients: Clients, one: Asked, answer: "asyncio.Task[Answer]") -> None:
        lost = self._random.random() < _LOST
        if answer.cancelled():
            self.tally.done["requests without an answer"] += 1
            clients.heard(one, None, lost)
        else:
            error = answer.exception()
            self.tally.done["requests turned away (503)"] += isinstance(error, Unavailable)
            clients.heard(one, error or answer.result(), lost)
        if clients.faults:
            raise AssertionError(f"game {clients.name} ({clients.rules.key}): {clients.faults}")

    async def _start_again(self) -> None:
        self._house = self._opened()
        behind = await self._house.croupier.end_restored(self._house.heads.recall())
        if behind:
            raise AssertionError(f"games behind their last known head: {behind}")

    async def _reopen(self) -> None:
        await self._house.close()
        await self._start_again()

    # -- afterwards ------------------------------------------------------------------------------

    async def _audit(self, clients: Clients) -> None:
        hosted = await self._house.store.game(clients.id)
        if hosted is None:
            raise AssertionError(f"game {clients.name} is not there")
        lines = await self._house.store.lines(clients.id)
        root = clients.root or self._server_key.root(clients.id, hosted.salt)
        stored = Stored(lines, hosted.game)
        found = faults(stored, clients.told, root, self._signing.public)
        if found:
            raise AssertionError(f"game {clients.name} ({clients.rules.key}): {found}")
        self.tally.games[clients.rules.key] += 1
        self.tally.entries += len(lines)
        self.tally.done += clients.done


# --- many worlds --------------------------------------------------------------------------------


def simulate(games: int, seed: int, first: int = 0, processes: int = 1) -> Tally:
    """So many games in worlds of their own; raises AssertionError with what plays it again."""
    numbers = range(first, first + -(-games // WORLD))
    sizes = [min(WORLD, games - WORLD * (number - first)) for number in numbers]
    tally = Tally()
    memory = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="cubilete-", dir=memory) as place:
        upgrade(f"sqlite:///{Path(place) / _EMPTY}")
        play = functools.partial(_in_a_place_of_its_own, Path(place), seed)
        if processes == 1:
            tallies = list(map(play, numbers, sizes))
        else:
            with ProcessPoolExecutor(processes) as pool:
                tallies = list(pool.map(play, numbers, sizes))
    for one in tallies:
        tally.add(one)
    return tally


def _in_a_place_of_its_own(place: Path, seed: int, number: int, size: int) -> Tally:
    home = place / str(number)
    home.mkdir()
    shutil.copy(place / _EMPTY, home / "cubilete.db")
    try:
        return _world(number, seed, size, home)
    except Exception as error:
        again = f"--games {size} --seed {seed} --first {number}"
        raise AssertionError(f"{again}: {error!r}") from error
    finally:
        shutil.rmtree(home)


def _world(number: int, seed: int, games: int, home: Path) -> Tally:
    async def run() -> Tally:
        return await World(number, seed, games, home).play()

    with asyncio.Runner(loop_factory=InlineLoop) as runner:
        return runner.run(run())


def told(tally: Tally, seed: int, seconds: float) -> Iterator[str]:
    """The tally, a line each."""
    for name, count in sorted(tally.done.items()):
        yield f"{count:>8}  {name}"
    for key, count in sorted(tally.games.items()):
        yield f"{count:>8}  games of {key}"
    games = tally.games.total()
    yield (
        f"{games} games with {tally.entries} entries in {seconds:.1f} s,"
        f" {60 * games / seconds:.0f} a minute, every one audited: 0 faults (seed {seed})"
    )


def main() -> None:
    """Plays, and tells what was played."""
    parser = argparse.ArgumentParser(prog="simulator", description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--first", type=int, default=0, help="the number of the first world")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    began = time.perf_counter()
    try:
        tally = simulate(given.games, given.seed, given.first, given.processes)
    except AssertionError as error:
        sys.exit(f"FAILED: {error}")
    for line in told(tally, given.seed, time.perf_counter() - began):
        print(line)


if __name__ == "__main__":
    main()
