"""FOREIGN KEY in CREATE TABLE and ALTER TABLE, and keys that foreign keys depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Exclusion, ForeignKey, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.functions import resolve
from gpudb.session.authorization.privileges import check_references, get_current_role
from gpudb.session.context import Context
from gpudb.session.objects.constraints import referencing_keys, without_foreign_key
from gpudb.session.objects.dependents import Dependent, describe_relation, refuse_or_report
from gpudb.session.objects.names import range_text, resolve_range
from gpudb.sql.parse.parser import strings
from gpudb.types import SqlType


def build_foreign_key(
    context: Context, table: Table, node: Any, columns: tuple[str, ...], name: str, oid: int
) -> ForeignKey:
    """The foreign key of a Constraint message. 42P01, 42809, 42703, 42830, 42704, 42804, 42P16."""
    known = {column.name for column in table.columns}
    for each in columns:
        if each not in known:
            message = f'column "{each}" referenced in foreign key constraint does not exist'
            raise SqlError.of("undefined_column", message)
    for each in strings(node.fk_del_set_cols):
        if each not in known:
            message = f'column "{each}" referenced in foreign key constraint does not exist'
            raise SqlError.of("undefined_column", message)
        if each not in columns:
            message = f'column "{each}" referenced in ON DELETE SET action must be part of foreign key'
            raise SqlError.of("invalid_column_reference", message)
    if table.partition_bound is not None:
        hint = "Add the foreign key to the partitioned table."
        raise FeatureNotSupported("a foreign key of a partition alone is not supported", hint=hint)
    if node.fk_matchtype == "p":
        raise FeatureNotSupported("MATCH PARTIAL not yet implemented")
    referenced = _referenced_table(context, table, node.pktable)
    key = strings(node.pk_attrs) or _primary_key(referenced)
    check_references(context.transaction.catalog, get_current_role(context), referenced, key)
    _check_key(referenced, key, columns)
    _check_types(table, referenced, name, columns, key)
    if node.skip_validation and table.partitioned_by is not None:
        between = f'on partitioned table "{table.name}" referencing relation "{referenced.name}"'
        message = f"cannot add NOT VALID foreign key {between}"
        detail = "This feature is not yet supported on partitioned tables."
        raise SqlError.of("wrong_object_type", message, detail=detail)
    return ForeignKey(
        oid,
        name,
        columns,
        referenced.oid,
        key,
        node.fk_del_action or "a",
        node.fk_upd_action or "a",
        node.fk_matchtype == "f",
        not node.skip_validation,
        delete_columns=strings(node.fk_del_set_cols),
        deferrable=node.deferrable,
        deferred=node.initdeferred,
    )


def _referenced_table(context: Context, table: Table, node: Any) -> Table:
    references_itself = node.relname == table.name and node.schemaname in ("", table.schema)
    found = table if references_itself else resolve_range(context, node)
    if found is None:
        raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
    if isinstance(found, Table) and found.partition_bound is not None:
        hint = "Reference the partitioned table."
        raise FeatureNotSupported("a foreign key that references a partition alone is not supported", hint=hint)
    if not isinstance(found, Table) or found.kind not in {"r", "p"}:
        raise SqlError.of("wrong_object_type", f'referenced relation "{found.name}" is not a table')
    if found.temporary != table.temporary:
        kind = "temporary" if table.temporary else "permanent"
        message = f"constraints on {kind} tables may reference only {kind} tables"
        raise SqlError.of("invalid_table_definition", message)
    return found


def _primary_key(table: Table) -> tuple[str, ...]:
    if not table.primary_key:
        message = f'there is no primary key for referenced table "{table.name}"'
        raise SqlError.of("undefined_object", message)
    if table.primary_key_deferrable:
        message = f'cannot use a deferrable primary key for referenced table "{table.name}"'
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return table.primary_key


def _check_key(referenced: Table, names: Sequence[str], columns: Sequence[str]) -> None:
    known = {column.name for column in referenced.columns}
    for each in names:
        if each not in known:
            message = f'column "{each}" referenced in foreign key constraint does not exist'
            raise SqlError.of("undefined_column", message)
    if len(names) != len(columns):
        message = "number of referencing and referenced columns for foreign key disagree"
        raise SqlError.of("invalid_foreign_key", message)
    if all(set(key.columns) != set(names) for key in referenced.keys):
        if any(_is_deferrable_key(each, names) for each in referenced.exclusions):
            message = f'cannot use a deferrable unique constraint for referenced table "{referenced.name}"'
            raise SqlError.of("object_not_in_prerequisite_state", message)
        message = f'there is no unique constraint matching given keys for referenced table "{referenced.name}"'
        raise SqlError.of("invalid_foreign_key", message)


def _is_deferrable_key(rule: Exclusion, names: Sequence[str]) -> bool:
    plain = not rule.predicate and not any(key.expression for key in rule.keys)
    return rule.deferrable and rule.is_unique and plain and set(rule.columns) == set(names)


def _check_types(table: Table, referenced: Table, name: str, columns: Sequence[str], key: Sequence[str]) -> None:
    types = {column.name: column.type for column in table.columns}
    referenced_types = {column.name: column.type for column in referenced.columns}
    for one, two in zip(columns, key, strict=True):
        if not _are_compared(referenced_types[two].plain, types[one].plain):
            message = f'foreign key constraint "{name}" cannot be implemented'
            detail = (
                f'Key columns "{one}" and "{two}" are of incompatible types: {types[one]} and {referenced_types[two]}.'
            )
            raise SqlError.of("datatype_mismatch", message, detail=detail)


def _are_compared(key: SqlType, value: SqlType) -> bool:
    """Whether values of one type find those of a key by its own order: as they are, or converted to the key's type."""
    if resolve.can_coerce(value, key, "i"):
        return True
    try:
        compared = resolve.resolve_operator("=", key, value).types[0]
    except SqlError:
        return False
    return compared.name in {key.name, "text" if key.category == "S" else key.name} or compared.category == "P"


