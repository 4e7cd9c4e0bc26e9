"""The store: games, their logs and what stands beside them, in SQLite or PostgreSQL.

The only SQL of the project. Changes go through the committer, which writes many of them in one
durable transaction and answers each only after the commit; reads never wait for it.
"""

from service.store.change import Answer, Change, Holder, HostedGame, Retry, Series, Write
from service.store.listing import GameFilter, Listed, Page
from service.store.migrations import current, upgrade
from service.store.records import DAY_MS
from service.store.store import Store

__all__ = [
    "DAY_MS",
    "Answer",
    "Change",
    "GameFilter",
    "Holder",
    "HostedGame",
    "Listed",
    "Page",
    "Retry",
    "Series",
    "Store",
    "Write",
    "current",
    "upgrade",
]
