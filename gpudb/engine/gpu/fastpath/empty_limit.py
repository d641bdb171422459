"""Detects LIMIT $1 with a value of 0: a plan serves all parameters, and a query without rows needs no worker."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.sql import bound


def has_empty_limit(query: bound.Query, parameters: Sequence[object]) -> bool:
    """Returns whether a query's LIMIT is a parameter of value 0, and its OFFSET valid and known."""

    def value(expr: bound.Expr | None) -> object:
        return parameters[expr.number - 1] if isinstance(expr, bound.Parameter) else getattr(expr, "value", None)

    if not isinstance(query.limit, bound.Parameter) or value(query.limit) != 0:
        return False
    known = query.offset is None or isinstance(query.offset, bound.Parameter | bound.Constant)
    offset = value(query.offset)
    return known and (offset is None or (isinstance(offset, int) and offset >= 0))
