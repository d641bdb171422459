"""Frames in a GPU's memory, and how Polars and cudf-polars read them as sources of lazy frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

import polars as pl
import pylibcudf as plc
from polars.io.plugins import register_io_source

from gpudb.engine.gpu.backend.base import ComputedFrame, DeviceColumn, DictionaryColumn, attach_rows
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.cudf.columns.arrays import (
    KINDS,
    are_narrow,
    dictionary_encode,
    narrow_integers,
    validity_mask,
    values_array,
)
from gpudb.engine.gpu.cudf.columns.convert import build_frame, to_device, to_host
from gpudb.engine.gpu.cudf.columns.slicing import estimate_own_bytes
from gpudb.engine.gpu.cudf.memory.streams import current_stream, on_current_stream
from gpudb.engine.gpu.limits import HOST_ROWS


class Evaluation(Protocol):
    """What evaluates lazy frames."""

    @property
    def evaluates(self) -> bool:
        """Whether the calling thread is evaluating a frame with cudf-polars: then sources are read in place."""


class CudfFrame:
    """A frame in the GPU's memory."""

    def __init__(self, table: Any, evaluation: Evaluation, copies: _HostCopy | None = None) -> None:
        self.table = table
        self._evaluation = evaluation
        self._copies = copies or _HostCopy(table)

    @cached_property
    def lazy(self) -> pl.LazyFrame:
        """See `ComputedFrame`."""
        table, copies, evaluation = self.table, self._copies, self._evaluation
        schema = {column.name: column.dtype.polars_type for column in table.columns}
        # The source must not refer to this frame, which keeps it: no collector sees cycles through Polars.
        source = FrameSource(table, copies, evaluation)
        lazy = register_io_source(source, schema=schema, is_pure=True)
        return attach_rows(lazy, lambda: CudfFrame(table, evaluation, copies))

    @property
    def on_host(self) -> HostFrame:
        """The rows on the host, copied there once: for few rows."""
        return HostFrame(self._copies.frame)

    @property
    def rows(self) -> int:
        """See `ComputedFrame`."""
        return int(self.table.num_rows)

    @property
    def bytes(self) -> int:
        """See `ComputedFrame`."""
        return sum(estimate_own_bytes(column) for column in self.table.table.columns())

    def to_polars(self) -> pl.DataFrame:
        """See `ComputedFrame`."""
        return to_host(self.table)

    def column(self, name: str) -> pl.Series:
        """See `ComputedFrame`."""
        return self._copies.frame[name] if self.rows <= HOST_ROWS else to_host(self.table.select([name]))[name]

    def device_column(self, name: str) -> DeviceColumn | None:
        """See `ComputedFrame`."""
        if self.rows <= HOST_ROWS:
            return None
        held = self.table.column_map[name].obj
        current_stream()
        valid = validity_mask(held)
        if held.type().id() in KINDS:
            return values_array(held), valid
        if held.type().id() == plc.TypeId.DECIMAL128 and (narrow := narrow_integers(held, valid)) is not None:
            return narrow, valid
        return None

    def dictionary_column(self, name: str) -> DictionaryColumn | None:
        """See `ComputedFrame`."""
        if self.rows <= HOST_ROWS:
            return None
        return dictionary_encode(self.table.column_map[name].obj)

    def count_distinct(self, name: str) -> int:
        """See `ComputedFrame`."""
        if self.rows <= HOST_ROWS:
            return self._copies.frame[name].n_unique()
        column = self.table.column_map[name].obj
        nulls, nans = plc.types.NullPolicy.INCLUDE, plc.types.NanPolicy.NAN_IS_VALID
        return int(plc.reduce.distinct_count(column, nulls, nans, stream=current_stream()))

    def add_columns(self, columns: pl.DataFrame | ComputedFrame) -> CudfFrame:
        """See `ComputedFrame`."""
        if isinstance(columns, CudfFrame):
            more = columns.table
        else:
            more = to_device(columns if isinstance(columns, pl.DataFrame) else columns.to_polars())
        names = set(more.column_names)
        every = [*(each for each in self.table.columns if each.name not in names), *more.columns]
        made = build_frame([c.obj for c in every], [c.name for c in every], [c.dtype for c in every], self.rows)
        return CudfFrame(made, self._evaluation)

    def dtype(self, name: str) -> pl.DataType:
        """See `ComputedFrame`."""
        found: pl.DataType = self.table.column_map[name].dtype.polars_type
        return found

    def select(self, names: Mapping[str, str]) -> CudfFrame:
        """See `ComputedFrame`."""
        sources = [self.table.column_map[source] for source in names.values()]
        kinds = [source.dtype for source in sources]
        return CudfFrame(
            build_frame([source.obj for source in sources], list(names), kinds, self.rows), self._evaluation
        )

    def max_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        return self._reduce(name, plc.aggregation.max())

    def min_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        return self._reduce(name, plc.aggregation.min())

    def _reduce(self, name: str, how: Any) -> int | None:
        if not self.rows:
            return None
        column = self.table.column_map[name].obj
        found = plc.reduce.reduce(column, how, column.type(), stream=current_stream()).to_py(stream=current_stream())
        return None if found is None else int(found)

    def fits_int64(self, name: str) -> bool:
        """See `ComputedFrame`."""
        if not self.rows:
            return True
        column = self.table.column_map[name].obj
        if column.type().id() != plc.TypeId.DECIMAL128:
            return True
        current_stream()
        return are_narrow(column)

    def null_count(self, name: str) -> int:
        """See `ComputedFrame`."""
        return int(self.table.column_map[name].obj.null_count())


class _HostCopy:
    """A table's rows on the host, copied there once: for few rows."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows."""
        return to_host(self._table)


class FrameSource:
    """A frame on the GPU as a source of lazy frames: read in place by cudf-polars, copied for Polars."""

    def __init__(self, table: Any, copies: _HostCopy, evaluation: Evaluation) -> None:
        self._table = table
        self._copies = copies
        self._evaluation = evaluation

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._table.num_rows)

    def __call__(
        self, columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, batch: int | None
    ) -> Iterator[Any]:
        if self._evaluation.evaluates:
            table = self._table if columns is None else self._table.select(columns)
            if columns is not None and not columns:
                table = build_frame([], [], [], self.rows)
            yield on_current_stream(table)
            return
        if self.rows <= HOST_ROWS:
            frame = self._copies.frame if columns is None else self._copies.frame.select(columns)
        else:
            frame = to_host(self._table if columns is None else self._table.select(columns))
        frame = frame if predicate is None else frame.filter(predicate)
        yield frame if limit is None else frame.head(limit)
