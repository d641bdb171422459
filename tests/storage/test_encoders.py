"""Row groups of many appends at once are encoded by as many threads as there are processors."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.tables import Column, Table
from gpudb.storage.iceberg import append
from gpudb.storage.iceberg.append import FEW_ROWS, write_files
from gpudb.storage.iceberg.file_writer import FileWriter
from gpudb.types import INT8
from tests.support.sessions import wait_until

_TABLE = Table(1, "public", "t", (Column("a", INT8, field_id=1),), owner="", last_field_id=1)


def _append(folder: Path, number: int, rows: int) -> list[int]:
    batch = pa.record_batch({"a": pa.array(range(number, number + rows), pa.int64())})
    folder.mkdir(exist_ok=True)
    (file,) = write_files(folder, _TABLE, [batch], durable=False).files
    found: list[int] = pq.read_table(file.path)["a"].to_pylist()
    return found


def test_many_appends_share_the_encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, begin = threading.Lock(), threading.Event()
    arrived = now = most = 0
    write, encode = FileWriter.write, append._encode

    def arriving(files: FileWriter, group: pa.Table) -> None:
        nonlocal arrived
        with lock:
            arrived += 1
        encode(files, group)

    def counted(self: FileWriter, group: pa.Table) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        assert begin.wait(60)
        try:
            write(self, group)
        finally:
            with lock:
                now -= 1

    monkeypatch.setattr(FileWriter, "write", counted)
    monkeypatch.setattr(append, "_encode", arriving)
    processors = os.cpu_count() or 1
    appends = 4 * processors
    with ThreadPoolExecutor(appends) as pool:
        coming = [pool.submit(_append, tmp_path / str(each), each, FEW_ROWS) for each in range(appends)]
        wait_until(lambda: arrived == appends, "all appends have a row group")
        begin.set()
        for number, future in enumerate(coming):
            assert future.result() == list(range(number, number + FEW_ROWS))
    assert 0 < most <= processors


def test_few_rows_are_encoded_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "_encoders", lambda: pytest.fail("handed over"))
    assert _append(tmp_path / "few", 3, 2) == [3, 4]


def test_rows_are_encoded_while_the_interpreter_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = ThreadPoolExecutor(1)
    ended.shutdown()
    monkeypatch.setattr(append, "_encoders", lambda: ended)
    assert len(_append(tmp_path / "many", 0, FEW_ROWS)) == FEW_ROWS
