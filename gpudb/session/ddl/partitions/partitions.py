"""CREATE TABLE … PARTITION OF, ATTACH PARTITION and DETACH PARTITION."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpudb.catalog.partition_trees import (
    assemble,
    find_root,
    is_same_key,
    list_ancestors,
    list_children,
    list_partitions,
)
from gpudb.catalog.partitions import PartitionBound
from gpudb.catalog.postgres.indexes import is_same_index, list_indexes
from gpudb.catalog.tables import Column, Constraint, ForeignKey, Index, Table, Unique
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.ddl.parse_nodes import definition_field
from gpudb.session.ddl.partitions.partition_bounds import check_no_overlap, read_bound, read_partition_key
from gpudb.session.ddl.triggers import copy_row_triggers
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.objects.constraints import allocate_oid, index_names_in, list_key_names, referencing_keys
from gpudb.session.objects.names import check_name_free, free_name, join_names, range_text, resolve_range
from gpudb.session.objects.relations import lock_table, put_relation
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bound import Scan, Select
from gpudb.sql.parse.parser import inner
from gpudb.storage.partitions.routing import Router


def create_partition(context: Context, node: Any, schema: str, name: str, *, temporary: bool) -> None:
    """Creates the partition of a CreateStmt message; 42P01, 42809, 42P16, 42P17, 23514."""
    check_name_free(context.transaction.catalog, schema, name)
    parent = _find_parent(context, inner(node.inh_relations[0]))
    if len(node.table_elts):
        raise FeatureNotSupported("columns and constraints of CREATE TABLE … PARTITION OF are not supported")
    if temporary != parent.temporary:
        what = ("temporary", "permanent") if temporary else ("permanent", "temporary")
        message = f'cannot create a {what[0]} relation as partition of {what[1]} relation "{parent.name}"'
        raise SqlError.of("wrong_object_type", message)
    bound = read_bound(context, parent, name, node.partbound)
    _check_siblings(context, parent, name, bound, node.partbound)
    oid = allocate_oid(context)
    # As in PostgreSQL 16, partitions have no identity columns
    columns = tuple(
        replace(c, identity="", default=None if c.identity else c.default, acl=None) for c in parent.columns
    )
    table = Table(
        oid,
        schema,
        name,
        columns,
        context.session.user,
        distribution=parent.distribution,
        temporary=temporary,
        on_commit=parent.on_commit,
        last_field_id=parent.last_field_id,
        partition_bound=bound,
    )
    table = _with_keys(context, parent, table)
    if node.HasField("partspec"):
        table = replace(table, kind="p", partitioned_by=read_partition_key(context, node.partspec, columns))
        check_keys_include(table)
    _put_partition(context, parent, table)


def _find_parent(context: Context, node: Any) -> Table:
    parent = resolve_range(context, node)
    if parent is None:
        raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
    if not isinstance(parent, Table) or parent.partitioned_by is None:
        raise SqlError.of("invalid_object_definition", f'"{parent.name}" is not partitioned')
    check_owner(context.transaction.catalog, get_current_role(context), parent)
    lock_table(context, parent)
    found = context.transaction.catalog.find_relation_by_oid(parent.oid)
    assert isinstance(found, Table)
    return found


def _check_siblings(context: Context, parent: Table, name: str, bound: PartitionBound, node: Any) -> None:
    siblings = list_children(context.transaction.catalog).get(parent.oid, ())
    check_no_overlap(context, parent, siblings, name, bound, node)


def _with_keys(context: Context, parent: Table, table: Table) -> Table:
    """Returns a partition with copies of those of its parent's constraints, indexes and row triggers that it lacks."""
    if parent.primary_key and not table.primary_key:
        if set(parent.primary_key) != set().union(*(c.columns for c in table.constraints if _is_key(c, parent))):
            taken = index_names_in(context.transaction.catalog, table)
            name = free_name(taken, table.name, "", "pkey")
            columns = tuple(replace(c, not_null=c.not_null or c.name in parent.primary_key) for c in table.columns)
            table = replace(table, columns=columns, primary_key=parent.primary_key, primary_key_name=name)
    for each in parent.constraints:
        table = with_constraint(context, table, each)
    return copy_row_triggers(context, parent, table)


def _is_key(constraint: Constraint, parent: Table) -> bool:
    return isinstance(constraint, Unique) and constraint.columns == parent.primary_key


