"""The headers of a request by name: an action asks for ten, and each would be a look at all."""

from typing import Final

from starlette.types import Scope

_KEPT: Final = "cubilete.headers"


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Every header by its name in lower case; what is sent in several lines is a list, as HTTP
    has it."""
    found: dict[bytes, bytes] | None = scope.get(_KEPT)
    if found is None:
        found = scope[_KEPT] = {}
        for name, value in scope["headers"]:
            found[name] = value if name not in found else b"%b, %b" % (found[name], value)
    return found
