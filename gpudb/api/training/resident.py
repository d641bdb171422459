"""Rows in one library's arrays, from which batches are taken: slices in the rows' order, or rows of a shuffled one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudb.api.arrays.block import check_block, make_block
from gpudb.api.arrays.columns import Columns
from gpudb.api.arrays.gpu_columns import GpuColumns
from gpudb.api.arrays.libraries import check_library, load, to_cupy, to_jax, to_numpy, to_torch
from gpudb.api.training.permutation import Permutation
from gpudb.errors import SqlError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_SAMPLED = 1024
"""Rows that a fingerprint reads."""


class ResidentRows:
    """Arrays by name whose first axis is the rows. `library` is numpy, torch, cupy or jax."""

    def __init__(self, arrays: Mapping[str, Any], rows: int, library: str) -> None:
        self.arrays = arrays
        self.rows = rows
        self.library = library

    def slice(self, start: int, stop: int) -> dict[str, Any]:
        """Returns a range of rows, which shares their memory."""
        return {name: array[start:stop] for name, array in self.arrays.items()}

    def take(self, rows: Any) -> ResidentRows:
        """Returns a copy of the rows of some numbers (see `number`)."""
        taken = {}
        for name, array in self.arrays.items():
            taken[name] = array.index_select(0, rows) if self.library == "torch" else array.take(rows, axis=0)
        return ResidentRows(taken, len(rows), self.library)

    def number(self, order: Permutation | None, first: int, step: int, count: int) -> Any:
        """Returns the numbers of the rows at positions `first`, `first + step` …, on the arrays' device.

        Positions beyond the last row begin again at the first.
        """
        if self._on_gpu() and order is not None:
            from gpudb.api.training.permutation_kernel import take_on_gpu

            numbers = take_on_gpu(order, first, step, count)
            return load("torch").from_dlpack(numbers) if self.library == "torch" else numbers
        positions = (first + step * np.arange(count, dtype=np.int64)) % max(self.rows, 1)
        numbers = positions if order is None else order.take(positions)
        if self.library == "torch":
            device = next(iter(self.arrays.values())).device
            return load("torch").from_numpy(numbers).to(device)
        return load("cupy").asarray(numbers) if self.library == "cupy" else numbers

    def _on_gpu(self) -> bool:
        if self.library == "cupy":
            return True
        if self.library != "torch" or next(iter(self.arrays.values())).device.type != "cuda":
            return False
        try:
            load("cupy")
        except ImportError:
            return False
        return True

    def fingerprint(self) -> str:
        """Returns a digest of the number of rows and of some of them, which another order of the rows changes."""
        digest = hashlib.blake2b(str(self.rows).encode(), digest_size=16)
        if self.rows:
            numbers = np.linspace(0, self.rows - 1, min(self.rows, _SAMPLED)).astype(np.int64)
            for name, array in self.arrays.items():
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(self._to_host(array, numbers)).tobytes())
        return digest.hexdigest()

    def _to_host(self, array: Any, numbers: NDArray[np.int64]) -> NDArray[Any]:
        if self.library == "torch":
            return np.asarray(array[load("torch").from_numpy(numbers).to(array.device)].cpu().numpy())
        if self.library == "cupy":
            return np.asarray(array.take(load("cupy").asarray(numbers), axis=0).get())
        return np.asarray(array.take(numbers, axis=0))


def place_rows(
    columns: Columns | GpuColumns,
    library: str,
    device: object = None,
    target: str | None = None,
    dtype: DTypeLike = "float32",
) -> ResidentRows:
    """Returns columns as arrays of a library: each by its name, or with a target `x`, a block of the others, and `y`.

    22023 for an unknown library, a target that is no column, or the only one.
    """
    check_library(library)
    rows = len(next(iter(columns.values()), ()))
    arrays: dict[str, Any]
    if target is None:
        arrays = _convert(columns, library, device)
    else:
        others = {name: column for name, column in columns.items() if name != target}
        if len(others) == len(columns) or not others:
            message = f'the target "{target}" is not one of several columns of the relation'
            raise SqlError.of("invalid_parameter_value", message)
        check_block(dtype, library)
        arrays = {"x": make_block(others, dtype, library, device)}
        arrays["y"] = _convert({"y": columns[target]}, library, device)["y"]
    return ResidentRows(arrays, rows, library)


def _convert(columns: Columns | GpuColumns, library: str, device: object) -> dict[str, Any]:
    if library == "torch":
        return to_torch(columns, device)
    if library == "cupy":
        return to_cupy(columns)
    return to_jax(columns) if library == "jax" else to_numpy(columns)
