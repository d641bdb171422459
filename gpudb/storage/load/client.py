"""Files as COPY data, for a client that loads them through its connection: one COPY per file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from gpudb.errors import FeatureNotSupported
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.writer import RowWriter
from gpudb.storage.load import files
from gpudb.storage.load.casts import find_sql_type
from gpudb.storage.load.loader import BATCH_ROWS
from gpudb.storage.load.progress import Meter, ReportProgress, ignore_progress


@dataclass(frozen=True, slots=True)
class CopySource:
    """A file to send. `columns` belong in the COPY (None: csv, all by position); `chunks` are its data.

    The COPY's options are `format`'s (`csv`) and, if `is_csv`, those of the file itself (HEADER, DELIMITER …).
    """

    file: files.DataFile
    columns: tuple[str, ...] | None
    chunks: Iterator[bytes]

    @property
    def is_csv(self) -> bool:
        """Whether the data are the file's own text."""
        return self.columns is None


def list_copy_sources(pattern: str, report: ReportProgress = ignore_progress) -> list[CopySource]:
    """Returns the files that a path or glob names, as csv for `COPY t [(columns)] FROM STDIN (FORMAT csv, …)`.

    A file is opened when its chunks are read, so read them one file after the other. Compressed csv is decompressed;
    Parquet and Arrow files are converted to csv with the columns that they name. Raises as `load_files` does for files.
    """
    found = files.find_files(pattern)
    sent = [0]
    meter = Meter(sum(file.size for file in found), report, lambda: sent[0])
    return [_build_source(file, meter, sent) for file in found]


def _build_source(file: files.DataFile, meter: Meter, sent: list[int]) -> CopySource:
    if file.kind == "csv":
        return CopySource(file, None, _read_csv(file, meter))
    schema = files.read_schema(file)
    types = []
    for name, held in zip(schema.names, schema.types):
        type_ = find_sql_type(held.value_type if pa.types.is_dictionary(held) else held)
        if type_ is None:
            raise FeatureNotSupported(f'column "{name}" of file "{file.path}" is of type {held}')
        types.append(type_)
    writer = RowWriter(schema.names, types, CopyOptions(format="csv", delimiter=",", null=""))

    def chunks() -> Iterator[bytes]:
        before = sent[0]
        for data in writer.blocks(files.read_batches(file, BATCH_ROWS, meter.report_position)):
            sent[0] = before + writer.rows
            yield data
        meter.finish_file(file.size)

    return CopySource(file, tuple(schema.names), chunks())


def _read_csv(file: files.DataFile, meter: Meter) -> Iterator[bytes]:
    yield from files.read_csv(file, meter.report_position)
    meter.finish_file(file.size)
