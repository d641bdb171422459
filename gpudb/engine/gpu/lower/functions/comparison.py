"""Comparisons. Polars orders text by bytes and NaN as the greatest, as PostgreSQL does under collation C."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.functions.dates import to_timestamp
from gpudb.engine.gpu.lower.functions.numeric import rescale_for_comparison
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import Value, is_keyed, is_packed
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import BOOL, SqlType

Operator = Callable[[Any, Any], Any]
_OPS: dict[str, Operator] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_SWAPPED: dict[Operator, Operator] = {
    operator.eq: operator.eq,
    operator.ne: operator.ne,
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}
_PLAIN = (
    "bool int2 int4 int8 int24 int42 int28 int82 int48 int84 bpchar date_ time_ timestamp_ timestamptz_ uuid_ oid"
    " interval_ enum_ cash_ bytea timetz_ network_ macaddr_ macaddr8_ bit varbit vector_"
    " halfvec_ sparsevec_"
)
_FLOATS = "float4 float8 float48 float84"
_KEYED = "array_ record_ range_ multirange_ jsonb_"
_ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")
KEYED = frozenset(f"{family}{suffix}" for family in _KEYED.split() for suffix in _ORDERS)
"""Comparisons of types that compare by a key; keys of two different types are incompatible."""


def swap_constant(op: Operator, left: Value, right: Value) -> tuple[Operator, Value, Value]:
    """Swaps operands so that a constant is on the right: beside a column of one value Polars returns a single row.

    Source: Polars 1.44, whose cross join with one row produces such columns.
    """
    return (_SWAPPED[op], right, left) if left.constant and not right.constant else (op, left, right)


def check_packed(left: SqlType, right: SqlType) -> None:
    """Raises NotSupportedOnWorkers for bit strings of different lengths, whose bytes are not comparable."""
    if (is_packed(left) or is_packed(right)) and left.length != right.length:
        raise NotSupportedOnWorkers(f"{left.plain} compared with {right.plain} of another length")


def compare(op: Operator, left: Value, right: Value) -> Value:
    """Compares two values of one type, or two integers or numerics."""
    op, left, right = swap_constant(op, left, right)
    if "numeric" in {left.type.name, right.type.name}:
        scale = max(left.scale, right.scale)
        return Value(BOOL, op(rescale_for_comparison(left, scale), rescale_for_comparison(right, scale)))
    check_packed(left.type, right.type)
    if is_keyed(left.type) and left.type != right.type:
        raise NotSupportedOnWorkers(f"{left.type.plain} compared with {right.type.plain}")
    return Value(BOOL, op(left.expr, right.expr))


def equals(left: Value, right: Value) -> pl.Expr:
    """Returns whether two values are equal; NULL if either is NULL."""
    return compare(operator.eq, left, right).expr


def _declare(suffix: str, op: Operator) -> None:
    families = [f"{family}{suffix}" for family in (*_PLAIN.split(), *_KEYED.split())]
    families += [f"text{suffix}" if suffix in {"eq", "ne"} else f"text_{suffix}", f"numeric_{suffix}"]

    @lowers(" ".join(families))
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        return compare(op, *args)

    @lowers(" ".join(f"{family}{suffix}" for family in _FLOATS.split()))
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        swapped, left, right = swap_constant(op, *args)
        return Value(BOOL, swapped(left.expr.cast(pl.Float64), right.expr.cast(pl.Float64)))

    @lowers(f"date_{suffix}_timestamp timestamp_{suffix}_date")
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        swapped, left, right = swap_constant(op, *args)
        return Value(BOOL, swapped(to_timestamp(left.expr, left.type), to_timestamp(right.expr, right.type)))


for _suffix, _op in _OPS.items():
    _declare(_suffix, _op)


def _declare_count(name: str, test: Callable[[pl.Expr], pl.Expr]) -> None:
    @lowers(name)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        return Value(
            kind, reduce(operator.add, [test(each.expr).cast(pl.Int32) for each in args]), None, (0, len(args))
        )


_declare_count("num_nulls(any)", lambda value: value.is_null())
_declare_count("num_nonnulls(any)", lambda value: value.is_not_null())
