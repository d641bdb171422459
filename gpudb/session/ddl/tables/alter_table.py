"""ALTER TABLE: actions on columns, constraints, storage and ownership."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.pinned_routines import mentions_pins, show_names
from gpudb.catalog.relations import Relation, View
from gpudb.catalog.secured_objects import replace_owner
from gpudb.catalog.tables import Check, Column, Table
from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError, UndefinedTable
from gpudb.functions.carried import is_wide_layout
from gpudb.functions.resolve import can_coerce
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.ddl.constraints.alter_constraints import (
    add_constraint,
    alter_constraint,
    drop_constraint,
    store_with_constraints,
    validate_constraint,
    without_columns,
)
from gpudb.session.ddl.constraints.constraints import add_constraints, column_constraints
from gpudb.session.ddl.constraints.foreign_keys import (
    check_retyped_keys,
    check_rewritten_keys,
    dependent_keys,
    drop_foreign_keys,
    keys_of_column,
)
from gpudb.session.ddl.parse_nodes import command_kind, definition_field, object_kind
from gpudb.session.ddl.partitions.alter_partitions import ATTACHING, alter_with_partitions
from gpudb.session.ddl.partitions.partitions import attach_index
from gpudb.session.ddl.policies import SWITCHING, switch_row_security
from gpudb.session.ddl.query_columns import check_column_type, rewrite_query
from gpudb.session.ddl.tables.create_table import column_definition
from gpudb.session.ddl.tables.distribution import alter_distribution, check_not_distributed_by
from gpudb.session.ddl.tables.foreign_tables import set_column_options, set_table_options
from gpudb.session.ddl.tables.generated_columns import (
    check_default,
    check_type_change,
    columns_generated_from,
    define_generated_columns,
    drop_expression,
)
from gpudb.session.ddl.tables.identity import (
    add_identity,
    assign_sequences,
    check_identity_type,
    drop_identity,
    expand_serials,
    set_identity,
)
from gpudb.session.ddl.tables.storage_parameters import check_storage_parameters
from gpudb.session.ddl.triggers import ENABLING, enable_trigger, triggers_of_column
from gpudb.session.ddl.views.view_options import set_view_options
from gpudb.session.ddl.views.views import set_view_default
from gpudb.session.execution.locks_and_snapshots.restarts import undoing_layouts
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.objects.dependents import (
    Dependent,
    describe_relation,
    refuse_or_report,
    view_dependents,
    views_of_column,
)
from gpudb.session.objects.names import check_not_system, range_text, resolve_range
from gpudb.session.objects.policies import policies_of_column, remove_policies
from gpudb.session.objects.relations import find_column, lock_table, put_relation
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.objects.sequences import owned_sequences
from gpudb.session.objects.stored_expressions import default_expression
from gpudb.session.results import Result
from gpudb.sql.bind.dml.checks import (
    bind_check,
    build_violation_query,
    deparse_check,
    parse_expression,
    qualify_expression,
)
from gpudb.sql.bind.dml.generated_columns import bind_generated
from gpudb.sql.bind.dml.targets import bind_column_default, bind_declared_default, bind_default
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce_to_column
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.bound import Column as Reference
from gpudb.sql.bound import Expr, OutputColumn, Scan, Select
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import inner, kind, present
from gpudb.storage.iceberg.buckets import check_hashable
from gpudb.storage.schema_evolution import is_widening
from gpudb.types import SqlType, widen


@undoing_layouts
def alter_table(context: Context) -> Result:
    """ALTER TABLE [IF EXISTS] name action, …"""
    node: Any = context.statement.node
    context.check_writable("ALTER TABLE")
    if node.objtype == pg.OBJECT_INDEX and _action(inner(node.cmds[0])) == "AttachPartition":
        attach_index(context, node)
        return Result("ALTER INDEX")
    if node.objtype not in (
        pg.OBJECT_TABLE,
        pg.OBJECT_VIEW,
        pg.OBJECT_SEQUENCE,
        pg.OBJECT_MATVIEW,
        pg.OBJECT_FOREIGN_TABLE,
    ):
        raise FeatureNotSupported(f"ALTER {object_kind(node.objtype)} is not supported")
    relation = resolve_range(context, node.relation)
    if node.objtype == pg.OBJECT_FOREIGN_TABLE and relation is not None and relation.kind != "f":
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a foreign table')
    if relation is None:
        if node.missing_ok:
            context.notice(f'relation "{node.relation.relname}" does not exist, skipping')
            return Result(f"ALTER {command_kind(node.objtype)}")
        check_not_system(context, node.relation.schemaname, node.relation.relname)
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    for step in sorted(map(inner, node.cmds), key=_pass):
        action = _action(step)
        current = context.transaction.catalog.find_relation_by_oid(relation.oid)
        if action == "ChangeOwner":
            _change_owner(context, current, step)
            continue
        if isinstance(current, View) and action == "ColumnDefault":
            default = definition_field(step)
            set_view_default(context, current, step.name, default if present(default) else None)
            continue
        if isinstance(current, View) and action in ("SetRelOptions", "ResetRelOptions"):
            options = inner(definition_field(step)).items
            set_view_options(context, current, options, reset=action == "ResetRelOptions")
            continue
        if isinstance(current, View) and action in ENABLING:
            enable_trigger(context, current, step)
            continue
        if action in SWITCHING and current is not None:
            switch_row_security(context, current, action)
            continue
        if not isinstance(current, Table):
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        if current.query is not None:
            what = f"ALTER TABLE action {action} of a materialized view"
            raise FeatureNotSupported(f"{what} is not supported")
        check_not_scanned(context.session, current, "ALTER TABLE")
        lock_table(context, current)
        current = context.transaction.catalog.find_relation_by_oid(current.oid)
        if not isinstance(current, Table):
            raise UndefinedTable(f'relation "{relation.name}" does not exist')
        act = _ACTIONS.get(action)
        if current.partitioned_by is not None or current.partition_bound is not None or action in ATTACHING:
            alter_with_partitions(context, current, action, step, act, only=not node.relation.inh)
            continue
        if act is None:
            raise FeatureNotSupported(f"ALTER TABLE action {action} is not supported")
        act(context, context.transaction.table(relation.oid), step)
    return Result(f"ALTER {command_kind(node.objtype)}")


def _action(step: Any) -> str:
    return pg.AlterTableType.Name(step.subtype).removeprefix("AT_")  # type: ignore[no-any-return]


_PASSES = (
    {"DropColumn", "DropConstraint", "DropNotNull", "DropIdentity", "DropExpression"},
    {"AlterColumnType"},
    {"AddColumn"},
    {"AddConstraint"},
    {"SetNotNull", "AddIdentity", "SetIdentity"},
)


def _pass(step: Any) -> int:
    """The pass of an action: PostgreSQL runs the actions of one ALTER TABLE in this order, not as written."""
    action = _action(step)
    if action == "ColumnDefault" and not present(definition_field(step)):
        return 0  # DROP DEFAULT
    return next((number for number, actions in enumerate(_PASSES) if action in actions), len(_PASSES))


def _with_column(table: Table, column: Column, name: str) -> Table:
    return replace(table, columns=tuple(column if each.name == name else each for each in table.columns))


def _add_column(context: Context, table: Table, step: Any) -> None:
    elements, sequences = expand_serials(
        context, table.schema, table.name, [definition_field(step)], temporary=table.temporary
    )
    definition = inner(elements[0])
    column = column_definition(context, definition)
    if is_wide_layout() and (column.default is not None or column.generated is not None):
        column = replace(column, type=widen(column.type))  # of its values one has no room in 128 bits
    if any(each.name == column.name for each in table.columns):
        if step.missing_ok:
            message = f'column "{column.name}" of relation "{table.name}" already exists, skipping'
            context.notice(message, sqlstate="42701")
            return
        message = f'column "{column.name}" of relation "{table.name}" already exists'
        raise SqlError.of("duplicate_column", message)
    constraints = column_constraints(definition.constraints, column.name)
    altered = replace(table, columns=define_generated_columns(context, table.name, (*table.columns, column), elements))
    column = altered.columns[-1]
    assign_sequences(context, table.oid, sequences)
    if column.generated is not None and table.files:
        binder = context.binder()
        rel = binder.new_rel()
        value = bind_generated(binder, column.generated, column, table.columns, table.name, rel)
        _rewrite_table(context, table, altered, {column.name: value}, rel)
        return
    if not table.files or column.default is None:
        if column.not_null and table.files:
            message = f'column "{column.name}" of relation "{table.name}" contains null values'
            raise SqlError.of("not_null_violation", message)
        if column.type.domain is not None and table.files:
            # The domain may refuse the NULLs of the rows
            null = bind_default(context.binder(), "NULL", column)
            list(run_query(context, Select((OutputColumn("value", null.type),), (null,))))
        put_relation(context, altered)
    else:
        default = bind_column_default(context.binder(), column)
        _rewrite_table(context, table, altered, {column.name: default})
    if constraints:
        settled = context.transaction.table(table.oid)
        store_with_constraints(context, add_constraints(context, settled, constraints, new=False))


def _rewrite_table(context: Context, old: Table, new: Table, changed: dict[str, Expr], rel: int = 1) -> None:
    """Replaces table `old` by `new` and rewrites every row; `changed` computes columns over relation `rel`."""
    batches = list(run_query(context, rewrite_query(old, new.columns, changed, rel)))
    fresh = tuple(replace(c, field_id=0) if c.name in changed else c for c in new.columns)
    put_relation(context, replace(new, columns=fresh))
    context.transaction.replace(old.oid, old.files, batches)


def _drop_column(context: Context, table: Table, step: Any) -> None:
    if step.missing_ok and all(column.name != step.name for column in table.columns):
        message = f'column "{step.name}" of relation "{table.name}" does not exist, skipping'
        context.notice(message)
        return
    column = find_column(table, step.name)
    cascade = step.behavior == pg.DROP_CASCADE
    catalog, description = context.transaction.catalog, describe_relation(context, table)
    what = f"column {column.name} of {description}"
    users = columns_generated_from(table, column.name)
    found = [Dependent(f"column {each.name} of {description}", what) for each in users]
    dropped = {column.name, *(each.name for each in users)}
    for each in dropped:
        check_not_distributed_by(table, each)
    keys = [
        each
        for key in table.keys
        if not dropped.isdisjoint(key.columns)
        for each in dependent_keys(catalog, table, key.columns, key.name)
    ]
    found += [
        Dependent(f"constraint {foreign.name} on {describe_relation(context, owner)}", what) for owner, foreign in keys
    ]
    triggers = [each for name in dropped for each in triggers_of_column(table, name)]
    found += [Dependent(f"trigger {each.name} on {description}", what) for each in triggers]
    policies = list(dict.fromkeys(use for name in dropped for use in policies_of_column(context, table, name)))
    found += [use.describe(context, what) for use in policies]
    views: dict[int, Relation] = {}
    found += view_dependents(context, views_of_column(context, table, column.name), what, views)
    refuse_or_report(context, what, found, cascade=cascade)
    drop_foreign_keys(context, [each for each in keys if each[0].oid != table.oid])
    remove_policies(context, policies)
    if views:
        drop_with_dependents(context, list(views.values()), True)
    table = context.transaction.table(table.oid)
    owned = owned_sequences(context, table.oid, column.name)
    if owned:
        without_default = replace(column, default=None)
        put_relation(context, _with_column(table, without_default, column.name))
        drop_with_dependents(context, list(owned), step.behavior == pg.DROP_CASCADE)
        table, column = context.transaction.table(table.oid), without_default
    remaining = tuple(each for each in table.columns if each.name not in dropped)
    if not remaining:
        raise FeatureNotSupported("a table without columns is not supported")
    kept = tuple(each for each in table.triggers if each not in triggers)
    put_relation(context, replace(without_columns(table, dropped), columns=remaining, triggers=kept))


def _column_default(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    check_default(table, column)
    text = None
    if present(definition_field(step)):
        written = default_expression(context, definition_field(step))
        text = bind_declared_default(context.binder(), written, column)
    put_relation(context, _with_column(table, replace(column, default=text), column.name))


def _set_not_null(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    put_relation(context, _with_column(table, replace(column, not_null=True), column.name))


def _drop_not_null(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    if column.name in table.primary_key:
        raise SqlError.of("invalid_table_definition", f'column "{column.name}" is in a primary key')
    if column.identity:
        message = f'column "{column.name}" of relation "{table.name}" is an identity column'
        raise SqlError.of("syntax_error", message)
    put_relation(context, _with_column(table, replace(column, not_null=False), column.name))


def _alter_type(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    definition = inner(definition_field(step))
    target = resolve_type_name(definition.type_name, context.binder())
    check_column_type(column.name, target)
    check_type_change(table, column)
    if is_wide_layout():
        target = widen(target)  # of its values one has no room in 128 bits
    if column.generated is not None and present(definition.raw_default):
        message = "cannot specify USING when altering type of generated column"
        detail = f'Column "{column.name}" is a generated column.'
        raise SqlError.of("invalid_column_definition", message, detail=detail)
    value, rel = _convert_column(context, table, column, target, definition.raw_default)
    if table.hashed_by == column:
        check_hashable(target, column.name)
    if column.identity:
        check_identity_type(target)
    made_column = replace(column, type=target)
    if column.default is not None:
        _check_default(context, column, target)
    views = views_of_column(context, table, column.name)
    if views:
        detail = f'rule _RETURN on {describe_relation(context, views[0])} depends on column "{column.name}"'
        raise FeatureNotSupported("cannot alter type of a column used by a view or rule", detail=detail)
    triggers = triggers_of_column(table, column.name)
    if triggers:
        detail = f'trigger {triggers[0].name} on {describe_relation(context, table)} depends on column "{column.name}"'
        raise FeatureNotSupported("cannot alter type of a column used in a trigger definition", detail=detail)
    policies = policies_of_column(context, table, column.name)
    if policies:
        detail = f'{policies[0].name(context)} depends on column "{column.name}"'
        raise FeatureNotSupported("cannot alter type of a column used in a policy definition", detail=detail)
    keys = keys_of_column(context, table, column.name)
    altered = _resolve_checks(context, _with_column(table, made_column, column.name), column.name)
    if altered.checks:
        build_violation_query(context.binder(), altered)  # raises if a check no longer binds
    widens = target.domain is None and is_widening(column.type, target)
    in_tree = table.partitioned_by is not None or table.partition_bound is not None
    check_retyped_keys(context, keys, altered)
    values_stay = not present(definition.raw_default) and (widens or not (table.files or in_tree))
    if values_stay:
        put_relation(context, altered)
    elif not table.files and in_tree:
        # A partitioned table and all its partitions have one field id for the column
        put_relation(context, _with_column(table, replace(made_column, field_id=0), column.name))
    else:
        _rewrite_table(context, table, altered, {column.name: value}, rel)
    if not values_stay:
        check_rewritten_keys(context, keys)


def _resolve_checks(context: Context, table: Table, column: str) -> Table:
    """Returns the table with the functions that its checks call for a column's new type: others of their names."""
    constraints = []
    for each in table.constraints:
        if isinstance(each, Check) and column in each.columns and mentions_pins(each.expression):
            binder = context.binder()
            binder.expansions = Expansions()
            node = parse_expression(show_names(f"SELECT {each.expression}").removeprefix("SELECT "))
            with binder.bind_stored():
                bind_check(binder, table, node, binder.new_rel())
            each = replace(each, expression=deparse_check(qualify_expression(binder, node)))
        constraints.append(each)
    return replace(table, constraints=tuple(constraints))


