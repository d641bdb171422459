"""Lowers expressions to values: three-valued logic, CASE, and errors only on branches that are reached."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce, singledispatchmethod
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.casts import cast
from gpudb.engine.gpu.lower.comparison import KEYED, equal, turned
from gpudb.engine.gpu.lower.constants import compared_constant, constant
from gpudb.engine.gpu.lower.deferred import PutOff
from gpudb.engine.gpu.lower.error_codes import Error, masked, worst
from gpudb.engine.gpu.lower.host_fallback import Host
from gpudb.engine.gpu.lower.numeric import fitting
from gpudb.engine.gpu.lower.registry import lowering
from gpudb.engine.gpu.lower.values import Bounds, Value, column, is_keyed, lanes, larger, type_bounds
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from gpudb.types import BOOL, SqlType


class Expressions:
    """Lowers expressions over one input; `bounds` are those of its columns.

    `host` evaluates what has no lowering. The values are valid over the input after the deferred steps have run on it.
    """

    def __init__(self, bounds: Sequence[Bounds], host: Host) -> None:
        self._bounds = bounds
        self._host = host
        self._lets: dict[int, tuple[Value, ...]] = {}
        self.put_off = PutOff()

    def value(self, expr: Any) -> Value:
        """Lowers an expression; all of it falls back to the host if a part has no lowering."""
        mark = self.put_off.mark()
        try:
            return self._value(expr)
        except NotCarried as lacking:
            self.put_off.back_to(mark)
            made = self.put_off.hosted(self._host, _stopping(expr))
            self._host.used.append(lacking.construct)
            return made

    def _reached(self, exprs: Sequence[Any]) -> list[Value]:
        """Lowers values of which all but the first may not be reached; host steps do not know such conditions."""
        first = self.value(exprs[0])
        mark = self.put_off.mark()
        values = [first, *(self.value(each) for each in exprs[1:])]
        if self.put_off.mark()[1] > mark[1]:
            raise NotCarried("a condition over host functions")
        return values

    @singledispatchmethod
    def _value(self, expr: Any) -> Value:
        raise NotCarried(_NAMES.get(type(expr).__name__, type(expr).__name__))

    def condition(self, expr: Any) -> tuple[pl.Expr, Error]:
        """Lowers a condition; returns a boolean and its error."""
        made = self.value(expr)
        return made.expr, made.error

    @_value.register
    def _(self, expr: bound.Column) -> Value:
        if expr.rel < 0:
            return self._lets[expr.rel][expr.index]
        return column(expr.index, expr.type, self._bounds[expr.index])

    @_value.register(bound.Constant)
    @_value.register(bound.Parameter)
    def _(self, expr: bound.Constant | bound.Parameter) -> Value:
        return constant(expr, self._host)

    def _compared(self, expr: Any) -> Value:
        """Lowers a value that is only compared: a constant's comparison key is sufficient."""
        if is_keyed(expr.type) and all(isinstance(node, _MADE_OF_CONSTANTS) for node in walk(expr)):
            try:
                return compared_constant(expr, self._host)
            except GpudbError:
                pass  # An error counts only for existing rows.
        return self.value(expr)

    @_value.register
    def _(self, expr: bound.Let) -> Value:
        values = tuple(self.value(each) for each in expr.values)
        self._lets[expr.rel] = tuple(each.failing(None) for each in values)
        made = self.value(expr.body)
        return made.failing(worst(made.error, *(each.error for each in values)))

    @_value.register
    def _(self, expr: bound.Call) -> Value:
        args = tuple(map(self._compared if expr.function.name in KEYED else self.value, expr.args))
        if expr.function.name == "numeric_div":
            shown = larger(args[0].shown, args[1].shown)
            made = self.put_off.quotient(args[0], args[1], shown, expr.type)
        else:
            made = lowering(expr.function, utc=self._host.utc)(args, expr.type)
        errors = [each.error for each in args]
        return made if not any(each is not None for each in errors) else made.failing(worst(made.error, *errors))

    @_value.register
    def _(self, expr: bound.Cast) -> Value:
        arg = self.value(expr.arg)
        made = cast(arg, expr.type, explicit=expr.explicit, utc=self._host.utc)
        return made if arg.error is None else made.failing(worst(made.error, arg.error))

    @_value.register
    def _(self, expr: bound.BoolOp) -> Value:
        parts = self._reached(expr.args)
        if expr.op == "NOT":
            return Value(BOOL, ~parts[0].expr, parts[0].error)
        # PostgreSQL stops at the first false (true) operand: later errors count only if they are reached.
        made, error = parts[0].expr, parts[0].error
        for part in parts[1:]:
            stopped = made.eq_missing(expr.op == "OR")
            error = worst(error, masked(part.error, ~stopped))
            made = made & part.expr if expr.op == "AND" else made | part.expr
        return Value(BOOL, made, error)

    @_value.register
    def _(self, expr: bound.Test) -> Value:
        arg = self.value(expr.arg)
        match expr.what:
            case "TRUE":
                made = arg.expr.eq_missing(True)
            case "FALSE":
                made = arg.expr.eq_missing(False)
            case _:
                made = arg.expr.is_null()
        return Value(BOOL, ~made if expr.negated else made, arg.error)

    @_value.register
    def _(self, expr: bound.DistinctFrom) -> Value:
        left, right = self._compared(expr.left), self._compared(expr.right)
        both = left.expr.is_null() & right.expr.is_null()
        same = both | equal(left, right).fill_null(False)
        return Value(BOOL, same if expr.negated else ~same, worst(left.error, right.error))

    @_value.register
    def _(self, expr: bound.InList) -> Value:
        arg = self._compared(expr.arg)
        items = [self._compared(each) for each in expr.items]
        error = worst(arg.error, *(each.error for each in items))
        held = lanes(expr.arg.type)
        plain = len(held) == 1 and held[""] != pl.Binary and expr.arg.type.name != "numeric"
        if plain and all(each.constant for each in items):
            # One lookup in a list; a comparison for each item is slower.
            values = pl.select(each.expr.alias(f"{number}") for number, each in enumerate(items)).get_columns()
            known = pl.concat([each.cast(values[0].dtype) for each in values]).drop_nulls()
            made = arg.expr.is_in(known.implode())
            if len(known) < len(values):
                made = pl.when(made).then(True).otherwise(None)
        else:
            made = reduce(lambda a, b: a | b, [equal(arg, each) for each in items])
        return Value(BOOL, ~made if expr.negated else made, error)

    @_value.register
    def _(self, expr: bound.Case) -> Value:
        parts = self._reached([*(part for branch in expr.branches for part in branch), expr.default])
        conditions, values = parts[:-1:2], [*parts[1::2], parts[-1]]
        return _chosen(expr.type, conditions, values)

    @_value.register
    def _(self, expr: bound.Choice) -> Value:
        args = self._reached(expr.args)
        if expr.op == "COALESCE":
            conditions = [
                Value(BOOL, each.expr.is_not_null(), each.error, constant=each.constant) for each in args[:-1]
            ]
            return _chosen(expr.type, conditions, [each.failing(None) for each in args[:-1]] + [args[-1]])
        return _extreme(expr, args)


