"""Casts of files' columns to SQL types: values that fit are exact, others are errors of their rows."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest

from gpudb import types
from gpudb.errors import GpudbError
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.load.casts import cast_column, find_sql_type
from gpudb.types import SqlType, numeric

BERLIN = Clock("Europe/Berlin")
UTC = dt.UTC

FITS: list[tuple[pa.Array, SqlType, list[object]]] = [
    (pa.array([1, None, 255], pa.uint8()), types.INT2, [1, None, 255]),
    (pa.array([1.5, 2.5, -2.5, None]), types.INT4, [2, 2, -2, None]),
    (pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("-2.5")]), types.INT4, [2, 3, -3]),
    (pa.array([2**63], pa.uint64()), numeric(20, 0), [Decimal(2**63)]),
    (pa.array([1, 2], pa.int64()), numeric(5, 2), [Decimal("1.00"), Decimal("2.00")]),
    (pa.array([1.1, 7.25, None]), numeric(10, 2), [Decimal("1.10"), Decimal("7.25"), None]),
    (pa.array([1.005, 2.675]), numeric(10, 2), [Decimal("1.01"), Decimal("2.68")]),
    (pa.array([Decimal("1.255")]), numeric(5, 2), [Decimal("1.26")]),
    (pa.array([0.1], pa.float32()), numeric(20, 10), [Decimal("0.1000000000")]),
    (pa.array([Decimal("1.50")]), types.NUMERIC, [{"v": Decimal("1.5"), "s": 2}]),
    (pa.array([2.5]), types.NUMERIC, [{"v": Decimal("2.5"), "s": 1}]),
    (pa.array([1, 2], pa.int16()), types.FLOAT8, [1.0, 2.0]),
    (pa.array([1, 2], pa.int32()), types.TEXT, ["1", "2"]),
    (pa.array([True, False]), types.TEXT, ["t", "f"]),
    (pa.array(["1", None]).dictionary_encode(), types.INT4, [1, None]),
    (pa.array(["a"], pa.large_string()), types.TEXT, ["a"]),
    (pa.array(["ab "], pa.string_view()), SqlType("bpchar", 7), ["ab"]),
    (pa.nulls(2), types.DATE, [None, None]),
    (pa.array([dt.date(2020, 2, 29)]), types.TIMESTAMP, [dt.datetime(2020, 2, 29)]),
    (pa.array([dt.datetime(1969, 12, 31, 23)]), types.DATE, [dt.date(1969, 12, 31)]),
    (pa.array([dt.datetime(2020, 7, 1, 12)]), types.TIMESTAMPTZ, [dt.datetime(2020, 7, 1, 10, tzinfo=UTC)]),
    (pa.array([dt.datetime(2020, 7, 1, 10, tzinfo=UTC)]), types.TIMESTAMP, [dt.datetime(2020, 7, 1, 12)]),
    (pa.array([1_000], pa.timestamp("ns")), types.TIMESTAMP, [dt.datetime(1970, 1, 1, 0, 0, 0, 1)]),
    # rounded away from the year 2000, as in PostgreSQL
    (pa.array([1500], pa.timestamp("ms")), SqlType("timestamp", 0), [dt.datetime(1970, 1, 1, 0, 0, 1)]),
    (pa.array([3600], pa.time32("s")), types.TIME, [dt.time(1)]),
    (pa.array([b"x" * 16], pa.binary(16)).cast(pa.binary(16)), types.BYTEA, [b"x" * 16]),
    (pa.array([uuid.UUID(int=1).bytes], pa.uuid()), types.UUID, [str(uuid.UUID(int=1))]),
    (pa.array([str(uuid.UUID(int=1)).upper()]), types.UUID, [str(uuid.UUID(int=1))]),
    (pa.array(['{"b":1, "a":2}']), types.JSONB, ['{"a": 2, "b": 1}']),
    (pa.array([1_500_000], pa.duration("us")), types.INTERVAL, [(0, 0, 1_500_000_000)]),
    (pa.array([[1, None], None, []], pa.list_(pa.int64())), types.INT2.array, [[1, None], None, []]),
    (pa.array([["1.5"]], pa.large_list(pa.string())), numeric(3, 1).array, [[Decimal("1.5")]]),
]


@pytest.mark.parametrize(("column", "type_", "expected"), FITS, ids=lambda each: str(each)[:30].replace("\n", ""))
def test_what_fits(column: pa.Array, type_: SqlType, expected: list[object]) -> None:
    for part in (column, pa.concat_arrays([column, column]).slice(len(column)) if column.type != pa.uuid() else column):
        found = cast_column(part, type_, BERLIN)
        assert found.errors == []
        assert found.values.type == type_.arrow
        values = [tuple(v) if type_ == types.INTERVAL else v for v in found.values.to_pylist()]
        assert values == expected


ERRORS: list[tuple[pa.Array, SqlType, int, str]] = [
    (pa.array([1, 40_000]), types.INT2, 1, "22003"),
    (pa.array([1.0, float("inf")]), types.INT8, 1, "22003"),
    (pa.array([1.0, 1e300]), types.FLOAT4, 1, "22003"),
    (pa.array([1, 1000]), numeric(4, 2), 1, "22003"),
    (pa.array([1.0, 100.0]), numeric(4, 2), 1, "22003"),
    (pa.array(["ab", "abcd"]), SqlType("varchar", 7), 1, "22001"),
    (pa.array(["2020-01-01", "x"]), types.DATE, 1, "22007"),
    (pa.array(["{}", "{"]), types.JSON, 1, "22P02"),
    (pa.array([[1], [2, 1 << 40]]), types.INT4.array, 1, "22003"),
]


@pytest.mark.parametrize(
    ("column", "type_", "row", "sqlstate"), ERRORS, ids=lambda each: str(each)[:30].replace("\n", "")
)
def test_what_does_not_fit(column: pa.Array, type_: SqlType, row: int, sqlstate: str) -> None:
    found = cast_column(column, type_, BERLIN)
    assert [(at, error.sqlstate) for at, error in found.errors] == [(row, sqlstate)]
    assert found.values.is_null().to_pylist() == [False, True] if type_.element is None else True


MISMATCHES: list[tuple[pa.Array, SqlType]] = [
    (pa.array([True]), types.INT4),
    (pa.array([1]), types.BOOL),
    (pa.array([1]), types.DATE),
    (pa.array([dt.time(1)]), types.TIMESTAMP),
    (pa.array([b"x"]), types.INT4),
    (pa.array([[1]]), types.INT4),
    (pa.array([{"a": 1}]), types.JSON),
    (pa.array([[[1]]]), types.INT4.array),
]


@pytest.mark.parametrize(("column", "type_"), MISMATCHES, ids=lambda each: str(each)[:30].replace("\n", ""))
def test_what_has_no_cast(column: pa.Array, type_: SqlType) -> None:
    with pytest.raises(GpudbError) as failed:
        cast_column(column, type_, BERLIN)
    assert failed.value.sqlstate == "42804"


def test_decimals_beyond_38_digits_are_wide() -> None:
    found = find_sql_type(pa.decimal256(50, 2))
    assert found is not None
    assert (str(found), found.wide) == ("numeric(50,2)", True)
    assert find_sql_type(pa.decimal256(38, 2)) == numeric(38, 2)
    assert find_sql_type(pa.map_(pa.string(), pa.int32())) is None
