"""Blocks: the columns of a relation as one array of two dimensions, (rows, columns), of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudb.api.arrays.columns import Columns
from gpudb.api.arrays.gpu_columns import GpuColumn, GpuColumns
from gpudb.api.arrays.libraries import check_library, jax_type, load, to_cupy, to_storage, to_torch
from gpudb.errors import SqlError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_TILE = 8192
"""Rows that are written together, so that a row's line of memory stays in the cache until all its columns are."""


def check_block(dtype: DTypeLike, library: str) -> None:
    """Raises 22023 for a type that is not a float or integer of NumPy, and for an unknown library."""
    check_library(library)
    target = np.dtype(dtype)
    if target.kind not in "fiu":
        raise SqlError.of("invalid_parameter_value", f"a block is of a float or integer type, not {target}")


def make_block(columns: Columns | GpuColumns, dtype: DTypeLike, library: str, device: object = None) -> Any:
    """Returns a new array of a library, of shape (rows, columns), row by row in memory.

    It is on the GPU of its columns, and otherwise where `device` and the library say. 22003 names a column that an
    integer type cannot hold exactly: a fraction, NaN, or a number beyond its range. A float type rounds.
    """
    target = np.dtype(dtype)
    if any(isinstance(column, GpuColumn) for column in columns.values()):
        return _stack_on_gpu(columns, target, library, device)
    return _convert(_fill(columns, target), library, device)


def _stack_on_gpu(columns: Any, target: np.dtype[Any], library: str, device: object) -> Any:
    if library == "torch":
        torch, tensors = load("torch"), to_torch(columns, device)
        if target.kind != "f":
            _check_on_gpu(columns, target)
        kind = getattr(torch, target.name)
        return torch.stack([tensor.to(kind) for tensor in tensors.values()]).t().contiguous()
    cupy, arrays = load("cupy"), to_cupy(columns)
    if target.kind != "f":
        _check_on_gpu(columns, target)
    made = cupy.ascontiguousarray(cupy.stack([array.astype(target) for array in arrays.values()]).T)
    return made if library == "cupy" else load("jax").dlpack.from_dlpack(made.astype(jax_type(target), copy=False))


def _check_on_gpu(columns: GpuColumns, target: np.dtype[Any]) -> None:
    for name, array in to_cupy(columns).items():
        if len(array):
            _check_exact(name, array, target, load("cupy"))


def _fill(columns: Columns, target: np.dtype[Any]) -> NDArray[Any]:
    stored = {name: to_storage(column) for name, column in columns.items()}
    for name, values in stored.items():
        if target.kind in "iu" and len(values):
            _check_exact(name, values, target, np)
    rows = len(next(iter(stored.values()), ()))
    block = np.empty((rows, len(stored)), target)
    with np.errstate(over="ignore"):  # beyond a float type's range is infinite
        for start in range(0, rows, _TILE):
            for number, values in enumerate(stored.values()):
                block[start : start + _TILE, number] = values[start : start + _TILE]
    return block


def _check_exact(name: str, values: Any, target: np.dtype[Any], library: Any) -> None:
    """`library` is NumPy, or CuPy for its arrays."""
    bounds = np.iinfo(target)
    if values.dtype.kind == "f" and not (library.isfinite(values) & (library.trunc(values) == values)).all():
        problem = f"holds fractions, NaN or infinity, which {target} cannot"
    elif values.dtype.kind != "b" and (int(values.min()) < bounds.min or int(values.max()) > bounds.max):
        problem = f"holds numbers beyond the range of {target}"
    else:
        return
    raise SqlError.of("numeric_value_out_of_range", f'column "{name}" {problem}')


def _convert(block: NDArray[Any], library: str, device: object) -> Any:
    """Returns a block as an array of a library; those of the CPU share its memory."""
    if library == "numpy":
        return block
    if library == "torch":
        tensor = load("torch").from_numpy(block)
        return tensor if device is None else tensor.to(device)
    return load("cupy").asarray(block) if library == "cupy" else load("jax").numpy.asarray(block)
