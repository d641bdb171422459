"""Aggregates as states: a worker's partial state, the merge of states, and the final value.

A state is a row of columns. `count`, `sum`, `min` and the like have a small one. An aggregate without one (DISTINCT,
ordered, a variance) needs all rows of a group on one worker; its "state" is its value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt

import polars as pl

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.lower.error_codes import OVERFLOW, ROWS, error_if
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.functions.arithmetic import integer_result
from gpudb.engine.gpu.lower.functions.text import constant_text
from gpudb.engine.gpu.lower.groups import co_moments
from gpudb.engine.gpu.lower.groups.folds import state_names
from gpudb.engine.gpu.lower.values import MAX_INT64, Value, check_length, physical_columns, two_to_64, type_bounds
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.optimize.exact_moments import is_exact
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.sql import bound
from gpudb.types import INT8, MAX_DIGITS, SqlType, exact_numeric
from gpudb.types.facts import FLOATS, INTEGER_LIMITS, INTEGERS

_MAX_ROWS = 2**31
"""More rows than a segment has; bounds of sums assume it."""
_LIMIT = 10**MAX_DIGITS
DEVIATIONS = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")
"""Variances and standard deviations."""
SKETCHES = frozenset({"approx_count_distinct", "approx_percentile"})
"""Aggregates whose state is a sketch, in rows of its own (see `sketches`)."""


@dataclass(frozen=True, slots=True)
class State:
    """How one call is evaluated. Names of its state's columns begin with a prefix that the caller chooses.

    partial: over the arguments' values, without the rows that FILTER excludes. merge: over states. final: the value and
    its error from a merged state. narrow: the value, which cannot fail, from merged states that have been computed;
    None if an error is possible.
    """

    partial: Callable[[Sequence[Value], str], list[pl.Expr]]
    merge: Callable[[str], list[pl.Expr]]
    final: Callable[[str, DeferredSteps], Value]
    narrow: Callable[[str, ComputedFrame], Value | None] | None = None


def find_fold(call: bound.Aggregate) -> CudaAggregate | None:
    """Returns the aggregate of a call whose states merge; None for any other call."""
    fold = call.function.fold
    return None if fold is None or fold.combine is None or call.distinct or call.order_by else fold


def is_mergeable(call: bound.Aggregate) -> bool:
    """Returns whether a call has a small state; otherwise all rows of a group must be on one worker."""
    name = call.function.name
    if name in SKETCHES or find_fold(call) is not None:
        return True
    if (call.distinct and name not in {"min", "max"}) or not (
        name in _MERGEABLE or is_exact_deviation(call) or co_moments.is_co_moment(call)
    ):
        return False
    return unsupported_reason(call) is None


def is_exact_deviation(call: bound.Aggregate) -> bool:
    """Returns whether a call is a variance or standard deviation of integers, or of numerics of one scale."""
    if call.function.name not in DEVIATIONS or call.distinct:
        return False
    return is_exact(call.args[0].type)


def unsupported_reason(call: bound.Aggregate) -> str | None:
    """Returns why a call is evaluated on the host, over whole groups; None if it is lowered."""
    try:
        _state(call)
    except NotSupportedOnWorkers as error:
        return error.construct
    return None


def deviation_options(call: bound.Aggregate) -> tuple[int, bool, bool]:
    """Returns the decimals of an exact deviation's argument, whether it is a sample's, and whether its root."""
    kind, name = call.args[0].type, call.function.name
    scale = kind.numeric_digits[1] if kind.name == "numeric" else 0
    return scale, not name.endswith("_pop"), name.startswith("stddev")


def skips_nulls(call: bound.Aggregate) -> bool:
    """Returns whether a NULL argument is ignored: then FILTER sets arguments to NULL and keeps the rows."""
    name = call.function.name
    if co_moments.is_co_moment(call):
        return True
    return (name in _MERGEABLE and name != "single_value") or name in _WHOLE


def aggregate_state(call: bound.Aggregate) -> State:
    """Returns the state of a call; for a call evaluated on the host its value, which the caller computes."""
    return _state(call) if unsupported_reason(call) is None else _host_state(call)


def _state(call: bound.Aggregate) -> State:
    check_length(call.type, [arg.type for arg in call.args])
    if call.within_group:
        raise NotSupportedOnWorkers(f"{call.function.name} WITHIN GROUP")
    name = call.function.name
    if find_fold(call) is not None:
        return _fold_state(call)
    if name in SKETCHES:
        return _host_state(call)
    if name == "first_value":
        return _first_value_state(call)
    if name in _MERGEABLE and not (call.distinct and name not in {"min", "max", "bool_and", "bool_or", "every"}):
        return _MERGEABLE[name](call)
    if is_exact_deviation(call):
        return _exact_deviation_state(call)
    if co_moments.is_co_moment(call):
        return State(
            lambda args, name: co_moments.partial(args, name, call),
            lambda name: co_moments.merge(name, call),
            lambda name, deferred: co_moments.final(name, call, deferred),
        )
    if call.distinct or name in _WHOLE:
        return _whole_group_state(call)
    raise NotSupportedOnWorkers(f"aggregate {call.function}")


def _fold_state(call: bound.Aggregate) -> State:
    """Returns the state of a PL/CUDA aggregate, which `folds` makes and merges."""
    fold = find_fold(call)
    assert fold is not None
    names = partial(state_names, fold)

    def refuse(_args: Sequence[Value], _name: str) -> list[pl.Expr]:
        raise NotSupportedOnWorkers(f"a partial aggregate {call.function}")

    return State(
        refuse,
        lambda name: [pl.col(each).first() for each in names(name)],
        lambda name, deferred: deferred.defer_finish(fold, names(name), call.type),
    )


def _count_state(call: bound.Aggregate) -> State:
    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        result = args[0].expr.count() if args else pl.len()
        return [result.cast(pl.Int64).alias(name)]

    return State(
        partial,
        lambda name: [pl.col(name).sum()],
        lambda name, _: Value(call.type, pl.col(name), None, (0, 2**62)),
    )


MAX_PARTIAL_SUM = 2**112
"""Partial sums are less: 16,384 of them, one a share, add up to at most 38 digits."""


def may_overflow(call: bound.Aggregate, value: Value) -> bool:
    """Returns whether a partial sum of such values may overflow, judged by known bounds alone."""
    largest = _largest_summed(call, _MAX_ROWS)
    if largest is None:
        return False
    limits = value.limits
    return limits is None or max(-limits[0], limits[1]) > largest


def _largest_summed(call: bound.Aggregate, rows: int) -> int | None:
    """Returns the largest value of which a call's sums over some rows surely fit; None if any value does."""
    if is_exact_deviation(call):
        return MAX_INT64
    if co_moments.is_co_moment(call):
        return isqrt(MAX_PARTIAL_SUM // max(rows, 1))
    summed = call.function.name in {"sum", "avg"} and call.args[0].type.name == "numeric"
    return MAX_PARTIAL_SUM // max(rows, 1) if summed else None


def check_sums(computed: ComputedFrame, columns: Sequence[tuple[str, bound.Aggregate]]) -> None:
    """Raises NotSupportedOnWorkers if a call's sums of a column's values may overflow, for any grouping."""
    for name, call in columns:
        least, largest = computed.min_integer(name), computed.max_integer(name)
        limit = _largest_summed(call, computed.rows)
        if least is not None and largest is not None and limit is not None and max(-least, largest) > limit:
            raise NotSupportedOnWorkers("a sum that may exceed 128 bits")


def is_narrow(value: Value) -> bool:
    """Returns whether 64 bits hold every sum of such values."""
    most = _sum_bound(value)
    return most is not None and most < 2**63


def _sum_bound(value: Value) -> int | None:
    """Returns a bound of the absolute value of any sum of such values; None without bounds."""
    limits = value.limits
    return None if limits is None else max(-limits[0], limits[1]) * _MAX_ROWS


def _partial_sum(value: Value, name: str) -> list[pl.Expr]:
    widened = value.expr.cast(pl.Int64) if is_narrow(value) else value.expr.cast(pl.Int128)
    result = [widened.sum().cast(pl.Int128).alias(name), value.expr.count().cast(pl.Int64).alias(name + "n")]
    if value.type.is_carried:
        # A NULL has no display scale, whatever its expression has.
        result.append(pl.when(value.expr.is_not_null()).then(value.display_scale).max().alias(name + "s"))
    return result


def _merge_sums(kind: SqlType, name: str) -> list[pl.Expr]:
    result = [pl.col(name).sum(), pl.col(name + "n").sum()]
    return [*result, pl.col(name + "s").max()] if kind.is_carried else result


def _total(name: str) -> pl.Expr:
    return pl.when(pl.col(name + "n") > 0).then(pl.col(name)).otherwise(None)


def _sum_state(call: bound.Aggregate) -> State:
    kind = call.args[0].type
    if kind.name in FLOATS:
        return _float_state(call, average=False)
    if kind.name not in INTEGERS | {"numeric", "money"}:
        raise NotSupportedOnWorkers(f"sum of {kind.plain}")

    def final(name: str, deferred: DeferredSteps) -> Value:
        total = _total(name)
        if call.type.name in INTEGERS:
            return integer_result(total, call.type, None)
        if call.type.name == "money":
            return replace(integer_result(total, INT8, None), type=call.type)
        others = (("s", pl.col(name + "s")),) if call.type.is_carried else ()
        return Value(call.type, total, None, (1 - _LIMIT, _LIMIT - 1), others)

    def narrow(name: str, computed: ComputedFrame) -> Value | None:
        if not computed.rows or not computed.fits_int64(name):
            return None
        counts = computed.min_integer(name + "n")
        total = pl.col(name) if counts is not None and counts > 0 else _total(name)
        others = (("s", pl.col(name + "s")),) if call.type.is_carried else ()
        return Value(call.type, total, None, INTEGER_LIMITS["int8"], others)

    return State(lambda args, name: _partial_sum(args[0], name), lambda name: _merge_sums(kind, name), final, narrow)


def _avg_state(call: bound.Aggregate) -> State:
    kind = call.args[0].type
    if kind.name in FLOATS:
        return _float_state(call, average=True)
    if kind.name not in INTEGERS | {"numeric"}:
        raise NotSupportedOnWorkers(f"avg of {kind.plain}")
    scale = kind.numeric_digits[1] if kind.name == "numeric" else 0

    def final(name: str, deferred: DeferredSteps) -> Value:
        filled = pl.when(pl.col(name + "n") > 0).then(pl.col(name + "n")).otherwise(None)
        count = Value(SqlType("int8"), filled, None, (1, 2**62))
        shown = pl.col(name + "s") if kind.is_carried else pl.lit(scale, pl.Int8)
        total = Value(exact_numeric(MAX_DIGITS, scale), _total(name))
        return deferred.defer_quotient(total, count, shown, call.type).with_error(None)

    return State(lambda args, name: _partial_sum(args[0], name), lambda name: _merge_sums(kind, name), final)


def _exact_deviation_state(call: bound.Aggregate) -> State:
    """Returns the state of a variance or standard deviation of exact numbers: their count, sum, and sum of squares."""
    kind = call.args[0].type
    scale, sample, root = deviation_options(call)

    wide = has_wide_squares(kind)

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        value = args[0].expr.cast(pl.Int128)
        square = value * value
        result = _partial_sum(args[0], name)
        if not wide:
            return [*result, square.sum().cast(pl.Int128).alias(name + "q")]
        high = square // two_to_64()
        low = square - high * two_to_64()
        return [*result, *(part.sum().cast(pl.Int128).alias(name + at) for part, at in ((low, "q"), (high, "r")))]

    return State(
        partial,
        lambda name: [*_merge_sums(kind, name), *(pl.col(name + at).sum() for at in ("qr" if wide else "q"))],
        lambda name, deferred: deferred.defer_deviation(name, scale, call.type, wide=wide, sample=sample, root=root),
    )


def has_wide_squares(kind: SqlType) -> bool:
    """Returns whether sums of a type's squares may exceed 128 bits: the state then has their high words too.

    The square of a value is low + high × 2⁶⁴; the state's column "q" is the sum of the low words, "r" of the high ones.
    """
    limits = type_bounds(kind)
    assert limits is not None
    return limits[1] ** 2 * _MAX_ROWS >= MAX_PARTIAL_SUM


def _float_state(call: bound.Aggregate, *, average: bool) -> State:
    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        value = args[0].expr.cast(pl.Float64)
        return [
            value.sum().alias(name),
            value.count().cast(pl.Int64).alias(name + "n"),
            value.is_infinite().fill_null(False).cast(pl.Int8).max().alias(name + "i"),
        ]

    def final(name: str, deferred: DeferredSteps) -> Value:
        total = pl.when(pl.col(name + "n") > 0).then(pl.col(name)).otherwise(None)
        result = total / pl.col(name + "n") if average else total
        if call.type.name == "float4":
            result = result.cast(pl.Float32)
        return Value(call.type, result, error_if(result.is_infinite() & (pl.col(name + "i") == 0), OVERFLOW))

    return State(partial, lambda name: [pl.col(name).sum(), pl.col(name + "n").sum(), pl.col(name + "i").max()], final)


def _extreme_state(call: bound.Aggregate) -> State:
    kind = call.args[0].type
    largest = call.function.name == "max"
    floats = kind.name in FLOATS

    def pick(value: pl.Expr) -> pl.Expr:
        if floats:
            # NaN is the greatest: one NaN makes max NaN; min is NaN only if all are.
            real, nan = value.fill_nan(None), pl.lit(float("nan"))
            numbers, values = real.count(), value.count()
            if largest:
                return pl.when(values > numbers).then(nan).otherwise(real.max())
            return pl.when(numbers > 0).then(real.min()).when(values > 0).then(nan).otherwise(None)
        return value.max() if largest else value.min()

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        result = [(suffix, at_end(expr, args[0].expr)) for suffix, expr in args[0].others]
        first = pick(args[0].expr).cast(physical_columns(call.type)[""]).alias(name)
        return [first, *(expr.alias(name + suffix) for suffix, expr in result)]

    def at_end(column: pl.Expr, key: pl.Expr) -> pl.Expr:
        # Of equal values the first row's, as in the embedded engine.
        return column.sort_by(key, descending=largest, nulls_last=True, maintain_order=True).first()

    rest = [suffix for suffix in physical_columns(kind) if suffix]

    def merge(name: str) -> list[pl.Expr]:
        others = [at_end(pl.col(name + suffix), pl.col(name)).alias(name + suffix) for suffix in rest]
        return [pick(pl.col(name)).alias(name), *others]

    def final(name: str, deferred: DeferredSteps) -> Value:
        return Value(call.type, pl.col(name), None, limits, tuple((s, pl.col(name + s)) for s in rest))

    limits = type_bounds(call.type)
    return State(partial, merge, final)


def _boolean_state(call: bound.Aggregate) -> State:
    every = call.function.name != "bool_or"

    def pick(value: pl.Expr) -> pl.Expr:
        return value.min() if every else value.max()

    return State(
        lambda args, name: [pick(args[0].expr).alias(name)],
        lambda name: [pick(pl.col(name)).alias(name)],
        lambda name, _: Value(call.type, pl.col(name)),
    )


def _single_value_state(call: bound.Aggregate) -> State:
    """The value of a scalar subquery of at most one row: 21000 for more."""

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        parts = [(name, args[0].expr.cast(physical_columns(call.type)[""]))]
        parts += [(name + suffix, expr) for suffix, expr in args[0].others]
        return [*(expr.first().alias(at) for at, expr in parts), pl.len().cast(pl.Int64).alias(name + "n")]

    def merge(name: str) -> list[pl.Expr]:
        return [
            *(_single_value(name + suffix, kind) for suffix, kind in physical_columns(call.type).items()),
            pl.col(name + "n").sum(),
        ]

    def final(name: str, deferred: DeferredSteps) -> Value:
        others = tuple((suffix, pl.col(name + suffix)) for suffix in physical_columns(call.type) if suffix)
        error = error_if(pl.col(name + "n") > 1, ROWS)
        return Value(call.type, pl.col(name), error, type_bounds(call.type), others)

    return State(partial, merge, final)


def _single_value(name: str, kind: pl.DataType) -> pl.Expr:
    """Returns the value of the one state that has one: the others are of no rows, and NULL."""
    value = pl.col(name)
    return value.drop_nulls().first() if kind.is_nested() else value.max()


# -------------------------------------------------------------------------------------------- whole groups


def _host_state(call: bound.Aggregate) -> State:
    """Returns the state of a call that was evaluated on the host, whose columns are present."""
    names = tuple(physical_columns(call.type))

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        raise NotSupportedOnWorkers(f"a partial aggregate {call.function}")

    def final(name: str, deferred: DeferredSteps) -> Value:
        others = tuple((suffix, pl.col(name + suffix)) for suffix in names if suffix)
        return Value(call.type, pl.col(name), None, type_bounds(call.type), others)

    return State(partial, lambda name: [pl.col(name + suffix).first() for suffix in names], final)


def _first_value_state(call: bound.Aggregate) -> State:
    """The value of the first row in the call's order."""

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        columns = [("", args[0].expr.cast(physical_columns(call.type)[""])), *args[0].others]
        ordered = [(suffix, _sort(expr, args[1:], call)) for suffix, expr in columns]
        return [expr.first().alias(name + suffix) for suffix, expr in ordered]

    return replace(_host_state(call), partial=partial)


def _whole_group_state(call: bound.Aggregate) -> State:
    """Returns the state of an aggregate over all rows of its group at once."""
    name = call.function.name
    compute = _WHOLE.get(name)
    if call.distinct and name in {"count", "sum", "avg"}:
        return _distinct_state(call)
    if compute is None or (call.distinct and not (name == "string_agg" and _sorts_itself(call))):
        raise NotSupportedOnWorkers(f"{name}(DISTINCT …)" if call.distinct else f"aggregate {call.function}")
    if name in DEVIATIONS and call.args[0].type.name not in FLOATS:
        raise NotSupportedOnWorkers(f"{name} of exact numbers")
    if name == "string_agg" and not (isinstance(call.args[1], bound.Constant) and isinstance(call.args[1].value, str)):
        raise NotSupportedOnWorkers("string_agg of bytea, or with a separator that is not constant")
    if any(len(physical_columns(key.expr.type)) > 1 for key in call.order_by):
        raise NotSupportedOnWorkers(f"{name} ordered by values of several columns")

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        return [compute(args, call).alias(name)]

    return State(
        partial,
        lambda name: [pl.col(name).first()],
        lambda name, _: Value(call.type, pl.col(name), None, type_bounds(call.type)),
    )


def _distinct_state(call: bound.Aggregate) -> State:
    plain = _MERGEABLE[call.function.name](call)
    if len(physical_columns(call.args[0].type)) > 1 and call.function.name != "count":
        raise NotSupportedOnWorkers("DISTINCT of numerics of varying scale")

    def partial(args: Sequence[Value], name: str) -> list[pl.Expr]:
        value = args[0]
        if call.function.name == "count":
            # Over no rows cuDF returns NULL.
            return [value.expr.drop_nulls().n_unique().cast(pl.Int64).fill_null(0).alias(name)]
        unique = Value(value.type, value.expr.unique(), None, value.bounds)
        return plain.partial((unique,), name)

    return State(partial, plain.merge, plain.final)


Whole = Callable[[Sequence[Value], bound.Aggregate], pl.Expr]
"""From the arguments' values, followed by those of the sort keys, to the aggregate of a group."""


def _deviation(name: str) -> Whole:
    ddof = 0 if name.endswith("_pop") else 1

    def compute(args: Sequence[Value], call: bound.Aggregate) -> pl.Expr:
        value = args[0].expr.cast(pl.Float64)
        return value.std(ddof) if name.startswith("stddev") else value.var(ddof)

    return compute


def _sort(expr: pl.Expr, keys: Sequence[Value], call: bound.Aggregate) -> pl.Expr:
    """Sorts a physical column by the call's ORDER BY."""
    # A constant sorts nothing, and its column lacks the group's length.
    sort_keys = [(key.expr, by) for key, by in zip(keys, call.order_by, strict=True) if not key.constant]
    if not sort_keys:
        return expr
    down, last = [key.descending for _, key in sort_keys], [not key.nulls_first for _, key in sort_keys]
    return expr.sort_by([by for by, _ in sort_keys], descending=down, nulls_last=last)


def _sorts_itself(call: bound.Aggregate) -> bool:
    """Returns whether distinct texts are sorted by themselves."""
    return len(call.order_by) == 1 and call.order_by[0].expr == call.args[0] and call.args[0].type.name != "bpchar"


def _string_agg(args: Sequence[Value], call: bound.Aggregate) -> pl.Expr:
    between = constant_text(args[1])
    if call.distinct:
        texts = args[0].expr.drop_nulls().unique().sort(descending=call.order_by[0].descending)
    else:
        texts = _sort(args[0].expr, args[len(call.args) :], call).drop_nulls()
    # Joining no texts, cuDF returns no row and Polars an empty text: max() makes one row.
    return pl.when(texts.len() > 0).then(texts.str.join(between).max()).otherwise(None)


_MERGEABLE: dict[str, Callable[[bound.Aggregate], State]] = {
    "count": _count_state,
    "sum": _sum_state,
    "avg": _avg_state,
    "min": _extreme_state,
    "max": _extreme_state,
    "bool_and": _boolean_state,
    "every": _boolean_state,
    "bool_or": _boolean_state,
    "single_value": _single_value_state,
    "any_value": _extreme_state,
}
_WHOLE: dict[str, Whole] = {
    "string_agg": _string_agg,
    **{name: _deviation(name) for name in DEVIATIONS},
}
