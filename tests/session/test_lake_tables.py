"""Tables of Iceberg and Delta that others write, read in place and registered."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable, Table
from pyiceberg.types import DoubleType, LongType

from gpudb.storage.files.lake_places import Place
from tests.support.lake_deletes import add_deletion_vector, add_position_deletes, read_add
from tests.support.session_fixtures import Connect

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def client(connect: Connect) -> Iterator[Connection]:
    with connect() as connection:
        yield connection


@pytest.fixture
def iceberg(tmp_path: Path) -> Iterator[Table]:
    """A table with two snapshots, between which its columns changed."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    first = pa.schema(
        [
            ("id", pa.int32()), ("name", pa.string()), ("fare", pa.decimal128(10, 2)), ("day", pa.date32()),
            ("seen", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.int64())), ("place", pa.struct([("x", pa.int32())])),
        ]
    )  # fmt: skip
    table = catalog.create_table("n.rides", schema=first)
    moment, day = dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC), dt.date(2025, 1, 2)
    rows = [
        {"id": i, "name": f"n{i}", "fare": Decimal(i) / 4, "day": day, "seen": moment, "tags": [i], "place": {"x": i}}
        for i in range(4)
    ]
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    with table.update_schema() as update:
        update.rename_column("name", "label")
        update.update_column("id", LongType())
        update.add_column("tip", DoubleType())
        update.delete_column("day")
    added = [{"id": 5_000_000_000, "label": "new", "tip": 0.5, "tags": [1, 2]}]
    table.append(pa.Table.from_pylist(added, schema=table.schema().as_arrow()))
    yield table
    catalog.destroy_tables()
    catalog.close()


def _rows(client: Connection, query: str) -> list[tuple[Any, ...]]:
    return client.execute(query).fetchall()


def _fail(client: Connection, query: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(query)
    return caught.value


def _folder(table: Table) -> str:
    return table.location().removeprefix("file://")


def test_iceberg_rows_are_read_by_field_through_changes_of_columns(client: Connection, iceberg: Table) -> None:
    folder = _folder(iceberg)
    expected = [
        (0, "n0", Decimal("0.00"), [0], {"x": 0}, None), (1, "n1", Decimal("0.25"), [1], {"x": 1}, None),
        (2, "n2", Decimal("0.50"), [2], {"x": 2}, None), (3, "n3", Decimal("0.75"), [3], {"x": 3}, None),
        (5_000_000_000, "new", None, [1, 2], None, 0.5),
    ]  # fmt: skip
    for source in (f"'{folder}'", f"read_iceberg('{folder}')", f"read_iceberg('{iceberg.metadata_location}')"):
        assert _rows(client, f"SELECT id, label, fare, tags, place, tip FROM {source} ORDER BY id") == expected
    assert _rows(client, f"SELECT * FROM '{folder}' WHERE tip > 0")[0][0] == 5_000_000_000
    named = _rows(client, f"SELECT DISTINCT filename FROM '{folder}'")
    assert len(named) == 2
    first = iceberg.metadata.snapshots[0].snapshot_id
    past = _rows(client, f"SELECT id, name, day FROM read_iceberg('{folder}', snapshot_id => {first}) WHERE id = 3")
    assert past == [(3, "n3", dt.date(2025, 1, 2))]


def test_rows_that_an_iceberg_writer_deleted_are_gone(client: Connection, iceberg: Table) -> None:
    table = StaticTable.from_metadata(iceberg.metadata_location)
    path = next(each.file.file_path for each in table.scan().plan_files() if each.file.record_count == 4)
    add_position_deletes(table, path, [1, 3])
    rows = _rows(client, f"SELECT id FROM '{_folder(iceberg)}' ORDER BY id")
    newest = StaticTable.from_metadata(f"{_folder(iceberg)}/metadata/99999-deletes.metadata.json")
    assert rows == [(each,) for each in sorted(newest.scan().to_arrow().column("id").to_pylist())]
    assert rows == [(0,), (2,), (5_000_000_000,)]
    assert _rows(client, f"SELECT count(*) FROM '{_folder(iceberg)}' WHERE label = 'n3'") == [(0,)]
    client.execute("CREATE EXTENSION IF NOT EXISTS lake_fdw")
    client.execute(f"CALL gpudb_register('rides', '{_folder(iceberg)}')")
    assert _rows(client, "SELECT count(*), sum(id) FROM rides") == [(3, 5_000_000_002)]
    client.execute("DROP FOREIGN TABLE rides")


def test_renamed_fields_within_a_column_are_refused(client: Connection, iceberg: Table) -> None:
    """They would be NULL: only columns are found by their Iceberg field."""
    folder = _folder(iceberg)
    with iceberg.update_schema() as update:
        update.add_column(("place", "y"), LongType())
    assert _rows(client, f"SELECT place FROM '{folder}' WHERE id = 2") == [({"x": 2, "y": None},)]
    with iceberg.update_schema() as update:
        update.rename_column("place.x", "z")
    assert _fail(client, f"SELECT place FROM '{folder}'").sqlstate == "0A000"


def test_iceberg_files_by_hadoops_form_of_paths(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    for path in ("file:/data/a.parquet", "file:///data/a.parquet", "/data/a.parquet"):
        assert place.stamp(path, 1).path == "/data/a.parquet"


def test_columns_that_differ_by_case_are_refused(client: Connection, tmp_path: Path) -> None:
    """DuckDB would read one of them for the other, or NULL."""
    rows = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "A"])
    pq.write_table(rows, tmp_path / "rows.parquet")
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as out:
        out.write_table(rows)
    for name in ("parquet", "arrow"):
        assert _fail(client, f"SELECT * FROM '{tmp_path}/rows.{name}'").sqlstate == "0A000"
    (tmp_path / "rows.csv").write_text("a,A\n1,3\n")  # of which DuckDB numbers one
    assert client.execute(f"SELECT * FROM '{tmp_path}/rows.csv'").fetchall() == [(1, 3)]
    for number, name in enumerate(("b", "B")):
        pq.write_table(pa.table({name: [number]}), tmp_path / f"{number}.parquet")
    read = f"read_files('{tmp_path}/?.parquet', union_by_name => true)"
    assert _fail(client, f"SELECT * FROM {read}").sqlstate == "0A000"


