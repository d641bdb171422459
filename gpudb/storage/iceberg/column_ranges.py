"""Column ranges of a WHERE clause, by which storage prunes files."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator, Sequence

from gpudb.catalog.tables import Table
from gpudb.functions.library import COMMUTATORS, get_comparison
from gpudb.sql.bound import BoolOp, Call, Cast, Column, Constant, Expr, InList, Parameter, Test
from gpudb.sql.widening import WIDENING_CASTS
from gpudb.storage.iceberg.pruning import ColumnRange
from gpudb.types.facts import INTEGERS
from gpudb.values.calendar import days_from_date, microseconds_from_timestamp

_TEXTS = frozenset({"text", "varchar"})
_PRUNED = INTEGERS | _TEXTS | {"numeric", "date", "timestamp", "timestamptz", "uuid"}


def column_ranges(where: Expr | None, rel: int, table: Table, parameters: Sequence[object]) -> list[ColumnRange]:
    """Returns conditions on columns of relation `rel` that every result row satisfies."""
    return list(_ranges(where, rel, table, parameters)) if where is not None else []


def _ranges(expr: Expr, rel: int, table: Table, parameters: Sequence[object]) -> Iterator[ColumnRange]:
    match expr:
        case BoolOp(op="AND", args=args):
            for arg in args:
                yield from _ranges(arg, rel, table, parameters)
        case Call(function=function, args=(left, right)):
            symbol = get_comparison(function)
            if symbol is None or symbol == "<>":
                return
            left, right = _strip_widening(left), _strip_widening(right)
            if isinstance(right, Column):
                left, right, symbol = right, left, COMMUTATORS[symbol]
            if isinstance(left, Column) and _is_comparable(left, right, rel, table):
                value = _bound_value(right, parameters)
                if value is not None:
                    yield _range(_field_id(left, table), symbol, value)
        case InList(arg=arg, items=items, negated=False) if isinstance(column := _strip_widening(arg), Column):
            if all(_is_comparable(column, item, rel, table) for item in items):
                values = [_bound_value(item, parameters) for item in items]
                if values and all(value is not None for value in values):
                    ordered = sorted(values)  # type: ignore[type-var]
                    yield ColumnRange(_field_id(column, table), ordered[0], ordered[-1], among=tuple(ordered))
        case Test(arg=Column() as column, what="NULL", negated=negated) if _is_own(column, rel, table) and negated:
            yield ColumnRange(_field_id(column, table), not_null=True)


def _strip_widening(expr: Expr) -> Expr:
    """Returns the column below casts that preserve value and order; else the expression itself."""
    inner = expr
    while isinstance(inner, Cast) and (inner.is_relabel or (inner.arg.type.name, inner.type.name) in WIDENING_CASTS):
        inner = inner.arg
    return inner if isinstance(inner, Column) else expr


def _is_own(column: Column, rel: int, table: Table) -> bool:
    return column.rel == rel and column.index < len(table.columns)


def _field_id(column: Column, table: Table) -> int:
    return table.columns[column.index].field_id


def _is_comparable(column: Column, other: Expr, rel: int, table: Table) -> bool:
    """Returns whether a column's file statistics compare with the other side as the query compares them."""
    if not _is_own(column, rel, table) or not isinstance(other, Constant | Parameter):
        return False
    if other.type.wide:
        return False  # NaN is above all bounds
    name, other_name = column.type.name, other.type.name
    same = name == other_name or {name, other_name} <= INTEGERS or {name, other_name} <= _TEXTS
    return same and name in _PRUNED and not column.type.is_carried


def _bound_value(expr: Expr, parameters: Sequence[object]) -> object:
    """Returns a constant in the representation of file statistics; None if it has none."""
    value = expr.value if isinstance(expr, Constant) else None
    if isinstance(expr, Parameter):
        value = parameters[expr.number - 1] if expr.number <= len(parameters) else None
    match value:
        case dt.datetime():
            return microseconds_from_timestamp(value)
        case dt.date():
            return days_from_date(value)
        case uuid.UUID():
            return str(value)
        case str() if expr.type.name not in _TEXTS | {"uuid"}:
            return None  # infinity
    return value


def _range(field_id: int, symbol: str, value: object) -> ColumnRange:
    if symbol == "=":
        return ColumnRange(field_id, value, value)
    if symbol in {">", ">="}:
        return ColumnRange(field_id, low=value, low_open=symbol == ">")
    return ColumnRange(field_id, high=value, high_open=symbol == "<")
