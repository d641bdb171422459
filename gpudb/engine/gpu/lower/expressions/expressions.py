"""Lowers expressions to values: three-valued logic, CASE, and errors only on branches that are reached."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.distance_calls import BIT_METRICS, METRICS
from gpudb.engine.gpu.lower.error_codes import Error, first_error, mask_error
from gpudb.engine.gpu.lower.expressions import text_codes
from gpudb.engine.gpu.lower.expressions.constants import comparison_key, constant_value
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.engine.gpu.lower.expressions.text_codes import CodedTexts
from gpudb.engine.gpu.lower.functions.casts import cast
from gpudb.engine.gpu.lower.functions.comparison import KEYED, equals, swap_constant
from gpudb.engine.gpu.lower.functions.numeric import rescale_checked
from gpudb.engine.gpu.lower.functions.registry import find_lowering
from gpudb.engine.gpu.lower.values import (
    Bounds,
    Value,
    check_length,
    column_value,
    is_keyed,
    literal_value,
    maximum,
    physical_columns,
    type_bounds,
)
from gpudb.errors import GpudbError
from gpudb.functions.registry import Function
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from gpudb.type_dispatch import dispatch_on_type
from gpudb.types import BOOL, SqlType
from gpudb.types.facts import INTEGERS


class ExpressionLowering:
    """Lowers expressions over one input; `bounds` are those of its columns.

    `host` evaluates what has no lowering. The values are valid over the input after the deferred steps have run on it.
    `texts` are the input's coded columns: what depends on one of them alone is computed over its dictionary.
    """

    def __init__(self, bounds: Sequence[Bounds], host: HostFallback, texts: CodedTexts = text_codes.NO_TEXTS) -> None:
        self._bounds = bounds
        self._host = host
        self._texts = texts
        self._lets: dict[int, tuple[Value, ...]] = {}
        self._reached: pl.Expr | None = None
        """The rows that reach what is lowered, within CASE, AND, OR and COALESCE; None: all."""
        self.deferred = DeferredSteps()

    def value(self, expr: Any) -> Value:
        """Lowers an expression; all of it falls back to the host if a part has no lowering."""
        index = text_codes.only_text_read(expr, self._texts) if self._texts else None
        if index is not None and (results := self._compute_once(expr, index)) is not None:
            return text_codes.take_results(results, index, expr.type)
        step_count = len(self.deferred.steps)
        try:
            return self._value(expr)
        except NotSupportedOnWorkers as error:
            self.deferred.roll_back(step_count)
            result = self.deferred.defer_to_host(self._host, _as_case(expr), self._texts)
            self._host.used.append(error.construct)
            return result

    def coded_value(self, expr: Any) -> tuple[Value, Dictionary] | None:
        """Returns a text as codes, and their dictionary, where it is a coded column or depends on one alone."""
        if not self._texts:
            return None
        if text_codes.is_coded(expr, self._texts):
            return self._value(text_codes.code_of(expr)), self._texts[expr.index]
        index = text_codes.only_text_read(expr, self._texts)
        if index is None or expr.type.name not in text_codes.TEXTS:
            return None
        results = self._compute_once(expr, index)
        if results is None or results.errors is not None:
            return None
        return text_codes.recode(results, index, self._texts[index])

    def _compute_once(self, expr: Any, index: int) -> text_codes.TextResults | None:
        def lower(expr: Any) -> Value | None:
            used = len(self._host.used)
            plain = ExpressionLowering((None,) * (index + 1), self._host)
            value = plain.value(expr)
            if plain.deferred.steps:
                del self._host.used[used:]
                return None
            return value

        return text_codes.compute_once(expr, index, self._texts[index], self._host.timezone, lower)

    def _conditional_values(
        self, exprs: Sequence[Any], find_reached: Callable[[list[Value]], pl.Expr | None]
    ) -> list[Value]:
        """Lowers values of which all but the first may not be reached; host steps do not know such conditions.

        `find_reached` returns the rows that reach the value after some values (None: all).
        """
        outer = self._reached
        values = [self.value(exprs[0])]
        step_count = len(self.deferred.steps)
        try:
            for each in exprs[1:]:
                reached = find_reached(values)
                self._reached = reached if outer is None or reached is None else outer & reached
                values.append(self.value(each))
        finally:
            self._reached = outer
        if self.deferred.has_host_steps(step_count):
            raise NotSupportedOnWorkers("a condition over host functions")
        return values

    @dispatch_on_type
    def _value(self, expr: Any) -> Value:
        raise NotSupportedOnWorkers(_NAMES.get(type(expr).__name__, type(expr).__name__))

    def condition(self, expr: Any) -> tuple[pl.Expr, Error]:
        """Lowers a condition; returns a boolean and its error."""
        result = self.value(expr)
        return result.expr, result.error

    @_value.register
    def _(self, expr: bound.Column) -> Value:
        if expr.rel < 0:
            return self._lets[expr.rel][expr.index]
        if self._texts and text_codes.is_coded(expr, self._texts):
            return text_codes.decoded(expr.index, expr.type, self._texts[expr.index])
        return column_value(expr.index, expr.type, self._bounds[expr.index])

    @_value.register
    def _(self, expr: bound.Constant | bound.Parameter) -> Value:
        value = expr.value if isinstance(expr, bound.Constant) else self._host.parameters[expr.number - 1]
        try:
            return literal_value(value, expr.type)
        except NotSupportedOnWorkers:
            return constant_value(expr, self._host)

    def _lower_comparable(self, expr: Any) -> Value:
        """Lowers a value that is only compared: a constant's comparison key is sufficient."""
        if is_keyed(expr.type) and all(isinstance(node, _CONSTANT_NODES) for node in walk(expr)):
            try:
                return comparison_key(expr, self._host)
            except GpudbError:
                pass  # An error counts only for existing rows.
        return self.value(expr)

    @_value.register
    def _(self, expr: bound.Let) -> Value:
        values = tuple(self.value(each) for each in expr.values)
        self._lets[expr.rel] = tuple(each.with_error(None) for each in values)
        result = self.value(expr.body)
        return result.with_error(first_error(result.error, *(each.error for each in values)))

    @_value.register
    def _(self, expr: bound.Call) -> Value:
        args = tuple(map(self._lower_comparable if expr.function.name in KEYED else self.value, expr.args))
        if expr.function.code is not None:
            result = self.deferred.defer_function(expr.function.code, args, expr.type, self._reached)
        elif expr.function.name == "numeric_div":
            shown = maximum(args[0].display_scale, args[1].display_scale)
            result = self.deferred.defer_quotient(args[0], args[1], shown, expr.type)
        elif is_distance(expr.function):
            result = self.deferred.defer_distance(expr.function.name, args, expr.type)
        else:
            result = find_lowering(expr.function, utc=self._host.utc)(args, expr.type)
        errors = [each.error for each in args]
        return (
            result
            if not any(each is not None for each in errors)
            else result.with_error(first_error(result.error, *errors))
        )

    @_value.register
    def _(self, expr: bound.TreeScore) -> Value:
        args = [self.value(each) for each in expr.args]
        result = self.deferred.defer_score(expr, args)
        if expr.labels:
            labels = [literal_value(_label(each, expr.type), expr.type).expr for each in expr.labels]
            chosen = labels[-1]
            for number, label in reversed(list(enumerate(labels[:-1]))):
                chosen = pl.when(result.expr == number).then(label).otherwise(chosen)
            result = Value(expr.type, chosen, None, type_bounds(expr.type))
        return result.with_error(first_error(*(each.error for each in args)))

    @_value.register
    def _(self, expr: bound.Cast) -> Value:
        arg = self.value(expr.arg)
        result = cast(arg, expr.type, explicit=expr.explicit, utc=self._host.utc)
        return result if arg.error is None else result.with_error(first_error(result.error, arg.error))

    @_value.register
    def _(self, expr: bound.BoolOp) -> Value:
        parts = self._conditional_values(
            expr.args, lambda before: ~_combine(expr.op, before).eq_missing(expr.op == "OR")
        )
        if expr.op == "NOT":
            return Value(BOOL, ~parts[0].expr, parts[0].error)
        # PostgreSQL stops at the first false (true) operand: later errors count only if they are reached.
        result, errors = parts[0].expr, [parts[0].error]
        for part in parts[1:]:
            stopped = result.eq_missing(expr.op == "OR")
            errors.append(mask_error(part.error, ~stopped))
            result = result & part.expr if expr.op == "AND" else result | part.expr
        # Once over all of them: an error has each that it is made of twice, which doubles with each step.
        return Value(BOOL, result, first_error(*errors))

    @_value.register
    def _(self, expr: bound.Test) -> Value:
        arg = self.value(expr.arg)
        match expr.what:
            case "TRUE":
                result = arg.expr.eq_missing(True)
            case "FALSE":
                result = arg.expr.eq_missing(False)
            case _:
                result = arg.expr.is_null()
        return Value(BOOL, ~result if expr.negated else result, arg.error)

    @_value.register
    def _(self, expr: bound.DistinctFrom) -> Value:
        left, right = self._lower_comparable(expr.left), self._lower_comparable(expr.right)
        both = left.expr.is_null() & right.expr.is_null()
        same = both | equals(left, right).fill_null(False)
        return Value(BOOL, same if expr.negated else ~same, first_error(left.error, right.error))

    @_value.register
    def _(self, expr: bound.InList) -> Value:
        arg = self._lower_comparable(expr.arg)
        items = [self._lower_comparable(each) for each in expr.items]
        error = first_error(arg.error, *(each.error for each in items))
        dtypes = physical_columns(expr.arg.type)
        plain = len(dtypes) == 1 and dtypes[""] != pl.Binary and expr.arg.type.name != "numeric"
        if plain and all(each.constant for each in items):
            # One lookup in a list; a comparison for each item is slower.
            values = pl.select(each.expr.alias(f"{number}") for number, each in enumerate(items)).get_columns()
            known = pl.concat([each.cast(values[0].dtype) for each in values]).drop_nulls()
            result = arg.expr.is_in(known.implode())
            if len(known) < len(values):
                result = pl.when(result).then(True).otherwise(None)
        else:
            result = reduce(lambda a, b: a | b, [equals(arg, each) for each in items])
        return Value(BOOL, ~result if expr.negated else result, error)

    @_value.register
    def _(self, expr: bound.Case) -> Value:
        branches = [part for branch in expr.branches for part in branch]
        parts = self._conditional_values([*branches, expr.default], _find_reached_part)
        conditions, values = parts[:-1:2], [*parts[1::2], parts[-1]]
        return _choose(expr.type, conditions, values)

    @_value.register
    def _(self, expr: bound.Choice) -> Value:
        is_first = expr.op == "COALESCE"
        args = self._conditional_values(expr.args, lambda before: _are_null(before) if is_first else None)
        if expr.op == "COALESCE":
            conditions = [
                Value(BOOL, each.expr.is_not_null(), each.error, constant=each.constant) for each in args[:-1]
            ]
            return _choose(expr.type, conditions, [each.with_error(None) for each in args[:-1]] + [args[-1]])
        return _extreme(expr, args)


