"""Expressions of unique indexes and exclusion constraints: what they may be, and how the catalog keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudb.catalog.model import FIRST_USER_OID
from gpudb.catalog.postgres.indexes import has_default_class
from gpudb.catalog.tables import IndexDetails, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import deparse_check, parse_expression, qualify_expression
from gpudb.sql.bind.dml.generated_columns import is_mutable
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import NEW_ROWS, Call, Expr, FrameScan, Select, SetOperation, SetReturning, Values
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import children, strings
from gpudb.sql.traverse import walk
from gpudb.types import SqlType
from gpudb.types.facts import WITHOUT_CLASSES


def store_expression(
    context: Context, table: Table, node: Any, *, enforced: bool, condition: bool = False, method: str | None = "btree"
) -> tuple[str, SqlType | None]:
    """Returns an expression as the catalog keeps it, and its type; 42P17 if it is not immutable.

    One that gpudb does not support is kept if it is not enforced, since nothing computes it.
    """
    binder = context.binder()
    binder.expansions = Expansions()
    rel = binder.new_rel()
    clause = "index predicates" if condition else "index expressions"
    try:
        scope, columns = Scope(clause=clause), table_columns(table)
        source = build_source(binder, rel, FrameScan(rel, NEW_ROWS, columns), columns, table.name, None, table.schema)
        scope.add(source.items, source.columns)
        scope.rels.add(rel)
        expr = bind_expression(binder, scope, node)
        if condition:
            expr = coerce_condition(binder, expr, "WHERE")
        if scope.aggregates:
            raise SqlError.of("grouping_error", f"aggregate functions are not allowed in {scope.clause}")
        _check_immutable(binder, expr, "predicate" if condition else "expression", enforced=enforced)
        if enforced and not condition and method is not None:
            check_default_class(expr.type.plain, method)
    except FeatureNotSupported:
        if enforced:
            raise
        return deparse_check(node), None
    return deparse_check(qualify_expression(binder, node)), expr.type.plain


def _check_immutable(binder: Binder, expr: Expr, what: str, *, enforced: bool) -> None:
    """42P17 for an expression that is not immutable; 0A000 for one that engines cannot compute by themselves."""
    if any(map(is_mutable, walk(expr))):
        # Of a function in SQL, the body has become part of the expression
        if any(routine.volatility == "i" for routine, _ in binder.accesses.routines):
            raise FeatureNotSupported("an index by a function whose body is not immutable is not supported")
        message = f"functions in index {what} must be marked IMMUTABLE"
        raise SqlError.of("invalid_object_definition", message)
    if enforced and any(isinstance(each, Call) and each.function.oid >= FIRST_USER_OID for each in walk(expr)):
        raise FeatureNotSupported("an index by a function that is not in SQL is not supported")
    if enforced and any(isinstance(each, SetReturning | Select | SetOperation | Values) for each in walk(expr)):
        raise FeatureNotSupported(f"subqueries and sets are not supported in an index {what}")


def list_used_columns(table: Table, details: IndexDetails) -> tuple[str, ...]:
    """The columns that an index uses, each once."""
    expressions = [key.expression for key in details.keys if key.expression]
    expressions += [details.predicate] if details.predicate else []
    known = {column.name for column in table.columns}
    found = [key.column for key in details.keys if key.column] + list(details.included)
    found += [name for each in expressions for name in _iter_names(parse_expression(each)) if name in known]
    return tuple(dict.fromkeys(found))


def _iter_names(node: Any) -> Iterator[str]:
    if node.DESCRIPTOR.name == "ColumnRef":
        yield strings(node.fields)[-1]
        return
    for each in children(node):
        yield from _iter_names(each)


def check_default_class(kind: SqlType, method: str) -> None:
    """42704 for a type whose values an index of a method cannot compare: json, matrix and arrays of them."""
    if kind.name.lstrip("_") in WITHOUT_CLASSES and not has_default_class(kind, method):
        message = f'data type {kind} has no default operator class for access method "{method}"'
        hint = "You must specify an operator class for the index or define a default operator class for the data type."
        raise SqlError.of("undefined_object", message, hint=hint)
