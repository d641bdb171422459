"""Arrays of NumPy, PyTorch, CuPy and JAX over columns of numbers, without a copy where the library allows it.

| SQL | NumPy | others |
|---|---|---|
| smallint, integer, bigint, real, double precision | the same width, shared memory | the same |
| boolean | bool | bool |
| numeric | float64 | float64 |
| date | datetime64[D] | int32: days since 1970 |
| timestamp, timestamptz | datetime64[us], shared memory | int64: microseconds since 1970 (UTC) |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpudb.api.arrays.columns import Columns
from gpudb.api.arrays.gpu_columns import GpuColumn, GpuColumns
from gpudb.errors import SqlError
from gpudb.values.number_columns import view_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpudb.types import SqlType

_DAY_SECONDS = 86_400
LIBRARIES = ("numpy", "torch", "cupy", "jax")
INSTALL = {"torch": "torch", "jax": "jax", "cupy": "cupy-cuda13x", "cudf": "cudf-cu13", "xgboost": "xgboost"}


def check_library(library: str) -> None:
    """Raises 22023 for a library that is none of LIBRARIES."""
    if library not in LIBRARIES:
        message = f'"{library}" is no library of arrays'
        raise SqlError.of("invalid_parameter_value", message, hint=f"Use one of {', '.join(LIBRARIES)}.")


def load(library: str) -> Any:
    """Imports a library; ImportError says how to install it."""
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError as error:
        message = f"this needs {library}, which is not installed: pip install {INSTALL.get(library, library)}"
        raise ImportError(message, name=library) from error


def find_target(library: str, device: object) -> int | None:
    """Returns the number of the GPU in whose memory a library's arrays are to be; None for the CPU's.

    `device` is one of PyTorch's, or of XGBoost's: CuPy and JAX have a current one.
    """
    if library == "xgboost":
        kind, _, number = str(device).partition(":")
        if kind != "cuda":
            return None
        return int(number) if number.isdecimal() else int(load("cupy").cuda.Device().id)
    if library == "torch" and device is not None:
        torch = load("torch")
        wanted = torch.device(device)
        if wanted.type != "cuda":
            return None
        return int(torch.cuda.current_device() if wanted.index is None else wanted.index)
    if library == "cupy":
        return int(load("cupy").cuda.Device().id)
    if library == "jax":
        jax = load("jax")
        return int(jax.devices()[0].local_hardware_id) if jax.default_backend() == "gpu" else None
    return None


def to_numpy(columns: Columns) -> dict[str, NDArray[Any]]:
    """Returns read-only NumPy arrays; booleans and dates are copied, all else shares the columns' memory."""
    return {name: _read_only(column.to_numpy(zero_copy_only=False)) for name, column in columns.items()}


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def to_torch(columns: Columns | GpuColumns, device: object = None) -> dict[str, Any]:
    """Returns tensors of the CPU or a GPU that share the columns' memory, or copies on a device."""
    torch = load("torch")
    tensors = {}
    for name, column in columns.items():
        if isinstance(column, GpuColumn):
            tensors[name] = torch.as_tensor(column, device=device)
            continue
        storage = to_storage(column)
        if len(storage) == 0 or storage.dtype == np.bool_:
            tensor = torch.from_numpy(np.array(storage))
        else:
            tensor = torch.from_dlpack(view_numbers(column))  # NumPy's own would be read-only, which torch warns of
        tensors[name] = tensor if device is None else tensor.to(device)
    return tensors


def to_cupy(columns: Columns | GpuColumns) -> dict[str, Any]:
    """Returns arrays of the current CUDA device, which share memory that the columns have there."""
    cupy = load("cupy")
    return {
        name: cupy.asarray(column if isinstance(column, GpuColumn) else to_storage(column))
        for name, column in columns.items()
    }


def to_cudf(columns: GpuColumns, types: Sequence[SqlType]) -> Any:
    """Returns a cuDF frame of columns of the types, which have no NULL."""
    cudf, series = load("cudf"), {}
    for (name, array), type_ in zip(to_cupy(columns).items(), types, strict=True):
        match type_.name:
            case "date":
                series[name] = cudf.Series(array.astype(np.int64) * _DAY_SECONDS).astype("datetime64[s]")
            case "timestamp":
                series[name] = cudf.Series(array).astype("datetime64[us]")
            case _:
                series[name] = cudf.Series(array)
    return cudf.DataFrame(series)


def to_jax(columns: Columns | GpuColumns) -> dict[str, Any]:
    """Returns arrays of JAX's default device, which share memory that columns of the same type have there.

    Without `jax_enable_x64` JAX holds 32 bits: 22003 for an integer that these cannot hold.
    """
    jax = load("jax")
    arrays = {}
    for name, column in columns.items():
        on_gpu = isinstance(column, GpuColumn)
        storage = load("cupy").asarray(column) if on_gpu else to_storage(column)
        target = jax_type(storage.dtype)
        if target != storage.dtype and storage.dtype.kind == "i" and len(storage):
            check_range(name, storage, target)
        storage = storage.astype(target, copy=False)
        arrays[name] = jax.dlpack.from_dlpack(storage) if on_gpu else jax.numpy.asarray(storage)
    return arrays


def jax_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type in which JAX holds a type, as it is configured."""
    held: np.dtype[Any] = np.dtype(load("jax").dtypes.canonicalize_dtype(dtype))
    return held


def check_range(name: str, values: Any, target: np.dtype[Any]) -> None:
    """Raises 22003 if an integer of a column is beyond a type's range."""
    bounds = np.iinfo(target)
    if values.min() < bounds.min or values.max() > bounds.max:
        message = f'column "{name}" holds integers beyond the range of {target}'
        hint = "jax.config.update('jax_enable_x64', True) makes JAX hold 64 bits."
        raise SqlError.of("numeric_value_out_of_range", message, hint=hint)


def to_storage(column: pa.Array) -> NDArray[Any]:
    """Returns a column as NumPy numbers: dates are days, timestamps microseconds."""
    return np.asarray(view_numbers(column).to_numpy(zero_copy_only=False))
