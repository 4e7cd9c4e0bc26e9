"""What an operator watches, in the text format of Prometheus."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0

from service.api.contract import answers, asks
from service.api.reading import query
from service.sweeper import SWEPT

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

        self._swept = Counter(
            "cubilete_swept",
            "What the sweeper has done: deadlines applied, idle games ended, games whose kept "
            "answers were forgotten, games exported and deleted.",
            ["what"],
            registry=self.registry,
        )
        for what in SWEPT:
            self._swept.labels(what)
        self._sweep_failures = Counter(
            "cubilete_sweep_failures",
            "Failures of the sweeper; its log says which.",
            registry=self.registry,
        )

    def swept(self, what: str, count: int) -> None:
        """The sweeper has done something so many times."""
        self._swept.labels(what).inc(count)

    def sweep_failed(self) -> None:
        """Something that the sweeper tried has failed."""
        self._sweep_failures.inc()

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
