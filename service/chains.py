"""Key chains of the games in play, kept with their checkpoints: making one walks it whole."""

import threading
from collections import OrderedDict

from service.dice import KeyChain


class ChainCache:
    """Key chains by game, the least used dropped first. May be used from any thread.

    ``keys_limit`` bounds the lengths of all chains together: a chain keeps about one byte a key.
    """

    def __init__(self, keys_limit: int) -> None:
        self._limit = keys_limit
        self._keys = 0
        self._chains: OrderedDict[str, KeyChain] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, game_id: str) -> KeyChain | None:
        """The chain of a game, if it is kept."""
        with self._lock:
            chain = self._chains.get(game_id)
            if chain is not None:
                self._chains.move_to_end(game_id)
            return chain

    def put(self, game_id: str, chain: KeyChain) -> None:
        """Keeps the chain of a game."""
        with self._lock:
            self._drop(game_id)
            self._chains[game_id] = chain
            self._keys += chain.length
            while self._keys > self._limit and len(self._chains) > 1:
                self._drop(next(iter(self._chains)))

    def _drop(self, game_id: str) -> None:
        chain = self._chains.pop(game_id, None)
        if chain is not None:
            self._keys -= chain.length
