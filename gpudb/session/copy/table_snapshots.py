"""gpudb_restore_snapshot('table', snapshot): gives a table the rows of one of its kept snapshots.

The definition stays the current one. The snapshot's files become the table's again, nothing is copied.
"""

from __future__ import annotations

from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction, UndefinedObject
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.dml.row_checks import check_stored_rows
from gpudb.session.objects.constraints import referencing_keys
from gpudb.session.objects.relations import lock_table
from gpudb.storage.schema_evolution import is_widening

FUNCTION = "gpudb_restore_snapshot"
PRIVILEGES = "aD"
"""What the function needs on the table: INSERT and TRUNCATE."""


def parse_snapshot_id(arguments: list[str | None]) -> int:
    """Returns the number of the snapshot that a call names; 42883 for other arguments."""
    number = (arguments[1] or "") if len(arguments) == 2 else ""
    if not arguments or arguments[0] is None or not number.isdigit():
        hint = "They are the table's name and the number of a snapshot, which gpudb_snapshots lists."
        raise UndefinedFunction(f"function {FUNCTION} takes 2 arguments", hint=hint)
    return int(number)


def restore_snapshot(context: Context, table: Table, number: int) -> int:
    """Gives a table the rows of a snapshot; returns their number.

    42704 for a snapshot that is not kept, 55000 for one whose columns or distribution the table no longer has, and the
    errors of constraints that the rows violate.
    """
    context.check_writable(f"{FUNCTION}()")
    if table.partitioned_by is not None or table.partition_bound is not None:
        raise FeatureNotSupported(f"{FUNCTION} of a partitioned table or partition is not supported")
    check_not_scanned(context.session, table, FUNCTION)
    lock_table(context, table)
    transaction = context.transaction
    table = transaction.table(table.oid)
    snapshots = transaction.catalog.snapshots.get(table.oid, ())
    found = next((each for each in snapshots if each.id == number), None)
    if found is None:
        raise UndefinedObject(f'snapshot {number} of table "{table.name}" does not exist')
    _check_definition(table, found)
    before = table.files
    transaction.restore(table.oid, found.table.files)
    restored = transaction.table(table.oid)
    check_stored_rows(context, restored)
    for foreign in table.foreign_keys:
        transaction.check_references(table.oid, before, foreign)
    for owner, foreign in referencing_keys(transaction.catalog, table.oid):
        transaction.check_references(owner.oid, (), foreign)
    return restored.rows


def _check_definition(table: Table, snapshot: TableSnapshot) -> None:
    past = snapshot.table
    hint = f"INSERT INTO … SELECT … FROM … FOR SYSTEM_VERSION AS OF {snapshot.id} converts the rows."
    what = f'snapshot {snapshot.id} of table "{table.name}" has'
    if past.distribution != table.distribution:
        raise SqlError.of("object_not_in_prerequisite_state", f"{what} another distribution", hint=hint)
    by_id = {column.field_id: column for column in past.columns}
    names = {column.name for column in past.columns}
    for column in table.columns:
        was = by_id.get(column.field_id)
        lost = was is None and column.name in names
        if lost or (was is not None and not is_widening(was.type, column.type)):
            message = f'{what} column "{column.name}" with another type'
            raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)
