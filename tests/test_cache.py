"""The cache of decoded games holds what was committed last, and forgets before it lies."""

from dataclasses import replace

from service.store import HostedGame
from service.store.cache import GameCache
from tests.hosted import table


def game(revision: int = 1) -> HostedGame:
    return replace(table().start.hosted, revision=revision)


def test_an_older_game_never_replaces_a_newer_one():
    cache, one = GameCache(3), game(7)
    cache.put([one])
    cache.put([replace(one, revision=6)])
    cache.put([replace(one, revision=5)], cache.dropped)
    assert cache.get(one.game.id) == one
    cache.put([replace(one, revision=8)])
    found = cache.get(one.game.id)
    assert found is not None
    assert found.revision == 8


def test_the_games_used_least_are_forgotten_first():
    cache, games = GameCache(3), [game() for _ in range(5)]
    for one in games[:3]:
        cache.put([one])
    cache.get(games[0].game.id)
    cache.put(games[3:])
    kept = [cache.get(one.game.id) is not None for one in games]
    assert kept == [True, False, False, True, True]


def test_what_was_read_before_something_was_forgotten_is_not_remembered():
    """It may be older than what was forgotten, and nobody could tell any more."""
    cache, one = GameCache(1), game(2)
    read_at = cache.dropped
    cache.put([one])
    cache.put([game()])
    cache.put([replace(one, revision=1)], read_at)
    assert cache.get(one.game.id) is None
    cache.put([one], cache.dropped)
    assert cache.get(one.game.id) == one


def test_a_game_that_nobody_knows_is_forgotten_with_what_was_read_of_it():
    cache, one = GameCache(3), game(2)
    cache.put([one])
    read_at = cache.dropped
    cache.drop([one.game.id, "nobody"])
    assert cache.get(one.game.id) is None
    cache.put([one], read_at)
    assert cache.get(one.game.id) is None
