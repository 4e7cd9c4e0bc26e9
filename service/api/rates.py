"""How often one caller may ask: token buckets in the memory of one process.

Own, and small: the library that was looked at takes some 20 microseconds for a hit where this
takes about one, and an action pays for two hits.
"""

import math
from collections.abc import Callable
from typing import Final

WINDOW_S: Final = 60
_BUCKETS_LIMIT: Final = 65_536


class Rate:
    """A quota for each caller and minute, which may be used at once; 0 sets no limit.

    A caller's bucket is one number, the moment when it is full again, so that a full one need not
    be kept. ``now`` gives seconds.
    """

    def __init__(self, name: str, quota: int, now: Callable[[], float]) -> None:
        self.name = name
        self.quota = quota
        self._policy = (b"ratelimit-policy", f'"{name}";q={quota};w={WINDOW_S}'.encode())
        self._told = f'"{name}";r=%d;t=%d'.encode()
        self._interval = WINDOW_S / quota if quota else 0.0
        self._now = now
        self._full_at: dict[int | str, float] = {}

    def take(self, caller: int | str) -> float:
        """Takes one from a caller's bucket. Returns the seconds until it is full again; if there
        is none to take, those until there is one, below 0."""
        now = self._now()
        full_at = self._full_at.get(caller, now)
        used = max(full_at - now, 0.0) + self._interval
        if used > WINDOW_S:
            return WINDOW_S - used
        self._full_at.pop(caller, None)  # so that the one used last comes last
        self._full_at[caller] = now + used
        if len(self._full_at) > _BUCKETS_LIMIT:
            self._make_room(now)
        return used

    def wait_s(self, caller: int | str) -> float:
        """The seconds until there is one to take, without taking it."""
        full_at = self._full_at.get(caller)
        if full_at is None:
            return 0.0
        return max(full_at - self._now() + self._interval - WINDOW_S, 0.0)

    def headers(self, used: float) -> list[tuple[bytes, bytes]]:
        """The policy and how it stands after ``take``, as the draft of the IETF's HTTPAPI group
        has it, and when to come back if there was none to take."""
        if used < 0:
            told = self._told % (0, WINDOW_S)
            retry_after = str(math.ceil(-used)).encode()
            return [self._policy, (b"ratelimit", told), (b"retry-after", retry_after)]
        left = int((WINDOW_S - used) / self._interval + 1e-6)
        return [self._policy, (b"ratelimit", self._told % (left, int(used) + 1))]

    def _make_room(self, now: float) -> None:
        """Forgets buckets that are full, or else the older half: memory has a bound."""
        self._full_at = {key: at for key, at in self._full_at.items() if at > now}
        if len(self._full_at) > _BUCKETS_LIMIT // 2:
            kept = list(self._full_at.items())[-_BUCKETS_LIMIT // 2 :]
            self._full_at = dict(kept)
