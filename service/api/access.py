"""One line for each request, as JSON: what a caller sends can neither break a line nor forge one.

Neither queries nor headers are told: somebody's token could stand in them.
"""

import json
import logging
import time
from typing import Any, Final

from starlette.types import Scope

from service.api.request_id import REQUEST_ID

NAME: Final = "cubilete.access"
_PATH_LIMIT: Final = 300
_log = logging.getLogger(NAME)


class AccessLog:
    """Notes requests in the log of that name."""

    def note(self, scope: Scope, caller: str, status: int, took_s: float) -> None:
        """One request with its answer; status 0 if it had none."""
        told: dict[str, Any] = {
            "method": scope["method"],
            "path": scope["path"][:_PATH_LIMIT],
            "status": status,
            "ms": round(took_s * 1000, 1),
            "caller": caller,
        }
        _log.info("request", extra={"told": told})


class JsonLine(logging.Formatter):
    """A record as one line of ASCII JSON, its exception included."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "at": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "log": record.name,
            "message": record.getMessage(),
            **getattr(record, "told", {}),
        }
        request_id = REQUEST_ID.get()
        if request_id is not None:
            line["request_id"] = request_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_config(level: str) -> dict[str, Any]:
    """The configuration of every log of the process: JSON lines on stderr."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLine}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "service": {"level": level.upper()},
            "uvicorn": {"level": level.upper()},
            NAME: {"level": "INFO"},
        },
    }
