"""The browser's verifier outside a browser: Node, and a process that answers with reports."""

import base64
import json
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

TESTS = Path(__file__).parent


def node() -> str | None:
    """Node on the path, or else the one that Playwright brings along."""
    found = shutil.which("node")
    if found is not None:
        return found
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        return None
    brought = Path(spec.origin).with_name("driver") / "node"
    return str(brought) if brought.is_file() else None


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
