"""The store: games, their logs and what stands beside them, in SQLite or PostgreSQL.

The only SQL of the project. Changes go through the committer, which writes many of them in one
durable transaction and answers each only after the commit; reads never wait for it.
"""

from service.store.change import Answer, Change, Holder, HostedGame, Retry, Series, Write
from service.store.migrations import current, upgrade
from service.store.store import GameFilter, Store

__all__ = [
    "Answer",
    "Change",
    "GameFilter",
    "Holder",
    "HostedGame",
    "Retry",
    "Series",
    "Store",
    "Write",
    "current",
    "upgrade",
]
