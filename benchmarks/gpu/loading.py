"""Loading of Parquet into one GPU's memory, step by step, and the raw read rate of the page cache.

    python -m benchmarks.gpu.loading [--scale 30] [--threads 16] [--data DIR] [--disk DIR] [--machine NAME]

For two tables (SSB's lineorder, TPC-H's lineitem with its texts separately): reading the files' bytes; reading them to
the GPU by KvikIO; decoding them by libcudf (see `decoding`); and loading the tables that workers cache, packed and
plain. Each is the best of some runs; GB/s are of the files' bytes. Notes break down the time of packing: as it is, of
all threads together, and with one thread that waits for each step's end. With --disk packing from there is compared
with the disk's own rate, read by as many threads, by the page cache and past it; notes report what the page cache had.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks import report, tables
from benchmarks.gpu.cold import adopt_table, load_packed, time_cold_load
from benchmarks.gpu.decoding import decoding_steps
from benchmarks.gpu.disk import Disk
from benchmarks.gpu.served import read_once, read_rate
from benchmarks.gpu.spent import Breakdown, timed_functions
from benchmarks.harness import Row, make_row, save_results

RUNS = 2
_PACKAGE = "gpudb.engine.gpu."
_PACKING = {
    "dictionaries": "cache.dictionaries:GrowingDictionary.encode",
}
_ON_HOST = {
    "decoding": "fused.packed_cache.column_chunks:read_lanes",
    "texts as they are": "fused.packed_cache.column_chunks:raw_text_from_offsets",
    "bounds and zones": "fused.columns.packed_column:compute_zones",
    "packing": "fused.packed_cache.column_chunks:pack",
    "joining pieces": "fused.packed_cache.column_chunks:concatenate",
}
_ON_GPU = {
    "footers": "cudf.files.reader:read_footer",
    "decoding": "cudf.files.column_chunks:read_columns",
    "coding texts": "cudf.files.column_chunks:encode_texts",
    "looking at values": "fused.packed_cache.packing:Packer._survey",
    "packing": "fused.packed_cache.packing:Packer._write",
    "joining pieces": "fused.packed_cache.packing:Packer.concatenate",
    "codes": "fused.packed_cache.packing:Packer.pack_codes",
}


def stored_bytes(paths: Sequence[Path], columns: Sequence[str]) -> int:
    """Returns the bytes of some columns in their files."""
    found = 0
    for path in paths:
        described = pq.read_metadata(path)
        for number in range(described.num_row_groups):
            group = described.row_group(number)
            chunks = (group.column(place) for place in range(group.num_columns))
            found += sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in columns)
    return found


def load_steps(
    device: Any, table: Any, columns: Sequence[str], ready: Callable[[], None], done: Callable[[], None]
) -> dict[str, Callable[[], None]]:
    """The steps that load a worker's tables; `ready` is called before, and `done` waits for the device."""
    from gpudb.engine.gpu.cache.partition import WHOLE
    from gpudb.plan.tree.nodes import Scan

    places = tuple(place for place, column in enumerate(table.columns) if column.name in columns)

    def packed() -> None:
        ready()
        load_packed(device, table, [*columns])
        done()

    def plain() -> None:
        ready()
        device.tables.columns.evict(table.oid)
        device.tables.frame(Scan(table, places), WHOLE, ())
        done()

    return {"packed": packed, "plain": plain}


def format_breakdown(packed: Callable[[], None], gpu: bool, done: Callable[[], None]) -> str:
    """Formats the seconds (and calls) of the parts of packing."""
    from gpudb.engine.gpu.fused.packed_cache import read_batches

    functions = {name: _PACKAGE + place for name, place in (_PACKING | (_ON_GPU if gpu else _ON_HOST)).items()}
    parts = []
    for kind, settled, ahead in (("of all threads", None, read_batches.CONCURRENT_READS), ("one by one", done, 1)):
        spent = Breakdown(settled or (lambda: None))
        before, read_batches.CONCURRENT_READS = read_batches.CONCURRENT_READS, ahead
        begun = time.perf_counter()
        try:
            with timed_functions(functions, spent):
                packed()
        finally:
            read_batches.CONCURRENT_READS = before
        parts.append(f"{kind}, in {time.perf_counter() - begun:.3f} s: {spent.summary()}")
    return "; ".join(parts)


