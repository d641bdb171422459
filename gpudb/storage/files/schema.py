"""Columns of files: read from the footers of Parquet and Arrow files, inferred from the first rows of csv and JSON."""

from __future__ import annotations

import codecs
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from gpudb.catalog.file_tables import FileColumn, FileFormat, FileRequest, FileStamp, FileTable
from gpudb.duckdb.errors import is_wrong_row, translate_error
from gpudb.duckdb.literals import quote_literal
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.lru import LruCache
from gpudb.storage.files.arrow_source import open_arrow_file
from gpudb.storage.files.csv_sniffer import CSV_TYPES, read_row, sniff
from gpudb.storage.files.csv_types import keep_odd_moments, keep_zeros
from gpudb.storage.files.discovery import FindStore, FoundFiles, discover_files, list_folder_values
from gpudb.storage.files.options import ScanOptions, is_written, read_options
from gpudb.storage.files.reader_sql import READ_DATES, get_reader_path, quote_path, render_csv_options
from gpudb.storage.files.sheets import describe_sheet, open_sheet
from gpudb.storage.files.types import UNTYPED, find_common_type, find_type
from gpudb.storage.files.written_csv import Reading, make_sample, open_written
from gpudb.storage.files.written_csv import open_file as _open_file
from gpudb.storage.load.column_names import name_columns
from gpudb.storage.load.files import convert_errors, damaged_file_error
from gpudb.storage.object_stores.duckdb_files import PROTOCOL, find_store_failure, show_addresses
from gpudb.types import DATE, INT8, MAX_DIGITS, TEXT, SqlType

FILENAME = "filename"
"""The column of the path of each row's file."""

_HEADER_BYTES = 1 << 20
_REQUESTS = 16
"""Requests to an object storage at a time."""
_NO_FOLDERS = "hive_partitioning = false"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Held = tuple[tuple[str, str], ...]
"""Names of a file's columns with the DuckDB types in which a reader gives them."""
_known: LruCache[tuple[FileStamp, tuple[tuple[str, object], ...]], _Held] = LruCache(4096)
_sniffed: LruCache[tuple[FileStamp, tuple[tuple[str, object], ...]], dict[str, object]] = LruCache(4096)
_lock = threading.Lock()
_connection: list[duckdb.DuckDBPyConnection] = []


def open_file_table(
    request: FileRequest, find_store: FindStore | None = None, reading: Reading | None = None
) -> FileTable:
    """Returns the files that a statement names, as a table.

    58P01 if there are none; 42501, XX001; 0A000 for a column that no SQL type holds; 42804 for files whose columns
    differ, unless the option union_by_name says that they may; 22023 for options.
    """
    found = discover_files(request.patterns, request.format, find_store)
    options = read_options(request.options, found.format, found.stamps[0].path)
    reader = _find_reader(found, options)
    if reading is not None:
        _tell(reading, found, options, reader)
    held = _list_columns(found.stamps, found.format, reader)
    columns = _merge_columns(found.stamps, held, options)
    if request.declared is not None:
        columns = _apply_declared(columns, request.declared, found.format)
    folders = _list_folders(found.stamps, columns) if options.folders else ()
    columns = (*columns, *folders)
    check_distinct([column.name for column in columns], found.stamps[0].path)
    path = FileColumn(FILENAME, TEXT, "VARCHAR", "path")
    has_own = any(column.name.lower() == FILENAME for column in columns)
    if options.filename and has_own:
        raise SqlError.of("duplicate_column", f'column "{FILENAME}" specified more than once')
    if found.format == "csv" and is_written(reader):
        return _open_written(found.stamps, held, columns, path, options, reader, request, reading or Reading())
    return FileTable(
        found.stamps,
        found.format,
        (*columns, path) if options.filename else columns,
        () if options.filename or has_own else (path,),
        reader,
        options.by_name,
    )


