"""Operations and reference: health, version, problem pages, the docs page."""

import asyncio

from fastapi import APIRouter, Request, Response

from service import __version__
from service.api import shapes, views
from service.api.contract import answers, asks
from service.api.handling import croupier
from service.api.problems import STATUS, RouteNotFound
from service.api.reading import query
from service.api.texts import PROBLEMS
from service.dice import PROTOCOL
from service.errors import Unavailable
from service.rules import RULESETS

router = APIRouter(tags=["operations"])
_NO_CACHE = {"cache-control": "no-store"}


@router.get(
    "/livez",
    openapi_extra=asks(change=False),
    responses=answers(200, shapes.Health, "The process lives", "invalid_input", limited=False),
)
async def livez(request: Request) -> Response:
    """Whether the process lives."""
    query(request, ())
    return Response(b'{"status":"ok"}', headers=_NO_CACHE, media_type="application/json")


@router.get(
    "/readyz",
    openapi_extra=asks(change=False),
    responses=answers(
        200,
        shapes.Health,
        "The server can play: its database takes changes",
        "invalid_input",
        limited=False,
    ),
)
async def readyz(request: Request) -> Response:
    """Whether the server is ready: does not close, and writes database and head file."""
    query(request, ())
    if request.app.state.live.closing:
        raise Unavailable("the server closes")
    try:
        await asyncio.to_thread(request.app.state.heads.settle)
    except OSError as error:
        raise Unavailable("the head file can't be written") from error
    await croupier(request).ready()
    return Response(b'{"status":"ok"}', headers=_NO_CACHE, media_type="application/json")


@router.get(
    "/version",
    openapi_extra=asks(change=False),
    responses=answers(200, shapes.VersionShape, "The program and its rulesets", "invalid_input"),
)
async def read_version(request: Request) -> Response:
    """Which program serves."""
    query(request, ())
    known = [{"key": ruleset.key, "version": ruleset.version} for ruleset in RULESETS]
    told = {"name": "cubilete", "version": __version__, "protocol": PROTOCOL, "rulesets": known}
    return Response(views.as_json(told), headers=_NO_CACHE, media_type="application/json")


@router.get(
    "/.well-known/fair-dice.json",
    openapi_extra=asks(change=False),
    responses=answers(200, shapes.PublicKeys, "The keys that sign receipts", "invalid_input"),
)
async def read_public_keys(request: Request) -> Response:
    """The public keys with which receipts are checked."""
    query(request, ())
    body = views.as_json(views.keys_json(croupier(request).signing_keys))
    return Response(body, headers={"cache-control": "no-cache"}, media_type="application/json")


@router.get("/openapi.json", include_in_schema=False)
async def read_contract(request: Request) -> Response:
    """The OpenAPI document, which takes a while to make."""
    body = await request.app.state.rendering.run(lambda: views.as_json(request.app.openapi()))
    return Response(body, headers={"cache-control": "no-cache"}, media_type="application/json")


@router.get(
    "/problems/{code}",
    openapi_extra=asks(change=False),
    responses=answers(200, shapes.ProblemPage, "The problem", "not_found", "invalid_input"),
)
async def read_problem(code: str, request: Request) -> Response:
    """What a problem's code means."""
    query(request, ())
    if code not in PROBLEMS:
        raise RouteNotFound
    title, detail = PROBLEMS[code]
    told = {
        "code": code,
        "status": STATUS[code],
        "title": {"es": title.es, "en": title.en},
        "detail": {"es": detail.es, "en": detail.en},
    }
    return Response(views.as_json(told), media_type="application/json")
