"""Every request has an id, by which its answer and what is logged of it are found together."""

import itertools
import os
import re
from contextvars import ContextVar
from typing import Final

from starlette.types import Scope

from service.api.headers import headers_of

REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""The id of the request that is being answered."""
HEADER: Final = b"x-request-id"
_GIVEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class RequestIds:
    """Takes over the id that a caller or a proxy has given a request, or gives it one."""

    def __init__(self) -> None:
        self._process = os.urandom(6).hex().encode()
        self._numbers = itertools.count(1)

    def name(self, scope: Scope) -> bytes:
        """The id of a request, which is now the one that is being answered."""
        given = headers_of(scope).get(HEADER)
        known = () if given is None else filter(_GIVEN.fullmatch, given.split(b", "))
        named = next(iter(known), None) or b"%b-%x" % (self._process, next(self._numbers))
        REQUEST_ID.set(named.decode())
        return named
