"""Arrow files as sources that DuckDB scans: of a file only the columns and batches that a statement needs are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from gpudb.catalog.file_tables import FileStamp
from gpudb.storage.load.files import DataFile, convert_errors, read_batches, read_schema
from gpudb.storage.object_stores.addresses import read_address
from gpudb.storage.object_stores.duckdb_files import get_store
from gpudb.storage.object_stores.errors import convert_store_errors

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


@dataclass(frozen=True, slots=True)
class ArrowObject:
    """An Arrow stream in an object storage, which is read anew by each scan."""

    file: FileStamp
    schema: pa.Schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Returns a capsule of the stream's batches."""
        return pa.ipc.open_stream(_open(self.file)).__arrow_c_stream__(requested_schema)


def _open(file: FileStamp) -> pa.NativeFile:
    assert file.store is not None
    return get_store(file.store).open_file(read_address(file.path))


def _open_object(file: FileStamp) -> Source:
    import pyarrow.dataset as ds

    assert file.store is not None
    address = read_address(file.path)
    with convert_store_errors(file.path), _open(file) as opened:
        if opened.read_at(len(_FILE), 0) != _FILE:
            with convert_errors(file.path):
                return ArrowObject(file, pa.ipc.open_stream(opened).schema)
    with convert_errors(file.path):
        files = get_store(file.store).open_filesystem(address.bucket)
        source: Source = ds.dataset([address.path], filesystem=files, format="ipc")
        return source


def open_arrow_file(file: FileStamp) -> Source:
    """Returns an Arrow file or stream as a source; 58P01, 42501, XX001."""
    import pyarrow.dataset as ds

    if file.store is not None:
        return _open_object(file)
    path = file.path
    location = Path(path)
    with convert_errors(location):
        with location.open("rb") as file:
            is_file = file.read(len(_FILE)) == _FILE
        if is_file:
            source: Source = ds.dataset(path, format="ipc")
            return source
        return ArrowStream(location, read_schema(DataFile(location, "arrow", None, 0)))
