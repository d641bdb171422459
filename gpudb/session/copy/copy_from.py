"""COPY FROM: target columns, defaults and WHERE computed by the engine, and the flow into storage."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.catalog.relations import View
from gpudb.catalog.tables import Column, Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.session.authorization.authorize import check_accesses, check_named_relation
from gpudb.session.authorization.row_security.refusals import refuse_row_security
from gpudb.session.context import Context
from gpudb.session.copy.object_files import Input, open_object_input
from gpudb.session.copy.rejects import find_rejects_table, list_columns, store_rejects
from gpudb.session.copy.server_files import file_error
from gpudb.session.dml.domain_checks import append_checked
from gpudb.session.dml.wide_columns import find_narrow_column
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.progress import CopyProgress
from gpudb.session.results import CopyIn, Result
from gpudb.sql.bind.dml.generated_columns import compute_columns
from gpudb.sql.bind.dml.targets import bind_column_default, get_default_text
from gpudb.sql.bind.dml.view_targets import has_instead_trigger, view_as_table
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import build_source, find_relation, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import Column as BoundColumn
from gpudb.sql.bound import Constant, Expr, FrameScan, OutputColumn, Select
from gpudb.sql.parse.parser import present, strings
from gpudb.storage.copy.binary_reader import BinaryReader
from gpudb.storage.copy.binary_split import BinarySplitter
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.errors import truncate_text
from gpudb.storage.copy.ingest import (
    BlockReader,
    BlockSource,
    BlockSplitter,
    CopyIngest,
    CopyResult,
    CopyStream,
    RowCompletion,
    repeat_value,
)
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.process_reader import LoadProcesses
from gpudb.storage.copy.reader import RowReader
from gpudb.storage.copy.split import Splitter
from gpudb.storage.load.files import find_files
from gpudb.storage.object_stores.addresses import is_remote
from gpudb.types import INT8, widen
from gpudb.values.arrow_columns import to_arrow_scalar
from gpudb.values.wide_numerics import is_wide_column

Change = Callable[[pa.RecordBatch], pa.RecordBatch]
_FRAME = "gpudb copied rows"
_READ_BYTES = 1 << 20
NOT_IN_COPY = "Generated columns cannot be used in COPY."


def resolve_target(context: Context, node: Any) -> tuple[Table, tuple[Column, ...]]:
    """The target table, and the columns of the data in order."""
    if node.relation.schemaname in {"pg_catalog", "information_schema"}:
        message = f"permission denied for table {node.relation.relname}"
        raise SqlError.of("insufficient_privilege", message)
    binder = context.binder()
    relation = find_relation(binder, node.relation.schemaname, node.relation.relname)
    if isinstance(relation, View) and has_instead_trigger(relation, "insert into"):
        table = view_as_table(relation)
        columns = choose_columns(table, strings(node.attlist))
        check_named_relation(context, binder.accesses, relation, "a", inserted=[column.name for column in columns])
        return table, columns
    if not isinstance(relation, Table):
        message = f'cannot copy to view "{relation.name}"'
        hint = "To enable copying to a view, provide an INSTEAD OF INSERT trigger."
        raise SqlError.of("wrong_object_type", message, hint=hint)
    if relation.query is not None:
        raise SqlError.of("wrong_object_type", f'cannot copy to materialized view "{relation.name}"')
    if relation.is_elsewhere:
        raise FeatureNotSupported(f'cannot insert into foreign table "{relation.name}"')
    table = context.transaction.table(relation.oid)
    columns = choose_columns(table, strings(node.attlist))
    check_named_relation(context, binder.accesses, table, "a", inserted=[column.name for column in columns])
    refuse_row_security(context, table, "COPY FROM", "Use INSERT statements instead.")
    return table, columns


def choose_columns(table: Table, names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a column list, or all columns without one; 42703, 42701."""
    if not names:
        if not table.columns:
            raise FeatureNotSupported("COPY into a table without columns is not supported")
        return tuple(column for column in table.columns if column.generated is None)
    by_name = {column.name: column for column in table.columns}
    found: list[Column] = []
    for name in names:
        if name not in by_name:
            message = f'column "{name}" of relation "{table.name}" does not exist'
            raise SqlError.of("undefined_column", message)
        if by_name[name] in found:
            raise SqlError.of("duplicate_column", f'column "{name}" specified more than once')
        if by_name[name].generated is not None:
            message = f'column "{name}" is a generated column'
            raise SqlError.of("invalid_column_reference", message, detail=NOT_IN_COPY)
        found.append(by_name[name])
    return tuple(found)


def from_client(context: Context, node: Any, table: Table, columns: tuple[Column, ...], options: CopyOptions) -> Result:
    """COPY … FROM STDIN."""
    target = _open_target(context, node, table, columns, options)
    flow = target.open_stream(f"COPY {table.name}")
    progress = _start_progress(context, table, flow.copied, "PIPE")

    def feed(data: bytes) -> None:
        progress.bytes_processed += len(data)
        flow.feed(data)

    def finish() -> str:
        return target.report(flow.finish())

    return CopyIn(
        "COPY",
        close=flow.abort,
        feed=feed,
        finish=finish,
        abort=lambda reason: flow.abort(),
        binary=options.format == "binary",
        width=len(columns),
    )


