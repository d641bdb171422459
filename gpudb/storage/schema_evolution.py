"""Schema evolution: the field ids of a table's columns under a new definition, and whether its files fit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Column, Key, Table
from gpudb.errors import InternalError
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.iceberg.column_layout import id_span
from gpudb.types import SqlType


def evolve(table: Table, old: Relation | None, catalog: Catalog, checker: KeyChecker) -> Table:
    """Returns a table with the field ids of its columns; `old` is what it was before.

    `catalog` is the new one. Raises 23502, 23505 or 23P01 if its rows violate a new NOT NULL, key or exclusion.
    """
    table = assign_field_ids(table)
    if table.partitioned_by is not None:
        return replace(table, files=(), tree=None)
    if not isinstance(old, Table) or not table.files:
        return table
    before = {column.field_id: column for column in old.columns}
    for column in table.columns:
        was = before.get(column.field_id)
        if was is not None and not is_widening(was.type, column.type):
            raise InternalError(f"{was.type} cannot become {column.type} under field id {column.field_id}")
    # Columns that are new are filled by `replace` next, or have their `initial`.
    here = [c.name for c in table.columns if c.field_id in before or c.initial is not None]
    for column in table.columns:
        was = before.get(column.field_id)
        if column.not_null and (was is None or not was.not_null) and column.name in here:
            checker.check_no_nulls(table, column.name)
    ids = {column.name: column.field_id for column in old.columns}
    known = {_key_identity(key, ids) for key in old.keys}
    ids = {column.name: column.field_id for column in table.columns}
    for key in table.keys:
        if _key_identity(key, ids) not in known and set(key.columns) <= set(here):
            checker.check_new_key(table, key)
    held = {each.requirement for each in old.exclusions}
    for exclusion in table.exclusions:
        if exclusion.requirement not in held and set(exclusion.columns) <= set(here):
            checker.check_new_exclusion(catalog, table, exclusion)
    return table


def _key_identity(key: Key, ids: Mapping[str, int]) -> tuple[frozenset[int], bool]:
    """Returns what a key requires, independent of its name and its columns' names."""
    return frozenset(ids[name] for name in key.columns), key.nulls_distinct


def assign_field_ids(table: Table) -> Table:
    """Returns the table with a fresh Iceberg field id for each column that has none."""
    last = max([table.last_field_id, *(c.field_id + id_span(c.type) - 1 for c in table.columns if c.field_id)])
    columns: list[Column] = []
    for column in table.columns:
        if column.field_id == 0:
            column = replace(column, field_id=last + 1)
            last += id_span(column.type)
        columns.append(column)
    return replace(table, columns=tuple(columns), last_field_id=last)


def is_widening(old: SqlType, new: SqlType) -> bool:
    """Returns whether files with `old` values need no rewrite for a column that becomes `new`."""
    if old == new:
        return True
    if old.dims != new.dims:
        return False
    if old.element is not None or new.element is not None:
        return old.element is not None and new.element is not None and is_widening(old.element, new.element)
    if old.user is not None or new.user is not None:
        pairs = list(zip(old.fields, new.fields, strict=False))
        kept = len(old.fields) == len(new.fields) and all(a[0] == b[0] and is_widening(a[1], b[1]) for a, b in pairs)
        return old.name == new.name and kept
    if old.domain is not None or new.domain is not None:
        return is_widening(replace(old, domain=None), replace(new, domain=None))
    if old.name == new.name == "numeric":
        if old.wide or new.wide:
            return old.wide and new.wide and new.modifier == -1
        one, other = old.numeric_digits, new.numeric_digits
        return old.is_carried == new.is_carried and one[1] == other[1] and one[0] <= other[0]
    if new.name in {"varchar", "text"} and old.name in {"varchar", "text"}:
        return new.length is None or (old.length is not None and old.length <= new.length)
    if old.name == new.name == "bpchar":
        return new.length is not None and old.length is not None and old.length <= new.length
    return (old.name, new.name) in {
        ("int2", "int4"),
        ("int2", "int8"),
        ("int4", "int8"),
        ("float4", "float8"),
    }
