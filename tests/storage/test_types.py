"""Every column type keeps its values, NULLs and edge cases through files, a reopening and other Iceberg readers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from gpudb import types
from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.column_layout import stored_type, to_stored
from gpudb.storage.store import Store
from gpudb.types import SqlType
from gpudb.types.facts import COLUMN_TYPES
from gpudb.values import parse_text
from gpudb.values.arrow_columns import to_arrow_array
from tests.support.initial_values import encode_initial
from tests.support.store_tables import arrow, batch, created, table_of

MDN = pa.month_day_nano_interval()
INFINITY = 2**63 - 1


def _ints(values: list[int | None], width: pa.DataType, type: pa.DataType) -> pa.Array:
    return pa.array(values, width).view(type)


def _carried(*pairs: tuple[str, int] | None) -> pa.Array:
    rows = [None if pair is None else {"v": Decimal(pair[0]), "s": pair[1]} for pair in pairs]
    return pa.array(rows, types.NUMERIC.arrow)


RANGES: dict[str, tuple[str | None, ...]] = {
    "int4range": ("[1,5)", None, "empty", "(,)", "[-2147483648,)"),
    "int8range": ("[-9223372036854775808,9223372036854775807)", None, "(,3]"),
    "numrange": ("[1.50,2.0]", None, "empty", "(-0.001,)", "(,1e10)"),
    "daterange": ("[2020-01-01,2020-02-01)", None, "[-infinity,infinity]", "[0044-03-15 BC,)"),
    "tsrange": ("(,2020-01-01 10:00:00.5]", None, "[2020-01-01 10:00,infinity)"),
    "tstzrange": ("[2020-07-01 10:00+02,)", None, "empty"),
    "int4multirange": ("{[1,3),[5,8)}", None, "{}"),
    "int8multirange": ("{[-9223372036854775808,3)}", None, "{(,)}"),
    "nummultirange": ("{[1.50,2.0],(3,)}", None, "{}"),
    "datemultirange": ("{[2020-01-01,2020-02-01)}", None, "{}"),
    "tsmultirange": ("{(,2020-01-01 10:00:00.5]}", None, "{}"),
    "tstzmultirange": ("{[2020-07-01 10:00+02,)}", None, "{}"),
}


def _read_texts(name: str, *texts: str | None) -> pa.Array:
    return _read_modified(SqlType(name), *texts)


def _read_modified(type: SqlType, *texts: str | None) -> pa.Array:
    return to_arrow_array(type, [None if text is None else parse_text(type, text) for text in texts])


CASES: dict[str, tuple[SqlType, pa.Array]] = {
    "bool": (types.BOOL, pa.array([True, None, False])),
    "int2": (types.INT2, pa.array([-32768, None, 32767], pa.int16())),
    "int4": (types.INT4, pa.array([-(2**31), None, 2**31 - 1], pa.int32())),
    "oid": (types.OID, pa.array([0, None, 2**32 - 1], types.OID.arrow)),
    "name": (types.NAME, pa.array(["pg_class", None, ""])),
    "int8": (types.INT8, pa.array([-(2**63), None, 2**63 - 1], pa.int64())),
    "float4": (types.FLOAT4, pa.array([float("nan"), None, float("inf"), -0.0, 1e-45], pa.float32())),
    "float8": (types.FLOAT8, pa.array([float("nan"), None, float("-inf"), 5e-324, 1.7976931348623157e308])),
    "numeric(4,1)": (
        types.numeric(4, 1),
        pa.array([Decimal("-999.9"), None, Decimal("0.1")], pa.decimal128(4, 1)),
    ),
    "numeric(18,6)": (
        types.numeric(18, 6),
        pa.array([Decimal("999999999999.999999"), None], pa.decimal128(18, 6)),
    ),
    "numeric(38,10)": (
        types.numeric(38, 10),
        pa.array([Decimal("-" + "9" * 28 + "." + "9" * 10), None, Decimal(0)], pa.decimal128(38, 10)),
    ),
    "numeric": (
        types.NUMERIC,
        _carried(("1.50", 2), None, ("-999999999999999999", 0), ("0.00000000000000000001", 20)),
    ),
    "text": (types.TEXT, pa.array(["", None, "ünïcode 🚕", "a'b\"c\\", "x" * 100_000])),
    "varchar(3)": (SqlType("varchar", 7), pa.array(["abc", None, ""])),
    "char(3)": (SqlType("bpchar", 7), pa.array(["abc", None, "a"])),
    "bytea": (types.BYTEA, pa.array([b"", None, bytes(range(256)), b"\xff" * 100], pa.binary())),
    "date": (types.DATE, _ints([-719528, None, 2147483647, -2147483647, 11016], pa.int32(), pa.date32())),
    "time": (types.TIME, _ints([0, None, 86_400_000_000, 1], pa.int64(), pa.time64("us"))),
    "timetz": (types.TIMETZ, _read_texts("timetz", "10:00:00+02", None, "24:00:00-15:59", "00:00:00.000001+15:59:59")),
    "timetz[]": (types.TIMETZ.array, _read_texts("_timetz", "{10:00:00+02,NULL}", None, "{}")),
    "inet": (SqlType("inet"), _read_texts("inet", "1.2.3.4", None, "1.2.3.4/8", "2001:db8::1/64")),
    "cidr": (SqlType("cidr"), _read_texts("cidr", "10/8", None, "::/0")),
    "jsonpath": (SqlType("jsonpath"), pa.array(['$."a"', None])),
    "macaddr8": (SqlType("macaddr8"), pa.array(["08:00:2b:01:02:03:04:05", None])),
    "macaddr": (SqlType("macaddr"), pa.array(["08:00:2b:01:02:03", None])),
    "inet[]": (SqlType("_inet"), _read_texts("_inet", "{1.2.3.4,NULL}", None, "{}")),
    "money": (types.MONEY, pa.array([-(2**63), None, 2**63 - 1, 150])),
    "money[]": (types.MONEY.array, pa.array([[150, None, -1], None, []], pa.list_(pa.int64()))),
    "matrix": (SqlType("matrix"), _read_texts("matrix", "{{1,2},{3,4}}", None, "float4={{NaN},{-0}}", "int8={{7}}")),
    "matrix[]": (SqlType("_matrix"), _read_texts("_matrix", '{"{{1,2}}",NULL}', None, "{}")),
    "point": (SqlType("point"), _read_texts("point", "(1,2)", None, "(-0,NaN)")),
    "line": (SqlType("line"), _read_texts("line", "{1,2,3}", None)),
    "lseg": (SqlType("lseg"), _read_texts("lseg", "[(1,2),(3,4)]", None)),
    "box": (SqlType("box"), _read_texts("box", "(3,4),(1,2)", None)),
    "box[]": (SqlType("_box"), _read_texts("_box", "{(3,4),(1,2);NULL}", None, "{}")),
    "path": (SqlType("path"), _read_texts("path", "[(1,2),(3,4)]", None, "((0,0))")),
    "polygon": (SqlType("polygon"), _read_texts("polygon", "((1,2),(3,4))", None)),
    "circle": (SqlType("circle"), _read_texts("circle", "<(1,2),3>", None)),
    "tsvector": (SqlType("tsvector"), _read_texts("tsvector", "cat:3A fat:2,4", None, "", "'it''s \\\\ x'")),
    "tsquery": (SqlType("tsquery"), _read_texts("tsquery", "fat:AB & !(rat <-> cat:*)", None, "")),
    "halfvec(2)": (SqlType("halfvec", 2), _read_modified(SqlType("halfvec", 2), "[1.5,-2]", None, "[0,6e-8]")),
    "sparsevec(5)": (SqlType("sparsevec", 5), _read_modified(SqlType("sparsevec", 5), "{1:1.5,4:-2}/5", None, "{}/5")),
    "vector(2)": (SqlType("vector", 2), pa.array([[1.5, -2.0], None, [0.0, 1e-45]], pa.list_(pa.float32()))),
    "vector[]": (types.VECTOR.array, pa.array([[[1.5], None], None, []], types.VECTOR.array.arrow)),
    "timestamp": (types.TIMESTAMP, _ints([0, None, INFINITY, -INFINITY, -1], pa.int64(), pa.timestamp("us"))),
    "timestamptz": (
        types.TIMESTAMPTZ,
        _ints([0, None, INFINITY, -INFINITY, -(10**16)], pa.int64(), pa.timestamp("us", "UTC")),
    ),
    "interval": (
        types.INTERVAL,
        pa.array([(13, 40, 100 * 3600 * 10**9), None, (-1, 2, -3000), (0, 0, 0), (2**31 - 1, -(2**31), 0)], MDN),
    ),
    "uuid": (
        types.UUID,
        pa.array(["00000000-0000-0000-0000-000000000000", None, "ffffffff-ffff-4fff-bfff-ffffffffffff"]),
    ),
    **{name: (SqlType(name), _read_texts(name, *texts)) for name, texts in RANGES.items()},
    "int4range[]": (SqlType("_int4range"), _read_texts("_int4range", '{"[1,3)",empty,NULL}', None, "{}")),
    "numrange[]": (SqlType("_numrange"), _read_texts("_numrange", '{"[1.50,3)",NULL}', None, "{}")),
    "bit(3)": (SqlType("bit", 3), pa.array(["101", None, "000"])),
    "varbit": (SqlType("varbit"), pa.array(["101", None, "", "1" * 100])),
    "varbit(3)[]": (SqlType("_varbit", 3), pa.array([["101", None, ""], None, []])),
    "json": (types.JSON, pa.array(['{"a": 1}', None, "null"])),
    "jsonb": (types.JSONB, pa.array(['{"a": 1}', None, "[]"])),
    "int2[]": (types.INT2.array, pa.array([[1, None, -32768], None, []], pa.list_(pa.int16()))),
    "text[]": (types.TEXT.array, pa.array([["a", None, ""], None, []], pa.list_(pa.string()))),
    "interval[]": (types.INTERVAL.array, pa.array([[(1, 2, 3000), None], None, []], pa.list_(MDN))),
    "uuid[]": (types.UUID.array, pa.array([["ffffffff-ffff-4fff-bfff-ffffffffffff", None], None, []])),
    "numeric[]": (
        types.NUMERIC.array,
        pa.array([[{"v": Decimal("1.5"), "s": 1}, None], None, []], types.NUMERIC.array.arrow),
    ),
    "numeric(5,2)[]": (
        types.numeric(5, 2).array,
        pa.array([[Decimal("1.50"), None], None, []], pa.list_(pa.decimal128(5, 2))),
    ),
}


def _bits(array: pa.Array) -> object:
    """Converts values for exact comparison: floats by their bits, times as integers, others as Python's."""
    if pa.types.is_floating(array.type):
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_temporal(array.type) and array.type != MDN:
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_struct(array.type) and any(pa.types.is_struct(each.type) for each in array.type):
        return array.is_null().to_pylist(), [_bits(each) for each in array.flatten()]
    if pa.types.is_struct(array.type):
        return [_bits(each) for each in array.flatten()]
    return array.to_pylist()


