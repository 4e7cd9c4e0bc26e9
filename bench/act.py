"""The body of an action, as an application would declare it by the manual."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Act(BaseModel):
    """What a seat asks for."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: Literal["roll", "hold"]
    seat: Annotated[int | None, Field(ge=0, le=63)] = None
    expected_version: Annotated[int | None, Field(ge=0)] = None
