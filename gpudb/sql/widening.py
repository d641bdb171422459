"""Casts that change no value, and expressions without them."""

from __future__ import annotations

from typing import Any

from gpudb.sql import bound

WIDENING_CASTS = frozenset({("int2", "int4"), ("int2", "int8"), ("int4", "int8"), ("varchar", "text")})
"""Pairs of source and target type."""


def bare(expr: Any) -> Any:
    """Strips casts that change no value from a column."""
    while (
        isinstance(expr, bound.Cast)
        and (expr.arg.type.name, expr.type.name) in WIDENING_CASTS
        and expr.type.modifier == -1
    ):
        expr = expr.arg
    return expr