def from_file(
    context: Context, node: Any, table: Table, columns: tuple[Column, ...], options: CopyOptions, name: str
) -> Result:
    """COPY … FROM 'file', from all files of a glob, or from the address of an object: all rows, or none."""
    target = _open_target(context, node, table, columns, options)
    progress = _start_progress(context, table, target.ingest.copied, "FILE")
    paths = [] if is_remote(name) else _list_paths(name)
    progress.bytes_total = _count_bytes(paths) if len(paths) > 1 else 0
    try:
        sources: Sequence[Path | None] = paths or [None]
        for path in sources:
            source = f'file "{path}"' if len(paths) > 1 else f"COPY {table.name}"
            flow = target.open_stream(source)
            with open_object_input(context, name) if path is None else _open_local(path) as (file, size):
                progress.bytes_total = progress.bytes_total or size
                mark = codecs.BOM_UTF8 if options.format == "csv" and options.is_utf8 else b""
                while data := file.read(_READ_BYTES):
                    progress.bytes_processed += len(data)
                    flow.feed(data.removeprefix(mark))
                    mark = b""
            flow.end()
        return Result(target.report(target.ingest.finish()))
    finally:
        target.ingest.abort()


def _list_paths(name: str) -> list[Path]:
    """Returns the files of a name: itself, or those that match it if it is a glob that no file has as its name."""
    path = Path(name)
    if not any(mark in name for mark in "*?[") or path.exists():
        return [path]
    return [each.path for each in find_files(name)]


def _count_bytes(paths: Sequence[Path]) -> int:
    try:
        return sum(path.stat().st_size for path in paths)
    except OSError:
        return 0  # opening the file says why


@contextmanager
def _open_local(path: Path) -> Iterator[tuple[Input, int]]:
    """Opens a file; yields it and its bytes."""
    if path.is_dir():
        raise SqlError.of("wrong_object_type", f'"{path}" is a directory')
    try:
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise file_error(error, path, reading=True) from None


def _start_progress(context: Context, table: Table, copied: CopyResult, source: str) -> CopyProgress:
    progress = CopyProgress(table.oid, source, copied)
    context.session.running.progress = progress
    return progress


def _report(context: Context, copied: CopyResult, options: CopyOptions) -> str:
    if options.log_verbosity == "verbose":
        for line, column, text in copied.notes:
            shown = "null input" if text is None else f'"{truncate_text(text)}"'
            context.notice(
                f'skipping row due to data type incompatibility at line {line} for column "{column}": {shown}'
            )
    if copied.skipped and options.log_verbosity != "silent":
        rows = "row was" if copied.skipped == 1 else "rows were"
        context.notice(f"{copied.skipped} {rows} skipped due to data type incompatibility")
    context.session.database.store.activity.add_load(copied.rows)
    return f"COPY {copied.rows}"


@dataclass(frozen=True, slots=True)
class _Target:
    """What rows are copied into: `open_stream` returns a stream of bytes of a source, by its name in errors."""

    ingest: CopyIngest
    open_stream: Callable[[str], CopyStream]
    report: Callable[[CopyResult], str]
    """Reports the result, and returns the command tag."""


def _open_target(
    context: Context, node: Any, table: Table, columns: tuple[Column, ...], options: CopyOptions
) -> _Target:
    rejects = None if options.rejects_table is None else find_rejects_table(context, options.rejects_table)
    more = None if rejects is None else column_defaults(context, rejects, list_columns(rejects))
    where = in_form_of_rows(table, partial(_where_filter, context, node)) if present(node.where_clause) else None
    where = with_generated_columns(context, table, where)
    with_marker = options.default is not None
    defaults = column_defaults(context, table, () if with_marker else columns)
    clock = Clock(context.session.settings["TimeZone"], context.started)
    reader: BlockReader
    if options.format == "binary":
        reader = BinaryReader(columns)
    else:
        named_defaults = frozenset(c.name for c in table.columns if c.default is not None)
        reader = RowReader(columns, options, clock, named_defaults)
    reader = LoadProcesses(context.session.database.store.row_processes, context.cancel.check).wrap(reader)
    ingest = CopyIngest(
        lambda batches: append_checked(context, table, batches),
        reject_limit=options.reject_limit,
        keep_rejects=rejects is not None,
        check=context.cancel.check,
    )

    def open_stream(name: str) -> CopyStream:
        cutter: BlockSplitter = (
            BinarySplitter(columns) if options.format == "binary" else Splitter(options.for_width(len(columns)))
        )
        origin = BlockSource(name, reader, RowCompletion(table, columns, defaults, where))
        return CopyStream(cutter, origin, ingest)

    def report(copied: CopyResult) -> str:
        if rejects is not None and more is not None and copied.rejects:
            store_rejects(context, context.transaction.table(rejects.oid), copied.rejects, more)
        return _report(context, copied, options)

    return _Target(ingest, open_stream, report)