def _tell(reading: Reading, found: FoundFiles, options: ScanOptions, reader: Mapping[str, object]) -> None:
    """Tells what was found of the first file, unless the statement says it."""
    name = f'file "{found.stamps[0].path}"'
    if found.format == "csv" and not {"header", "delimiter"} <= options.own.keys():
        reading.notice(f"{name} is read with {describe_csv_options(reader)}")
    if found.format == "xlsx" and not {"header", "sheet"} <= options.own.keys():
        reading.notice(f"{name} is read from {describe_sheet(open_sheet(found.stamps[0], reader))}")


def _open_written(
    stamps: Sequence[FileStamp],
    held: Sequence[_Held],
    columns: Sequence[FileColumn],
    path: FileColumn,
    options: ScanOptions,
    reader: Mapping[str, object],
    request: FileRequest,
    reading: Reading,
) -> FileTable:
    """Returns csv files that COPY's reader reads as a table."""
    plain = tuple(replace(column, held="") if column.origin == "file" else column for column in columns)
    own = [column.name for column in plain if column.origin == "file"]
    names = [own if request.declared is not None else [name for name, _ in each] for each in held]
    guessed = request.declared is None
    sources = open_written(stamps, names, plain, reader, reading, guessed=guessed)
    has_own = any(column.name.lower() == FILENAME for column in columns)
    return FileTable(
        tuple(stamps),
        "copy",
        (*plain, path) if options.filename else plain,
        () if options.filename or has_own else (path,),
        {**reader, "source": sources},
        options.by_name,
    )


def describe_csv_options(options: Mapping[str, object]) -> str:
    """Returns what was found of a csv file, in words."""
    header = "a header" if options["header"] else "no header"
    encoding = f", in the encoding {options['encoding']}" if "encoding" in options else ""
    return f"{header} and the delimiter {options['delimiter']!r}{encoding}"


@dataclass(frozen=True, slots=True)
class CsvStart:
    """How csv files are read, by what a statement says and the first one tells, and the first row's fields."""

    options: Mapping[str, object]
    first_row: tuple[str, ...]


def read_csv_start(request: FileRequest) -> CsvStart:
    """Returns how csv files are read, and how the first one begins."""
    found = discover_files(request.patterns, "csv")
    options = _find_reader(found, read_options(request.options, "csv", found.stamps[0].path))
    with _open_plain(found.stamps[0], options) as file:
        return CsvStart(options, tuple(read_row(file.read_start(), file.options)))


def _find_reader(found: FoundFiles, options: ScanOptions) -> dict[str, object]:
    reader = dict(options.own)
    if found.compression is not None:
        reader["compression"] = found.compression
    return _complete(found.stamps[0], reader) if found.format == "csv" else reader


def _list_columns(stamps: Sequence[FileStamp], format: FileFormat, reader: Mapping[str, object]) -> list[_Held]:
    """Returns the columns of each file, from the cache if the file has not changed."""
    variant = (("format", format), *sorted(reader.items(), key=lambda item: item[0]))
    missing = [stamp for stamp in stamps if _known.get((stamp, variant)) is None]
    if missing:
        for stamp, held in zip(missing, _READERS[format](missing, reader), strict=True):
            _known.put((stamp, variant), held)
    found = [_known.get((stamp, variant)) for stamp in stamps]
    return [held if held is not None else () for held in found]


# ---- columns of one format


def _read_parquet(stamps: Sequence[FileStamp], _: Mapping[str, object]) -> list[_Held]:
    remote = [stamp for stamp in stamps if stamp.store is not None]
    if len(remote) > 1:  # a request each, at least
        with ThreadPoolExecutor(min(len(remote), _REQUESTS), thread_name_prefix="gpudb-objects") as pool:
            return [held for each in pool.map(_read_footers, [[stamp] for stamp in stamps]) for held in each]
    return _read_footers(stamps)