def _read(table: Table) -> tuple[SqlType, pa.Array]:
    found = arrow(table)
    column = table.columns[0]
    values = found.column(0).combine_chunks()
    return column.type, values if values.type == column.type.arrow else values.cast(column.type.arrow)


@pytest.mark.parametrize("name", CASES)
def test_values_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    type, values = CASES[name]
    with Store(tmp_path / "data") as store:
        oid = created(store, "t", [Column("v", type)])
        with store.begin() as transaction:
            # a slice, to test offsets into the arrays
            padded = pa.concat_arrays([values[:2], values, values[:1]]).slice(2, len(values))
            transaction.append(oid, [pa.RecordBatch.from_arrays([padded], names=["v"])])
            transaction.commit()
        read_type, read = _read(table_of(store, oid))
        assert (read_type, _bits(read)) == (type, _bits(values))
        file = table_of(store, oid).files[0]
    with Store(tmp_path / "data") as store:
        read_type, read = _read(table_of(store, oid))
        assert (read_type, _bits(read)) == (type, _bits(values))
        again = table_of(store, oid).files[0]
        assert (again.rows, again.bytes) == (file.rows, file.bytes)
        assert (again.minimums, again.maximums, again.nulls) == (file.minimums, file.maximums, file.nulls)


def test_every_column_type_is_covered() -> None:
    assert {type.name.lstrip("_") for type, _ in CASES.values()} == COLUMN_TYPES


