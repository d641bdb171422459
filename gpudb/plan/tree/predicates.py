"""Predicates that planning looks into: equalities that can be join keys, ORs with common parts, plain queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudb.functions.library import Function, functions_by_name
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns, split_conjuncts, walk
from gpudb.sql.widening import bare
from gpudb.types import INT8, SqlType
from gpudb.types.facts import INTEGERS

EQUALITIES = frozenset(
    "booleq int2eq int4eq int8eq int24eq int42eq int28eq int82eq int48eq int84eq float4eq float8eq float48eq float84eq"
    " texteq bpchareq byteaeq date_eq time_eq timestamp_eq timestamptz_eq uuid_eq numeric_eq oideq nameeq".split()
)
"""Functions of `=` under which equal values hash alike once both have one type (`common_key_type`)."""


def match_equality(expr: Any) -> tuple[Any, Any] | None:
    """Returns the sides of an equality that could be a join key: both read columns and have a common type."""
    if not isinstance(expr, bound.Call) or expr.function.name not in EQUALITIES or len(expr.args) != 2:
        return None
    left, right = expr.args
    if common_key_type(left.type, right.type) is None:
        return None
    if not (reads_columns(left) and reads_columns(right)):
        return None
    return left, right


def match_column_equality(expr: Any) -> tuple[bound.Column, bound.Column] | None:
    """Returns the two columns of an equality between relations, the only join key that the planner reports."""
    sides = match_equality(expr)
    if sides is None:
        return None
    left, right = (bare(each) for each in sides)
    if not isinstance(left, bound.Column) or not isinstance(right, bound.Column) or left.rel == right.rel:
        return None
    return (left, right) if common_key_type(left.type, right.type) is not None else None


def factor_disjunction(expr: Any) -> tuple[Any, ...]:
    """Splits a condition into conjuncts: parts common to all arms of an OR become conditions beside it."""
    first, *others = _split_disjuncts(expr)
    if not others:
        return (expr,)
    common = tuple(part for part in first if all(part in arm for arm in others))
    if not common:
        return (expr,)
    rests = [tuple(part for part in arm if part not in common) for arm in (first, *others)]
    if not all(rests):
        return common
    return (*common, bound.BoolOp("OR", tuple(map(_and, rests))))


def implied_predicate(expr: Any, concerns: Callable[[Any], bool]) -> Any | None:
    """Returns what an OR implies for some rows alone: the parts of each arm that concern them; None if an arm has
    none.
    """
    arms = [tuple(filter(concerns, arm)) for arm in _split_disjuncts(expr)]
    return bound.BoolOp("OR", tuple(map(_and, arms))) if len(arms) > 1 and all(arms) else None


def _split_disjuncts(expr: Any) -> list[tuple[Any, ...]]:
    """Returns the arms of an OR, each as its conjuncts; any other expression is one arm."""
    if isinstance(expr, bound.BoolOp) and expr.op == "OR":
        return [arm for each in expr.args for arm in _split_disjuncts(each)]
    return [split_conjuncts(expr)]


def _and(parts: tuple[Any, ...]) -> Any:
    return parts[0] if len(parts) == 1 else bound.BoolOp("AND", parts)


def common_key_type(left: SqlType, right: SqlType) -> SqlType | None:
    """Returns the type to which both sides of an equality are cast, so that equal values are identical; None if none
    exists.
    """
    if left.is_carried or right.is_carried or "jsonb" in {left.name, right.name}:
        return None
    if left.name == right.name == "numeric":
        (p, s), (q, t) = left.numeric_digits, right.numeric_digits
        scale, whole = max(s, t), max(p - s, q - t)
        return SqlType("numeric", -1, (whole + scale, scale)) if whole + scale <= 38 else None
    if left.name == right.name:
        return left.plain
    if left.name in INTEGERS and right.name in INTEGERS:
        return INT8
    if {left.name, right.name} == {"float4", "float8"}:
        return SqlType("float8")
    if {left.name, right.name} <= {"text", "varchar", "name"}:
        return SqlType("text")
    return None


def equality_function(kind: SqlType) -> Function:
    """Returns the function of `=` between two values of one type."""
    names = {
        "bool": "booleq",
        "text": "texteq",
        "varchar": "texteq",
        "bpchar": "bpchareq",
        "bytea": "byteaeq",
        "name": "nameeq",
    }
    name = names.get(kind.name)
    for candidate in (name,) if name else (f"{kind.name}eq", f"{kind.name}_eq"):
        if candidate in functions_by_name():
            return functions_by_name()[candidate][0]
    raise LookupError(kind.name)


def is_plain_core(query: bound.Query) -> bool:
    """Returns whether a query has joins, conditions, groups and DISTINCT alone, which the planner's text can
    express.
    """
    if not isinstance(query, bound.Select) or query.grouping_sets is not None:
        return False
    if query.limit is not None or query.offset is not None or not isinstance(query.distinct, bool):
        return False
    above = (*query.targets, *((query.having,) if query.having is not None else ()))
    return not any(isinstance(node, bound.Window | bound.SetReturning) for each in above for node in walk(each))