def _read_footers(stamps: Sequence[FileStamp]) -> list[_Held]:
    names = {get_reader_path(stamp): stamp for stamp in stamps}
    paths = ", ".join(quote_path(stamp) for stamp in stamps)
    text = f"SELECT file_name, name, num_children, duckdb_type, precision, scale FROM parquet_schema([{paths}])"
    try:
        rows = _run(text)
    except duckdb.Error as error:
        if (failure := find_store_failure(str(error))) is not None:
            raise failure from None
        for stamp in stamps:  # finds the damaged one
            with convert_errors(stamp.path), _open_file(stamp) as file:
                import pyarrow.parquet as pq

                pq.read_metadata(file)
        raise
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
    inside: dict[str, int] = {}
    for path, name, children, held, precision, scale in rows:
        if path not in inside:  # the root
            inside[path] = 0
            continue
        if inside[path]:
            inside[path] += (children or 0) - 1
        else:
            found[path].append((name, held or "UNKNOWN"))
            inside[path] = children or 0
        if precision is not None and precision > MAX_DIGITS:
            # DuckDB would read doubles
            found[path][-1] = (found[path][-1][0], f"DECIMAL({precision},{scale})")
    return [tuple(each) for each in found.values()]


def _read_csv(stamps: Sequence[FileStamp], reader: Mapping[str, object]) -> list[_Held]:
    return [_read_one_csv(stamp, reader) for stamp in stamps]


def _read_one_csv(stamp: FileStamp, reader: Mapping[str, object]) -> _Held:
    if not stamp.size:
        raise damaged_file_error(stamp.path, "an empty csv file has no columns")
    with _open_plain(stamp, reader) as file:
        start = file.read_start()
        if file.sample is None and start[:1] in ("\r", "\n"):
            error = damaged_file_error(stamp.path, "it begins with an empty line")
            error.hint = "Say skip => 0: then empty lines are left out."
            raise error
        header = read_row(start, file.options)
        held = _describe_csv(file, len(header))
        names = name_columns(header) if file.options["header"] else _number_columns(len(held))
        # A row of another width is told when it is read, with its line
        held = [*held, *["VARCHAR"] * (len(names) - len(held))][: len(names)]
        with suppress(duckdb.Error):  # what is wrong is told when the file is read
            held = keep_odd_moments(file.path, file.options, held, _run)
            if file.sample is None:  # COPY's reader finds them itself
                held = keep_zeros(stamp, file.path, file.options, held, _run)
    return tuple(zip(names, held, strict=True))


def _number_columns(count: int) -> list[str]:
    return [f"column{number}" for number in range(1, count + 1)]


def _describe_csv(file: _PlainCsv, width: int) -> list[str]:
    """Returns the DuckDB types of a csv file's columns; `width` is the number of fields of the first row."""
    options = file.options
    ragged = "ignore_errors = true" if "ignore_errors" in options else "null_padding = true"
    listed = [render_csv_options(options), _NO_FOLDERS, ragged, f"auto_type_candidates = {CSV_TYPES}"]
    listed += [] if "dateformat" in options else [READ_DATES]
    listed += [f"sample_size = {options['sample_size']}"] if "sample_size" in options else []
    listed += ["all_varchar = true"] if "all_varchar" in options else []
    try:
        return [row[1] for row in _run(f"DESCRIBE SELECT * FROM read_csv({file.path}, {', '.join(listed)})")]
    except duckdb.Error as error:
        if (failure := find_store_failure(str(error))) is not None:
            raise failure from None
        if is_wrong_row(error):
            raise translate_error(error) from None
        _find_wrong_row(file, width)
        raise _damaged_text_error(file.stamp, error) from None


def _find_wrong_row(file: _PlainCsv, width: int) -> None:
    """Raises for the first row that cannot be read: 22P04, 22021."""
    if file.sample is not None:
        return  # COPY's reader tells it, with its line
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(width))
    options = f"{render_csv_options(file.options)}, {_NO_FOLDERS}, auto_detect = false"
    try:
        _run(f"SELECT count(*) FROM read_csv({file.path}, columns = {{{columns}}}, {options})")
    except duckdb.Error as error:
        if is_wrong_row(error):
            raise translate_error(error) from None


