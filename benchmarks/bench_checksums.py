"""Cost of verifying data files: the first scan of a table in a process with and without it, and the rate of checksums.

    python -m benchmarks.bench_checksums [--rows 5000000] [--runs 5] [--machine LABEL]

The table has an integer, a numeric and a text column. `verify` is the time to verify its files alone, `load` that of
the first aggregate over them with verification off, `first query` with it on; medians in milliseconds. The page cache
holds the files. With --machine results are written to results/checksums.MACHINE.json.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Row, make_row, save_results

TABLE = """
CREATE TABLE t AS SELECT g AS id, (g % 10007)::numeric(12,2) / 4 AS price, 'name ' || g % 5003 AS name
    FROM generate_series(1, {rows}) g
"""
QUERY = "SELECT sum(id), sum(price), max(name) FROM t"


def _time(run: Callable[[], object]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def _first_query(folder: Path, *, verified: bool) -> float:
    """Seconds of a query in a database that has just been opened, whose files are `verified` already or not."""
    import gpudb
    from gpudb.storage.iceberg import checksums

    with gpudb.connect(folder) as connection:
        connection.execute("SELECT 1").fetchall()
        if verified:
            for path in folder.rglob("*.parquet"):
                checksums.mark_verified(path)
        return _time(lambda: connection.execute(QUERY).fetchall())


def _verify(files: list[Path]) -> None:
    from gpudb.storage.iceberg.checksums import verify_pages

    for path in files:
        verify_pages(str(path))


def measure(rows: int, runs: int) -> tuple[list[Row], int]:
    """Returns the times of the three cases, and the bytes of the table's files."""
    import gpudb

    with tempfile.TemporaryDirectory(prefix="gpudb-benchmark-") as name:
        folder = Path(name) / "data"
        with gpudb.connect(folder) as connection:
            connection.execute(TABLE.format(rows=rows))
        files = list(folder.rglob("*.parquet"))
        size = sum(path.stat().st_size for path in files)
        times: dict[str, list[float]] = {"verify": [], "load": [], "first query": []}
        for _ in range(runs):
            times["verify"].append(_time(lambda: _verify(files)))
            times["load"].append(_first_query(folder, verified=True))
            times["first query"].append(_first_query(folder, verified=False))
    return [make_row(case, "gpudb", each, rows, bytes=size) for case, each in times.items()], size


def main() -> None:
    """Prints the medians."""
    parser = argparse.ArgumentParser(description="cost of verifying data files")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--machine")
    options = parser.parse_args()
    rows, size = measure(options.rows, options.runs)
    medians = {row.case: row.median_s or 0.0 for row in rows}
    for case, seconds in medians.items():
        print(f"{case:12} {1000 * seconds:9.1f} ms")
    print(f"{size / 2**20:.1f} MiB, verified at {size / medians['verify'] / 1e9:.2f} GB/s")
    if options.machine:
        save_results("checksums", rows, {}, options.machine, "bench_checksums")


if __name__ == "__main__":
    main()