def with_constraint(context: Context, table: Table, constraint: Constraint) -> Table:
    """Returns a partition with a copy of its parent's constraint or index, unless it has an equal one."""
    if any(is_equal_constraint(each, constraint) for each in table.constraints):
        return table
    made = replace(constraint, oid=allocate_oid(context), comment=None)
    if isinstance(made, Unique | Index):
        label = "idx" if isinstance(made, Index) or made.index else "key"
        taken = index_names_in(context.transaction.catalog, table)
        made = replace(made, name=free_name(taken, table.name, join_names(list_key_names(made)), label))
    return replace(table, constraints=(*table.constraints, made))


def is_equal_constraint(one: Constraint, other: Constraint) -> bool:
    """Returns whether two constraints require the same; checks, unlike indexes, also have the same name."""
    name = other.name if isinstance(one, Unique | Index) else one.name
    comment, oid = other.comment, other.oid
    return type(one) is type(other) and replace(one, oid=oid, name=name, comment=comment) == other


def check_keys_include(table: Table) -> None:
    """Raises 0A000 for a key of a partitioned table that lacks a column of its partition key."""
    if table.partitioned_by is None:
        return
    keys = [(key.name, key.columns) for key in table.keys]
    keys += [(each.name, tuple(key.column for key in each.keys)) for each in table.exclusions]
    for key_name, columns in keys:
        lacking = next((name for name in table.partitioned_by.columns if name not in columns), None)
        if lacking is not None:
            what = "PRIMARY KEY" if columns == table.primary_key and key_name == table.key_name else "UNIQUE"
            which = f'lacks column "{lacking}" which is part of the partition key.'
            detail = f'{what} constraint on table "{table.name}" {which}'
            message = "unique constraint on partitioned table must include all partitioning columns"
            raise FeatureNotSupported(message, detail=detail)


def _put_partition(context: Context, parent: Table, table: Table) -> None:
    """Adds or changes a partition; 23514 if the default partition has rows that it takes."""
    key = parent.partitioned_by
    assert key is not None
    put_relation(context, table)
    put_relation(context, replace(parent, partitioned_by=replace(key, changes=key.changes + 1)))
    for each in list_children(context.transaction.catalog).get(parent.oid, ()):
        bound = each.partition_bound
        if bound is None or not bound.default or each.oid == table.oid:
            continue
        _count_changes(context, (each, *list_partitions(context.transaction.catalog, each)))
        if not has_fitting_rows(context, each):
            message = f'updated partition constraint for default partition "{each.name}" would be violated by some row'
            raise SqlError.of("check_violation", message, objects={"schema": each.schema, "table": each.name})


def _count_changes(context: Context, partitions: Iterable[Table]) -> None:
    """Marks partitions as taking fewer rows, so that transactions that write rows into them conflict."""
    for each in partitions:
        if each.partition_bound is not None:
            bound = replace(each.partition_bound, changes=each.partition_bound.changes + 1)
            put_relation(context, replace(each, partition_bound=bound))


def has_fitting_rows(context: Context, table: Table) -> bool:
    """Returns whether all rows of a partition are rows that its table's partition keys route to it."""
    catalog = context.transaction.catalog
    current = context.transaction.table(table.oid)
    if not current.files:
        return True
    root = assemble(catalog, find_root(catalog, current)).tree
    assert root is not None
    own = {each.oid for each in current.tree.leaves()} if current.tree is not None else {current.oid}
    router = Router(root, current.columns)
    stream = run_query(context, _read_all(context, current))
    try:
        for batch in stream:
            found, failed = router.route(batch)
            if failed is not None or any(oid not in own for oid, _ in found):
                return False
    finally:
        stream.close()
    return True


def _read_all(context: Context, table: Table) -> Select:
    binder = context.binder()
    rel = binder.new_rel()
    columns = table_columns(table)
    source = build_source(binder, rel, Scan(rel, table), columns, table.name, None)
    return Select(columns, tuple(expr for _, expr in source.columns), source.relation)


