"""Comparisons with a subquery: IN, ANY and ALL with any operator, and row comparison with a single row."""

from __future__ import annotations

from dataclasses import replace

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import resolve
from gpudb.functions.registry import Function
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import (
    apply_operator,
    bind_any_array,
    build_call,
    check_whole_rows,
    compare_rows,
)
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.column_coercion import project_columns
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    Aggregate,
    AnySubquery,
    ArraySubquery,
    BoolOp,
    Case,
    Column,
    Constant,
    Derived,
    Expr,
    OutputColumn,
    Query,
    Row,
    ScalarSubquery,
    Select,
    Test,
)
from gpudb.types import BOOL, DATE, TEXT, TIMESTAMP, TIMESTAMPTZ, SqlType
from gpudb.types.facts import EQUAL_BY_FUNCTION

_EXISTS_HINT = "Use EXISTS with a condition for each column."
_FAMILIES = ((DATE, TIMESTAMP, TIMESTAMPTZ), (SqlType("name"), TEXT))
"""Types of one family, of which operators compare any two; the later one holds the values of both."""
_PLAIN = frozenset({"=", "<>", "<", "<=", ">", ">="})


def bind_any_subquery(binder: Binder, name: str, left: Expr, query: Query, every: bool) -> Expr:
    """Binds left op ANY (SELECT …), or ALL; `left` is a row if there are several columns."""
    items = left.items if isinstance(left, Row) and not left.whole else (left,)
    _check_width(len(items), query)
    if name not in _PLAIN or (len(items) > 1 and (name, every) not in {("=", False), ("<>", True)}):
        return _bind_by_aggregates(binder, name, left, query, every)
    if any(column.type.name in EQUAL_BY_FUNCTION for column in query.columns):
        if len(items) > 1:
            raise FeatureNotSupported("a row with a matrix is not searched in a subquery", hint=_EXISTS_HINT)
        # Membership is found by hashes and bytes, which equal matrices need not share
        return bind_any_array(binder, name, items[0], ArraySubquery(query, query.columns[0].type.plain.array), every)
    functions: list[Function] = []
    converted: list[Expr] = []
    for item, column in zip(items, query.columns, strict=True):
        common = _find_common_kind(item.type, column.type)
        if common is not None:
            # No engine searches values of one kind among those of another
            item = coerce(binder, item, common)
            if column.type.name != common.name:
                query = project_columns(binder, query, {len(converted): common})
                column = replace(column, type=common)
        candidate = resolve.resolve_operator(name, item.type.plain, column.type.plain)
        result = build_call(binder, candidate, (item, Column(0, 0, column.type)))
        check_whole_rows(name, item.type, column.type)
        functions.append(result.function)
        converted.append(result.args[0])
        target = result.args[1].type
        if target.name != column.type.name:
            query = project_columns(binder, query, {len(converted) - 1: target})
    return AnySubquery(tuple(functions), tuple(converted), query, every)


def _find_common_kind(left: SqlType, right: SqlType) -> SqlType | None:
    """Returns the type in which operators compare two types of one family; None where they are the same."""
    if left.name == right.name:
        return None
    for family in _FAMILIES:
        names = [each.name for each in family]
        if left.name in names and right.name in names:
            return max(family, key=lambda each: names.index(each.name) if each.name in (left.name, right.name) else -1)
    return None


def _check_width(width: int, query: Query) -> None:
    if width != len(query.columns):
        few = "too few" if len(query.columns) < width else "too many"
        raise SqlError.of("syntax_error", f"subquery has {few} columns")


def _build_comparison(binder: Binder, name: str, left: Expr, query: Query) -> Select:
    """Returns a query of `left op row` for each row of a subquery."""
    rel = binder.new_rel()
    columns = tuple(Column(rel, index, column.type, column.name) for index, column in enumerate(query.columns))
    if isinstance(left, Row) and not left.whole:
        test = compare_rows(binder, name, left, Row(columns))
    else:
        test = coerce_condition(binder, apply_operator(binder, name, left, columns[0]), name)
    return Select((OutputColumn("test", BOOL),), (test,), Derived(rel, query))


def _bind_by_aggregates(binder: Binder, name: str, left: Expr, query: Query, every: bool) -> Expr:
    """Binds ANY or ALL of an operator that engines lack: is one test decisive, else is one unknown."""
    tests = _build_comparison(binder, name, left, query)
    rel = binder.new_rel()
    test = Column(rel, 0, BOOL, "test")

    def over(aggregate: str, arg: Expr) -> Expr:
        target = resolve.resolve_function(aggregate, (BOOL,), "a").target
        assert isinstance(target, Function)
        return Aggregate(target, (arg,), BOOL)

    decided = BoolOp("NOT", (over("bool_and", test),)) if every else over("bool_or", test)
    unknown = over("bool_or", Test(test, "NULL"))
    verdict = Case(((decided, Constant(not every, BOOL)), (unknown, Constant(None, BOOL))), Constant(every, BOOL), BOOL)
    result = Select((OutputColumn("verdict", BOOL),), (verdict,), Derived(rel, tests), grouped=True)
    return ScalarSubquery(result, BOOL)


def bind_row_subquery(binder: Binder, name: str, left: Row, query: Query) -> Expr:
    """Binds (a, b) op (SELECT …): NULL without a row, 21000 with more than one."""
    _check_width(len(left.items), query)
    return ScalarSubquery(_build_comparison(binder, name, left, query), BOOL)
