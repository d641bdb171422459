"""Reservations of keys: equal values share a lock, others do not, NULLs as the key says."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from gpudb.catalog.tables import Column, Key, Table
from gpudb.storage.constraints.reservations import list_reference_items, list_unique_items
from gpudb.storage.locks import Item
from gpudb.types import FLOAT8, INT4, INT8, JSONB, NUMERIC, TEXT, TIMESTAMPTZ, SqlType


def _items(kind: SqlType, values: list[object], *, nulls_distinct: bool = True) -> list[set[Item]]:
    """What each of some values locks as the key of a row."""
    table = Table(7, "public", "t", (Column("k", kind),), "gpudb", primary_key=("k",))
    key = Key("t_pkey", ("k",), nulls_distinct)
    batches = [pa.RecordBatch.from_arrays([pa.array([each], kind.arrow)], names=["k"]) for each in values]
    return [list_unique_items(table, 7, [batch], [key]) for batch in batches]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (INT4, [1, 1]),
        (FLOAT8, [0.0, -0.0]),
        (NUMERIC, [{"v": Decimal("1.5"), "s": 1}, {"v": Decimal("1.50"), "s": 2}]),
        (JSONB, ['{"a": 1.0}', '{"a": 1.00}']),
    ],
)
def test_equal_keys_share_a_lock(kind: SqlType, values: list[object]) -> None:
    one, other = _items(kind, values)
    assert one == other
    assert len(one) == 1


@pytest.mark.parametrize(
    ("kind", "values"),
    [(INT8, [1, 2]), (TEXT, ["1", "1 "]), (FLOAT8, [1.0, 1.5]), (TIMESTAMPTZ, [0, 1])],
)
def test_other_keys_have_locks_of_their_own(kind: SqlType, values: list[object]) -> None:
    one, other = _items(kind, values)
    assert one.isdisjoint(other)


def test_nulls_are_keys_where_they_equal_each_other() -> None:
    assert _items(INT4, [None]) == [set()]
    one, other = _items(INT4, [None, None], nulls_distinct=False)
    assert one == other
    assert len(one) == 1


def test_references_are_to_columns_in_any_order() -> None:
    x, y = pa.array([1, 2], pa.int32()), pa.array(["a", "b"])
    one = list_reference_items(7, ("x", "y"), (INT4, TEXT), (x, y))
    assert one == list_reference_items(7, ("y", "x"), (TEXT, INT8), (y, x.cast(pa.int64())))
    assert len(one) == 2
    assert one.isdisjoint(list_reference_items(8, ("x", "y"), (INT4, TEXT), (x, y)))
