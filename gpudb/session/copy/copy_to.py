"""COPY TO: the source of the rows, and their destination."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Names
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from gpudb.catalog.relations import Sequence, View, get_stored_query
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.authorization.authorize import check_accesses
from gpudb.session.context import Context
from gpudb.session.copy.copy_from import NOT_IN_COPY
from gpudb.session.copy.copy_partitions import PartitionedFiles
from gpudb.session.copy.server_files import file_error
from gpudb.session.execution.binding.binding import bind_authorized
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.progress import CopyProgress, SentRows
from gpudb.session.results import CopyOut, Result, ResultColumn, result_columns
from gpudb.sql.accesses import Accesses
from gpudb.sql.bind.query.sources import find_relation
from gpudb.sql.bound import Query
from gpudb.sql.parse.parser import RawStatement, changes_data, deparse, inner, kind, parse, present, strings
from gpudb.storage.copy.arrow_writer import ArrowWriter
from gpudb.storage.copy.json_writer import JsonWriter
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.parquet_writer import ParquetWriter
from gpudb.storage.copy.writer import RowWriter, measure
from gpudb.storage.copy.xlsx_writer import XlsxWriter

_FILE_MODE = 0o644
_Chunk = TypeVar("_Chunk", bytes, bytes | pa.BinaryArray)


@dataclass(slots=True)
class Source:
    """Source of COPY TO: `columns` of `relation` (None for a query, all of whose columns are written).

    `query` is what reads the rows; None for a change. `oid` is the relation's, 0 for a query.
    """

    columns: tuple[ResultColumn, ...]
    all_names: tuple[str, ...]
    relation: str | None
    start: Callable[[], Result]
    query: Query | None = None
    oid: int = 0


def resolve_source(context: Context, node: Any) -> Source:
    """The source of a table, a query, or a change with RETURNING."""
    if present(node.query):
        return _query_source(context, node.query)
    name = node.relation
    all_names: tuple[str, ...]
    oid = 0
    try:
        relation = find_relation(context.binder(), name.schemaname, name.relname)
    except UndefinedTable as missing:
        # It may be a system catalog.
        try:
            sample = _bind_source(context, parse(f"SELECT * FROM {_quote_name(name.schemaname, name.relname)}")[0])
        except UndefinedTable:
            raise missing from None
        all_names = tuple(column.name for column in sample.columns)
        schema = name.schemaname
    else:
        if get_stored_query(relation) is not None:
            what = "view" if isinstance(relation, View) else "materialized view"
            message = f'cannot copy from {what} "{relation.name}"'
            hint = "Try the COPY (SELECT ...) TO variant."
            raise SqlError.of("wrong_object_type", message, hint=hint)
        if isinstance(relation, Sequence):
            raise SqlError.of("wrong_object_type", f'cannot copy from sequence "{relation.name}"')
        if isinstance(relation, Table) and relation.is_elsewhere:
            message = f'cannot copy from foreign table "{relation.name}"'
            hint = "Try the COPY (SELECT ...) TO variant."
            raise SqlError.of("wrong_object_type", message, hint=hint)
        if isinstance(relation, Table) and relation.partitioned_by is not None:
            message = f'cannot copy from partitioned table "{relation.name}"'
            hint = "Try the COPY (SELECT ...) TO variant."
            raise SqlError.of("wrong_object_type", message, hint=hint)
        for column in relation.columns:
            if column.generated is not None and column.name in strings(node.attlist):
                message, detail = f'column "{column.name}" is a generated column', NOT_IN_COPY
                raise SqlError.of("invalid_column_reference", message, detail=detail)
        all_names = tuple(column.name for column in relation.columns if column.generated is None)
        schema, oid = relation.schema, relation.oid
    names = strings(node.attlist) or all_names
    for number, each in enumerate(names):
        if each not in all_names:
            message = f'column "{each}" of relation "{name.relname}" does not exist'
            raise SqlError.of("undefined_column", message)
        if each in names[:number]:
            raise SqlError.of("duplicate_column", f'column "{each}" specified more than once')
    if not names:
        raise FeatureNotSupported("COPY of a table without columns is not supported")
    if oid:
        accesses = Accesses()
        accesses.add_relation(relation, "r").selected.update(names)
        check_accesses(context, accesses)  # before policies, other than for a query
    listed = ", ".join(_quote_name("", each) for each in names)
    found = _bind_source(context, parse(f"SELECT {listed} FROM {_quote_name(schema, name.relname)}")[0])
    return Source(found.columns, all_names, name.relname, found.start, found.query, oid)


def _quote_name(schema: str, name: str) -> str:
    def quoted(part: str) -> str:
        return '"' + part.replace('"', '""') + '"'

    return f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name)


def _query_source(context: Context, node: Any) -> Source:
    statement = inner(node)
    if kind(node) == "select_stmt":
        if statement.HasField("into_clause"):
            raise FeatureNotSupported("COPY (SELECT INTO) is not supported")
        if not changes_data(statement):
            return _bind_source(context, RawStatement(statement, context.statement.text, context.statement.start))
    elif not statement.HasField("returning_clause"):
        raise FeatureNotSupported("COPY query must have a RETURNING clause")
    query_statement = RawStatement(statement, deparse(statement), context.statement.start)
    handler = context.session.handlers.get(query_statement.kind)
    if handler is None:
        raise FeatureNotSupported(f"COPY of {query_statement.kind} is not supported")
    result = handler(replace(context, statement=query_statement, plan=None))
    columns = result.columns or ()
    return Source(columns, tuple(column.name for column in columns), None, lambda: result)


def _bind_source(context: Context, statement: RawStatement) -> Source:
    # Not by Session.bind: its plans are cached by the statement's text, which is COPY's.
    binder = context.binder()
    binder.text = statement.text
    query = bind_authorized(context, binder, statement)
    assert isinstance(query, Query)
    columns = result_columns(query.columns)

    def start() -> Result:
        stream = run_query(context, query)
        return Result("SELECT", columns, iter(stream), stream.close)

    return Source(columns, tuple(column.name for column in columns), None, start, query)


def to_client(context: Context, source: Source, options: CopyOptions) -> Result:
    """COPY … TO STDOUT."""
    writer = _writer(context, source, options)
    result = source.start()
    is_binary = options.format in {"binary", "arrow", "parquet", "xlsx"}
    copy = CopyOut("COPY", close=result.close, binary=is_binary, width=len(source.columns))

    def chunks() -> Iterator[bytes | pa.BinaryArray]:
        yield from _report(context, source, "PIPE", writer, writer.messages(_check_cancelled(context, result.batches)))
        copy.tag = f"COPY {writer.rows}"

    copy.chunks = chunks()
    return copy


def to_file(context: Context, source: Source, options: CopyOptions, path: Path) -> Result:
    """COPY … TO 'file': replaces the file at the end, or leaves it unchanged."""
    writer = _writer(context, source, options)
    result = source.start()
    blocks = _report(context, source, "FILE", writer, writer.blocks(_check_cancelled(context, result.batches)))
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if path.exists() and not path.is_file():  # a device or a pipe
            with path.open("wb") as device:
                device.writelines(blocks)
        else:
            _write_file(path, blocks)
    except OSError as error:
        raise file_error(error, path, reading=False) from None
    finally:
        result.close()
    return Result(f"COPY {writer.rows}")


_SUFFIXES = {"parquet": ".parquet", "csv": ".csv", "json": ".jsonl", "arrow": ".arrow"}


def to_folder(context: Context, source: Source, options: CopyOptions, path: Path) -> Result:
    """COPY … TO 'folder' (PARTITION_BY (…)): a folder for each value, all of them or none."""
    shown = source.columns[1:] if options.format == "json" else source.columns
    others = [column for column in shown if column.name not in options.partition_by]
    written = replace(source, columns=source.columns[:1] if options.format == "json" else tuple(others))
    files = PartitionedFiles(
        source.columns,
        options.partition_by,
        lambda: _writer(context, written, options),
        _SUFFIXES[options.format],
        context.session.settings["TimeZone"],
    )
    result = source.start()
    try:
        files.write(_check_cancelled(context, result.batches), path)
    except OSError as error:
        raise file_error(error, path, reading=False) from None
    finally:
        result.close()
    return Result(f"COPY {files.rows}")


def as_objects(context: Context, node: Any, source: Source, partition_by: Names[str]) -> Source:
    """The rows of a source as a column of JSON objects, and the columns of PARTITION_BY; 0A000 for changes."""
    if source.query is None:
        raise FeatureNotSupported("COPY of a change in the format json is not supported")
    if present(node.query):
        text = deparse(inner(node.query))
    else:
        listed = ", ".join(_quote_name("", column.name) for column in source.columns)
        text = f"SELECT {listed} FROM {_quote_name(node.relation.schemaname, node.relation.relname)}"
    if not partition_by:
        return _bind_source(context, parse(f"SELECT row_to_json(q) FROM ({text}) AS q")[0])
    own = ", ".join(f"q.{_quote_name('', c.name)}" for c in source.columns if c.name not in partition_by)
    keys = ", ".join(f"q.{_quote_name('', name)}" for name in partition_by)
    objects = f"SELECT row_to_json(r), {keys} FROM ({text}) AS q, LATERAL (SELECT {own}) AS r"
    return _bind_source(context, parse(objects)[0])


def _write_file(path: Path, blocks: Iterator[bytes]) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.writelines(blocks)
            file.flush()
            temporary.chmod(_FILE_MODE)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


_Writer = RowWriter | ArrowWriter | ParquetWriter | JsonWriter | XlsxWriter


def _writer(context: Context, source: Source, options: CopyOptions) -> _Writer:
    types = [column.type for column in source.columns]
    names = [column.name for column in source.columns]
    if options.format == "arrow":
        return ArrowWriter(names, types, context.session.settings["TimeZone"])
    if options.format == "parquet":
        return ParquetWriter(names, types, options.compression, context.session.settings["TimeZone"])
    if options.format == "json":
        return JsonWriter()
    if options.format == "xlsx":
        return XlsxWriter(names, types, context.session.settings["TimeZone"])
    return RowWriter(names, types, options, context.session.settings["TimeZone"])


def _report(context: Context, source: Source, to: str, writer: _Writer, chunks: Iterator[_Chunk]) -> Iterator[_Chunk]:
    """Yields the chunks, and shows the session's progress: what of them is handed on."""
    sent = SentRows()
    context.session.running.progress = progress = CopyProgress(source.oid, to, sent, is_copy_to=True)
    for chunk in chunks:
        progress.bytes_processed += len(chunk) if isinstance(chunk, bytes) else measure(chunk)
        sent.rows = writer.rows
        yield chunk


def _check_cancelled(context: Context, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        context.cancel.check()
        yield batch
