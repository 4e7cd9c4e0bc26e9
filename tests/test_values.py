"""Frozen values with one thing changed."""

from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.values import changed


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int
    name: str = "p"


@dataclass(frozen=True, slots=True)
class Named(Point):
    color: str = "red"


@dataclass(frozen=True, slots=True)
class Computed:
    x: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", abs(self.x))


@given(st.dictionaries(st.sampled_from(["x", "y", "name", "color"]), st.integers()))
def test_it_gives_what_replace_gives(changes: dict[str, Any]):
    value = Named(1, 2)
    assert changed(value, **changes) == replace(value, **changes)
    assert value == Named(1, 2)


def test_what_it_gives_is_frozen_too():
    with pytest.raises(FrozenInstanceError):
        changed(Point(1, 2), x=3).x = 4  # type: ignore[misc]


def test_a_misspelt_field_is_an_error():
    with pytest.raises(TypeError, match="has no field z"):
        changed(Point(1, 2), z=3)


def test_a_class_that_computes_is_refused():
    with pytest.raises(TypeError, match="computes when it is made"):
        changed(Computed(1), x=-2)
