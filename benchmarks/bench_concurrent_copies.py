"""COPY of TPC-H's lineitem from files of the server: by one client, and by 24 at once, beside PostgreSQL in turns.

    python -m benchmarks.bench_concurrent_copies [--scale 0.1] [--clients 24] [--runs 3] [--data DIR] [--without-peer]

The same rows are in one file, and in as many files as there are clients, as text without quotes. Each run copies into
an empty table; it prints medians in rows per second, and writes results/copies.MACHINE.json.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg

from benchmarks import tables
from benchmarks.harness import Row, make_row, save_results
from benchmarks.systems import Wire, gpudb_server, postgres

CREATE = next(each for each in tables.schema("tpch") if "lineitem" in each)


def write_files(scale: float, clients: int, folder: Path) -> tuple[Path, list[Path], int]:
    """Writes lineitem as one file and in parts; returns them, and the number of rows."""
    where = folder / f"lineitem-{scale:g}-{clients}"
    whole = where / "lineitem.tbl"
    if not whole.exists():
        where.mkdir(parents=True, exist_ok=True)
        program = str(Path(sys.executable).with_name("tpchgen-cli"))
        made = ["tbl", "-s", f"{scale:g}", "--tables", "lineitem", "--output-dir", str(where), "--quiet"]
        subprocess.run([program, *made], check=True)
        lines = [line.removesuffix(b"|\n") + b"\n" for line in whole.read_bytes().splitlines(keepends=True)]
        for number in range(clients):
            part = lines[len(lines) * number // clients : len(lines) * (number + 1) // clients]
            (where / f"part-{number:02d}.tbl").write_bytes(b"".join(part))
        whole.write_bytes(b"".join(lines))
    with whole.open("rb") as file:
        rows = sum(1 for _ in file)
    return whole, [where / f"part-{number:02d}.tbl" for number in range(clients)], rows


def copy_files(system: Wire, paths: Sequence[Path]) -> float:
    """Copies files into an empty table, each by a client, all at once; returns the seconds."""
    system.query_none("DROP TABLE IF EXISTS lineitem")
    system.query_none(CREATE)
    begins = threading.Barrier(len(paths) + 1)

    def copy(path: Path) -> None:
        with psycopg.connect(system.dsn, autocommit=True) as connection:
            begins.wait()
            connection.execute(f"COPY lineitem FROM '{path}' (DELIMITER '|')".encode())

    with ThreadPoolExecutor(len(paths)) as pool:
        coming = [pool.submit(copy, path) for path in paths]
        begins.wait()
        began = time.perf_counter()
        for each in coming:
            each.result()
        return time.perf_counter() - began


def measure(systems: Sequence[Wire], options: argparse.Namespace) -> list[Row]:
    """Copies in turns: systems and numbers of clients alternate, so that all of them meet the same load."""
    whole, parts, rows = write_files(options.scale, options.clients, options.data)
    cases: dict[str, Sequence[Path]] = {"one COPY": [whole], f"{options.clients} COPY": parts}
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(options.runs):
        for system in systems:
            for case, paths in cases.items():
                times.setdefault((case, system.name), []).append(copy_files(system, paths))
                assert system.query("SELECT count(*) FROM lineitem") == [(rows,)]
    return [make_row(case, name, spent, rows, bytes=whole.stat().st_size) for (case, name), spent in times.items()]


def main() -> int:
    """Measures, prints and writes the results."""
    parser = argparse.ArgumentParser(description="concurrent COPY")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--without-peer", action="store_true", help="only gpudb")
    parser.add_argument("--machine", help="the results' label")
    options = parser.parse_args()
    opens: list[Callable[[], object]] = [gpudb_server] if options.without_peer else [gpudb_server, postgres]
    with ExitStack() as stack:
        systems = [stack.enter_context(each()) for each in opens]  # type: ignore[arg-type]
        rows = measure(systems, options)
    for row in rows:
        assert row.median_s is not None
        print(f"{row.case:10} {row.system:14} {row.table_rows / row.median_s / 1e3:9.0f} thousand rows/s")
    for system in dict.fromkeys(row.system for row in rows):
        one, many = (
            statistics.median([row.median_s or 0.0 for row in rows if row.case == case and row.system == system])
            for case in dict.fromkeys(row.case for row in rows)
        )
        print(f"{system}: {options.clients} COPY {one / many:.2f} times as fast as one")
    save_results("copies", rows, {}, options.machine, "bench_concurrent_copies")
    return 0


if __name__ == "__main__":
    sys.exit(main())
