"""What CREATE INDEX says beside columns: expressions, operator classes, INCLUDE, storage parameters and WHERE."""

from __future__ import annotations

from typing import Any

from gpudb.catalog.tables import IndexDetails, IndexKey, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.key_expressions import store_expression
from gpudb.sql.parse.parser import inner, present, strings
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
        expression, kind = store_expression(context, table, each.expr, enforced=node.unique)
        keys.append(IndexKey("", expression, operator_class, kind))
    included = []
    for each in map(inner, node.index_including_params):
        if not each.name:
            raise FeatureNotSupported("expressions are not supported in included columns")
        _check_column(table, each.name)
        included.append(each.name)
    predicate = ""
    if present(node.where_clause):
        predicate, _ = store_expression(context, table, node.where_clause, enforced=node.unique, condition=True)
    return IndexDetails(tuple(keys), tuple(included), tuple(map(_storage_option, node.options)), predicate)


def _check_column(table: Table, name: str) -> None:
    if all(column.name != name for column in table.columns):
        raise UndefinedColumn(f'column "{name}" does not exist')


def _storage_option(node: Any) -> str:
    option = inner(node)
    if isinstance(read_option(option), tuple):
        raise SqlError.of("syntax_error", "invalid value List of a storage parameter")
    return f"{option.defname}='{read_option_text(option)}'"
