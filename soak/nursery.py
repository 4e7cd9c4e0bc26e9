"""Servers that start at once: a process that has loaded everything, and forks.

A server that is killed a thousand times spends its life loading modules. This process loads them
once; each server is a fork of it that runs ``cubilete serve`` as the command line does, with
nothing in its memory but code. Run as a program, it reads what to start from its standard input,
a JSON object a line, and writes who was born and who has ended.
"""

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Birth:
    """A server to start: its ``CUBILETE_*`` settings, its log, and how far its clock is off."""

    settings: Mapping[str, str]
    log: str
    clock_off_ms: int = 0


class Child:
    """A server that was started; ``ended`` gives its exit code, or minus the signal."""

    def __init__(self, pid: int, ended: "asyncio.Future[int]") -> None:
        self.pid = pid
        self.ended = ended

    def signal(self, how: signal.Signals) -> None:
        """Sends it a signal, if it is still there."""
        if not self.ended.done():
            os.kill(self.pid, how)


class Nursery:
    """Use it as an asynchronous context; what it started ends with it."""

    async def __aenter__(self) -> "Nursery":
        known = {name: text for name, text in os.environ.items() if "CUBILETE" not in name}
        self._children: dict[int, Child] = {}
        self._births: asyncio.Queue[Child] = asyncio.Queue()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "soak.nursery",
            cwd=ROOT,
            env={**known, "PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._listening

    async def bear(self, birth: Birth) -> Child:
        """Starts a server; it may not listen yet."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(birth)).encode() + b"\n")
        return await self._births.get()

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        loop = asyncio.get_running_loop()
        async for line in self._process.stdout:
            told = json.loads(line)
            if "code" in told:
                self._children[told["pid"]].ended.set_result(told["code"])
            else:
                child = self._children[told["pid"]] = Child(told["pid"], loop.create_future())
                self._births.put_nowait(child)


# --- the process --------------------------------------------------------------------------------


def _tell(**told: int) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


_living = set[int]()


def _reap(*_: Any) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _living.discard(pid)
        _tell(pid=pid, code=os.waitstatus_to_exitcode(status))


def _serve(birth: Birth) -> None:
    from service.cli import main
    from tests.dying import become_mortal

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.environ.update(birth.settings)
    log = os.open(birth.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for mine, standard in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(mine, standard)
    become_mortal(Path(birth.settings["CUBILETE_DATA_DIR"]))
    right, off_ns = time.time_ns, birth.clock_off_ms * 1_000_000
    setattr(time, "time_ns", lambda: right() + off_ns)  # noqa: B010
    sys.argv = ["cubilete", "serve"]
    main()


def _exit_code(birth: Birth) -> int:
    try:
        _serve(birth)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _load() -> None:
    """Everything that a server imports sooner or later."""
    import httptools  # noqa: F401
    import psycopg  # noqa: F401
    import uvicorn.lifespan.on
    import uvicorn.loops.auto
    import uvicorn.protocols.http.auto
    import uvicorn.protocols.websockets.auto  # noqa: F401
    import uvloop  # noqa: F401

    import tests.dying  # noqa: F401


def nurse() -> None:
    """Forks a server for each line of the standard input, until there are no more."""
    _load()
    signal.signal(signal.SIGCHLD, _reap)
    for line in sys.stdin.buffer:
        birth = Birth(**json.loads(line))
        # A birth is told before the death of the same.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            os._exit(_exit_code(birth))
        _living.add(pid)
        _tell(pid=pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    # Whoever asked for them is away, whatever ended it: nothing is left running.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in _living:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    nurse()
