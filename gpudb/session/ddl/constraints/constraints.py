"""Constraints in CREATE TABLE and ALTER TABLE: keys, foreign keys and checks are added to a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.model import FIRST_USER_OID
from gpudb.catalog.tables import Check, Table, Unique
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.exclude import build_exclude
from gpudb.session.ddl.constraints.foreign_keys import build_foreign_key
from gpudb.session.ddl.constraints.key_expressions import check_default_class
from gpudb.session.objects.constraints import (
    allocate_oid,
    check_constraint_name_free,
    constraint_names_in,
    index_names_in,
)
from gpudb.session.objects.names import check_name_free, free_name, join_names, truncate_identifier
from gpudb.sql.bind.dml.checks import bind_check, deparse_check, get_used_columns, parse_expression, qualify_expression
from gpudb.sql.bound import Call, Expr
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import inner, strings
from gpudb.sql.traverse import walk

Definition = tuple[Any, str | None]
"""A Constraint message, and the name of its column if it is a column constraint."""

_ORDER = {pg.CONSTR_PRIMARY: 1, pg.CONSTR_UNIQUE: 2, pg.CONSTR_EXCLUSION: 2, pg.CONSTR_FOREIGN: 3}
_ENFORCED = {pg.CONSTR_CHECK, pg.CONSTR_FOREIGN}
_ATTRIBUTES = {
    pg.CONSTR_ATTR_DEFERRABLE: "DEFERRABLE", pg.CONSTR_ATTR_NOT_DEFERRABLE: "NOT DEFERRABLE",
    pg.CONSTR_ATTR_DEFERRED: "INITIALLY DEFERRED", pg.CONSTR_ATTR_IMMEDIATE: "INITIALLY IMMEDIATE",
}  # fmt: skip
CONSTRAINTS = frozenset({*_ORDER, pg.CONSTR_CHECK, *_ATTRIBUTES})
"""Constraint types that `column_constraints` returns; the other types set properties of a column."""


def column_constraints(nodes: Iterable[Any], column: str) -> list[Definition]:
    """The table constraints of a ColumnDef message; 42601 for attributes without a constraint."""
    constraints: list[Definition] = []
    attributes: set[int] = set()
    for node in map(inner, nodes):
        if node.contype in _ORDER:
            copy = pg.Constraint()
            copy.CopyFrom(node)
            constraints.append((copy, column))
            attributes = set()
        elif node.contype in _ATTRIBUTES:
            attributes.add(node.contype)
            _apply_attribute(constraints[-1][0] if constraints else None, node.contype, attributes)
        else:
            constraints += [(node, column)] if node.contype in CONSTRAINTS else []
    return constraints


def _apply_attribute(node: Any, attribute: int, attributes: set[int]) -> None:
    """Applies DEFERRABLE and INITIALLY attributes to the column constraint before them."""
    if node is None or node.contype not in _ORDER:
        raise SqlError.of("syntax_error", f"misplaced {_ATTRIBUTES[attribute]} clause")
    if attribute == pg.CONSTR_ATTR_DEFERRED:
        node.deferrable = node.initdeferred = True
    elif attribute == pg.CONSTR_ATTR_DEFERRABLE:
        node.deferrable = True
    if attributes >= {pg.CONSTR_ATTR_NOT_DEFERRABLE, pg.CONSTR_ATTR_DEFERRED}:
        raise SqlError.of("syntax_error", "constraint declared INITIALLY DEFERRED must be DEFERRABLE")


def add_constraints(context: Context, table: Table, definitions: Sequence[Definition], *, new: bool) -> Table:
    """The table with more constraints, whose OIDs are allocated in the transaction's catalog.

    `new` is whether the table is being created. Existing rows are not checked: `Transaction.set_catalog` checks keys,
    `store_with_constraints` the others. 42P16, 42710, 42P07, 42703, 42701; 0A000 for other kinds.
    """
    ordered = sorted(definitions, key=lambda each: _ORDER.get(each[0].contype, 0))
    fresh: set[str] = set()
    for node, column in ordered:
        _refuse_options(node)
        if node.contype == pg.CONSTR_CHECK:
            table = _with_check(context, table, node, fresh)
        elif node.contype == pg.CONSTR_FOREIGN:
            table = _with_foreign_key(context, table, node, (column,) if column else strings(node.fk_attrs))
        elif node.contype == pg.CONSTR_EXCLUSION:
            table = build_exclude(context, table, node)
        elif node.contype in _ORDER:
            table = _with_key(context, table, node, (column,) if column else strings(node.keys), new)
        else:
            what = pg.ConstrType.Name(node.contype).removeprefix("CONSTR_")
            raise FeatureNotSupported(f"{what} constraints are not supported")
    return table


def _refuse_options(node: Any) -> None:
    for field, what in (
        ("deferrable", "DEFERRABLE"),
        ("initdeferred", "INITIALLY DEFERRED"),
        ("is_no_inherit", "NO INHERIT"),
        ("indexname", "USING INDEX"),
        ("indexspace", "USING INDEX TABLESPACE"),
    ):
        if getattr(node, field) and not (node.contype in _ORDER and "defer" in field):
            raise FeatureNotSupported(f"{what} constraints are not supported")
    if node.contype in _ENFORCED and not node.is_enforced:
        raise SqlError.of("syntax_error", 'syntax error at or near "NOT"')
    if len(node.including):
        raise FeatureNotSupported("INCLUDE columns of a constraint are not supported")
    if len(node.options):
        raise FeatureNotSupported("WITH options of a constraint are not supported")


# ------------------------------------------------------------------------------------------------ CHECK


def _with_check(context: Context, table: Table, node: Any, fresh: set[str]) -> Table:
    binder = context.binder()
    binder.expansions = Expansions()
    if node.cooked_expr:  # of another table, as that has it
        with binder.bind_stored():
            expr = bind_check(binder, table, parse_expression(node.cooked_expr), binder.new_rel())
    else:
        expr = bind_check(binder, table, node.raw_expr, binder.new_rel())
    _refuse_processes(context, expr)
    columns = get_used_columns(table, expr)
    if node.conname:
        name = truncate_identifier(node.conname)
        if name in fresh:
            raise SqlError.of("duplicate_object", f'check constraint "{name}" already exists')
        check_constraint_name_free(table, name)
    else:
        taken = constraint_names_in(context.transaction.catalog, table)
        name = free_name(taken, table.name, columns[0] if len(columns) == 1 else "", "check")
    fresh.add(name)
    oid = allocate_oid(context)
    text = node.cooked_expr or deparse_check(qualify_expression(binder, node.raw_expr))
    check = Check(oid, name, text, columns, not node.skip_validation)
    return replace(table, constraints=(*table.constraints, check))


def _refuse_processes(context: Context, expr: Expr) -> None:
    """0A000 for a call of a function that a process computes: the engine, which checks rows, cannot call it."""
    for each in walk(expr):
        if not isinstance(each, Call) or each.function.oid < FIRST_USER_OID:
            continue
        routine = context.transaction.catalog.find_routine_by_oid(each.function.oid)
        traits = None if routine is None else TRAITS[routine.language]
        if routine is not None and traits is not None and not (traits.is_query or traits.has_statements):
            message = f"function {routine.signature} in language {traits.name} is not supported in CHECK constraints"
            raise FeatureNotSupported(message)


# ------------------------------------------------------------------------------------------------ PRIMARY KEY, UNIQUE


def _with_key(context: Context, table: Table, node: Any, names: tuple[str, ...], new: bool) -> Table:
    primary = node.contype == pg.CONSTR_PRIMARY
    binder = context.binder()
    try:
        check_key_columns(table, names, "primary key" if primary else "unique")
    except SqlError as error:
        raise binder.locate(error, node.location) from None
    if primary and table.primary_key:
        message = f'multiple primary keys for table "{table.name}" are not allowed'
        raise binder.locate(SqlError.of("invalid_table_definition", message), node.location if new else -1)
    distinct = not node.nulls_not_distinct
    if new and not primary and not node.deferrable and _has_same_key(table, names, distinct):
        return table
    if node.conname:
        name = truncate_identifier(node.conname)
        check_name_free(context.transaction.catalog, table.schema, name)
        if name in table.index_names:
            raise SqlError.of("duplicate_table", f'relation "{name}" already exists')
        check_constraint_name_free(table, name)
    else:
        taken = index_names_in(context.transaction.catalog, table)
        taken |= constraint_names_in(context.transaction.catalog, table)
        part, label = ("", "pkey") if primary else (join_names(names), "key")
        name = free_name(taken, table.name, part, label)
    if primary:
        columns = tuple(replace(c, not_null=True) if c.name in names else c for c in table.columns)
        return replace(
            table,
            columns=columns,
            primary_key=names,
            primary_key_name=name,
            primary_key_deferrable=node.deferrable,
            primary_key_deferred=node.initdeferred,
        )
    deferrable, deferred = node.deferrable, node.initdeferred
    key = Unique(allocate_oid(context), name, names, distinct, deferrable=deferrable, deferred=deferred)
    return replace(table, constraints=(*table.constraints, key))


def _has_same_key(table: Table, names: tuple[str, ...], distinct: bool) -> bool:
    """Whether a table that is being created has the same key already: PostgreSQL creates one of them."""
    return any(key.columns == names and key.nulls_distinct == distinct for key in table.keys)


def check_key_columns(table: Table, names: Sequence[str], what: str) -> None:
    """42703, 42701 or 42704 for columns that cannot be a key."""
    types = {column.name: column.type for column in table.columns}
    for index, name in enumerate(names):
        if name not in types:
            raise SqlError.of("undefined_column", f'column "{name}" named in key does not exist')
        if name in names[:index]:
            raise SqlError.of("duplicate_column", f'column "{name}" appears twice in {what} constraint')
    for name in names:
        check_default_class(types[name], "btree")


def _with_foreign_key(context: Context, table: Table, node: Any, columns: tuple[str, ...]) -> Table:
    if node.conname:
        name = truncate_identifier(node.conname)
        check_constraint_name_free(table, name)
    else:
        taken = constraint_names_in(context.transaction.catalog, table)
        name = free_name(taken, table.name, join_names(columns), "fkey")
    foreign = build_foreign_key(context, table, node, columns, name, allocate_oid(context))
    return replace(table, constraints=(*table.constraints, foreign))


# ------------------------------------------------------------------------------------------------ names
