"""Whole columns in text and binary form: PostgreSQL's bytes, and back again."""

from __future__ import annotations

import decimal
import random
from collections.abc import Iterator

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudb.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    exact_numeric,
)  # fmt: skip
from gpudb.values import format_text, parse_binary, parse_text
from gpudb.values.arrow_columns import to_arrow_array
from gpudb.values.binary_columns import encode_binary_column
from gpudb.values.text_columns import format_text_column
from tests.support.oracle.server import Oracle

D = decimal.Decimal
RANDOM = random.Random(2)
INFINITE = 2**63 - 1
MOMENTS = [0, None, 1_500_000, -1, INFINITE, -INFINITE, -62_135_596_800_000_001, 253_402_300_800_000_000]
MOMENTS += [RANDOM.randint(-2 * 10**17, 10**17) for _ in range(50)]
RECENT = [RANDOM.randint(-3 * 10**15, 4 * 10**15) for _ in range(300)] + [INFINITE, None]
SPANS = [pa.MonthDayNano([1, 2, 3000]), None, pa.MonthDayNano([-14, 0, -1_000_000_000]), pa.MonthDayNano([0, 0, 0])]
CARRIED = pa.struct([("v", pa.decimal128(38, 20)), ("s", pa.int8())])
QUOTIENTS = [
    {"v": D("1.5"), "s": 2}, {"v": None, "s": 3}, None, {"v": D(2), "s": 0}, {"v": D("0.66666666666666666667"), "s": 16},
    {"v": D("-0.5"), "s": 0}, {"v": D(0), "s": 20},
]  # fmt: skip


def decimals(precision: int, scale: int) -> pa.Array:
    with decimal.localcontext(decimal.Context(prec=60)):
        values: list[D | None] = [D(0).scaleb(-scale), None]
        for _ in range(50):
            limit = 10 ** RANDOM.randint(0, precision)
            values.append(D(RANDOM.randint(1 - limit, limit - 1)).scaleb(-scale))
        return pa.array(values, pa.decimal128(precision, scale))


def moments(values: list[int | None], zone: str | None = None) -> pa.Array:
    return pa.array(values, pa.int64()).view(pa.timestamp("us", zone))