def test_equality_deletes_are_refused(client: Connection, iceberg: Table) -> None:
    table = StaticTable.from_metadata(iceberg.metadata_location)
    add_position_deletes(table, "", [1], equality=True)
    assert _fail(client, f"SELECT * FROM '{_folder(iceberg)}'").sqlstate == "0A000"


def test_a_registered_table_follows_its_writer_and_is_read_only(client: Connection, iceberg: Table) -> None:
    client.execute("CREATE EXTENSION IF NOT EXISTS lake_fdw")
    client.execute("CALL gpudb_register('public.rides', %s, format => 'iceberg')", (_folder(iceberg),))
    assert _rows(client, "SELECT count(*) FROM rides") == [(5,)]
    iceberg.append(pa.Table.from_pylist([{"id": 7}], schema=iceberg.schema().as_arrow()))
    assert _rows(client, "SELECT count(*), max(tip) FROM rides WHERE id > 3") == [(2, 0.5)]
    for change in (
        "INSERT INTO rides (id) VALUES (1)",
        "DELETE FROM rides",
        "UPDATE rides SET id = 1",
        "TRUNCATE rides",
    ):
        assert _fail(client, change).sqlstate == "0A000"
    assert _fail(client, f"CALL gpudb_register('rides', '{_folder(iceberg)}')").sqlstate == "42P07"
    with iceberg.update_schema() as update:
        update.delete_column("tip")
    assert _fail(client, "SELECT * FROM rides").sqlstate == "42703"
    client.execute("DROP FOREIGN TABLE rides")


def test_what_is_no_table_or_is_elsewhere_is_told(client: Connection, connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "empty" / "metadata").mkdir(parents=True)
    assert _fail(client, f"SELECT * FROM read_iceberg('{tmp_path}/none')").sqlstate == "58P01"
    assert _fail(client, f"SELECT * FROM '{tmp_path}/empty'").sqlstate == "58P01"
    (tmp_path / "empty" / "metadata" / "v1.metadata.json").write_text("{")
    assert _fail(client, f"SELECT * FROM '{tmp_path}/empty'").sqlstate == "XX001"
    assert _fail(client, f"SELECT * FROM read_iceberg('{tmp_path}/*')").sqlstate == "58P01"
    assert _fail(client, f"SELECT * FROM read_iceberg('{tmp_path}', header => true)").sqlstate == "22023"
    client.execute("DROP ROLE IF EXISTS other; CREATE ROLE other LOGIN; CREATE EXTENSION IF NOT EXISTS lake_fdw")
    with connect(user="other") as other:
        assert _fail(other, f"SELECT * FROM read_iceberg('{tmp_path}/empty')").sqlstate == "42501"
        assert _fail(other, f"CALL gpudb_register('t', '{tmp_path}/empty')").sqlstate == "42501"
    client.execute("DROP ROLE other")


def test_delta_rows_have_their_partitions_and_lack_deleted_ones(client: Connection, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path / "delta"
    first = pa.table(
        {"id": [1, 2, 3, 4], "part": ["a b", "a b", None, "x/y"], "day": pa.array([0, 1, 2, 3], pa.date32())}
    )
    deltalake.write_deltalake(folder, first, partition_by=["part"])
    second = pa.table({"id": [5], "part": ["é"], "day": pa.array([4], pa.date32()), "tip": [0.5]})
    deltalake.write_deltalake(folder, second, mode="append", schema_mode="merge")
    read = "SELECT id, part, day, tip FROM {} ORDER BY id"
    expected = [
        (1, "a b", dt.date(1970, 1, 1), None), (2, "a b", dt.date(1970, 1, 2), None), (3, None, dt.date(1970, 1, 3), None),
        (4, "x/y", dt.date(1970, 1, 4), None), (5, "é", dt.date(1970, 1, 5), 0.5),
    ]  # fmt: skip
    for source in (f"'{folder}'", f"read_delta('{folder}')"):
        assert _rows(client, read.format(source)) == expected
    assert _rows(client, f"SELECT id FROM '{folder}' WHERE part = 'x/y'") == [(4,)]
    assert _rows(client, f"SELECT count(*) FROM read_delta('{folder}', version => 0)") == [(4,)]
    third = pa.table({"id": list(range(10, 20)), "part": ["v"] * 10, "day": pa.array([0] * 10, pa.date32())})
    deltalake.write_deltalake(folder, third, mode="append", schema_mode="merge")
    add_deletion_vector(folder, 3, read_add(folder, 2), [0, 9])
    assert _rows(client, f"SELECT count(*), min(id), max(id) FROM '{folder}' WHERE part = 'v'") == [(8, 11, 18)]
    client.execute("CREATE EXTENSION IF NOT EXISTS lake_fdw")
    client.execute(f"CALL gpudb_register('changes', '{folder}')")
    assert _rows(client, "SELECT count(*) FROM changes") == [(13,)]
    client.execute("DROP FOREIGN TABLE changes")
    assert _fail(client, f"SELECT * FROM read_delta('{tmp_path}/none')").sqlstate == "58P01"
    assert _fail(client, f"SELECT * FROM read_delta('{folder}', version => 99)").sqlstate in ("58P01", "XX001")
