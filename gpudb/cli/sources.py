"""Files to load: found by name or glob, with their format from the name, read in pieces, decompressed."""

from __future__ import annotations

import codecs
import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from gpudb.api.frames import get_sql_type
from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.storage.files.options import read_options
from gpudb.storage.files.schema import CsvStart, open_file_table, read_csv_start
from gpudb.storage.load.workbooks import read_sheet
from gpudb.types import SqlType

FORMATS = ("csv", "text", "parquet", "arrow", "xlsx")
CHUNK = 4 << 20
TABLE_ROWS = 1 << 20
"""Rows of Parquet and Arrow files that are sent together."""

_SUFFIXES = {
    ".csv": ("csv", None),
    ".tsv": ("csv", "\t"),
    ".txt": ("text", None),
    ".parquet": ("parquet", None),
    ".arrow": ("arrow", None),
    ".arrows": ("arrow", None),
    ".feather": ("arrow", None),
    ".ipc": ("arrow", None),
    ".xlsx": ("xlsx", None),
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file: its format (one of FORMATS), its compression, and the delimiter that its name implies."""

    path: Path
    format: str
    compression: str | None = None
    delimiter: str | None = None


def find_sources(patterns: list[str], format: str | None) -> list[Source]:
    """Returns the files, in order; 58P01 if a name or glob matches nothing, 0A000 for an unknown format."""
    sources = []
    for pattern in patterns:
        names = [pattern] if Path(pattern).is_file() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (may be absolute)
        files = [Path(name) for name in names if Path(name).is_file()]
        if not files:
            raise SqlError.of("undefined_file", f'there is no file "{pattern}"')
        sources += [_make_source(path, format) for path in files]
    return sources


def _make_source(path: Path, format: str | None) -> Source:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    name = suffixes[-2] if compression and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    by_name = _SUFFIXES.get(name)
    chosen = format or (by_name[0] if by_name else None)
    if chosen not in FORMATS:
        subject = f'the format "{chosen}"' if chosen else f'the format of "{path.name}"'
        hint = f"Say --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        raise FeatureNotSupported(f"{subject} is not known", hint=hint)
    return Source(path, chosen, compression, by_name[1] if by_name and by_name[0] == chosen else None)


def read_chunks(source: Source, report: Callable[[int], None]) -> Iterator[bytes]:
    """Yields a file's bytes, decompressed; calls `report(bytes of the file read)` after each piece.

    A csv file has no byte order mark of UTF-8.
    """
    mark = codecs.BOM_UTF8 if source.format == "csv" else b""
    with pa.OSFile(str(source.path), "rb") as file:
        stream = pa.CompressedInputStream(file, source.compression) if source.compression else file
        while chunk := _read_chunk(stream, source):
            yield chunk.removeprefix(mark)
            mark = b""
            report(file.tell())


def _read_chunk(stream: pa.NativeFile, source: Source) -> bytes:
    try:
        data: bytes = stream.read(CHUNK)
        return data
    except OSError as error:
        message = f'"{source.path.name}" cannot be unpacked: {error}'
        raise SqlError.of("data_corrupted", message) from None


def read_tables(source: Source, options: Mapping[str, object]) -> Iterator[tuple[pa.Table, int]]:
    """Yields a Parquet or Arrow file in tables of about TABLE_ROWS rows, each with the bytes of the file read so
    far; a workbook, read with options of `read_xlsx`, as one.
    """
    size = source.path.stat().st_size
    if source.format == "xlsx":
        yield _read_sheet(source, options), size
        return
    with _translate_read_errors(source), ExitStack() as stack:
        if source.format == "parquet":
            file = stack.enter_context(pyarrow.parquet.ParquetFile(source.path))
            row_count = max(1, file.metadata.num_rows)
            yield from _gather_tables(
                file.iter_batches(65536), file.schema_arrow, lambda rows: size * rows // row_count
            )
        else:
            mapped = stack.enter_context(pa.memory_map(str(source.path)))
            yield from _gather_tables(*_arrow_batches(mapped), lambda rows: mapped.tell())


def _arrow_batches(mapped: pa.NativeFile) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    try:
        reader = pa.ipc.open_file(mapped)
    except pa.ArrowInvalid:
        mapped.seek(0)
        stream = pa.ipc.open_stream(mapped)
        return iter(stream), stream.schema
    return (reader.get_batch(index) for index in range(reader.num_record_batches)), reader.schema


def _gather_tables(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, get_bytes_read: Callable[[int], int]
) -> Iterator[tuple[pa.Table, int]]:
    pending: list[pa.RecordBatch] = []
    pending_rows = yielded_rows = 0
    for batch in batches:
        pending.append(batch)
        pending_rows += batch.num_rows
        if pending_rows >= TABLE_ROWS:
            yielded_rows += pending_rows
            yield pa.Table.from_batches(pending, schema), get_bytes_read(yielded_rows)
            pending, pending_rows = [], 0
    if pending:
        yield pa.Table.from_batches(pending, schema), get_bytes_read(yielded_rows + pending_rows)


def detect_header(
    source: Source, first_row: Sequence[str], table_columns: tuple[str, ...], requested: bool | None
) -> tuple[bool, tuple[str, ...]]:
    """Returns whether the first row is a header, and the table's columns that it names (none: all, in order).

    Without `--header` or `--no-header` it is a header if each of its fields is the name of a column.
    """
    if source.format != "csv" or requested is False:
        return bool(requested) and source.format != "csv", ()
    fields = [field.strip() for field in first_row]
    by_name = {name.lower(): name for name in table_columns}
    header_columns = tuple(by_name[field.lower()] for field in fields if field.lower() in by_name)
    if fields and len(set(header_columns)) == len(fields):
        return True, header_columns
    return bool(requested), ()


def _make_request(source: Source, options: Mapping[str, object]) -> FileRequest:
    """Returns what a FROM of a csv file with some options asks for."""
    path = glob.escape(str(source.path.absolute()))
    given = {**options, "hive_partitioning": "off"}
    if source.delimiter is not None:
        given.setdefault("delimiter", source.delimiter)
    return FileRequest((path,), "csv", given)


def describe_csv(source: Source, options: Mapping[str, object]) -> FileTable:
    """Returns a csv file as the table that a FROM with these options of `read_csv` would read."""
    return open_file_table(_make_request(source, options))


def start_csv(source: Source, options: Mapping[str, object]) -> CsvStart:
    """Returns how a FROM with these options would read a csv file, and how it begins."""
    return read_csv_start(_make_request(source, options))


def _read_sheet(source: Source, options: Mapping[str, object]) -> pa.Table:
    return read_sheet(source.path, read_options(options, "xlsx", str(source.path)).own).rows


def infer_columns(source: Source, options: Mapping[str, object]) -> tuple[list[str], list[SqlType]]:
    """Returns the columns of a new table for a Parquet or Arrow file or a workbook, with names in lower case.

    0A000 for text files, which have neither names nor types.
    """
    if source.format == "text":
        raise FeatureNotSupported("a text file does not tell its columns", hint="Create the table first.")
    with _translate_read_errors(source):
        schema = _read_schema(source, options)
    return [name.lower() for name in schema.names], [get_sql_type(field.type, field.name) for field in schema]


def _read_schema(source: Source, options: Mapping[str, object]) -> pa.Schema:
    if source.format == "parquet":
        return pyarrow.parquet.read_schema(source.path)
    if source.format == "xlsx":
        return _read_sheet(source, options).schema
    with pa.memory_map(str(source.path)) as mapped:
        return _arrow_batches(mapped)[1]


@contextmanager
def _translate_read_errors(source: Source) -> Iterator[None]:
    """Returns XX001 naming a file that Arrow cannot read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise SqlError.of("data_corrupted", f'"{source.path.name}" cannot be read: {error}') from None
