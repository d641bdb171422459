"""Rows of a result that other processes of this host map: files in its memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.lower.expressions.arrow import to_arrow
from gpudb.engine.host_name import get_host_name
from gpudb.engine.sharing import SharedColumn, SharedPart
from gpudb.errors import OutOfMemory
from gpudb.processes.shared_memory import align
from gpudb.types import SqlType
from gpudb.values.number_columns import view_numbers

_MEMORY = Path("/dev/shm")
_PREFIX = "gpudb-rows-"


class SharedMemory(Protocol):
    """Memory that other processes map."""

    def close(self) -> None:
        """Lets no other process map it; those that have keep it."""


class DeviceSharer(Protocol):
    """Shares rows in a GPU's memory."""

    def share(self, rows: ComputedFrame, types: Sequence[SqlType]) -> tuple[SharedPart, SharedMemory] | None:
        """Shares the lanes c0, c1, … of a frame, columns of numbers of the types.

        None for rows that are not there, and where there is no room for a copy.
        """


class SharedFile:
    """A file in the host's memory, which only this process's user may read."""

    def __init__(self) -> None:
        self._descriptor, self.path = tempfile.mkstemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_get_folder())
        self._size = 0

    def append(self, data: Any) -> int:
        """Appends bytes, aligned; returns their start."""
        start = align(self._size)
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):
            written += os.pwrite(self._descriptor, view[written:], start + written)
        self._size = start + len(view)
        return start

    def close(self) -> None:
        """Removes the file; processes that have it mapped keep its memory."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            Path(self.path).unlink(missing_ok=True)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


def _get_folder() -> Path:
    return _MEMORY if _MEMORY.is_dir() else Path(tempfile.gettempdir())


def remove_stale_files() -> None:
    """Removes the files of workers that were killed."""
    for path in _get_folder().glob(f"{_PREFIX}*"):
        try:
            os.kill(int(path.name.removeprefix(_PREFIX).partition("-")[0]), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, PermissionError):
            continue


def share_rows(frame: pl.DataFrame, types: Sequence[SqlType]) -> tuple[SharedPart, SharedFile]:
    """Shares the lanes c0, c1, … of a frame, columns of numbers of the types."""
    file = SharedFile()
    try:
        columns = tuple(_share_column(file, to_arrow(frame, f"c{i}", kind)) for i, kind in enumerate(types))
    except OSError as error:
        file.close()
        detail = f"The rows do not fit into {file.path}: {error.strerror}."
        raise OutOfMemory("out of memory", detail=detail) from None
    except BaseException:
        file.close()
        raise
    return SharedPart(frame.height, get_host_name(), file.path, columns), file


def _share_column(file: SharedFile, column: pa.Array) -> SharedColumn:
    nulls = column.null_count
    values = to_numbers(column)
    return SharedColumn(file.append(values), values.nbytes, nulls)


def to_numbers(column: pa.Array) -> np.ndarray[Any, Any]:
    """Returns a column's values: dates are days, timestamps microseconds, NULL is NaN in floats and 0 otherwise."""
    column = view_numbers(column)
    if column.null_count:
        column = column.fill_null(float("nan") if pa.types.is_floating(column.type) else pa.scalar(0).cast(column.type))
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
