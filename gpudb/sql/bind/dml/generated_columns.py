"""Generated columns: their expressions, and queries that compute them from the other columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpudb.catalog.tables import Column as TableColumn
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import BEFORE, UPDATE
from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError
from gpudb.functions.library import casts, functions_by_oid
from gpudb.functions.resolve import can_coerce
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import deparse_check, parse_expression, qualify_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bind.types.coercion import coerce_to_changed, coerce_to_column, fails_when_used
from gpudb.sql.bound import (
    AnySubquery,
    ArraySubquery,
    Call,
    Cast,
    Column,
    Derived,
    Exists,
    Expr,
    Query,
    ScalarSubquery,
    Select,
)
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import children, strings
from gpudb.sql.traverse import walk
from gpudb.types import get_output_function
from gpudb.values.datetime_style import use_style

CLAUSE = "column generation expressions"
_ZONED_TYPES = frozenset({"timestamptz", "timetz"})


@use_style()
def bind_generated(
    binder: Binder, text: str, column: TableColumn, columns: Sequence[TableColumn], table: str, rel: int, first: int = 0
) -> Expr:
    """Binds a generation expression over a relation whose columns from `first` on are the table's."""
    scope = Scope(clause=CLAUSE)
    seen = tuple((c.name, Column(rel, index, c.type, c.name)) for index, c in enumerate(columns, first))
    scope.add((NamespaceItem(table, seen),), seen)
    scope.rels.add(rel)
    with binder.bind_stored(f"SELECT {text}"):
        expr = bind_expression(binder, scope, parse_expression(text))
        return coerce_to_changed(binder, expr, column.name, column.type)


def check_generated(binder: Binder, node: Any, column: TableColumn, columns: Sequence[TableColumn], table: str) -> str:
    """Returns a generation expression as the catalog stores it; 42P17 or 0A000 for an invalid one."""
    binder.expansions = Expansions()
    scope = Scope(clause=CLAUSE)
    seen = tuple((c.name, Column(1, index, c.type, c.name)) for index, c in enumerate(columns))
    scope.add((NamespaceItem(table, seen),), seen)
    scope.rels.add(1)
    expr = bind_expression(binder, scope, node)
    if not can_coerce(expr.type.plain, column.type.plain, "a"):
        message = (
            f'column "{column.name}" is of type {column.type.plain} but default expression is of type {expr.type.plain}'
        )
        hint = "You will need to rewrite or cast the expression."
        raise DatatypeMismatch(message, hint=hint)
    try:
        expr = coerce_to_column(binder, expr, column.name, column.type)
    except SqlError as wrong:
        if not fails_when_used(wrong):
            raise
    for each in walk(expr):
        if isinstance(each, ScalarSubquery | ArraySubquery | Exists | AnySubquery):
            raise FeatureNotSupported("cannot use subquery in column generation expression")
        if isinstance(each, Column) and each.rel >= 0 and columns[each.index].generated is not None:
            message = f'cannot use generated column "{each.name}" in column generation expression'
            detail = "A generated column cannot reference another generated column."
            error = SqlError.of("invalid_object_definition", message, detail=detail)
            raise binder.locate_expr(error, each)
        if is_mutable(each):
            raise SqlError.of("invalid_object_definition", "generation expression is not immutable")
    return deparse_check(qualify_expression(binder, node))


def is_mutable(node: object) -> bool:
    """Returns whether a node of an expression is a call or cast whose result depends on more than its arguments."""
    if isinstance(node, Call):
        return _is_call_mutable(node)
    return isinstance(node, Cast) and _is_cast_mutable(node)


def _is_call_mutable(call: Call) -> bool:
    """Whether a function is not immutable; `text || any` is as volatile as its cast."""
    if call.function.name in {"textanycat", "anytextcat"}:
        return any(_is_text_mutable(arg.type.name) for arg in call.args)
    return not call.function.immutable


def _is_text_mutable(name: str) -> bool:
    """Whether the text of a type's values depends on settings, or on the items of an array or a row."""
    output = functions_by_oid()[get_output_function("_text" if name[0] == "_" else name)]
    return not output.immutable


def _is_cast_mutable(cast: Cast) -> bool:
    """Whether a cast depends on the time zone or on the date style."""
    source, target = cast.arg.type.name, cast.type.name
    if source == target:
        return False
    if (source in _ZONED_TYPES) != (target in _ZONED_TYPES):
        return True
    if cast.type.category == "S" and (source, target) not in casts():
        return _is_text_mutable(source)
    return False


def compute_generated(
    binder: Binder, table: str, columns: Sequence[TableColumn], query: Query, first: int = 0
) -> Query:
    """Returns `query` with its generated columns computed; its columns from `first` on are the table's."""
    if all(column.generated is None for column in columns):
        return query
    rel = binder.new_rel()
    targets: list[Expr] = [Column(rel, index, output.type, output.name) for index, output in enumerate(query.columns)]
    for index, column in enumerate(columns, first):
        if column.generated is not None:
            targets[index] = bind_generated(binder, column.generated, column, columns, table, rel, first)
    return Select(query.columns, tuple(targets), Derived(rel, query))


def list_updated(table: Table, assigned: Iterable[str]) -> frozenset[str]:
    """Returns the columns that an UPDATE of some columns may change: these, and the generated ones that read them.

    A row-level trigger that fires before the UPDATE may change any column, hence all generated ones.
    """
    names = frozenset(assigned)
    changes_any = any(each.for_each_row and each.timing == BEFORE and UPDATE in each.events for each in table.triggers)
    return names | {
        column.name
        for column in table.columns
        if column.generated is not None and (changes_any or not names.isdisjoint(columns_read(column.generated)))
    }


def columns_read(text: str) -> set[str]:
    """Returns the names of the columns that an expression reads."""
    return set(_references(parse_expression(text)))


def _references(node: Any) -> Iterator[str]:
    if node.DESCRIPTOR.name == "ColumnRef":
        yield strings(node.fields)[-1]
    for each in children(node):
        yield from _references(each)


def compute_columns(binder: Binder, table: str, columns: Sequence[TableColumn], rel: int) -> tuple[Expr, ...]:
    """Returns the columns of a table's relation, with the generated ones computed."""
    return tuple(
        Column(rel, index, column.type, column.name)
        if column.generated is None
        else bind_generated(binder, column.generated, column, columns, table, rel)
        for index, column in enumerate(columns)
    )