def test_other_readers_see_the_same_rows(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    flat = {name: case for name, case in CASES.items() if name not in {"date", "timestamp", "timestamptz", "time"}}
    directory = tmp_path / "data"
    with Store(directory, compaction=False) as store:
        columns = [Column(f"c{i}", type) for i, (type, _) in enumerate(flat.values())]
        oid = created(store, "t", columns)
        for _ in range(3):
            with store.begin() as transaction:
                arrays = [values.take(pa.array([0, 1])) for _, values in flat.values()]
                transaction.append(oid, [pa.RecordBatch.from_arrays(arrays, names=[c.name for c in columns])])
                transaction.commit()
        store.fold()
        catalog = SqlCatalog("gpudb", uri=f"sqlite:///{directory}/catalog.db")
        table = catalog.load_table("public.t")
        found = table.scan().to_arrow()
        catalog.close()
    assert found.num_rows == 6
    assert found.column("c1").to_pylist() == [-32768, None] * 3
    assert [row["months"] if row else None for row in found.column(list(flat).index("interval")).to_pylist()] == [
        13,
        None,
    ] * 3
    for i, (type, values) in enumerate(flat.values()):
        expected = to_stored(values.take(pa.array([0, 1])), type, stored_type(type, 1))
        # pyiceberg reads a NULL list of structs as an empty one.
        rows = 1 if pa.types.is_list(expected.type) and pa.types.is_struct(expected.type.value_type) else 2
        assert repr(found.column(i).to_pylist()[:rows]) == repr(expected.to_pylist()[:rows]), str(type)
    assert table.properties["gpudb.type.2"] == "int2"


@pytest.mark.parametrize("name", CASES)
def test_an_added_column_has_its_default_in_old_rows(name: str, durable: Store) -> None:
    from dataclasses import replace

    type, values = CASES[name]
    oid = created(durable, "t")
    with durable.begin() as transaction:
        transaction.append(
            oid,
            [pa.RecordBatch.from_pylist([{"a": 1, "b": None}], pa.schema([("a", pa.int32()), ("b", pa.string())]))],
        )
        transaction.commit()
    for i, value in enumerate(values[j : j + 1] for j in range(len(values))):
        with durable.begin() as transaction:
            table = transaction.table(oid)
            column = Column(f"v{i}", type, initial=encode_initial(type, value))
            transaction.set_catalog(transaction.catalog.put(replace(table, columns=(*table.columns, column))))
            transaction.commit()
    found = arrow(table_of(durable, oid))
    for i in range(len(values)):
        read = found.column(f"v{i}").combine_chunks()
        read = read if read.type == type.arrow else read.cast(type.arrow)
        assert _bits(read) == _bits(values[i : i + 1]), i


KEYS = [name for name in CASES if not name.startswith("json") and not name.endswith("[]")]


@pytest.mark.parametrize("name", KEYS)
def test_every_type_may_be_a_key(name: str, tmp_path: Path) -> None:
    type, values = CASES[name]
    present = values.filter(values.is_valid())
    with Store(tmp_path / "data", compaction=False) as store:
        oid = created(store, "t", [Column("v", type, not_null=True)], ("v",))
        for i in range(len(present)):
            one = pa.RecordBatch.from_arrays([present.slice(i, 1)], names=["v"])
            with store.begin() as transaction:
                transaction.append(oid, [one])
                transaction.commit()
            with store.begin() as transaction, pytest.raises(GpudbError) as caught:
                transaction.append(oid, [one])
            assert caught.value.sqlstate == "23505"
        assert table_of(store, oid).rows == len(present)


@pytest.mark.parametrize(
    "type, one, same",
    [
        (types.NUMERIC, {"v": Decimal("1.5"), "s": 1}, {"v": Decimal("1.50"), "s": 2}),
        (types.INTERVAL, (1, 0, 0), (0, 30, 0)),
        (types.FLOAT8, 0.0, -0.0),
    ],
)
def test_keys_that_look_different_and_are_equal(durable: Store, type: SqlType, one: object, same: object) -> None:
    oid = created(durable, "t", [Column("v", type, not_null=True)], ("v",))
    with durable.begin() as transaction:
        transaction.append(oid, [batch([type], (one,))])
        with pytest.raises(GpudbError) as caught:
            transaction.append(oid, [batch([type], (same,))])
    assert caught.value.sqlstate == "23505"
