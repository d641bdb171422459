"""Scans over files of different ages, positions of rows, and pruning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudb import types
from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.pruning import ColumnRange, prune_files
from gpudb.storage.iceberg.scan import FILE_COLUMN, ROW_COLUMN, scan_sql
from gpudb.storage.schema_evolution import is_widening
from gpudb.storage.store import Store
from gpudb.storage.transaction import Transaction
from gpudb.types import FLOAT8, INT2, INT4, INT8, INTERVAL, NUMERIC, TEXT, SqlType, numeric
from tests.support.store_tables import ab, arrow, batch, created, insert, rows, table_of


def _alter(transaction: Transaction, oid: int, columns: Sequence[Column]) -> Table:
    table = replace(transaction.table(oid), columns=tuple(columns))
    transaction.set_catalog(transaction.catalog.put(table))
    return transaction.table(oid)


def test_columns_come_and_go(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    with store.begin() as transaction:
        a, b = transaction.table(oid).columns
        added = [
            Column("n", INT8),
            Column("d", INT8, initial="42"),
            Column("i", INTERVAL, initial="{'months': 1, 'days': 2, 'microseconds': 3}"),
            Column("c", NUMERIC),
        ]
        table = _alter(transaction, oid, [a, replace(b, name="renamed"), *added])
        assert [column.field_id for column in table.columns] == [1, 2, 3, 4, 5, 9]
        assert table.last_field_id == 11
        types = [column.type for column in table.columns]
        carried = {"v": Decimal("1.5"), "s": 1}
        transaction.append(oid, [batch(types, (2, "y", 3, 4, None, carried))])
        transaction.commit()
    table = table_of(store, oid)
    found = arrow(table).to_pylist()
    assert [list(row.values())[:4] for row in found] == [[1, "x", None, 42], [2, "y", 3, 4]]
    assert [str(row["i"]) for row in found] == ["MonthDayNano(months=1, days=2, nanoseconds=3000)", "None"]
    assert [row["c"] for row in found] == [None, carried]
    # filters on columns, and on struct members, that a file lacks
    with duckdb.connect() as connection:
        scan = scan_sql(table)
        for condition, expected in (
            ("d = 42", [1]),
            ("d > 42", []),
            ("n IS NULL", [1]),
            ("c.v = 1.5", [2]),
            ("i IS NULL", [2]),
            ("i = INTERVAL '1 month 2 days 3 microseconds'", [1]),
        ):
            assert connection.sql(f"SELECT a FROM ({scan}) WHERE {condition}").fetchall() == [(a,) for a in expected]
    with store.begin() as transaction:
        kept = [column for column in transaction.table(oid).columns if column.name not in {"renamed", "c"}]
        table = _alter(transaction, oid, [*kept, Column("renamed", INT4)])
        assert table.columns[-1].field_id == 12  # a dropped column's id is never reused
        transaction.commit()
    assert [row["renamed"] for row in arrow(table_of(store, oid)).to_pylist()] == [None, None]


@pytest.mark.parametrize(
    "old, new, value",
    [
        (INT2, INT4, -5),
        (INT2, INT8, -5),
        (INT4, INT8, -5),
        (types.FLOAT4, FLOAT8, 0.5),
        (numeric(5, 2), numeric(9, 2), Decimal("-1.25")),
        (numeric(5, 2), numeric(38, 2), Decimal("-1.25")),
        (SqlType("varchar", 7), TEXT, "abc"),
        (SqlType("varchar", 7), SqlType("varchar", 14), "abc"),
    ],
)
def test_types_widen(store: Store, old: SqlType, new: SqlType, value: object) -> None:
    oid = created(store, "t", [Column("v", old)])
    with store.begin() as transaction:
        transaction.append(oid, [batch([old], (value,), (None,))])
        transaction.commit()
    with store.begin() as transaction:
        _alter(transaction, oid, [replace(transaction.table(oid).columns[0], type=new)])
        transaction.append(oid, [batch([new], (value,))])
        transaction.commit()
    found = arrow(table_of(store, oid))
    assert found.column(0).type == new.arrow
    assert found.column(0).to_pylist() == [value, None, value]
    with duckdb.connect() as connection:
        where = f"v = {value!r}" if not isinstance(value, Decimal) else f"v = {value}"
        assert (
            connection.sql(f"SELECT v FROM ({scan_sql(table_of(store, oid))}) WHERE {where}").fetchall()
            == [(value,)] * 2
        )
    if store.durable:
        directory = store.directory
        store.close()
        with Store(directory) as again:
            assert arrow(table_of(again, oid)).column(0).to_pylist() == [value, None, value]
            assert table_of(again, oid).files[0].minimums == {1: value}


def test_other_type_changes_need_a_new_id(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "7"))
    assert not is_widening(INT8, INT4)
    assert not is_widening(numeric(5, 2), numeric(9, 3))
    with store.begin() as transaction:
        a, b = transaction.table(oid).columns
        with pytest.raises(GpudbError):
            _alter(transaction, oid, [a, replace(b, type=INT4)])
        table = _alter(transaction, oid, [a, replace(b, type=INT4, field_id=0, not_null=True)])
        transaction.replace(oid, table.files, [batch([INT4, INT4], (1, 7))])
        transaction.commit()
    assert rows(store, oid) == [(1, 7)]


def test_rows_know_their_places(store: Store) -> None:
    oid = created(store, "t", [Column("filename", TEXT), Column("file_row_number", INT4)])
    for names in (["a", "b"], ["c"]):
        with store.begin() as transaction:
            transaction.append(oid, [batch([TEXT, INT4], *[(name, 0) for name in names])])
            transaction.commit()
    table = table_of(store, oid)
    found = arrow(table, with_row_ids=True, columns=["filename"]).to_pylist()
    places = {(row["filename"], row[FILE_COLUMN], row[ROW_COLUMN]) for row in found}
    one, two = (file.path for file in table.files)
    assert places == {("a", one, 0), ("b", one, 1), ("c", two, 0)}


def test_an_empty_table_has_its_columns(store: Store) -> None:
    oid = created(store, "t", [Column("a b", INT2), Column("i", INTERVAL), Column("n", NUMERIC)])
    found = arrow(table_of(store, oid), with_row_ids=True)
    assert found.num_rows == 0
    assert found.column_names == ["a b", "i", "n", FILE_COLUMN, ROW_COLUMN]
    assert found.schema.field("a b").type == pa.int16()


def test_counting_needs_no_column(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"), (2, "y"))
    with duckdb.connect() as connection:
        scan = scan_sql(table_of(store, oid), columns=())
        assert connection.sql(f"SELECT count(*) FROM ({scan})").fetchall() == [(2,)]


def test_filters_keep_nan(store: Store) -> None:
    """The ranges in files leave NaN out, which is the greatest value."""
    oid = created(store, "t", [Column("x", FLOAT8)])
    for values in ([1.0, math.nan], [1.0, 2.0], [math.nan, 3.0]):
        with store.begin() as transaction:
            transaction.append(oid, [batch([FLOAT8], *([each] for each in values))])
            transaction.commit()
    with duckdb.connect() as connection:
        scan = scan_sql(table_of(store, oid), with_row_ids=True)
        for condition, count in (("x > 100", 2), ("x = 'NaN'", 2), ("x <> 1", 4), ("x BETWEEN 2 AND 'NaN'", 4)):
            found = connection.sql(f"SELECT count(*) FROM ({scan}) WHERE {condition}").fetchall()
            assert found == [(count,)], condition


VALUES = st.one_of(
    st.none(), st.floats(width=64), st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf")])
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_pruning_loses_no_row(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[float | None]], data: st.DataObject
) -> None:
    def key(value: float) -> tuple[bool, float]:
        return (value != value, 0.0 if value != value else value)  # PostgreSQL sorts NaN last

    with Store(compaction=False) as store:
        oid = created(store, "t", [Column("v", FLOAT8)])
        for group in groups:
            with store.begin() as transaction:
                transaction.append(oid, [batch([FLOAT8], *[(v,) for v in group])])
                transaction.commit()
        files = table_of(store, oid).files
    bounds = st.one_of(st.none(), st.floats(allow_nan=False))
    low, high = data.draw(bounds), data.draw(bounds)
    low_open, high_open = data.draw(st.booleans()), data.draw(st.booleans())
    kept = prune_files(files, [ColumnRange(1, low, high, low_open, high_open)])
    for file, group in zip(files, groups):
        wanted = any(
            v is not None
            and (low is None or key(v) > key(low) or (not low_open and key(v) == key(low)))
            and (high is None or key(v) < key(high) or (not high_open and key(v) == key(high)))
            for v in group
        )
        assert file in kept or not wanted


def test_pruning_of_strings_nulls_and_days(store: Store) -> None:
    oid = created(store, "t", [Column("s", TEXT), Column("d", types.DATE)])
    longest = "m" * 100
    for pair in (("apple", 0), (longest, 20_000), (None, None)):
        with store.begin() as transaction:
            d = pa.array([pair[1]], pa.int32()).cast(pa.date32())
            transaction.append(
                oid, [pa.RecordBatch.from_arrays([pa.array([pair[0]], pa.string()), d], names=["s", "d"])]
            )
            transaction.commit()
    files = table_of(store, oid).files

    def kept(**wanted: object) -> list[int]:
        chosen = prune_files(files, [ColumnRange(**wanted)])  # type: ignore[arg-type]
        return [files.index(file) for file in chosen]

    assert kept(field_id=1, low="apple", high="apple") == [0]
    assert kept(field_id=1, low=longest, high=longest) == [1]
    assert kept(field_id=1, low="n") == []
    assert kept(field_id=1, null=True) == [2]
    assert kept(field_id=1, not_null=True) == [0, 1]
    assert kept(field_id=2, high=0, high_open=True) == []
    assert kept(field_id=2, low=19_999) == [1]
    assert kept(field_id=99, low=1) == [0, 1, 2]
    assert kept(field_id=2, low="not a day") == [0, 1]


def test_big_appends_become_several_files_and_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudb.storage.iceberg import append

    monkeypatch.setattr(append, "GROUP_ROWS", 1000)
    monkeypatch.setattr(append, "FILE_BYTES", 20_000)
    oid = created(store, "t")
    everything = [(i, f"{i:010d}" * 3) for i in range(10_000)]
    with store.begin() as transaction:
        added = transaction.append(oid, [ab(*everything[:7000]), ab(*everything[7000:7003]), ab(*everything[7003:])])
        assert added == 10_000
        transaction.commit()
    table = table_of(store, oid)
    assert len(table.files) == 2
    assert table.rows == 10_000
    import pyarrow.parquet as pq

    assert all(pq.read_metadata(Path(file.path)).row_group(0).num_rows <= 1000 for file in table.files)
    assert sorted(row[0] for row in rows(store, oid)) == list(range(10_000))
    assert prune_files(table.files, [ColumnRange(1, 9_999, 9_999)]) == table.files[-1:]
