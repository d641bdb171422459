"""Csv files that COPY's reader reads, for what DuckDB's reader lacks: other encodings, comments, lines to skip …

DuckDB still sniffs them: a sample of their rows, made plain.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from gpudb.catalog.file_tables import FileColumn, FileStamp
from gpudb.catalog.tables import Column, Table
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.errors import RowError, truncate_text
from gpudb.storage.copy.split import Splitter
from gpudb.storage.files.copy_source import CopySource
from gpudb.storage.files.options import SAMPLE_ROWS, make_copy_options
from gpudb.storage.load.files import CHUNK, convert_errors
from gpudb.storage.object_stores.addresses import read_address
from gpudb.storage.object_stores.duckdb_files import get_store

_MARK = b"\xef\xbb\xbf"


def _ignore(message: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a statement reads texts: its `clock`; `notice` tells its client what was found, `warn` what was left out."""

    clock: Clock = field(default_factory=Clock)
    notice: Callable[[str], None] = _ignore
    warn: Callable[[str], None] = _ignore


def open_file(stamp: FileStamp) -> pa.NativeFile:
    """Returns the bytes of a file or an object."""
    if stamp.store is None:
        return pa.OSFile(stamp.path, "rb")
    return get_store(stamp.store).open_file(read_address(stamp.path))


def read_bytes(stamp: FileStamp, compression: str | None) -> Iterator[bytes]:
    """Yields a file's bytes, decompressed, without UTF-8's byte order mark."""
    with convert_errors(stamp.path), open_file(stamp) as raw:
        source = raw if compression is None else pa.CompressedInputStream(raw, compression)
        first = True
        while data := source.read(CHUNK):
            yield data.removeprefix(_MARK) if first else data
            first = False


@contextmanager
def make_sample(stamp: FileStamp, reader: Mapping[str, object]) -> Iterator[Path]:
    """Yields a file of the first rows of a csv file as UTF-8, without comments and lines to skip."""
    wanted = int(str(reader.get("sample_size", SAMPLE_ROWS)))
    splitter = Splitter(make_copy_options(reader))

    def split() -> Iterator[bytes]:
        for data in read_bytes(stamp, _compression(reader)):
            for block in splitter.feed(data):
                yield block.data
        for block in splitter.finish():
            yield block.data

    with tempfile.NamedTemporaryFile(suffix=".csv") as sample:
        lines = 0
        try:
            for data in split():
                sample.write(data if lines else data.lstrip(b"\r\n"))
                lines += data.count(b"\n")
                if 0 <= wanted < lines:
                    break
        except RowError as error:
            raise error.with_context(f'file "{stamp.path}"', 0) from None
        sample.flush()
        yield Path(sample.name)


def open_written(
    stamps: Sequence[FileStamp],
    names: Sequence[Sequence[str]],
    columns: Sequence[FileColumn],
    reader: Mapping[str, object],
    reading: Reading,
    *,
    guessed: bool,
) -> tuple[CopySource, ...]:
    """Returns a source for each file, whose own columns have some `names`; `guessed` is whether their types are."""
    types = {column.name: column.type for column in columns}
    options = replace(make_copy_options(reader), guard_zeros=guessed)
    sources = []
    for stamp, own in zip(stamps, names, strict=True):
        table = Table(0, "", Path(stamp.path).name, tuple(Column(name, types[name]) for name in own), owner="")
        sources.append(
            CopySource(
                table,
                options,
                reading.clock,
                partial(read_bytes, stamp, _compression(reader)),
                label=f'file "{stamp.path}"',
                report=partial(_report_skipped, reading.warn, stamp.path),
            )
        )
    return tuple(sources)


def _report_skipped(notice: Callable[[str], None], path: str, count: int, line: int, text: str) -> None:
    rows = "row was" if count == 1 else "rows were"
    notice(f'{count} {rows} skipped in file "{path}", first at line {line}: "{truncate_text(text)}"')


def _compression(reader: Mapping[str, object]) -> str | None:
    return str(reader["compression"]) if "compression" in reader else None
