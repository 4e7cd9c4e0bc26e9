"""The cache of key chains."""

from pathlib import Path

import pytest

from service.api import views
from service.chains import ChainCache
from service.dice import KeyChain
from service.errors import GameFrozen, RematchExists, StaleVersion
from service.requests import Caller
from tests.hosted import retry, run
from tests.timed import house


def chain(length: int) -> KeyChain:
    return KeyChain(bytes(32), length)


def test_the_least_used_chains_go_when_there_are_too_many_keys():
    cache = ChainCache(100)
    for name in "abc":
        cache.put(name, chain(33))
    assert cache.get("a") is not None
    cache.put("d", chain(33))
    assert [name for name in "abcd" if cache.get(name)] == ["a", "c", "d"]


def test_a_chain_that_is_put_again_counts_once():
    cache = ChainCache(100)
    for _ in range(5):
        cache.put("a", chain(60))
    cache.put("b", chain(40))
    assert cache.get("a") is not None


def test_one_chain_is_kept_however_long_it_is():
    cache = ChainCache(10)
    cache.put("a", chain(50))
    cache.put("b", chain(60))
    assert (cache.get("a"), cache.get("b") is not None) == (None, True)


def test_a_second_rematch_makes_no_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made: list[int] = []

    def make(root: bytes, length: int) -> KeyChain:
        made.append(length)
        return KeyChain(root, length)

    async def story() -> None:
        async with house(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as one:
            game = await one.create()
            await game.act(1, "resign")
            token, key = game.told["tokens"]["host"], retry()

            async def again(caller: Caller) -> bytes:
                answer = await one.croupier.rematch(game.id, None, caller, views.rematched)
                return answer.body

            monkeypatch.setattr("service.croupier.KeyChain", make)
            first = await again(Caller(token, key))
            assert await again(Caller(token, key)) == first
            for caller in (Caller(token), Caller(token, retry())):
                with pytest.raises(RematchExists):
                    await again(caller)
            with pytest.raises(StaleVersion):
                await again(Caller(token, version=1))
            assert len(made) == 1
            await one.store.freeze([game.id])
            for caller in (Caller(token), Caller(token, retry())):
                with pytest.raises(GameFrozen):
                    await again(caller)

    run(story())
