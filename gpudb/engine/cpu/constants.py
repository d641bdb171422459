"""SELECT of constants alone: one row that no engine needs to compute."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gpudb.engine.protocol import Request
from gpudb.sql.bound import Cast, Constant, Parameter, Query, Select

# What Arrow holds as Python does.
_PLAIN = frozenset("bool int2 int4 int8 float4 float8 text varchar date bytea".split())
# Casts that change no value.
_WIDENED = frozenset({("int2", "int4"), ("int2", "int8"), ("int4", "int8"), ("varchar", "text")})


class OneRow:
    """A stream of one row."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.schema = batch.schema
        self._batch = batch

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield self._batch

    def close(self) -> None:
        """Nothing is held."""


# The rows of queries that plan caches hold, with the query itself, so that its id stays its own.
_rows: dict[int, tuple[Query, OneRow]] = {}
_KEPT = 1024


def constant_row(request: Request) -> OneRow | None:
    """The row of a query that selects constants and parameters of plain types from nothing; None for any other."""
    kept = _rows.get(id(request.query))
    if kept is not None:
        return kept[1]
    row = _made(request)
    if row is not None and not request.parameters:
        if len(_rows) >= _KEPT:
            _rows.clear()
        _rows[id(request.query)] = request.query, row
    return row


def _made(request: Request) -> OneRow | None:
    match request.query:
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
            if not targets or any(target.type.name not in _PLAIN for target in targets):
                return None
        case _:
            return None
    arrays = []
    for target in targets:
        known = target
        while isinstance(known, Cast) and (known.arg.type.name, known.type.name) in _WIDENED:
            known = known.arg
        if isinstance(known, Constant):
            value = known.value
        elif isinstance(known, Parameter):
            value = request.parameters[known.number - 1]
        else:
            return None
        if target.type.name == "date" and isinstance(value, str):
            return None  # infinity, which DuckDB reads
        arrays.append(pa.array([value], target.type.arrow))
    names = [f"c{number}" for number in range(1, len(arrays) + 1)]
    return OneRow(pa.RecordBatch.from_arrays(arrays, names=names))