RANGES = {
    "int4range": ("[1,5)", "", "empty", "(,)", "[3,]", "(,-3]"),
    "int8range": ("[-9223372036854775808,9223372036854775807)", ""),
    "numrange": ("[1.50,2)", "", "(,0.001]", "empty", "[-3,1e10)", "[1.5,)"),
    "daterange": ("[2020-01-01,2020-02-01)", "", "[-infinity,infinity]", "[0044-03-15 BC,)"),
    "tsrange": ("[2020-01-01 10:00,infinity)", "", "(,2020-01-01 10:00:00.5]"),
    "tstzrange": ("[2020-07-01 10:00+02,)", "", "empty"),
    "int4multirange": ("{[1,5),[7,8)}", "", "{}", "{(,)}", "{(,3],[5,)}"),
    "nummultirange": ("{[1.50,2),[2.0,3]}", "", "{}", "{(,0.001]}"),
    "tsmultirange": ("{[2020-01-01 10:00,infinity)}", "", "{(,2020-01-01 10:00:00.5]}"),
}
NETWORKS = {
    "inet": ("1.2.3.4", "", "1.2.3.4/8", "::1", "2001:db8::1/64", "1.2.3.4"),
    "cidr": ("10/8", "", "1.2.3.4", "::/0", "2001:db8::/32"),
    "macaddr": ("08:00:2b:01:02:03", ""),
    "macaddr8": ("08:00:2b:01:02:03:04:05", ""),
}
COLUMNS: list[tuple[str, SqlType, pa.Array]] = [
    *((f"numeric_{p}_{s}", exact_numeric(p, s), decimals(p, s))
      for p, s in ((18, 2), (5, 2), (38, 8), (38, 20), (38, 0), (10, 10), (18, 16), (17, 3))),
    ("carried", NUMERIC, pa.array(QUOTIENTS, CARRIED)),
    ("carried_alike", NUMERIC, pa.array([QUOTIENTS[0], None, {"v": D("2.345"), "s": 2}], CARRIED)),
    ("timestamp", TIMESTAMP, moments(MOMENTS)),
    ("timestamptz", TIMESTAMPTZ, moments(MOMENTS, "UTC")),
    ("date", DATE, pa.array([0, None, 2**31 - 1, 1 - 2**31, -800_000, 5_000_000], pa.int32()).view(pa.date32())),
    ("time", TIME, pa.array([0, None, 86_400_000_000, 1_500_000], pa.int64()).view(pa.time64("us"))),
    ("timetz", SqlType("timetz"), to_arrow_array(SqlType("timetz"), [parse_text(SqlType("timetz"), text) if text else None for text in
      ("10:00:00+02", "", "24:00:00-15:59", "00:00:00.000001+00", "23:59:59.5-03:30:52")])),
    *((name, SqlType(name), to_arrow_array(SqlType(name), [parse_text(SqlType(name), text) if text else None for text in texts]))
      for name, texts in NETWORKS.items()),
    ("money", SqlType("money"), pa.array([0, None, -1, 123456, -(2**63), 2**63 - 1])),
    ("interval", INTERVAL, pa.array(SPANS)),
    ("float8", FLOAT8, pa.array([1.0, None, 0.1, 1e20, 1e-5, float("nan"), float("-inf"), -0.0, 1e10, 1e23, 5e-324, 12345678901.5])),
    ("float4", FLOAT4, pa.array([1.0, None, 0.1, 1e20, 1e-5, 1e6, 123456, 0.0001, float("nan")], pa.float32())),
    ("int2", INT2, pa.array([1, None, -32768], pa.int16())),
    ("int4", INT4, pa.array([1, None, -(2**31)], pa.int32())),
    ("int8", INT8, pa.array([1, None, -(2**63)])),
    ("bool", BOOL, pa.array([True, None, False])),
    ("bytea", BYTEA, pa.array([b"ab", None, b"", b"\xff\0"])),
    ("uuid", UUID, pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None])),
    ("jsonb", JSONB, pa.array(['{"a": 1}', None])),
    ("text", TEXT, pa.array(["é", None, "", "\\"])),
    ("bpchar", SqlType("bpchar", 9), pa.array(["é", "abcde", None, ""])),
    ("oid", SqlType("oid"), pa.array([1, 4294967295, None])),
    ("text[]", TEXT.array, pa.array([["a", "b c", None, "NULL", "", 'x"y\\', "{,}"], None, [], ["null"]])),
    ("int4[]", INT4.array, pa.array([[1, 2], None, [], [None, 3]], pa.list_(pa.int32()))),
    ("int4[][]", INT4.array, pa.array([[[1, 2], [3, None]], None, [], [[]]], pa.list_(pa.list_(pa.int32())))),
    ("numeric[]", NUMERIC.array, pa.array([[D("1.50"), None], [D("2.25")]], pa.list_(pa.decimal128(10, 2)))),
    ("interval[]", INTERVAL.array, pa.array([SPANS[:1]], pa.list_(pa.month_day_nano_interval()))),
    *((name, SqlType(name), to_arrow_array(SqlType(name), [parse_text(SqlType(name), text) if text else None for text in texts]))
      for name, texts in RANGES.items()),
    ("varbit", SqlType("varbit"), pa.array(["101", None, "", "1" * 17, "00000000"])),
    ("varbit[]", SqlType("_varbit"), pa.array([["101", None, ""], None, []])),
    ("int4range[]", SqlType("_int4range"), to_arrow_array(SqlType("_int4range"), [parse_text(SqlType("_int4range"), '{"[1,3)",empty,NULL}'), None, []])),
    ("int4multirange[]", SqlType("_int4multirange"), to_arrow_array(SqlType("_int4multirange"), [parse_text(SqlType("_int4multirange"), '{"{[1,3),[5,6)}","{}",NULL}'), None, []])),
    ("int2vector", SqlType("int2vector"), pa.array([[1, 2], []], pa.list_(pa.int16()))),
]  # fmt: skip


@pytest.fixture(scope="module")
def postgres(oracle: Oracle) -> Iterator[psycopg.Connection]:
    with psycopg.connect(oracle.dsn, autocommit=True) as connection:
        yield connection


def check(postgres: psycopg.Connection, type_: SqlType, column: pa.Array, zone: str = "UTC") -> None:
    """PostgreSQL reads our text, prints it the same, and sends the bytes that we send."""
    texts = format_text_column(type_, column, zone).to_pylist()
    sent = encode_binary_column(type_, column).to_pylist()
    assert [text is None for text in texts] == pc_nulls(column)
    assert [data is None for data in sent] == pc_nulls(column)
    spoken = str(type_) if type_.name == "bpchar" else str(type_.plain)
    postgres.execute(f"SET TimeZone = '{zone}'")
    for text, data in zip(texts, sent):
        if text is None:
            continue
        for form, expected in ((0, text.encode()), (1, data)):
            result = postgres.pgconn.exec_params(f"SELECT $1::{spoken}".encode(), [text.encode()], result_format=form)
            assert (result.error_message, result.get_value(0, 0)) == ("", expected) or result.get_value(
                0, 0
            ) == expected
        if type_.name != "bpchar":
            assert format_text(type_, parse_binary(type_, data), zone) == text
            assert format_text(type_, parse_text(type_, text, zone), zone) == text


