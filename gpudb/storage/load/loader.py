"""Loads files into a table: the blocks of all files flow through one pipeline into one append, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError, SqlError, UndefinedColumn
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.ingest import BlockSource, CopyIngest, CopyStream, RowCompletion, Write
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.process_reader import LoadProcesses
from gpudb.storage.copy.reader import Block, ParsedRows, RowReader
from gpudb.storage.copy.split import Splitter
from gpudb.storage.load import files
from gpudb.storage.load.casts import cast_column, find_sql_type
from gpudb.storage.load.progress import Meter, ReportProgress, ignore_progress
from gpudb.storage.load.workbooks import read_sheet
from gpudb.storage.row_processes import IN_SERVER, RowProcesses, cut_column
from gpudb.values.text_columns import format_text_column

BATCH_ROWS = 100_000

Defaults = Mapping[str, Callable[[int], pa.Array]]


@dataclass(frozen=True, slots=True)
class LoadParameters:
    """Parameters of a load: `defaults` are as in `RowCompletion`; `compute_generated` computes generated columns."""

    table: Table
    defaults: Defaults
    clock: Clock
    csv: CopyOptions
    batch_rows: int = BATCH_ROWS
    compute_generated: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None


def load_files(
    pattern: str,
    loading: LoadParameters,
    write: Write,
    *,
    report: ReportProgress = ignore_progress,
    check: Callable[[], None] = lambda: None,
    processes: RowProcesses = IN_SERVER,
) -> int:
    """Loads all files that `pattern` names; returns the number of rows. `write` stores them (Transaction.append).

    csv columns are matched by position and are all of the table's except generated ones. Parquet and Arrow columns are
    matched by name, and the table's others get their defaults. Raises 58P01, XX001 and 42501 for files; 22P02, 22P04,
    22003 and others for values, with file, line (row, for Parquet and Arrow) and column in `where`. `check` is called
    regularly and may raise. `processes` read large files.
    """
    found = files.find_files(pattern)
    flow = CopyIngest(write, check=check)
    load = LoadProcesses(processes, check)
    meter = Meter(sum(file.size for file in found), report, lambda: flow.copied.rows)
    try:
        for file in found:
            if file.kind == "csv":
                _feed_csv(file, loading, load, flow, meter)
            else:
                _feed_batches(file, loading, load, flow, meter)
            meter.finish_file(file.size)
        rows = flow.finish().rows
        meter.report_position(0)
        return rows
    except GpudbError as error:
        flow.fail(error)
    finally:
        flow.abort()


def _feed_csv(
    file: files.DataFile, loading: LoadParameters, load: LoadProcesses, flow: CopyIngest, meter: Meter
) -> None:
    table = loading.table
    options = loading.csv
    defaults = frozenset(column.name for column in table.columns if column.default is not None)
    columns = tuple(column for column in table.columns if column.generated is None)
    reader = load.wrap(RowReader(columns, options, loading.clock, defaults))
    origin = BlockSource(f'file "{file.path}"', reader, RowCompletion(table, columns, where=loading.compute_generated))
    one = CopyStream(Splitter(options.for_width(len(columns))), origin, flow)
    is_apart = file.compression is not None and load.read_file(file, file.size, one.feed, meter.report_position)
    for data in () if is_apart else files.read_csv(file, meter.report_position):
        one.feed(data)
    one.end()


def _feed_batches(
    file: files.DataFile, loading: LoadParameters, load: LoadProcesses, flow: CopyIngest, meter: Meter
) -> None:
    sheet = read_sheet(file.path).rows if file.kind == "xlsx" else None
    schema = files.read_schema(file) if sheet is None else sheet.schema
    columns = match_columns(file, schema, loading.table)
    listed = {column.name for column in columns}
    completion = RowCompletion(
        loading.table,
        columns,
        {name: make for name, make in loading.defaults.items() if name not in listed},
        loading.compute_generated,
    )
    reader = load.wrap(BatchReader(columns, loading.clock))
    origin = BlockSource(f'file "{file.path}"', reader, completion, unit="row")
    batches = (
        files.read_batches(file, loading.batch_rows, meter.report_position)
        if sheet is None
        else sheet.to_batches(max_chunksize=loading.batch_rows)
    )
    for batch in batches:
        flow.put(origin, BatchBlock(b"", None, batch=batch))


def match_columns(file: files.DataFile, schema: pa.Schema, table: Table) -> tuple[Column, ...]:
    """Returns the table's column for each of the file's, by its name or by that in another case; raises 42703."""
    exact = {column.name: column for column in table.columns}
    folded = {column.name.lower(): column for column in table.columns}
    found: list[Column] = []
    for name in schema.names:
        column = exact.get(name) or folded.get(name.lower())
        if column is None or column in found:
            what = "is there twice" if column is not None else f'of file "{file.path}" is none of table "{table.name}"'
            raise UndefinedColumn(
                f'column "{name}" {what}', hint="Columns of Parquet and Arrow files go by their names."
            )
        if column.generated is not None:
            message = f'column "{column.name}" is a generated column'
            raise SqlError.of("invalid_column_reference", message, detail=f'File "{file.path}" has values for it.')
        found.append(column)
    if not found:
        raise UndefinedColumn(f'file "{file.path}" has no columns')
    return tuple(found)


@dataclass(frozen=True, slots=True)
class BatchBlock(Block):
    """Rows that a file holds as columns already."""

    batch: pa.RecordBatch | None = None

    @property
    def size(self) -> int:
        """The bytes of the rows."""
        return 0 if self.batch is None else self.batch.nbytes

    def detach(self) -> BatchBlock:
        """Returns it as a call has it: the batch is mostly a slice of a file's, and is cut to its own rows."""
        assert self.batch is not None
        columns = [cut_column(column) for column in self.batch.columns]
        return replace(self, batch=pa.RecordBatch.from_arrays(columns, names=self.batch.schema.names))


