"""Frozen values with one thing changed."""

from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.values import bytes_or_none, changed, hex_or_none, set_at


@dataclass(frozen=True)
class Point:
    x: int
    y: int
    name: str = "p"


@dataclass(frozen=True)
class Named(Point):
    color: str = "red"


@dataclass(frozen=True)
class Single:
    x: tuple[int, ...]


@dataclass(frozen=True)
class Computed:
    x: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", abs(self.x))


@given(st.dictionaries(st.sampled_from(["x", "y", "name", "color"]), st.integers()))
def test_it_gives_what_replace_gives(changes: dict[str, Any]):
    value = Named(1, 2)
    assert changed(value, **changes) == replace(value, **changes)
    assert value == Named(1, 2)


def test_a_value_may_have_a_single_field():
    assert changed(Single((1, 2))) == Single((1, 2))
    assert changed(Single((1, 2)), x=(3,)) == Single((3,))


def test_what_it_gives_is_frozen_too():
    with pytest.raises(FrozenInstanceError):
        changed(Point(1, 2), x=3).x = 4  # type: ignore[misc]


def test_a_misspelt_field_is_an_error():
    with pytest.raises(TypeError, match="has no field z"):
        changed(Point(1, 2), z=3)


def test_a_class_that_computes_is_refused():
    with pytest.raises(TypeError, match="computes when it is made"):
        changed(Computed(1), x=-2)


@pytest.mark.parametrize("index", range(3))
def test_one_of_several_values_is_set(index: int):
    expected = [1, 2, 3]
    expected[index] = 9
    assert set_at((1, 2, 3), index, 9) == tuple(expected)


@pytest.mark.parametrize("value", [None, b"", b"\x00\xff"])
def test_bytes_are_told_in_hex_and_read_again(value: bytes | None):
    assert bytes_or_none(hex_or_none(value)) == value
