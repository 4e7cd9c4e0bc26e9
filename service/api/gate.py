"""Who comes in: hosts that are served, origins whose pages may ask, and how often anybody may."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from starlette.types import Scope

from service.api.address import Network, caller_address, group_of
from service.api.headers import headers_of
from service.api.problems import MisdirectedRequest, RateLimited
from service.api.rates import Rate

Headers: TypeAlias = list[tuple[bytes, bytes]]

_SHARED_RATES: Final = re.compile(r"/v1/games(?:/[^/]*/(?:(rematch)|(seats)))?")
_HEALTH: Final = ("/livez", "/readyz")
_EXPOSED: Final = (
    b"Content-Language, ETag, Idempotency-Replayed, Link, Location, Preference-Applied, "
    b"RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
)
_ALLOWED_METHODS: Final = b"GET, HEAD, POST, PATCH, DELETE"
_ALLOWED_HEADERS: Final = (
    b"Accept-Language, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
    b"Last-Event-ID, Prefer"
)
_PREFLIGHT_S: Final = b"600"


@dataclass(frozen=True, slots=True)
class Quotas:
    """Requests a minute and address (``token``: and token), each 0 for any number."""

    create: int = 0
    join: int = 0
    actions: int = 0
    token: int = 0
    audits: int = 0
    reads: int = 0
    failed_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Doors:
    """What is open. ``hosts`` and ``origins`` are lower case; no hosts mean any; an origin ``*``
    means any. ``trusted`` are proxies whose ``X-Forwarded-For`` is believed."""

    hosts: tuple[str, ...] = ()
    origins: frozenset[str] = frozenset()
    credentials: bool = False
    trusted: tuple[Network, ...] = ()
    quotas: Quotas = field(default_factory=Quotas)


class Gate:
    """Lets requests in or refuses them, before anything else is done for them. ``names_any`` says
    whether hosts or origins are named at all."""

    def __init__(self, doors: Doors, now: Callable[[], float]) -> None:
        self._doors = doors
        self.names_any = bool(doors.hosts or doors.origins)
        quotas = doors.quotas
        self._create = Rate("create", quotas.create, now)
        self._join = Rate("join", quotas.join, now)
        self._actions = Rate("actions", quotas.actions, now)
        self._token = Rate("token", quotas.token, now)
        self._audits = Rate("audits", quotas.audits, now)
        self._reads = Rate("reads", quotas.reads, now)
        self._failed = Rate("failed-tokens", quotas.failed_tokens, now)

    # -- rates ---------------------------------------------------------------------------------

    def caller(self, scope: Scope) -> str:
        """What counts as one caller: an address, or the network that one caller has whole."""
        return group_of(caller_address(scope, self._doors.trusted))

    def admit(self, scope: Scope) -> Headers:
        """Counts a request; returns what its answer tells of that, or raises RateLimited."""
        rate = self._rate_of(scope["method"], scope["path"])
        if rate is None:
            return []
        address = self.caller(scope)
        token = headers_of(scope).get(b"authorization")
        if token is not None and (wait_s := self._failed.wait_s(address)):
            raise _limited(self._failed, -wait_s)
        used = 0.0
        if rate.quota:
            used = _taken(rate, address)
        if token is not None and rate is self._actions and self._token.quota:
            # By its hash, so that no token is kept.
            rate, used = self._token, _taken(self._token, hash(token))
        return rate.headers(used) if rate.quota else []

    def token_failed(self, scope: Scope) -> None:
        """Counts an answer 401: whoever tries tokens soon tries slowly."""
        if self._failed.quota and headers_of(scope).get(b"authorization") is not None:
            self._failed.take(self.caller(scope))

    def _rate_of(self, method: str, path: str) -> Rate | None:
        if method == "POST" and path.endswith("/actions"):
            return self._actions
        if method in ("GET", "HEAD", "OPTIONS"):
            return None if path in _HEALTH else self._reads
        if path == "/v1/audits":
            return self._audits
        match = _SHARED_RATES.fullmatch(path)
        if match is None:
            return self._actions
        return self._join if match[2] else self._create

    # -- hosts and origins ---------------------------------------------------------------------

    def require_host(self, scope: Scope, host: bytes) -> None:
        """Raises MisdirectedRequest for a host that is not served; health is told to any."""
        hosts = self._doors.hosts
        if not hosts or scope["path"] in _HEALTH:
            return
        name = _host_name(host.decode("latin-1").lower())
        if not any(name == one or (one[0] == "*" and name.endswith(one[1:])) for one in hosts):
            raise MisdirectedRequest

    def cross_origin(self, scope: Scope) -> Headers:
        """What tells a browser that a page of another origin may read the answer."""
        if not self._doors.origins:
            return []
        told = [(b"vary", b"Origin")] if "*" not in self._doors.origins else []
        origin = headers_of(scope).get(b"origin")
        if origin is None:
            return told
        if "*" in self._doors.origins:
            allowed = b"*"
        elif origin.decode("latin-1") in self._doors.origins:
            allowed = origin
        else:
            return told
        told += [
            (b"access-control-allow-origin", allowed),
            (b"access-control-expose-headers", _EXPOSED),
        ]
        if self._doors.credentials:
            told.append((b"access-control-allow-credentials", b"true"))
        return told

    def preflight(self, scope: Scope) -> Headers | None:
        """What a browser is told that asks before a page of another origin may; null if it did
        not ask that, or if that origin may not."""
        if (
            scope["method"] != "OPTIONS"
            or headers_of(scope).get(b"access-control-request-method") is None
        ):
            return None
        told = self.cross_origin(scope)
        if not any(name == b"access-control-allow-origin" for name, _ in told):
            return None
        return [
            *told,
            (b"access-control-allow-methods", _ALLOWED_METHODS),
            (b"access-control-allow-headers", _ALLOWED_HEADERS),
            (b"access-control-max-age", _PREFLIGHT_S),
        ]


def _taken(rate: Rate, caller: int | str) -> float:
    used = rate.take(caller)
    if used < 0:
        raise _limited(rate, used)
    return used


def _limited(rate: Rate, used: float) -> RateLimited:
    told = {name.decode(): value.decode() for name, value in rate.headers(used)}
    return RateLimited(told, policy=rate.name)


def _host_name(host: str) -> str:
    """A host without its port; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
