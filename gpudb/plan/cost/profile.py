"""Profile of a node's rows: their number, and each column's distinct values, range and share of NULLs.

Tables' files have rows, minima, maxima and NULLs; ANALYZE counts distinct values. Without ANALYZE they follow from keys
and ranges, else from a sample of the column's values, else from a default.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from gpudb.catalog.tables import Column, Table
from gpudb.lru import IdentityKey, LruCache
from gpudb.plan.cost.sampling import sample_column
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS
from gpudb.values.calendar import days_from_date, microseconds_from_timestamp

DEFAULT_DISTINCT = 200.0
"""Default number of distinct values of a column about which nothing is known, as in PostgreSQL."""
_WIDTHS = {"bool": 1, "int2": 2, "int4": 4, "float4": 4, "date": 4, "numeric": 16, "interval": 16, "uuid": 36}
_WIDTH, _TEXT_WIDTH = 8, 24
_COUNTED = INTEGERS | {"date"}
_TEXTS = {"text", "varchar", "bpchar", "bytea", "json", "jsonb", "name"}


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """`distinct` values between `low` and `high` (None: unknown); `nulls` is a share of the rows.

    `domain` is the number of distinct values of the table's column, of which conditions have left `distinct`.
    """

    distinct: float
    low: float | None = None
    high: float | None = None
    nulls: float = 0.0
    domain: float = DEFAULT_DISTINCT

    def limit_rows(self, rows: float) -> ColumnProfile:
        """Returns the column's profile where only `rows` rows remain."""
        if self.distinct <= rows:
            return self
        return ColumnProfile(max(rows, 1.0), self.low, self.high, self.nulls, self.domain)


@dataclass(frozen=True, slots=True)
class Profile:
    """Number of rows and the profile of each column; `base` is the number of rows before any condition."""

    rows: float
    columns: tuple[ColumnProfile, ...]
    base: float

    def limit_rows(self, rows: float) -> Profile:
        """Returns the profile where only `rows` rows remain."""
        rows = max(rows, 1.0)
        columns = [each if each.distinct <= rows else each.limit_rows(rows) for each in self.columns]
        return Profile(rows, tuple(columns), self.base)


UNKNOWN = ColumnProfile(DEFAULT_DISTINCT)


def unknown_column(rows: float) -> ColumnProfile:
    """Returns the profile of a column of `rows` rows about which nothing else is known."""
    distinct = min(DEFAULT_DISTINCT, max(rows, 1.0))
    return ColumnProfile(distinct, domain=distinct)


_MIN_SAMPLED_ROWS = 100
"""Tables of fewer rows are not sampled: there a default does no harm."""
# Column profiles by position, per table. Keyed by identity, since hashing a table hashes all its files.
_known: LruCache[IdentityKey[Table], dict[int, ColumnProfile]] = LruCache(512)


def profile_table(table: Table, columns: Sequence[int]) -> Profile:
    """Returns the profile of some columns of a table, by their positions."""
    rows = float(max(table.rows, 1))
    key = IdentityKey(table)
    known = _known.get(key)
    if known is None:
        known = {}
        _known.put(key, known)
    missing = [index for index in columns if index not in known]
    if missing:
        single = {key.columns[0] for key in table.keys if len(key.columns) == 1}
        counted = {each.field_id: each.estimate_distinct(table.rows) for each in table.statistics if each.distinct}
        known |= {index: _profile_column(table, table.columns[index], rows, single, counted) for index in missing}
    return Profile(rows, tuple([known[index] for index in columns]), rows)


def _profile_column(
    table: Table, column: Column, rows: float, unique: set[str], counted: Mapping[int, float]
) -> ColumnProfile:
    lows: list[float] = []
    highs: list[float] = []
    nulls = 0
    known = True
    for file in table.files:
        nulls += file.nulls.get(column.field_id, 0)
        low, high = file.minimums.get(column.field_id), file.maximums.get(column.field_id)
        ends = to_number(low), to_number(high)
        if ends[0] is not None and ends[1] is not None:
            lows.append(ends[0])
            highs.append(ends[1])
        elif file.nulls.get(column.field_id) != file.rows:
            known = False
    low_value, high_value = (min(lows), max(highs)) if known and lows else (None, None)
    share = min(nulls / rows, 1.0)
    non_null_rows = max(rows * (1 - share), 1.0)
    spread = _count_between(column.type, low_value, high_value)
    if column.name in unique:
        distinct = non_null_rows
    elif column.field_id in counted:
        distinct = max(min(counted[column.field_id], non_null_rows, non_null_rows if spread is None else spread), 1.0)
    else:
        # A range of fewer values than rows is precise enough.
        found = (
            sample_column(table, column)
            if not table.format and rows >= _MIN_SAMPLED_ROWS and (spread is None or spread >= non_null_rows)
            else None
        )
        guess = min(non_null_rows, DEFAULT_DISTINCT if spread is None else spread)
        distinct = guess if found is None else found.estimate_distinct(non_null_rows)
    return ColumnProfile(distinct, low_value, high_value, share, distinct)


def _count_between(kind: SqlType, low: float | None, high: float | None) -> float | None:
    """Returns how many values lie between two bounds; None if unknown."""
    if kind.name == "bool":
        return 2.0
    if low is None or high is None:
        return None
    if kind.name == "numeric":
        return (high - low) * 10.0 ** kind.numeric_digits[1] + 1
    if kind.name in _COUNTED:
        return high - low + 1
    return 1.0 if low == high else float("inf")


def to_number(value: object) -> float | None:
    """Converts a constant to the numeric form of the statistics' bounds; None if it has none, as NaN."""
    match value:
        case bool() | int() | float() | Decimal():
            return float(value) if math.isfinite(value) else None
        case dt.datetime():
            return float(microseconds_from_timestamp(value))
        case dt.date():
            return float(days_from_date(value))
        case _:
            return None


def row_width(types: Sequence[SqlType]) -> int:
    """Returns the approximate width in bytes of a row of these types."""
    return sum(_TEXT_WIDTH if kind.name in _TEXTS else _WIDTHS.get(kind.name, _WIDTH) for kind in types) or 1
