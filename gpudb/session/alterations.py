"""ALTER TABLE in its column forms, RENAME, SET SCHEMA, OWNER, and COMMENT; ANALYZE and VACUUM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog, Column, Relation, Sequence, Table, View, stored_query
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn, UndefinedTable
from gpudb.session import execution
from gpudb.session.changes import lock_table
from gpudb.session.constraint_changes import (
    add_constraint,
    drop_constraint,
    put_with_constraints,
    rename_constraint,
    validate_constraint,
    with_renamed_column,
    without_columns,
)
from gpudb.session.constraints import add_constraints, column_constraints
from gpudb.session.context import Context, command, handles
from gpudb.session.domains import rename_domain_constraint
from gpudb.session.drops import dependents, drop_with_dependents
from gpudb.session.foreign_keys import release_key, renamed_reference
from gpudb.session.generations import check_default, check_generations, check_retyped, drop_expression, users_of
from gpudb.session.generations import renamed as renamed_references
from gpudb.session.identity import add_identity, check_identity_type, drop_identity, own, set_identity, with_sequences
from gpudb.session.indexes import rename_index
from gpudb.session.kept_expressions import default_expression
from gpudb.session.names import check_free, identifier, named_relation, spoken, target_schema
from gpudb.session.queried_columns import check_column_type
from gpudb.session.references import referencing
from gpudb.session.results import Result
from gpudb.session.routine_changes import KINDS, comment_on_routine, move_routine, rename_routine
from gpudb.session.sequences import owned_sequences
from gpudb.session.tables import column_definition
from gpudb.session.type_changes import comment_on_type, move_type, rename_type
from gpudb.sql.bind.changes import bind_default
from gpudb.sql.bind.coerce import stored
from gpudb.sql.bind.expressions import bind_expression
from gpudb.sql.bind.from_clause import named, table_columns
from gpudb.sql.bind.generated import bind_generated
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.type_names import type_name
from gpudb.sql.bound import Column as Reference
from gpudb.sql.bound import Expr, OutputColumn, Scan, Select
from gpudb.sql.parse import inner, present, strings
from gpudb.storage.transaction import widens


@handles("AlterTableStmt")
def alter_table(context: Context) -> Result:
    """ALTER TABLE [IF EXISTS] name action, …"""
    node: Any = context.statement.node
    context.session.check_writable("ALTER TABLE")
    if node.objtype not in (pg.OBJECT_TABLE, pg.OBJECT_VIEW, pg.OBJECT_SEQUENCE, pg.OBJECT_MATVIEW):
        raise FeatureNotSupported(f"ALTER {pg.ObjectType.Name(node.objtype).removeprefix('OBJECT_')} is not supported")
    relation = named_relation(context, node.relation)
    if relation is None:
        if node.missing_ok:
            context.notice(f'relation "{node.relation.relname}" does not exist, skipping')
            return command("ALTER TABLE")
        raise UndefinedTable(f'relation "{spoken(node.relation)}" does not exist')
    for each in node.cmds:
        step = inner(each)
        action = pg.AlterTableType.Name(step.subtype).removeprefix("AT_")
        current = context.transaction.catalog.by_oid(relation.oid)
        if action == "ChangeOwner":
            _change_owner(context, current, step)
            continue
        if not isinstance(current, Table):
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        if current.query is not None:
            what = f"ALTER TABLE action {action} of a materialized view"
            raise FeatureNotSupported(f"{what} is not supported")
        lock_table(context, current)
        act = _ACTIONS.get(action)
        if act is None:
            raise FeatureNotSupported(f"ALTER TABLE action {action} is not supported")
        act(context, context.transaction.table(relation.oid), step)
    return command(f"ALTER {_spoken_kind(node.objtype)}")


def _spoken_kind(object_type: int) -> str:
    return str(pg.ObjectType.Name(object_type)).removeprefix("OBJECT_").replace("MATVIEW", "MATERIALIZED VIEW")


def definition_of(step: Any) -> Any:
    """The `def` field of an AlterTableCmd message, a keyword in Python."""
    return getattr(step, "def")


def _put(context: Context, table: Relation) -> None:
    context.transaction.set_catalog(context.transaction.catalog.with_relation(table))


def column_of(table: Relation, name: str) -> Column:
    """A column by name; 42703."""
    for column in table.columns:
        if column.name == name:
            return column
    raise UndefinedColumn(f'column "{name}" of relation "{table.name}" does not exist')


def _with_column(table: Table, column: Column, name: str) -> Table:
    return replace(table, columns=tuple(column if each.name == name else each for each in table.columns))


def _add_column(context: Context, table: Table, step: Any) -> None:
    elements, sequences = with_sequences(
        context, table.schema, table.name, [definition_of(step)], temporary=table.temporary
    )
    definition = inner(elements[0])
    column = column_definition(context, definition)
    if any(each.name == column.name for each in table.columns):
        if step.missing_ok:
            message = f'column "{column.name}" of relation "{table.name}" already exists, skipping'
            context.notice(message, sqlstate="42701")
            return
        message = f'column "{column.name}" of relation "{table.name}" already exists'
        raise SqlError.of("duplicate_column", message)
    made = replace(table, columns=(*table.columns, column))
    constraints = column_constraints(definition.constraints, column.name)
    check_generations(context, table.name, made.columns, elements)
    own(context, table.oid, sequences)
    if column.generated is not None and table.files:
        binder = context.session.binder(context)
        rel = binder.rel()
        value = bind_generated(binder, column.generated, column, table.columns, table.name, rel)
        _rewritten(context, table, made, {column.name: value}, rel)
        return
    if not table.files or column.default is None:
        if column.not_null and table.files:
            message = f'column "{column.name}" of relation "{table.name}" contains null values'
            raise SqlError.of("not_null_violation", message)
        _put(context, made)
    else:
        default = bind_default(context.session.binder(context), column.default, column)
        _rewritten(context, table, made, {column.name: default})
    if constraints:
        settled = context.transaction.table(table.oid)
        put_with_constraints(context, add_constraints(context, settled, constraints, new=False))


def _rewritten(context: Context, old: Table, made: Table, changed: dict[str, Expr], rel: int = 1) -> None:
    """Puts `made` in the place of `old`, every row computed anew: `changed` gives columns over relation `rel`."""
    positions = {column.name: index for index, column in enumerate(old.columns)}
    targets = tuple(
        changed[c.name] if c.name in changed else Reference(rel, positions[c.name], c.type, c.name)
        for c in made.columns
    )
    outputs = tuple(OutputColumn(c.name, c.type) for c in made.columns)
    query = Select(outputs, targets, Scan(rel, old))
    stream = execution.run(context, query)
    batches = list(stream)
    fresh = tuple(replace(c, field_id=0) if c.name in changed else c for c in made.columns)
    _put(context, replace(made, columns=fresh))
    context.transaction.replace(old.oid, old.files, batches)


def _drop_column(context: Context, table: Table, step: Any) -> None:
    if step.missing_ok and all(column.name != step.name for column in table.columns):
        message = f'column "{step.name}" of relation "{table.name}" does not exist, skipping'
        context.notice(message)
        return
    column = column_of(table, step.name)
    views = dependents(context, table)
    if views:
        if step.behavior != pg.DROP_CASCADE:
            message = f"cannot drop column {column.name} of table {table.name} because other objects depend on it"
            hint = "Use DROP ... CASCADE to drop the dependent objects too."
            raise SqlError.of("dependent_objects_still_exist", message, hint=hint)
        drop_with_dependents(context, list(views), True)
    users = users_of(table, column.name)
    if users and step.behavior != pg.DROP_CASCADE:
        message = f"cannot drop column {column.name} of table {table.name} because other objects depend on it"
        detail = "\n".join(
            f"column {each.name} of table {table.name} depends on column {column.name} of table {table.name}"
            for each in users
        )
        hint = "Use DROP ... CASCADE to drop the dependent objects too."
        raise SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)
    for each in users:
        context.notice(f"drop cascades to column {each.name} of table {table.name}")
    owned = owned_sequences(context, table.oid, column.name)
    if owned:
        doomed = replace(column, default=None)
        _put(context, _with_column(table, doomed, column.name))
        drop_with_dependents(context, list(owned), step.behavior == pg.DROP_CASCADE)
        table, column = context.transaction.table(table.oid), doomed
    gone = {column.name, *(each.name for each in users)}
    for key in table.keys:
        if not gone.isdisjoint(key.columns):
            release_key(context, table, key.columns, key.name, cascade=step.behavior == pg.DROP_CASCADE)
            table = context.transaction.table(table.oid)
    kept = tuple(each for each in table.columns if each.name not in gone)
    if not kept:
        raise FeatureNotSupported("a table without columns is not supported")
    _put(context, replace(without_columns(table, gone), columns=kept))


def _column_default(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    check_default(table, column)
    text = None
    if present(definition_of(step)):
        text = default_expression(context, definition_of(step))
        bind_default(context.session.binder(context), text, column)
    _put(context, _with_column(table, replace(column, default=text), column.name))


def _set_not_null(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    _put(context, _with_column(table, replace(column, not_null=True), column.name))


def _drop_not_null(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    if column.name in table.primary_key:
        raise SqlError.of("invalid_table_definition", f'column "{column.name}" is in a primary key')
    if column.identity:
        message = f'column "{column.name}" of relation "{table.name}" is an identity column'
        raise SqlError.of("syntax_error", message)
    _put(context, _with_column(table, replace(column, not_null=False), column.name))


def _alter_type(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    definition = inner(definition_of(step))
    target = type_name(definition.type_name, context.session.binder(context))
    check_column_type(column.name, target)
    check_retyped(table, column)
    if column.identity:
        check_identity_type(target)
    if dependents(context, table):
        raise FeatureNotSupported("cannot alter type of a column used by a view or rule")
    refers = any(column.name in foreign.columns for foreign in table.foreign_keys)
    if refers or any(column.name in f.referenced for _, f in referencing(context.transaction.catalog, table.oid)):
        raise FeatureNotSupported("altering the type of a column of a foreign key is not supported")
    binder = context.session.binder(context)
    made_column = replace(column, type=target)
    if column.default is not None:
        bind_default(binder, column.default, made_column)
    made = _with_column(table, made_column, column.name)
    if not present(definition.raw_default) and (
        not table.files or (target.domain is None and widens(column.type, target))
    ):
        _put(context, made)
        return
    rel = binder.rel()
    scan = Scan(rel, table)
    scope = Scope()
    source = named(binder, rel, scan, table_columns(table), table.name, None, table.schema)
    scope.add(source.items, source.columns)
    value: Expr = Reference(rel, table.columns.index(column), column.type, column.name)
    if present(definition.raw_default):
        value = bind_expression(binder, scope, definition.raw_default)
    try:
        value = stored(binder, value, column.name, target)
    except SqlError:
        message = f'column "{column.name}" cannot be cast automatically to type {target}'
        hint = f'You might need to specify "USING {column.name}::{target}".'
        raise SqlError.of("datatype_mismatch", message, hint=hint) from None
    _rewritten(context, table, made, {column.name: value}, rel)


def _change_owner(context: Context, relation: Any, step: Any) -> None:
    owner = step.newowner.rolename or context.session.user
    if owner not in context.transaction.catalog.roles:
        raise SqlError.of("undefined_object", f'role "{owner}" does not exist')
    _put(context, replace(relation, owner=owner))


def _add_identity(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    made = add_identity(context, table, column, inner(definition_of(step)))
    _put(context, _with_column(table, made, column.name))


def _set_identity(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    made = set_identity(context, table, column, inner(definition_of(step)).items)
    _put(context, _with_column(table, made, column.name))


def _drop_identity(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    made = drop_identity(context, table, column, missing_ok=step.missing_ok)
    _put(context, _with_column(table, made, column.name))


def _drop_expression(context: Context, table: Table, step: Any) -> None:
    column = column_of(table, step.name)
    made = drop_expression(context, table, column, missing_ok=step.missing_ok)
    _put(context, _with_column(table, made, column.name))


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
}


@handles("RenameStmt")
def rename(context: Context) -> Result:
    """ALTER … RENAME of tables, views, columns and schemas."""
    node: Any = context.statement.node
    what = pg.ObjectType.Name(node.rename_type).removeprefix("OBJECT_")
    context.session.check_writable(f"ALTER {what}")
    catalog = context.transaction.catalog
    new = identifier(node.newname)
    if what == "SCHEMA":
        context.transaction.set_catalog(_renamed_schema(catalog, node.subname, new))
        return command("ALTER SCHEMA")
    if what in KINDS:
        return rename_routine(context, node, what, new)
    if what == "DOMCONSTRAINT":
        return rename_domain_constraint(context, node)
    if what in {"TYPE", "DOMAIN"}:
        return rename_type(context, node, what)
    if what == "INDEX":
        path = tuple(filter(None, (node.relation.schemaname, node.relation.relname)))
        rename_index(context, path, new, missing_ok=node.missing_ok)
        return command("ALTER INDEX")
    if what not in {"TABLE", "VIEW", "COLUMN", "TABCONSTRAINT", "SEQUENCE", "MATVIEW"}:
        raise FeatureNotSupported(f"ALTER {what} … RENAME is not supported")
    relation = named_relation(context, node.relation)
    kinds = (pg.OBJECT_VIEW, pg.OBJECT_MATVIEW)
    renamed = node.relation_type if what == "COLUMN" and node.relation_type in kinds else node.rename_type
    tag = f"ALTER {_spoken_kind(renamed)}" if what != "TABCONSTRAINT" and renamed != pg.OBJECT_COLUMN else "ALTER TABLE"
    if relation is None:
        if node.missing_ok:
            context.notice(f'relation "{node.relation.relname}" does not exist, skipping')
            return command(tag)
        raise UndefinedTable(f'relation "{spoken(node.relation)}" does not exist')
    if what == "TABCONSTRAINT":
        if not isinstance(relation, Table):
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        rename_constraint(context, relation, node.subname, new)
        return command(tag)
    if dependents(context, relation):
        raise FeatureNotSupported(f"renaming {relation.name} is not supported while views depend on it")
    if what != "COLUMN":
        check_free(catalog, relation.schema, new)
        made = replace(relation, name=new)
        catalog = catalog.without_relation(relation.schema, relation.name)
        context.transaction.set_catalog(catalog.with_relation(made))
        return command(tag)
    if all(each.name != node.subname for each in relation.columns):
        raise UndefinedColumn(f'column "{node.subname}" does not exist')
    column = column_of(relation, node.subname)
    if any(each.name == new for each in relation.columns):
        message = f'column "{new}" of relation "{relation.name}" already exists'
        raise SqlError.of("duplicate_column", message)
    columns = tuple(replace(c, name=new) if c is column else c for c in relation.columns)
    if isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'cannot rename columns of relation "{relation.name}"')
    if isinstance(relation, View):
        _put(context, replace(relation, columns=columns))
        return command(tag)
    columns = renamed_references(columns, column.name, new)
    key = tuple(new if name == column.name else name for name in relation.primary_key)
    distribution = relation.distribution
    if distribution is not None:
        spread = tuple(new if name == column.name else name for name in distribution.columns)
        distribution = replace(distribution, columns=spread)
    made = replace(relation, columns=columns, primary_key=key, distribution=distribution)
    _put(context, replace(made, constraints=with_renamed_column(relation, column.name, new)))
    catalog = context.transaction.catalog
    context.transaction.set_catalog(renamed_reference(catalog, relation.oid, column.name, new))
    own(context, relation.oid, [(each, new) for each in owned_sequences(context, relation.oid, column.name)])
    return command(tag)


def _renamed_schema(catalog: Catalog, old: str, new: str) -> Catalog:
    if old not in catalog.schemas:
        raise SqlError.of("invalid_schema_name", f'schema "{old}" does not exist')
    if new in catalog.schemas:
        raise SqlError.of("duplicate_schema", f'schema "{new}" already exists')
    inside = [relation for relation in catalog.relations.values() if relation.schema == old]
    if any(stored_query(relation) is not None for relation in catalog.relations.values()):
        raise FeatureNotSupported("renaming a schema is not supported while there are views")
    schema = catalog.schemas[old]
    for relation in inside:
        catalog = catalog.without_relation(old, relation.name).with_relation(replace(relation, schema=new))
    return catalog.without_schema(old).with_schema(replace(schema, name=new))


@handles("AlterObjectSchemaStmt")
def set_schema(context: Context) -> Result:
    """ALTER TABLE … SET SCHEMA."""
    node: Any = context.statement.node
    context.session.check_writable("ALTER TABLE")
    what = pg.ObjectType.Name(node.object_type).removeprefix("OBJECT_")
    if what in {"TYPE", "DOMAIN"}:
        return move_type(context, node, what)
    if what in KINDS:
        return move_routine(context, node, what)
    if what not in {"TABLE", "VIEW", "SEQUENCE", "MATVIEW"}:
        raise FeatureNotSupported(f"ALTER {what} … SET SCHEMA is not supported")
    relation = named_relation(context, node.relation)
    if relation is None:
        raise UndefinedTable(f'relation "{spoken(node.relation)}" does not exist')
    if dependents(context, relation):
        raise FeatureNotSupported(f"moving {relation.name} is not supported while views depend on it")
    schema = target_schema(context, node.newschema)
    check_free(context.transaction.catalog, schema, relation.name)
    moved: list[Relation] = [relation]
    if isinstance(relation, Sequence) and relation.owned_by is not None:
        table = context.transaction.catalog.by_oid(relation.owned_by[0])
        detail = f'Sequence "{relation.name}" is linked to table "{table.name if table is not None else ""}".'
        raise FeatureNotSupported("cannot move an owned sequence into another schema", detail=detail)
    if isinstance(relation, Table):
        moved += owned_sequences(context, relation.oid)
    catalog = context.transaction.catalog
    for each in moved:
        catalog = catalog.without_relation(each.schema, each.name)
    for each in moved:
        catalog = catalog.with_relation(replace(each, schema=schema))
    context.transaction.set_catalog(catalog)
    return command(f"ALTER {_spoken_kind(node.object_type)}")


@handles("CommentStmt")
def comment(context: Context) -> Result:
    """COMMENT ON TABLE, VIEW, COLUMN or SCHEMA."""
    node: Any = context.statement.node
    context.session.check_writable("COMMENT")
    what = pg.ObjectType.Name(node.objtype).removeprefix("OBJECT_")
    text = node.comment or None
    catalog = context.transaction.catalog
    if what == "SCHEMA":
        name = inner(node.object).sval
        if name not in catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
        context.transaction.set_catalog(catalog.with_schema(replace(catalog.schemas[name], comment=text)))
        return command("COMMENT")
    if what in {"TYPE", "DOMAIN"}:
        return comment_on_type(context, node)
    if what in KINDS:
        return comment_on_routine(context, node, what)
    if what not in {"TABLE", "VIEW", "COLUMN", "SEQUENCE", "MATVIEW"}:
        raise FeatureNotSupported(f"COMMENT ON {what} is not supported")
    names = strings(inner(node.object).items)
    path = names[:-1] if what == "COLUMN" else names
    relation = catalog.find(path[-1], path[-2:-1] or context.session.search_path())
    if relation is None:
        raise UndefinedTable(f'relation "{".".join(path)}" does not exist')
    if what != "COLUMN":
        _put(context, replace(relation, comment=text))
        return command("COMMENT")
    column = column_of(relation, names[-1])
    if isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'cannot set comment on relation "{relation.name}"')
    columns = tuple(replace(c, comment=text) if c is column else c for c in relation.columns)
    _put(context, replace(relation, columns=columns))
    return command("COMMENT")


@handles("VacuumStmt")
def vacuum(context: Context) -> Result:
    """ANALYZE and VACUUM: row counts and ranges are kept with every commit, so there is nothing left to gather."""
    node: Any = context.statement.node
    for each in node.rels:
        target = inner(each).relation
        relation = named_relation(context, target)
        if relation is None:
            raise UndefinedTable(f'relation "{spoken(target)}" does not exist')
        for name in strings(inner(each).va_cols):
            column_of(relation, name)
    return command("VACUUM" if node.is_vacuumcmd else "ANALYZE")
