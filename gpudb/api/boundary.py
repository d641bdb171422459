"""The boundary between a user's code and the package: short tracebacks, and the scope of the calling code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import ParamSpec, TypeVar

from gpudb.errors import GpudbError, InternalError

FULL_TRACEBACKS = "GPUDB_FULL_TRACEBACKS"
"""Environment variable: if it is set, errors keep the frames inside the package."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def public(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Shortens the tracebacks of a public method's errors: they end at this call, without causes inside the package.

    An internal error keeps its traceback.
    """

    @wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(*args, **kwargs)
        except GpudbError as error:
            if not is_shortened(error):
                raise
            raise error.with_traceback(None) from None

    return call


def is_shortened(error: GpudbError) -> bool:
    """Adds detail and hint to an error's text; returns whether its traceback is of no use to its reader."""
    if error.statement is None:
        error.statement = ""
    return not isinstance(error, InternalError) and FULL_TRACEBACKS not in os.environ


def get_caller() -> FrameType | None:
    """Returns the frame of the code that calls the API; None if that is part of the package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("gpudb.api"):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").startswith("gpudb."):
        return None
    return frame
