"""What is thought of a node's rows: how many, and of each column its distinct values, its range and its NULLs.

Tables' files say rows, minima, maxima and NULLs, ANALYZE distinct values; without it they follow from keys and
ranges, else from a sample of the column's values, else they are guessed.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from gpudb.catalog.model import Column, Table
from gpudb.plan.cost.sampling import sampled
from gpudb.types import SqlType
from gpudb.values.calendar import days_of, microseconds_of

DISTINCT = 200.0
"""How many distinct values a column has of which nothing is known: PostgreSQL's guess."""
_WIDTHS = {"bool": 1, "int2": 2, "int4": 4, "float4": 4, "date": 4, "numeric": 16, "interval": 16, "uuid": 36}
_WIDTH, _TEXT_WIDTH = 8, 24
_TEXTS = {"text", "varchar", "bpchar", "bytea", "json", "jsonb", "name"}


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """`distinct` values between `low` and `high` (None: not known), `nulls` a share of the rows.

    `domain` is how many distinct values the table's column has, of which conditions have left `distinct`.
    """

    distinct: float
    low: float | None = None
    high: float | None = None
    nulls: float = 0.0
    domain: float = DISTINCT

    def among(self, rows: float) -> ColumnProfile:
        """The column where only so many rows are left."""
        if self.distinct <= rows:
            return self
        return ColumnProfile(max(rows, 1.0), self.low, self.high, self.nulls, self.domain)


@dataclass(frozen=True, slots=True)
class Profile:
    """Rows, and what is thought of each column; `base` is how many rows there were before any condition."""

    rows: float
    columns: tuple[ColumnProfile, ...]
    base: float

    def among(self, rows: float) -> Profile:
        """The same where only so many rows are left."""
        rows = max(rows, 1.0)
        columns = [each if each.distinct <= rows else each.among(rows) for each in self.columns]
        return Profile(rows, tuple(columns), self.base)


UNKNOWN = ColumnProfile(DISTINCT)


def unknown(rows: float) -> ColumnProfile:
    """A column of so many rows of which nothing else is known."""
    distinct = min(DISTINCT, max(rows, 1.0))
    return ColumnProfile(distinct, domain=distinct)


_SAMPLED = 100
"""Of tables of fewer rows no samples are taken: a guess does no harm."""
_KEPT = 512
# By identity, since a table's hash is that of all its files: what has been found of its columns, by position.
_known: OrderedDict[int, tuple[Table, dict[int, ColumnProfile]]] = OrderedDict()
_lock = threading.Lock()


def table_profile(table: Table, columns: Sequence[int]) -> Profile:
    """Of some columns of a table, by their positions."""
    rows = float(max(table.rows, 1))
    with _lock:
        _, known = _known.setdefault(id(table), (table, {}))
        _known.move_to_end(id(table))
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    missing = [index for index in columns if index not in known]
    if missing:
        single = {key.columns[0] for key in table.keys if len(key.columns) == 1}
        counted = {each.field_id: each.distinct_of(table.rows) for each in table.statistics if each.distinct}
        known |= {index: _column(table, table.columns[index], rows, single, counted) for index in missing}
    return Profile(rows, tuple([known[index] for index in columns]), rows)


def _column(table: Table, column: Column, rows: float, unique: set[str], counted: Mapping[int, float]) -> ColumnProfile:
    lows: list[float] = []
    highs: list[float] = []
    nulls = 0
    known = True
    for file in table.files:
        nulls += file.nulls.get(column.field_id, 0)
        low, high = file.minimums.get(column.field_id), file.maximums.get(column.field_id)
        ends = number_of(low), number_of(high)
        if ends[0] is not None and ends[1] is not None:
            lows.append(ends[0])
            highs.append(ends[1])
        elif file.nulls.get(column.field_id) != file.rows:
            known = False
    low_value, high_value = (min(lows), max(highs)) if known and lows else (None, None)
    share = min(nulls / rows, 1.0)
    there = max(rows * (1 - share), 1.0)
    spread = _spread(column.type, low_value, high_value)
    if column.name in unique:
        distinct = there
    elif column.field_id in counted:
        distinct = max(min(counted[column.field_id], there, there if spread is None else spread), 1.0)
    else:
        # A range of fewer values than there are rows tells enough.
        found = sampled(table, column) if rows >= _SAMPLED and (spread is None or spread >= there) else None
        guess = min(there, DISTINCT if spread is None else spread)
        distinct = guess if found is None else found.distinct_among(there)
    return ColumnProfile(distinct, low_value, high_value, share, distinct)


def _spread(kind: SqlType, low: float | None, high: float | None) -> float | None:
    """How many values there are between two bounds; None if that is not known."""
    if kind.name == "bool":
        return 2.0
    if low is None or high is None:
        return None
    if kind.name == "numeric":
        return (high - low) * 10.0 ** kind.numeric_digits[1] + 1
    if kind.name in {"int2", "int4", "int8", "date"}:
        return high - low + 1
    return 1.0 if low == high else float("inf")


def number_of(value: object) -> float | None:
    """A constant in the form of the statistics' bounds; None for what has no place on a line of numbers: NaN, too."""
    match value:
        case bool() | int() | float() | Decimal():
            return float(value) if math.isfinite(value) else None
        case dt.datetime():
            return float(microseconds_of(value))
        case dt.date():
            return float(days_of(value))
        case _:
            return None


def width(types: Sequence[SqlType]) -> int:
    """The bytes that a row of these types takes, about."""
    return sum(_TEXT_WIDTH if kind.name in _TEXTS else _WIDTHS.get(kind.name, _WIDTH) for kind in types) or 1
