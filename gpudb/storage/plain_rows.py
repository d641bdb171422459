"""Few rows as Python values: what a small INSERT adds to a table, until many of them become one batch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.types import SqlType

_LIMITS = {"int2": 1 << 15, "int4": 1 << 31, "int8": 1 << 63}
_KINDS: dict[str, type] = {
    "bool": bool,
    "int2": int,
    "int4": int,
    "int8": int,
    "float8": float,
    "text": str,
    "varchar": str,
    "bytea": bytes,
    "date": dt.date,
    "timestamp": dt.datetime,
    "timestamptz": dt.datetime,
}
"""Types whose values have one plain Python form, which Arrow takes as it is."""
_CELL_BYTES = 16
_LENGTH_BEFORE = 4
"""What the modifier of a varchar has beside its length."""


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Rows of a table, by column; each value is None or of its type's plain form (see `is_plain`)."""

    columns: Sequence[Sequence[object]]
    num_rows: int

    @property
    def nbytes(self) -> int:
        """About the bytes that the rows take."""
        size = _CELL_BYTES * self.num_rows * len(self.columns)
        for values in self.columns:
            if type(values[0]) is str or type(values[0]) is bytes:
                size += sum([len(each) for each in values if each is not None])  # type: ignore[arg-type, misc]
        return size

    def to_batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """Returns the rows as a batch, in the form of their types or the stored one."""
        return join_rows([self], schema)


def get_plain_kind(kind: SqlType) -> type | None:
    """Returns the Python type of a type's plain values; None for a type without."""
    if (kind.modifier != -1 and kind.name != "varchar") or kind.domain is not None or kind.user is not None:
        return None
    return _KINDS.get(kind.name)


def is_plain(kind: SqlType, values: Iterable[object]) -> bool:
    """Returns whether values of a type, which is one with a plain kind, are all plain, or NULL."""
    python, limit = _KINDS[kind.name], _LIMITS.get(kind.name)
    if limit is not None:
        return all(each is None or (type(each) is int and -limit <= each < limit) for each in values)
    if kind.modifier != -1:
        longest = kind.modifier - _LENGTH_BEFORE
        return all(each is None or (type(each) is str and len(each) <= longest) for each in values)
    return all(each is None or type(each) is python for each in values)


def join_rows(rows: Sequence[PlainRows], schema: pa.Schema) -> pa.RecordBatch:
    """Returns rows as one batch."""
    arrays = []
    for place, field in enumerate(schema):
        values = rows[0].columns[place] if len(rows) == 1 else [v for each in rows for v in each.columns[place]]
        arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def to_batches(parts: Iterable[pa.RecordBatch | PlainRows], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields batches of a schema, in which neighbouring plain rows are one."""
    plain: list[PlainRows] = []
    for part in parts:
        if isinstance(part, PlainRows):
            plain.append(part)
            continue
        if plain:
            yield join_rows(plain, schema)
            plain = []
        yield part
    if plain:
        yield join_rows(plain, schema)


def has_null(table: Table, rows: PlainRows) -> bool:
    """Returns whether a NOT NULL column has a NULL."""
    return any(column.not_null and None in values for column, values in zip(table.columns, rows.columns, strict=True))


def table_schema(table: Table) -> pa.Schema:
    """Returns the schema of a table's rows in the form of their types."""
    return pa.schema([pa.field(column.name, column.type.arrow) for column in table.columns])
