"""First load of a table in a new process on a machine without compiled kernels, as a separate process.

    python -m benchmarks.gpu.cold [--scale 30] [--data DIR]

It prints seconds as JSON: until the GPU was `opened`, of the `first` load of lineorder's columns, packed, and of a
`second` one. `seconds` starts it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks import tables


def adopt_table(database: Any, suite: tables.Suite, name: str, where: Path) -> Any:
    """Adopts the files of a suite's table."""
    from gpudb.catalog.tables import Table

    files = f"{where}/*.parquet" if where.is_dir() else str(where)
    (create,) = [each for each in tables.adopted_schema(suite) if each.split()[2] == name]
    for statement in (create, f"SELECT add_files('{name}', '{files}')"):
        for result in database.session("gpudb").run(statement):
            list(result.batches if result.columns is not None else ())
    table = database.store.catalog().relation("public", name)
    assert isinstance(table, Table)
    return table


def load_packed(device: Any, table: Any, columns: list[str]) -> None:
    """Packs some columns without cached ones."""
    from gpudb.engine.gpu.cache.partition import WHOLE

    packed = device.kernels.tables
    packed.columns.evict(table.oid)
    for run in packed.runs(table, WHOLE, table.files):
        packed.load(table, [column for column in table.columns if column.name in columns], run, WHOLE)


def time_cold_load(scale: float, data: Path) -> dict[str, float]:
    """Returns the output of a process without compiled kernels. No other process may have the GPU."""
    from gpudb.engine.gpu.worker.warmup import kernel_cache_variables

    with tempfile.TemporaryDirectory() as folder:
        variables = kernel_cache_variables(Path(folder)) | {"GPUDB_KERNEL_CACHE": folder}
        command = [sys.executable, "-m", "benchmarks.gpu.cold", "--scale", f"{scale:g}", "--data", str(data)]
        process = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=600)
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    found: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return found


def main(arguments: list[str] | None = None) -> int:
    """Loads the table and prints the times."""
    parser = argparse.ArgumentParser(description="first load of a table in a new process")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    options = parser.parse_args(arguments)
    from gpudb.cli import machine
    from gpudb.engine.gpu.worker.device import open_gpu, open_host
    from gpudb.session.database import Database

    suite = tables.ssb_lines(options.scale, options.data)
    where, database = suite.tables["lineorder"], Database(None)
    try:
        table = adopt_table(database, suite, "lineorder", where)
        columns = [field.name for field in pq.read_schema(tables.list_files(where)[0])]
        gpu, found = machine.select_engine(machine.query_gpus())[0] == "gpu", {}
        begun = time.perf_counter()
        device = open_gpu(0, fuse=True) if gpu else open_host(2**31, 2**30, fuse=True)
        for name in ("opened", "first", "second"):
            if name != "opened":
                load_packed(device, table, columns)
            if gpu:
                import cupy

                cupy.cuda.runtime.deviceSynchronize()
            found[name], begun = time.perf_counter() - begun, time.perf_counter()
        print(json.dumps(found))
    finally:
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
