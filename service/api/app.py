"""The composition root: settings in, an application out."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Final, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from service import __version__
from service.api import (
    audits,
    catalogue,
    document,
    games,
    metrics,
    operations,
    play,
    problems,
    record,
    seats,
    stream,
    web,
)
from service.api.access import AccessLog
from service.api.draining import on_signal
from service.api.gate import Doors, Gate, Quotas
from service.api.house import open_house
from service.api.lane import FastLane
from service.api.metrics import Metrics
from service.api.transport import Transport, in_one_line
from service.api.waiting import WaitingGames
from service.errors import BadSetting, Refusal, Unavailable
from service.examiner import Examiner
from service.memory import end_if_out_of_memory, watch_loop
from service.settings import Settings
from service.slots import Slots

_RENDERED_AT_ONCE: Final = 64
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class _Application(FastAPI):
    """FastAPI, inside of what holds for every answer."""

    front: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        try:
            if scope["type"] == "http":
                await self.front(scope, receive, send)
            else:
                await self.by_route(scope, receive, in_one_line(send))
        except BaseException as error:
            end_if_out_of_memory(error)  # before the server makes a 500 of it
            raise

    def build_middleware_stack(self) -> ASGIApp:
        """Without the outermost wrapper: faults are told by ``Transport``, and not as text."""
        outermost = super().build_middleware_stack()
        assert isinstance(outermost, ServerErrorMiddleware)  # noqa: S101 - or the library changed
        return outermost.app

    async def by_route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The way through FastAPI's own wrappers and its router."""
        await super().__call__(scope, receive, send)


def create_app(settings: Settings) -> FastAPI:
    """An application that opens its database when it starts and closes it when it stops."""

    measured = Metrics()
    gate = Gate(_doors(settings), time.monotonic)
    examiner = Examiner(settings.audit_seconds)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watch_loop(asyncio.get_running_loop())
        async with open_house(settings, measured) as house:
            app.state.croupier, app.state.live = house.croupier, house.live
            app.state.heads = house.heads
            # What is there by now stays: to look through it again and again would take the
            # collector longer than any request.
            gc.collect()
            gc.freeze()
            try:
                with on_signal(house.live.close, settings.drain_seconds):
                    yield
            finally:
                examiner.close()

    app = _Application(
        title="Cubilete",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=document.operation_id,
        telemetry=_telemetry(wanted=settings.telemetry),
    )
    app.state.key_needed = settings.require_idempotency_key
    app.state.version_needed = settings.require_version
    app.state.metrics = measured
    app.state.gate = gate
    app.state.examiner = examiner
    app.state.rendering = Slots("rendering", _RENDERED_AT_ONCE)
    app.state.waiting = WaitingGames(settings.waiting_games)
    served = app.by_route if settings.telemetry else FastLane(app.by_route)
    app.front = Transport(served, gate, measured, AccessLog() if settings.access_log else None)
    for routes in (
        catalogue,
        games,
        seats,
        play,
        stream,
        record,
        audits,
        operations,
        metrics,
        web,
    ):
        app.include_router(routes.router)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _http)
    app.openapi = lambda: document.document(app)  # type: ignore[method-assign]
    return app


def require_telemetry() -> None:
    """Raises BadSetting where there is nothing to export with: FastAPI would only warn."""
    try:
        import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError:
        raise BadSetting(
            "CUBILETE_TELEMETRY: the package opentelemetry-exporter-otlp-proto-http is not "
            "installed (cubilete[telemetry])"
        ) from None


def _telemetry(*, wanted: bool) -> TelemetryConfig:
    return {"tracing": wanted, "metrics": wanted, "logs": wanted, "auto_configure": wanted}


def _doors(settings: Settings) -> Doors:
    return Doors(
        hosts=settings.hosts,
        origins=settings.origins,
        credentials=settings.cors_credentials,
        trusted=settings.proxies,
        quotas=Quotas(
            create=settings.rate_create,
            join=settings.rate_join,
            actions=settings.rate_actions,
            token=settings.rate_token,
            audits=settings.rate_audits,
            reads=settings.rate_reads,
            failed_tokens=settings.rate_failed_tokens,
        ),
    )


async def _refused(request: Request, refusal: Exception) -> Response:
    return problems.problem(request, cast(Refusal, refusal))


async def _unavailable(request: Request, error: Exception) -> Response:
    return problems.unavailable(request, cast(Unavailable, error))


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
