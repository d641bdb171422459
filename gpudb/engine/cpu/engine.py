"""The embedded engine: one in-memory DuckDB database a process, one cursor a statement."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from gpudb.catalog.file_tables import FileTable
from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.catalog.tables import Column, ColumnStatistics, DataFile, Table
from gpudb.duckdb import running
from gpudb.duckdb.column_names import rename_frame
from gpudb.duckdb.cursors import open_arrow_reader
from gpudb.duckdb.errors import (
    ENGINE_ERRORS,
    EngineRestarted,
    is_out_of_memory,
    translate_error,
)
from gpudb.duckdb.instance import Config
from gpudb.duckdb.literals import quote_identifier, quote_literal
from gpudb.duckdb.udf.styles import render_style
from gpudb.engine.admission import ThreadAdmission, Ticket
from gpudb.engine.cpu import analysis
from gpudb.engine.cpu.explain import parse_plan, show_indexes
from gpudb.engine.cpu.groups import GroupPools
from gpudb.engine.cpu.instance import EngineInstance
from gpudb.engine.cpu.loaded_tables import Chosen, TableReader
from gpudb.engine.cpu.nearest import SEARCHES, NearestRows
from gpudb.engine.cpu.pool import EnginePool
from gpudb.engine.cpu.statement import is_narrowable, list_file_tables, statement_sql
from gpudb.engine.figures import record_steps, sum_steps
from gpudb.engine.protocol import Cancel, PlanNode, Request, SharedRows, Stream
from gpudb.engine.sharing import SharePlace
from gpudb.errors import FeatureNotSupported, GpudbError, QueryCanceled
from gpudb.sql import bound
from gpudb.sql.prepared import Artifact
from gpudb.storage.files.changes import find_change
from gpudb.storage.files.sources import find_failure, list_remote_queries, name_objects
from gpudb.storage.iceberg.scan import FILE_COLUMN, ROW_COLUMN, name_scanned, scan_sql
from gpudb.storage.object_stores.duckdb_files import show_addresses
from gpudb.vector_indexes.file_indexes import FileIndexes

_LOG = logging.getLogger(__name__)

BATCH_ROWS = 65536
_SMALL_SECONDS = 0.02
_SMALL_BYTES = 4 << 20
"""A statement that is estimated to take less time and memory than these runs without admission."""


class CpuEngine:
    """DuckDB as an engine. `memory_limit` bounds all statements together, in bytes; they spill to `spill`.

    Statements that take more than moments are admitted a few at a time (`admission`). A statement for which the others
    left too little memory runs again without them, unless its client has rows already. `temp_limit` bounds the bytes of
    temporary files of all statements together: 53400 beyond. `indexes` are those of vectors.
    """

    name = "cpu"
    scores_trees = False

    def __init__(
        self,
        memory_limit: int | None = None,
        spill: Path | None = None,
        threads: int | None = None,
        temp_limit: int | None = None,
        indexes: FileIndexes | None = None,
    ) -> None:
        config: Config = {"python_enable_replacements": False}
        if memory_limit is not None:
            config["memory_limit"] = f"{memory_limit // 1024}KiB"
        if spill is not None:
            config["temp_directory"] = str(spill)
        if threads is not None:
            config["threads"] = threads
        if temp_limit is not None:
            config["max_temp_directory_size"] = f"{temp_limit // 1024}KiB"
        self._pool = EnginePool(config, temp_limit)
        self._groups = GroupPools(config, self._pool)
        self._memory_limit = self._pool.memory_limit
        self.indexes = indexes
        self._nearest = None if indexes is None else NearestRows(indexes, self._read)

    @property
    def memory_limit(self) -> int:
        """The bytes that all statements together may take."""
        return self._memory_limit

    @property
    def admission(self) -> ThreadAdmission:
        """The admission of statements of groups without memory of their own."""
        return self._pool.admission

    @property
    def instance(self) -> EngineInstance:
        """The DuckDB that runs these statements; its functions are defined for the first of them."""
        return self._pool.instance

    @property
    def threads(self) -> int:
        """The number of threads that compute statements."""
        return self._pool.threads

    def run(self, request: Request) -> Stream:
        """Starts a query (see `protocol.Engine`)."""
        request.settings.measures["engine"] = self.name
        pool = self._find_pool(request)
        try:
            return self._run(pool, request)
        except EngineRestarted:
            # Another statement broke the instance: this one starts again.
            return self._run(pool, request)

    def _find_pool(self, request: Request) -> EnginePool:
        """Returns what runs the statements of the request's resource group."""
        group = request.settings.group
        return self._pool if group is None else self._groups.find(group)

    def _run(self, pool: EnginePool, request: Request) -> Stream:
        instance = pool.instance
        opened = self._open(pool, instance, request)
        alone = partial(self._open, pool, instance, request, alone=True)
        translate = partial(pool.translate_error, instance)
        return DuckStream(opened, _result_schema(request.query), request.cancel, translate, alone)

    def _open(self, pool: EnginePool, instance: EngineInstance, request: Request, *, alone: bool = False) -> _Opened:
        """Admits a statement and prepares its SQL; `alone` waits until no other long statement runs."""
        stack = ExitStack()
        try:
            ticket = pool.admit(request, stack, alone=alone)
            narrow = is_narrowable(request.query)
            cursor, text, reader = self._prepare(instance, stack, request, narrow=narrow, chosen=self._choose(request))
            # refers to the VALUES tables that the first text registered on the cursor
            wide = partial(self._widen, instance, request, reader) if narrow else None
            return _Opened(stack, cursor, text, wide, ticket, list_file_tables(request.query))
        except BaseException as error:
            stack.close()
            if isinstance(error, duckdb.Error):
                raise pool.translate_error(instance, error) from error
            raise

    @staticmethod
    def _widen(instance: EngineInstance, request: Request, reader: TableReader) -> str:
        """Returns the SQL of a statement that multiplies decimals in 128 bits."""
        return statement_sql(instance, request, reader, {}).text

    def _choose(self, request: Request) -> Mapping[int, Chosen]:
        """Returns the rows that scans read, by their numbers, where indexes have found those that the query needs."""
        if self._nearest is None or request.query.prepared.get(SEARCHES) == ():
            return {}
        return self._nearest.choose(request)

    def _read(self, request: Request, chosen: Mapping[int, Chosen]) -> pa.Table:
        """Returns the few rows of a query whose scans read chosen rows."""
        pool, stack = self._find_pool(request), ExitStack()
        instance = pool.instance
        try:
            cursor, text, _ = self._prepare(instance, stack, request, chosen=chosen)
            opened = _Opened(stack, cursor, text)
        except BaseException:
            stack.close()
            raise
        schema = _result_schema(request.query)
        with closing(DuckStream(opened, schema, request.cancel, partial(pool.translate_error, instance))) as rows:
            return pa.Table.from_batches(rows, schema)

    def _prepare(
        self,
        instance: EngineInstance,
        stack: ExitStack,
        request: Request,
        *,
        narrow: bool = False,
        chosen: Mapping[int, Chosen],
    ) -> tuple[duckdb.DuckDBPyConnection, str, TableReader]:
        request.cancel.check()
        reader = stack.enter_context(instance.loaded.open_reader(request.cancel))
        values_tables: dict[str, object] = {}
        sql = statement_sql(instance, request, reader, values_tables, narrow=narrow, chosen=chosen)
        timezone, frames = request.settings.timezone, request.settings.frames
        cursor = instance.cursors.acquire(timezone)
        style = request.settings.style
        styled = not style.is_default
        if styled:
            cursor.execute(f"SET VARIABLE gpudb_style = {quote_literal(render_style(style, timezone))}")
        if not frames and not values_tables and not sql.reads_catalog and not styled:
            stack.callback(instance.cursors.release, timezone, cursor)
        else:
            stack.callback(instance.cursors.close, cursor)
        if running.VARIABLE in sql.text:
            number = instance.cursors.number(cursor)
            running.begin(number, request.cancel, request.settings.function_memory)
            stack.callback(running.end, number)  # before another statement has the cursor
        for frame, table in frames.items():
            cursor.register("frame " + frame, rename_frame(table))
        for values, table in values_tables.items():
            cursor.register(values, table)
        if sql.reads_catalog:
            instance.system.prepare(cursor, sql.text, request.snapshot, request.settings)
        return cursor, sql.text, reader

    def remaining_rows(self, table: Table, files: Sequence[DataFile], gone: pa.Table, cancel: Cancel) -> DuckStream:
        """Returns the rows of some of a table's files, without those that `gone` lists.

        `gone` has the columns file (text) and row (bigint): a data file's path, and a row's number in it, from 0.
        """
        instance = self.instance
        stack = ExitStack()
        cursor = instance.connection.cursor()
        stack.callback(cursor.close)
        cursor.register("gone", gone)
        columns = ", ".join(f"s.{name}" for name in name_scanned(table).values())
        text = (
            f"SELECT {columns} FROM ({scan_sql(table, files, with_row_ids=True)}) AS s ANTI JOIN gone"
            f" ON s.{quote_identifier(FILE_COLUMN)} = gone.file AND s.{quote_identifier(ROW_COLUMN)} = gone.row"
        )
        schema = pa.schema(_fields([column.type.arrow for column in table.columns]))
        return DuckStream(_Opened(stack, cursor, text), schema, cancel, partial(self._pool.translate_error, instance))

    def statistics(self, table: Table, columns: Sequence[Column], cancel: Cancel) -> tuple[ColumnStatistics, ...]:
        """Computes statistics of some of a table's columns for ANALYZE."""
        instance = self.instance
        stack = ExitStack()
        cursor = instance.connection.cursor()
        stack.callback(cursor.close)
        text, schema = analysis.statistics_query(table, columns), analysis.statistics_schema(columns)
        with closing(
            DuckStream(_Opened(stack, cursor, text), schema, cancel, partial(self._pool.translate_error, instance))
        ) as found:
            return analysis.statistics(columns, pa.Table.from_batches(found, schema))

    def system_columns(self, schema: str, relation: str) -> tuple[bound.OutputColumn, ...] | None:
        """Returns the columns of a relation of pg_catalog or information_schema; None if it does not exist."""
        instance = self.instance
        try:
            return instance.system.columns(schema, relation)
        except duckdb.Error as error:
            translated = self._pool.translate_error(instance, error)
            if not isinstance(translated, EngineRestarted):
                raise translated from error
        return self.instance.system.columns(schema, relation)

    def follow(self, table: Table) -> None:
        """Deletes rows from the engine's memory that are deleted from a table, which the next scan would else do."""
        try:
            self.instance.loaded.follow(table)
        except duckdb.Error as error:
            # The next statement gets it.
            _LOG.warning('rows of table "%s" stay in memory: %s', table.name, error)

    def warm(self) -> None:
        """Loads the system catalog, which would delay the first statement that reads it by a second."""
        try:
            self.instance.system.warm()
        except duckdb.Error as error:
            _LOG.warning("preloading the system catalog failed: %s", error)

    def open_group(self, group: ResourceGroup) -> None:
        """Opens what a resource group with memory has of its own, for its first statement; 53200 (see `GroupPools`)."""
        self._groups.find(group).instance  # noqa: B018

    def keep_groups(self, groups: Mapping[str, ResourceGroup]) -> None:
        """Takes back the memory of resource groups, by name, that are gone or have none of their own any more."""
        self._groups.keep(groups)

    def share(self, request: Request, place: SharePlace = SharePlace.HOST) -> SharedRows:
        """See `protocol.Engine`: this engine has no workers."""
        raise FeatureNotSupported("rows are shared from the memory of workers, and there are none")

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """Returns DuckDB's plan."""
        pool = self._find_pool(request)
        instance = pool.instance
        with ExitStack() as stack:
            if analyze:
                pool.admit(request, stack)
            try:
                with record_steps() as steps:
                    chosen = self._choose(request)
                    cursor, text, reader = self._prepare(instance, stack, request, chosen=chosen)
                how = "EXPLAIN (ANALYZE, FORMAT json)" if analyze else "EXPLAIN (FORMAT json)"
                request.cancel.measure = partial(_measure, cursor)
                row = cursor.execute(f"{how} {text}").fetchone()
            except duckdb.Error as error:
                failure = find_failure(list_file_tables(request.query), error)
                raise failure or pool.translate_error(instance, error) from error
            finally:
                request.cancel.measure = None
            assert row is not None
            plan = parse_plan(show_addresses(row[1]), reader.names())
            remote = list_remote_queries(list_file_tables(request.query))
            plan = show_indexes(plan, NearestRows.list_used(request, chosen))
            details = (*plan.details, *(("Remote SQL", text) for text in remote))
            return replace(plan, details=details, loading=sum_steps(steps, "loading"))

    def close(self) -> None:
        """Closes the database and interrupts running statements."""
        if self.indexes is not None:
            self.indexes.close()
        self._groups.close()
        self._pool.close()


