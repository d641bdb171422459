"""Function calls: plain ones, aggregates, windows and set-returning ones, each where SQL allows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, UndefinedFunction
from gpudb.functions import resolve
from gpudb.functions.library import functions_by_name
from gpudb.functions.registry import Function, implementation
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.coerce import check_equality, coerce, condition
from gpudb.sql.bind.operators import apply_operator, call
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import (
    Aggregate,
    Call,
    Column,
    Expr,
    Frame,
    Grouping,
    SetReturning,
    SortKey,
    Window,
)
from gpudb.sql.parse import inner, present, strings
from gpudb.sql.traverse import walk
from gpudb.types import INT8, INTERVAL, TEXT, UNKNOWN, SqlType, exists

_NO_AGGREGATES = {
    "WHERE": "aggregate functions are not allowed in WHERE",
    "GROUP BY": "aggregate functions are not allowed in GROUP BY",
    "JOIN": "aggregate functions are not allowed in JOIN conditions",
    "LIMIT": "aggregate functions are not allowed in LIMIT",
    "OFFSET": "aggregate functions are not allowed in OFFSET",
    "VALUES": "aggregate functions are not allowed in VALUES",
    "FROM": "aggregate functions are not allowed in functions in FROM",
    "UPDATE": "aggregate functions are not allowed in UPDATE",
    "RETURNING": "aggregate functions are not allowed in RETURNING",
    "FILTER": "aggregate functions are not allowed in FILTER",
    "CHECK": "aggregate functions are not allowed in check constraints",
}
_WINDOWS_IN = {"", "SELECT", "ORDER BY"}
_SPOKEN = {"JOIN": "JOIN conditions", "CHECK": "check constraints"}


def plain(binder: Binder, name: str, args: Sequence[Expr]) -> Expr:
    """A call of a named function, as if it had been written."""
    return call(binder, resolve.function(name, tuple(arg.type.plain for arg in args)), args)


def bind_call(binder: Binder, scope: Scope, node: Any) -> Expr:
    """A FuncCall message."""
    from gpudb.sql.bind.expressions import bind_expression

    names = strings(node.funcname)
    name = names[-1]
    if len(names) > 1 and names[0] not in {"pg_catalog", "information_schema"}:
        raise UndefinedFunction(f"function {'.'.join(names)} does not exist")
    candidates = functions_by_name().get(name, ())
    aggregate = any(each.kind == "a" for each in candidates)
    over = node.over if node.HasField("over") else None
    outer = scope.in_aggregate, scope.in_window
    if aggregate and over is None:
        if scope.in_aggregate:
            raise SqlError.of("grouping_error", "aggregate function calls cannot be nested")
        scope.in_aggregate = True
    if over is not None:
        scope.in_window = True
    try:
        args = [bind_expression(binder, scope, _unnamed(each)) for each in node.args]
        order = [sort_key(binder, bind_expression(binder, scope, inner(s).node), inner(s)) for s in node.agg_order]
        chosen = present(node.agg_filter)
        keep = condition(binder, bind_expression(binder, scope, node.agg_filter), "FILTER") if chosen else None
    finally:
        scope.in_aggregate, scope.in_window = outer
    if node.agg_within_group:
        return _ordered_set(binder, scope, name, args, order, keep)
    if (converted := _type_call(binder, name, args)) is not None:
        return converted
    candidate = resolve.function(name, tuple(arg.type.plain for arg in args), "faw", node.func_variadic)
    target = candidate.target
    assert isinstance(target, Function)
    if target.kind == "f" and target.returns_set:
        return _set_returning(binder, scope, candidate, args)
    if target.kind == "f":
        if node.agg_star or node.agg_distinct or order or keep is not None or over is not None:
            what = "OVER" if over is not None else "DISTINCT" if node.agg_distinct else "FILTER"
            message = f"{what} specified, but {name} is not an aggregate function"
            if over is not None:
                message = f"OVER specified, but {name} is not a window function nor an aggregate function"
            raise SqlError.of("wrong_object_type", message)
        return call(binder, candidate, args)
    if target.kind == "w" and over is None:
        raise SqlError.of("wrong_object_type", f"window function {name} requires an OVER clause")
    if target.kind == "a" and not args and not node.agg_star and name == "count":
        message = "count(*) must be used to call a parameterless aggregate function"
        raise SqlError.of("wrong_object_type", message)
    made = call(binder, candidate, args)
    implementation(target)
    if over is not None:
        return _window(binder, scope, node, made, keep)
    if node.agg_distinct:
        check_equality(arg.type for arg in made.args)
    return _aggregate(
        scope,
        Aggregate(target, made.args, made.type, node.agg_distinct, tuple(order), (), keep, node.agg_star),
    )


def _unnamed(node: Any) -> Any:
    if node.WhichOneof("node") == "named_arg_expr":
        raise FeatureNotSupported("named arguments are not supported")
    return node


def _type_call(binder: Binder, name: str, args: Sequence[Expr]) -> Expr | None:
    """`type(value)` as a cast, where no function of that name takes the value: text(x), float8(x), date(x)."""
    if len(args) != 1 or not exists(name) or name.startswith("_"):
        return None
    source = args[0].type.plain
    if any(len(f.args) == 1 and f.args[0].name == source.name for f in functions_by_name().get(name, ())):
        target = SqlType(name)
        return coerce(binder, args[0], target, "e") if resolve.can_coerce(source, target, "e") else None
    if source.name == "unknown" or resolve.can_coerce(source, SqlType(name), "e"):
        return coerce(binder, args[0], SqlType(name), "e")
    return None


def _set_returning(binder: Binder, scope: Scope, candidate: resolve.Candidate, args: Sequence[Expr]) -> Expr:
    if scope.clause in {
        "WHERE",
        "GROUP BY",
        "HAVING",
        "JOIN",
        "LIMIT",
        "OFFSET",
        "VALUES",
        "UPDATE",
        "RETURNING",
        "CHECK",
    }:
        message = f"set-returning functions are not allowed in {_SPOKEN.get(scope.clause, scope.clause)}"
        raise FeatureNotSupported(message)
    made = call(binder, candidate, args)
    return SetReturning(made.function, made.args, made.type)


def _aggregate(scope: Scope, made: Aggregate) -> Expr:
    """An aggregate in its place; it belongs to the query that its columns come from."""
    if scope.clause in _NO_AGGREGATES:
        raise SqlError.of("grouping_error", _NO_AGGREGATES[scope.clause])
    columns = [n for part in (*made.args, *made.order_by) for n in walk(part) if isinstance(n, Column)]
    if columns and all(column.rel not in scope.rels for column in columns):
        raise FeatureNotSupported("an aggregate over columns of an outer query alone is not supported")
    if any(isinstance(n, Window) for part in made.args for n in walk(part)):
        raise SqlError.of("grouping_error", "aggregate function calls cannot contain window function calls")
    scope.aggregates = True
    return made


def _ordered_set(
    binder: Binder, scope: Scope, name: str, args: list[Expr], order: list[SortKey], keep: Expr | None
) -> Expr:
    """An ordered-set aggregate: percentile_cont(0.5) WITHIN GROUP (ORDER BY x)."""
    types = tuple(arg.type.plain for arg in (*args, *(key.expr for key in order)))
    candidate = resolve.function(name, types, "a")
    made = call(binder, candidate, [*args, *(key.expr for key in order)])
    implementation(made.function)
    keys = tuple(
        SortKey(expr, key.descending, key.nulls_first) for expr, key in zip(made.args[len(args) :], order, strict=True)
    )
    direct = made.args[: len(args)]
    return _aggregate(scope, Aggregate(made.function, direct, made.type, within_group=keys, filter=keep))


def bind_grouping(binder: Binder, scope: Scope, node: Any) -> Expr:
    """GROUPING(…); whether its arguments are grouped by is checked with the query."""
    from gpudb.sql.bind.expressions import bind_expression

    scope.aggregates = True
    return Grouping(tuple(bind_expression(binder, scope, each) for each in node.args))


# Of ORDER BY … USING: whether the operator sorts from high to low.
_ORDERINGS = {"<": False, ">": True, "~<~": False, "~>~": True}


def sort_key(binder: Binder, expr: Expr, node: Any) -> SortKey:
    """A SortBy message around a bound expression, with PostgreSQL's default for NULLs: last, first if descending."""
    if expr.type.name in {"json", "record"}:
        message = f"could not identify an ordering operator for type {expr.type}"
        raise UndefinedFunction(message, hint="Use an explicit ordering operator or modify the query.")
    descending = node.sortby_dir == pg.SORTBY_DESC
    if node.use_op:
        name = strings(node.use_op)[-1]
        try:
            apply_operator(binder, name, expr, expr)
            if name not in _ORDERINGS:
                message = f"operator {name} is not a valid ordering operator"
                hint = 'Ordering operators must be "<" or ">" members of btree operator families.'
                raise SqlError.of("wrong_object_type", message, hint=hint)
        except GpudbError as error:
            raise binder.locate(error, node.location) from None
        descending = _ORDERINGS[name]
    first = {pg.SORTBY_NULLS_FIRST: True, pg.SORTBY_NULLS_LAST: False}.get(node.sortby_nulls, descending)
    expr = coerce(binder, expr, TEXT) if expr.type == UNKNOWN else expr
    return SortKey(expr, descending, first)


