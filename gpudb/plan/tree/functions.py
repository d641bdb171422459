"""Functions that plans call: look-up of PostgreSQL's, internal ones, and calls that several modules build."""

from __future__ import annotations

from typing import Any

from gpudb.functions import library
from gpudb.functions.library import Function
from gpudb.sql import bound
from gpudb.types import INT8, SqlType

SINGLE = Function(0, "single_value", (), SqlType("any"), "a", strict=False)
"""Internal aggregate: the value of at most one row; NULL without rows, error 21000 for more than one."""
FIRST = Function(0, "first_value", (), SqlType("any"), "a", strict=False)
"""Internal aggregate: the first row's value in its order; NULL without rows."""
NOT_IN = Function(0, "not_in", (), SqlType("bool"), "f", strict=False)
"""Comparison of NOT IN's null-aware anti-join: true where the left value equals the right, or either is NULL."""

COUNTS = {"count", "regr_count", "approx_count_distinct"}
"""Aggregates whose value over no rows is 0; that of others is NULL."""


def find_function(name: str, *args: SqlType) -> Function:
    """Returns one of PostgreSQL's functions, by the types of its arguments."""
    for each in library.functions_by_name()[name]:
        if tuple(arg.name for arg in each.args) == tuple(arg.name for arg in args):
            return each
    raise LookupError(name)


def count_rows(condition: Any | None = None) -> bound.Aggregate:
    """Returns count(*), of the rows for which a condition is true."""
    return bound.Aggregate(find_function("count"), (), INT8, filter=condition, star=True)


def cast_to(expr: Any, kind: SqlType) -> Any:
    """Casts an expression if its type differs."""
    return expr if expr.type == kind or expr.type.plain == kind else bound.Cast(expr, kind)