def _stopping(expr: Any) -> Any:
    """Rewrites AND and OR as CASE, which stops at a row's first false (true) operand, like PostgreSQL."""
    if not isinstance(expr, bound.BoolOp) or expr.op == "NOT":
        return expr
    end = bound.Constant(expr.op == "OR", BOOL)
    branches = tuple((bound.Test(each, "TRUE" if end.value else "FALSE"), end) for each in expr.args[:-1])
    return bound.Case(branches, expr, BOOL)


def _extreme(expr: bound.Choice, args: Sequence[Value]) -> Value:
    """Lowers GREATEST and LEAST: of equal values the first one; NULLs are ignored."""
    if is_keyed(expr.type):
        raise NotCarried(f"{expr.op} of {expr.type.plain}")
    values, bounds = _alike(expr.type, args)
    error = worst(*(each.error for each in values))
    suffixes = [suffix for suffix in lanes(expr.type) if suffix]

    def lane(value: Value, suffix: str) -> pl.Expr:
        return value.shown if suffix == "s" else value.part(suffix)

    best, others = values[0].expr, {suffix: lane(values[0], suffix) for suffix in suffixes}
    for each in values[1:]:
        told, left, right = turned(operator.gt if expr.op == "GREATEST" else operator.lt, each, Value(each.type, best))
        better = told(left.expr, right.expr)
        taken = best.is_null() | better.fill_null(False)
        others = {s: pl.when(taken).then(lane(each, s)).otherwise(held) for s, held in others.items()}
        best = pl.when(taken).then(each.expr).otherwise(best)
    return Value(expr.type, best, error, bounds, tuple(others.items()))


