"""Checking records that somebody uploads: the dice, the log and the rules."""

from typing import Final

from fastapi import APIRouter, Request, Response

from service.api import shapes
from service.api.contract import answers, asks
from service.api.reading import UPLOAD_LIMIT, query, read_body
from service.examiner import Examiner

_LINES: Final = {
    media: {"schema": {"type": "string"}} for media in ("application/jsonl", "application/x-ndjson")
}
_MEDIA: Final = ("application/json", *_LINES)

router = APIRouter(prefix="/v1", tags=["record"])


@router.post(
    "/audits",
    openapi_extra=asks("AuditRecord", change=False, media=_LINES),
    responses=answers(
        200,
        shapes.AuditReport,
        "Every check by name and the first failure; `ok` is the verdict",
        "body_too_large",
        "unsupported_media_type",
        "invalid_input",
        "record_too_costly",
    ),
)
async def check_record(request: Request) -> Response:
    """Check an audit record, or a log as JSONL: dice, log and rules."""
    query(request, ())
    examiner: Examiner = request.app.state.examiner
    with examiner.uploads.slot():  # before the body is read, which then needs memory
        data = await read_body(request, UPLOAD_LIMIT, _MEDIA)
        report = await examiner.report(data)
    return Response(report, media_type="application/json")
