"""ALTER TABLE … ADD, DROP, VALIDATE and RENAME CONSTRAINT."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Check, Constraint, Exclude, ForeignKey, Index, IndexDetails, Table, Unique
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.constraints import add_constraints
from gpudb.session.ddl.constraints.foreign_keys import release_key
from gpudb.session.ddl.parse_nodes import definition_field
from gpudb.session.dml.row_checks import check_stored_rows
from gpudb.session.objects.constraints import check_constraint_name_free, constraint_names
from gpudb.session.objects.names import check_name_free
from gpudb.session.objects.relations import put_relation
from gpudb.sql.bind.dml.checks import rename_column
from gpudb.sql.parse.parser import inner

_WITHOUT_KEY: dict[str, Any] = {
    "primary_key_name": None,
    "primary_key_comment": None,
    "primary_key_deferrable": False,
    "primary_key_deferred": False,
}


def add_constraint(context: Context, table: Table, step: Any) -> None:
    """ADD [CONSTRAINT name] …, checked against the existing rows: 23505, 23514, 23502."""
    store_with_constraints(context, add_constraints(context, table, [(inner(definition_field(step)), None)], new=False))


def store_with_constraints(context: Context, table: Table) -> None:
    """Stores a table with new constraints after a check of its rows."""
    before = context.transaction.table(table.oid)
    known = {each.oid for each in before.checks if each.validated}
    new = [each for each in table.checks if each.validated and each.oid not in known]
    check_stored_rows(context, replace(before, constraints=tuple(new)))
    put_relation(context, table)
    known = {each.oid for each in before.foreign_keys if each.validated}
    for foreign in table.foreign_keys:
        if foreign.validated and foreign.oid not in known:
            context.transaction.check_references(table.oid, (), foreign)


def drop_constraint(context: Context, table: Table, step: Any) -> None:
    """DROP CONSTRAINT [IF EXISTS] name: 42704."""
    cascade = step.behavior == pg.DROP_CASCADE
    for key in table.keys:
        if key.name == step.name:
            release_key(context, table, key.columns, key.name, cascade=cascade)
            table = context.transaction.table(table.oid)
    if table.primary_key and step.name == table.key_name:
        altered = replace(table, primary_key=(), **_WITHOUT_KEY)
    elif step.name in constraint_names(table):
        altered = replace(table, constraints=tuple(c for c in table.constraints if c.name != step.name))
    elif step.missing_ok:
        context.notice(f'constraint "{step.name}" of relation "{table.name}" does not exist, skipping')
        return
    else:
        raise _missing_error(table, step.name)
    put_relation(context, altered)


def validate_constraint(context: Context, table: Table, step: Any) -> None:
    """VALIDATE CONSTRAINT name: 42704, 42809 for one that is neither a check nor a foreign key, 23514, 23503."""
    if step.name not in constraint_names(table):
        raise _missing_error(table, step.name)
    checked: tuple[Check | ForeignKey, ...] = (*table.checks, *table.foreign_keys)
    check = next((each for each in checked if each.name == step.name), None)
    if check is None:
        message = f'constraint "{step.name}" of relation "{table.name}" is not a foreign key or check constraint'
        raise SqlError.of("wrong_object_type", message)
    if not check.validated:
        store_with_constraints(context, _replace_constraint(table, check, replace(check, validated=True)))


def alter_constraint(context: Context, table: Table, step: Any) -> None:
    """ALTER CONSTRAINT name [NOT] DEFERRABLE [INITIALLY …]: 42704, 42809 for one that is no foreign key."""
    definition = inner(definition_field(step))
    if definition.conname not in constraint_names(table):
        raise _missing_error(table, definition.conname)
    foreign = next((each for each in table.foreign_keys if each.name == definition.conname), None)
    if foreign is None:
        message = f'constraint "{definition.conname}" of relation "{table.name}" is not a foreign key constraint'
        raise SqlError.of("wrong_object_type", message)
    changed = replace(foreign, deferrable=definition.deferrable, deferred=definition.initdeferred)
    put_relation(context, _replace_constraint(table, foreign, changed))


def rename_constraint(context: Context, table: Table, old: str, new: str) -> None:
    """RENAME CONSTRAINT old TO new, and its index: 42704, 42710, 42P07."""
    if old not in constraint_names(table):
        raise SqlError.of("undefined_object", f'constraint "{old}" for table "{table.name}" does not exist')
    check_constraint_name_free(table, new)
    if table.primary_key and old == table.key_name:
        check_name_free(context.transaction.catalog, table.schema, new)
        altered = replace(table, primary_key_name=new)
    else:
        found = next(c for c in table.constraints if c.name == old)
        if isinstance(found, Unique | Exclude):
            check_name_free(context.transaction.catalog, table.schema, new)
        altered = _replace_constraint(table, found, replace(found, name=new))
    put_relation(context, altered)


def without_columns(table: Table, names: Container[str]) -> Table:
    """The table without the constraints and indexes over dropped columns."""
    if any(name in names for name in table.primary_key):
        table = replace(table, primary_key=(), **_WITHOUT_KEY)
    remaining = tuple(c for c in table.constraints if not any(name in names for name in _list_columns(c)))
    return replace(table, constraints=remaining)


def _list_columns(constraint: Constraint) -> Iterator[str]:
    yield from constraint.columns
    if isinstance(constraint, Unique) and constraint.details is not None:
        yield from constraint.details.included


def constraints_after_rename(table: Table, old: str, new: str) -> tuple[Constraint, ...]:
    """The table's constraints and indexes after a column is renamed."""
    constraints: list[Constraint] = []
    for each in table.constraints:
        if old in _list_columns(each):
            columns = tuple(new if name == old else name for name in each.columns)
            each = replace(each, columns=columns)
            if isinstance(each, ForeignKey):
                names = tuple(new if name == old else name for name in each.delete_columns)
                each = replace(each, delete_columns=names)
            if isinstance(each, Check):
                each = replace(each, expression=rename_column(each.expression, old, new))
            if isinstance(each, Index | Unique) and each.details is not None:
                each = replace(each, details=_details_after_rename(each.details, old, new))
            if isinstance(each, Exclude):
                details = _details_after_rename(IndexDetails(each.keys, predicate=each.predicate), old, new)
                each = replace(each, keys=details.keys, predicate=details.predicate)
        constraints.append(each)
    return tuple(constraints)


def _details_after_rename(details: IndexDetails, old: str, new: str) -> IndexDetails:
    keys = tuple(
        replace(
            key,
            column=new if key.column == old else key.column,
            expression=rename_column(key.expression, old, new) if key.expression else "",
        )
        for key in details.keys
    )
    included = tuple(new if name == old else name for name in details.included)
    predicate = rename_column(details.predicate, old, new) if details.predicate else ""
    return replace(details, keys=keys, included=included, predicate=predicate)


def _replace_constraint(table: Table, old: Any, new: Any) -> Table:
    return replace(table, constraints=tuple(new if each is old else each for each in table.constraints))


def _missing_error(table: Table, name: str) -> SqlError:
    return SqlError.of("undefined_object", f'constraint "{name}" of relation "{table.name}" does not exist')