def _combine(op: str, parts: Sequence[Value]) -> pl.Expr:
    """Returns AND or OR of some values."""
    return reduce(operator.and_ if op == "AND" else operator.or_, (each.expr for each in parts))


def _are_null(values: Sequence[Value]) -> pl.Expr:
    return reduce(operator.and_, (each.expr.is_null() for each in values))


def _find_reached_part(before: Sequence[Value]) -> pl.Expr:
    """Returns the rows that reach the part of CASE after some conditions, each but the last with its value."""
    conditions = [each.expr.eq_missing(True) for each in before[::2]]
    *earlier, last = conditions
    reached = [~each for each in earlier]
    # After a condition comes its value; after a value the next condition, or the default.
    return reduce(operator.and_, [*reached, last if len(before) % 2 else ~last])


def _label(text: str, kind: SqlType) -> object:
    """Returns a label of a class as a value of a type."""
    return text == "true" if kind == BOOL else int(text) if kind.name in INTEGERS else text


def is_distance(function: Function) -> bool:
    """Returns whether a function is a distance that columns compute: of two vectors, or of two bit strings."""
    kinds = [each.name for each in function.args]
    if kinds in (["vector", "vector"], ["halfvec", "halfvec"]):
        return function.name in METRICS
    return kinds == ["bit", "bit"] and function.name in BIT_METRICS


