"""Files to load: found by name or glob, with their format from the name, read in pieces, decompressed."""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from gpudb.api.frames import sql_type
from gpudb.api.names import quoted
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.types import SqlType

__all__ = ["Source", "chunks", "columns", "find", "header_of", "quoted", "tables"]

FORMATS = ("csv", "text", "parquet", "arrow")
CHUNK = 4 << 20
TABLE_ROWS = 1 << 20
"""Rows of Parquet and Arrow files that are sent together."""
GUESSED_FROM = 32 << 20
"""Bytes of a csv file from which --create infers its columns' types."""

_SUFFIXES = {
    ".csv": ("csv", None),
    ".tsv": ("csv", "\t"),
    ".txt": ("text", None),
    ".parquet": ("parquet", None),
    ".arrow": ("arrow", None),
    ".arrows": ("arrow", None),
    ".feather": ("arrow", None),
    ".ipc": ("arrow", None),
}
_PACKED = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file: its format (one of FORMATS), its compression, and the delimiter that its name implies."""

    path: Path
    format: str
    packed: str | None = None
    delimiter: str | None = None


def find(patterns: list[str], format: str | None) -> list[Source]:
    """Returns the files, in order; 58P01 if a name or glob matches nothing, 0A000 for an unknown format."""
    found = []
    for pattern in patterns:
        names = [pattern] if Path(pattern).is_file() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (may be absolute)
        files = [Path(name) for name in names if Path(name).is_file()]
        if not files:
            raise SqlError.of("undefined_file", f'there is no file "{pattern}"')
        found += [_source(path, format) for path in files]
    return found


def _source(path: Path, format: str | None) -> Source:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = _PACKED.get(suffixes[-1]) if suffixes else None
    name = suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    by_name = _SUFFIXES.get(name)
    chosen = format or (by_name[0] if by_name else None)
    if chosen not in FORMATS:
        what = f'the format "{chosen}"' if chosen else f'the format of "{path.name}"'
        hint = f"Say --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        raise FeatureNotSupported(f"{what} is not known", hint=hint)
    return Source(path, chosen, packed, by_name[1] if by_name and by_name[0] == chosen else None)


def chunks(source: Source, told: Callable[[int, int], None]) -> Iterator[bytes]:
    """Yields a file's bytes, decompressed; calls `told(bytes of the file read, lines seen)` after each piece."""
    lines = 0
    with pa.OSFile(str(source.path), "rb") as file:
        stream = pa.CompressedInputStream(file, source.packed) if source.packed else file
        while chunk := _read(stream, source):
            yield chunk
            lines += chunk.count(b"\n")
            told(file.tell(), lines)


def _read(stream: pa.NativeFile, source: Source) -> bytes:
    try:
        data: bytes = stream.read(CHUNK)
        return data
    except OSError as error:
        message = f'"{source.path.name}" cannot be unpacked: {error}'
        raise SqlError.of("data_corrupted", message) from None


def tables(source: Source) -> Iterator[tuple[pa.Table, int]]:
    """Yields a Parquet or Arrow file in tables of about TABLE_ROWS rows, each with the bytes of the file read so
    far.
    """
    size = source.path.stat().st_size
    with _readable(source), ExitStack() as stack:
        if source.format == "parquet":
            file = stack.enter_context(pyarrow.parquet.ParquetFile(source.path))
            whole = max(1, file.metadata.num_rows)
            yield from _gathered(file.iter_batches(65536), file.schema_arrow, lambda rows: size * rows // whole)
        else:
            mapped = stack.enter_context(pa.memory_map(str(source.path)))
            yield from _gathered(*_arrow_batches(mapped), lambda rows: mapped.tell())


def _arrow_batches(mapped: pa.NativeFile) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    try:
        reader = pa.ipc.open_file(mapped)
    except pa.ArrowInvalid:
        mapped.seek(0)
        stream = pa.ipc.open_stream(mapped)
        return iter(stream), stream.schema
    return (reader.get_batch(index) for index in range(reader.num_record_batches)), reader.schema


def _gathered(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, read: Callable[[int], int]
) -> Iterator[tuple[pa.Table, int]]:
    held: list[pa.RecordBatch] = []
    waiting = done = 0
    for batch in batches:
        held.append(batch)
        waiting += batch.num_rows
        if waiting >= TABLE_ROWS:
            done += waiting
            yield pa.Table.from_batches(held, schema), read(done)
            held, waiting = [], 0
    if held:
        yield pa.Table.from_batches(held, schema), read(done + waiting)


def header_of(
    source: Source, there: tuple[str, ...], wanted: bool | None, delimiter: str | None
) -> tuple[bool, tuple[str, ...]]:
    """Returns whether the first line is a header, and the table's columns that it names (none: all, in order).

    Without `--header` or `--no-header` it is a header if each of its fields is the name of a column.
    """
    if source.format != "csv" or wanted is False:
        return bool(wanted) and source.format != "csv", ()
    fields = _first_line(source, delimiter)
    by_name = {name.lower(): name for name in there}
    named = tuple(by_name[field.lower()] for field in fields if field.lower() in by_name)
    if fields and len(set(named)) == len(fields):
        return True, named
    return bool(wanted), ()


def _first_line(source: Source, delimiter: str | None) -> list[str]:
    for chunk in chunks(source, lambda read, lines: None):
        text = chunk[: 1 << 20].decode("utf-8-sig", errors="replace")
        reader = csv.reader(text.splitlines(keepends=True), delimiter=_delimiter(source, delimiter))
        return [field.strip() for field in next(reader, [])]
    return []


def _delimiter(source: Source, given: str | None) -> str:
    found = {"\\t": "\t"}.get(given or "", given or source.delimiter or ",")
    if len(found.encode()) != 1:
        raise FeatureNotSupported("COPY delimiter must be a single one-byte character")
    return found


def columns(source: Source, header: bool | None, delimiter: str | None) -> tuple[list[str], list[SqlType]]:
    """Returns the columns of a new table for this file; for csv from its first GUESSED_FROM bytes.

    Names are made lower case. 0A000 for text files, which have neither names nor types.
    """
    if source.format == "text":
        raise FeatureNotSupported("a text file does not tell its columns", hint="Create the table first.")
    if source.format == "csv":
        schema = _guessed(source, header, delimiter)
    else:
        with _readable(source):
            schema = _schema(source)
    return [name.lower() for name in schema.names], [sql_type(field.type, field.name) for field in schema]


def _schema(source: Source) -> pa.Schema:
    if source.format == "parquet":
        return pyarrow.parquet.read_schema(source.path)
    with pa.memory_map(str(source.path)) as mapped:
        return _arrow_batches(mapped)[1]


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    """Returns XX001 naming a file that Arrow cannot read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise SqlError.of("data_corrupted", f'"{source.path.name}" cannot be read: {error}') from None


def _guessed(source: Source, header: bool | None, delimiter: str | None) -> pa.Schema:
    head = bytearray()
    for chunk in chunks(source, lambda read, lines: None):
        head += chunk
        if len(head) >= GUESSED_FROM:
            del head[head.rfind(b"\n") + 1 :]
            break
    parse = pyarrow.csv.ParseOptions(delimiter=_delimiter(source, delimiter), newlines_in_values=True)
    read = pyarrow.csv.ReadOptions(autogenerate_column_names=header is False, block_size=max(len(head), 1))
    try:
        return pyarrow.csv.read_csv(pa.BufferReader(bytes(head)), read, parse).schema
    except pa.ArrowInvalid as error:
        raise SqlError.of("bad_copy_file_format", f'"{source.path.name}": {error}') from None
