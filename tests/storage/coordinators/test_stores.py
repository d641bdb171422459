"""Several stores over one catalog in PostgreSQL: each sees the others' commits, and conflicts are found."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.model import Database, Schema
from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Table
from gpudb.config.storage import StorageSettings
from gpudb.errors import GpudbError, SerializationFailure
from gpudb.storage.backup.manifest import find_manifest
from gpudb.storage.backup.restore import restore
from gpudb.storage.backup.write import back_up
from gpudb.storage.catalog.copying import write_catalog
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.catalog.postgres import PostgresCatalog
from gpudb.storage.compaction import SMALL_FILES, compact
from gpudb.storage.coordination import Coordination
from gpudb.storage.recovery.check import check
from gpudb.storage.recovery.opening import claim_directory
from gpudb.storage.shared_catalog import SharedCatalog
from gpudb.storage.store import Store
from tests.support.sessions import wait_until
from tests.support.store_tables import AB, ab, create, created, insert, rows

OpenStore = Callable[..., Store]


def _shared_catalog(store: Store) -> SharedCatalog:
    assert isinstance(store.catalog_store, SharedCatalog)
    return store.catalog_store


def _sees(store: Store, oid: int, count: int) -> bool:
    found = store.catalog().find_relation_by_oid(oid)
    return isinstance(found, Table) and found.rows == count


def test_several_make_the_catalog_at_once(catalog: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(PostgresCatalog, [catalog] * 8))
    for each in opened:
        with closing(each), each.exclusive():
            assert each.number == 0


def test_commits_are_seen_by_the_others(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    insert(one, oid, (1, "a"), (2, "b"))
    wait_until(lambda: _sees(other, oid, 2), "the other store sees the rows")
    assert rows(other, oid) == [(1, "a"), (2, "b")]
    insert(other, oid, (3, "c"))
    wait_until(lambda: _sees(one, oid, 3), "the first store sees the row")
    with other.begin() as transaction:
        transaction.set_catalog(transaction.catalog.drop(transaction.catalog.relations["public", "t"]))
        transaction.commit()
    wait_until(lambda: one.catalog().find_relation_by_oid(oid) is None, "the table is gone")


def test_a_commit_merges_what_it_has_not_seen_yet(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t", primary_key=("a",))
    wait_until(lambda: _sees(other, oid, 0), "the table is there")
    with one.begin() as late:
        late.append(oid, [ab((1, "one"))])
        insert(other, oid, (2, "other"))
        late.commit()
    assert rows(one, oid) == [(1, "one"), (2, "other")]
    with one.begin() as late:
        late.append(oid, [ab((3, "one"))])
        insert(other, oid, (3, "other"))
        with pytest.raises(GpudbError) as raised:
            late.commit()
    assert raised.value.sqlstate == "23505"
    assert rows(one, oid) == [(1, "one"), (2, "other"), (3, "other")]


def test_replacing_the_same_file_conflicts(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    insert(one, oid, (1, "a"))
    wait_until(lambda: _sees(other, oid, 1), "the row is there")
    with one.begin() as mine, other.begin() as theirs:
        for transaction in (mine, theirs):
            transaction.replace(oid, transaction.table(oid).files, [ab((1, str(transaction.number)))])
        theirs.commit()
        with pytest.raises(SerializationFailure):
            mine.commit()
    assert rows(one, oid) == [(1, str(theirs.number))]


def test_oids_and_numbers_are_not_given_twice(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    made = [store.catalog().allocate_oid()[0] for _ in range(100) for store in (one, other)]
    assert len(set(made)) == len(made)
    with one.begin() as mine, other.begin() as theirs:
        assert mine.number != theirs.number


def test_a_store_opened_later_sees_all(open_store: OpenStore, tmp_path: Path) -> None:
    with open_store() as one:
        oid = created(one, "t")
        insert(one, oid, (1, "a"))
        open_store().close()
    again = open_store()
    assert rows(again, oid) == [(1, "a")]
    assert not (tmp_path / "data" / "lost+found").exists()


def test_temporary_tables_stay_local(open_store: OpenStore, catalog: str) -> None:
    one, other = open_store(), open_store()
    with psycopg.connect(catalog, autocommit=True) as connection:
        before = connection.execute("SELECT count(*) FROM gpudb.gpudb_commits").fetchone()
        with one.begin() as transaction:
            oid, changed = transaction.catalog.allocate_oid()
            schema = Schema(oid, "pg_temp_7", "gpudb")
            table = Table(oid + 1, schema.name, "t", AB, "gpudb", temporary=True)
            transaction.set_catalog(changed.put(schema).put(table))
            transaction.append(table.oid, [ab((1, "local"))])
            transaction.commit()
        assert connection.execute("SELECT count(*) FROM gpudb.gpudb_commits").fetchone() == before
    shared = created(other, "t")
    insert(other, shared, (2, "shared"))
    wait_until(lambda: _sees(one, shared, 1), "the shared table is there")
    assert rows(one, table.oid) == [(1, "local")]


def test_files_are_removed_once_nobody_reads_them(open_store: OpenStore, tmp_path: Path) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    insert(one, oid, (1, "a"))
    wait_until(lambda: _sees(other, oid, 1), "the row is there")
    folder = tmp_path / "data" / "tables" / str(oid)
    with other.begin() as reader:
        with one.begin() as transaction:
            transaction.set_catalog(transaction.catalog.drop(transaction.catalog.relations["public", "t"]))
            transaction.commit()
        wait_until(lambda: other.catalog().find_relation_by_oid(oid) is None, "the table is gone")
        assert rows(reader, oid) == [(1, "a")]
    wait_until(lambda: not folder.exists(), "the table's folder is removed")


def test_many_commits_and_deleted_rows_are_seen(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    for number in range(12):
        insert(one, oid, (number, "x"), (number, "y"))
    wait_until(lambda: _sees(other, oid, 24), "all rows are there")
    with one.begin() as transaction:
        holed = transaction.table(oid).files[3]
        transaction.replace(oid, (), [], deleted={holed.path: DeletedRows.of([0])})
        transaction.commit()
    insert(one, oid, (98, "z"), (99, "z"))
    wait_until(lambda: _sees(other, oid, 25), "a row is gone, and two are there")
    assert rows(other, oid) == rows(one, oid)
    insert(other, oid, (100, "z"))
    wait_until(lambda: _sees(one, oid, 26), "the row is there")
    assert rows(other, oid) == rows(one, oid)


def test_a_lost_connection_is_made_again(open_store: OpenStore, catalog: str) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    wait_until(lambda: _sees(other, oid, 0), "the table is there")
    end = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name LIKE 'gpudb%coordinator%' AND datname = current_database()"
    )
    with psycopg.connect(catalog, autocommit=True) as connection:
        ended = connection.execute(end).fetchone()
    assert ended is not None
    assert ended[0] >= 4
    insert(one, oid, (1, "a"))
    assert one.catalog().allocate_oid()[0] != other.catalog().allocate_oid()[0]
    wait_until(lambda: _sees(other, oid, 1), "the row is there")


def test_a_coordinator_that_was_taken_for_gone_commits_nothing_that_it_wrote_before(
    open_store: OpenStore, catalog: str
) -> None:
    one = open_store()
    oid = created(one, "t")
    forget = "DELETE FROM gpudb.gpudb_coordinators"
    with one.begin() as transaction, psycopg.connect(catalog, autocommit=True) as connection:
        transaction.append(oid, [ab((1, "before"))])
        assert connection.execute(forget).rowcount == 1
        with pytest.raises(SerializationFailure):
            transaction.commit()

    def commits() -> bool:
        with suppress(SerializationFailure):
            insert(one, oid, (2, "after"))
            return True
        return False

    wait_until(commits, "it is known again")
    assert rows(one, oid) == [(2, "after")]


def test_files_of_no_table_are_moved_and_others_stay(open_store: OpenStore, tmp_path: Path) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    insert(one, oid, (1, "a"))
    tables = tmp_path / "data" / "tables"
    (tables / str(oid) / "data" / "left.parquet").write_bytes(b"")
    (tables / "777" / "data").mkdir(parents=True)
    for name in ("discarded.parquet", "left.parquet"):
        (tables / "777" / "data" / name).write_bytes(b"")
    (tables / "888" / "data").mkdir(parents=True)
    (tables / "888" / "data" / "temporary.parquet").write_bytes(b"")
    shared = _shared_catalog(one)
    assert shared.list_old_files(1000.0) == set()
    found = {path for path in shared.list_old_files(-1.0) if path.suffix == ".parquet"}
    shared.move_orphans(found, shared.list_live_files(), {"777/data/discarded.parquet"}, {888})
    left = {path for path in found if path.name == "left.parquet"}
    assert len(left) == 2
    assert {path for path in found if path.exists()} == found - left
    wait_until(lambda: _sees(other, oid, 1), "the row is there")
    assert rows(other, oid) == [(1, "a")]


def test_the_leader_looks_for_files_of_no_table(open_store: OpenStore, catalog: str, tmp_path: Path) -> None:
    one = open_store()
    oid = created(one, "t")
    insert(one, oid, (1, "a"))
    left = tmp_path / "data" / "tables" / "777" / "left.parquet"
    left.parent.mkdir()
    left.write_bytes(b"")
    own, _ = one.list_coordinators()
    looking = Coordination(_shared_catalog(one), catalog, own, 0.0, orphans_seconds=0.0, orphan_age=-10.0)
    try:
        wait_until(lambda: not left.exists(), "the file is moved")
    finally:
        looking.close()
    assert rows(one, oid) == [(1, "a")]


def _state(directory: Path, catalog: str | None = None) -> str:
    with pytest.raises(GpudbError) as raised:
        Store(directory, StorageSettings(catalog=catalog, snapshot_retention=0)).close()
    return raised.value.sqlstate


def test_directories_and_catalogs_belong_together(open_store: OpenStore, catalog: str, tmp_path: Path) -> None:
    with open_store() as store:
        created(store, "t")
        assert _state(tmp_path / "data") == "55006"  # open by others
    assert _state(tmp_path / "data") == "55000"
    assert _state(tmp_path / "elsewhere", catalog) == "55000"
    with Store(tmp_path / "own") as own:
        created(own, "t")
    assert _state(tmp_path / "own", catalog) == "55000"
    with pytest.raises(GpudbError) as raised:
        check(tmp_path / "data")
    assert raised.value.sqlstate == "55000"


def test_a_refresh_shows_what_others_have_committed(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    for number in range(3):
        insert(one, oid, (number, "a"))
        other.refresh()
        assert len(rows(other, oid)) == number + 1


def test_a_compaction_of_one_is_undone_by_a_writer_of_another(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    oid = created(one, "t")
    for number in range(SMALL_FILES + 1):
        insert(one, oid, (number, "a"))
    other.refresh()
    with other.begin() as late:
        first = next(file for file in late.table(oid).files if file.minimums[1] == 0)
        late.replace(oid, (first,), [ab((0, "changed"))])
        assert compact(one, oid) > 1
        other.refresh()
        late.commit()
    assert sorted(rows(other, oid)) == [(0, "changed"), *((number, "a") for number in range(1, SMALL_FILES + 1))]
    one.refresh()
    assert rows(one, oid) == rows(other, oid)


def test_sequences_are_drawn_by_all_without_repetition(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    sequence = Sequence(70_000, "public", "s", "gpudb", file=70_000, maximum=25)
    drawn = [each[0] for _ in range(10) for store in (one, other) for each in store.sequences.draw(sequence)]
    assert drawn == list(range(1, 21))
    assert other.sequences.draw(sequence, 3) == [range(21, 24)]
    one.sequences.set_value(sequence, 25, called=False)
    assert other.sequences.draw(sequence) == [range(25, 26)]
    for store in (one, other):
        with pytest.raises(GpudbError) as raised:
            store.sequences.draw(sequence)
        assert raised.value.sqlstate == "2200H"


def test_databases_come_go_and_are_renamed_for_all(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    with one.begin() as transaction:
        oid, catalog = transaction.catalog.allocate_oid()
        transaction.set_catalog(catalog.put(Database("shop", oid=oid)))
        transaction.commit()
    other.refresh()
    with other.begin("shop") as transaction:
        table = create(transaction, "t")
        transaction.append(table, [ab((1, "a"))])
        transaction.commit()
    with one.begin() as transaction:
        renamed = replace(transaction.catalog.databases["shop"], name="store")
        transaction.set_catalog(transaction.catalog.drop(transaction.catalog.databases["shop"]).put(renamed))
        transaction.commit()
    other.refresh()
    assert "shop" not in other.catalogs()
    with other.begin("store") as transaction:
        assert rows(transaction, table) == [(1, "a")]
    with one.begin() as transaction:
        transaction.set_catalog(transaction.catalog.drop(transaction.catalog.databases["store"]))
        transaction.commit()
    other.refresh()
    assert set(other.catalogs()) == {"gpudb", "postgres", "template0", "template1"}


def test_a_backup_of_a_coordinator_is_a_directory_of_its_own(open_store: OpenStore, tmp_path: Path) -> None:
    one = open_store()
    oid = created(one, "t")
    insert(one, oid, (1, "a"))
    back_up(one, tmp_path / "backup")
    restore(tmp_path / "backup", find_manifest(tmp_path / "backup"), tmp_path / "restored")
    with Store(tmp_path / "restored") as restored:
        assert rows(restored, oid) == [(1, "a")]
        insert(restored, oid, (2, "b"))


def test_a_catalog_moves_to_postgresql_and_back(open_store: OpenStore, catalog: str, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with Store(directory) as alone:
        oid = created(alone, "t")
        for number in range(5):
            insert(alone, oid, (number, "alone"))
    sqlite = directory / "catalog.db"
    with closing(CatalogDatabase(sqlite)) as database, closing(PostgresCatalog(catalog)) as shared:
        catalogs, pointers = database.read()
        shared.adopt(catalogs, pointers, database.last_commit(), {})
        for path in directory.glob("catalog.db*"):
            path.rename(tmp_path / path.name)
        claim_directory(directory, shared.identifier, is_new=False, moves=True)
    with open_store() as one:
        assert len(rows(one, oid)) == 5
        insert(one, oid, (5, "together"))
        assert one.catalog().allocate_oid()[0] > oid
    with closing(PostgresCatalog(catalog)) as shared:
        catalogs, pointers = shared.read()
        write_catalog(sqlite, catalogs, pointers, shared.last_commit(), shared.read_sequences(catalogs))
    (directory / "catalog-in-postgresql").unlink()
    with Store(directory) as alone:
        insert(alone, oid, (6, "alone"))
        assert len(rows(alone, oid)) == 7


def test_a_catalog_older_than_its_tables_is_refused(open_store: OpenStore, catalog: str, tmp_path: Path) -> None:
    with open_store() as one:
        oid = created(one, "t")
        for number in range(3):
            insert(one, oid, (number, "a"))
    with psycopg.connect(catalog, autocommit=True) as connection:
        connection.execute("UPDATE gpudb.gpudb_state SET value = '1' WHERE key = 'commit'")
        connection.execute("UPDATE gpudb.iceberg_tables SET metadata_location = 'file:///before'")
    assert _state(tmp_path / "data", catalog) == "XX001"