def _as_case(expr: Any) -> Any:
    """Rewrites AND and OR as CASE, which stops at a row's first false (true) operand, like PostgreSQL."""
    if not isinstance(expr, bound.BoolOp) or expr.op == "NOT":
        return expr
    end = bound.Constant(expr.op == "OR", BOOL)
    branches = tuple((bound.Test(each, "TRUE" if end.value else "FALSE"), end) for each in expr.args[:-1])
    return bound.Case(branches, expr, BOOL)


def _extreme(expr: bound.Choice, args: Sequence[Value]) -> Value:
    """Lowers GREATEST and LEAST: of equal values the first one; NULLs are ignored."""
    if is_keyed(expr.type):
        raise NotSupportedOnWorkers(f"{expr.op} of {expr.type.plain}")
    values, bounds = _unify(expr.type, args)
    error = first_error(*(each.error for each in values))
    suffixes = [suffix for suffix in physical_columns(expr.type) if suffix]

    def part(value: Value, suffix: str) -> pl.Expr:
        return value.display_scale if suffix == "s" else value.part(suffix)

    best, others = values[0].expr, {suffix: part(values[0], suffix) for suffix in suffixes}
    for each in values[1:]:
        swapped, left, right = swap_constant(
            operator.gt if expr.op == "GREATEST" else operator.lt, each, Value(each.type, best)
        )
        better = swapped(left.expr, right.expr)
        is_better = best.is_null() | better.fill_null(False)
        others = {s: pl.when(is_better).then(part(each, s)).otherwise(chosen) for s, chosen in others.items()}
        best = pl.when(is_better).then(each.expr).otherwise(best)
    return Value(expr.type, best, error, bounds, tuple(others.items()))


