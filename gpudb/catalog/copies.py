"""Copies of immutable objects with other values of few fields, for objects of many fields that change often."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


def copy_with(item: T, **values: object) -> T:
    """Returns what `dataclasses.replace` does for an object with slots, sooner and without `__post_init__`."""
    read, setters = _list_fields(type(item))  # type: ignore[arg-type]
    made: Any = object.__new__(type(item))
    for put, value in zip(setters, read(item)):
        put(made, value)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made  # type: ignore[no-any-return]


@cache
def _list_fields(kind: Any) -> tuple[Callable[[Any], tuple[object, ...]], list[Callable[[Any, object], None]]]:
    names = tuple(kind.__dataclass_fields__)
    return attrgetter(*names), [getattr(kind, name).__set__ for name in names]
