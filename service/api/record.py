"""What is on record: logs, audit records, series."""

from collections.abc import AsyncIterator
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from service.api import shapes, views
from service.api.contract import answers, asks, parameters
from service.api.handling import GAME_ID, PAGE, croupier, game_id, page
from service.api.reading import number, prefers, query
from service.croupier import Croupier
from service.errors import SeriesNotFound
from service.hosting import audit_record
from service.log import jsonl
from service.store import HostedGame

_CHUNK: Final = 1000
_JSONL: Final = "application/jsonl"

router = APIRouter(prefix="/v1", tags=["record"])


@router.get(
    "/games/{id}/log",
    openapi_extra=asks(
        change=False,
        query=parameters(
            after=({"type": "integer", "minimum": 0}, "Only entries after this seq."),
            limit=(
                {"type": "integer", "minimum": 1, "maximum": PAGE, "default": PAGE},
                "Page size (JSON).",
            ),
        ),
    ),
    responses=answers(
        200,
        shapes.LogPage,
        "A page of the log; with `Accept: application/jsonl` the stored bytes, whole",
        "game_not_found",
        "game_frozen",
        "invalid_input",
        media={_JSONL: {"schema": {"type": "string"}}},
    ),
)
async def read_log(id: str, request: Request) -> Response:
    """Read a log, as JSON or as the stored bytes."""
    asked = query(request, ("after", "limit"))
    after, limit = number(asked, "after", -1), number(asked, "limit", PAGE, PAGE)
    if prefers(request, _JSONL, "application/json"):
        bound = limit if "limit" in asked else None
        lines = _stored_lines(croupier(request), game_id(id), after, bound)
        first = await anext(lines)
        headers = {"cache-control": "no-cache", "vary": "Accept"}
        return StreamingResponse(_from(first, lines), headers=headers, media_type=_JSONL)
    found = await croupier(request).lines(game_id(id), after, limit + 1)
    following = str(after + limit) if len(found) > limit else None
    body = b'{"entries":' + views.entries_json(found[:limit]) + b',"next_cursor":'
    body += views.as_json(following) + b"}"
    response = page(body, f"/v1/games/{id}/log", asked, "after", following)
    response.headers["vary"] = "Accept"
    return response


async def _stored_lines(
    croupier: Croupier, game_id: str, after: int, limit: int | None
) -> AsyncIterator[bytes]:
    """A log as its file, a chunk at a time."""
    while True:
        size = _CHUNK if limit is None else min(_CHUNK, limit)
        lines = await croupier.lines(game_id, after, size)
        yield jsonl(lines)
        if len(lines) < size or limit == size:
            return
        after += size
        limit = None if limit is None else limit - size


async def _from(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


@router.get(
    "/games/{id}/head",
    openapi_extra=asks(change=False),
    responses=answers(
        200, shapes.ReceiptShape, "The receipt", "game_not_found", "game_frozen", "invalid_input"
    ),
)
async def read_receipt(id: str, request: Request) -> Response:
    """The head of a log, signed: a receipt to keep."""
    query(request, ())
    hosted = await croupier(request).read(game_id(id))
    receipt = croupier(request).receipt(hosted.game)
    return Response(
        views.as_json(receipt.to_json()),
        headers={"etag": views.etag(hosted), "cache-control": "no-cache"},
        media_type="application/json",
    )


@router.get(
    "/games/{id}/audit",
    openapi_extra=asks(change=False),
    responses=answers(
        200,
        shapes.AuditRecord,
        "The audit record",
        "game_not_found",
        "game_frozen",
        "invalid_input",
    ),
)
async def read_audit_record(id: str, request: Request) -> Response:
    """All that `cubilete verify` needs, as one file; of live games what is known so far."""
    query(request, ())
    dealer = croupier(request)
    hosted = await dealer.read(game_id(id))
    headers = {
        "content-disposition": f'attachment; filename="{id}.audit.json"',
        "cache-control": "no-cache",
    }
    if hosted.game.version >= _CHUNK:
        empty = views.as_json(audit_record(hosted, [], dealer.signing_keys))
        parts = _record_parts(dealer, hosted, empty)
        return StreamingResponse(parts, headers=headers, media_type="application/json")
    lines = await dealer.lines(id, limit=hosted.game.version + 1)
    body = views.as_json(audit_record(hosted, lines, dealer.signing_keys))
    return Response(body, headers=headers, media_type="application/json")


async def _record_parts(dealer: Croupier, hosted: HostedGame, empty: bytes) -> AsyncIterator[bytes]:
    """A long record, a chunk of its log at a time: made at once it would keep the loop."""
    head, tail = empty.split(b'"log":[]')
    yield head + b'"log":['
    after = -1
    while after < hosted.game.version:
        size = min(_CHUNK, hosted.game.version - after)
        lines = await dealer.lines(hosted.game.id, after, size)
        yield (b"," if after >= 0 else b"") + views.texts_json(lines)[1:-1]
        after += size
    yield b"]" + tail


@router.get(
    "/series/{series_id}",
    openapi_extra=asks(
        change=False,
        query=parameters(
            after=({"type": "integer", "minimum": 0}, "Only games after this number."),
            limit=(
                {"type": "integer", "minimum": 1, "maximum": PAGE, "default": PAGE},
                "Page size.",
            ),
        ),
    ),
    responses=answers(200, shapes.SeriesPage, "The series", "series_not_found", "invalid_input"),
)
async def read_series(series_id: str, request: Request) -> Response:
    """Read a series: its games in order and the running tally."""
    asked = query(request, ("after", "limit"))
    after, limit = min(number(asked, "after", 0), 2**31 - 1), number(asked, "limit", PAGE, PAGE)
    if not GAME_ID.fullmatch(series_id):
        raise SeriesNotFound
    found, last = await croupier(request).series(series_id, after, limit)
    following = None if found.last is None else str(found.last[1])
    told = {
        "id": series_id,
        "tally": last.tally,
        "games": [views.summary_json(listed) for listed in found.games],
        "next_cursor": following,
    }
    return page(views.as_json(told), f"/v1/series/{series_id}", asked, "after", following)