def time_runs(run: Callable[[], None]) -> list[float]:
    """Seconds of some runs."""
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return times


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yields a row for each step and table."""
    from gpudb.cli import machine
    from gpudb.engine.gpu.worker.device import open_gpu, open_host
    from gpudb.session.database import Database

    gpu = machine.select_engine(machine.query_gpus())[0] == "gpu"
    rows = tables.count_rows(tables.ssb_lines(options.scale, options.data).tables["lineorder"])
    try:
        first = time_cold_load(options.scale, options.data)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"the first load of a new process: {error}", file=sys.stderr)
    else:
        told = f"the GPU was opened in {first['opened']:.3f} s; loaded again: {first['second']:.3f} s"
        yield make_row("lineorder", "packed, first, nothing compiled", [first["first"]], rows, note=told)
    device = open_gpu(0, fuse=True) if gpu else open_host(2**31, 2**30, fuse=True)
    ready: Callable[[], None] = lambda: None  # noqa: E731
    done = ready
    if gpu:
        import cupy
        import kvikio.defaults

        ready = partial(kvikio.defaults.set, "num_threads", options.threads)
        done = cupy.cuda.runtime.deviceSynchronize
    with folder_on(options.disk) as folder, closing(Database(folder)) as database:
        for make, name in ((tables.ssb_lines, "lineorder"), (tables.tpch, "lineitem")):
            suite = make(options.scale, options.data)
            where = suite.tables[name]
            paths = tables.list_files(where)
            schema = pq.read_schema(paths[0])
            columns = [field.name for field in schema if "string" not in str(field.type)]
            texts = [field.name for field in schema if field.name not in columns]
            size, count = stored_bytes(paths, columns), tables.count_rows(where)
            table = adopt_table(database, suite, name, where)
            whole, times = read_rate(paths, options.threads)
            yield make_row(name, "the files' bytes read", times, count, bytes=whole)
            every = decoding_steps(paths, columns, options.threads) if gpu else {}
            loads = load_steps(device, table, columns, ready, done)
            for step, run in (every | loads).items():
                of = whole if step.startswith("to the GPU") else size
                times = time_runs(run)
                note = f"first {times[0]:.3f} s; {format_breakdown(run, gpu, done)}" if step == "packed" else None
                yield make_row(name, step, times, count, bytes=of, note=note)
            if texts:
                run, of = load_steps(device, table, texts, ready, done)["packed"], stored_bytes(paths, texts)
                times = time_runs(run)
                note = f"first {times[0]:.3f} s; {format_breakdown(run, gpu, done)}"
                yield make_row(name, "packed, the texts", times, count, bytes=of, note=note)
                device.kernels.tables.columns.evict(table.oid)
            if options.disk:
                disk = Disk([Path(file.path) for file in table.files])
                yield from measure_from_disk(name, disk, loads["packed"], whole, size, count, options.threads)


@contextmanager
def folder_on(disk: Path | None) -> Iterator[Path | None]:
    """A temporary folder for a database, whose tables' files are copies on a disk; None for their current place."""
    if disk is None:
        yield None
        return
    disk.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpudb-loading-", dir=disk) as folder:
        yield Path(folder)


def measure_from_disk(
    name: str, disk: Disk, packed: Callable[[], None], whole: int, size: int, count: int, threads: int
) -> Iterator[Row]:
    """A disk's own rate, by the page cache and past it, and packing `size` of the `whole` bytes from there."""
    step = "the files' bytes read from the disk"
    times, note = disk.time_cold(partial(read_once, disk.paths, threads))
    yield make_row(name, step, times, count, bytes=whole, note=note)
    rates = {"by the page cache": whole / min(times)}
    try:
        times, note = disk.time_cold(partial(read_once, disk.paths, threads, os.O_DIRECT))
        yield make_row(name, f"{step}, past the page cache", times, count, bytes=whole, note=note)
        rates["past it"] = whole / min(times)
    except OSError as error:  # not every file system supports such reads
        print(f"{name}: past the page cache: {error}", file=sys.stderr)
    times, note = disk.time_cold(packed)
    rate = size / min(times)
    beside = ", ".join(f"{rate / each:.0%} of reading {how}, {each / 1e9:.2f} GB/s" for how, each in rates.items())
    yield make_row(name, "packed, from the disk", times, count, bytes=size, note=f"{beside}; {note}")


def print_row(row: Row) -> None:
    """Prints a step."""
    rate = (row.bytes or 0) / (row.min_s or 1) / 1e9
    print(f"{row.case}: {row.system}: {row.min_s:.3f} s, {rate:.2f} GB/s", flush=True)
    if row.note:
        print(f"    {row.note}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints and writes results/loading.MACHINE.json."""
    parser = argparse.ArgumentParser(description="loading into a GPU's memory, step by step")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--threads", type=int, default=min(16, len(os.sched_getaffinity(0))))
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--disk", type=Path, help="folder on a disk whose read rate is the reference")
    parser.add_argument("--machine")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for row in measure(options):
        rows.append(row)
        print_row(row)
        save_results("loading", rows, {}, options.machine, "gpu.loading")
    report.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
