"""The browser's verifier outside a browser: Node, and a process that answers with reports."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pytest

TESTS = Path(__file__).parent


@cache
def node(at_least: tuple[int, ...] = (0,)) -> str | None:
    """The first Node that runs here and is new enough: the one on the path, or the one that
    Playwright brings along, which may lack a library of the system."""
    return next((one for one in _places() if (_version(one) or ()) >= at_least), None)


def _places() -> Iterator[str]:
    found, playwright = shutil.which("node"), find_spec("playwright")
    if found is not None:
        yield found
    if playwright is not None and playwright.origin is not None:
        yield str(Path(playwright.origin).with_name("driver") / "node")


def _version(program: str) -> tuple[int, ...] | None:
    """Null for what does not run."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(map(int, re.findall(r"\d+", told.stdout)))


NEEDS_NODE: Final = pytest.mark.skipif(
    node() is None, reason="no Node runs here, nor one that Playwright brings along"
)


def run(script: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A script in Node, to its end."""
    program = node()
    assert program is not None
    command = [program, str(script), *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=120)


class JavaScriptVerifier:
    """``service/web/verify.js`` in one process: ``ask``, then ``answer``, in that order."""

    def __init__(self) -> None:
        program = node()
        assert program is not None
        self._process = subprocess.Popen(
            [program, str(TESTS / "verifier_process.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, data: bytes, given: Mapping[str, Any]) -> None:
        """Hands over bytes and what is given besides, without waiting."""
        request = {"data": base64.b64encode(data).decode(), **given}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The report on what was asked."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the JavaScript verifier has stopped"
        report: dict[str, Any] = json.loads(line)
        return report

    def __enter__(self) -> "JavaScriptVerifier":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)
