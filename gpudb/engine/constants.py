"""The row of a SELECT of constants, which needs no engine."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from gpudb.sql.bound import Cast, Constant, Expr, Parameter, Query, Select, Statement
from gpudb.sql.prepared import Artifact
from gpudb.sql.widening import WIDENING_CASTS

PLAIN_TYPES = frozenset("bool int2 int4 int8 float4 float8 text varchar date bytea".split())
"""Types whose Python values Arrow accepts unchanged."""
_PACKERS = {
    pa.bool_(): struct.Struct("<?"),
    pa.int16(): struct.Struct("<h"),
    pa.int32(): struct.Struct("<i"),
    pa.int64(): struct.Struct("<q"),
    pa.float64(): struct.Struct("<d"),
}
_OFFSETS = struct.Struct("<ii")


class OneRow:
    """A stream of one row, of which `values` are the Python values. Its batch is built once it is read."""

    __slots__ = ("_batch", "schema", "values")

    def __init__(self, schema: pa.Schema, values: tuple[object, ...]) -> None:
        self.schema = schema
        self.values = values
        self._batch: pa.RecordBatch | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        batch = self._batch
        if batch is None:
            arrays = list(map(_array, self.values, self.schema.types))
            self._batch = batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        yield batch

    def close(self) -> None:
        """No-op: nothing is held."""


@dataclass(frozen=True, slots=True)
class _RowRecipe:
    """Recipe of a query's row: each column's constant or parameter, and which columns are dates; `result` is the row
    if it never varies.
    """

    schema: pa.Schema
    sources: tuple[Constant | Parameter, ...]
    dates: tuple[int, ...]
    result: OneRow | None = None


_RECIPE = Artifact[_RowRecipe]()
_MAX_BYTES = 4096
"""Limit of a cached row's size; rows of longer constants are built for each statement."""


def constant_row(query: Statement, parameters: Sequence[object]) -> OneRow | None:
    """Returns the row of a query that selects constants and parameters of plain types without FROM; else None."""
    if not isinstance(query, Select) or query.source is not None:
        return None
    row = query.prepared.get(_RECIPE)
    if row is None:
        row = _build_recipe(query)
        if row is None:
            return None
        if sum(map(_memory_size, row.sources)) <= _MAX_BYTES:
            query.prepared.put(_RECIPE, row)
    return row.result or _fill(row, parameters)


def _memory_size(source: Constant | Parameter) -> int:
    """Estimates the bytes of memory that a cached source occupies."""
    value = source.value if isinstance(source, Constant) else None
    return 64 + (len(value) if isinstance(value, str | bytes) else 0)


def _fill(row: _RowRecipe, parameters: Sequence[object]) -> OneRow | None:
    values = tuple([parameters[each.number - 1] if isinstance(each, Parameter) else each.value for each in row.sources])
    if row.dates and any(isinstance(values[at], str) for at in row.dates):
        return None  # infinity, which DuckDB parses
    return OneRow(row.schema, values)


def _array(value: object, type_: pa.DataType) -> pa.Array:
    """Returns an array of one value in Python's memory: Arrow's allocator would release a page at each end."""
    if value is None:
        return pa.nulls(1, type_)
    if (packer := _PACKERS.get(type_)) is not None:
        return pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(packer.pack(value))])
    if isinstance(value, str):
        data = value.encode()
        return pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(_OFFSETS.pack(0, len(data))), pa.py_buffer(data)])
    return pa.array([value], type_)


def constant_or_parameter(expr: Expr) -> Constant | Parameter | None:
    """Returns the constant or parameter that an expression is equal to; None for any other expression."""
    while isinstance(expr, Cast) and (expr.arg.type.name, expr.type.name) in WIDENING_CASTS:
        expr = expr.arg
    return expr if isinstance(expr, Constant | Parameter) else None


def _build_recipe(query: Query) -> _RowRecipe | None:
    match query:
        case Select(
            targets=targets,
            source=None,
            where=None,
            grouped=False,
            distinct=False,
            order_by=(),
            limit=None,
            offset=None,
            ctes=(),
        ):
            if not targets or any(target.type.name not in PLAIN_TYPES for target in targets):
                return None
        case _:
            return None
    sources: list[Constant | Parameter] = []
    for target in targets:
        known = constant_or_parameter(target)
        if known is None:
            return None
        sources.append(known)
    schema = pa.schema([(f"c{number}", target.type.arrow) for number, target in enumerate(targets, 1)])
    dates = tuple(at for at, target in enumerate(targets) if target.type.name == "date")
    row = _RowRecipe(schema, tuple(sources), dates)
    varies = any(isinstance(source, Parameter) for source in sources)
    return row if varies else replace(row, result=_fill(row, ()))
