"""Arrow files as sources that DuckDB scans: of a file only the columns and batches that a statement needs are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def _open_object(file: FileStamp) -> Source:
    # Heavy, and for few statements
    from gpudb.storage.files.scanned_source import ScannedSource

    assert file.store is not None
    store, address = get_store(file.store), read_address(file.path)
    with convert_store_errors(file.path), store.open_file(address) as opened:
        is_file = opened.read_at(len(_FILE), 0) == _FILE

    def open_reader(names: Sequence[str] | None) -> Any:
        source = store.open_file(address)
        if not is_file:
            return pa.ipc.open_stream(source)
        if names is None:
            return pa.ipc.open_file(source)
        chosen = [schema.get_field_index(name) for name in names]
        return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=chosen))

    def read(names: Sequence[str], _: Any) -> Iterator[pa.RecordBatch]:
        with convert_store_errors(file.path):
            reader = open_reader(names)
            batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
            for batch in batches:
                batch.validate(full=True)
                yield from (batch.select(names).slice(at, _ROWS) for at in range(0, batch.num_rows, _ROWS))

    with convert_errors(file.path):
        schema = open_reader(None).schema
    return ScannedSource(file.path, schema, read)


def open_arrow_file(file: FileStamp) -> Source:
    """Returns an Arrow file or stream as a source; 58P01, 42501, XX001."""
    import pyarrow.dataset as ds

    if file.store is not None:
        return _open_object(file)
    path = file.path
    location = Path(path)
    with convert_errors(location):
        with location.open("rb") as opened:
            is_file = opened.read(len(_FILE)) == _FILE
        if is_file:
            source: Source = ds.dataset(path, format="ipc")
            return source
        return ArrowStream(location, read_schema(DataFile(location, "arrow", None, 0)))