def attach_partition(context: Context, parent: Table, step: Any) -> None:
    """ATTACH PARTITION table FOR VALUES …: 42809, 42804, 42P17, and 23514 if a row is not one of the bound's."""
    command = inner(definition_field(step))
    table = resolve_range(context, command.name)
    if table is None:
        raise UndefinedTable(f'relation "{range_text(command.name)}" does not exist')
    if not isinstance(table, Table) or table.kind not in {"r", "p"} or table.is_elsewhere:
        raise SqlError.of("wrong_object_type", f'"{table.name}" is not a table')
    check_owner(context.transaction.catalog, get_current_role(context), table)
    if table.partition_bound is not None:
        raise SqlError.of("wrong_object_type", f'"{table.name}" is already a partition')
    if parent.oid in {table.oid, *(each.oid for each in list_partitions(context.transaction.catalog, table))}:
        detail = f'"{parent.name}" is already a child of "{table.name}".'
        raise SqlError.of("duplicate_table", "circular inheritance not allowed", detail=detail)
    _refuse_partition(context, parent, table)
    check_not_scanned(context.session, table, "ALTER TABLE")
    lock_table(context, table)
    bound = read_bound(context, parent, table.name, command.bound)
    _check_siblings(context, parent, table.name, bound, command.bound)
    known = {each.oid for each in table.foreign_keys}
    parent, table = _align_columns(context, parent, _find(context, table.oid))
    for check in parent.checks:
        if all(not is_equal_constraint(each, check) for each in table.checks):
            raise SqlError.of("datatype_mismatch", f'child table is missing constraint "{check.name}"')
    table = _with_keys(context, parent, replace(table, partition_bound=bound))
    _put_partition(context, parent, table)
    _count_changes(context, list_partitions(context.transaction.catalog, table))
    if not has_fitting_rows(context, table):
        message = f'partition constraint of relation "{table.name}" is violated by some row'
        raise SqlError.of("check_violation", message, objects={"schema": table.schema, "table": table.name})
    for foreign in _find(context, table.oid).foreign_keys:
        if foreign.oid not in known:
            context.transaction.check_references(table.oid, (), foreign)


def _find(context: Context, oid: int) -> Table:
    found = context.transaction.catalog.find_relation_by_oid(oid)
    assert isinstance(found, Table)
    return found


def _refuse_partition(context: Context, parent: Table, table: Table) -> None:
    """Raises 0A000 for a table that cannot be a partition yet."""
    if parent.temporary != table.temporary:
        what = ("temporary", "permanent") if table.temporary else ("permanent", "temporary")
        message = f'cannot attach a {what[0]} relation as partition of {what[1]} relation "{parent.name}"'
        raise SqlError.of("wrong_object_type", message)
    own = [key for key in table.foreign_keys if not any(is_same_key(key, each) for each in parent.foreign_keys)]
    if own or referencing_keys(context.transaction.catalog, table.oid):
        raise FeatureNotSupported("a partition with foreign keys that its table does not have is not supported")
    if any(each.for_each_row for each in table.triggers):
        raise FeatureNotSupported("row triggers of a partition are not supported")
    if table.distribution != parent.distribution:
        raise FeatureNotSupported("a partition that is distributed otherwise than its table is not supported")


def _align_columns(context: Context, parent: Table, table: Table) -> tuple[Table, Table]:
    """Returns a partitioned table and a new partition of which columns with one name have one field id.

    Rows are written anew if the partition has some under other ids. 42804 for other columns than the parent's.
    """
    wanted, held = ({column.name: column for column in each.columns} for each in (parent, table))
    for name in held:
        if name not in wanted:
            message = f'table "{table.name}" contains column "{name}" not found in parent "{parent.name}"'
            detail = "The new partition may contain only the columns present in parent."
            raise SqlError.of("datatype_mismatch", message, detail=detail)
    for name, column in wanted.items():
        if name not in held:
            raise SqlError.of("datatype_mismatch", f'child table is missing column "{name}"')
        if held[name].type != column.type:
            message = f'child table "{table.name}" has different type for column "{name}"'
            raise SqlError.of("datatype_mismatch", message)
        if column.not_null and not held[name].not_null:
            raise SqlError.of("datatype_mismatch", f'column "{name}" in child table must be marked NOT NULL')
        if (column.generated is None) != (held[name].generated is None):
            what = "must" if column.generated is not None else "must not"
            raise SqlError.of("datatype_mismatch", f'column "{name}" in child table {what} be a generated column')
    last = max(parent.last_field_id, table.last_field_id)
    if last > parent.last_field_id:
        root = find_root(context.transaction.catalog, parent)
        for each in (root, *list_partitions(context.transaction.catalog, root)):
            put_relation(context, replace(_find(context, each.oid), last_field_id=last))
        parent = _find(context, parent.oid)
    for each in (*list_partitions(context.transaction.catalog, table), table):
        _renumber(context, _find(context, each.oid), wanted, last)
    return parent, _find(context, table.oid)


