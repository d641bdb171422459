"""Where the time of scans of files goes: raw reads, the pipeline of reads that fills packed columns, and statements.

    python -m benchmarks.gpu.scan_pipeline [--scale 30] [--runs 3] [--data DIR] [--seconds 280] [--sweep]
        [--formats parquet arrow csv]

In this process, for each format and query of `benchmarks.gpu.files`: metadata (columns, parts) of files that are new
and of files that are known, then the columns' loading into an empty cache, with the time in which bytes are read or
decoded (reads at the same time count once), the sum of packing, and what comes after the last read. With --sweep the
same for several sizes of reads and numbers of concurrent ones. Then statements over foreign tables of the same files
on a server, whose columns are evicted before each run: nothing is resident, and the files are known. The share is of
the raw rate at which KvikIO reads the whole files into GPU memory. Without a GPU it runs the engine twin.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.gpu.files import QUERIES, Kind, device_rate, make_kinds, touch
from benchmarks.gpu.served import read_rate
from benchmarks.systems import Wire, gpudb_server
from gpudb.catalog.file_tables import FileRequest
from gpudb.catalog.tables import Column, Table
from gpudb.engine.figures import record_reads, sum_reads
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.fused.packed_cache import read_batches
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ChunkReader, HostChunkReader
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.storage.files.parts import open_part_table
from gpudb.storage.files.schema import open_file_table

BUDGET = 30 << 30
"""Bytes of the cache that is filled."""
SWEEP = [(3, 29, 29), (4, 28, 29), (5, 29, 29), (6, 28, 29)]
"""Concurrent reads, and the binary logarithms of the least and most bytes of one."""


class Spans:
    """Sums times by name, of all threads."""

    def __init__(self) -> None:
        self.spent: dict[str, list[tuple[float, float]]] = {}

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that is measured."""

        def measured(*arguments: Any) -> Any:
            begun = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                self.spent.setdefault(name, []).append((begun, time.perf_counter()))

        return measured

    def sum(self, name: str) -> float:
        """Returns the milliseconds of all calls."""
        return 1000 * sum(end - start for start, end in self.spent.get(name, []))

    def last(self, name: str) -> float:
        """Returns when the last call ended."""
        return max((end for _, end in self.spent.get(name, [])), default=0.0)


def measured_reader(reader: ChunkReader | HostChunkReader, spans: Spans) -> Any:
    """Returns a reader whose calls are measured."""
    made = type("Measured", (), {"packs_in_order": reader.packs_in_order})()
    for name in ("read", "pack", "concatenate", "read_raw_text", "pack_codes"):
        setattr(made, name, spans.wrap(name, getattr(reader, name)))
    return made


def open_table(kind: Kind) -> Table:
    """Returns the files of a kind as a table of parts."""
    table = open_part_table(open_file_table(FileRequest(tuple(map(str, kind.paths)), kind.name)))  # type: ignore[arg-type]
    assert table is not None
    return table


def time_metadata(kind: Kind) -> None:
    """Prints how long columns and parts of files take, new and known."""
    for state in ("new", "known"):
        if state == "new":
            touch(kind.paths)
        begun = time.perf_counter()
        files = open_file_table(FileRequest(tuple(map(str, kind.paths)), kind.name))  # type: ignore[arg-type]
        bound = time.perf_counter()
        table = open_part_table(files)
        listed = time.perf_counter()
        size = len(pickle.dumps(table))
        sent = time.perf_counter()
        print(
            f"{kind.name}: {state}: columns {1e3 * (bound - begun):.1f} ms, parts {1e3 * (listed - bound):.1f} ms,"
            f" pickled {size} bytes in {1e3 * (sent - listed):.1f} ms",
            flush=True,
        )


def load_once(reader: ChunkReader | HostChunkReader, table: Table, columns: Sequence[Column]) -> tuple[float, str]:
    """Loads columns into an empty cache; returns the seconds and what they were spent for."""
    spans = Spans()
    tables = PackedTables(BUDGET, measured_reader(reader, spans))
    with record_reads() as reads:
        begun = time.perf_counter()
        for run in tables.runs(table, WHOLE, table.files):
            tables.load(table, columns, run, WHOLE)
        ended = time.perf_counter()
    first = min((start for start, _ in spans.spent["read"]), default=begun)
    busy = sum(each.milliseconds for each in sum_reads(reads))
    return ended - begun, (
        f"before the first {1e3 * (first - begun):.1f}, bytes or decoding {busy:.1f},"
        f" {len(spans.spent['read'])} reads of {spans.sum('read') / max(len(spans.spent['read']), 1):.1f} each,"
        f" packing {spans.sum('pack'):.1f} in all, after the last read {1e3 * (ended - spans.last('read')):.1f},"
        f" concatenation {spans.sum('concatenate'):.1f} ms"
    )


