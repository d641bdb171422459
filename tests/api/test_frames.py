from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gpudb.api import Connection
from gpudb.api.frames import convert_frame
from gpudb.errors import FeatureNotSupported, GpudbError, UndefinedTable
from gpudb.values import Interval


def test_a_polars_frame_is_a_table(any_db: Connection) -> None:
    frame = pl.DataFrame(
        {"k": ["a", "b", None], "n": [1, None, 3], "d": [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]},
        schema_overrides={"n": pl.Int16},
    )
    relation = any_db.register("frame_polars", frame)
    assert [str(kind) for kind in relation.types] == ["text", "smallint", "date"]
    assert any_db.sql("SELECT k, sum(n) FROM frame_polars GROUP BY k ORDER BY k").fetchall() == [
        ("a", 1),
        ("b", None),
        (None, 3),
    ]
    assert relation.order("k").polars().equals(frame.sort("k", nulls_last=True))
    any_db.unregister("frame_polars")
    with pytest.raises(UndefinedTable):
        any_db.sql("SELECT * FROM frame_polars").fetchall()
    with pytest.raises(UndefinedTable):
        any_db.unregister("frame_polars")


def test_a_lazy_frame_and_a_pandas_frame(db: Connection) -> None:
    db.register("lazy", pl.LazyFrame({"x": [1, 2, 3]}).filter(pl.col("x") > 1))
    frame = pd.DataFrame({"x": [2, 3], "y": [1.5, float("nan")], "when": pd.to_datetime(["2024-01-01", None])})
    relation = db.register("pandas", frame)
    assert [str(kind) for kind in relation.types] == ["bigint", "double precision", "timestamp without time zone"]
    found = db.sql('SELECT x, y, "when" FROM lazy JOIN pandas USING (x) ORDER BY x').fetchall()
    assert found == [(2, 1.5, dt.datetime(2024, 1, 1)), (3, None, None)]


def test_columns_whose_names_differ_in_case_alone(any_db: Connection) -> None:
    frame = pa.table({"a": [1, 5], "A": [2, 6], "A$2": [3, 7]})
    relation = any_db.register("cases", frame)
    assert relation.order('"A"').fetchall() == [(1, 2, 3), (5, 6, 7)]
    assert any_db.sql('SELECT "A$2", "A" FROM cases WHERE a = 1').fetchall() == [(3, 2)]
    any_db.execute("CREATE TABLE kept_cases AS SELECT * FROM cases")
    assert any_db.sql('SELECT sum("A"), sum(a) FROM kept_cases').fetchall() == [(8, 6)]
    any_db.execute("DROP TABLE kept_cases")
    any_db.unregister("cases")


def test_a_frame_takes_the_place_of_one_of_its_name(any_db: Connection) -> None:
    any_db.register("again", pa.table({"a": [1]}))
    any_db.register("again", pa.table({"b": ["x", ""]}))
    assert any_db.table("again").order("b").fetchall() == [("",), ("x",)]
    any_db.unregister("again")


def test_a_relation_registered_is_a_table_of_what_it_gave_then(any_db: Connection) -> None:
    any_db.register("numbers", pa.table({"n": pa.array([1, 2, 3], pa.int32())}))
    kept = any_db.sql("SELECT n, n * 1.5 AS x FROM numbers WHERE n > 1").register("kept")
    any_db.register("numbers", pa.table({"n": pa.array([9], pa.int32())}))
    assert kept.order("n").fetchall() == [(2, Decimal("3.0")), (3, Decimal("4.5"))]
    any_db.unregister("kept")
    any_db.unregister("numbers")


def test_append_matches_columns_by_name(any_db: Connection) -> None:
    any_db.execute("DROP TABLE IF EXISTS appended")
    any_db.execute("CREATE TABLE appended (a int, b text, c numeric(6,2))")
    count = any_db.append("appended", pa.table({"c": [Decimal("1.50"), None], "a": [1, 2]}))
    assert count == 2
    assert any_db.sql("SELECT * FROM appended ORDER BY a").fetchall() == [
        (1, None, Decimal("1.50")),
        (2, None, None),
    ]
    with pytest.raises(GpudbError) as caught:
        any_db.append("appended", pa.table({"nothing": [1]}))
    assert caught.value.sqlstate == "42703"
    assert any_db.sql("SELECT count(*) FROM appended").fetchall() == [(2,)]
    any_db.execute("DROP TABLE appended")


