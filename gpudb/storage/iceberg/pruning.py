"""Prunes files whose minima and maxima exclude all rows that a query needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpudb.catalog.tables import DataFile


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """`low <= column <= high`; a None bound is open, equality sets both. NULL never satisfies it.

    Bounds have the form of `DataFile`'s statistics: dates in days, times in microseconds (UTC for timestamptz), uuids
    as text, numerics as Decimal. Strings compare by code point: for a column with another collation only equality is
    allowed. With `among`, which is sorted, the value is one of those. With `null` the condition is IS NULL instead,
    with `not_null` IS NOT NULL.
    """

    field_id: int
    low: object = None
    high: object = None
    low_open: bool = False
    high_open: bool = False
    null: bool = False
    not_null: bool = False
    among: tuple[Any, ...] = ()


def prune_files(files: Sequence[DataFile], conjuncts: Sequence[ColumnRange]) -> tuple[DataFile, ...]:
    """Returns the files that may hold a row for which all `conjuncts` are true."""
    return tuple(file for file in files if all(_may_hold(file, conjunct) for conjunct in conjuncts))


def _may_hold(file: DataFile, condition: ColumnRange) -> bool:
    nulls = file.nulls.get(condition.field_id)
    if condition.null:
        return nulls is None or nulls > 0
    if nulls is not None and nulls == file.rows:
        return False
    if condition.not_null:
        return True
    least, most = file.minimums.get(condition.field_id), file.maximums.get(condition.field_id)
    try:
        if condition.low is not None and most is not None:
            if most < condition.low or (condition.low_open and most == condition.low):  # type: ignore[operator]
                return False
        if condition.high is not None and least is not None:
            if least > condition.high or (condition.high_open and least == condition.high):  # type: ignore[operator]
                return False
        if condition.among and least is not None and most is not None:
            place = bisect_left(condition.among, least)
            if place == len(condition.among) or condition.among[place] > most:
                return False
    except TypeError:
        return True  # values that do not compare exclude nothing
    return True