def _alike(kind: SqlType, values: Sequence[Value]) -> tuple[list[Value], Bounds]:
    """Converts values of which one is chosen: numerics to one scale and width. Also returns the bounds of all."""
    if kind.name != "numeric":
        known = [each.bounds or type_bounds(each.type) for each in values]
        limits = [each for each in known if each is not None]
        return list(values), (
            (min(b[0] for b in limits), max(b[1] for b in limits)) if len(limits) == len(known) else None
        )
    made = [fitting(each, kind) for each in values]
    limits = [bounds for _, bounds, _ in made if bounds is not None]
    bounds: Bounds = None
    if len(limits) == len(made):
        bounds = min(low for low, _ in limits), max(high for _, high in limits)
    wide = bounds is None or max(-bounds[0], bounds[1]) >= 2**63
    held = pl.Int128 if wide else pl.Int64
    return [
        replace(value, expr=expr.cast(held), error=worst(value.error, error))
        for value, (expr, _, error) in zip(values, made, strict=True)
    ], bounds


def _chosen(kind: SqlType, conditions: list[Value], values: list[Value]) -> Value:
    """Lowers CASE: the value of the first true condition, else the last value; only reached operands may fail."""
    conditions, values = _open(conditions, values)
    values, bounds = _alike(kind, values)
    reached: pl.Expr | None = None
    errors: list[Error] = []
    for condition, value in zip(conditions, values, strict=False):
        true = condition.expr.eq_missing(True)
        errors.append(condition.error if reached is None else masked(condition.error, reached))
        errors.append(masked(value.error, true if reached is None else reached & true))
        reached = ~true if reached is None else reached & ~true
    errors.append(values[-1].error if reached is None else masked(values[-1].error, reached))

    def chain(lane: Callable[[Value], pl.Expr]) -> pl.Expr:
        made = lane(values[-1])
        for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
            made = pl.when(condition.expr).then(lane(value)).otherwise(made)
        return made

    others: tuple[tuple[str, pl.Expr], ...] = ()
    if kind.name == "numeric" and kind.carried:
        others = (("s", chain(lambda each: each.shown)),)
    else:
        rest = [suffix for suffix in lanes(kind) if suffix]
        others = tuple((suffix, chain(lambda each, s=suffix: each.part(s))) for suffix in rest)  # type: ignore[misc]
    constant = not conditions and values[-1].constant
    return Value(kind, chain(lambda each: each.expr), worst(*errors), bounds, others, constant)


def _open(conditions: list[Value], values: list[Value]) -> tuple[list[Value], list[Value]]:
    """Removes constant conditions; returns the rest with their values and the default.

    With constant conditions Polars returns a single row for a whole frame, if all results of a nested CASE are
    constants.
    """
    left: tuple[list[Value], list[Value]] = [], []
    for condition, value in zip(conditions, values, strict=False):
        if not condition.constant:
            left[0].append(condition)
            left[1].append(value)
        elif pl.select(condition.expr).item():
            return left[0], [*left[1], value]
    return left[0], [*left[1], values[-1]]


_MADE_OF_CONSTANTS = (bound.Constant, bound.Parameter, bound.Row, bound.Array, bound.Cast)
_NAMES = {
    "Array": "ARRAY[…]",
    "Subscript": "array subscripts",
    "Field": "fields of records",
    "Row": "ROW(…)",
    "AnyArray": "ANY or ALL of an array",
    "ArraySubquery": "ARRAY(subquery)",
    "SetReturning": "a set-returning function",
    "Default": "DEFAULT",
}
