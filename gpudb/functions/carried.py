"""The layout of carried numerics: how many of their 38 digits are decimals, chosen for a statement when it is bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from gpudb.errors import LOST_DECIMALS, NUMERIC_OVERFLOW, GpudbError, NumericOutOfRange
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact_numeric

T = TypeVar("T")
SCALES = (CARRIED_SCALE, 16, 28, 32, 6, 36, 0, 24, MAX_DIGITS, 12, 34, 10, 30, 26, 22, 18, 14, 8, 4, 2)
"""The scales of layouts, in the order in which they are tried: values of 10²² with 16 decimals come first."""


@dataclass(slots=True)
class Layout:
    """The layout of one statement: the scale of its carried numerics, and whether its binding has `used` it.

    `tried` are the scales that failed: below zero where a value had too many digits before the point, above it where
    one showed more decimals.
    """

    scale: int = CARRIED_SCALE
    used: bool = False
    tried: dict[int, int] = field(default_factory=dict)


LAYOUT: ContextVar[Layout | None] = ContextVar("LAYOUT", default=None)
"""The layout of the statement that is being bound; None has the scale CARRIED_SCALE."""


def carried_scale() -> int:
    """Returns the scale of the carried numerics of the statement that is being bound."""
    layout = LAYOUT.get()
    if layout is None:
        return CARRIED_SCALE
    layout.used = True
    return layout.scale


def carried_numeric(least: int = 0) -> SqlType:
    """Returns the type of numerics whose values have scales of their own, of `least` decimals where there is room."""
    scale = carried_scale()
    if least > scale >= CARRIED_SCALE:
        scale = min(each for each in SCALES if each >= least)
    return exact_numeric(MAX_DIGITS, scale, varying=True)


@contextmanager
def bind_in_layout(scale: int | None = None) -> Iterator[Layout]:
    """Binds a statement in a layout of its own: of a scale, or of that of the layout around it; which is used too."""
    outer = LAYOUT.get()
    layout = Layout(CARRIED_SCALE if outer is None else outer.scale) if scale is None else Layout(scale)
    token = LAYOUT.set(layout)
    try:
        yield layout
    finally:
        LAYOUT.reset(token)
        if outer is not None and layout.used:
            outer.used = True


def layout_failure(error: GpudbError) -> int:
    """Returns whether an error is of a layout: below zero for a value that is too large, above it for lost decimals."""
    if error.message != NUMERIC_OVERFLOW or error.sqlstate != "22003":
        return 0
    return 1 if error.detail == LOST_DECIMALS else -1


def next_scale(tried: Mapping[int, int]) -> int | None:
    """Returns the scale to try after others have failed; None if none is left between them."""
    least = max((scale for scale, failure in tried.items() if failure > 0), default=-1)
    most = min((scale for scale, failure in tried.items() if failure < 0), default=MAX_DIGITS + 1)
    return next((scale for scale in SCALES if least < scale < most and scale not in tried), None)


def compute_in_layouts(compute: Callable[[], T], layout: Layout, error: GpudbError) -> T:
    """Binds and computes in one layout after another until one holds all values; 22003 if none does.

    `error` is that of the layout, which is changed. Other errors are raised.
    """
    while failure := layout_failure(error):
        layout.tried[layout.scale] = failure
        scale = next_scale(layout.tried)
        if scale is None:
            raise layout_error(layout.tried)
        layout.scale = scale
        try:
            return compute()
        except GpudbError as later:
            error = later
    raise error


def layout_error(tried: Mapping[int, int]) -> NumericOutOfRange:
    """Returns the error of a statement whose numerics fit no layout."""
    failures = set(tried.values())
    if len(failures) > 1:
        detail = "No numeric of the statement has room for its largest values and for the decimals of its smallest."
    else:
        detail = "A value has too many decimals." if failures == {1} else "A value is too large."
    return NumericOutOfRange(NUMERIC_OVERFLOW, detail=detail, hint=f"gpudb holds {MAX_DIGITS} digits in a numeric.")
