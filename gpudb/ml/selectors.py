"""Columns chosen by type or name when a transformer is fitted: `StandardScaler(numeric() - named("id"))`.

`|`, `&` and `-` combine selectors as sets of columns; `~` chooses all others.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.types import SqlType

_NUMBERS = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric"})
_TEXTS = frozenset({"text", "varchar", "bpchar"})
_MOMENTS = frozenset({"date", "timestamp", "timestamptz"})


class Selector(ABC):
    """A choice of columns."""

    @abstractmethod
    def accepts(self, name: str, type_: SqlType) -> bool:
        """Whether it chooses a column."""

    def choose(self, types: Mapping[str, SqlType]) -> list[str]:
        """Returns the names of the chosen columns, in their order."""
        return [name for name, type_ in types.items() if self.accepts(name, type_)]

    def __or__(self, other: Selector) -> Selector:
        return _Either(self, other)

    def __and__(self, other: Selector) -> Selector:
        return _Both(self, other)

    def __sub__(self, other: Selector) -> Selector:
        return self & ~other

    def __invert__(self) -> Selector:
        return self.other if isinstance(self, _Other) else _Other(self)


@dataclass(frozen=True, repr=False)
class _OfTypes(Selector):
    label: str
    types: frozenset[str] | None

    def __repr__(self) -> str:
        return self.label

    def accepts(self, name: str, type_: SqlType) -> bool:
        return self.types is None or type_.name in self.types


@dataclass(frozen=True, repr=False)
class _Named(Selector):
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"named({', '.join(map(repr, self.names))})"

    def accepts(self, name: str, type_: SqlType) -> bool:
        return name in self.names


@dataclass(frozen=True, repr=False)
class _Matching(Selector):
    pattern: str

    def __repr__(self) -> str:
        return f"matching({self.pattern!r})"

    def accepts(self, name: str, type_: SqlType) -> bool:
        return re.search(self.pattern, name) is not None


@dataclass(frozen=True, repr=False)
class _Either(Selector):
    one: Selector
    other: Selector

    def __repr__(self) -> str:
        return f"({self.one!r} | {self.other!r})"

    def accepts(self, name: str, type_: SqlType) -> bool:
        return self.one.accepts(name, type_) or self.other.accepts(name, type_)


@dataclass(frozen=True, repr=False)
class _Both(Selector):
    one: Selector
    other: Selector

    def __repr__(self) -> str:
        return f"({self.one!r} & {self.other!r})"

    def accepts(self, name: str, type_: SqlType) -> bool:
        return self.one.accepts(name, type_) and self.other.accepts(name, type_)


@dataclass(frozen=True, repr=False)
class _Other(Selector):
    other: Selector

    def __repr__(self) -> str:
        return f"~{self.other!r}"

    def accepts(self, name: str, type_: SqlType) -> bool:
        return not self.other.accepts(name, type_)


def all_columns() -> Selector:
    """Chooses every column."""
    return _OfTypes("all_columns()", None)


def numeric() -> Selector:
    """Chooses columns of integers, floats and numeric."""
    return _OfTypes("numeric()", _NUMBERS)


def text() -> Selector:
    """Chooses columns of text, varchar and char."""
    return _OfTypes("text()", _TEXTS)


def temporal() -> Selector:
    """Chooses columns of dates and timestamps."""
    return _OfTypes("temporal()", _MOMENTS)


def boolean() -> Selector:
    """Chooses columns of booleans."""
    return _OfTypes("boolean()", frozenset({"bool"}))


def named(*names: str) -> Selector:
    """Chooses columns by name; a name that is no column chooses none."""
    return _Named(names)


def matching(pattern: str) -> Selector:
    """Chooses columns in whose name a regular expression of Python finds something."""
    return _Matching(pattern)
