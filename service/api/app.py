"""The composition root: settings in, an application out."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from service import __version__
from service.api import catalogue, contract, games, operations, play, problems, record, seats
from service.croupier import Croupier
from service.errors import Refusal, Unavailable
from service.keys import ServerKey, open_server_key
from service.settings import Settings
from service.store import Store

_log = logging.getLogger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """An application that opens its database when it starts and closes it when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store, server_key = _open(settings)
        app.state.croupier = Croupier(store, server_key, _now, os.urandom)
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
    )
    app.state.settings = settings
    for routes in (catalogue, games, seats, play, record, operations):
        app.include_router(routes.router)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _http)
    app.add_exception_handler(Exception, _internal)
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
    assert isinstance(refusal, Refusal)
    return problems.problem(request, refusal)


async def _unavailable(request: Request, error: Exception) -> Response:
    assert isinstance(error, Unavailable)
    return problems.problem(request, problems.Busy(), {"retry-after": str(error.retry_after_s)})


async def _http(request: Request, error: Exception) -> Response:
    """What the router itself refuses."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405 and isinstance(error, HTTPException):
        return problems.problem(request, problems.MethodNotAllowed(), error.headers or {})
    return problems.problem(request, problems.RouteNotFound())


async def _internal(request: Request, error: Exception) -> Response:
    return problems.problem(request, problems.Internal())
