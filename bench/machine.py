"""What the numbers were measured on: they mean nothing without it, and little on another one."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from bench.process import ROOT
from service.store.engine import open_engine

_PACKAGES: Final = (
    "fastapi",
    "starlette",
    "uvicorn",
    "uvloop",
    "httptools",
    "pydantic",
    "sqlalchemy",
)
_WRITES: Final = 100


def describe() -> list[str]:
    """One line for each thing that matters."""
    return [
        f"{_processor()}, {os.cpu_count()} cores, {_memory_gib():.0f} GiB",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        f"{platform.python_implementation()} {platform.python_version()}",
        ", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        f"SQLite {_sqlite_version()}, psycopg {version('psycopg')}",
        f"Node.js {_output('node', '--version') or 'is not here'}",
        f"a written block is on disk after {_sync_ms():.2f} ms (median of {_WRITES} fdatasyncs)",
        f"load of the machine before the run: {os.getloadavg()[0]:.1f}",
        f"measured on {datetime.now(UTC):%Y-%m-%d}",
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _sqlite_version() -> str:
    """That of the library which the store uses."""
    library: Any = open_engine(f"sqlite:///{ROOT / 'build' / 'none.db'}").dialect.dbapi
    return str(library.sqlite_version)


def _output(program: str, *arguments: str) -> str | None:
    if shutil.which(program) is None:
        return None
    asked = [program, *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def _sync_ms() -> float:
    """How long the disk of the benchmarks' databases takes for a small durable write."""
    (ROOT / "build").mkdir(exist_ok=True)
    took = []
    with tempfile.TemporaryFile(dir=ROOT / "build", buffering=0) as file:
        for _ in range(_WRITES):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return sorted(took)[_WRITES // 2] * 1000