# ---- computed by the engine: defaults other than constants, generated columns, and WHERE


def column_defaults(context: Context, table: Table, listed: Sequence[Column]) -> dict[str, Callable[[int], pa.Array]]:
    """Functions that compute the defaults of the columns that are not `listed`, by name."""
    functions: dict[str, Callable[[int], pa.Array]] = {}
    binder = context.binder()
    for column in table.columns:
        if get_default_text(binder, column) is None or column in listed:
            continue
        expr = bind_column_default(binder, column)
        if isinstance(expr, Constant) and expr.type == column.type:
            functions[column.name] = repeat_value(to_arrow_scalar(column.type, expr.value))
        else:
            functions[column.name] = _default_function(context, column, expr)
    check_accesses(context, binder.accesses)
    return functions


def _default_function(context: Context, column: Column, expr: Expr) -> Callable[[int], pa.Array]:
    counted = (OutputColumn("n", INT8),)
    query = Select((OutputColumn(column.name, column.type),), (expr,), FrameScan(1, _FRAME, counted))

    def values(count: int) -> pa.Array:
        frame = pa.table({"n": pa.array(np.arange(count, dtype=np.int64))})
        try:
            (array,) = _select_from(context, query, frame).columns
        except GpudbError as error:
            if find_narrow_column(error) is None:
                raise
            wide = replace(column, type=widen(column.type))
            return _default_function(context, wide, bind_column_default(context.binder(), wide))(count)
        return array

    return values


def _where_filter(context: Context, node: Any, table: Table) -> Change:
    if _has_subquery(node.where_clause):
        raise FeatureNotSupported("cannot use subquery in COPY FROM WHERE condition")
    binder = context.binder()
    columns = table_columns(table)
    rel = binder.new_rel()
    scan = FrameScan(rel, _FRAME, columns)
    source = build_source(binder, rel, scan, columns, table.name, None, table.schema)
    binder.accesses.add_relation(table, "", rel, [column.name for column in columns])
    scope = Scope(clause="WHERE")
    scope.add(source.items, source.columns)
    scope.rels.add(rel)
    test = coerce_condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE")
    check_accesses(context, binder.accesses)
    targets = tuple(BoundColumn(rel, index, column.type, column.name) for index, column in enumerate(columns))
    query = Select(columns, targets, scan, test)
    names = [column.name for column in table.columns]
    return lambda batch: _select_from(context, query, pa.Table.from_batches([batch])).rename_columns(names)


def with_generated_columns(context: Context, table: Table, row_filter: Change | None) -> Change | None:
    """Adds the computation of generated columns after `row_filter`, which selects rows."""
    if all(column.generated is None for column in table.columns):
        return row_filter
    compute = in_form_of_rows(table, partial(_compute_generated, context))
    return compute if row_filter is None else lambda batch: compute(row_filter(batch))


def in_form_of_rows(table: Table, make: Callable[[Table], Change]) -> Change:
    """Returns a change of rows of a table, of which some columns may be wide in a batch, though they are not in the
    table. `make` makes one for the columns of a table.
    """
    made = {frozenset[str](): make(table)}

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        names = {
            column.name for place, column in enumerate(table.columns)
            if not column.type.wide and is_wide_column(batch.column(place))
        }  # fmt: skip
        while True:
            key = frozenset(names)
            if key not in made:
                columns = (replace(c, type=widen(c.type)) if c.name in names else c for c in table.columns)
                made[key] = make(replace(table, columns=tuple(columns)))
            try:
                return made[key](batch)
            except GpudbError as error:
                name = find_narrow_column(error)
                if name is None or name in names:
                    raise
                names.add(name)

    return change


def _compute_generated(context: Context, table: Table) -> Change:
    binder = context.binder()
    columns, rel = table_columns(table), binder.new_rel()
    query = Select(columns, compute_columns(binder, table.name, table.columns, rel), FrameScan(rel, _FRAME, columns))
    check_accesses(context, binder.accesses)
    names = [column.name for column in table.columns]

    return lambda batch: _select_from(context, query, pa.Table.from_batches([batch])).rename_columns(names)


def _select_from(context: Context, query: Select, frame: pa.Table) -> pa.RecordBatch:
    stream = run_query(context, query, {_FRAME: frame})
    try:
        found = pa.Table.from_batches(list(stream), schema=stream.schema).combine_chunks()
    finally:
        stream.close()
    batches = found.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=found.schema)


def _has_subquery(message: Any) -> bool:
    """Whether a parse tree contains a subquery."""
    if message.DESCRIPTOR.name == "SubLink":
        return True
    for field, value in message.ListFields():
        if field.message_type is not None:
            parts = value if field.is_repeated else (value,)
            if any(_has_subquery(part) for part in parts):
                return True
    return False
