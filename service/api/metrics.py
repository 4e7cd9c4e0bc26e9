"""What an operator watches, in the text format of Prometheus."""

import asyncio
from bisect import bisect_left
from collections import Counter as Count
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from service.api.contract import answers, asks
from service.api.reading import query
from service.sweeper import SWEPT

router = APIRouter(tags=["operations"])

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_CHANGES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram(Collector):
    """Values in buckets. For the path of every action: the library's own takes a lock for each
    value and looks its labels up. One thread may tell values."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> None:
        self._name, self._text, self._labels = name, text, labels
        self._bounds = bounds
        self._seen: dict[tuple[str, ...], list[float]] = {}

    def observe(self, labels: tuple[str, ...], value: float) -> None:
        """One more value."""
        seen = self._seen.get(labels)
        if seen is None:
            seen = self._seen[labels] = [0.0] * (len(self._bounds) + 2)
        seen[bisect_left(self._bounds, value)] += 1
        seen[-1] += value

    def collect(self) -> Iterator[Metric]:
        """What was told so far."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        for labels, (*counts, total) in tuple(self._seen.items()):
            below, buckets = 0.0, []
            for bound, count in zip([*map(str, self._bounds), "+Inf"], counts, strict=True):
                below += count
                buckets.append((bound, below))
            family.add_metric(labels, buckets, total)
        yield family


class Counted(Collector):
    """How often something happened; as cheap as ``Histogram``."""

    def __init__(self, name: str, text: str, labels: Sequence[str]) -> None:
        self._name, self._text, self._labels = name, text, labels
        self._seen: Count[tuple[str, ...]] = Count()

    def count(self, labels: tuple[str, ...]) -> None:
        """Once more."""
        self._seen[labels] += 1

    def collect(self) -> Iterator[Metric]:
        """What was told so far."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for labels, count in tuple(self._seen.items()):
            family.add_metric(labels, count)
        yield family


class Metrics:
    """What is counted in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "cubilete_request_seconds",
            "Requests that were answered, by route and status; streams until they began.",
            ["method", "route", "status"],
            _SECONDS,
        )
        self._actions = Counted(
            "cubilete_actions",
            "Actions by ruleset and what came of them: done, replayed, or a problem's code.",
            ["ruleset", "result"],
        )
        self._batches = Histogram(
            "cubilete_batch_changes", "Changes in one transaction.", [], _CHANGES
        )
        self._commits = Histogram(
            "cubilete_batch_seconds", "How long transactions took.", [], _SECONDS
        )
        self._waits = Histogram(
            "cubilete_change_seconds",
            "From a change's asking to its answer, the wait for its batch included.",
            [],
            _SECONDS,
        )
        for told in (self._requests, self._actions, self._batches, self._commits, self._waits):
            self.registry.register(told)
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
        self._listeners = Gauge(
            "cubilete_listeners",
            "Answers that are held open: streams and long polls.",
            ["kind"],
            registry=self.registry,
        )
        tasks = Gauge("cubilete_tasks", "Tasks in the loop.", registry=self.registry)
        tasks.set_function(lambda: len(asyncio.all_tasks()))

    def watch(self, kind: str, count: Callable[[], int]) -> None:
        """Tells how many answers of a kind are open, asked when the metrics are."""
        self._listeners.labels(kind).set_function(count)

    def requested(self, method: str, route: str, status: int, took_s: float) -> None:
        """One request was answered."""
        self._requests.observe((method, route, str(status)), took_s)

    def acted(self, ruleset: str | None, result: str) -> None:
        """One action was answered; the ruleset is null if there was no such game."""
        self._actions.count((ruleset or "unknown", result))

    def committed(self, changes: int, took_s: float) -> None:
        """One transaction of so many changes ended (``store.change.Measure``)."""
        self._batches.observe((), changes)
        self._commits.observe((), took_s)

    def waited(self, waited_s: float) -> None:
        """One change was answered (``store.change.Measure``)."""
        self._waits.observe((), waited_s)

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
