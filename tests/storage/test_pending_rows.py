"""Few rows of a transaction: in memory until they are read or committed, then in one file a table."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gpudb.catalog.lazy_files import LazyFiles
from gpudb.catalog.tables import Column
from gpudb.errors import GpudbError
from gpudb.storage import pending_rows
from gpudb.storage.constraints import key_index
from gpudb.storage.store import Store
from gpudb.storage.transaction import Transaction
from gpudb.types import DATE, INT2, INT4, INT8, TEXT, TIMESTAMPTZ, UUID, SqlType, numeric
from tests.support.store_tables import ab, batch, create, created, files_under, insert, rows, table_of

KEYED = ("a",)


def _duplicates(transaction: Transaction, oid: int, *values: tuple[int | None, str | None]) -> bool:
    """Whether an append is refused for a duplicate key; the transaction goes on from before it."""
    before = transaction.savepoint()
    try:
        transaction.append(oid, [ab(*values)])
    except GpudbError as error:
        if error.sqlstate != "23505":
            raise
        transaction.rollback_to(before)
        return True
    return False


def test_many_statements_commit_one_file(store: Store) -> None:
    oid = created(store, "t", primary_key=KEYED)
    with store.begin() as transaction:
        for number in range(50):
            transaction.append(oid, [ab((number, "x"))])
        assert not files_under(store.directory)
        transaction.commit()
    assert len(files_under(store.directory)) == len(table_of(store, oid).files) == 1
    assert rows(store, oid) == sorted([(number, "x") for number in range(50)], key=repr)


def test_rows_that_were_read_are_committed_in_one_file(store: Store) -> None:
    oid = created(store, "t", primary_key=KEYED)
    with store.begin() as transaction:
        for number in range(4):
            transaction.append(oid, [ab((number, "x"))])
            assert len(rows(transaction, oid)) == number + 1
        transaction.append(oid, [ab((9, "last"))])
        transaction.commit()
    assert rows(store, oid) == [(0, "x"), (1, "x"), (2, "x"), (3, "x"), (9, "last")]
    assert len(files_under(store.directory)) == 1


def test_rows_deleted_before_commit_are_not_written(store: Store) -> None:
    from gpudb.catalog.deleted_rows import DeletedRows

    oid = created(store, "t", primary_key=KEYED)
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"), (2, "y"), (3, "z"))])
        (file,) = transaction.table(oid).files
        transaction.replace(oid, (), [ab((2, "new"))], deleted={file.path: DeletedRows.of([1])}, check_keys=False)
        transaction.commit()
    assert rows(store, oid) == [(1, "x"), (2, "new"), (3, "z")]
    assert all(file.deleted is None for file in table_of(store, oid).files)


def test_a_key_is_free_again_after_a_rollback(store: Store) -> None:
    oid = created(store, "t", primary_key=KEYED)
    insert(store, oid, (1, "committed"))
    with store.begin() as transaction:
        transaction.append(oid, [ab((2, "x"))])
        savepoint = transaction.savepoint()
        transaction.append(oid, [ab((3, "y"))])
        assert _duplicates(transaction, oid, (3, "again"))
        transaction.rollback_to(savepoint)
        assert not _duplicates(transaction, oid, (3, "z"))
        assert _duplicates(transaction, oid, (3, "again"))
        assert _duplicates(transaction, oid, (2, "again"))
        assert _duplicates(transaction, oid, (1, "again"))
        assert _duplicates(transaction, oid, (7, "twice"), (7, "twice"))
        transaction.commit()
    assert rows(store, oid) == [(1, "committed"), (2, "x"), (3, "z")]


def test_a_savepoint_keeps_rows_that_are_read_after_it(store: Store) -> None:
    oid = created(store, "t")
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        savepoint = transaction.savepoint()
        assert rows(transaction, oid) == [(1, "x")]  # writes them, after the savepoint
        transaction.append(oid, [ab((2, "y"))])
        assert rows(transaction, oid) == [(1, "x"), (2, "y")]
        transaction.rollback_to(savepoint)
        assert rows(transaction, oid) == [(1, "x")]
        transaction.append(oid, [ab((3, "z"))])
        transaction.commit()
    assert rows(store, oid) == [(1, "x"), (3, "z")]
    assert len(files_under(store.directory)) == 1


def test_a_column_that_is_added_after_rows(store: Store) -> None:
    from dataclasses import replace

    oid = created(store, "t")
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "x"))])
        table = transaction.table(oid)
        wider = replace(table, columns=(*table.columns, Column("c", INT8, initial="7")))
        transaction.set_catalog(transaction.catalog.put(wider))
        transaction.append(oid, [batch((INT4, TEXT, INT8), (2, "y", 8))])
        transaction.commit()
    assert rows(store, oid) == [(1, "x", 7), (2, "y", 8)]


def test_many_rows_go_to_files_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_rows, "MAX_STATEMENT_ROWS", 10)
    oid = created(store, "t", primary_key=KEYED)
    with store.begin() as transaction:
        transaction.append(oid, [ab((1, "few"))])
        transaction.append(oid, [ab(*[(number, "many") for number in range(10, 30)])])
        assert not isinstance(transaction.table(oid).files, LazyFiles)
        assert _duplicates(transaction, oid, (1, "again"))
        assert _duplicates(transaction, oid, (29, "again"))
        transaction.commit()
    assert len(rows(store, oid)) == 21


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (INT2, [1, -1, 32767]),
        (INT8, [1, -1, 2**62]),
        (TEXT, ["a", "", "a ", "ä" * 100]),
        (DATE, [0, -1, 20_000]),
        (TIMESTAMPTZ, [0, -1, 10**15]),
        (UUID, ["00000000-0000-0000-0000-000000000001", "10000000-0000-0000-0000-000000000000"]),
        (numeric(30, 2), [Decimal("1.00"), Decimal("-1.00"), Decimal(10) ** 20]),
    ],
    ids=lambda value: value.name if isinstance(value, SqlType) else "",
)
def test_keys_of_each_type(store: Store, type: SqlType, values: list[object]) -> None:
    columns = (Column("k", type), Column("n", INT4))
    oid = created(store, "t", columns, ("k",))

    def append(transaction: Transaction, *keys: object) -> None:
        transaction.append(oid, [batch((type, INT4), *[(key, 1) for key in keys])])

    with store.begin() as transaction:
        append(transaction, *values[1:])
        transaction.commit()
    with store.begin() as transaction:
        append(transaction, values[0])
        for taken in values:  # in memory, or in the committed file
            before = transaction.savepoint()
            with pytest.raises(GpudbError) as caught:
                append(transaction, taken)
            assert caught.value.sqlstate == "23505"
            transaction.rollback_to(before)
        transaction.commit()
    assert len(rows(store, oid)) == len(values)


def test_keys_of_two_columns(store: Store) -> None:
    oid = created(store, "t", primary_key=("a", "b"))
    insert(store, oid, (1, "x"), (2, "y"))
    with store.begin() as transaction:
        assert not _duplicates(transaction, oid, (1, "y"), (2, "x"))
        assert _duplicates(transaction, oid, (2, "x"))
        assert _duplicates(transaction, oid, (2, "y"))


def test_a_deleted_row_has_no_key(store: Store) -> None:
    from gpudb.catalog.deleted_rows import DeletedRows

    oid = created(store, "t", primary_key=KEYED)
    insert(store, oid, *[(number, "x") for number in range(100)])
    with store.begin() as transaction:
        assert _duplicates(transaction, oid, (40, "taken"))  # reads the file's keys
        (file,) = transaction.table(oid).files
        transaction.replace(oid, (), [], deleted={file.path: DeletedRows.of([40])})
        assert not _duplicates(transaction, oid, (40, "free"))
        assert _duplicates(transaction, oid, (41, "taken"))
        transaction.commit()
    assert (40, "free") in rows(store, oid)


def test_a_large_file_is_asked_before_its_keys_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_index, "ROWS_PER_LOOKUP", 40)
    oid = created(store, "t", primary_key=KEYED)
    insert(store, oid, *[(number, "x") for number in range(0, 200, 2)])
    with store.begin() as transaction:
        for number in range(1, 15, 2):
            assert not _duplicates(transaction, oid, (number, "new"))
            assert _duplicates(transaction, oid, (number - 1, "taken"))
        transaction.commit()
    assert len(rows(store, oid)) == 107
    assert len(table_of(store, oid).files) == 2


def test_transactions_that_insert_one_key(store: Store) -> None:
    oid = created(store, "t", primary_key=KEYED)
    with store.begin() as one, store.begin() as two:
        one.append(oid, [ab((1, "x"))])
        two.append(oid, [ab((1, "y"))])
        one.commit()
        with pytest.raises(GpudbError) as caught:
            two.commit()
    assert caught.value.sqlstate == "23505"
    assert rows(store, oid) == [(1, "x")]
    assert len(files_under(store.directory)) == 1


def test_rows_of_a_table_of_the_same_transaction(store: Store) -> None:
    with store.begin() as transaction:
        oid = create(transaction, "t", primary_key=KEYED)
        transaction.append(oid, [ab((1, "x"))])
        assert _duplicates(transaction, oid, (1, "again"))
        transaction.commit()
    assert rows(store, oid) == [(1, "x")]