@contextmanager
def settings(readers: int, least: int, most: int) -> Iterator[None]:
    """Context of other sizes of reads."""
    names = "CONCURRENT_PARTS", "MIN_PART_BYTES", "MAX_PART_BYTES"
    before = [getattr(read_batches, name) for name in names]
    for name, value in zip(names, (readers, 1 << least, 1 << most), strict=True):
        setattr(read_batches, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(read_batches, name, value)


def load_columns(options: argparse.Namespace, kinds: Sequence[Kind], rates: dict[str, float], ends: float) -> None:
    """Prints the loading of each query's columns in this process."""
    reader: ChunkReader | HostChunkReader = HostChunkReader()
    if options.engine == "gpu":
        from gpudb.engine.gpu.cudf.files.column_chunks import CudfChunkReader
        from gpudb.engine.gpu.cudf.memory.device_memory import open_device

        open_device()
        reader = CudfChunkReader()
    for kind in kinds:
        time_metadata(kind)
        table = open_table(kind)
        for name, (_, wanted) in QUERIES.items():
            columns = [column for column in table.columns if column.name in wanted]
            size = kind.count_bytes(wanted)
            load_once(reader, table, columns)  # kernels are loaded, and memory is had
            variants = [(0, 0, 0), *(SWEEP if options.sweep else [])]
            for variant in variants:
                if time.perf_counter() > ends:
                    return
                readers = variant if variant[0] else (read_batches.CONCURRENT_PARTS, 0, 0)
                with (
                    settings(*variant)
                    if variant[0]
                    else settings(
                        readers[0],
                        read_batches.MIN_PART_BYTES.bit_length() - 1,
                        read_batches.MAX_PART_BYTES.bit_length() - 1,
                    )
                ):
                    found = sorted(load_once(reader, table, columns) for _ in range(options.runs))
                spent, text = found[len(found) // 2]
                rate = size / spent
                label = f"{variant[0]} x 2^{variant[1]}..2^{variant[2]}" if variant[0] else "as it is"
                print(
                    f"load: {name}: {kind.name}: {label}: {1e3 * spent:.1f} ms, {rate / 1e9:.2f} GB/s,"
                    f" {rate / rates[kind.name]:.0%}\n    {text}",
                    flush=True,
                )


def foreign_table(kind: Kind, name: str) -> list[str]:
    """Returns the statements that make a foreign table of the files of a kind."""
    paths = [str(path) for path in kind.paths]
    table = open_table(kind)
    columns = ", ".join(f"{column.name} {column.type}" for column in table.columns if column.name != "filename")
    wrapper = "lake_fdw" if kind.name == "csv" else f"{kind.name}_fdw"
    given = {
        "parquet": f"filename '{' '.join(paths)}'",
        "arrow": f"files '{','.join(paths)}'",
        "csv": f"address '{paths[0]}', format 'csv'",
    }[kind.name]
    return [
        f"CREATE EXTENSION IF NOT EXISTS {wrapper}",
        f"CREATE SERVER {name}_server FOREIGN DATA WRAPPER {wrapper}",
        f"CREATE FOREIGN TABLE {name} ({columns}) SERVER {name}_server OPTIONS ({given})",
    ]


def run_statements(
    options: argparse.Namespace, server: Wire, kinds: Sequence[Kind], days: Path, rates: dict[str, float], ends: float
) -> None:
    """Prints statements over files whose columns are evicted before each."""
    for kind in kinds:
        for statement in foreign_table(kind, f"lines_{kind.name}"):
            server.query_none(statement)
        for name, (query, wanted) in QUERIES.items():
            if time.perf_counter() > ends:
                return
            text = query.format(lines=f"lines_{kind.name}", days=f"'{days}'")
            server.query(text)
            size = kind.count_bytes(wanted)
            for state in ("evicted", "new files"):
                times = []
                for _ in range(options.runs):
                    if state == "new files":
                        touch(kind.paths)
                    else:
                        server.query(f"SELECT gpudb_evict('lines_{kind.name}')")
                    begun = time.perf_counter()
                    server.query(text)
                    times.append(time.perf_counter() - begun)
                rate = size / statistics.median(times)
                print(
                    f"statement: {name}: {kind.name}: {state}: {1e3 * statistics.median(times):.1f} ms"
                    f" ({', '.join(f'{1e3 * each:.1f}' for each in times)}), {rate / 1e9:.2f} GB/s,"
                    f" {rate / rates[kind.name]:.0%}",
                    flush=True,
                )
            server.query(f"SELECT gpudb_evict('lines_{kind.name}')")
            lines = [str(line) for (line,) in server.query(f"EXPLAIN ANALYZE {text}")]
            told = ("Files Read", "Planning Time", "Execution Time", "Kernel Time", "Worker 0")
            print("\n".join(f"    {line.strip()}" for line in lines if any(each in line for each in told)), flush=True)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="where the time of scans of files goes")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--csv-rows", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(16, len(os.sched_getaffinity(0))))
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--seconds", type=float, default=280, help="nothing starts later")
    parser.add_argument("--engine", choices=["gpu", "twin"])
    parser.add_argument("--formats", nargs="+", default=["parquet", "arrow"])
    parser.add_argument("--sweep", action="store_true", help="also other sizes of reads")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the server, too
    from gpudb.cli import machine

    options.engine = options.engine or ("gpu" if machine.select_engine(machine.query_gpus())[0] == "gpu" else "twin")
    options.data.mkdir(parents=True, exist_ok=True)
    ends = time.perf_counter() + options.seconds
    every, days = make_kinds(options)
    kinds = [kind for kind in every if kind.name in options.formats]
    rates: dict[str, float] = {}
    for kind in kinds:
        size, times = read_rate(kind.paths, options.threads)
        print(f"raw: {kind.name}: {size / min(times) / 1e9:.2f} GB/s to the host")
        if options.engine == "gpu":
            times = device_rate(kind.paths, options.threads)
            print(f"raw: {kind.name}: {size / min(times) / 1e9:.2f} GB/s to the GPU", flush=True)
        rates[kind.name] = size / min(times)
    with gpudb_server(None, options.engine, 1) as server:
        server.query_none("SET gpudb.fallback = off")
        run_statements(options, server, kinds, days, rates, ends)
    load_columns(options, kinds, rates, ends)
    return 0


if __name__ == "__main__":
    sys.exit(main())
