"""The cache of key chains."""

from service.chains import ChainCache
from service.dice import KeyChain


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