@dataclass(frozen=True, slots=True)
class _PlainCsv:
    """What DuckDB reads of a csv file: its `path` as a literal, and the `options` for it; `sample` is None or made."""

    stamp: FileStamp
    path: str
    options: Mapping[str, object]
    sample: Path | None = None

    def read_start(self) -> str:
        """Returns the first characters."""
        compression = self.options.get("compression")
        opened = _open_file(self.stamp) if self.sample is None else pa.OSFile(str(self.sample), "rb")
        with convert_errors(self.stamp.path), opened as raw:
            source = raw if compression is None else pa.CompressedInputStream(raw, compression)
            start: str = source.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
            return start


@contextmanager
def _open_plain(stamp: FileStamp, reader: Mapping[str, object]) -> Iterator[_PlainCsv]:
    """Yields a csv file as DuckDB reads it: itself, or a sample that is made plain."""
    if not is_written(reader):
        yield _PlainCsv(stamp, quote_path(stamp), reader)
        return
    with make_sample(stamp, reader) as path:
        options = {name: each for name, each in reader.items() if name not in _MADE_PLAIN}
        yield _PlainCsv(stamp, quote_literal(str(path)), options, path)


_MADE_PLAIN = ("compression", "encoding", "skip", "comment")
"""Options that the sample of a csv file does not need."""


