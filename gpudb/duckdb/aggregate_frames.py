"""Input rows of aggregates and window functions: the rows that FILTER keeps, and the frame clause."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail
from gpudb.types.facts import INTEGERS

WHOLE_PARTITION = bound.Frame("ROWS", "UNBOUNDED PRECEDING", None, "UNBOUNDED FOLLOWING", None)
"""The whole partition."""


def guard_arguments(args: Sequence[bound.Expr], keep: bound.Expr | None) -> tuple[bound.Expr, ...]:
    """Returns arguments that are evaluated only for rows that FILTER keeps, if they may fail for other rows.

    DuckDB evaluates arguments before it filters.
    """
    if keep is None:
        return tuple(args)
    return tuple(
        bound.Case(((keep, arg),), bound.Constant(None, arg.type), arg.type) if may_fail(arg) else arg for arg in args
    )


def has_integer_offsets(window: bound.Window) -> bool:
    """Returns whether a RANGE frame has offsets over an integer sort key.

    There a bound beyond the type's range is unbounded and raises no error.
    """
    frame = window.frame
    if frame is None or frame.unit != "RANGE" or len(window.order_by) != 1:
        return False
    offsets = frame.start_offset is not None or frame.end_offset is not None
    return offsets and window.order_by[0].expr.type.name in INTEGERS


def widen(value: str) -> str:
    """Casts an integer to HUGEINT, so that adding an offset cannot overflow."""
    return f"CAST({value} AS HUGEINT)"


def render_frame(frame: bound.Frame, render: Callable[[bound.Expr], str], *, wide: bool) -> str:
    """Renders a frame clause. With `wide` its offsets are widened as the sort key is."""

    def render_bound(kind: str, offset: bound.Expr | None, name: str) -> str:
        if offset is None:
            return kind
        value = render(offset)
        if isinstance(offset, bound.Constant):
            _check_offset(offset, frame.unit, name)
        else:
            null = f"CAST(pg_error('22004', 'frame {name} offset must not be null') AS {offset.type.duckdb})"
            value = f"coalesce({value}, {null})" if frame.unit == "RANGE" else f"pg_frame_rows({value}, '{name}')"
        return f"{widen(value) if wide else value} {kind}"

    exclude = f" EXCLUDE {frame.exclude}" if frame.exclude else ""
    start = render_bound(frame.start, frame.start_offset, "starting")
    end = render_bound(frame.end, frame.end_offset, "ending")
    return f"{frame.unit} BETWEEN {start} AND {end}{exclude}"


def _check_offset(offset: bound.Constant, unit: str, name: str) -> None:
    """Raises 22004 or 22013 for a NULL, negative or NaN offset, even without rows; 0A000 for an infinite one."""
    if offset.value is None:
        raise SqlError.of("null_value_not_allowed", f"frame {name} offset must not be null")
    if unit != "RANGE" and isinstance(offset.value, int) and offset.value < 0:
        raise SqlError.of("invalid_preceding_or_following_size", f"frame {name} offset must not be negative")
    if isinstance(offset.value, float) and math.isnan(offset.value):
        message = "invalid preceding or following size in window function"
        raise SqlError.of("invalid_preceding_or_following_size", message)
    if isinstance(offset.value, float) and math.isinf(offset.value):
        raise FeatureNotSupported("an infinite distance in a window frame is not supported")
