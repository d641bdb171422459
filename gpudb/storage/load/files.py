"""Input files of a load: finds them by a pattern, detects their kind by name or first bytes, and opens them.

Errors name the file: 58P01 (missing), 42501 (no permission), XX001 (damaged).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError

Kind = Literal["csv", "parquet", "arrow", "xlsx"]
Compression = Literal["gzip", "zstd"] | None

CHUNK = 1 << 20

_KINDS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tbl": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_PARQUET, _ARROW, _STREAM, _GZIP, _ZSTD = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to load; `size` is in bytes on disk."""

    path: Path
    kind: Kind
    compression: Compression
    size: int


def find_files(pattern: str) -> list[DataFile]:
    """Returns the files that a path or glob names, sorted; raises 58P01 if there are none."""
    if "://" in pattern:
        scheme = pattern.partition("://")[0]
        if scheme != "file":
            raise FeatureNotSupported(f"loading from {scheme} addresses is not supported")
        pattern = pattern.removeprefix("file://")
    location = Path(pattern).expanduser()
    magic = any(mark in pattern for mark in "*?[")
    with convert_errors(location):
        paths = [location]
        if magic and not location.exists():
            anchor = Path(location.anchor or ".")
            paths = sorted(anchor.glob(str(location.relative_to(anchor) if location.anchor else location)))
        files = [path for path in paths if not path.is_dir()]
    if not files:
        if paths:
            raise SqlError.of("wrong_object_type", f'"{pattern}" is a directory')
        raise SqlError.of("undefined_file", f'no file matches "{pattern}"')
    return [_describe(path) for path in files]


def _describe(path: Path) -> DataFile:
    with convert_errors(path):
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is None and not (suffixes and suffixes[-1] in _KINDS):
        compression = "gzip" if start.startswith(_GZIP) else "zstd" if start.startswith(_ZSTD) else None
    named = _KINDS.get(suffixes[-1]) if suffixes and compression is None else None
    if named is None and compression is not None and len(suffixes) > 1:
        inner = _KINDS.get(suffixes[-2])
        if inner in ("parquet", "arrow", "xlsx"):
            raise FeatureNotSupported(f'"{path}" is a compressed {inner} file', hint="Decompress it first.")
    if named is None:
        named = "csv"
        if start.startswith(_PARQUET):
            named = "parquet"
        elif start.startswith((_ARROW, _STREAM)):
            named = "arrow"
    return DataFile(path, named, compression, size)


@contextmanager
def convert_errors(path: Path | str) -> Iterator[None]:
    """Converts errors of the system and of Arrow to errors that name the file."""
    try:
        yield
    except GpudbError:
        raise
    except FileNotFoundError:
        raise SqlError.of("undefined_file", f'could not open file "{path}": No such file or directory') from None
    except PermissionError:
        message = f'could not open file "{path}" for reading: Permission denied'
        raise SqlError.of("insufficient_privilege", message) from None
    except (OSError, EOFError, ValueError, KeyError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise damaged_file_error(path, reason) from None


def damaged_file_error(path: Path | str, reason: str) -> GpudbError:
    """Returns XX001 for a file that is damaged or of another kind."""
    return SqlError.of("data_corrupted", f'file "{path}" is damaged or of another kind: {reason}')


def damaged_value_error(reason: str) -> GpudbError:
    """Returns XX001 for a value that Arrow cannot read as its declared type."""
    return SqlError.of("data_corrupted", f"a value cannot be read: {reason}")


def read_csv(file: DataFile, at: Callable[[int], None]) -> Iterator[bytes]:
    """Yields a csv file's bytes, decompressed, without a byte order mark; `at` receives the position in the file."""
    with convert_errors(file.path), pa.OSFile(str(file.path), "rb") as raw:
        source: pa.NativeFile = raw
        if file.compression is not None:
            source = pa.CompressedInputStream(raw, file.compression)
        first = True
        while data := source.read(CHUNK):
            yield data.removeprefix(b"\xef\xbb\xbf") if first else data
            first = False
            at(raw.tell() if not raw.closed else file.size)
        if file.compression is not None:
            _check_end(file)


def _check_end(file: DataFile) -> None:
    """Raises for an empty compressed file: it, like one cut at a frame's end, decompresses without an error."""
    if file.size == 0:
        raise damaged_file_error(file.path, f"an empty file is no {file.compression} stream")


def read_batches(file: DataFile, rows: int, at: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    """Returns the record batches of a Parquet or Arrow file, of at most `rows` rows."""
    return _read_parquet(file, rows, at) if file.kind == "parquet" else _read_arrow(file, rows, at)


def read_schema(file: DataFile) -> pa.Schema:
    """Returns the schema of a Parquet or Arrow file."""
    import pyarrow.parquet as pq

    with convert_errors(file.path):
        if file.kind == "parquet":
            return pq.read_schema(file.path)
        with pa.memory_map(str(file.path)) as source:
            return _open_arrow(source).schema


def _read_parquet(file: DataFile, rows: int, at: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with convert_errors(file.path), pq.ParquetFile(file.path, page_checksum_verification=True) as parquet:
        total = max(parquet.metadata.num_rows, 1)
        done = 0
        for batch in parquet.iter_batches(rows, use_threads=False):
            yield batch
            done += batch.num_rows
            at(file.size * done // total)


def _read_arrow(file: DataFile, rows: int, at: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    with convert_errors(file.path), pa.memory_map(str(file.path)) as source:
        reader = _open_arrow(source)
        if isinstance(reader, pa.RecordBatchFileReader):
            count = reader.num_record_batches
            for number in range(count):
                yield from _split(_validate(reader.get_batch(number)), rows)
                at(file.size * (number + 1) // count)
            return
        for batch in reader:
            yield from _split(_validate(batch), rows)
            at(source.tell())


def _open_arrow(source: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    start = source.read(len(_ARROW))
    source.seek(0)
    if start == _ARROW:
        return pa.ipc.open_file(source)
    if start[:4] == b"FEA1":
        raise FeatureNotSupported("Feather files of version 1 are not supported")
    return pa.ipc.open_stream(source)


def _validate(batch: pa.RecordBatch) -> pa.RecordBatch:
    # Offsets and lengths come from the file: they must be checked before anything uses them.
    batch.validate(full=True)
    return batch


def _split(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
