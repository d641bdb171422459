"""ALTER TABLE of partitioned tables, which changes their partitions too, and of partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_trees import is_same_key, list_children, list_partitions
from gpudb.catalog.tables import Check, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.parse_nodes import definition_field
from gpudb.session.ddl.partitions.partitions import (
    attach_partition,
    check_keys_include,
    detach_partition,
    with_constraint,
)
from gpudb.session.ddl.triggers import ENABLING
from gpudb.session.objects.relations import put_relation
from gpudb.sql.parse.parser import inner

Action = Callable[[Context, Table, Any], None]
_INHERITED = frozenset(
    {
        "AddColumn",
        "DropColumn",
        "AlterColumnType",
        "ColumnDefault",
        "SetNotNull",
        "DropNotNull",
        "AddConstraint",
        "DropConstraint",
    }
)
_HARMLESS = frozenset({"SetStorage", "SetStatistics", "SetLogged", "SetUnLogged", *ENABLING})
ATTACHING = frozenset({"AttachPartition", "DetachPartition"})
_KEYS = (pg.CONSTR_PRIMARY, pg.CONSTR_UNIQUE)


def alter_with_partitions(
    context: Context, table: Table, action: str, step: Any, act: Action | None, *, only: bool, inherited: bool = False
) -> None:
    """Runs an action of ALTER TABLE on a partitioned table and its partitions, or on a partition.

    `inherited` is whether the action is one of the partitioned table above. 0A000 for other actions.
    """
    if action in ATTACHING:
        if table.partitioned_by is None:
            raise SqlError.of("invalid_object_definition", f'table "{table.name}" is not partitioned')
        (attach_partition if action == "AttachPartition" else detach_partition)(context, _read(context, table), step)
        return
    if act is None or action not in _INHERITED | _HARMLESS:
        raise FeatureNotSupported(f"ALTER TABLE action {action} of a partitioned table or partition is not supported")
    if not inherited and table.partition_bound is not None:
        _check_partition(context, table, action, step)
    _check_step(table, action, step)
    before = _read(context, table)
    act(context, before, step)
    after = _read(context, table)
    check_keys_include(after)
    children = list_children(context.transaction.catalog).get(table.oid, ())
    if action not in _INHERITED or table.partitioned_by is None or not children:
        return
    definition = inner(definition_field(step)) if action == "AddConstraint" else None
    if definition is not None and definition.contype == pg.CONSTR_FOREIGN:
        known = {each.oid for each in before.foreign_keys}
        for made in (each for each in after.foreign_keys if each.oid not in known):
            for child in list_partitions(context.transaction.catalog, after):
                put_relation(context, with_constraint(context, _read(context, child), made))
        return
    if only and (action == "ColumnDefault" or (definition is not None and definition.contype in _KEYS)):
        return
    if only:
        raise SqlError.of("invalid_table_definition", f"ALTER TABLE ONLY … {action} must change the partitions too")
    for child in children:
        found = _adapt(step, action, before, after, _read(context, child))
        if found is None:
            continue
        settled = replace(_read(context, child), last_field_id=before.last_field_id)
        put_relation(context, settled)
        alter_with_partitions(context, settled, action, found, act, only=False, inherited=True)


def _read(context: Context, table: Table) -> Table:
    """Returns a table as the catalog has it: a partitioned one without files."""
    found = context.transaction.catalog.find_relation_by_oid(table.oid)
    assert isinstance(found, Table)
    return found


def _check_partition(context: Context, table: Table, action: str, step: Any) -> None:
    """Raises what PostgreSQL raises for an action that only the partitioned table can be subject to."""
    assert table.partition_bound is not None
    parent = context.transaction.catalog.find_relation_by_oid(table.partition_bound.parent)
    assert isinstance(parent, Table)
    column = next((each for each in parent.columns if each.name == step.name), None)
    message = ""
    match action:
        case "AddColumn":
            raise SqlError.of("wrong_object_type", "cannot add column to a partition")
        case "DropColumn":
            message = f'cannot drop inherited column "{step.name}"'
        case "AlterColumnType":
            message = f'cannot alter inherited column "{step.name}"'
        case "DropNotNull" if column is not None and column.not_null:
            message = f'column "{step.name}" is marked NOT NULL in parent table'
        case "DropConstraint":
            inherited = _find_inherited(parent, table, step.name)
            message = f'cannot drop inherited constraint "{step.name}" of relation "{table.name}"' if inherited else ""
    if message:
        raise SqlError.of("invalid_table_definition", message)


def _find_inherited(parent: Table, table: Table, name: str) -> bool:
    if any(each.name == name for each in parent.checks):
        return True
    foreign = next((each for each in table.foreign_keys if each.name == name), None)
    if foreign is not None:
        return any(is_same_key(each, foreign) for each in parent.foreign_keys)
    key = next((each for each in table.keys if each.name == name), None)
    return key is not None and any(each.columns == key.columns for each in parent.keys)


def _check_step(table: Table, action: str, step: Any) -> None:
    """Raises 42P16 for a change of a partition key's column, 0A000 for what partitions do not have."""
    names = () if table.partitioned_by is None else table.partitioned_by.columns
    if action in {"DropColumn", "AlterColumnType"} and step.name in names:
        verb = "drop" if action == "DropColumn" else "alter"
        message = (
            f'cannot {verb} column "{step.name}" because it is part of the partition key of relation "{table.name}"'
        )
        raise SqlError.of("invalid_table_definition", message)
    if action == "AddColumn":
        definition = inner(definition_field(step))
        types = [inner(each).sval for each in definition.type_name.names]
        plain = all(
            inner(each).contype in {pg.CONSTR_NOTNULL, pg.CONSTR_NULL, pg.CONSTR_DEFAULT, pg.CONSTR_GENERATED}
            for each in definition.constraints
        )
        if not plain or types[-1].endswith("serial"):
            message = "ADD COLUMN of a partitioned table is not supported with a serial type or with constraints"
            raise FeatureNotSupported(message, hint="Add the constraints by statements of their own.")


def _adapt(step: Any, action: str, before: Table, after: Table, child: Table) -> Any:
    """Returns an action as a partition needs it; None if there is nothing to do."""
    if action == "DropConstraint":
        key = next((each for each in before.keys if each.name == step.name), None)
        foreign = next((each for each in before.foreign_keys if each.name == step.name), None)
        name = step.name
        if foreign is not None:
            name = next((each.name for each in child.foreign_keys if is_same_key(each, foreign)), "")
        if key is not None:
            name = next((each.name for each in child.keys if each.columns == key.columns), "")
        if not name or (key is None and foreign is None and all(each.name != name for each in child.checks)):
            return None
        changed = pg.AlterTableCmd()
        changed.CopyFrom(step)
        changed.name = name
        return changed
    if action != "AddConstraint":
        return step
    changed = pg.AlterTableCmd()
    changed.CopyFrom(step)
    definition = inner(definition_field(changed))
    if definition.contype == pg.CONSTR_CHECK:
        known = {each.oid for each in before.constraints}
        made = next(each for each in after.constraints if each.oid not in known)
        if any(isinstance(each, Check) and each.name == made.name for each in child.constraints):
            return None
        definition.conname = made.name
        return changed
    definition.conname = ""
    gained = [key for key in after.keys if key not in before.keys]
    if any(key.columns == each.columns for key in gained for each in child.keys):
        return None
    return changed
