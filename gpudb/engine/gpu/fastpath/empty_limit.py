"""LIMIT $1 of 0: a plan is made once for all its parameters, and what asks for no rows needs no worker."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.sql import bound


def asks_for_none(query: bound.Query, parameters: Sequence[object]) -> bool:
    """Whether a query's LIMIT is a parameter that is 0, and its OFFSET one or a constant that is no error."""

    def value(expr: bound.Expr | None) -> object:
        return parameters[expr.number - 1] if isinstance(expr, bound.Parameter) else getattr(expr, "value", None)

    if not isinstance(query.limit, bound.Parameter) or value(query.limit) != 0:
        return False
    known = query.offset is None or isinstance(query.offset, bound.Parameter | bound.Constant)
    offset = value(query.offset)
    return known and (offset is None or (isinstance(offset, int) and offset >= 0))
