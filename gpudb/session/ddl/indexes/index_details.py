"""What CREATE INDEX says beside columns: expressions, operator classes, INCLUDE, storage parameters and WHERE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudb.catalog.tables import IndexDetails, IndexKey, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.session.context import Context
from gpudb.sql.bind.dml.checks import deparse_check, parse_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import NEW_ROWS, FrameScan
from gpudb.sql.parse.parser import inner, kind, present, strings
from gpudb.sql.parse.values import read_option, read_option_text


def read_details(context: Context, table: Table, node: Any) -> IndexDetails:
    """The details of an IndexStmt message; 42703 for an unknown column, and any error in an expression."""
    keys = []
    for each in map(inner, node.index_params):
        operator_class = strings(each.opclass)[-1] if len(each.opclass) else ""
        if each.name:
            _check_column(table, each.name)
            keys.append(IndexKey(each.name, operator_class=operator_class))
            continue
        _check_expression(context, table, each.expr)
        keys.append(IndexKey("", deparse_check(each.expr), operator_class))
    included = []
    for each in map(inner, node.index_including_params):
        if not each.name:
            raise FeatureNotSupported("expressions are not supported in included columns")
        _check_column(table, each.name)
        included.append(each.name)
    predicate = ""
    if present(node.where_clause):
        _check_expression(context, table, node.where_clause, condition=True)
        predicate = deparse_check(node.where_clause)
    return IndexDetails(tuple(keys), tuple(included), tuple(map(_storage_option, node.options)), predicate)


def list_used_columns(context: Context, table: Table, details: IndexDetails) -> tuple[str, ...]:
    """The columns that an index uses, each once."""
    expressions = [key.expression for key in details.keys if key.expression]
    expressions += [details.predicate] if details.predicate else []
    known = {column.name for column in table.columns}
    found = [key.column for key in details.keys if key.column] + list(details.included)
    found += [name for each in expressions for name in _iter_names(parse_expression(each)) if name in known]
    return tuple(dict.fromkeys(found))


def get_expression_name(expression: str) -> str:
    """The name of an index's key that is an expression: that of its function, or expr."""
    node = parse_expression(expression)
    return strings(inner(node).funcname)[-1] if kind(node) == "func_call" else "expr"


def _check_column(table: Table, name: str) -> None:
    if all(column.name != name for column in table.columns):
        raise UndefinedColumn(f'column "{name}" does not exist')


def _check_expression(context: Context, table: Table, node: Any, *, condition: bool = False) -> None:
    """Raises what is wrong with an expression; one that gpudb does not support is kept, since nothing computes it."""
    binder = context.binder()
    rel = binder.new_rel()
    try:
        scope, columns = Scope(clause="index predicates" if condition else "index expressions"), table_columns(table)
        source = build_source(binder, rel, FrameScan(rel, NEW_ROWS, columns), columns, table.name, None, table.schema)
        scope.add(source.items, source.columns)
        scope.rels.add(rel)
        expr = bind_expression(binder, scope, node)
        if condition:
            coerce_condition(binder, expr, "WHERE")
        if scope.aggregates:
            raise SqlError.of("grouping_error", f"aggregate functions are not allowed in {scope.clause}")
    except FeatureNotSupported:
        return


def _iter_names(node: Any) -> Iterator[str]:
    if node.DESCRIPTOR.name == "ColumnRef":
        yield strings(node.fields)[-1]
        return
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                yield from _iter_names(each)


def _storage_option(node: Any) -> str:
    option = inner(node)
    if isinstance(read_option(option), tuple):
        raise SqlError.of("syntax_error", "invalid value List of a storage parameter")
    return f"{option.defname}='{read_option_text(option)}'"