class BatchReader:
    """Casts batches to the table's types; thread-safe."""

    def __init__(self, columns: Sequence[Column], clock: Clock) -> None:
        self._columns = tuple(columns)
        self._clock = clock

    def read(self, block: Block) -> ParsedRows:
        """Returns the batch's rows; raises RowError for the first value that does not fit."""
        assert isinstance(block, BatchBlock)
        batch = block.batch
        assert batch is not None
        columns: list[pa.Array] = []
        first: tuple[int, int, GpudbError] | None = None
        for number, (column, raw_columns) in enumerate(zip(self._columns, batch.columns)):
            try:
                converted = cast_column(raw_columns, column.type, self._clock)
            except GpudbError as error:
                raise RowError(error, 1, column=column.name, binary=True) from None
            except pa.ArrowException as error:
                reason = str(error).partition("\n")[0]
                raise RowError(files.damaged_value_error(reason), 1, column=column.name, binary=True) from None
            columns.append(converted.values)
            if converted.errors:
                row, wrong = converted.errors[0]
                first = (row, number, wrong) if first is None or row < first[0] else first
        if first is not None:
            row, number, wrong = first
            shown = _format_value(batch.column(number), row)
            raise RowError(wrong, row + 1, column=self._columns[number].name, value=shown)
        return ParsedRows(columns, batch.num_rows, batch.num_rows)

    def find_line(self, block: Block, row: int) -> tuple[int, str | None]:
        """Returns the row's number; such a row has no text."""
        return row + 1, None


def _format_value(column: pa.Array, row: int) -> str | None:
    source = find_sql_type(column.type)
    part = column.slice(row, 1)
    if pa.types.is_dictionary(part.type):
        part, source = part.dictionary_decode(), find_sql_type(part.type.value_type)
    try:
        return None if source is None else str(format_text_column(source, part)[0].as_py())
    except (GpudbError, pa.ArrowException):
        return str(part[0].as_py())
