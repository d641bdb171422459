"""Rows that our own code reads, as a dataset of Arrow that DuckDB scans with its columns and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from gpudb.errors import GpudbError
from gpudb.storage.load.files import convert_errors
from gpudb.storage.object_stores.duckdb_files import record_failure

Read = Callable[[Sequence[str], Any], Iterable[pa.RecordBatch]]
"""Yields rows with some columns in their order; may leave out rows for which an expression, if given, is not true."""


class ScannedSource(ds.Dataset):  # type: ignore[misc]
    """A dataset whose rows `read` yields anew for each scan; `name` is what errors call it.

    pyarrow's own datasets hold Python's lock while they open a file, for as long as an object storage takes.
    """

    def __init__(self, name: str, schema: pa.Schema, read: Read) -> None:
        self._name, self._schema, self._read = name, schema, read

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> _Scanner:
        """Returns what DuckDB reads: some columns, and the rows for which an expression is true."""
        names = self._schema.names if columns is None else list(columns)
        schema = pa.schema([self._schema.field(name) for name in names])
        return _Scanner(self._name, schema, self._read, filter)


@dataclass(frozen=True, slots=True)
class _Scanner:
    name: str
    projected_schema: pa.Schema
    read: Read
    filter: Any

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the rows."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._list_batches())

    def _list_batches(self) -> Iterator[pa.RecordBatch]:
        try:
            with convert_errors(self.name):
                for batch in self.read(self.projected_schema.names, self.filter):
                    if self.filter is None:
                        yield batch
                    else:
                        yield from pa.Table.from_batches([batch]).filter(self.filter).to_batches()
        except GpudbError as error:
            raise OSError(record_failure(error)) from None