NESTED = pa.array([[1, None], None, []], pa.list_(pa.int64()))


@pytest.mark.parametrize(
    ("array", "name", "values"),
    [
        (pa.array([1, None], pa.int8()), "smallint", [1, None]),
        (pa.array([255, None], pa.uint8()), "smallint", [255, None]),
        (pa.array([65535], pa.uint16()), "integer", [65535]),
        (pa.array([2**32 - 1], pa.uint32()), "bigint", [2**32 - 1]),
        (pa.array([2**64 - 1], pa.uint64()), "numeric(20,0)", [Decimal(2**64 - 1)]),
        (pa.array([1.5, None], pa.float16()), "real", [1.5, None]),
        (pa.array([Decimal("1.25")], pa.decimal256(10, 2)), "numeric(10,2)", [Decimal("1.25")]),
        (pa.array(["x", None], pa.large_string()), "text", ["x", None]),
        (pa.array(["x", None], pa.string_view()), "text", ["x", None]),
        (pa.array(["x", "y", None, "x"]).dictionary_encode(), "text", ["x", "y", None, "x"]),
        (pa.array([None, None], pa.null()), "text", [None, None]),
        (pa.array([b"ab"], pa.binary(2)), "bytea", [b"ab"]),
        (pa.array([dt.date(2024, 1, 1)], pa.date64()), "date", [dt.date(2024, 1, 1)]),
        (
            pa.array([1_500_000_001_499], pa.timestamp("ns")),
            "timestamp without time zone",
            [dt.datetime(1970, 1, 1, 0, 25, 0, 1)],
        ),
        (
            pa.array([0], pa.timestamp("s", "Asia/Tokyo")),
            "timestamp with time zone",
            [dt.datetime(1970, 1, 1, tzinfo=dt.UTC)],
        ),
        (pa.array([3_600_000], pa.time32("ms")), "time without time zone", [dt.time(1)]),
        (
            pa.array([dt.timedelta(days=1, seconds=1), None, -dt.timedelta(hours=30)], pa.duration("us")),
            "interval",
            [Interval(0, 1, 1_000_000), None, Interval(0, -1, -21_600_000_000)],
        ),
        (NESTED, "bigint[]", [[1, None], None, []]),
        (NESTED.cast(pa.large_list(pa.int64())), "bigint[]", [[1, None], None, []]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_arrow_types_as_sql_types(db: Connection, array: pa.Array, name: str, values: list[object]) -> None:
    relation = db.register("held", pa.table({"x": array}))
    assert [str(kind) for kind in relation.types] == [name]
    assert [row[0] for row in relation] == values


def test_slices_of_arrow_columns(db: Connection) -> None:
    table = pa.table({"l": NESTED, "d": pa.array([1, 2, 3], pa.duration("s"))}).slice(1)
    db.register("sliced", table)
    assert db.table("sliced").fetchall() == [(None, Interval(0, 0, 2_000_000)), ([], Interval(0, 0, 3_000_000))]


def test_what_sql_has_no_type_for_is_refused(db: Connection) -> None:
    with pytest.raises(FeatureNotSupported) as caught:
        convert_frame(pa.table({"good": [1], "bad": [{"a": 1}]}))
    assert '"bad"' in str(caught.value)
    for frame, state in (
        ([1, 2], "42804"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), "42701"),
        (pa.table({}), "0A000"),
    ):
        with pytest.raises(GpudbError) as raised:
            db.register("x", frame)
        assert raised.value.sqlstate == state
    assert db.execute("SELECT 1").fetchall() == [(1,)]


def test_a_column_of_uuids(db: Connection) -> None:
    import uuid

    value = uuid.uuid4()
    relation = db.register("ids", pa.table({"id": pa.array([value.bytes, None], pa.uuid())}))
    assert relation.fetchall() == [(value,), (None,)]
