"""CHECK constraints: their expressions, and the query that finds rows which violate them."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Table
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    NEW_ROWS,
    ROW_NUMBER,
    BoolOp,
    Case,
    Column,
    Constant,
    Expr,
    FrameScan,
    OutputColumn,
    Scan,
    Select,
    SortKey,
    Test,
)
from gpudb.sql.parse.parser import children, deparse, inner, kind, parse
from gpudb.sql.rewrite import rewrite_stored
from gpudb.sql.traverse import walk
from gpudb.types import INT4, INT8
from gpudb.values.datetime_style import use_style


def bind_check(binder: Binder, table: Table, node: Any, rel: int) -> Expr:
    """Binds a CHECK's expression (a Node) as a boolean over the columns of relation `rel`."""
    scope = Scope(clause="CHECK")
    columns = table_columns(table)
    source = build_source(binder, rel, FrameScan(rel, NEW_ROWS, columns), columns, table.name, None, table.schema)
    scope.add(source.items, source.columns)
    scope.rels.add(rel)
    return coerce_condition(binder, bind_expression(binder, scope, node), "CHECK")


def get_used_columns(table: Table, expr: Expr) -> tuple[str, ...]:
    """Returns the names of the columns that a bound check reads, each once."""
    return tuple(dict.fromkeys(table.columns[n.index].name for n in walk(expr) if isinstance(n, Column) and n.rel >= 0))


def parse_expression(text: str) -> Any:
    """Parses a stored expression to a Node."""
    return inner(parse(f"SELECT {text}")[0].node.target_list[0]).val


@use_style()
def build_violation_query(binder: Binder, table: Table, *, stored: bool = False) -> Select:
    """Returns the query for a row that violates one of the table's checks, of NEW_ROWS or of the `stored` rows.

    It returns the row's number (the first such row of NEW_ROWS; 0 for a stored row) and the check's position in
    `table.checks`; no row if there is no violation.
    """
    rel = binder.new_rel()
    with binder.bind_stored():
        tests = [bind_check(binder, table, parse_expression(check.expression), rel) for check in table.checks]
    number = OutputColumn(ROW_NUMBER, INT8)
    row: Expr = Constant(0, INT8) if stored else Column(rel, len(table.columns), INT8, ROW_NUMBER)
    failed: tuple[Expr, ...] = tuple(Test(test, "FALSE") for test in tests)
    which = Case(tuple((test, Constant(place, INT4)) for place, test in enumerate(failed)), Constant(None, INT4), INT4)
    return Select(
        (number, OutputColumn("check", INT4)),
        (row, which),
        Scan(rel, table) if stored else FrameScan(rel, NEW_ROWS, (*table_columns(table), number)),
        BoolOp("OR", failed) if len(failed) > 1 else failed[0],
        order_by=() if stored else (SortKey(row, False, False),),
        limit=Constant(1, INT8),
    )


# ------------------------------------------------------------------------------------------------ as text


def deparse_check(node: Any) -> str:
    """Returns a check's expression as the catalog stores it: its columns without qualifiers."""
    copy = pg.Node()
    copy.CopyFrom(node)
    _change_columns(copy, lambda fields: fields[-1:])
    return _deparse(copy)


def qualify_expression(binder: Binder, node: Any) -> Any:
    """Returns an expression (a Node) that means the same under any search path, once its text has been bound."""
    return rewrite_stored(node, binder.catalog, binder.search_path, binder.expansions)


def qualify_text(binder: Binder, text: str) -> str:
    """Returns an expression that means the same under any search path, once it has been bound."""
    return _deparse(qualify_expression(binder, parse_expression(text)))


def rename_column(text: str, old: str, new: str) -> str:
    """Returns a stored expression with a column renamed."""
    node = parse_expression(text)
    _change_columns(node, lambda fields: [new if name == old else name for name in fields])
    return _deparse(node)


def _deparse(node: Any) -> str:
    select = pg.SelectStmt(limit_option=pg.LIMIT_OPTION_DEFAULT, op=pg.SETOP_NONE)
    select.target_list.add().res_target.val.CopyFrom(node)
    return deparse(select).removeprefix("SELECT ")


def _change_columns(message: Any, change: Any) -> None:
    if message.DESCRIPTOR.name == "ColumnRef":
        if all(kind(field) == "string" for field in message.fields):
            names = change([field.string.sval for field in message.fields])
            del message.fields[:]
            for name in names:
                message.fields.add().string.sval = name
        return
    for each in children(message):
        _change_columns(each, change)
