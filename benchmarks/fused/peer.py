"""A peer over the files of the star schema benchmark, in a separate process.

python -m benchmarks.fused.peer NAME FOLDER OUT [--part N] [--seconds S]: NAME is cudf-polars (its tables kept on the
GPU, its in-memory engine), polars (the same frames on all cores) or duckdb (its tables in its memory, all cores). It
reads one of N files of lines; it ends before a query for which no time is left. OUT is written after each query:
seconds of each run and the answer, or the reason why there is none.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.harness import Answer, time_runs
from gpudb.demo.star_schema import data as ssb

WARM, RUNS = 1, 3
QUERY_S = 20.0
Run = Callable[[str], Answer]
Files = dict[str, list[Path]]


def list_files(folder: Path, part: int) -> Files:
    """Files of each table; one of every `part` files of lines."""
    found = {table: sorted((folder / table).glob("*.parquet")) for table in ssb.TABLES}
    return found | {"lineorder": found["lineorder"][::part]}


def duckdb(files: Files) -> Run:
    """DuckDB with its tables loaded."""
    import duckdb as system

    connection = system.connect()
    for table, paths in files.items():
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet(?)", [list(map(str, paths))])
    return lambda sql: connection.execute(sql).fetchall()


def polars(files: Files) -> Run:
    """Polars on the host's cores, its tables in memory."""
    import polars as pl

    return _frames({table: pl.read_parquet(paths).lazy() for table, paths in files.items()}, "in-memory")


def cudf_polars(files: Files) -> Run:
    """cudf-polars with its tables on the GPU and a memory pool."""
    import polars as pl
    import rmm

    from benchmarks.gpu.ranks import register_table

    free, _ = rmm.mr.available_device_memory()
    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=int(free * 0.85) // 256 * 256)
    rmm.mr.set_current_device_resource(pool)
    engine = pl.GPUEngine(executor="in-memory", raise_on_fail=True, memory_resource=pool)
    return _frames({table: register_table(paths) for table, paths in files.items()}, engine)


def _frames(held: dict[str, Any], engine: Any) -> Run:
    """The queries' frames, built once each."""
    import polars as pl

    from benchmarks.fused import star

    def share(kept: Any, every: Any, column: str) -> float:
        # A source on the GPU returns no rows if no column is read.
        some, rows = (of.select(pl.col(column).count()).collect(engine=engine).item() for of in (kept, every))
        return float(some / rows)

    made: dict[str, Any] = {}

    def run(sql: str) -> Answer:
        if sql not in made:
            made[sql] = star.frame(sql, held, share)
        answer: Answer = made[sql].collect(engine=engine).rows()
        return answer

    return run


PEERS: dict[str, Callable[[Files], Run]] = {"cudf-polars": cudf_polars, "polars": polars, "duckdb": duckdb}


def main(arguments: list[str] | None = None) -> None:
    """Loads the tables, runs each query and writes its times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=sorted(PEERS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args(arguments)
    begun = time.perf_counter()
    run = PEERS[given.name](list_files(given.folder, given.part))
    found: dict[str, Any] = {"loaded_s": time.perf_counter() - begun, "queries": {}}
    print(f"{given.name}: loaded in {found['loaded_s']:.1f} s", flush=True)
    for name, sql in tables.queries("ssb").items():
        left = given.seconds - (time.perf_counter() - begun)
        if left <= 0:
            print(f"{given.name}: no time left for {name} and those after it", flush=True)
            break
        try:
            times, answer = time_runs(lambda sql=sql: run(sql), warm=WARM, runs=RUNS, budget_s=min(QUERY_S, left))
            found["queries"][name] = {"times": times, "answer": [list(map(_to_python, row)) for row in answer]}
            print(f"{given.name} {name}: {1000 * min(times):.2f} ms", flush=True)
        except Exception as error:
            found["queries"][name] = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
            print(f"{given.name} {name}: {found['queries'][name]['error']}", flush=True)
        given.out.write_text(json.dumps(found))


def _to_python(value: Any) -> Any:
    return value if isinstance(value, int | float | str) or value is None else float(value)


if __name__ == "__main__":
    main()
