"""Columns of numbers in a GPU's memory: a worker's own, mapped without a copy, or gathered from several workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpudb.api.arrays.shared import parse_parts
from gpudb.engine import gpu_memory
from gpudb.engine.descriptors import receive_descriptor
from gpudb.types import type_by_oid
from gpudb.values.number_columns import number_dtype


@dataclass(frozen=True, slots=True)
class GpuColumn:
    """A column of `rows` numbers, `start` bytes into memory that lives as long as the column.

    Libraries of arrays read it by CUDA's array interface, without a copy, and keep it.
    """

    memory: gpu_memory.GpuMemory
    start: int
    rows: int
    dtype: np.dtype[np.generic]
    nulls: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface: https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html."""
        place = (self.memory.address + self.start, False)
        return {"shape": (self.rows,), "typestr": self.dtype.str, "data": place, "version": 3, "strides": None}

    def __len__(self) -> int:
        """The number of rows."""
        return self.rows

    def slice(self, first: int, last: int) -> GpuColumn:
        """Returns the rows from `first` to `last` in the same memory."""
        return replace(self, start=self.start + first * self.dtype.itemsize, rows=last - first)


GpuColumns = Mapping[str, GpuColumn]
"""Columns of equal length by name, all in the memory of one GPU."""


def map_gpu_columns(lines: str, gpu: int) -> GpuColumns:
    """Returns the columns of rows, given their description, in the memory of this process's GPU of a number.

    Those of one worker on that GPU are mapped, all others copied there. OSError for rows of another host or user, and
    where the GPU has no room.
    """
    parts = parse_parts(lines)
    try:
        if len(parts) == 1 and "gpu" in parts[0] and gpu_memory.find_gpu(parts[0]["gpu"]["identifier"]) == gpu:
            return _name(parts[0], _map_part(parts[0]))
        return _gather(parts, gpu)
    except (ImportError, MemoryError) as error:
        raise OSError(str(error)) from error


def _map_part(part: Mapping[str, Any], reader: int | None = None) -> gpu_memory.GpuMemory:
    place = part["gpu"]
    number = gpu_memory.find_gpu(place["identifier"])
    if number is None:
        raise OSError("the rows are on a GPU that this process does not see")
    return gpu_memory.import_memory(receive_descriptor(part["path"], place["key"]), place["size"], number, reader)


def _name(part: Mapping[str, Any], memory: gpu_memory.GpuMemory) -> GpuColumns:
    return {
        column["name"]: GpuColumn(memory, column["start"], part["rows"], _get_dtype(column), column["nulls"])
        for column in part["columns"]
    }


def _get_dtype(column: Mapping[str, Any]) -> np.dtype[np.generic]:
    return number_dtype(type_by_oid(column["oid"]).arrow)


def _gather(parts: Sequence[Mapping[str, Any]], gpu: int) -> GpuColumns:
    """Copies the parts one after another into memory of a GPU."""
    rows = sum(part["rows"] for part in parts)
    starts, size = gpu_memory.lay_out(rows * _get_dtype(column).itemsize for column in parts[0]["columns"])
    memory = gpu_memory.allocate(size, gpu)
    done = 0
    for part in parts:
        source = _map_part(part, gpu) if "gpu" in part else _HostBytes(part["path"])
        for column, start in zip(part["columns"], starts, strict=True):
            target = memory.address + start + done * _get_dtype(column).itemsize
            gpu_memory.copy(target, source.address + column["start"], column["size"])
        done += part["rows"]
    return {
        column["name"]: GpuColumn(
            memory, start, rows, _get_dtype(column), sum(part["columns"][number]["nulls"] for part in parts)
        )
        for number, (column, start) in enumerate(zip(parts[0]["columns"], starts, strict=True))
    }


class _HostBytes:
    """A file in the host's memory, as bytes at `address`."""

    def __init__(self, path: str) -> None:
        self._bytes = np.memmap(path, np.uint8, "r") if Path(path).stat().st_size else np.empty(0, np.uint8)
        self.address = self._bytes.ctypes.data
