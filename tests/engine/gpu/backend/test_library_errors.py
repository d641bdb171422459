"""library_errors: every way in which Polars, libcudf, CUDA and RMM say that something is too large is 53200."""

from __future__ import annotations

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import collect
from gpudb.engine.gpu.backend.library_errors import translate_error
from gpudb.engine.gpu.rpc.errors import encode_error
from gpudb.engine.gpu.rpc.messages import Failed
from gpudb.errors import OutOfMemory, SqlError
from gpudb.plan.errors import NotSupportedOnWorkers

CUDF = "CUDF failure at: /cpp/src/"
Panic = pl.exceptions.PanicException

EXHAUSTED = (
    MemoryError("std::bad_alloc: out_of_memory: CUDA error (failed to allocate 8589934592 bytes)"),
    MemoryError(),
    RuntimeError("parallel_for failed: cudaErrorMemoryAllocation: out of memory"),
    RuntimeError("RMM failure at: pool_memory_resource.hpp:254: Maximum pool size exceeded"),
    RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
    Panic("memory allocation of 68719476736 bytes failed"),
    pl.exceptions.ComputeError("Cannot allocate memory (os error 12)"),
)
TOO_LARGE = (
    RuntimeError(f"{CUDF}copying/concatenate.cu:402: Total number of concatenated rows exceeds the column size limit"),
    ValueError(f"{CUDF}filling/repeat.cu:92: The resulting table exceeds the size limit"),
    RuntimeError(f"{CUDF}join/join_utils.cu:12: Maximum join output size exceeded"),
    RuntimeError(f"{CUDF}strings/utilities.cu:60: Size of output exceeds the column size limit"),
    pl.exceptions.ComputeError("cross joins would produce more rows than fits into 2^32; consider compiling with"),
    Panic("Polars' maximum length reached. Consider installing 'polars[rt64]'."),
    Panic("capacity overflow"),
)
REJECTED = (
    RuntimeError(f"{CUDF}binaryop/binaryop.cpp:320: Unsupported operator for these types"),
    pl.exceptions.InvalidOperationError("`sum` operation not supported for dtype `list[i64]`"),
    pl.exceptions.ColumnNotFoundError("c3"),
    Panic("called `Option::unwrap()` on a `None` value"),
)


def _raised_by(name: str, error: Exception) -> Exception:
    """Returns an error as the code of a module raises it."""
    try:
        exec(compile("raise error", name, "exec"), {"__name__": name, "error": error})
    except Exception as raised:
        return raised
    raise AssertionError


@pytest.mark.parametrize("error", [*EXHAUSTED, *TOO_LARGE], ids=lambda each: str(each)[:60] or "no text")
def test_too_large_is_out_of_memory(error: BaseException) -> None:
    """Then a statement runs again in smaller chunks, and at last fails with 53200."""
    made = encode_error(error, 1)
    assert isinstance(made, Failed)
    assert isinstance(made.error, OutOfMemory)
    assert made.error.sqlstate == "53200"


@pytest.mark.parametrize("error", REJECTED, ids=lambda each: str(each)[:60])
def test_what_a_library_rejects_runs_on_the_embedded_engine(error: BaseException) -> None:
    made = encode_error(error, 1)
    assert isinstance(made, Failed)
    assert isinstance(made.error, NotSupportedOnWorkers)


def test_an_error_is_a_librarys_by_the_code_that_raised_it() -> None:
    """Cython raises plain classes: their module tells, and libcudf's overflow has many texts."""
    assert isinstance(translate_error(_raised_by("pylibcudf.join", OverflowError("output"))), OutOfMemory)
    assert isinstance(translate_error(_raised_by("pylibcudf.join", TypeError("a key"))), NotSupportedOnWorkers)
    assert translate_error(_raised_by("gpudb.engine.gpu.cudf.backend", TypeError("a key"))) is None


def test_own_errors_stay() -> None:
    for error in (
        SqlError.of("division_by_zero", "by zero"),
        OutOfMemory("out of GPU memory"),
        NotSupportedOnWorkers("LATERAL"),
    ):
        assert translate_error(error) is None
        made = encode_error(error, 1)
        assert isinstance(made, Failed)
        assert type(made.error) is type(error)
    for other in (ZeroDivisionError("by zero"), OverflowError("int too large to convert"), KeyError("2^32")):
        assert translate_error(other) is None


def test_polars_limit_of_rows_is_out_of_memory() -> None:
    """A panic is not always a date beyond the calendar."""
    many = pl.LazyFrame({"a": range(70_000)})
    with pytest.raises(OutOfMemory) as raised:
        collect(many.join(many.rename({"a": "b"}), how="cross"))
    assert "2^32" in str(raised.value.detail)
