"""How often one caller may ask: token buckets in the memory of one process.

Own, and small: a hit costs about a microsecond, where a library's moving window costs some twenty,
several times what the rest of an action's way through the application leaves room for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

WINDOW_S: Final = 60
_BUCKETS_LIMIT: Final = 65_536


@dataclass(frozen=True, slots=True)
class Standing:
    """How a bucket stands: whether it gave, how much it would give at once, in how many seconds it
    is full again, and after how many it gives the next one."""

    given: bool
    remaining: int
    full_in_s: int
    retry_after_s: int


class Rate:
    """A quota for each caller and minute, which may be used at once; 0 sets no limit.

    A caller's bucket is one number, the moment when it is full again, so that a full one need not
    be kept. ``now`` gives seconds.
    """

    def __init__(self, name: str, quota: int, now: Callable[[], float]) -> None:
        self.name = name
        self.quota = quota
        self.policy = f'"{name}";q={quota};w={WINDOW_S}'.encode()
        self._interval = WINDOW_S / quota if quota else 0.0
        self._now = now
        self._full_at: dict[int | str, float] = {}

    def take(self, caller: int | str, cost: int = 1) -> Standing:
        """Takes from a caller's bucket, if it holds enough; a cost of 0 only looks."""
        now = self._now()
        full_at = max(self._full_at.get(caller, now), now)
        after = full_at + self._interval * cost
        if after - now > WINDOW_S or (not cost and full_at - now + self._interval > WINDOW_S):
            wait = full_at + self._interval * max(cost, 1) - now - WINDOW_S
            return Standing(False, 0, math.ceil(full_at - now), max(1, math.ceil(wait)))
        if cost:
            if len(self._full_at) >= _BUCKETS_LIMIT and caller not in self._full_at:
                self._make_room(now)
            self._full_at[caller] = after
        left = int((WINDOW_S - (after - now)) / self._interval + 1e-6)
        return Standing(True, left, math.ceil(after - now), 0)

    def _make_room(self, now: float) -> None:
        """Forgets buckets that are full, or else the older half: memory has a bound."""
        self._full_at = {key: at for key, at in self._full_at.items() if at > now}
        if len(self._full_at) >= _BUCKETS_LIMIT:
            kept = list(self._full_at.items())[_BUCKETS_LIMIT // 2 :]
            self._full_at = dict(kept)

    def headers(self, standing: Standing) -> list[tuple[bytes, bytes]]:
        """The policy and how it stands, as the draft of the IETF's HTTPAPI group has it."""
        told = b'"%s";r=%d;t=%d' % (self.name.encode(), standing.remaining, standing.full_in_s)
        return [(b"ratelimit-policy", self.policy), (b"ratelimit", told)]
