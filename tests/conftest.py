"""Fixtures that all floors share, and the rule that CI allows no skip."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import pytest

from tests import contract_check
from tests.player import Player
from tests.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.at_table import Sat

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


@pytest.fixture
def player(client: httpx.Client) -> Player:
    return Player(client)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A server of one's own, to stop and start again."""
    server = Server(tmp_path / "data")
    yield server.start()
    server.stop()


# What takes longest begins first, so that no worker is left alone with it at the end.
_LONG: Final = ("test_table", "test_web", "test_soak", "test_fuzz", "test_audience", "test_mutants")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.name.startswith(_LONG))


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """One Chromium for all tests of a file; it keeps a loop running, as long as it is there."""
    from tests.browser import launched

    with launched() as running:
        yield running


@pytest.fixture
def sat(browser: "Browser", server: Server) -> "Iterator[Sat]":
    """Opens browser windows at the table."""
    from tests.at_table import windows

    with windows(browser, server) as sit:
        yield sit


def allow_no_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With CUBILETE_TESTS_NO_SKIP set what is skipped fails: CI installs what tests need."""
    if (
        os.environ.get("CUBILETE_TESTS_NO_SKIP")
        and report.skipped
        and not hasattr(report, "wasxfail")
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped, which is not allowed here: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report: pytest.TestReport = yield
    allow_no_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself as a whole."""
    report: pytest.CollectReport = yield
    allow_no_skip(report)
    return report
