"""`gpudb check`, `gpudb repair` and `gpudb move-catalog`: verify and repair a data directory, and move its catalog."""

from __future__ import annotations

from pathlib import Path

from gpudb.cli.output import format_size


def check(data_dir: Path, *, deep: bool) -> int:
    """Prints what is wrong with a data directory; returns the exit status, 1 if anything is."""
    from gpudb.storage.lost_and_found import list_lost_files
    from gpudb.storage.recovery.check import check as run

    report = run(data_dir, deep=deep)
    for name, problem in report.problems:
        print(f"{name}: {problem}")
    size = format_size(report.bytes)
    print(f"{report.tables} tables, {report.files} files, {report.rows} rows, {size}: {len(report.problems)} problems")
    for lost in list_lost_files(data_dir):
        days = lost.age / 86_400
        print(f'"{lost.folder}": {lost.files} files of no table, {format_size(lost.bytes)}, for {days:.1f} days')
    return 1 if report.problems else 0


def repair(data_dir: Path, *, purge: bool) -> int:
    """Rebuilds a catalog that cannot be opened, and prints what was done; with `purge` removes lost+found."""
    from gpudb.storage.lost_and_found import purge as remove
    from gpudb.storage.recovery.rebuild import repair as run

    report = run(data_dir)
    if report.rebuilt:
        for change in report.changes:
            print(change)
        if report.saved is not None:
            print(f'the old catalog is kept as "{report.saved}"')
        print(f"the catalog is rebuilt: {report.tables} tables, {report.rows} rows")
    else:
        print("the catalog is sound: nothing was changed")
    if purge:
        print(f"{remove(data_dir, 0.0)} files removed from lost+found")
    return 0


def move_catalog(data_dir: Path, *, to: str | None, source: str | None) -> None:
    """Moves the catalog of a data directory `to` PostgreSQL, or from a `source` there, and prints what was copied."""
    from gpudb.storage.recovery.catalog_move import KEPT, move_to_file, move_to_postgres

    if to is not None:
        moved = move_to_postgres(data_dir, to)
        print(f'the catalog is in PostgreSQL now; "{data_dir / KEPT}" has it as it was')
    else:
        assert source is not None
        moved = move_to_file(data_dir, source)
        print("the catalog is in the data directory now")
    print(f"{moved.databases} databases, {moved.tables} tables, {moved.sequences} sequences: all compared")


def repair_table(data_dir: Path, name: str, number: int | None) -> int:
    """Restores a table from a kept snapshot, the newest whole one by default, and prints what was done.

    Returns the exit status, 1 if no snapshot is whole.
    """
    from gpudb.catalog.user_types import quote_names
    from gpudb.functions.text_literal import quote_literal
    from gpudb.session.database import Database
    from gpudb.sql.parse.distribute_by import fold_identifier
    from gpudb.storage.recovery.table_repair import repair_table as run

    schema, _, table = name.rpartition(".")
    schema, table = fold_identifier(schema or "public"), fold_identifier(table)
    found = run(data_dir, schema, table)
    if found.metadata is not None:
        print(f'the metadata could not be read: the table has that of "{found.metadata}" now')
    if number is None:
        if found.snapshot is None:
            print("no snapshot of the table is whole: restore a backup")
            return 1
        if found.is_current:
            print(f"the table is sound: {found.snapshot.table.rows} rows")
            return 0
        number = found.snapshot.id
    database = Database(data_dir)
    try:
        session = database.session("gpudb")
        quoted = quote_literal(quote_names(schema, table))
        for result in session.run(f"SELECT gpudb_restore_snapshot({quoted}, {number})"):
            rows = sum(batch.column(0)[0].as_py() for batch in result.batches)
        print(f"the table is restored from snapshot {number}: {rows} rows")
    finally:
        database.close()
    return 0
