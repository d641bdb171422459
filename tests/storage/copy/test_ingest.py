"""CopyIngest: errors in order, an end by either side, and no thread or file left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError, QueryCanceled, SqlError
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.ingest import BlockSource, CopyIngest, CopyStream, RowCompletion, Write
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.pipeline import AgedPool, Pipeline, Stopped
from gpudb.storage.copy.reader import RowReader
from gpudb.storage.copy.split import Splitter
from gpudb.storage.store import Store
from gpudb.types import INT4, TEXT
from tests.support.store_tables import AB, created, files_under, rows

CSV = CopyOptions(format="csv", delimiter=",", null="")
COLUMNS = (Column("a", INT4), Column("b", TEXT))
TABLE = Table(1, "public", "t", COLUMNS, "gpudb")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every thread of an ingest ends with it, but those of the shared pool."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("gpudb-copy-write"):
            thread.join(60)
            assert not thread.is_alive()


def _flow(write: Write, table: Table = TABLE, check: object = None, block: int = 64) -> CopyStream:
    columns = table.columns
    reader = RowReader(columns, CSV, Clock(), frozenset())
    more = {} if check is None else {"check": check}
    flow = CopyIngest(write, **more)  # type: ignore[arg-type]
    return CopyStream(Splitter(CSV, block), BlockSource("COPY t", reader, RowCompletion(table, columns)), flow)


def _collect(found: list[dict[str, object]]) -> Write:
    def write(batches: Iterable[pa.RecordBatch]) -> int:
        for batch in batches:
            found.extend(batch.to_pylist())
        return len(found)

    return write


def test_rows_come_in_order() -> None:
    found: list[dict[str, object]] = []
    flow = _flow(_collect(found))
    for number in range(5000):
        flow.feed(b"%d,x\n" % number)
    assert flow.finish().rows == 5000
    assert [row["a"] for row in found] == list(range(5000))


def test_the_first_error_counts_and_names_its_line() -> None:
    flow = _flow(_collect([]))
    with pytest.raises(GpudbError) as failed:
        _feed(flow, b"".join(b"%d,x\n" % n if n not in (700, 701, 950) else b"z,x\n" for n in range(1000)))
    assert failed.value.where == 'COPY t, line 701, column a: "z"'


def _feed(flow: CopyStream, data: bytes, step: int = 1000) -> None:
    for start in range(0, len(data), step):
        flow.feed(data[start : start + step])
    flow.finish()


def test_an_error_of_storage_ends_the_feeding() -> None:
    def write(batches: Iterable[pa.RecordBatch]) -> int:
        next(iter(batches))
        raise SqlError.of("disk_full", "no space")

    flow = _flow(write)
    with pytest.raises(GpudbError) as failed:
        _feed(flow, b"1,x\n" * 100_000)
    assert failed.value.sqlstate == "53100"
    flow.abort()


def test_feeding_waits_for_a_slow_writer() -> None:
    held = threading.Event()
    seen: list[int] = []

    def write(batches: Iterable[pa.RecordBatch]) -> int:
        for batch in batches:
            held.wait(60)
            seen.append(batch.num_rows)
        return sum(seen)

    flow = _flow(write)
    fed = threading.Event()

    def feed() -> None:
        _feed(flow, b"1,x\n" * 20_000, 64)
        fed.set()

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert not fed.wait(0.3)
    held.set()
    assert fed.wait(60)
    feeder.join()
    assert sum(seen) == 20_000


def test_a_cancel_ends_it_from_the_feeding_side() -> None:
    calls = iter(range(1_000_000))

    def check() -> None:
        if next(calls) > 50:
            raise QueryCanceled("canceling statement due to user request")

    flow = _flow(_collect([]), check=check)
    with pytest.raises(QueryCanceled):
        _feed(flow, b"1,x\n" * 100_000)


def test_an_abort_leaves_no_file(durable: Store, tmp_path: Path) -> None:
    oid = created(durable, "t")
    with durable.begin() as transaction:
        table = transaction.table(oid)
        flow = _flow(lambda batches: transaction.append(oid, batches), table)
        for _ in range(2000):
            flow.feed(b"1,x\n")
        flow.abort()
        flow.abort()
        assert not transaction.changed
        with pytest.raises(GpudbError):
            flow.feed(b"1,x\n" * 100)
    assert files_under(tmp_path) == set()


def test_not_null_has_its_line_and_leaves_no_file(durable: Store, tmp_path: Path) -> None:
    oid = created(durable, "t", AB)
    with durable.begin() as transaction:
        table = transaction.table(oid)
        flow = _flow(lambda batches: transaction.append(oid, batches), table)
        with pytest.raises(GpudbError) as failed:
            _feed(flow, b"1,x\n" * 500 + b",y\n" + b"1,x\n" * 500)
    assert (failed.value.sqlstate, failed.value.where) == ("23502", 'COPY t, line 501: ",y"')
    assert failed.value.detail == "Failing row contains (null, y)."
    assert files_under(tmp_path) == set()


def test_rows_reach_the_table(durable: Store) -> None:
    oid = created(durable, "t")
    with durable.begin() as transaction:
        table = transaction.table(oid)
        flow = _flow(lambda batches: transaction.append(oid, batches), table)
        _feed(flow, b'1,"x\ny"\n2,\n')
        transaction.commit()
    assert rows(durable, oid) == [(1, "x\ny"), (2, None)]


def test_a_row_longer_than_blocks_is_taken() -> None:
    found: list[dict[str, object]] = []
    flow = _flow(_collect(found))
    _feed(flow, b'1,"' + b"line\n" * 10_000 + b'"\n2,x\n')
    assert [len(str(row["b"])) for row in found] == [50_000, 1]


def test_results_come_in_the_order_of_tasks() -> None:
    pipeline: Pipeline[int] = Pipeline(AgedPool(4), ahead=8)

    def task(number: int) -> int:
        time.sleep(0.01 if number % 2 == 0 else 0)  # so that later tasks end earlier
        return number

    def put() -> None:
        for number in range(40):
            pipeline.put(lambda number=number: task(number))  # type: ignore[misc]
        pipeline.end()

    feeder = threading.Thread(target=put)
    feeder.start()
    assert list(pipeline) == list(range(40))
    feeder.join()


def test_a_stopped_pipeline_lets_go_of_both_sides() -> None:
    pipeline: Pipeline[int] = Pipeline(AgedPool(1), ahead=1)
    pipeline.put(lambda: 1)

    def put() -> None:
        with pytest.raises(Stopped):
            pipeline.put(lambda: 2)

    waiting = threading.Thread(target=put)
    waiting.start()
    pipeline.stop()
    waiting.join(60)
    assert not waiting.is_alive()
    with pytest.raises(Stopped):
        list(pipeline)
