"""What an operator watches, in the text format of Prometheus."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0

from service.api.contract import answers, asks
from service.api.reading import query

router = APIRouter(tags=["operations"])


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._audits = Counter(
            "cubilete_audits",
            "Finished games that this server has audited, by verdict.",
            ["verdict"],
            registry=self.registry,
        )
        for verdict in ("passed", "failed"):
            self._audits.labels(verdict)

    def audited(self, verdict: str) -> None:
        """One more game is audited."""
        self._audits.labels(verdict).inc()


@router.get(
    "/metrics",
    openapi_extra=asks(change=False),
    responses=answers(
        200,
        None,
        "The metrics",
        "invalid_input",
        media={"text/plain": {"schema": {"type": "string"}}},
    ),
)
async def read_metrics(request: Request) -> Response:
    """Counters in the text format of Prometheus."""
    query(request, ())
    measured: Metrics = request.app.state.metrics
    return Response(generate_latest(measured.registry), media_type=CONTENT_TYPE_PLAIN_1_0_0)
