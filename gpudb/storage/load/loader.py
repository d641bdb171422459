"""Loads files into a table: the blocks of all files flow through one pipeline into one append, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gpudb.catalog.model import Column, Table
from gpudb.errors import GpudbError, SqlError, UndefinedColumn
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.ingest import Completion, CopyFlow, Inflow, Origin, Write
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.reader import Block, RowReader, Rows
from gpudb.storage.copy.split import Splitter
from gpudb.storage.load import files
from gpudb.storage.load.casts import cast, sql_type
from gpudb.storage.load.progress import Meter, Report, quiet
from gpudb.values.text_columns import text_column

BATCH_ROWS = 100_000

Defaults = Mapping[str, Callable[[int], pa.Array]]


@dataclass(frozen=True, slots=True)
class Loading:
    """Parameters of a load: `defaults` are as in `Completion`; `change` computes generated columns."""

    table: Table
    defaults: Defaults
    clock: Clock
    csv: CopyOptions
    batch_rows: int = BATCH_ROWS
    change: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None


def load_files(
    pattern: str,
    loading: Loading,
    write: Write,
    *,
    report: Report = quiet,
    check: Callable[[], None] = lambda: None,
) -> int:
    """Loads all files that `pattern` names; returns the number of rows. `write` stores them (Transaction.append).

    csv columns are matched by position and are all of the table's except generated ones. Parquet and Arrow columns are
    matched by name, and the table's others get their defaults. Raises 58P01, XX001 and 42501 for files; 22P02, 22P04,
    22003 and others for values, with file, line (row, for Parquet and Arrow) and column in `where`. `check` is called
    regularly and may raise.
    """
    found = files.find(pattern)
    flow = Inflow(write, check=check)
    meter = Meter(sum(file.size for file in found), report, lambda: flow.copied.rows)
    try:
        for file in found:
            if file.kind == "csv":
                _feed_csv(file, loading, flow, meter)
            else:
                _feed_batches(file, loading, flow, meter)
            meter.file_done(file.size)
        rows = flow.finish().rows
        meter.at(0)
        return rows
    except GpudbError as error:
        flow.fail(error)
    finally:
        flow.abort()


def _feed_csv(file: files.DataFile, loading: Loading, flow: Inflow, meter: Meter) -> None:
    table = loading.table
    options = loading.csv
    defaults = frozenset(column.name for column in table.columns if column.default is not None)
    columns = tuple(column for column in table.columns if column.generated is None)
    reader = RowReader(columns, options, loading.clock, defaults)
    origin = Origin(f'file "{file.path}"', reader, Completion(table, columns, where=loading.change))
    one = CopyFlow(Splitter(options), origin, flow)
    for data in files.csv_bytes(file, meter.at):
        one.feed(data)
    one.end()


def _feed_batches(file: files.DataFile, loading: Loading, flow: Inflow, meter: Meter) -> None:
    schema = files.schema(file)
    columns = matched(file, schema, loading.table)
    listed = {column.name for column in columns}
    completion = Completion(
        loading.table,
        columns,
        {name: make for name, make in loading.defaults.items() if name not in listed},
        loading.change,
    )
    reader = BatchReader(columns, loading.clock)
    origin = Origin(f'file "{file.path}"', reader, completion, unit="row")
    for batch in files.batches(file, loading.batch_rows, meter.at):
        flow.put(origin, BatchBlock(b"", None, batch=batch))


def matched(file: files.DataFile, schema: pa.Schema, table: Table) -> tuple[Column, ...]:
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


class BatchReader:
    """Casts batches to the table's types; thread-safe."""

    def __init__(self, columns: Sequence[Column], clock: Clock) -> None:
        self._columns = tuple(columns)
        self._clock = clock

    def read(self, block: Block) -> Rows:
        """Returns the batch's rows; raises RowError for the first value that does not fit."""
        assert isinstance(block, BatchBlock)
        batch = block.batch
        assert batch is not None
        columns: list[pa.Array] = []
        first: tuple[int, int, GpudbError] | None = None
        for number, (column, given) in enumerate(zip(self._columns, batch.columns)):
            try:
                converted = cast(given, column.type, self._clock)
            except GpudbError as error:
                raise RowError(error, 1, column=column.name, binary=True) from None
            except pa.ArrowException as error:
                reason = str(error).partition("\n")[0]
                raise RowError(files.damaged_value(reason), 1, column=column.name, binary=True) from None
            columns.append(converted.values)
            if converted.errors:
                row, wrong = converted.errors[0]
                first = (row, number, wrong) if first is None or row < first[0] else first
        if first is not None:
            row, number, wrong = first
            shown = _shown(batch.column(number), row)
            raise RowError(wrong, row + 1, column=self._columns[number].name, value=shown)
        return Rows(columns, batch.num_rows, batch.num_rows)

    def line_of(self, block: Block, row: int) -> tuple[int, str | None]:
        """Returns the row's number; such a row has no text."""
        return row + 1, None


def _shown(column: pa.Array, row: int) -> str | None:
    source = sql_type(column.type)
    part = column.slice(row, 1)
    if pa.types.is_dictionary(part.type):
        part, source = part.dictionary_decode(), sql_type(part.type.value_type)
    try:
        return None if source is None else str(text_column(source, part)[0].as_py())
    except (GpudbError, pa.ArrowException):
        return str(part[0].as_py())
