"""Writes row groups into Parquet files in processes: each call writes a file, and several run at a time."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa

from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError
from gpudb.processes.child import ProcessUnavailable
from gpudb.storage.iceberg.checksums import mark_verified
from gpudb.storage.iceberg.column_layout import stored_schema
from gpudb.storage.iceberg.file_writer import FILE_BYTES, FileWriter, disk_errors
from gpudb.storage.row_processes import PENDING_BYTES, PROCESSORS, RowProcesses, drop_hidden, pack

CALL_BYTES = 128 << 20
"""A call gets row groups of as many bytes of Arrow memory, of which files larger than compaction's small ones come."""


@cache
def _callers() -> ThreadPoolExecutor:
    """Returns the threads that wait for the calls of all appends."""
    return ThreadPoolExecutor(PROCESSORS, "gpudb-file-call")


_Call = Future[list[DataFile] | Exception]
"""A call's files, or its error: raised, it would keep the call's rows by its traceback."""


class _PendingCalls:
    """The number of calls of all appends that have not ended, and the bytes of their rows."""

    def __init__(self) -> None:
        self.count = self.bytes = 0
        self._lock = threading.Lock()

    def add(self, call: _Call, size: int) -> None:
        """Counts a call of `size` bytes of rows until it ends."""
        self._count(1, size)
        call.add_done_callback(lambda _: self._count(-1, -size))

    def _count(self, calls: int, size: int) -> None:
        with self._lock:
            self.count += calls
            self.bytes += size


_pending = _PendingCalls()


class ProcessFiles:
    """Writes row groups of `table`, in stored form, as `FileWriter` does; used by one thread at a time."""

    def __init__(
        self, directory: Path, table: Table, processes: RowProcesses, *, durable: bool, bucket: int | None = None
    ) -> None:
        self._directory, self._processes = directory, processes
        self._table = replace(table, files=(), statistics=())
        self._packed = pack(self._table)
        self._durable, self._bucket = durable, bucket
        self._groups: list[pa.Table] = []
        self._bytes = 0
        self._calls: dict[int, _Call] = {}
        """Those whose files have not been taken, by their number in the order of the rows."""
        self._files: dict[int, list[DataFile]] = {}
        self._prefixes: list[str] = []
        self._is_stopped = False

    def submit(self, group: pa.Table) -> _Call | None:
        """Adds a row group; returns what is to be waited for before the next: its oldest call, if others wait too.

        Raises the error of a call that has failed.
        """
        for number in [number for number, call in self._calls.items() if call.done()]:
            self._take(number)
        self._groups.append(_without_hidden(group))
        self._bytes += group.nbytes
        if self._bytes >= CALL_BYTES:
            self._call(self._groups)
            self._groups, self._bytes = [], 0
        if _pending.count <= self._processes.count and _pending.bytes <= PENDING_BYTES:
            return None
        return next((call for call in self._calls.values() if not call.done()), None)

    def _take(self, number: int) -> None:
        """Waits for a call, and takes its files or raises its error."""
        found = self._calls.pop(number).result()
        if isinstance(found, Exception):
            raise found
        self._files[number] = found

    def _call(self, groups: list[pa.Table]) -> None:
        # The first part of the files' names, by which they are found if the process cannot remove them
        prefix = uuid.uuid4().hex[:16]
        call: _Call = _callers().submit(self._write, groups, prefix)
        self._calls[len(self._prefixes)] = call
        self._prefixes.append(prefix)
        _pending.add(call, sum(group.nbytes for group in groups))

    def _write(self, groups: Sequence[pa.Table], prefix: str) -> list[DataFile] | Exception:
        """Writes row groups in a process, or by this thread where none can be used."""
        try:
            try:
                self._check()
                arguments = self._packed, self._directory, groups, prefix, self._durable, self._bucket
                files: list[DataFile] = self._processes.call("write_files", arguments, self._check)
                return files
            except ProcessUnavailable:
                self._remove((prefix,))
                return write_groups(self._table, self._directory, groups, prefix, self._durable, self._bucket)
        except Exception as error:
            _drop_tracebacks(error)
            return error

    def _check(self) -> None:
        if self._is_stopped:
            raise GpudbError("the append has ended", condition="query_canceled")

    def finish(self) -> list[DataFile]:
        """Writes the last row groups, each into a file of its own; returns all files."""
        for group in self._groups:
            self._call([group])
        self._groups = []
        for number in list(self._calls):
            self._take(number)
        files = [file for _, files in sorted(self._files.items()) for file in files]
        for file in files:
            mark_verified(Path(file.path))
        return files

    def stop(self) -> None:
        """Ends the calls, without waiting for them."""
        self._is_stopped = True
        for call in self._calls.values():
            call.cancel()

    def abort(self) -> None:
        """Ends the calls, and removes every file that was begun."""
        self.stop()
        try:
            for call in self._calls.values():
                with contextlib.suppress(CancelledError):
                    call.result()
        finally:
            self._remove(tuple(self._prefixes))

    def _remove(self, prefixes: tuple[str, ...]) -> None:
        """Removes the files whose names begin with one of these."""
        for path in self._list_begun(prefixes):
            path.unlink(missing_ok=True)

    def _list_begun(self, prefixes: tuple[str, ...]) -> Iterator[Path]:
        with os.scandir(self._directory) as found:
            yield from [Path(each.path) for each in found if prefixes and each.name.startswith(prefixes)]


def write_groups(
    table: Table, directory: Path, groups: Sequence[pa.Table], prefix: str, durable: bool, bucket: int | None
) -> list[DataFile]:
    """Writes row groups, in stored form, into files whose names begin with `prefix`; none is left after an error."""
    schema = stored_schema(table.columns)
    files = FileWriter(directory, table, schema, FILE_BYTES, durable=durable, bucket=bucket, prefix=prefix)
    try:
        with disk_errors():
            for group in groups:
                files.write(group)
            return files.finish()
    except BaseException:
        files.abort()
        raise


def _drop_tracebacks(error: BaseException) -> None:
    """Lets go of the frames that an error and those before it were raised in, which have the rows."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__context__


def _without_hidden(group: pa.Table) -> pa.Table:
    """Returns rows without those around them, which would be sent too."""
    if group.get_total_buffer_size() <= 2 * group.nbytes:
        return group
    columns = [drop_hidden(*column.chunks) for column in group.columns]
    return pa.Table.from_arrays(columns, schema=group.schema)
