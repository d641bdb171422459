"""SQL for another PostgreSQL server: the columns, conditions and limit of a query that it can compute as well.

The query computes its conditions again, so that only those need be sent that surely mean the same there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from gpudb import pgdata
from gpudb.catalog.foreign import read_foreign_options
from gpudb.catalog.tables import Column as TableColumn
from gpudb.catalog.tables import Table
from gpudb.sql.bound import BoolOp, Call, Column, Constant, Expr, ForeignScan, InList, Join, Query, Select, Test
from gpudb.sql.traverse import walk
from gpudb.types import SqlType
from gpudb.values.datetime_style import use_style
from gpudb.values.text import format_text

_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ORDERED = frozenset("int2 int4 int8 oid numeric float4 float8 date time timestamp timestamptz uuid bool".split())
_EQUAL = _ORDERED | frozenset({"text", "varchar", "bytea"})
"""Types whose values compare alike on every server: texts are equal alike, but collations sort them."""


def make_remote_sql(query: Query, scan: ForeignScan) -> tuple[str, tuple[TableColumn, ...]]:
    """Returns the SQL for a scan of a query, and the columns of the table that it returns."""
    table = scan.table
    numbers = sorted({node.index for node in walk(query) if isinstance(node, Column) and node.rel == scan.rel})
    columns = tuple(table.columns[number] for number in numbers)
    options = read_foreign_options(table.foreign.options if table.foreign is not None else ())
    schema, name = options.get("schema_name", table.schema), options.get("table_name", table.name)
    listed = ", ".join(_quote(_remote_name(column)) for column in columns) or "NULL"
    text = f"SELECT {listed} FROM {_quote(schema)}.{_quote(name)}"
    select = _find_select(query, scan)
    if select is None or select.where is None:
        return text + _render_limit(select, scan, complete=True), columns
    conditions = list(_list_conditions(select.where))
    sent = [each for each in (_render(one, scan.rel, table) for one in conditions) if each is not None]
    if sent:
        text += f" WHERE {' AND '.join(sent)}"
    return text + _render_limit(select, scan, complete=len(sent) == len(conditions)), columns


def _find_select(query: Query, scan: ForeignScan) -> Select | None:
    """Returns the SELECT whose WHERE holds for each of its rows that a scan contributes to; None if there is none."""
    for node in walk(query):
        if isinstance(node, Select) and node.source is not None and _contributes(node.source, scan):
            return node
    return None


def _contributes(source: Any, scan: ForeignScan) -> bool:
    """Whether a scan is in FROM, not on a side to which an outer join adds rows."""
    if isinstance(source, Join):
        left = source.kind in {"INNER", "CROSS", "LEFT"} and _contributes(source.left, scan)
        return left or (source.kind in {"INNER", "CROSS", "RIGHT"} and _contributes(source.right, scan))
    return source is scan or source == scan


def _list_conditions(where: Expr) -> Iterator[Expr]:
    if isinstance(where, BoolOp) and where.op == "AND":
        for each in where.args:
            yield from _list_conditions(each)
    else:
        yield where


def _render_limit(select: Select | None, scan: ForeignScan, *, complete: bool) -> str:
    """Returns the LIMIT of a query that does nothing else with the rows."""
    if select is None or not complete or select.source != scan or select.offset is not None:
        return ""
    if select.grouped or select.distinct or select.order_by or select.grouping_sets is not None:
        return ""
    limit = select.limit
    if not isinstance(limit, Constant) or not isinstance(limit.value, int) or limit.value < 0:
        return ""
    plain = all(isinstance(node, Column | Constant) for target in select.targets for node in walk(target))
    return f" LIMIT {limit.value}" if plain else ""


def _render(expr: Expr, rel: int, table: Table) -> str | None:
    """Returns a condition over a table's columns and constants as SQL; None if it may mean something else there."""
    match expr:
        case Call() if len(expr.args) == 2 and (operator := _load_operators().get(expr.function.oid)) is not None:
            types = _ORDERED if operator not in ("=", "<>") else _EQUAL
            if any(arg.type.name not in types for arg in expr.args) or _depends_on_zone(expr.args):
                return None
            sides = [_render_operand(arg, rel, table) for arg in expr.args]
            return None if None in sides else f"({sides[0]} {operator} {sides[1]})"
        case Test(what="NULL"):
            operand = _render_operand(expr.arg, rel, table)
            return None if operand is None else f"({operand} IS {'NOT ' if expr.negated else ''}NULL)"
        case InList() if expr.arg.type.name in _EQUAL and not _depends_on_zone((expr.arg, *expr.items)):
            operands = [_render_operand(each, rel, table) for each in (expr.arg, *expr.items)]
            if None in operands:
                return None
            word = "NOT IN" if expr.negated else "IN"
            return f"({operands[0]} {word} ({', '.join(str(each) for each in operands[1:])}))"
        case BoolOp(op="AND" | "OR"):
            parts = [_render(each, rel, table) for each in expr.args]
            return None if None in parts else f"({f' {expr.op} '.join(str(each) for each in parts)})"
        case BoolOp(op="NOT"):
            part = _render(expr.args[0], rel, table)
            return None if part is None else f"(NOT {part})"
    return None


def _depends_on_zone(operands: Sequence[Expr]) -> bool:
    """Whether a comparison reads dates or timestamps in the session's time zone, which is another there."""
    return len({operand.type.name == "timestamptz" for operand in operands}) > 1


def _render_operand(expr: Expr, rel: int, table: Table) -> str | None:
    if isinstance(expr, Column) and expr.rel == rel:
        return _quote(_remote_name(table.columns[expr.index]))
    if isinstance(expr, Constant) and expr.type.name in _EQUAL:
        if expr.value is None:
            return f"NULL::{expr.type.name}"
        with use_style():
            text = format_text(expr.type, expr.value, "UTC").replace("\\", "\\\\").replace("'", "''")
        return f"E'{text}'::{_type_name(expr.type)}"
    return None


def _type_name(type: SqlType) -> str:
    return f"pg_catalog.{type.name}"


def _remote_name(column: TableColumn) -> str:
    return read_foreign_options(column.options).get("column_name", column.name)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@cache
def _load_operators() -> dict[int, str]:
    """Returns comparison operators by the OIDs of their functions."""
    rows = pgdata.load_table("pg_operator").select("oprcode", "oprname")
    return {int(function): name for function, name in rows if name in _OPERATORS}