def _window(binder: Binder, scope: Scope, node: Any, made: Call, keep: Expr | None) -> Expr:
    """A window call: its OVER clause, with what it takes from a named window."""
    if scope.clause not in _WINDOWS_IN:
        where = _SPOKEN.get(scope.clause, scope.clause)
        raise SqlError.of("windowing_error", f"window functions are not allowed in {where}")
    if scope.in_window:
        raise SqlError.of("windowing_error", "window function calls cannot be nested")
    if node.agg_distinct:
        raise FeatureNotSupported("DISTINCT is not implemented for window functions")
    if len(node.agg_order):
        raise FeatureNotSupported("aggregate ORDER BY is not implemented for window functions")
    partition, order, frame = _window_definition(binder, scope, node.over)
    if keep is not None and made.function.kind == "w":
        raise FeatureNotSupported("FILTER is not implemented for non-aggregate window functions")
    return Window(made.function, made.args, made.type, partition, order, frame, keep, False, node.agg_star)


Definition = tuple[tuple[Expr, ...], tuple[SortKey, ...], Frame | None]


def _window_definition(binder: Binder, scope: Scope, node: Any) -> Definition:
    from gpudb.sql.bind.expressions import bind_expression

    base: Definition = ((), (), None)
    defined = scope.windows.get(node.name)
    if node.name and defined is not node:
        # OVER w, as against the definition in WINDOW, which carries its own name.
        if defined is None:
            error = SqlError.of("undefined_object", f'window "{node.name}" does not exist')
            raise binder.locate(error, node.location)
        return _window_definition(binder, scope, defined)
    named = node.refname
    if named:
        if named not in scope.windows or named == node.name:
            raise SqlError.of("undefined_object", f'window "{named}" does not exist')
        base = _window_definition(binder, scope, scope.windows[named])
        if base[2] is not None:
            raise SqlError.of("windowing_error", f'cannot copy window "{named}" because it has a frame clause')
    scope.in_window = True
    try:
        partition = tuple(bind_expression(binder, scope, each) for each in node.partition_clause)
        order = tuple(
            sort_key(binder, bind_expression(binder, scope, inner(each).node), inner(each))
            for each in node.order_clause
        )
        frame = _frame(binder, scope, node, order or base[1])
    finally:
        scope.in_window = False
    if named and (partition or (order and base[1])):
        what = "PARTITION BY" if partition else "ORDER BY"
        raise SqlError.of("windowing_error", f'cannot override {what} clause of window "{named}"')
    return partition or base[0], order or base[1], frame