def _renumber(context: Context, table: Table, wanted: Mapping[str, Column], last: int) -> None:
    """Gives a table's columns the field ids of those `wanted`, and writes its rows under them."""
    columns = tuple(replace(column, field_id=wanted[column.name].field_id) for column in table.columns)
    initial = any(column.initial != wanted[column.name].initial for column in table.columns)
    same = all(one.field_id == other.field_id for one, other in zip(columns, table.columns, strict=True))
    if table.partitioned_by is not None or not table.files or (same and not initial):
        columns = tuple(replace(column, initial=wanted[column.name].initial) for column in columns)
        put_relation(context, replace(table, columns=columns, last_field_id=last))
        return
    stream = run_query(context, _read_all(context, table))
    try:
        put_relation(context, replace(table, files=()))
        columns = tuple(replace(column, initial=wanted[column.name].initial) for column in columns)
        put_relation(context, replace(table, files=(), columns=columns, last_field_id=last))
        context.transaction.append(table.oid, iter(stream))
    finally:
        stream.close()


def detach_partition(context: Context, parent: Table, step: Any) -> None:
    """DETACH PARTITION table [CONCURRENTLY]: 42P01 for what is no partition of the table."""
    command = inner(definition_field(step))
    table = resolve_range(context, command.name)
    if table is None:
        raise UndefinedTable(f'relation "{range_text(command.name)}" does not exist')
    if command.concurrent:
        context.check_no_block("ALTER TABLE ... DETACH CONCURRENTLY")
    bound = table.partition_bound if isinstance(table, Table) else None
    if not isinstance(table, Table) or bound is None or bound.parent != parent.oid:
        message = f'relation "{table.name}" is not a partition of relation "{parent.name}"'
        raise UndefinedTable(message)
    check_not_scanned(context.session, table, "ALTER TABLE")
    key = parent.partitioned_by
    assert key is not None
    left = _find(context, table.oid)
    put_relation(context, replace(left, partition_bound=None))
    gone = {each.parent for each in left.triggers} - {0}
    for each in (left, *list_partitions(context.transaction.catalog, left)):
        held = _find(context, each.oid)
        put_relation(context, replace(held, triggers=tuple(own for own in held.triggers if own.parent not in gone)))
    put_relation(context, replace(_find(context, parent.oid), partitioned_by=replace(key, changes=key.changes + 1)))
    for above in (parent, *list_ancestors(context.transaction.catalog, parent)):
        for owner, foreign in referencing_keys(context.transaction.catalog, above.oid):
            _check_still_present(context, table, owner, foreign)


def _check_still_present(context: Context, table: Table, owner: Table, foreign: ForeignKey) -> None:
    """23503 if rows of `owner` reference rows that have left a partitioned table with a partition."""
    try:
        context.transaction.check_references(owner.oid, (), foreign)
    except SqlError as error:
        if error.sqlstate != "23503":
            raise
        message = f'removing partition "{table.name}" violates foreign key constraint "{foreign.name}"'
        key = (error.detail or "").partition(" is not present")[0]
        detail = f'{key} is still referenced from table "{owner.name}".'
        raise SqlError.of("foreign_key_violation", message, detail=detail, shown=error.shown) from None


def attach_index(context: Context, node: Any) -> None:
    """ALTER INDEX … ATTACH PARTITION index: checks that it is one of a partition with the same definition.

    Which indexes belong together follows from their definitions. 42P01, 42809, 55000 for another index.
    """
    command = inner(definition_field(inner(node.cmds[0])))
    (parent, index), (table, own) = (_find_index(context, each) for each in (node.relation, command.name))
    bound = table.partition_bound
    what = f'cannot attach index "{own}" as a partition of index "{index}"'
    if bound is None or bound.parent != parent.oid:
        detail = f'Index "{own}" is not an index on any partition of table "{parent.name}".'
        raise SqlError.of("object_not_in_prerequisite_state", what, detail=detail)
    facts = ({each.name: each for each in list_indexes(held)} for held in (parent, table))
    if not is_same_index(*(each[name] for each, name in zip(facts, (index, own), strict=True))):
        raise SqlError.of("invalid_object_definition", what, detail="The index definitions do not match.")


def _find_index(context: Context, node: Any) -> tuple[Table, str]:
    for schema in (node.schemaname,) if node.schemaname else context.session.search_path():
        for table in context.transaction.catalog.tables():
            if table.schema == schema and node.relname in table.index_names:
                check_owner(context.transaction.catalog, get_current_role(context), table)
                return table, node.relname
    raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