_SCHEMA = Artifact[pa.Schema]()


def _result_schema(query: bound.Query) -> pa.Schema:
    """Returns the schema of a query's rows."""
    known = query.prepared.get(_SCHEMA)
    if known is None:
        known = query.prepared.put(_SCHEMA, pa.schema(_fields([column.type.arrow for column in query.columns])))
    return known


def _fields(types: list[pa.DataType]) -> list[pa.Field]:
    return [pa.field(f"c{number}", item) for number, item in enumerate(types, 1)]


def _measure(cursor: duckdb.DuckDBPyConnection) -> float | None:
    """Returns the fraction of a cursor's running query that is done, as far as DuckDB knows it."""
    try:
        percent = cursor.query_progress()
    except duckdb.Error:  # it is closed
        return None
    return percent / 100 if percent >= 0 else None


_INTERRUPT_SECONDS = 0.02
_NARROW_OVERFLOW = "Overflow in multiplication of DECIMAL(18)"


@dataclass(frozen=True, slots=True)
class _Opened:
    """A statement that is ready to run: `stack` releases what it reads, its cursor and its `ticket`.

    `wide` returns its SQL with 128-bit products: it is run again with this if 64 bits overflow before the first row.
    `files` are those that it reads as tables.
    """

    stack: ExitStack
    cursor: duckdb.DuckDBPyConnection
    text: str
    wide: Callable[[], str] | None = None
    ticket: Ticket | None = None
    files: Sequence[FileTable] = ()