def _convert_column(context: Context, table: Table, column: Column, target: SqlType, using: Any) -> tuple[Expr, int]:
    """A column's value converted to another type, or its USING expression, and the table's relation number; 42804."""
    binder = context.binder()
    rel = binder.new_rel()
    scope = Scope()
    source = build_source(binder, rel, Scan(rel, table), table_columns(table), table.name, None, table.schema)
    scope.add(source.items, source.columns)
    value: Expr = Reference(rel, table.columns.index(column), column.type, column.name)
    written = present(using)
    if written:
        value = bind_expression(binder, scope, using)
    try:
        return coerce_to_column(binder, value, column.name, target), rel
    except SqlError as error:
        if error.sqlstate not in {"42804", "42846"}:
            raise
        what = f'result of USING clause for column "{column.name}"' if written else f'column "{column.name}"'
        message = f"{what} cannot be cast automatically to type {target}"
        cast = "You might need to add an explicit cast." if written else None
        hint = cast or f'You might need to specify "USING {column.name}::{target}".'
        raise SqlError.of("datatype_mismatch", message, hint=hint) from None


def _check_default(context: Context, column: Column, target: SqlType) -> None:
    """42804 for a default that does not convert to the new type: a literal has the column's old type."""
    binder = context.binder()
    assert column.default is not None
    node = parse_expression(column.default)
    untyped = kind(node) == "a_const" and inner(node).WhichOneof("val") == "sval"
    try:
        if untyped and not can_coerce(column.type.plain, target.plain, "a"):
            raise DatatypeMismatch(column.name)
        bind_column_default(binder, replace(column, type=target))
    except DatatypeMismatch:
        message = f'default for column "{column.name}" cannot be cast automatically to type {target}'
        raise DatatypeMismatch(message) from None


