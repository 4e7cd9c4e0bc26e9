"""What FastAPI can do by itself: a POST with a body like that of an action and an answer like
ours, with no rules and no database behind it.

    python -m bench.bare [bytes]

It is run as `cubilete serve` runs its application. The answer is a Python object that FastAPI
renders for each request, or with `bytes` a text that is ready, which no application that has
something to say can match.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI, Response
from pydantic import BaseModel, ConfigDict, Field

from service import cli
from service.settings import read

_ANSWER: Final = (Path(__file__).parent / "answer.json").read_bytes()
_TABLE: Final = {"game": {"id": "bare"}, "tokens": {"host": "none", "seats": []}}


class Act(BaseModel):
    """The body of an action."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: Literal["roll", "hold"]
    seat: Annotated[int | None, Field(ge=0, le=63)] = None
    expected_version: Annotated[int | None, Field(ge=0)] = None


app: Final = FastAPI()


@app.get("/readyz")
async def read_ready() -> dict[str, str]:
    """Whether it serves."""
    return {"status": "ok"}


@app.post("/v1/games", status_code=201)
async def create_game() -> dict[str, Any]:
    """A game that is none, so that the same load drives this server."""
    return _TABLE


async def act(id: str, action: Act) -> dict[str, Any]:
    """The answer, to be rendered."""
    return _RENDERED


async def act_bytes(id: str, action: Act) -> Response:
    """The answer, as it goes out."""
    return Response(_ANSWER, media_type="application/json")


_RENDERED: Final = json.loads(_ANSWER)

if __name__ == "__main__":
    app.post("/v1/games/{id}/actions")(act_bytes if "bytes" in sys.argv else act)
    settings = read()
    cli._run(settings, app)