class DuckStream:
    """The rows of a running statement.

    `alone` opens it again without others beside it: it is run again like that if they left it too little memory, or too
    little space for temporary files, before its first row.
    """

    def __init__(
        self,
        opened: _Opened,
        schema: pa.Schema,
        cancel: Cancel,
        translate: Callable[[BaseException], GpudbError] = translate_error,
        alone: Callable[[], _Opened] | None = None,
    ) -> None:
        self.schema = schema
        self._translate_error = translate
        self._cancel = cancel
        self._alone = alone
        self._starting = False
        self._lock = threading.Lock()
        self._interrupt = self._stop
        self._use(opened)
        try:
            try:
                self._start(opened.text)
            except duckdb.Error as error:
                self._retry(error)
        except BaseException as error:
            self.close()
            raise self._to_sql_error(error) from error

    def _use(self, opened: _Opened) -> None:
        self._opened, self._cursor, self._wide = opened, opened.cursor, opened.wide
        self._cancel.measure = partial(_measure, opened.cursor)

    def _start(self, text: str) -> None:
        """Runs the statement to its first rows."""
        self._starting = True
        try:
            self._cancel.attach(self._interrupt)
            self._reader = open_arrow_reader(self._cursor, text, BATCH_ROWS)
        finally:
            with self._lock:
                self._starting = False
        self._cancel.check()

    def _stop(self) -> None:
        self._cursor.interrupt()
        if self._starting:
            # DuckDB forgets an interrupt that comes while it parses and plans
            threading.Thread(target=self._stop_start, name="gpudb-interrupt", daemon=True).start()

    def _stop_start(self) -> None:
        """Interrupts the statement until it has started."""
        while True:
            with self._lock:
                if not self._starting:
                    return
                self._cursor.interrupt()
            time.sleep(_INTERRUPT_SECONDS)

    def _retry(self, error: BaseException) -> None:
        """Runs the statement again in 128 bits if a product overflowed, alone if memory was short; else raises."""
        if self._wide is not None and _NARROW_OVERFLOW in str(error):
            text, self._wide = self._wide(), None
            self._start(text)
            return
        ticket = self._opened.ticket
        if self._alone is None or (ticket is not None and not ticket.shared) or not is_out_of_memory(error):
            raise error
        self.close()
        alone, self._alone = self._alone, None
        opened = alone()
        self._use(opened)
        self._start(opened.text)

    def _next(self) -> pa.RecordBatch:
        try:
            batch = self._reader.read_next_batch()
        except ENGINE_ERRORS as error:
            self._retry(error)
            batch = self._reader.read_next_batch()
        self._wide = self._alone = None
        return batch

    def _to_sql_error(self, error: BaseException) -> BaseException:
        if self._cancel.reason is not None:
            return QueryCanceled(self._cancel.reason)
        if isinstance(error, ENGINE_ERRORS) and (failure := find_failure(self._opened.files, error)) is not None:
            return failure
        if isinstance(error, ENGINE_ERRORS):
            translated = self._translate_error(error)
            return name_objects(translated) if self._opened.files else translated
        return error

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while True:
                self._cancel.check()
                try:
                    batch = self._next()
                except StopIteration:
                    if self._opened.files and (changed := find_change(self._opened.files)) is not None:
                        raise changed from None
                    return
                ticket = self._opened.ticket
                if batch.num_rows and ticket is None:
                    yield self._cast_batch(batch)
                elif batch.num_rows and ticket is not None:
                    made = self._cast_batch(batch)
                    ticket.paused = time.monotonic()
                    yield made
                    ticket.paused = None
        except BaseException as error:
            if isinstance(error, GeneratorExit):
                raise
            raise self._to_sql_error(error) from error
        finally:
            self.close()

    def _cast_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Casts a batch to the declared types. Without columns it keeps a column of NULLs, for its row count."""
        if not len(self.schema) or batch.schema.equals(self.schema):
            return batch
        arrays = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def close(self) -> None:
        """Ends the statement and releases what it reads."""
        self._reader = self._cancel.measure = None
        self._cancel.detach(self._interrupt)
        self._opened.stack.close()
