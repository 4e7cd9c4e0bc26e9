"""Frozen values with one thing changed, for the paths that every action takes."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

V = TypeVar("V")


def changed(value: V, **changes: Any) -> V:
    """The same frozen slots dataclass with these fields changed.

    What ``dataclasses.replace`` does, in a third of its time, as it does not run ``__init__``: for
    classes without ``__post_init__`` only. A field that does not exist raises TypeError.
    """
    kind: Any = type(value)
    read, write = _access(kind)
    made: V = object.__new__(kind)
    for setter, held in zip(write.values(), read(value), strict=True):
        setter(made, held)
    for name, given in changes.items():
        if name not in write:
            raise TypeError(f"{kind.__name__} has no field {name}")
        write[name](made, given)
    return made


@cache
def _access(kind: Any) -> tuple[Callable[[Any], Any], Mapping[str, Callable[[Any, Any], None]]]:
    """How to read all fields of a slots dataclass at once, and how to write each."""
    if hasattr(kind, "__post_init__"):
        raise TypeError(f"{kind.__name__} computes when it is made")
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: getattr(kind, name).__set__ for name in names}
