"""Whether games still stand as they are known: many who ask at once cost one statement."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from service.memory import end_if_out_of_memory, guarded_task

Read: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]


class Revisions:
    """Reads revisions of games. Whoever asks while a statement is under way waits for the next
    one: what is answered was read after it was asked for."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._waiting: dict[str, list[asyncio.Future[int | None]]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def of(self, game_id: str) -> int | None:
        """The revision of a game, null if there is no such game; raises what reading raises."""
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(game_id, []).append(future)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return await future

    @guarded_task
    async def _ask(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            try:
                found = await self._read(list(waiting))
            except Exception as error:
                end_if_out_of_memory(error)
                for future in _unanswered(waiting.values()):
                    future.set_exception(error)
                continue
            for game_id, futures in waiting.items():
                for future in _unanswered([futures]):
                    future.set_result(found.get(game_id))


def _unanswered(
    groups: Iterable[Sequence[asyncio.Future[int | None]]],
) -> Iterator[asyncio.Future[int | None]]:
    """Those whose clients have not gone away."""
    return (future for group in groups for future in group if not future.done())
