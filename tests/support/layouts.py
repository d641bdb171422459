"""Computation in the layout of numerics that holds a statement's values, without a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gpudb.errors import GpudbError
from gpudb.functions.carried import LAYOUT, Layout, compute_in_layouts

T = TypeVar("T")


def in_layouts(compute: Callable[[], T]) -> T:
    """Binds and computes a statement, again in other layouts if values do not fit."""
    layout = Layout()
    token = LAYOUT.set(layout)
    try:
        return compute()
    except GpudbError as error:
        if not layout.used:
            raise
        return compute_in_layouts(compute, layout, error)
    finally:
        LAYOUT.reset(token)