def keys_of_column(context: Context, table: Table, name: str) -> list[tuple[Table, ForeignKey]]:
    """The foreign keys of a column, each with its table: the table's own, and others that reference it."""
    found = [(table, foreign) for foreign in table.foreign_keys if name in foreign.columns]
    for owner, foreign in referencing_keys(context.transaction.catalog, table.oid):
        if name in foreign.referenced and all(foreign.oid != known.oid for _, known in found):
            found.append((owner, foreign))
    return found


def check_retyped_keys(context: Context, keys: Sequence[tuple[Table, ForeignKey]], altered: Table) -> None:
    """42804 for a foreign key between columns that have no comparison in the table's altered form."""
    for owner, foreign in keys:
        table, referenced = (
            altered if oid == altered.oid else context.transaction.table(oid) for oid in (owner.oid, foreign.table)
        )
        _check_types(table, referenced, foreign.name, foreign.columns, foreign.referenced)


def check_rewritten_keys(context: Context, keys: Sequence[tuple[Table, ForeignKey]]) -> None:
    """23503 for a row of a foreign key whose value has changed with its column's type."""
    for owner, foreign in keys:
        if foreign.validated:
            context.transaction.check_references(owner.oid, (), foreign)


# ------------------------------------------------------------------------------------------------ referenced keys


def release_key(context: Context, table: Table, columns: tuple[str, ...], name: str, *, cascade: bool) -> None:
    """Checks that a key can be dropped: 2BP01 for foreign keys that depend on it; CASCADE drops them."""
    found = dependent_keys(context.transaction.catalog, table, columns, name)
    on = f"index {name}"
    dependents = [
        Dependent(f"constraint {foreign.name} on {describe_relation(context, owner)}", on) for owner, foreign in found
    ]
    refuse_or_report(context, f"constraint {name} on {describe_relation(context, table)}", dependents, cascade=cascade)
    drop_foreign_keys(context, found)


def dependent_keys(
    catalog: Catalog, table: Table, columns: tuple[str, ...], name: str
) -> list[tuple[Table, ForeignKey]]:
    """The foreign keys that depend on a key: none if the table has another key of the same columns."""
    if any(set(key.columns) == set(columns) and key.name != name for key in table.keys):
        return []
    found = [each for each in referencing_keys(catalog, table.oid) if set(each[1].referenced) == set(columns)]
    return sorted(found, key=lambda each: each[1].oid)


def drop_foreign_keys(context: Context, found: Sequence[tuple[Table, ForeignKey]]) -> None:
    """Drops foreign keys, also from partitions of their tables."""
    for owner, foreign in found:
        context.transaction.set_catalog(without_foreign_key(context.transaction.catalog, owner.oid, foreign))


def rename_referenced_column(catalog: Catalog, oid: int, old: str, new: str) -> Catalog:
    """The catalog after a referenced column is renamed."""
    for owner, _ in referencing_keys(catalog, oid, inherited=True):
        current = catalog.find_relation_by_oid(owner.oid)
        assert isinstance(current, Table)
        listed = tuple(
            replace(c, referenced=tuple(new if name == old else name for name in c.referenced))
            if isinstance(c, ForeignKey) and c.table == oid
            else c
            for c in current.constraints
        )
        catalog = catalog.put(replace(current, constraints=listed))
    return catalog
