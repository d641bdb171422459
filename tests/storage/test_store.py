"""A data directory: its contents after reopening, its lock, and the errors of a damaged one."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.model import Schema
from gpudb.catalog.relations import View
from gpudb.catalog.roles import Role
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Distribution
from gpudb.duckdb.errors import data_file_error
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.storage.iceberg.append import verify_checksums
from gpudb.storage.store import Store
from gpudb.types import INT4
from tests.support.store_tables import ab, arrow, create, created, files_under, insert, rows, table_of


def test_everything_is_there_again(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with Store(directory) as store:
        with store.begin() as transaction:
            distribution = Distribution("hash", ("a",))
            oid = create(transaction, 'odd "name".x', primary_key=("a",), distribution=distribution, comment="ü")
            catalog = transaction.catalog.put(Schema(7, "s", "gpudb", "notes"))
            catalog = catalog.put(Role(8, "r", login=False, verifier="SCRAM", settings={"TimeZone": "UTC"}))
            catalog = catalog.put(View(9, "s", "v", (), "r", "SELECT 1 AS a"))
            transaction.set_catalog(catalog)
            transaction.append(oid, [ab((1, "x"), (2, None))])
            transaction.commit()
        insert(store, oid, (3, "y"))
        store.fold()
        committed = store.catalog()
    with Store(directory) as store:
        again = store.catalog()
        assert replace(again, oids=None) == replace(committed, oids=None)
        assert rows(store, oid) == [(1, "x"), (2, None), (3, "y")]
        insert(store, oid, (4, "z"))
        fresh, _ = again.allocate_oid()
        assert fresh > oid


def test_drops_renames_and_swaps_are_there_again(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with Store(directory) as store:
        one, two, gone = created(store, "one"), created(store, "two"), created(store, "gone")
        insert(store, one, (1, "one"))
        with store.begin() as transaction:
            catalog = transaction.catalog.drop(transaction.catalog.relations["public", "gone"])
            first, second = transaction.table(one), transaction.table(two)
            catalog = catalog.put(replace(first, name="two")).put(replace(second, name="one"))
            transaction.set_catalog(catalog)
            transaction.commit()
    with Store(directory) as store:
        assert table_of(store, one).name == "two"
        assert table_of(store, two).name == "one"
        assert store.catalog().find_relation_by_oid(gone) is None
        assert rows(store, one) == [(1, "one")]
        assert {path.name for path in (directory / "tables").iterdir()} == {str(one), str(two)}


def test_temporary_objects_end_with_the_store(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store, store.begin() as transaction:
        catalog = transaction.catalog.put(Schema(5, "pg_temp_1", "gpudb"))
        temporary = Routine(6, "pg_temp_1", "f", "gpudb", (), INT4, "SELECT 1")
        catalog = catalog.put(temporary).put(replace(temporary, oid=7, schema="public"))
        transaction.set_catalog(catalog)
        oid = create(transaction, "t", temporary=True)
        table = transaction.table(oid)
        catalog = transaction.catalog.drop(transaction.catalog.relations["public", "t"])
        transaction.set_catalog(catalog.put(replace(table, schema="pg_temp_1")))
        transaction.append(oid, [ab((1, "x"))])
        transaction.commit()
        assert rows(store, oid) == [(1, "x")]
    with Store(tmp_path / "data") as store:
        assert store.catalog().find_relation_by_oid(oid) is None
        assert "pg_temp_1" not in store.catalog().schemas
        assert [each.schema for each in store.catalog().routines.values()] == ["public"]
        assert not files_under(tmp_path)


def test_a_moved_directory_opens(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
    shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    for extra in ((2, "y"), (3, "z")):
        with Store(tmp_path / "elsewhere") as store:
            insert(store, oid, extra)
    with Store(tmp_path / "elsewhere") as store:
        assert rows(store, oid) == [(1, "x"), (2, "y"), (3, "z")]


def test_only_one_store_a_directory(tmp_path: Path) -> None:
    with Store(tmp_path / "data"):
        with pytest.raises(GpudbError) as caught:
            Store(tmp_path / "data")
        assert caught.value.sqlstate == "55006"
        assert "in use by another gpudb" in caught.value.message
        code = (
            "import sys; from pathlib import Path; from gpudb.storage.store import Store\n"
            "try: Store(Path(sys.argv[1]))\n"
            "except Exception as error: sys.exit(str(error.sqlstate))"
        )
        program = [sys.executable, "-c", code, str(tmp_path / "data")]
        other = subprocess.run(program, capture_output=True, text=True, timeout=60)
        assert other.stderr.strip() == "55006"
    with Store(tmp_path / "data"):
        pass


def test_a_temporary_store_leaves_nothing() -> None:
    store = Store()
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    directory = store.directory
    assert directory.exists()
    store.close()
    store.close()
    assert not directory.exists()


def test_metadata_stays_small(durable: Store) -> None:
    oid = created(durable, "t")
    sizes = []
    for i in range(60):
        insert(durable, oid, (i, "x"))
        sizes.append(len(list((durable.folder(oid) / "metadata").iterdir())))
    assert max(sizes) <= 12
    assert len(rows(durable, oid)) == 60


def test_a_foreign_commit_is_noticed(durable: Store) -> None:
    oid = created(durable, "t")
    database = sqlite3.connect(durable.directory / "catalog.db")
    with database:
        database.execute("UPDATE iceberg_tables SET metadata_location = 'file:///elsewhere'")
    database.close()
    with pytest.raises(GpudbError) as caught, durable.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        transaction.settle()
        transaction.commit()
    assert caught.value.sqlstate == "40001"
    assert not files_under(durable.directory)
    insert(durable, oid, (2, "x"))
    with pytest.raises(GpudbError) as caught:
        durable.fold()
    assert caught.value.sqlstate == "40001"
    assert rows(durable, oid) == [(2, "x")]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _scramble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4 : len(data) - 8] = bytes(len(data) - 12)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage, sqlstate",
    [(_cut, "XX001"), (_scramble, "XX001"), (Path.unlink, "XX001"), (lambda p: p.write_bytes(b""), "XX001")],
)
def test_damaged_data_files(durable: Store, damage: Callable[[Path], object], sqlstate: str) -> None:
    oid = created(durable, "t", primary_key=("a",))
    insert(durable, oid, *[(i, str(i)) for i in range(1000)])
    damage(Path(table_of(durable, oid).files[0].path))
    with pytest.raises(duckdb.Error) as caught:
        arrow(table_of(durable, oid))
    found = data_file_error(caught.value)
    assert found is not None
    assert found.sqlstate == sqlstate
    with pytest.raises(GpudbError) as checked:
        verify_checksums(Path(table_of(durable, oid).files[0].path))
    assert checked.value.sqlstate == sqlstate
    with pytest.raises(GpudbError) as failed:
        insert(durable, oid, (7, "again"))
    assert failed.value.sqlstate == sqlstate
    insert(durable, oid, (5000, "elsewhere"))


def test_flipped_bits_do_not_pass_verification(durable: Store) -> None:
    oid = created(durable, "t")
    insert(durable, oid, *[(i, str(i)) for i in range(1000)])
    path = Path(table_of(durable, oid).files[0].path)
    verify_checksums(path)
    whole = path.read_bytes()
    chunk = pq.read_metadata(path).row_group(0).column(0)
    pages = chunk.data_page_offset + chunk.total_compressed_size
    for place in range(pages - 200, pages, 10):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(GpudbError) as caught:
            verify_checksums(path)
        assert caught.value.sqlstate == "XX001"


@pytest.mark.parametrize("damage", [_cut, Path.unlink])
def test_damaged_metadata(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    with Store(tmp_path / "data") as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        store.fold()
        location = Path(table_of(store, oid).metadata_location or "")
        other = created(store, "other")
        insert(store, other, (2, "y"))
    damage(location)
    with Store(tmp_path / "data") as store:
        assert rows(store, other) == [(2, "y")]
        damaged = table_of(store, oid)
        assert not damaged.is_readable
        for read in (lambda: damaged.rows, lambda: rows(store, oid), lambda: insert(store, oid, (3, "z"))):
            with pytest.raises(GpudbError) as caught:
                read()
            assert caught.value.sqlstate == "XX001"
            assert str(location) in caught.value.message


def test_a_damaged_catalog(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "catalog.db").write_bytes(b"no database" * 100)
    for _ in range(2):  # the lock is released
        with pytest.raises(GpudbError) as caught:
            Store(tmp_path / "data")
        assert caught.value.sqlstate == "XX001"


def test_an_address_is_no_data_directory() -> None:
    with pytest.raises(FeatureNotSupported):
        Store(Path("s3://bucket/data"))
    assert not Path("s3:").exists()
