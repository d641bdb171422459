"""Translates errors of Polars, libcudf, CUDA and RMM: rows too large are 53200, what a library rejects runs elsewhere.

Libraries raise the same error in many ways, so classes and texts decide:

- Memory is exhausted: MemoryError (`std::bad_alloc`, `out_of_memory`), libcudf's RuntimeError
  (`cudaErrorMemoryAllocation`), CUDA_ERROR_OUT_OF_MEMORY, RMM's `Maximum pool size exceeded`, a panic of Polars.
- A column would have too many rows, or bytes of texts: libcudf's OverflowError, RuntimeError or ValueError (`exceeds
  the column size limit`), Polars' ComputeError (`fits into 2^32`) or panic (`capacity overflow`).
- All else is an operation that the library rejects: `CUDF failure`, PolarsError, TypeError of libcudf's code.
"""

from __future__ import annotations

import re
from types import TracebackType

import polars as pl

from gpudb.errors import GpudbError, OutOfMemory
from gpudb.plan.errors import NotSupportedOnWorkers

_DETAIL = 200
_OUT_OF_MEMORY = re.compile(
    r"cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|out_of_memory|bad_alloc|maximum pool size exceeded"
    r"|memory allocation (of|failed)|cannot allocate memory|out of memory",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"capacity overflow|size limit|size overflow|column size|exceeds? (the )?(maximum|limit|size_type|row limit)"
    r"|maximum join output size|maximum length reached|2\^3[12]|polars-big-idx|bigidx|rt64",
    re.IGNORECASE,
)
_LIBRARIES = re.compile(r"(polars|cudf_polars|pylibcudf|libcudf|cudf|rmm|cupy|cupyx|cuda|cuvs)\b")
_LIBRARY_TEXT = re.compile(r"cu_?df failure|rmm failure|cudaError|CUDA_ERROR|cudf::|rmm::|thrust::", re.IGNORECASE)
_PANICS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of a library means that memory is exhausted: the same work may succeed with more of it."""
    return isinstance(error, MemoryError) or (_is_of_library(error) and bool(_OUT_OF_MEMORY.search(str(error))))


def is_too_large(error: BaseException) -> bool:
    """Whether an error of a library means that a result has too many rows, or bytes of texts, for one column."""
    if isinstance(error, OverflowError) and _is_of_library(error):
        return True
    return _is_of_library(error) and bool(_TOO_LARGE.search(str(error)))


def translate_error(error: BaseException) -> GpudbError | NotSupportedOnWorkers | None:
    """Returns the error that a statement ends with for a library's error; None for any other error.

    53200 lets a statement run again in smaller chunks. What a library rejects runs whole on the embedded engine.
    """
    if is_out_of_memory(error):
        return OutOfMemory("out of memory", detail=_detail(error))
    if is_too_large(error):
        return OutOfMemory(
            "a result on the way is too large for a worker",
            detail=_detail(error),
            hint="Filter or aggregate before the join, or add a condition to it.",
        )
    if _is_of_library(error):
        return NotSupportedOnWorkers(f"an operation that a library rejects ({_detail(error)})")
    return None


def raise_if_too_large(error: BaseException) -> None:
    """Raises 53200 for a library's error that means that memory is exhausted, or a result too large."""
    translated = translate_error(error)
    if isinstance(translated, OutOfMemory):
        raise translated from error


def _detail(error: BaseException) -> str:
    return " ".join(str(error).split())[:_DETAIL] or type(error).__name__


def _is_of_library(error: BaseException) -> bool:
    """Whether a library raised an error: by its class, its text, or the code that raised it."""
    if isinstance(error, GpudbError | NotSupportedOnWorkers):
        return False
    if isinstance(error, _PANICS) or _LIBRARIES.match(type(error).__module__):
        return True
    return bool(_LIBRARY_TEXT.search(str(error))) or _raised_in_library(error.__traceback__)


def _raised_in_library(trace: TracebackType | None) -> bool:
    last = None
    while trace is not None:
        last, trace = trace, trace.tb_next
    if last is None:
        return False
    name = last.tb_frame.f_globals.get("__name__", "")
    return bool(_LIBRARIES.match(name))
