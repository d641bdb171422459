"""Values of every type: equal from an embedded database, from gpudb's server and from a real PostgreSQL."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from gpudb.api import Connection
from gpudb.errors import GpudbError
from gpudb.values import Interval, Multirange, Range

UTC = dt.UTC
_MULTIRANGE = Multirange((Range(1, 3, True, False), Range(5, 6, True, False)))
CASES: list[tuple[str, str, object, pa.DataType]] = [
    ("1::smallint", "smallint", 1, pa.int16()),
    ("2147483647", "integer", 2147483647, pa.int32()),
    ("'-9223372036854775808'::bigint", "bigint", -(2**63), pa.int64()),
    ("1.1::real", "real", 1.1, pa.float32()),
    ("0.1::float8", "double precision", 0.1, pa.float64()),
    ("'-Infinity'::float8", "double precision", float("-inf"), pa.float64()),
    ("1.50::numeric(10,2)", "numeric(10,2)", Decimal("1.50"), pa.decimal128(10, 2)),
    ("1.50", "numeric", Decimal("1.50"), pa.decimal128(38, 2)),
    ("10 / 3.0", "numeric", Decimal("3.3333333333333333"), pa.decimal128(38, 16)),
    ("-0.5::numeric", "numeric", Decimal("-0.5"), pa.decimal128(38, 1)),
    ("'naïve ☃'::text", "text", "naïve ☃", pa.string()),
    ("'ab'::char(4)", "character(4)", "ab  ", pa.string()),
    ("'abc'::varchar(3)", "character varying(3)", "abc", pa.string()),
    ("true", "boolean", True, pa.bool_()),
    ("date '2024-02-29'", "date", dt.date(2024, 2, 29), pa.date32()),
    ("time '23:59:59.999999'", "time without time zone", dt.time(23, 59, 59, 999999), pa.time64("us")),
    (
        "timestamp '1969-12-31 23:59:59.5'",
        "timestamp without time zone",
        dt.datetime(1969, 12, 31, 23, 59, 59, 500000),
        pa.timestamp("us"),
    ),
    (
        "timestamptz '2024-07-01 12:00:00+02'",
        "timestamp with time zone",
        dt.datetime(2024, 7, 1, 10, tzinfo=UTC),
        pa.timestamp("us", "UTC"),
    ),
    (
        "interval '1 year 2 days -3 hours'",
        "interval",
        Interval(12, 2, -10_800_000_000),
        pa.month_day_nano_interval(),
    ),
    ("'\\xDEad00'::bytea", "bytea", b"\xde\xad\x00", pa.binary()),
    (
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
        "uuid",
        uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        pa.string(),
    ),
    (
        "timetz '10:00:00.5+02:30'",
        "time with time zone",
        dt.time(10, 0, 0, 500000, dt.timezone(dt.timedelta(hours=2, minutes=30))),
        pa.string(),
    ),
    ("'-1,234.5'::money", "money", Decimal("-1234.50"), pa.decimal128(19, 2)),
    ("inet '10.1/16'", "inet", "10.1.0.0/16", pa.string()),
    ("cidr '10'", "cidr", "10.0.0.0/8", pa.string()),
    ("macaddr '8:0:2b:1:2:3'", "macaddr", "08:00:2b:01:02:03", pa.string()),
    ("B'101'", "bit", "101", pa.string()),
    ("'10'::bit varying(3)", "bit varying(3)", "10", pa.string()),
    ("int4range(1, 5, '[]')", "int4range", Range(1, 6, True, False), pa.string()),
    ("'[1.50,)'::numrange", "numrange", Range(Decimal("1.50"), None, True, False), pa.string()),
    ("'empty'::daterange", "daterange", Range(empty=True), pa.string()),
    (
        "'(2020-01-01 10:00,2020-01-02]'::tsrange",
        "tsrange",
        Range(dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2), False, True),
        pa.string(),
    ),
    ("'{[1,2],[5,6)}'::int4multirange", "int4multirange", _MULTIRANGE, pa.string()),
    ("array['{[1,2],[5,6)}'::int4multirange]", "int4multirange[]", [_MULTIRANGE], pa.list_(pa.string())),
    ("array['[1,2)'::int4range, null]", "int4range[]", [Range(1, 2, True, False), None], pa.list_(pa.string())),
    ("""'{"a": [1, null]}'::jsonb""", "jsonb", {"a": [1, None]}, pa.string()),
    ("array[1, null, 3]", "integer[]", [1, None, 3], pa.list_(pa.int32())),
    ("array['a', 'NULL', 'b,c']", "text[]", ["a", "NULL", "b,c"], pa.list_(pa.string())),
]


@pytest.mark.parametrize(("expression", "name", "value", "arrow"), CASES, ids=[case[0] for case in CASES])
def test_a_value_of_each_type(
    any_db: Connection, expression: str, name: str, value: object, arrow: pa.DataType
) -> None:
    relation = any_db.sql(
        f"SELECT v.x FROM (VALUES (1), (2)) AS n(i) LEFT JOIN (SELECT 1 AS j, {expression} AS x) AS v ON i = j ORDER BY i"
    )
    assert relation.columns == ("x",)
    assert [str(kind) for kind in relation.types] == [name]
    assert relation.fetchall() == [(value,), (None,)]
    table = relation.arrow()
    assert table.schema.field("x").type == arrow
    assert table["x"].null_count == 1
    assert table.num_rows == 2


def test_numerics_that_show_different_scales_share_the_widest_in_arrow(any_db: Connection) -> None:
    query = "SELECT x::numeric FROM (VALUES ('1.5'), ('-2'), ('3.125'), (NULL)) AS v(x)"
    relation = any_db.sql(query)
    assert [str(row[0]) for row in relation] == ["1.5", "-2", "3.125", "None"]
    column = relation.arrow().column(0)
    assert column.type == pa.decimal128(38, 3)
    assert column.to_pylist() == [Decimal("1.500"), Decimal("-2.000"), Decimal("3.125"), None]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'infinity'::date", "infinity"),
        ("'-infinity'::timestamp", "-infinity"),
        ("'infinity'::timestamptz", "infinity"),
        ("'0044-03-15 BC'::date", "0044-03-15 BC"),
        ("'24:00:00'::time", "24:00:00"),
        ("'24:00:00+02'::timetz", "24:00:00+02"),
    ],
)
def test_moments_beyond_python_are_text(any_db: Connection, expression: str, text: str) -> None:
    assert any_db.sql(f"SELECT {expression}").fetchall() == [(text,)]


def test_a_frame_of_infinite_dates_is_refused(any_db: Connection) -> None:
    relation = any_db.sql("SELECT 'infinity'::date AS d")
    for make in (relation.polars, relation.pandas):
        with pytest.raises(GpudbError) as caught:
            make()
        assert caught.value.sqlstate == "22008"
        assert '"d"' in str(caught.value)


def test_no_rows_still_have_columns_and_types(any_db: Connection) -> None:
    relation = any_db.sql("SELECT 1 AS a, 'x'::text AS b, 1.5::numeric(4,1) AS c WHERE false")
    table = relation.arrow()
    assert table.num_rows == 0
    assert table.schema.types == [pa.int32(), pa.string(), pa.decimal128(4, 1)]
    assert relation.polars().schema == {"a": pl.Int32, "b": pl.String, "c": pl.Decimal(4, 1)}
    assert pl.DataFrame(relation).equals(relation.polars())
    assert pa.table(relation).equals(relation.arrow())
    assert relation.fetchone() is None


def test_polars_keeps_nulls_decimals_and_intervals(any_db: Connection) -> None:
    frame = any_db.sql(
        "SELECT a, b::numeric(5,2) AS b, c"
        " FROM (VALUES (1, 1.5, interval '1 month 2 days'), (NULL, NULL, NULL)) AS v(a, b, c)"
    ).polars()
    assert frame.schema["b"] == pl.Decimal(5, 2)
    assert frame.rows() == [
        (1, Decimal("1.50"), {"months": 1, "days": 2, "microseconds": 0}),
        (None, None, None),
    ]


def test_pandas_keeps_nulls_and_big_integers(any_db: Connection) -> None:
    frame = any_db.sql("SELECT * FROM (VALUES (9007199254740993::bigint, true), (NULL, NULL)) AS v(a, b)").pandas()
    assert frame["a"][0] == 9007199254740993
    assert frame["a"].isna().tolist() == [False, True]
    assert str(frame.dtypes["a"]) == "int64[pyarrow]"


def test_columns_of_one_name(any_db: Connection) -> None:
    relation = any_db.sql("SELECT 1, 2, 3 AS x")
    assert relation.columns == ("?column?", "?column?", "x")
    assert relation.arrow().column_names == ["?column?", "?column?", "x"]
    assert relation.polars().columns == ["?column?", "?column?_1", "x"]
