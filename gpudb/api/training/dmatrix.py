"""XGBoost's matrices of a relation: quantised batch by batch, in memory or from files."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpudb.api.arrays.block import make_block
from gpudb.api.arrays.columns import Columns, make_contiguous
from gpudb.api.arrays.gpu_columns import GpuColumn, GpuColumns
from gpudb.api.arrays.libraries import load, to_cupy, to_numpy
from gpudb.api.names import quote_identifier
from gpudb.errors import SqlError

if TYPE_CHECKING:
    import xgboost

    from gpudb.types import SqlType

_BATCH_ROWS, _GPU_BATCH_ROWS = 1 << 20, 1 << 24
"""Rows that are a block at a time, on the CPU and on a GPU."""


_TO_REAL = {**dict.fromkeys("int2 int4 int8 float4 float8 numeric".split(), "::real"), "bool": "::int::real"}
"""Casts to real by type; dates and times remain their numbers."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns of a relation are no features, and which features are categories; see `Relation.dmatrix`."""

    label: str | None = None
    weight: str | None = None
    qid: str | None = None
    categories: Sequence[str] = ()

    def list_floats(self, types: Mapping[str, SqlType]) -> list[str]:
        """Returns columns of types as expressions of what XGBoost holds: 32-bit floats, in which NULL becomes NaN."""
        wanted = [name for name in types if name != self.qid]
        floats = [f"{quote_identifier(name)}{_TO_REAL.get(types[name].name, '')}" for name in wanted]
        return floats if self.qid is None else [*floats, quote_identifier(self.qid)]

    def get_features(self, names: Sequence[str]) -> list[str]:
        """Returns the features of some columns. 42703 for a role's column that is missing."""
        others = [name for name in (self.label, self.weight, self.qid) if name is not None]
        for name in (*others, *self.categories):
            if name not in names:
                raise SqlError.of("undefined_column", f'column "{name}" does not exist')
        features = [name for name in names if name not in others]
        if not features:
            raise SqlError.of("invalid_parameter_value", "the relation has no column left for a feature")
        return features


def build_in_memory(table: pa.Table, roles: Roles, **options: Any) -> xgboost.QuantileDMatrix:
    """Returns a matrix of the rows of a table; at a time a batch of them is a block of floats."""
    batches = _make_iterator(lambda: _slice_table(table), roles, table.column_names)
    matrix: xgboost.QuantileDMatrix = load("xgboost").QuantileDMatrix(
        batches, enable_categorical=bool(roles.categories), **options
    )
    return matrix


def build_on_gpu(columns: GpuColumns, roles: Roles, **options: Any) -> xgboost.QuantileDMatrix:
    """Returns a matrix of columns in a GPU's memory, which holds a batch of them as a block beside them."""
    batches = _make_iterator(lambda: _slice_columns(columns), roles, list(columns))
    matrix: xgboost.QuantileDMatrix = load("xgboost").QuantileDMatrix(
        batches, enable_categorical=bool(roles.categories), **options
    )
    return matrix


def build_external(
    tables: Iterator[pa.Table], roles: Roles, cache_dir: Path | None, **options: Any
) -> xgboost.ExtMemQuantileDMatrix:
    """Returns a matrix that XGBoost keeps in files below `cache_dir`, for as long as the matrix lives.

    XGBoost reads the rows several times, in the same order: the query runs once, into a file.
    """
    folder = _Folder(cache_dir)
    try:
        path = folder.path / "rows.arrow"
        names = _write_file(tables, path)
        batches = _make_iterator(lambda: _read_file(path), roles, names, str(folder.path / "pages"))
        matrix: xgboost.ExtMemQuantileDMatrix = load("xgboost").ExtMemQuantileDMatrix(
            batches, enable_categorical=bool(roles.categories), **options
        )
        path.unlink()
    except BaseException:
        folder.remove()
        raise
    vars(matrix)["folder"] = folder  # goes when the matrix has removed its files
    return matrix


class _Folder:
    """A temporary folder that ends with this object."""

    def __init__(self, parent: Path | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="gpudb-dmatrix-", dir=parent))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _slice_table(table: pa.Table) -> Iterator[Columns]:
    for start in range(0, max(table.num_rows, 1), _BATCH_ROWS):
        yield make_contiguous(table.slice(start, _BATCH_ROWS))


def _slice_columns(columns: GpuColumns) -> Iterator[GpuColumns]:
    rows = len(next(iter(columns.values())))
    for start in range(0, max(rows, 1), _GPU_BATCH_ROWS):
        yield {name: column.slice(start, min(start + _GPU_BATCH_ROWS, rows)) for name, column in columns.items()}


def _write_file(tables: Iterator[pa.Table], path: Path) -> list[str]:
    """Writes tables of one schema to an Arrow file; returns the columns' names."""
    writer: pa.ipc.RecordBatchFileWriter | None = None
    names: list[str] = []
    try:
        for table in tables:
            if writer is None:
                writer, names = pa.ipc.new_file(path, table.schema), table.column_names
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise SqlError.of("no_data", "the relation has no rows")
    return names


def _read_file(path: Path) -> Iterator[Columns]:
    """Yields the rows of a file in batches of about `_BATCH_ROWS`."""
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        held: list[pa.RecordBatch] = []
        for number in range(file.num_record_batches):
            held.append(file.get_batch(number))
            if sum(batch.num_rows for batch in held) >= _BATCH_ROWS or number == file.num_record_batches - 1:
                yield make_contiguous(pa.Table.from_batches(held))
                held = []


def _make_iterator(
    read: Callable[[], Iterator[Columns] | Iterator[GpuColumns]],
    roles: Roles,
    names: Sequence[str],
    cache_prefix: str | None = None,
) -> xgboost.DataIter:
    """Returns XGBoost's iterator over batches, which `read` begins anew at each reset."""
    features = roles.get_features(names)
    types = ["c" if name in roles.categories else "q" for name in features]

    class Batches(load("xgboost").DataIter):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(cache_prefix=cache_prefix)
            self._batches = read()

        def reset(self) -> None:
            self._batches = read()

        def next(self, input_data: Callable[..., None]) -> bool:
            columns = next(self._batches, None)
            if columns is None:
                return False
            library = "cupy" if any(isinstance(column, GpuColumn) for column in columns.values()) else "numpy"
            others = (("label", roles.label), ("weight", roles.weight), ("qid", roles.qid))
            convert = to_cupy if library == "cupy" else to_numpy
            given = {role: convert({name: columns[name]})[name] for role, name in others if name is not None}
            if roles.label is not None and load(library).isnan(given["label"]).any():
                raise SqlError.of("null_value_not_allowed", f'the label "{roles.label}" holds NULL or NaN')
            block = make_block({name: columns[name] for name in features}, "float32", library)
            input_data(data=block, feature_names=features, feature_types=types, **given)
            return True

    return Batches()
