"""Values of records, and values of Arrow columns as Python holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gpudb.lru import LruCache
from gpudb.types import SqlType, widen
from gpudb.values import format_text, parse_text
from gpudb.values.datetime_style import use_style
from gpudb.values.text_columns import format_text_column
from gpudb.values.wide_numerics import is_wide_column

_PLAIN = frozenset("bool int2 int4 int8 float8 text varchar oid".split())


@dataclass(slots=True)
class Record:
    """A row: the names, types and values of its fields. Assignments to a field change `values` in place."""

    names: tuple[str, ...]
    types: tuple[SqlType, ...]
    values: list[object]

    def copy(self) -> Record:
        """Returns a record with values of its own."""
        return Record(self.names, self.types, list(self.values))

    @property
    def type(self) -> SqlType:
        """The type of the whole row."""
        return SqlType("record", fields=tuple(zip(self.names, self.types, strict=True)))

    @property
    def is_null(self) -> bool:
        """Whether every field is NULL."""
        return all(each is None for each in self.values)


class NullRecord(Record):
    """A row that is NULL as a whole, as OLD is in a trigger for INSERT; its fields read as NULL."""

    __slots__ = ()


_SHAPES: LruCache[object, tuple[tuple[str, ...], tuple[SqlType, ...]]] = LruCache(512)
_LATEST: dict[int, tuple[object, tuple[str, ...], tuple[SqlType, ...]]] = {}


def new_record(columns: Sequence[tuple[str, SqlType]], row: Sequence[object]) -> Record:
    """Returns a row as a record. Records of equal columns share the tuples of names and types."""
    latest = _LATEST.get(id(columns))
    if latest is not None and latest[0] is columns:
        return Record(latest[1], latest[2], list(row))
    key = tuple(columns)
    shape = _SHAPES.get(key)
    if shape is None:
        shape = tuple(name for name, _ in key), tuple(item for _, item in key)
        _SHAPES.put(key, shape)
    if len(_LATEST) > 256:
        _LATEST.clear()
    _LATEST[id(columns)] = columns, *shape
    return Record(*shape, list(row))


def copy_array(array: list[Any]) -> list[Any]:
    """Returns an array whose lists, one for each item of an outer dimension, are its own."""
    return [copy_array(each) if isinstance(each, list) else each for each in array]


def null_record(item: SqlType) -> Record:
    """Returns a row of NULLs of a composite type."""
    return new_record(item.fields, [None] * len(item.fields))


def column_values(item: SqlType, column: pa.Array, zone: str) -> list[object]:
    """Returns a column's values as `gpudb.values` represents them."""
    if item.name in _PLAIN and item.user is None:
        found: list[object] = column.to_pylist()
        return found
    if item.name.lstrip("_") == "numeric" and is_wide_column(column):
        item = widen(item)
    kind = widen(item.without_modifier)
    with use_style():
        texts = format_text_column(item, column, zone).to_pylist()
        return [None if text is None else parse_text(kind, text, zone) for text in texts]


def iter_rows(
    columns: Sequence[tuple[str, SqlType]], batches: Iterable[pa.RecordBatch], zone: str
) -> Iterator[tuple[object, ...]]:
    """Yields the rows of batches as tuples of values."""
    types = [item for _, item in columns]
    for batch in batches:
        if batch.num_rows and not types:
            # a query without columns has one for its rows to be counted by
            yield from [()] * batch.num_rows
        elif batch.num_rows:
            lists = [column_values(item, each, zone) for item, each in zip(types, batch.columns, strict=True)]
            yield from zip(*lists, strict=True)


def show_value(item: SqlType, value: object, zone: str) -> str | None:
    """Returns a value as text; None for NULL."""
    if value is None or isinstance(value, NullRecord):
        return None
    if isinstance(value, Record):
        value = tuple(each.values if isinstance(each, Record) else each for each in value.values)
    return format_text(item, value, zone)