# PostgreSQL's FRAMEOPTION_* bits.
_NONDEFAULT, _RANGE, _ROWS, _GROUPS = 0x1, 0x2, 0x4, 0x8
_START = {
    0x20: "UNBOUNDED PRECEDING",
    0x80: "UNBOUNDED FOLLOWING",
    0x200: "CURRENT ROW",
    0x800: "PRECEDING",
    0x2000: "FOLLOWING",
}
_END = {
    0x40: "UNBOUNDED PRECEDING",
    0x100: "UNBOUNDED FOLLOWING",
    0x400: "CURRENT ROW",
    0x1000: "PRECEDING",
    0x4000: "FOLLOWING",
}
_EXCLUDE = {0x8000: "CURRENT ROW", 0x10000: "GROUP", 0x20000: "TIES"}


def _frame(binder: Binder, scope: Scope, node: Any, order: Sequence[SortKey]) -> Frame | None:
    from gpudb.sql.bind.expressions import bind_expression

    options = node.frame_options
    if not options & _NONDEFAULT:
        return None
    unit = "ROWS" if options & _ROWS else "GROUPS" if options & _GROUPS else "RANGE"
    start = next(text for bit, text in _START.items() if options & bit)
    end = next(text for bit, text in _END.items() if options & bit)
    exclude = next((text for bit, text in _EXCLUDE.items() if options & bit), None)

    def offset(each: Any) -> Expr | None:
        if not present(each):
            return None
        expr = bind_expression(binder, scope, each)
        if unit != "RANGE":
            return coerce(binder, expr, INT8, "a")
        if len(order) != 1:
            message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
            raise SqlError.of("windowing_error", message)
        key = order[0].expr
        if expr.type == UNKNOWN:
            return coerce(binder, expr, INTERVAL if key.type.category == "D" else key.type)
        apply_operator(binder, "+", key, expr)
        return expr

    if unit == "GROUPS" and not order:
        raise SqlError.of("windowing_error", "GROUPS mode requires an ORDER BY clause")
    return Frame(unit, start, offset(node.start_offset), end, offset(node.end_offset), exclude)  # type: ignore[arg-type]