def _complete(stamp: FileStamp, reader: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of csv files, with what the first one tells of itself."""
    if "encoding" not in reader and stamp.store is None and (encoding := _find_encoding(stamp, reader)):
        reader = {**reader, "encoding": encoding}
    if not is_written(reader) and _PlainCsv(stamp, "", reader).read_start()[:1] in ("\r", "\n"):
        reader = {**reader, "skip": "0"}  # COPY's reader leaves empty lines out
    given = tuple(sorted(reader.items(), key=lambda item: item[0]))
    if (known := _sniffed.get((stamp, given))) is None:
        with _open_plain(stamp, reader) as plain:
            found = sniff(plain.path, plain.options, _run, plain.read_start)
        known = {**reader, **{name: found[name] for name in ("delimiter", "header")}}
        _sniffed.put((stamp, given), known)
    return dict(known)


def _find_encoding(stamp: FileStamp, reader: Mapping[str, object]) -> str | None:
    """Returns the encoding that a file's byte order mark tells: UTF-16; None for UTF-8."""
    if "compression" in reader:
        return None
    with convert_errors(stamp.path), _open_file(stamp) as file:
        return "utf-16" if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None


def _read_json(stamps: Sequence[FileStamp], reader: Mapping[str, object]) -> list[_Held]:
    packed = f", compression = {quote_literal(str(reader['compression']))}" if "compression" in reader else ""
    found = []
    for stamp in stamps:
        held = _describe(f"SELECT * FROM read_json({quote_path(stamp)}{packed}, {_NO_FOLDERS})", stamp)
        found.append(_restore_keys(held, f"read_json_objects({quote_path(stamp)}{packed})"))
    return found


def _restore_keys(held: _Held, objects: str) -> _Held:
    """Returns JSON's columns under their keys: DuckDB numbers one that differs from an earlier one in case alone."""
    taken: set[str] = set()
    keys: set[str] | None = None
    result = []
    for name, kind in held:
        stem = re.sub(r"_[0-9]+$", "", name)
        if stem != name and stem.lower() in taken:
            keys = keys or {row[0] for row in _run(f"SELECT DISTINCT unnest(json_keys(json)) FROM {objects}")}
            name = name if name in keys else stem
        taken.add(name.lower())
        result.append((name, kind))
    return tuple(result)


def _read_arrow(stamps: Sequence[FileStamp], _: Mapping[str, object]) -> list[_Held]:
    found = []
    for stamp in stamps:
        found.append(describe_arrow(open_arrow_file(stamp).schema, stamp.path))
    return found


def _read_xlsx(stamps: Sequence[FileStamp], reader: Mapping[str, object]) -> list[_Held]:
    return [describe_arrow(open_sheet(stamp, reader).rows.schema, stamp.path) for stamp in stamps]


def describe_arrow(schema: pa.Schema, source: str) -> _Held:
    """Returns the columns of an Arrow schema with the types that DuckDB gives them; see `check_distinct`."""
    check_distinct(schema.names, source)
    with _lock:
        connection = _open()
    with connection.cursor() as cursor:
        try:
            cursor.register("schema", schema.empty_table())
            return tuple((row[0], row[1]) for row in cursor.execute("DESCRIBE schema").fetchall())
        except duckdb.Error:
            if len(schema) == 1:
                return ((schema.names[0], str(schema.types[0])),)  # not even DuckDB has such a type
    return tuple(described for field in schema for described in describe_arrow(pa.schema([field]), source))


def check_distinct(names: Sequence[str], source: str) -> None:
    """0A000 for columns whose names are the same for DuckDB, which ignores the case of ASCII letters."""
    taken: dict[bytes, str] = {}
    for name in names:
        key = name.encode().lower()
        if (other := taken.get(key)) is not None:
            message = f'columns "{other}" and "{name}" of "{source}" differ by the case of letters at most'
            raise FeatureNotSupported(message, hint="Rename one of them.")
        taken[key] = name


def list_field_ids(stamps: Sequence[FileStamp]) -> list[list[int | None]]:
    """Returns the Iceberg fields of the columns of Parquet files; None for a column without."""
    result = []
    for stamp in stamps:
        with convert_errors(stamp.path), _open_file(stamp) as file:
            import pyarrow.parquet as pq

            schema = pq.read_schema(file)
        ids = [(field.metadata or {}).get(b"PARQUET:field_id") for field in schema]
        result.append([None if each is None else int(each) for each in ids])
    return result


_READERS: dict[FileFormat, Callable[[Sequence[FileStamp], Mapping[str, object]], list[_Held]]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "json": _read_json,
    "arrow": _read_arrow,
    "xlsx": _read_xlsx,
}


def _describe(text: str, stamp: FileStamp) -> _Held:
    try:
        return tuple((row[0], row[1]) for row in _run(f"DESCRIBE {text}"))
    except duckdb.Error as error:
        if (failure := find_store_failure(str(error))) is not None:
            raise failure from None
        raise _damaged_text_error(stamp, error) from None


def _damaged_text_error(stamp: FileStamp, error: duckdb.Error) -> GpudbError:
    first = str(error).partition("\n")[0].partition(": ")[2]
    return damaged_file_error(stamp.path, show_addresses(first))


def _run(text: str) -> list[tuple[Any, ...]]:
    with _lock:
        connection = _open(objects=f"{PROTOCOL}://" in text)
    with connection.cursor() as cursor:
        rows: list[tuple[Any, ...]] = cursor.execute(text).fetchall()
        return rows


def _open(*, objects: bool = False) -> duckdb.DuckDBPyConnection:
    """Returns a DuckDB of this process that reads schemas alone."""
    if not _connection:
        _connection.append(duckdb.connect(":memory:", config={"threads": 1}))
    if objects and len(_connection) == 1:
        from gpudb.storage.object_stores.range_reader import register

        register(_connection[0])
        _connection.append(_connection[0])
    return _connection[0]


# ---- columns of all files


def _merge_columns(stamps: Sequence[FileStamp], held: Sequence[_Held], options: ScanOptions) -> tuple[FileColumn, ...]:
    """Returns the columns of the first file, which all others have; with `by_name` those that any of them has."""
    distinct = dict(zip(reversed(held), reversed(stamps), strict=True))
    kinds = {each: {name: find_type(kind, name) for name, kind in each} for each in distinct}
    first = held[0]
    if not first:
        raise FeatureNotSupported(f'file "{stamps[0].path}" has no columns')
    if not options.by_name:
        for each, stamp in distinct.items():
            _check_same(kinds[first], kinds[each], stamps[0], stamp)
        return tuple(FileColumn(name, kinds[first][name], kind) for name, kind in first)
    columns = []
    for name in dict.fromkeys(name for each in held for name, _ in each):
        having = [each for each in distinct if name in kinds[each]]
        # a column without a value takes the type that it has elsewhere
        having = [each for each in having if (name, UNTYPED) not in each] or having
        common = find_common_type([kinds[each][name] for each in having])
        if common is None:
            shown = " and ".join(sorted({str(kinds[each][name]) for each in having}))
            raise SqlError.of("datatype_mismatch", f'column "{name}" is of the types {shown} in different files')
        kept = {kind for each in having for other, kind in each if other == name}
        columns.append(FileColumn(name, common, kept.pop() if len(kept) == 1 else common.duckdb))
    return tuple(columns)


def _check_same(ours: Mapping[str, SqlType], theirs: Mapping[str, SqlType], first: FileStamp, other: FileStamp) -> None:
    """42804 if a file has not the columns of the first one."""
    hint = "Read files of one kind alone, or say union_by_name => true."
    for name, kind in ours.items():
        if name not in theirs:
            message = f'file "{other.path}" has no column "{name}", as "{first.path}" has'
            raise SqlError.of("datatype_mismatch", message, hint=hint)
        if theirs[name] != kind:
            message = f'column "{name}" is {theirs[name]} in file "{other.path}" and {kind} in "{first.path}"'
            raise SqlError.of("datatype_mismatch", message, hint=hint)
    for name in theirs:
        if name not in ours:
            message = f'file "{other.path}" has a column "{name}", which "{first.path}" has not'
            raise SqlError.of("datatype_mismatch", message, hint=hint)


def _apply_declared(
    columns: Sequence[FileColumn], declared: Sequence[tuple[str, SqlType]], format: FileFormat
) -> tuple[FileColumn, ...]:
    """Returns the columns as a column definition list declares them; they are matched by name, in csv by place."""
    result = []
    if format == "csv" and len(declared) != len(columns):
        message = f"the files have {len(columns)} columns, and the definition list {len(declared)}"
        raise SqlError.of("datatype_mismatch", message)
    for number, (name, kind) in enumerate(declared):
        if kind.is_carried or kind.labels or kind.fields:
            raise FeatureNotSupported(f'column "{name}" of a file cannot be declared as {kind}')
        own = columns[number] if format == "csv" else next((each for each in columns if each.name == name), None)
        if own is None:
            raise SqlError.of("undefined_column", f'column "{name}" does not exist in "files"')
        result.append(FileColumn(name, kind, kind.duckdb if format in ("csv", "json") else own.held))
    return tuple(result)


def _list_folders(stamps: Sequence[FileStamp], columns: Sequence[FileColumn]) -> tuple[FileColumn, ...]:
    """Returns the columns that folders give: bigint, date or text; those of the files themselves come first."""
    own = {column.name for column in columns}
    result = []
    for name, values in list_folder_values(stamps).items():
        if name not in own:
            kind = _find_folder_type([value for value in values if value is not None])
            result.append(FileColumn(name, kind, kind.duckdb, "folder"))
    return tuple(result)


def _find_folder_type(values: Sequence[str]) -> SqlType:
    if values and all(_INTEGER.fullmatch(value) for value in values):
        return INT8
    try:
        for value in values:
            if _DAY.fullmatch(value) is None:
                return TEXT
            date.fromisoformat(value)
    except ValueError:
        return TEXT
    return DATE if values else TEXT
