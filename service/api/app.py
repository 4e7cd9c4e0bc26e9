"""The composition root: settings in, an application out."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from service import __version__
from service.api import catalogue, contract, games, operations, play, problems, record, seats
from service.api.transport import Transport
from service.croupier import Croupier
from service.errors import Refusal, Unavailable
from service.keys import ServerKey, open_server_key, open_signing_keys
from service.settings import Settings
from service.store import Store

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


def create_app(settings: Settings) -> FastAPI:
    """An application that opens its database when it starts and closes it when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store, server_key = _open(settings)
        signing_keys = open_signing_keys(settings.data_dir)
        app.state.croupier = Croupier(store, server_key, signing_keys, _now, os.urandom)
        try:
            yield
        finally:
            await store.close()

    app = FastAPI(
        title="Cubilete",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=contract.operation_id,
    )
    app.state.settings = settings
    app.add_middleware(Transport)
    for routes in (catalogue, games, seats, play, record, operations):
        app.include_router(routes.router)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _http)
    app.openapi = lambda: contract.document(app)  # type: ignore[method-assign]
    return app


def check(settings: Settings) -> None:
    """Opens database and server key once; raises BadSetting with one clear line if it can't."""
    store, _ = _open(settings)
    asyncio.run(store.close())


def _open(settings: Settings) -> tuple[Store, ServerKey]:
    secret = settings.server_key
    given = None if secret is None else secret.get_secret_value()
    server_key = open_server_key(settings.data_dir, given)
    return Store.open(settings.database, server_key.fingerprint(), settings.queue_limit), server_key


def _now() -> int:
    return time.time_ns() // 1_000_000


async def _refused(request: Request, refusal: Exception) -> Response:
    return problems.problem(request, cast(Refusal, refusal))


async def _unavailable(request: Request, error: Exception) -> Response:
    seconds = str(cast(Unavailable, error).retry_after_s)
    return problems.problem(request, problems.Busy(), {"retry-after": seconds})


async def _http(request: Request, error: Exception) -> Response:
    """What the router itself refuses."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = {"allow": ", ".join(_methods(request))}
        return problems.problem(request, problems.MethodNotAllowed(), allowed)
    return problems.problem(request, problems.RouteNotFound())


def _methods(request: Request) -> Iterator[str]:
    """Every method that some route takes at this path: the router names those of one route."""
    for method in _METHODS:
        asked = {**request.scope, "method": method}
        if any(route.matches(asked)[0] is Match.FULL for route in request.app.routes):
            yield method
            if method == "GET":
                yield "HEAD"
