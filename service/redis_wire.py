"""Rings between processes over Redis, where one runs: publish and subscribe, nothing is stored."""

import os
from collections.abc import AsyncIterator, Collection
from typing import Final

from service.errors import BadSetting, Unavailable

_CHANNEL: Final = "cubilete"
_TIMEOUT_S: Final = 5


class RedisWire:
    """The wire between processes that share a Redis (``bell.Wire``). Needs the package
    ``redis`` (``pip install cubilete[redis]``); raises BadSetting without it."""

    def __init__(self, url: str) -> None:
        try:
            from redis import RedisError
            from redis.asyncio import Redis
        except ImportError:
            raise BadSetting(
                "CUBILETE_BELL: the package redis is not installed (cubilete[redis])"
            ) from None
        self._error = RedisError
        self._redis = Redis.from_url(url, socket_connect_timeout=_TIMEOUT_S)
        self._name = os.urandom(8).hex()

    async def send(self, game_ids: Collection[str]) -> None:
        """Rings at every other process; raises Unavailable."""
        try:
            await self._redis.publish(_CHANNEL, " ".join([self._name, *sorted(game_ids)]))
        except self._error as error:
            raise Unavailable("Redis can't be reached now") from error

    async def rings(self) -> AsyncIterator[Collection[str]]:
        """What other processes ring for; raises Unavailable when the connection is lost."""
        try:
            async with self._redis.pubsub(ignore_subscribe_messages=True) as heard:
                await heard.subscribe(_CHANNEL)
                async for message in heard.listen():
                    sender, *game_ids = message["data"].decode().split()
                    if sender != self._name:
                        yield game_ids
        except self._error as error:
            raise Unavailable("Redis can't be heard now") from error

    async def close(self) -> None:
        """Closes its connections."""
        await self._redis.aclose()