def pc_nulls(column: pa.Array) -> list[bool]:
    if pa.types.is_struct(column.type) and column.type.get_field_index("v") >= 0:
        column = pc.struct_field(column, "v")
    return column.is_null().to_pylist()


@pytest.mark.parametrize(("type_", "column"), [case[1:] for case in COLUMNS], ids=[case[0] for case in COLUMNS])
def test_columns_are_postgresqls(postgres: psycopg.Connection, type_: SqlType, column: pa.Array) -> None:
    check(postgres, type_, column)


@pytest.mark.parametrize(("type_", "column"), [case[1:] for case in COLUMNS], ids=[case[0] for case in COLUMNS])
def test_slices_and_empty_columns(type_: SqlType, column: pa.Array) -> None:
    for convert in (format_text_column, encode_binary_column):
        whole = convert(type_, column).to_pylist()
        for start, length in ((1, len(column)), (0, 1), (len(column), 0)):
            assert convert(type_, column.slice(start, length)).to_pylist() == whole[start : start + length]


@pytest.mark.parametrize(
    "zone", ["America/New_York", "Asia/Kolkata", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "-03:30"]
)
def test_timestamptz_in_a_sessions_zone(postgres: psycopg.Connection, zone: str) -> None:
    if zone == "-03:30":
        column = format_text_column(TIMESTAMPTZ, moments([0], "UTC"), "-3.5")
        assert column.to_pylist() == ["1969-12-31 20:30:00-03:30"]
        return
    check(postgres, TIMESTAMPTZ, moments(RECENT, "UTC"), zone)


def test_registered_names_are_resolved_once_each() -> None:
    asked = []

    def resolve(name: str, oid: int) -> str:
        asked.append(oid)
        return f"{name}_{oid}"

    column = format_text_column(SqlType("regclass"), pa.array([0, 5, None, 5]), resolve=resolve)
    assert column.to_pylist() == ["-", "regclass_5", None, "regclass_5"]
    assert asked == [5]
    assert format_text_column(SqlType("regclass"), pa.array([5])).to_pylist() == ["5"]


def test_dictionaries_are_read() -> None:
    column = pa.array(["x", "y", None, "x"]).dictionary_encode()
    assert format_text_column(TEXT, column).to_pylist() == ["x", "y", None, "x"]
    assert encode_binary_column(TEXT, column).to_pylist() == [b"x", b"y", None, b"x"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.floats(), max_size=20))
def test_floats_come_back(values: list[float | None]) -> None:
    texts = format_text_column(FLOAT8, pa.array(values, pa.float64())).to_pylist()
    for value, text in zip(values, texts):
        assert (value is None) == (text is None)
        if value is not None:
            assert repr(parse_text(FLOAT8, text)) == repr(value)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.none() | st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
    )
)
def test_arrays_of_any_text_come_back(values: list[list[str | None] | None]) -> None:
    column = pa.array(values, pa.list_(pa.string()))
    for value, text, data in zip(
        values, format_text_column(TEXT.array, column).to_pylist(), encode_binary_column(TEXT.array, column).to_pylist()
    ):
        if value is not None:
            assert parse_text(TEXT.array, text) == value
            assert parse_binary(TEXT.array, data) == value


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=40),
    st.sampled_from(
        [
            "bool",
            "int4",
            "float8",
            "numeric",
            "date",
            "timestamptz",
            "interval",
            "uuid",
            "int4range",
            "numrange",
            "int4multirange",
            "varbit",
            "timetz",
            "money",
            "inet",
            "cidr",
            "macaddr",
            "jsonb",
            "_int4",
            "_text",
            "text",
        ]
    ),
)
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    from gpudb.errors import GpudbError

    sqlstate = None
    try:
        parse_binary(SqlType(name), data)
    except GpudbError as error:
        sqlstate = error.sqlstate
    assert sqlstate in (None, "22P03", "22021", "22P02", "22P05", "22008", "22003", "0A000", "42704", "54001", "08P01")
