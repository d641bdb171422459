"""Foreign keys: compares referencing rows with referenced ones, over the key columns of both tables alone."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import assemble, list_partitions
from gpudb.catalog.tables import DataFile, ForeignKey, Key, Table, list_added_rows
from gpudb.errors import SerializationFailure, ShownValues, SqlError
from gpudb.storage.catalog.merge import Change
from gpudb.storage.constraints.keys import KeyChecker, comparable_names, format_key, render_keys


def check_references(
    keys: KeyChecker, table: Table, files: Sequence[DataFile], foreign: ForeignKey, referenced: Table
) -> None:
    """Raises 23503 if a row of some of a table's files references no row of `referenced`."""
    if not files:
        return
    key = Key(foreign.name, foreign.columns)
    if foreign.match_full and len(foreign.columns) > 1:
        _check_match_full(keys, table, files, foreign)
    own_keys = render_keys(table, key, files)
    referenced_keys = render_keys(referenced, Key("", foreign.referenced), referenced.files)
    same = " AND ".join(f"o.{name} = p.{name}" for name in comparable_names(key))
    found = keys.find_first(
        table, key, f"SELECT o.* FROM ({own_keys}) AS o ANTI JOIN ({referenced_keys}) AS p ON {same} LIMIT 1"
    )
    if found is not None:
        detail = f'Key ({_join_names(foreign.columns)})=({found}) is not present in table "{referenced.name}".'
        shown = ShownValues(
            dict.fromkeys(foreign.columns, found), without=f'Key is not present in table "{referenced.name}".'
        )
        raise _violation_error(table, foreign, detail, shown)


def _check_match_full(keys: KeyChecker, table: Table, files: Sequence[DataFile], foreign: ForeignKey) -> None:
    key = Key(foreign.name, foreign.columns, nulls_distinct=False)
    nulls = [f"{name} IS NULL" for name in comparable_names(key)]
    mixed = f"({' OR '.join(nulls)}) AND NOT ({' AND '.join(nulls)})"
    if (
        keys.find_first(table, key, f"SELECT * FROM ({render_keys(table, key, files)}) WHERE {mixed} LIMIT 1")
        is not None
    ):
        raise _violation_error(table, foreign, "MATCH FULL does not allow mixing of null and nonnull key values.")


def _violation_error(table: Table, foreign: ForeignKey, detail: str, shown: ShownValues | None = None) -> SqlError:
    message = f'insert or update on table "{table.name}" violates foreign key constraint "{foreign.name}"'
    objects = _error_objects(table, foreign)
    return SqlError.of("foreign_key_violation", message, detail=detail, objects=objects, shown=shown)


def still_referenced_error(table: Table, foreign: ForeignKey, referenced: Table, row: pa.RecordBatch) -> SqlError:
    """Returns 23503 for a key (`row`: the first of a batch of the referenced columns) that `table` references."""
    message = (
        f'update or delete on table "{referenced.name}" violates foreign key constraint "{foreign.name}"'
        f' on table "{table.name}"'
    )
    key = format_key(referenced, Key("", foreign.referenced), row)
    detail = f'Key ({_join_names(foreign.referenced)})=({key}) is still referenced from table "{table.name}".'
    shown = ShownValues(
        dict.fromkeys(foreign.referenced, key),
        table=(referenced.schema, referenced.name),
        without=f'Key is still referenced from table "{table.name}".',
    )
    objects = _error_objects(table, foreign)
    return SqlError.of("foreign_key_violation", message, detail=detail, objects=objects, shown=shown)


def _error_objects(table: Table, foreign: ForeignKey) -> dict[str, str]:
    return {"schema": table.schema, "table": table.name, "constraint": foreign.name}


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(quote_name(name) for name in names)


def check_commit(keys: KeyChecker, base: Catalog, merged: Catalog, changes: Sequence[Change]) -> None:
    """Raises 23503 if a transaction's rows and those that others committed since it began violate a foreign key
    together.

    Each side has been checked by itself already. Raises 40001 where a referenced key or table was dropped meanwhile.
    """
    changed = {change.oid: change for change in changes}
    for table in merged.tables():
        own = changed.get(table.oid)
        # The partitions of a table have its foreign keys
        for foreign in table.foreign_keys if table.partitioned_by is None else ():
            referenced = merged.find_relation_by_oid(foreign.table)
            if not isinstance(referenced, Table) or not _has_key(referenced, foreign):
                raise SerializationFailure("could not serialize access due to concurrent update")
            parts = [foreign.table, *(each.oid for each in list_partitions(merged, referenced))]
            before = base.find_relation_by_oid(table.oid)
            known = before.files if isinstance(before, Table) and _had_key(before, foreign) else ()
            if own is not None and any(
                merged.find_relation_by_oid(oid) is not base.find_relation_by_oid(oid) for oid in parts
            ):
                fresh = own.added if known else table.files
                check_references(keys, table, fresh, foreign, assemble(merged, referenced))
            if not changed.keys().isdisjoint(parts):
                added = {file.id for file in own.added} if own is not None else set()
                joined = [file for file in list_added_rows(table.files, known) if file.id not in added]
                check_references(keys, table, joined, foreign, assemble(merged, referenced))


def _had_key(table: Table, foreign: ForeignKey) -> bool:
    """Returns whether the rows that a table had need no check: a foreign key is not new, or not validated."""
    return not foreign.validated or any(each.oid == foreign.oid for each in table.foreign_keys)


def _has_key(table: Table, foreign: ForeignKey) -> bool:
    return any(set(key.columns) == set(foreign.referenced) for key in table.keys)
