"""Files that processes write: failures are seen at once, hold no rows, and leave no file; an end waits for no file."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.iceberg import append, process_files
from gpudb.storage.iceberg.append import DataWriter
from gpudb.storage.iceberg.process_files import ProcessFiles
from gpudb.storage.row_processes import RowProcesses
from gpudb.types import INT8
from tests.support.sessions import wait_until

_TABLE = Table(1, "public", "t", (Column("a", INT8, field_id=1),), owner="", last_field_id=1)
_SCHEMA = append.stored_schema(_TABLE.columns)

Wanted = Callable[[], None]


class _Processes(RowProcesses):
    """Calls a function in the place of a process."""

    def __init__(self, function: Callable[[Sequence[Any], Wanted], Any]) -> None:
        super().__init__(2, 0)
        self._function = function

    def call(self, name: str, arguments: Sequence[Any], wanted: Wanted) -> Any:
        """Calls it with the arguments of the call."""
        assert name == "write_files"
        return self._function(arguments, wanted)

    def hold(self, batch: pa.RecordBatch) -> bool:
        """Whether rows lie in shared memory: as if."""
        return True


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row group is a call of its own."""
    monkeypatch.setattr(process_files, "CALL_BYTES", 1)
    monkeypatch.setattr(append, "GROUP_ROWS", 10)
    monkeypatch.setattr(append, "FEW_ROWS", 1)


def _group(start: int = 0) -> pa.Table:
    return pa.table({"a": pa.array(range(start, start + 10), pa.int64())}, schema=_SCHEMA)


def _is_pending() -> bool:
    return bool(process_files._pending.count)


def test_a_failed_call_is_seen_at_the_next_group(tmp_path: Path) -> None:
    """Its error comes with the next row group, and keeps no rows; what was begun goes."""

    def fail(arguments: Sequence[Any], _: Wanted) -> None:
        groups, prefix = arguments[2], arguments[3]
        (tmp_path / f"{prefix}0000.parquet").write_bytes(b"PAR1")
        try:
            raise OSError(28, "No space left on device")
        except OSError:
            raise SqlError.of("disk_full", f"no room for {groups[0].num_rows} rows")  # noqa: B904

    files = ProcessFiles(tmp_path, _TABLE, _Processes(fail), durable=False)
    group = _group()
    held = weakref.ref(group)
    files.submit(group)
    del group
    wait_until(lambda: not _is_pending(), "the call has ended")
    wait_until(lambda: held() is None, "nothing holds its rows")
    with pytest.raises(SqlError, match="no room for 10 rows") as caught:
        files.submit(_group())
    assert caught.value.sqlstate == "53100"
    files.abort()
    assert not list(tmp_path.iterdir())


def test_files_are_in_the_order_of_the_rows(tmp_path: Path) -> None:
    """Whenever their calls end, and however many have been taken before."""
    first = threading.Event()

    def write(arguments: Sequence[Any], _: Wanted) -> Any:
        _, directory, groups, prefix, durable, bucket = arguments
        if groups[0]["a"][0].as_py() == 0:
            assert first.wait(60)
        return process_files.write_groups(_TABLE, directory, groups, prefix, durable, bucket)

    files = ProcessFiles(tmp_path, _TABLE, _Processes(write), durable=False)
    files.submit(_group())
    files.submit(_group(10))
    wait_until(lambda: process_files._pending.count == 1, "the second call has ended")
    files.submit(_group(20))
    first.set()
    found = [pq.read_table(file.path)["a"][0].as_py() for file in files.finish()]
    assert found == [0, 10, 20]


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), ValueError("no")])
def test_any_error_leaves_no_file(tmp_path: Path, error: Exception) -> None:
    """Files of other calls go too."""

    def write(arguments: Sequence[Any], _: Wanted) -> Any:
        _, directory, groups, prefix, durable, bucket = arguments
        if groups[0]["a"][0].as_py():
            raise error
        return process_files.write_groups(_TABLE, directory, groups, prefix, durable, bucket)

    files = ProcessFiles(tmp_path, _TABLE, _Processes(write), durable=False)
    files.submit(_group())
    files.submit(_group(10))
    with pytest.raises(type(error)):
        files.finish()
    assert list(tmp_path.iterdir())
    files.abort()
    assert not list(tmp_path.iterdir())


def test_pending_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append waits for its oldest call where the rows of calls take more memory than they may."""
    go_on = threading.Event()

    def write(arguments: Sequence[Any], _: Wanted) -> Any:
        assert go_on.wait(60)
        return []

    monkeypatch.setattr(process_files, "PENDING_BYTES", 100)
    files = ProcessFiles(tmp_path, _TABLE, _Processes(write), durable=False)
    assert files.submit(_group()) is None
    oldest = files.submit(_group(10))
    assert oldest is files._calls[0]
    assert process_files._pending.bytes == 160
    go_on.set()
    assert files.finish() == []
    wait_until(lambda: not process_files._pending.bytes, "none is counted any more")


def test_an_abort_ends_calls_first(tmp_path: Path) -> None:
    """It does not wait until a file is written."""
    begun, asked = threading.Event(), threading.Event()
    errors: list[GpudbError] = []

    def write(_: Sequence[Any], wanted: Wanted) -> None:
        begun.set()
        while not asked.wait(0.01):
            try:
                wanted()
            except GpudbError as error:
                errors.append(error)
                raise

    processes = _Processes(write)
    processes._pool_size = 0  # so that each row group is waited for before the next
    writer = DataWriter(tmp_path, _TABLE, durable=False, processes=processes)
    writer.add(pa.record_batch({"a": pa.array(range(10), pa.int64())}))
    assert begun.wait(60)
    ending = threading.Thread(target=writer.abort, daemon=True)
    ending.start()
    try:
        ending.join(30)
        assert not ending.is_alive()
    finally:
        asked.set()
    assert [error.sqlstate for error in errors] == ["57014"]
