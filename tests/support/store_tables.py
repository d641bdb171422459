"""Helpers for storage tests: create a table, append Python values, read it back through `scan_sql`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from gpudb.catalog.tables import Column, Table
from gpudb.storage.iceberg.scan import scan_sql
from gpudb.storage.store import Store
from gpudb.storage.transaction import Transaction
from gpudb.types import INT4, TEXT, SqlType

AB = (Column("a", INT4, not_null=True), Column("b", TEXT))


def create(
    transaction: Transaction,
    name: str,
    columns: Sequence[Column] = AB,
    primary_key: tuple[str, ...] = (),
    **more: object,
) -> int:
    """Creates a table in schema public and returns its OID."""
    oid, catalog = transaction.catalog.allocate_oid()
    table = Table(oid, "public", name, tuple(columns), "gpudb", primary_key=primary_key, **more)  # type: ignore[arg-type]
    transaction.set_catalog(catalog.put(table))
    return oid


def created(store: Store, name: str, columns: Sequence[Column] = AB, primary_key: tuple[str, ...] = ()) -> int:
    """Creates a table in a new transaction."""
    with store.begin() as transaction:
        oid = create(transaction, name, columns, primary_key)
        transaction.commit()
    return oid


def batch(types: Sequence[SqlType], *rows: Sequence[object]) -> pa.RecordBatch:
    """Builds a batch of rows in the types' Arrow form."""
    columns = [pa.array([row[i] for row in rows], type=type.arrow) for i, type in enumerate(types)]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(types))])


def ab(*rows: tuple[int | None, str | None]) -> pa.RecordBatch:
    """Builds a batch for the columns AB."""
    return batch((INT4, TEXT), *rows)


def insert(store: Store, oid: int, *rows: tuple[int | None, str | None]) -> None:
    """Appends rows to a table of columns AB in a new transaction."""
    with store.begin() as transaction:
        transaction.append(oid, [ab(*rows)])
        transaction.commit()


def arrow(table: Table, **options: object) -> pa.Table:
    """Reads a table through DuckDB."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql(scan_sql(table, **options)).to_arrow_table()  # type: ignore[arg-type]


def rows(source: Store | Transaction, oid: int) -> list[tuple[object, ...]]:
    """Returns a table's rows, sorted: the committed ones, or those a transaction sees."""
    catalog = source.catalog() if isinstance(source, Store) else source.catalog
    table = catalog.find_relation_by_oid(oid)
    assert isinstance(table, Table)
    found = [tuple(row.values()) for row in arrow(table).to_pylist()]
    return sorted(found, key=repr)


def table_of(store: Store, oid: int) -> Table:
    """Returns the committed table with this OID."""
    table = store.catalog().find_relation_by_oid(oid)
    assert isinstance(table, Table)
    return table


def files_under(path: Path) -> set[Path]:
    """Lists every data file below a folder."""
    return set(path.rglob("*.parquet"))
