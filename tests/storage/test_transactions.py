"""Transactions: visibility, atomic commits, conflicts, and nothing left after a failure."""

from __future__ import annotations

import contextlib
import random
import resource
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.model import Schema
from gpudb.catalog.relations import View
from gpudb.catalog.roles import Role
from gpudb.catalog.tables import ColumnStatistics
from gpudb.errors import GpudbError, InternalError, SqlError
from gpudb.storage.iceberg import append as parquet
from gpudb.storage.pending_rows import MAX_STATEMENT_ROWS
from gpudb.storage.store import Store
from tests.support.sessions import wait_until
from tests.support.store_tables import AB, ab, create, created, files_under, insert, rows, table_of


def _failing(*batches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield from batches
    raise RuntimeError("the client went away")


def test_two_tables_change_together(store: Store, tmp_path: Path) -> None:
    one, two = created(store, "one"), created(store, "two")
    with store.begin() as transaction:
        transaction.append(one, [ab((1, "x"))])
        transaction.append(two, [ab((2, "y"))])
        assert rows(transaction, one) == [(1, "x")]
        assert rows(store, one) == rows(store, two) == []
        transaction.commit()
    assert (rows(store, one), rows(store, two)) == ([(1, "x")], [(2, "y")])


def test_a_transaction_keeps_its_snapshot(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    with store.begin() as reader:
        insert(store, oid, (2, "y"))
        assert rows(reader, oid) == [(1, "x")]
        reader.refresh()
        assert rows(reader, oid) == [(1, "x"), (2, "y")]


def test_the_last_rows_are_encoded_beside_the_row_group_before_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 4)
    monkeypatch.setattr(parquet, "MIN_EXTRA_FILE_BYTES", 1)
    oid = created(store, "t")
    last_begun, write = threading.Event(), parquet.FileWriter.write

    def waiting(self: parquet.FileWriter, group: pa.Table) -> None:
        if group.num_rows == 4:
            assert last_begun.wait(60)
        else:
            last_begun.set()
        write(self, group)

    monkeypatch.setattr(parquet.FileWriter, "write", waiting)
    insert(store, oid, *((number, "x") for number in range(6)))
    assert [file.rows for file in table_of(store, oid).files] == [4, 2]
    assert rows(store, oid) == [(number, "x") for number in range(6)]
    held = files_under(store.directory)

    def failing(self: parquet.FileWriter, group: pa.Table) -> None:
        waiting(self, group)
        if group.num_rows < 4:
            raise OSError("no disk")

    monkeypatch.setattr(parquet.FileWriter, "write", failing)
    with pytest.raises(GpudbError, match="no disk"):
        insert(store, oid, *((number, "y") for number in range(6, 12)))
    assert files_under(store.directory) == held


def test_files_live_as_long_as_someone_reads_them(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    old = Path(table_of(store, oid).files[0].path)
    with store.begin() as reader:
        with store.begin() as writer:
            writer.replace(oid, writer.table(oid).files, [ab((1, "z"))])
            writer.commit()
        assert rows(reader, oid) == [(1, "x")]
        assert old.exists()
    assert not old.exists()
    assert rows(store, oid) == [(1, "z")]


def test_a_dropped_table_can_be_read_until_its_readers_end(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    folder = store.folder(oid)
    with store.begin() as reader:
        with store.begin() as dropping:
            dropping.set_catalog(dropping.catalog.drop(dropping.catalog.relations["public", "t"]))
            dropping.commit()
        assert store.catalog().find_relation_by_oid(oid) is None
        assert rows(reader, oid) == [(1, "x")]
    assert not folder.exists()


def test_rollback_leaves_no_file(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        other = create(transaction, "u")
        transaction.append(other, [ab((1, "x"))])
        assert not files_under(store.directory)  # the rows are in memory until something reads them
        assert rows(transaction, oid) == rows(transaction, other) == [(1, "x")]
        assert len(files_under(store.directory)) == 2
        transaction.rollback()
    assert not files_under(store.directory)
    assert store.catalog().find_relation_by_oid(other) is None


def test_a_failed_append_leaves_no_file_and_no_row(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        with pytest.raises(RuntimeError):
            transaction.append(oid, _failing(ab((2, "y")), ab((3, "z"))))
        assert not files_under(store.directory)
        transaction.commit()
    assert rows(store, oid) == [(1, "x")]
    assert len(files_under(store.directory)) == 1


def test_a_failure_after_full_row_groups_leaves_no_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)
    monkeypatch.setattr(parquet, "FILE_BYTES", 3000)
    oid = created(store, "t")
    batches = [ab(*[(i, "x" * 20) for i in range(n, n + 150)]) for n in range(0, 3000, 150)]
    with store.begin() as transaction:
        with pytest.raises(RuntimeError):
            transaction.append(oid, _failing(*batches))
        with pytest.raises(GpudbError):
            transaction.append(oid, [*batches, ab((None, "null"))])
        assert not files_under(store.directory)
        assert transaction.append(oid, batches) == 3000
        transaction.commit()
    assert len(rows(store, oid)) == 3000


def test_savepoints(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        first = transaction.savepoint()
        transaction.append(oid, [ab((2, "y"))])
        second = transaction.savepoint()
        transaction.truncate(oid)
        create(transaction, "u")
        assert rows(transaction, oid) == []
        transaction.rollback_to(second)
        assert rows(transaction, oid) == [(1, "x"), (2, "y")]
        transaction.rollback_to(first)
        transaction.rollback_to(first)
        transaction.append(oid, [ab((3, "z"))])
        assert not files_under(store.directory)
        transaction.commit()
    assert rows(store, oid) == [(1, "x"), (3, "z")]
    assert store.catalog().relation("public", "u") is None


def test_a_savepoint_of_another_transaction_is_refused(store: Store) -> None:
    with store.begin() as ended:
        savepoint = ended.savepoint()
    oid = created(store, "t")
    with store.begin() as transaction:
        with pytest.raises(InternalError, match="another transaction"):
            transaction.rollback_to(savepoint)
        transaction.append(oid, [ab((1, "x"))])
        transaction.commit()
    assert rows(store, oid) == [(1, "x")]


def test_a_savepoint_before_a_refresh_undoes_nothing_of_others(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        savepoint = transaction.savepoint()
        insert(store, oid, (1, "x"))
        transaction.refresh()
        transaction.append(oid, [ab((2, "y"))])
        transaction.rollback_to(savepoint)
        transaction.append(oid, [ab((3, "z"))])
        transaction.commit()
    assert rows(store, oid) == [(1, "x"), (3, "z")]


def test_rows_written_and_dropped_again_leave_no_file(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        transaction.truncate(oid)
        transaction.append(oid, [ab((2, "y"))])
        transaction.commit()
    assert rows(store, oid) == [(2, "y")]
    assert len(files_under(store.directory)) == 1


def test_appends_join(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as one, store.begin() as two:
        one.append(oid, [ab((1, "x"))])
        two.append(oid, [ab((2, "y"))])
        one.commit()
        two.commit()
    assert rows(store, oid) == [(1, "x"), (2, "y")]


def test_an_update_of_other_rows_joins_an_append(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    with store.begin() as update, store.begin() as append:
        update.replace(oid, update.table(oid).files, [ab((1, "changed"))])
        append.append(oid, [ab((2, "y"))])
        append.commit()
        update.commit()
    assert rows(store, oid) == [(1, "changed"), (2, "y")]


def test_two_updates_of_the_same_file_conflict(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"))
    with store.begin() as one, store.begin() as two:
        one.replace(oid, one.table(oid).files, [ab((1, "one"))])
        two.replace(oid, two.table(oid).files, [ab((1, "two"))])
        one.commit()
        with pytest.raises(GpudbError) as caught:
            two.commit()
    assert caught.value.sqlstate == "40001"
    assert rows(store, oid) == [(1, "one")]
    assert len(files_under(store.directory)) == 1


@pytest.mark.parametrize("change", ["rename", "drop", "add column"])
def test_a_changed_definition_conflicts_with_an_append(store: Store, change: str) -> None:
    oid = created(store, "t")
    with store.begin() as append, store.begin() as definition:
        append.append(oid, [ab((1, "x"))])
        table = definition.table(oid)
        catalog = definition.catalog.drop(definition.catalog.relations["public", "t"])
        if change == "rename":
            catalog = catalog.put(replace(table, name="renamed"))
        elif change == "add column":
            catalog = catalog.put(replace(table, columns=(*AB, replace(AB[1], name="c"))))
        definition.set_catalog(catalog)
        definition.commit()
        with pytest.raises(GpudbError) as caught:
            append.commit()
    assert caught.value.sqlstate == "40001"
    assert not files_under(store.directory)


def test_statistics_join_whatever_the_table_is_meanwhile(store: Store) -> None:
    oid, gone = created(store, "t"), created(store, "gone")
    insert(store, oid, (1, "x"))
    with store.begin() as analyzing:
        for each in (oid, gone):
            table = analyzing.table(each)
            statistics = tuple(ColumnStatistics(column.field_id, 1, 0, 1, 4) for column in table.columns)
            analyzing.set_catalog(analyzing.catalog.put(replace(table, statistics=statistics)))
        with store.begin() as other:
            table = other.table(oid)
            other.set_catalog(other.catalog.drop(other.catalog.relations["public", "gone"]))
            other.set_catalog(other.catalog.put(replace(table, columns=table.columns[:1])))
            other.commit()
        insert_first = pa.record_batch([pa.array([2], pa.int32())], names=["a"])
        with store.begin() as other:
            other.append(oid, [insert_first])
            other.commit()
        analyzing.commit()
    table = table_of(store, oid)
    assert [column.name for column in table.columns] == ["a"]
    assert [each.field_id for each in table.statistics] == [table.columns[0].field_id]
    assert sum(file.rows for file in table.files) == 2
    assert store.catalog().find_relation_by_oid(gone) is None


def test_a_name_taken_meanwhile(store: Store) -> None:
    with store.begin() as one, store.begin() as two:
        first, second = create(one, "t"), create(two, "t")
        assert first != second
        two.append(second, [ab((1, "x"))])
        one.commit()
        with pytest.raises(GpudbError) as caught:
            two.commit()
    assert caught.value.sqlstate == "42P07"
    assert not files_under(store.directory)


def test_schemas_and_roles_taken_meanwhile(store: Store) -> None:
    for make, sqlstate in (
        (lambda c, oid: c.put(Schema(oid, "s", "gpudb")), "42P06"),
        (lambda c, oid: c.put(Role(oid, "r")), "42710"),
    ):
        with store.begin() as one, store.begin() as two:
            one.set_catalog(make(one.catalog, 1))
            two.set_catalog(make(two.catalog, 2))
            one.commit()
            with pytest.raises(GpudbError) as caught:
                two.commit()
        assert caught.value.sqlstate == sqlstate


def test_a_table_in_a_schema_that_is_dropped_meanwhile(store: Store) -> None:
    with store.begin() as transaction:
        transaction.set_catalog(transaction.catalog.put(Schema(1, "s", "gpudb")))
        transaction.commit()
    with store.begin() as one, store.begin() as two:
        one.set_catalog(one.catalog.drop(one.catalog.schemas["s"]))
        view = View(7, "s", "v", (), "gpudb", "SELECT 1")
        two.set_catalog(two.catalog.put(view))
        one.commit()
        with pytest.raises(GpudbError) as caught:
            two.commit()
    assert caught.value.sqlstate == "3F000"
    with store.begin() as transaction:
        transaction.set_catalog(transaction.catalog.put(Schema(2, "s", "gpudb")))
        transaction.commit()
    with store.begin() as one, store.begin() as two:
        one.set_catalog(one.catalog.drop(one.catalog.schemas["s"]))
        two.set_catalog(two.catalog.put(view))
        two.commit()
        with pytest.raises(GpudbError) as caught:
            one.commit()
    assert caught.value.sqlstate == "2BP01"


def test_versions_tell_definitions_apart(store: Store) -> None:
    oid = created(store, "t")
    before = store.catalog().version
    insert(store, oid, (1, "x"))
    assert store.catalog().version == before
    seen = {before}
    for _ in range(2):
        with store.begin() as transaction:
            create(transaction, "u")
            assert transaction.catalog.version not in seen
            seen.add(transaction.catalog.version)
    with store.begin() as transaction:
        create(transaction, "v")
        transaction.commit()
    assert store.catalog().version > max(seen)


def test_null_where_none_may_be(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        with pytest.raises(GpudbError) as caught:
            transaction.append(oid, [ab((1, "x")), ab((2, None), (None, "y"))])
        error = caught.value
        assert (error.sqlstate, error.message) == (
            "23502",
            'null value in column "a" of relation "t" violates not-null constraint',
        )
        assert error.detail == "Failing row contains (null, y)."
    assert not files_under(store.directory)


def test_primary_key(store: Store) -> None:
    oid = created(store, "t", primary_key=("a",))
    insert(store, oid, (1, "x"), (5, "y"))
    for added in ([ab((2, "a"), (2, "b"))], [ab((2, "a")), ab((2, "b"))], [ab((3, "c"), (1, "d"))]):
        with store.begin() as transaction, pytest.raises(GpudbError) as caught:
            transaction.append(oid, added)
        assert caught.value.sqlstate == "23505"
        assert caught.value.message == 'duplicate key value violates unique constraint "t_pkey"'
        assert caught.value.detail in {"Key (a)=(2) already exists.", "Key (a)=(1) already exists."}
    insert(store, oid, (9, "late"), (2, "early"), (7, "unsorted"))
    with store.begin() as transaction:
        files = transaction.table(oid).files
        assert transaction.replace(oid, files[:1], [ab((1, "x2"), (5, "y2"))]) == 2
        with pytest.raises(GpudbError):
            transaction.replace(oid, transaction.table(oid).files[1:], [ab((9, "clash"))])
        transaction.commit()
    assert rows(store, oid) == [(1, "x2"), (2, "early"), (5, "y2"), (7, "unsorted"), (9, "late")]


def test_primary_key_of_two_columns(store: Store) -> None:
    oid = created(store, "t", primary_key=("a", "b"))
    insert(store, oid, (1, "x"), (1, "y"))
    insert(store, oid, (1, "z"))
    with store.begin() as transaction, pytest.raises(GpudbError) as caught:
        transaction.append(oid, [ab((1, "y"))])
    assert caught.value.detail == "Key (a, b)=(1, y) already exists."


def test_the_same_key_from_two_transactions(store: Store) -> None:
    oid = created(store, "t", primary_key=("a",))
    with store.begin() as one, store.begin() as two:
        one.append(oid, [ab((1, "x"))])
        two.append(oid, [ab((1, "y"))])
        one.commit()
        with pytest.raises(GpudbError) as caught:
            two.commit()
    assert caught.value.sqlstate == "23505"
    assert rows(store, oid) == [(1, "x")]


@pytest.mark.parametrize("listed", [False, True])
def test_a_key_that_its_transaction_inserted_and_updated_is_still_compared(store: Store, listed: bool) -> None:
    oid = created(store, "t", primary_key=("a",))
    with store.begin() as first:
        first.append(oid, [ab((5, "mine"), (6, "other"))])
        (file,) = first.table(oid).files
        if listed:
            first.replace(oid, (), [ab((5, "new"))], deleted={file.path: DeletedRows.of([0])}, check_keys=False)
        else:
            first.replace(oid, [file], [ab((5, "new"), (6, "other"))], check_keys=False)
        insert(store, oid, (5, "theirs"))
        with pytest.raises(SqlError) as caught:
            first.commit()
    assert caught.value.sqlstate == "23505"
    assert rows(store, oid) == [(5, "theirs")]


def test_new_constraints_look_at_old_rows(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "x"), (1, None))
    with store.begin() as transaction:
        table = transaction.table(oid)
        strict = replace(table, columns=(table.columns[0], replace(table.columns[1], not_null=True)))
        with pytest.raises(GpudbError) as caught:
            transaction.set_catalog(transaction.catalog.put(strict))
        assert (caught.value.sqlstate, caught.value.message) == (
            "23502",
            'column "b" of relation "t" contains null values',
        )
        with pytest.raises(GpudbError) as caught:
            transaction.set_catalog(transaction.catalog.put(replace(table, primary_key=("a",))))
        assert (caught.value.sqlstate, caught.value.detail) == ("23505", "Key (a)=(1) is duplicated.")
        assert caught.value.message == 'could not create unique index "t_pkey"'


def test_table_locks_wait_and_find_deadlocks(store: Store) -> None:
    oid, other = created(store, "t"), created(store, "u")
    with store.begin() as one, store.begin() as two:
        assert not one.lock(oid)
        with pytest.raises(GpudbError) as caught:
            two.lock(oid, timeout=0.05)
        assert caught.value.sqlstate == "55P03"
        assert not two.lock(other)
        waited: list[bool] = []
        thread = threading.Thread(target=lambda: waited.append(one.lock(other, timeout=10)))
        thread.start()
        wait_until(lambda: any(not each.is_granted for each in store.locks.list_rows()), "one waits")
        with pytest.raises(GpudbError) as caught:
            two.lock(oid, timeout=10)
        assert caught.value.sqlstate == "40P01"
        two.rollback()
        thread.join(60)
        assert waited == [True]


def test_a_lock_tells_of_what_was_committed_meanwhile(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        insert(store, oid, (1, "x"))
        assert transaction.lock(oid)
        transaction.refresh()
        assert not transaction.lock(oid)
        transaction.replace(oid, transaction.table(oid).files, [ab((1, "y"))])
        transaction.commit()
    assert rows(store, oid) == [(1, "y")]


def test_a_waiter_can_be_cancelled(store: Store) -> None:
    oid = created(store, "t")

    def cancelled() -> None:
        raise KeyboardInterrupt

    with store.begin() as one, store.begin() as two:
        one.lock(oid)
        with pytest.raises(KeyboardInterrupt):
            two.lock(oid, timeout=10, check=cancelled)
        one.rollback()
        assert not two.lock(oid, timeout=1)


@contextlib.contextmanager
def _files_up_to(size: int) -> Iterator[None]:
    """Simulates a full disk: no file of the process grows beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size, sqlstates", [(4096, {"53100"}), (100_000, {"53100", "58030"})])
def test_a_full_disk(durable: Store, size: int, sqlstates: set[str]) -> None:
    oid = created(durable, "t")
    insert(durable, oid, (1, "x"))
    noise = random.Random(1)
    big = ab(*[(i, noise.randbytes(50).hex()) for i in range(MAX_STATEMENT_ROWS + 1)])
    with durable.begin() as transaction:
        with _files_up_to(size), pytest.raises(GpudbError) as caught:
            transaction.append(oid, [big])
        assert caught.value.sqlstate in sqlstates
        transaction.rollback()
    assert rows(durable, oid) == [(1, "x")]
    assert len(files_under(durable.directory)) == 1
    with durable.begin() as transaction:
        transaction.append(oid, [ab((2, "y"))])
        with _files_up_to(200), pytest.raises(GpudbError) as caught:
            transaction.commit()
        assert caught.value.sqlstate in {"53100", "58030"}
    insert(durable, oid, (3, "z"))
    assert rows(durable, oid) == [(1, "x"), (3, "z")]
    assert len(files_under(durable.directory)) == 2


def test_many_threads_append_at_once(store: Store) -> None:
    oid = created(store, "t", primary_key=("a",))
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for i in range(10):
                insert(store, oid, (number * 10 + i, "x"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert sorted(row[0] for row in rows(store, oid)) == list(range(40))


def test_an_ended_transaction_takes_no_more(store: Store) -> None:
    oid = created(store, "t")
    transaction = store.begin()
    transaction.commit()
    transaction.commit()
    transaction.rollback()
    with pytest.raises(GpudbError):
        transaction.append(oid, [ab((1, "x"))])