def _unify(kind: SqlType, values: Sequence[Value]) -> tuple[list[Value], Bounds]:
    """Converts values of which one is chosen: numerics to one scale and width. Also returns the bounds of all."""
    if kind.name != "numeric":
        known = [each.limits for each in values]
        limits = [each for each in known if each is not None]
        return list(values), (
            (min(b[0] for b in limits), max(b[1] for b in limits)) if len(limits) == len(known) else None
        )
    result = [rescale_checked(each, kind) for each in values]
    limits = [bounds for _, bounds, _ in result if bounds is not None]
    bounds: Bounds = None
    if len(limits) == len(result):
        bounds = min(low for low, _ in limits), max(high for _, high in limits)
    wide = bounds is None or max(-bounds[0], bounds[1]) >= 2**63
    dtype = pl.Int128 if wide else pl.Int64
    return [
        replace(value, expr=expr.cast(dtype), raw=None, error=first_error(value.error, error))
        for value, (expr, _, error) in zip(values, result, strict=True)
    ], bounds


def _choose(kind: SqlType, conditions: list[Value], values: list[Value]) -> Value:
    """Lowers CASE: the value of the first true condition, else the last value; only reached operands may fail."""
    conditions, values = _drop_constant_conditions(conditions, values)
    check_length(kind, [value.type for value in values])
    values, bounds = _unify(kind, values)
    reached: pl.Expr | None = None
    errors: list[Error] = []
    for condition, value in zip(conditions, values, strict=False):
        true = condition.expr.eq_missing(True)
        errors.append(condition.error if reached is None else mask_error(condition.error, reached))
        errors.append(mask_error(value.error, true if reached is None else reached & true))
        reached = ~true if reached is None else reached & ~true
    errors.append(values[-1].error if reached is None else mask_error(values[-1].error, reached))

    def chain(part: Callable[[Value], pl.Expr]) -> pl.Expr:
        result = part(values[-1])
        for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
            result = pl.when(condition.expr).then(part(value)).otherwise(result)
        return result

    others: tuple[tuple[str, pl.Expr], ...] = ()
    if kind.name == "numeric" and kind.is_carried:
        others = (("s", chain(lambda each: each.display_scale)),)
    else:
        rest = [suffix for suffix in physical_columns(kind) if suffix]
        others = tuple((suffix, chain(lambda each, s=suffix: each.part(s))) for suffix in rest)  # type: ignore[misc]
    constant = not conditions and values[-1].constant
    return Value(kind, chain(lambda each: each.expr), first_error(*errors), bounds, others, constant)


def _drop_constant_conditions(conditions: list[Value], values: list[Value]) -> tuple[list[Value], list[Value]]:
    """Removes constant conditions; returns the rest with their values and the default.

    With constant conditions Polars returns a single row for a whole frame, if all results of a nested CASE are
    constants.
    """
    remaining: tuple[list[Value], list[Value]] = [], []
    for condition, value in zip(conditions, values, strict=False):
        if not condition.constant:
            remaining[0].append(condition)
            remaining[1].append(value)
        elif pl.select(condition.expr).item():
            return remaining[0], [*remaining[1], value]
    return remaining[0], [*remaining[1], values[-1]]


_CONSTANT_NODES = (bound.Constant, bound.Parameter, bound.Row, bound.Array, bound.Cast)
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
