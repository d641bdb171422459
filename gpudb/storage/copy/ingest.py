"""COPY FROM as a pipeline: one thread feeds bytes, several parse them, and another writes in order.

feed → Cutter → Pipeline(read) ─┬─ completed: defaults, WHERE, NOT NULL → write (Transaction.append)
                                └─ an error is raised by the next feed, or by finish
open -finish→ done;  open -error, abort→ failed: `write` leaves nothing behind
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

import numpy as np
import pyarrow as pa

from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError, InvalidText, QueryCanceled, SqlError
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.pipeline import Pipeline, Stopped, shared_pool
from gpudb.storage.copy.reader import Block, ParsedRows
from gpudb.storage.row_errors import null_violation
from gpudb.storage.row_processes import SMALL_BLOCK

Write = Callable[[Iterable[pa.RecordBatch]], int]
"""Stores batches of the table's columns and returns the number of rows; leaves nothing after an error."""

_MAX_NOTES = 1000


class BlockSplitter(Protocol):
    """Splits bytes into blocks of whole rows."""

    def feed(self, data: bytes) -> Iterator[Block]:
        """Yields the blocks that `data` completes."""

    def finish(self) -> Iterator[Block]:
        """Yields the rest."""


class BlockReader(Protocol):
    """Converts blocks to columns."""

    def read(self, block: Block) -> ParsedRows:
        """Returns the block's rows; raises RowError."""

    def find_line(self, block: Block, row: int) -> tuple[int, str | None]:
        """Returns (line, text) of a block's data row, counting from 0."""


@dataclass(frozen=True, slots=True)
class RowCompletion:
    """Completes rows of the data to rows of the table.

    `columns` are the data's, in its order. `defaults` maps a column's name to a function that returns its default for a
    number of rows (NULL for columns without one). `where` filters whole rows.
    """

    table: Table
    columns: Sequence[Column]
    defaults: Mapping[str, Callable[[int], pa.Array]] = field(default_factory=dict)
    where: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None

    def complete(self, rows: ParsedRows) -> pa.RecordBatch:
        """Returns a batch of the table's columns, not yet filtered."""
        numbers = {column.name: number for number, column in enumerate(self.columns)}
        arrays = []
        for column in self.table.columns:
            number = numbers.get(column.name)
            if number is None:
                arrays.append(self._default(column, rows.rows))
            elif (mask := rows.defaulted.get(number)) is not None:
                arrays.append(_select_by_mask(mask, self._default(column, rows.rows), rows.columns[number]))
            else:
                arrays.append(rows.columns[number])
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.table.columns])

    def _default(self, column: Column, count: int) -> pa.Array:
        make = self.defaults.get(column.name)
        return pa.nulls(count, column.type.arrow) if make is None else make(count)


def repeat_value(value: pa.Array) -> Callable[[int], pa.Array]:
    """Returns an array of length 1 as a default."""
    return lambda count: value.take(pa.array(np.zeros(count, np.int32)))


def _select_by_mask(mask: pa.BooleanArray, chosen: pa.Array, other: pa.Array) -> pa.Array:
    """Returns `chosen` where the mask is set, else `other`; for any type."""
    flags = mask.to_numpy(zero_copy_only=False)
    places = np.arange(len(flags)) + np.where(flags, len(flags), 0)
    return pa.concat_arrays([other, chosen]).take(pa.array(places))


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that was skipped: its source as in errors, its line, and the column and text for which it was."""

    source: str
    line: int
    column: str
    value: str | None


@dataclass(slots=True)
class CopyResult:
    """Result of a COPY; `notes` (line, column, text) are the first rows that were skipped, `rejects` all of them if
    they are kept; WHERE excluded `excluded`.
    """

    rows: int = 0
    skipped: int = 0
    excluded: int = 0
    notes: list[tuple[int, str, str | None]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)


@dataclass(slots=True)
class BlockSource:
    """Source of blocks: `name` is `COPY t` or a file's name, for errors; `lines` counts the lines already read."""

    name: str
    reader: BlockReader
    completion: RowCompletion
    unit: str = "line"
    lines: int = 0

    def with_context(self, error: RowError) -> GpudbError:
        """Returns a block's error with its context."""
        return error.with_context(self.name, self.lines, self.unit)


