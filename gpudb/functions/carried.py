"""The layout of carried numerics: how many of their 38 digits are decimals, chosen for a statement when it is bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from gpudb.errors import LOST_DECIMALS, NOT_FINITE, NUMERIC_OVERFLOW, GpudbError, numeric_overflow
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact_numeric

T = TypeVar("T")
WIDE = -1
"""The layout, tried last, in which numerics are wide: of any number of digits, NaN or infinite."""
SCALES = (CARRIED_SCALE, 16, 28, 32, 6, 36, 0, 24, MAX_DIGITS, 12, 34, 10, 30, 26, 22, 18, 14, 8, 4, 2)
"""The scales of layouts, in the order in which they are tried: values of 10²² with 16 decimals come first."""


@dataclass(slots=True)
class Layout:
    """The layout of one statement: the scale of its carried numerics or WIDE, and whether its binding has `used` it.

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
    return CARRIED_SCALE if layout.scale == WIDE else layout.scale


def is_wide_layout() -> bool:
    """Whether the statement that is being bound computes its numerics in the wide form."""
    layout = LAYOUT.get()
    return layout is not None and layout.scale == WIDE


def use_layout() -> None:
    """Notes that the statement that is being bound has a numeric for which its layout may have no room."""
    layout = LAYOUT.get()
    if layout is not None:
        layout.used = True


def demand_wide_layout() -> None:
    """Lets the statement that is being bound compute its numerics in the wide form: binds it again if it does not."""
    layout = LAYOUT.get()
    if layout is not None and layout.scale != WIDE:
        layout.used = True
        raise numeric_overflow(finite=False)


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
    """Returns whether an error is of a layout: below zero for a value that is too large, above it for lost decimals.

    For a value that is not finite, and has room in the wide form alone, it is `_NOT_FINITE`.
    """
    if error.message != NUMERIC_OVERFLOW or error.sqlstate != "22003":
        return 0
    return 1 if error.detail == LOST_DECIMALS else _NOT_FINITE if error.detail == NOT_FINITE else -1


_NOT_FINITE = 2


def next_scale(tried: Mapping[int, int]) -> int | None:
    """Returns the layout to try after others have failed: one between them, else the wide one; None after that."""
    if WIDE in tried:
        return None
    if _NOT_FINITE in tried.values():
        return WIDE
    least = max((scale for scale, failure in tried.items() if failure > 0), default=-1)
    most = min((scale for scale, failure in tried.items() if failure < 0), default=MAX_DIGITS + 1)
    return next((scale for scale in SCALES if least < scale < most and scale not in tried), WIDE)


def compute_in_layouts(compute: Callable[[], T], layout: Layout, error: GpudbError) -> T:
    """Binds and computes in one layout after another until one holds all values; 22003 if not even the wide one does.

    `error` is that of the layout, which is changed. Other errors are raised.
    """
    while failure := layout_failure(error):
        layout.tried[layout.scale] = failure
        scale = next_scale(layout.tried)
        if scale is None:
            break
        layout.scale = scale
        try:
            return compute()
        except GpudbError as later:
            error = later
    raise error
