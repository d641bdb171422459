"""Arrow files as sources that DuckDB scans: of a file only the columns and batches that a statement needs are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from gpudb.storage.load.files import DataFile, convert_errors, read_batches, read_schema

_ROWS = 65536
_FILE = b"ARROW1"


class Source(Protocol):
    """What DuckDB scans: a dataset of Arrow, or an Arrow stream."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""


@dataclass(frozen=True, slots=True)
class ArrowStream:
    """An Arrow stream on disk, which is read anew by each scan."""

    path: Path
    schema: pa.Schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Returns a capsule of the stream's batches."""
        batches = read_batches(DataFile(self.path, "arrow", None, 0), _ROWS, lambda position: None)
        return pa.RecordBatchReader.from_batches(self.schema, batches).__arrow_c_stream__(requested_schema)


def open_arrow_file(path: str) -> Source:
    """Returns an Arrow file or stream as a source; 58P01, 42501, XX001."""
    import pyarrow.dataset as ds

    location = Path(path)
    with convert_errors(location):
        with location.open("rb") as file:
            is_file = file.read(len(_FILE)) == _FILE
        if is_file:
            source: Source = ds.dataset(path, format="ipc")
            return source
        return ArrowStream(location, read_schema(DataFile(location, "arrow", None, 0)))
