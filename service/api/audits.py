"""Checking records that somebody uploads: the dice, the log and the rules."""

import asyncio
import json
from dataclasses import asdict
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from service import verify
from service.api import shapes, views
from service.api.contract import answers, asks
from service.api.reading import query, read_body
from service.auditor import Finding, examine

_LIMIT: Final = 8 * 1024 * 1024
_LINES: Final = {
    media: {"schema": {"type": "string"}} for media in ("application/jsonl", "application/x-ndjson")
}
_MEDIA: Final = ("application/json", *_LINES)
_AT_ONCE = asyncio.Semaphore(1)

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
    ),
)
async def check_record(request: Request) -> Response:
    """Check an audit record, or a log as JSONL: dice, log and rules."""
    query(request, ())
    data = await read_body(request, _LIMIT, _MEDIA)
    async with _AT_ONCE:
        finding = await asyncio.to_thread(_examined, data)
    return Response(views.as_json(_report(finding)), media_type="application/json")


def _examined(data: bytes) -> Finding:
    report = verify.verify(data)
    return examine(_lines(data) if report.ok else [], report)


def _lines(data: bytes) -> list[bytes]:
    """The lines of a log or record that has been verified."""
    if verify.RECORD_START.match(data):
        return [line.encode() for line in json.loads(data)["log"]]
    return data.split(b"\n")[:-1]


def _report(finding: Finding) -> dict[str, Any]:
    """The verifier's report with the rules as one more check."""
    told = finding.report.to_json()
    rules = "not reached"
    if finding.report.ok:
        rules = "passed" if finding.rules is None else "failed"
    told["checks"].append({"name": "rules", "result": rules})
    told["notes"] = [note for note in told["notes"] if note != verify.RULES_UNJUDGED]
    if finding.rules is not None:
        told["failure"] = asdict(finding.rules)
    told["ok"] = finding.ok
    return told