def _set_logged(context: Context, table: Table, step: Any) -> None:
    """SET LOGGED and UNLOGGED: no effect, every table is durable."""


def _set_parameters(context: Context, table: Table, step: Any) -> None:
    """SET (fillfactor = 70) and RESET (…)."""
    check_storage_parameters(inner(definition_field(step)).items)


def _set_storage(context: Context, table: Table, step: Any) -> None:
    """SET STORAGE, SET COMPRESSION and SET STATISTICS: checked, without effect on files."""
    find_column(table, step.name)


def _change_owner(context: Context, relation: Any, step: Any) -> None:
    owner = step.newowner.rolename or context.session.user
    if owner not in context.transaction.catalog.roles:
        raise SqlError.of("undefined_object", f'role "{owner}" does not exist')
    catalog = replace_owner(context.transaction.catalog, relation, owner)
    for sequence in owned_sequences(context, relation.oid):
        catalog = replace_owner(catalog, sequence, owner)
    context.transaction.set_catalog(catalog)


def _add_identity(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    changed = add_identity(context, table, column, inner(definition_field(step)))
    put_relation(context, _with_column(table, changed, column.name))


def _set_identity(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    changed = set_identity(context, table, column, inner(definition_field(step)).items)
    put_relation(context, _with_column(table, changed, column.name))


def _drop_identity(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    changed = drop_identity(context, table, column, missing_ok=step.missing_ok)
    put_relation(context, _with_column(table, changed, column.name))


def _drop_expression(context: Context, table: Table, step: Any) -> None:
    column = find_column(table, step.name)
    changed = drop_expression(context, table, column, missing_ok=step.missing_ok)
    put_relation(context, _with_column(table, changed, column.name))


_ACTIONS = {
    "AddIdentity": _add_identity,
    "SetIdentity": _set_identity,
    "DropIdentity": _drop_identity,
    "DropExpression": _drop_expression,
    "AddColumn": _add_column,
    "DropColumn": _drop_column,
    "ColumnDefault": _column_default,
    "SetNotNull": _set_not_null,
    "DropNotNull": _drop_not_null,
    "AlterColumnType": _alter_type,
    "AddConstraint": add_constraint,
    "DropConstraint": drop_constraint,
    "ValidateConstraint": validate_constraint,
    "AlterConstraint": alter_constraint,
    "SetRelOptions": _set_parameters,
    "ResetRelOptions": _set_parameters,
    "SetStorage": _set_storage,
    "SetStatistics": _set_storage,
    "SetLogged": _set_logged,
    "SetUnLogged": _set_logged,
    **dict.fromkeys(ENABLING, enable_trigger),
    "SetTableSpace": alter_distribution,
    "GenericOptions": set_table_options,
    "AlterColumnGenericOptions": set_column_options,
}
