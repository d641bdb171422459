"""The methods of `Relation` that give its rows as numbers: arrays, batches and matrices for training."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from gpudb.api.boundary import public
from gpudb.engine.sharing import SharePlace
from gpudb.values.number_columns import holds_numbers

if TYPE_CHECKING:
    import xgboost
    from numpy.typing import DTypeLike, NDArray

    from gpudb.api.arrays.columns import Columns
    from gpudb.api.arrays.gpu_columns import GpuColumns
    from gpudb.api.training.loader import Loader
    from gpudb.api.training.resident import ResidentRows
    from gpudb.session.results import ResultColumn
    from gpudb.types import SqlType

_T = TypeVar("_T")


class ArrayMethods(ABC):
    """The base class of `Relation`: everything here runs its query. No array holds texts, intervals or lists."""

    @abstractmethod
    def arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table."""

    @abstractmethod
    def __getitem__(self, key: list[str]) -> ArrayMethods:
        """Returns some of the columns."""

    @abstractmethod
    def select(self, *expressions: str) -> ArrayMethods:
        """Returns other columns, given as SQL expressions over these."""

    @property
    @abstractmethod
    def types(self) -> tuple[SqlType, ...]:
        """The columns' types."""

    @property
    @abstractmethod
    def fields(self) -> tuple[ResultColumn, ...]:
        """The columns' names and types: asked of the database each time."""

    @abstractmethod
    def _select_numbers(self) -> ArrayMethods:
        """Returns the same rows as numbers that arrays can hold."""

    @abstractmethod
    def _share(self, read: Callable[[str], _T], place: SharePlace = SharePlace.HOST) -> _T | None:
        """Returns what `read` makes of the rows in workers' memory; None if they cannot be shared."""

    @abstractmethod
    def _stream_tables(self) -> Iterator[pa.Table]:
        """Yields the rows as Arrow tables, while the query runs."""

    @public
    def numpy(self) -> dict[str, NDArray[Any]]:
        """Returns the columns as read-only NumPy arrays by name (see `gpudb.api.arrays.libraries` for their types).

        NULL is NaN in floats. 0A000 names a column that is no number, boolean, date or timestamp, 22004 one of another
        type than floats that holds a NULL, 42701 a name that occurs twice.
        """
        from gpudb.api.arrays.libraries import to_numpy

        return to_numpy(self._read_columns())

    @public
    def torch(self, device: object = None) -> dict[str, Any]:
        """Returns the columns as PyTorch tensors by name, of the CPU, or on a device. Errors as of `numpy`."""
        from gpudb.api.arrays.libraries import load, to_torch

        load("torch")
        return to_torch(self._read_columns_for("torch", device), device)

    @public
    def cupy(self) -> dict[str, Any]:
        """Returns the columns as CuPy arrays of the current CUDA device by name. Errors as of `numpy`."""
        from gpudb.api.arrays.libraries import load, to_cupy

        load("cupy")
        return to_cupy(self._read_columns_for("cupy"))

    @public
    def jax(self) -> dict[str, Any]:
        """Returns the columns as JAX arrays by name. Errors as of `numpy`.

        Without `jax_enable_x64` floats have 32 bits; 22003 for an integer that 32 bits cannot hold.
        """
        from gpudb.api.arrays.libraries import load, to_jax

        load("jax")
        return to_jax(self._read_columns_for("jax"))

    @public
    def cudf(self) -> Any:
        """Returns a cuDF frame of the types of `arrow`; numbers without NULL share a worker's memory where they can."""
        from gpudb.api.arrays.libraries import load, to_cudf

        cudf = load("cudf")
        types = self.types
        if all(holds_numbers(each.arrow) and each.name not in {"numeric", "timestamptz"} for each in types):
            columns = self._read_gpu_columns("cupy", None)
            if columns is not None and not any(column.nulls for column in columns.values()):
                return to_cudf(columns, types)
        return cudf.DataFrame.from_arrow(self.arrow())

    @public
    def block(self, dtype: DTypeLike = "float32", *, library: str = "numpy", device: object = None) -> Any:
        """Returns all columns as one new array of shape (rows, columns) of `dtype`, row by row in memory.

        `library` is numpy, torch, cupy or jax; `device` is where a tensor is to be. A float type rounds. Errors as of
        `numpy`; 22003 for a number that an integer type cannot hold exactly, 22023 for another type or library.
        """
        from gpudb.api.arrays.block import check_block, make_block

        check_block(dtype, library)
        return make_block(self._read_columns_for(library, device), dtype, library, device)

    @public
    def loader(
        self,
        batch_size: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        dtype: DTypeLike = "float32",
        library: str = "torch",
        device: object = None,
    ) -> Loader:
        """Returns batches of `batch_size` rows for training, as arrays of `library`: an iterable (see `Loader`).

        `shuffle` is over all rows, anew in each epoch, by a seed. `columns` are those to read. A batch is a dict of
        arrays by column; with a `target` the tuple (x, y), where x is a block of the other columns of `dtype` (see
        `block`) and y the target's array. `device` is where tensors are. A torch loader is an IterableDataset. The rows
        stay in the memory of the device. Errors as of `numpy` and `block`, when the rows are read.
        """
        from gpudb.api.arrays.libraries import load
        from gpudb.api.training.loader import Loader, LoaderOptions
        from gpudb.api.training.resident import place_rows

        kind = Loader
        if library == "torch":
            load("torch")
            from gpudb.api.training.torch_loader import TorchLoader

            kind = TorchLoader
        read = self if columns is None else self[list(columns)]
        options = LoaderOptions(batch_size, shuffle, seed, rank, world_size, drop_last)

        def place() -> ResidentRows:
            return place_rows(read._read_columns_for(library, device), library, device, target, dtype)

        return kind(place, options, paired=target is not None)

    @public
    def dmatrix(
        self,
        label: str | None = None,
        *,
        weight: str | None = None,
        qid: str | None = None,
        categories: Sequence[str] = (),
        max_bin: int = 256,
        reference: xgboost.DMatrix | None = None,
        external_memory: bool = False,
        cache_dir: str | os.PathLike[str] | None = None,
        device: str | None = None,
    ) -> xgboost.DMatrix:
        """Returns XGBoost's QuantileDMatrix of the rows, for the tree method `hist`; the query runs once.

        `label`, `weight` and `qid` (groups of a ranking, in ascending order) are columns; all others are features, as
        32-bit floats, NULL and NaN are missing. `categories` are features whose integers are categories. `max_bin` is
        the number of bins a feature; a matrix for validation takes those of the matrix for training, `reference`.
        `external_memory` makes an ExtMemQuantileDMatrix, which holds rows in files below `cache_dir` (a temporary
        folder by default) and not in memory. With the `device` cuda or cuda:N the rows are quantised on that GPU, from
        the memory of a server's worker. Errors as of `numpy`; 42703 for a missing column, 22004 for a label that is
        NULL.
        """
        from gpudb.api.arrays.libraries import load
        from gpudb.api.training.dmatrix import Roles, build_external, build_in_memory, build_on_gpu

        load("xgboost")
        roles = Roles(label, weight, qid, tuple(categories))
        numbers = self._select_numbers()
        types = {field.name: field.type for field in numbers.fields}
        roles.get_features(list(types))  # a missing column is told before the query runs
        options = {"max_bin": max_bin, "ref": reference}
        floats = numbers.select(*roles.list_floats(types))
        if external_memory:
            return build_external(floats._stream_tables(), roles, Path(cache_dir) if cache_dir else None, **options)
        if device is not None:
            columns = floats._read_gpu_columns("xgboost", device)
            if columns is not None:
                return build_on_gpu(columns, roles, **options)
        return build_in_memory(floats.arrow(), roles, **options)

    def _read_columns_for(self, library: str, device: object = None) -> Columns | GpuColumns:
        """Runs the query; returns its columns as numbers, in the memory of the GPU where a library wants them."""
        columns = self._read_gpu_columns(library, device)
        return self._read_columns() if columns is None else columns

    def _read_gpu_columns(self, library: str, device: object) -> GpuColumns | None:
        """Returns the columns in the memory of the GPU that arrays are to be on; None if that is none, or cannot be."""
        from gpudb.api.arrays.gpu_columns import map_gpu_columns
        from gpudb.api.arrays.libraries import find_target

        gpu = find_target(library, device)
        return None if gpu is None else self._select_numbers()._share(partial(map_gpu_columns, gpu=gpu), SharePlace.GPU)

    def _read_columns(self) -> Columns:
        """Runs the query; returns its columns as numbers, from the memory of this host's workers if they are there."""
        from gpudb.api.arrays.columns import make_contiguous
        from gpudb.api.arrays.shared import map_columns

        numbers = self._select_numbers()
        shared = numbers._share(map_columns)
        return make_contiguous(numbers.arrow()) if shared is None else shared
