"""Serial and identity columns, and ALTER TABLE … IDENTITY."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Column, Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.sequences import change_sequence, new_sequence
from gpudb.session.execution.sequence_values import named_sequence
from gpudb.session.objects.names import free_name
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.sequences import owned_sequences
from gpudb.session.objects.stored_expressions import regclass_node
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS

_SERIALS = {
    "serial": "int4", "serial4": "int4", "bigserial": "int8", "serial8": "int8", "smallserial": "int2",
    "serial2": "int2",
}  # fmt: skip


def expand_serials(
    context: Context, schema: str, table: str, elements: Iterable[Any], *, temporary: bool
) -> tuple[list[Any], list[tuple[Sequence, str]]]:
    """Expands SERIAL and IDENTITY in a table's elements; returns these and the new sequences with their columns.

    A serial or identity column becomes a NOT NULL integer whose default draws from its sequence. `assign_sequences`
    then makes the table own the sequences.
    """
    expanded: list[Any] = []
    sequences: list[tuple[Sequence, str]] = []
    for each in elements:
        if kind(each) == "column_def":
            copy = pg.Node()
            copy.CopyFrom(each)
            sequence = _expand_column(context, schema, table, inner(copy), temporary)
            if sequence is not None:
                sequences.append((sequence, inner(copy).colname))
            each = copy
        expanded.append(each)
    return expanded, sequences


def assign_sequences(context: Context, table: int, sequences: Iterable[tuple[Sequence, str]]) -> None:
    """Assigns sequences to the columns for which they were created."""
    catalog = context.transaction.catalog
    for sequence, column in sequences:
        catalog = catalog.put(replace(sequence, owned_by=(table, column)))
    if catalog is not context.transaction.catalog:
        context.transaction.set_catalog(catalog)


def copy_identities(context: Context, oid: int) -> None:
    """Creates separate sequences for the identity columns that a table LIKE another one has copied."""
    table = context.transaction.table(oid)
    columns = []
    for column in table.columns:
        if column.identity and not owned_sequences(context, oid, column.name):
            source = named_sequence(context, column.default.split("'")[1] if column.default else "")
            name = _free_name(context, table.schema, table.name, column.name)
            created = new_sequence(context, table.schema, name, column.type, (), temporary=table.temporary)
            sequence = replace(
                source, oid=created.oid, file=created.file, schema=created.schema, name=name, owner=created.owner,
                first=source.start, called=False, owned_by=(oid, column.name), temporary=table.temporary,
            )  # fmt: skip
            put_relation(context, sequence)
            column = replace(column, default=default_text(sequence))
        columns.append(column)
    if tuple(columns) != table.columns:
        made_table = replace(context.transaction.table(oid), columns=tuple(columns))
        put_relation(context, made_table)


def _expand_column(context: Context, schema: str, table: str, column: Any, temporary: bool) -> Sequence | None:
    """Expands SERIAL or IDENTITY of a column; returns its sequence, or None."""
    names = strings(column.type_name.names)
    constraints = [inner(each) for each in column.constraints]
    identity = [each for each in constraints if each.contype == pg.CONSTR_IDENTITY]
    defaults = [each for each in constraints if each.contype == pg.CONSTR_DEFAULT]
    generated = [each for each in constraints if each.contype == pg.CONSTR_GENERATED]
    serial = _SERIALS.get(names[-1]) if len(names) == 1 else None
    if serial is None and not identity:
        return None
    if len(column.type_name.array_bounds):
        raise SqlError.of("feature_not_supported", "array of serial is not implemented")
    problem = ""
    if serial is not None and defaults:
        problem = "multiple default values specified for"
    if len(identity) > 1:
        problem = "multiple identity specifications for"
    elif identity and (defaults or serial is not None):
        problem = "both default and identity specified for"
    elif identity and generated:
        problem = "both identity and generation expression specified for"
    elif any(each.contype == pg.CONSTR_NULL for each in constraints):
        problem = "conflicting NULL/NOT NULL declarations for"
    if problem:
        error = SqlError.of("syntax_error", f'{problem} column "{column.colname}" of table "{table}"')
        raise context.binder().locate(error, column.location)
    if serial is not None:
        item = SqlType(serial)
        del column.type_name.names[:]
        column.type_name.names.add().string.sval = serial
    else:
        item = resolve_type_name(column.type_name, context.binder())
        check_identity_type(item)
    options = identity[0].options if identity else ()
    sequence = _new_column_sequence(context, schema, table, column.colname, item, options, temporary=temporary)
    if identity:
        sequence = replace(sequence, identity=True)
    put_relation(context, sequence)
    _add_default(column, sequence)
    return sequence


def check_identity_type(item: SqlType) -> None:
    """22023 for an identity column of another type than an integer."""
    if item.name not in INTEGERS:
        message = "identity column type must be smallint, integer, or bigint"
        raise SqlError.of("invalid_parameter_value", message)


def _new_column_sequence(
    context: Context, schema: str, table: str, column: str, item: SqlType, options: Iterable[Any], *, temporary: bool
) -> Sequence:
    rest = [each for each in options if inner(each).defname != "sequence_name"]
    name = next((inner(inner(e).arg).items for e in options if inner(e).defname == "sequence_name"), None)
    chosen = strings(name)[-1] if name is not None else _free_name(context, schema, table, column)
    return new_sequence(context, schema, chosen, item, rest, temporary=temporary)


def _free_name(context: Context, schema: str, table: str, column: str) -> str:
    taken = {name for in_schema, name in context.transaction.catalog.relations if in_schema == schema}
    return free_name(taken, table, column, "seq")


def _add_default(column: Any, sequence: Sequence) -> None:
    column.constraints.add().constraint.contype = pg.CONSTR_NOTNULL
    default = column.constraints.add().constraint
    default.contype = pg.CONSTR_DEFAULT
    call = default.raw_expr.func_call
    call.funcname.add().string.sval = "nextval"
    call.args.add().type_cast.CopyFrom(regclass_node(sequence.oid))


def default_text(sequence: Sequence) -> str:
    """The default of a column that draws from a sequence."""
    return f"nextval('{sequence.oid}'::regclass)"


# ---- ALTER TABLE


def add_identity(context: Context, table: Table, column: Column, constraint: Any) -> Column:
    """ALTER COLUMN … ADD GENERATED … AS IDENTITY; 55000 for a nullable column or one with a default."""
    where = f'column "{column.name}" of relation "{table.name}"'
    check_identity_type(column.type)
    if not column.not_null:
        message = f"{where} must be declared NOT NULL before identity can be added"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    if column.identity:
        raise SqlError.of("object_not_in_prerequisite_state", f"{where} is already an identity column")
    if column.default is not None:
        raise SqlError.of("object_not_in_prerequisite_state", f"{where} already has a default value")
    sequence = _new_column_sequence(
        context, table.schema, table.name, column.name, column.type, constraint.options, temporary=table.temporary
    )
    sequence = replace(sequence, identity=True, owned_by=(table.oid, column.name))
    put_relation(context, sequence)
    return replace(column, identity=constraint.generated_when, default=default_text(sequence))


def set_identity(context: Context, table: Table, column: Column, options: Iterable[Any]) -> Column:
    """ALTER COLUMN … SET GENERATED … and SET or RESTART of its sequence."""
    if not column.identity:
        message = f'column "{column.name}" of relation "{table.name}" is not an identity column'
        raise SqlError.of("object_not_in_prerequisite_state", message)
    rest = []
    for each in options:
        if inner(each).defname == "generated":
            column = replace(column, identity=chr(inner(inner(each).arg).ival))
        else:
            rest.append(each)
    if rest:
        for sequence in owned_sequences(context, table.oid, column.name):
            if sequence.identity:
                change_sequence(context, sequence, rest)
    return column


def drop_identity(context: Context, table: Table, column: Column, *, missing_ok: bool) -> Column:
    """ALTER COLUMN … DROP IDENTITY [IF EXISTS]: drops the sequence too."""
    if not column.identity:
        message = f'column "{column.name}" of relation "{table.name}" is not an identity column'
        if not missing_ok:
            raise SqlError.of("object_not_in_prerequisite_state", message)
        context.notice(f"{message}, skipping")
        return column
    for sequence in owned_sequences(context, table.oid, column.name):
        if sequence.identity:
            catalog = context.transaction.catalog.drop(sequence)
            context.transaction.set_catalog(catalog)
    return replace(column, identity="", default=None)
