"""What FastAPI can do by itself: a POST with a body like that of an action and an answer like
ours, with no rules and no database behind it.

    python -m bench.bare ANSWER-FILE rendered|ready

It is run by uvicorn as that comes, without a line for each request. The answer is the one in the
file: an object that is rendered for each request, or a text that is ready, which no application
that has something to say can match.
"""

import json
import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Response

from bench.act import Act
from service.settings import read


def create_app(answer: bytes, *, ready: bool) -> FastAPI:
    """An application with a route for actions that gives everybody this answer."""
    app = FastAPI()
    value = json.loads(answer)

    async def act_rendered(id: str, action: Act) -> dict[str, Any]:
        found: dict[str, Any] = value
        return found

    async def act_ready(id: str, action: Act) -> Response:
        return Response(answer, media_type="application/json")

    app.post("/v1/games/{id}/actions")(act_ready if ready else act_rendered)

    @app.get("/readyz")
    async def read_ready() -> dict[str, str]:
        return {"status": "ok"}

    return app


if __name__ == "__main__":
    file, form = sys.argv[1:]
    application = create_app(Path(file).read_bytes(), ready=form == "ready")
    uvicorn.run(application, port=read().port, log_level="warning", access_log=False)
