"""COPY FROM as a flow: bytes are fed by one thread, parsed by several, and written in order by another.

    feed → Splitter → Pipeline(read) ─┬─ completed: defaults, WHERE, NOT NULL → write (Transaction.append)
                                      └─ an error is raised by the next feed, or by finish
    open -finish→ done;  open -error, abort→ failed: nothing is left by `write`
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from gpudb.catalog.model import Column, Table
from gpudb.errors import InvalidText, SqlError
from gpudb.storage.copy.failure import RowError
from gpudb.storage.copy.pipeline import Pipeline, Stopped
from gpudb.storage.copy.reader import Block, Rows
from gpudb.storage.parquet import null_violation

Write = Callable[[Iterable[pa.RecordBatch]], int]
"""Stores batches of the table's columns and says how many rows; leaves nothing after an error."""


class Cutter(Protocol):
    """Bytes to blocks of whole rows."""

    def feed(self, data: bytes) -> Iterator[Block]:
        """The blocks that `data` completes."""

    def finish(self) -> Iterator[Block]:
        """The rest."""


class Reader(Protocol):
    """Blocks to columns."""

    def read(self, block: Block) -> Rows:
        """The block's rows; RowError."""

    def line_of(self, block: Block, row: int) -> tuple[int, str | None]:
        """(line, text) of a block's data row, counting from 0."""


@dataclass(frozen=True, slots=True)
class Completion:
    """How rows of the data become rows of the table.

    `columns` are the data's, in its order; `defaults` give, by name, a column's default for so many rows (NULL
    for those without); `where` filters whole rows.
    """

    table: Table
    columns: Sequence[Column]
    defaults: Mapping[str, Callable[[int], pa.Array]] = field(default_factory=dict)
    where: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None

    def batch(self, rows: Rows) -> pa.RecordBatch:
        """A batch of the table's columns, not yet filtered."""
        given = {column.name: number for number, column in enumerate(self.columns)}
        arrays = []
        for column in self.table.columns:
            number = given.get(column.name)
            if number is None:
                arrays.append(self._default(column, rows.rows))
            elif (mask := rows.defaulted.get(number)) is not None:
                arrays.append(_merged(mask, self._default(column, rows.rows), rows.columns[number]))
            else:
                arrays.append(rows.columns[number])
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.table.columns])

    def _default(self, column: Column, count: int) -> pa.Array:
        make = self.defaults.get(column.name)
        return pa.nulls(count, column.type.arrow) if make is None else make(count)


def repeated(value: pa.Array) -> Callable[[int], pa.Array]:
    """An array of length 1 as a default."""
    return lambda count: value.take(pa.array(np.zeros(count, np.int32)))


def _merged(mask: pa.BooleanArray, chosen: pa.Array, other: pa.Array) -> pa.Array:
    """`chosen` where the mask is set, of any type."""
    flags = mask.to_numpy(zero_copy_only=False)
    places = np.arange(len(flags)) + np.where(flags, len(flags), 0)
    return pa.concat_arrays([other, chosen]).take(pa.array(places))


@dataclass(slots=True)
class Copied:
    """What a COPY did; `notes` (line, column, text) are the rows that were skipped."""

    rows: int = 0
    skipped: int = 0
    notes: list[tuple[int, str, str | None]] = field(default_factory=list)


@dataclass(slots=True)
class _Outcome:
    block: Block
    rows: Rows | None = None
    error: RowError | None = None


