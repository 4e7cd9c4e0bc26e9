"""The examination of a record: its dice and its log by the verifier, then its rules by replay.

As a program it examines what ``examiner`` hands it, in a process of its own that holds no secret
and ends with ``memory.EXIT_CODE`` where it is given no more memory.
"""

import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, Final

import orjson

from service import verify
from service.memory import guarded
from service.replay import NotReplayable, audit
from service.verify import Failure, Report

SIZE_BYTES: Final = 8  # before every message, as a big-endian number
READY: Final = b"+"
_MEMORY_LIMIT: Final = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit came to: of the dice and the log (``report``), and of the rules.

    ``rules`` is the fault that replaying the rules has found, and null if there is none or the log
    itself has failed before.
    """

    report: Report
    rules: Failure | None

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.report.ok and self.rules is None

    def to_json(self) -> dict[str, Any]:
        """The verifier's report with the rules as one more check."""
        told = self.report.to_json()
        rules = "not reached"
        if self.report.ok:
            rules = "passed" if self.rules is None else "failed"
        told["checks"].append({"name": "rules", "result": rules})
        told["notes"] = [note for note in told["notes"] if note != verify.RULES_UNJUDGED]
        if self.rules is not None:
            told["failure"] = asdict(self.rules)
        told["ok"] = self.ok
        return told


def examine(lines: Sequence[bytes], report: Report) -> Finding:
    """The finding for a log whose dice ``report`` has judged already: replays its rules."""
    if not report.ok:
        return Finding(report, None)
    try:
        audit(lines)
    except NotReplayable as fault:
        return Finding(report, Failure(fault.seq, "rules", fault.why))
    return Finding(report, None)


def examine_upload(data: bytes) -> bytes:
    """The report on a log as JSONL or an audit record, as JSON."""
    report = verify.verify(data)
    return orjson.dumps(examine(_lines(data) if report.ok else [], report).to_json())


def _lines(data: bytes) -> list[bytes]:
    """The lines of a log or record that has been verified."""
    if verify.RECORD_START.match(data):
        return [line.encode() for line in json.loads(data)["log"]]
    return data.split(b"\n")[:-1]


def main(asked: BinaryIO, told: BinaryIO) -> None:
    """Says that it is ready, then answers each message with its report until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the server, which ends this
    os.nice(10)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY_LIMIT if most == resource.RLIM_INFINITY else min(most, _MEMORY_LIMIT)
    with contextlib.suppress(ValueError):  # macOS takes no such limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    told.write(READY)
    told.flush()
    while size := asked.read(SIZE_BYTES):
        report = examine_upload(asked.read(int.from_bytes(size, "big")))
        told.write(len(report).to_bytes(SIZE_BYTES, "big") + report)
        told.flush()


if __name__ == "__main__":
    guarded(main)(sys.stdin.buffer, sys.stdout.buffer)
