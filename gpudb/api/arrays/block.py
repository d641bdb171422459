"""Blocks: the columns of a relation as one array of two dimensions, (rows, columns), of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudb.api.arrays.columns import Columns
from gpudb.api.arrays.libraries import check_library, load, to_storage
from gpudb.errors import SqlError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_TILE = 8192
"""Rows that are written together, so that a row's line of memory stays in the cache until all its columns are."""


def to_block(columns: Columns, dtype: DTypeLike) -> NDArray[Any]:
    """Returns a new array of shape (rows, columns), row by row in memory.

    22023 for a type that is not a float or integer of NumPy; 22003 names a column that an integer type cannot hold
    exactly: a fraction, NaN, or a number beyond its range. A float type rounds.
    """
    target = np.dtype(dtype)
    if target.kind not in "fiu":
        raise SqlError.of("invalid_parameter_value", f"a block is of a float or integer type, not {target}")
    stored = {name: to_storage(column) for name, column in columns.items()}
    for name, values in stored.items():
        if target.kind in "iu" and len(values):
            _check_exact(name, values, target)
    rows = len(next(iter(stored.values()), ()))
    block = np.empty((rows, len(stored)), target)
    with np.errstate(over="ignore"):  # beyond a float type's range is infinite
        for start in range(0, rows, _TILE):
            for number, values in enumerate(stored.values()):
                block[start : start + _TILE, number] = values[start : start + _TILE]
    return block


def _check_exact(name: str, values: NDArray[Any], target: np.dtype[Any]) -> None:
    bounds = np.iinfo(target)
    if values.dtype.kind == "f" and not (np.isfinite(values) & (np.trunc(values) == values)).all():
        problem = f"holds fractions, NaN or infinity, which {target} cannot"
    elif values.dtype.kind != "b" and (int(values.min()) < bounds.min or int(values.max()) > bounds.max):
        problem = f"holds numbers beyond the range of {target}"
    else:
        return
    raise SqlError.of("numeric_value_out_of_range", f'column "{name}" {problem}')


def convert_block(block: NDArray[Any], library: str, device: object = None) -> Any:
    """Returns a block as an array of a library; those of the CPU share its memory. 22023 for an unknown library."""
    check_library(library)
    if library == "numpy":
        return block
    if library == "torch":
        tensor = load("torch").from_numpy(block)
        return tensor if device is None else tensor.to(device)
    if library == "cupy":
        return load("cupy").asarray(block)
    return load("jax").numpy.asarray(block)
