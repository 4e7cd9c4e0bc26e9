"""Fixtures that all floors share, and the rule that CI allows no skip."""

import os
from collections.abc import Generator, Iterator

import httpx
import pytest

from tests import contract_check
from tests.server import Server

pytest_plugins = ["tests.postgres"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server over an embedded database, shared by tests that mind only their own games."""
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as connected:
        yield connected


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    """A client whose every answer is held against the OpenAPI document."""
    with server.client(event_hooks={"response": [contract_check.check]}) as connected:
        yield connected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CUBILETE_TESTS_NO_SKIP set a skipped test fails: CI installs what tests need."""
    report: pytest.TestReport = yield
    if (
        os.environ.get("CUBILETE_TESTS_NO_SKIP")
        and report.skipped
        and not hasattr(report, "wasxfail")
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped, which is not allowed here: {report.longrepr}"
    return report
