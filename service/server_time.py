"""What time it is at a server, in integer milliseconds UTC: the one source of all its deadlines."""

from collections.abc import Awaitable, Callable


class ServerTime:
    """The machine's time, or that of the database where several machines share one.

    ``wall`` is the machine's clock, which may be wrong and may jump; ``steady`` one that only goes
    on. Once the database has told its time, ``steady`` carries it, and the machine's counts no
    more.
    """

    def __init__(self, wall: Callable[[], int], steady: Callable[[], int]) -> None:
        self._wall = wall
        self._steady = steady
        self._ahead: int | None = None

    def now(self) -> int:
        """The time now."""
        return self._wall() if self._ahead is None else self._steady() + self._ahead

    async def keep_to(self, ask: Callable[[], Awaitable[int | None]]) -> None:
        """Takes over the time that somebody tells; null is no answer. It is taken to be that of
        the middle of the question."""
        before = self._steady()
        told = await ask()
        if told is not None:
            self._ahead = told - (before + self._steady()) // 2