@dataclass(slots=True)
class _ReadBlock:
    origin: BlockSource
    block: Block
    rows: ParsedRows | None = None
    error: RowError | None = None


class CopyIngest:
    """Reads blocks and stores their rows. `put`, `finish` and `abort` are called by one thread.

    `check` is called regularly and may raise (a cancel).
    """

    def __init__(
        self,
        write: Write,
        *,
        reject_limit: int | None = None,
        keep_rejects: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._write = write
        self._reject_limit, self._keep_rejects = reject_limit, keep_rejects
        self._check = check
        self._pipeline: Pipeline[_ReadBlock] | None = None
        self._thread: threading.Thread | None = None
        self._first_block: _ReadBlock | None = None
        self._error: BaseException | None = None
        self._closed = False
        self.copied = CopyResult()

    def put(self, origin: BlockSource, block: Block) -> None:
        """Adds a block; raises the error of an earlier one. A single block is read and written by `finish`."""
        try:
            self._raise_earlier()
            self._check()
            if self._pipeline is None and self._first_block is None:
                self._first_block = _ReadBlock(origin, block)
                return
            pipeline = self._start()
            pipeline.put(lambda: self._read(_ReadBlock(origin, block)))
        except Stopped:
            self.fail(self._join_error())
        except BaseException as error:
            self.fail(error)

    def finish(self) -> CopyResult:
        """Waits until everything is written."""
        try:
            self._raise_earlier()
            if self._pipeline is None:
                self._write_blocks([] if self._first_block is None else [self._read_alone(self._first_block)])
            else:
                self._pipeline.end()
                self._join()
                self._raise_earlier()
        except BaseException as error:
            self.fail(error)
        self._closed = True
        return self.copied

    def fail(self, error: BaseException) -> NoReturn:
        """Fails with an error of the data's source, unless an earlier block has an error."""
        if self._error is None and self._pipeline is not None and not isinstance(error, QueryCanceled):
            self._pipeline.end()
            self._join()
        self._error = self._error or error
        self.abort()
        raise self._error

    def abort(self) -> None:
        """Aborts and leaves nothing behind; idempotent, and a no-op after `finish`."""
        if self._closed:
            return
        self._closed = True
        if self._pipeline is not None:
            self._pipeline.stop()
        self._join()

    # ---- the feeding thread

    def _start(self) -> Pipeline[_ReadBlock]:
        if self._pipeline is None:
            self._pipeline = Pipeline()
            self._thread = threading.Thread(
                target=self._write_all, args=(iter(self._pipeline),), name="gpudb-copy-write", daemon=True
            )
            self._thread.start()
            if (first := self._first_block) is not None:
                self._first_block = None
                self._pipeline.put(lambda: self._read(first))
        return self._pipeline

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _join_error(self) -> BaseException:
        self._join()
        return self._error or SqlError.of("internal_error", "COPY has ended")

    def _raise_earlier(self) -> None:
        if self._error is not None:
            raise self._error

    # ---- the writing thread

    def _write_all(self, outcomes: Iterator[_ReadBlock]) -> None:
        try:
            self._write_blocks(outcomes)
        except Stopped:
            return  # the feeding thread has stopped the pipeline
        except BaseException as error:
            self._error = error
            if self._pipeline is not None:
                self._pipeline.stop()

    def _write_blocks(self, outcomes: Iterable[_ReadBlock]) -> None:
        self.copied.rows = self._write(self._batches(outcomes))

    def _read_alone(self, outcome: _ReadBlock) -> _ReadBlock:
        """Reads the only block, a large one by a thread of the pool: so many at once do not compete either."""
        if len(outcome.block.data) < SMALL_BLOCK:
            return self._read(outcome)
        return shared_pool().submit(0, lambda: self._read(outcome)).result()

    def _read(self, outcome: _ReadBlock) -> _ReadBlock:
        try:
            outcome.rows = outcome.origin.reader.read(outcome.block)
        except RowError as error:
            outcome.error = error
        return outcome

    def _batches(self, outcomes: Iterable[_ReadBlock]) -> Iterator[pa.RecordBatch]:
        ended: BlockSource | None = None
        for outcome in outcomes:
            origin = outcome.origin
            if origin is ended:
                continue
            self._check()
            rows = outcome.rows
            if rows is None:
                assert outcome.error is not None
                raise origin.with_context(outcome.error)
            self._add_notes(rows, origin)
            batch = origin.completion.complete(rows)
            if origin.completion.where is not None:
                read = batch.num_rows
                batch = origin.completion.where(batch)
                self.copied.excluded += read - batch.num_rows
            else:
                self._check_nulls(batch, outcome)
            origin.lines += rows.lines
            ended = origin if rows.ended else None
            if batch.num_rows:
                self.copied.rows += batch.num_rows
                yield batch

    def _add_notes(self, rows: ParsedRows, origin: BlockSource) -> None:
        self.copied.skipped += rows.skipped
        before = origin.lines
        if self._keep_rejects:
            found = [Reject(origin.name, before + line, column, text) for line, column, text in rows.notes]
            self.copied.rejects += found
        if len(self.copied.notes) < _MAX_NOTES:
            self.copied.notes += [(before + line, column, text) for line, column, text in rows.notes]
        limit = self._reject_limit
        if limit is not None and self.copied.skipped > limit:
            message = f"skipped more than REJECT_LIMIT ({limit}) rows due to data type incompatibility"
            raise InvalidText(message)

    def _check_nulls(self, batch: pa.RecordBatch, outcome: _ReadBlock) -> None:
        """Raises 23502 with its line, which storage's own check does not know."""
        found: tuple[int, int] | None = None
        table = outcome.origin.completion.table
        for number, column in enumerate(table.columns):
            values = batch.column(number)
            if column.not_null and values.null_count:
                row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
                found = (row, number) if found is None else min(found, (row, number))
        if found is None:
            return
        row, number = found
        kept = None if outcome.rows is None else outcome.rows.kept
        line, text = outcome.origin.reader.find_line(outcome.block, row if kept is None else kept[row])
        failing = batch.slice(row, 1)
        error = null_violation(table, table.columns[number], failing, failing.column(number))
        raise outcome.origin.with_context(RowError(error, line, raw=text))


class CopyStream:
    """One COPY FROM: bytes in. `feed`, `finish` and `abort` are called by one thread."""

    def __init__(self, cutter: BlockSplitter, origin: BlockSource, flow: CopyIngest) -> None:
        self._cutter = cutter
        self._flow = flow
        self._origin = origin
        self.copied = flow.copied

    def feed(self, data: bytes) -> None:
        """Adds a piece of the data; raises the error of an earlier piece."""
        self._put(self._cutter.feed(data))

    def finish(self) -> CopyResult:
        """Waits until everything is written."""
        self.end()
        return self._flow.finish()

    def end(self) -> None:
        """Marks the end of the data; earlier pieces may still be in progress."""
        self._put(self._cutter.finish())

    def abort(self) -> None:
        """Aborts and leaves nothing behind; idempotent, and a no-op after `finish`."""
        self._flow.abort()

    def _put(self, blocks: Iterator[Block]) -> None:
        while True:
            try:
                block = next(blocks, None)
            except RowError as error:
                self._flow.fail(error.with_context(self._origin.name, 0))
            except GpudbError as error:
                self._flow.fail(error)
            if block is None:
                return
            self._flow.put(self._origin, block)