class Inflow:
    """One COPY FROM. `feed`, `finish` and `abort` are called by one thread.

    `source` names the data in errors: `COPY t`. `check` is called now and then and may raise (a cancel).
    """

    def __init__(
        self,
        cutter: Cutter,
        reader: Reader,
        completion: Completion,
        write: Write,
        *,
        source: str,
        reject_limit: int | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._cutter = cutter
        self._reader = reader
        self._completion = completion
        self._write = write
        self._source = source
        self._reject_limit = reject_limit
        self._check = check
        self._pipeline: Pipeline[_Outcome] | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._copied = Copied()
        self._closed = False

    def feed(self, data: bytes) -> None:
        """Takes a piece of the data; raises what an earlier piece met."""
        if self._error is not None:
            self._fail(self._error)
        try:
            self._check()
            for block in self._cutter.feed(data):
                self._hand_in(block)
        except Stopped:
            self._fail(self._joined())
        except RowError as error:
            # whatever came before is older news, if it failed
            self._drain()
            self._fail(error.placed(self._source, 0))
        except BaseException as error:
            self._fail(error)

    def finish(self) -> Copied:
        """Waits until everything is written."""
        if self._error is not None:
            self._fail(self._error)
        try:
            blocks = list(self._cutter.finish())
            if self._pipeline is None:
                self._run(self._read(block) for block in blocks)
            else:
                for block in blocks:
                    self._hand_in(block)
                self._drain()
        except Stopped:
            self._fail(self._joined())
        except RowError as error:
            self._drain()
            self._fail(error.placed(self._source, 0))
        except BaseException as error:
            self._fail(error)
        if self._error is not None:
            self._fail(self._error)
        self._closed = True
        return self._copied

    def abort(self) -> None:
        """Ends it without a trace; idempotent, and nothing after `finish`."""
        if self._closed:
            return
        self._closed = True
        if self._pipeline is not None:
            self._pipeline.stop()
        if self._thread is not None:
            self._thread.join()

    # ---- the feeding thread

    def _hand_in(self, block: Block) -> None:
        if self._pipeline is None:
            self._pipeline = Pipeline()
            outcomes = iter(self._pipeline)
            self._thread = threading.Thread(
                target=self._write_all, args=(outcomes,), name="gpudb-copy-write", daemon=True
            )
            self._thread.start()
        self._pipeline.put(lambda: self._read(block))

    def _drain(self) -> None:
        """Lets the writer come to its end; its error counts before any later one."""
        if self._pipeline is not None and self._thread is not None:
            self._pipeline.end()
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _joined(self) -> BaseException:
        if self._thread is not None:
            self._thread.join()
        return self._error or SqlError.of("internal_error", "COPY has ended")

    def _fail(self, error: BaseException) -> None:
        self._error = error
        self.abort()
        raise error

    # ---- the writing thread

    def _write_all(self, outcomes: Iterator[_Outcome]) -> None:
        try:
            self._run(outcomes)
        except BaseException as error:
            self._error = error
            if self._pipeline is not None:
                self._pipeline.stop()

    def _run(self, outcomes: Iterable[_Outcome]) -> None:
        self._copied.rows = self._write(self._batches(outcomes))

    def _read(self, block: Block) -> _Outcome:
        try:
            return _Outcome(block, self._reader.read(block))
        except RowError as error:
            return _Outcome(block, error=error)

    def _batches(self, outcomes: Iterable[_Outcome]) -> Iterator[pa.RecordBatch]:
        before = 0
        ended = False
        for outcome in outcomes:
            if ended:
                continue
            self._check()
            rows = outcome.rows
            if rows is None:
                assert outcome.error is not None
                raise outcome.error.placed(self._source, before)
            self._note(rows, before)
            batch = self._completion.batch(rows)
            if self._completion.where is not None:
                batch = self._completion.where(batch)
            else:
                self._check_nulls(batch, outcome, before)
            before += rows.lines
            ended = rows.ended
            if batch.num_rows:
                yield batch

    def _note(self, rows: Rows, before: int) -> None:
        self._copied.skipped += rows.skipped
        if len(self._copied.notes) < 1000:
            self._copied.notes += [(before + line, column, text) for line, column, text in rows.notes]
        limit = self._reject_limit
        if limit is not None and self._copied.skipped > limit:
            message = f"skipped more than REJECT_LIMIT ({limit}) rows due to data type incompatibility"
            raise InvalidText(message)

    def _check_nulls(self, batch: pa.RecordBatch, outcome: _Outcome, before: int) -> None:
        """23502 with its line: storage, which looks again, knows none."""
        found: tuple[int, int] | None = None
        for number, column in enumerate(self._completion.table.columns):
            values = batch.column(number)
            if column.not_null and values.null_count:
                row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
                found = (row, number) if found is None else min(found, (row, number))
        if found is None:
            return
        row, number = found
        kept = None if outcome.rows is None else outcome.rows.kept
        line, text = self._reader.line_of(outcome.block, row if kept is None else kept[row])
        table = self._completion.table
        failing = batch.slice(row, 1)
        error = null_violation(table.name, table.columns[number], failing, failing.column(number))
        raise RowError(error, line, raw=text).placed(self._source, before)
