"""One or more servers over one database, to be killed, drained and starved, and started again."""

import asyncio
import contextlib
import resource
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final, Literal

from soak.nursery import Birth, Child, Nursery
from tests.crowd import Asked, ask, hang_up
from tests.dying import request_file
from tests.server import ROOMY, free_port

_START_S: Final = 30
_DRAIN_S: Final = 12
_ASK_AGAIN_S: Final = 0.02
_HOUR_MS: Final = 3_600_000
_CLOCKS_MS: Final = (0, 0, -_HOUR_MS, 24 * _HOUR_MS)
_READY: Final = Asked("/readyz", method="GET")


class Servers:
    """They share a data directory, as the workers of one machine do. Every start but the first ones
    counts in ``slowest_s``, from the birth of the process to its first answer."""

    def __init__(
        self, nursery: Nursery, count: int, home: Path, settings: dict[str, str], random: Random
    ) -> None:
        self.home = home
        self.count = count
        self.slowest_s = 0.0
        self.clocks: Counter[int] = Counter()
        self._nursery = nursery
        self._random = random
        self._ports = [free_port() for _ in range(count)]
        self._settings = settings
        self._children: dict[int, Child] = {}
        self._up = [asyncio.Event() for _ in range(count)]
        self._any_up = asyncio.Event()
        self.log = home / "server.log"

    # -- as their clients know them --------------------------------------------------------------

    def port(self, server: int) -> int:
        """Where a server listens."""
        return self._ports[server % self.count]

    async def one_that_is_up(self, after: int) -> int:
        """The next server that answers, from that one on."""
        await self._any_up.wait()
        order = [(after + step) % self.count for step in range(self.count)]
        return next((server for server in order if self._up[server].is_set()), order[0])

    # -- starting --------------------------------------------------------------------------------

    async def start(self, server: int) -> None:
        """Starts one, its clock right or wrong, and waits until it answers."""
        clock = self._random.choice(_CLOCKS_MS)
        self.clocks[clock] += 1
        own = {
            "CUBILETE_PORT": str(self._ports[server]),
            "CUBILETE_DATA_DIR": str(self.home),
            "CUBILETE_LOG_LEVEL": "error",
        }
        began = time.monotonic()
        birth = Birth({**ROOMY, **own, **self._settings}, str(self.log), clock)
        self._children[server] = await self._nursery.bear(birth)
        await self.ready(server)
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)

    async def start_all(self) -> None:
        """Starts all of them."""
        await asyncio.gather(*map(self.start, range(self.count)))
        self.slowest_s = 0.0  # the nursery was loading, too

    async def ready(self, server: int) -> None:
        """Waits until a server takes changes; raises RuntimeError if it ends or takes too long."""
        deadline = time.monotonic() + _START_S
        while not await self._answers(server):
            ended = self._children[server].ended
            if ended.done() or time.monotonic() > deadline:
                how = f"ended with {ended.result()}" if ended.done() else f"silent for {_START_S} s"
                log = self.log.read_text()[-2000:]
                raise RuntimeError(f"server {server} is not ready, {how}: {log}")
            await asyncio.sleep(_ASK_AGAIN_S)
        self._up[server].set()
        self._any_up.set()

    async def _answers(self, server: int) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._ports[server])
        except OSError:
            return False
        try:
            return (await ask(reader, writer, _READY)).status == 200
        except (OSError, asyncio.IncompleteReadError):
            return False
        finally:
            await hang_up(writer)

    # -- ending ----------------------------------------------------------------------------------

    def _down(self, server: int) -> None:
        self._up[server].clear()
        if not any(one.is_set() for one in self._up):
            self._any_up.clear()

    async def kill(self, server: int) -> None:
        """As a power cut would: no handler runs."""
        self._children[server].signal(signal.SIGKILL)
        await self._children[server].ended
        self._down(server)

    async def die_at_commit(self, when: Literal["before", "after"]) -> int:
        """The first of them that commits next dies right before or after; returns which."""
        request_file(when, self.home).touch()
        living = {child.ended: server for server, child in self._children.items()}
        (first, *_), _ = await asyncio.wait(living, return_when=asyncio.FIRST_COMPLETED)
        server = living[first]
        self._down(server)
        if first.result() != 9:
            raise RuntimeError(f"server {server} ended with {first.result()}")
        return server

    async def drain(self, server: int) -> None:
        """As an operator would; raises RuntimeError if it takes too long or fails."""
        self._down(server)
        self._children[server].signal(signal.SIGTERM)
        code = await asyncio.wait_for(asyncio.shield(self._children[server].ended), _DRAIN_S)
        if code != 0:
            raise RuntimeError(f"server {server} ended with {code}")

    async def drain_all(self) -> None:
        """Stops all of them in order."""
        for server in range(self.count):
            await self.drain(server)

    # -- starving --------------------------------------------------------------------------------

    def forbid_writes(self, server: int) -> None:
        """From now on every write to a file fails, as on a broken disk."""
        self._limit(server, 0)

    def allow_writes(self, server: int) -> None:
        """The disk is whole again."""
        self._limit(server, resource.RLIM_INFINITY)

    def _limit(self, server: int, size: int) -> None:
        pid = self._children[server].pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def mounted(home: Path, mebibytes: int) -> bool:
    """Puts a small disk in memory there; false where that is not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(home)]
    try:
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def unmount(home: Path) -> None:
    """Takes it away again."""
    command = ["umount", "-l", str(home)]
    subprocess.run(command, check=True)


def fill(home: Path) -> None:
    """Fills the disk to the last byte; ``empty`` makes room again."""
    with (home / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while ballast.write(bytes(size)) == size:
                    pass


def empty(home: Path) -> None:
    """Room again."""
    (home / "ballast").unlink()
