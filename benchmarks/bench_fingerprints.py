"""Tanimoto top-k over fingerprints of a served table, beside one core, DuckDB and the memory's bandwidth, in one run.

`python -m benchmarks.bench_fingerprints [--rows N] [--bits N] [--engine cpu|twin|gpu] [--save]` prints the seconds of
`ORDER BY gpu_similarity(fingerprint, …) DESC LIMIT 10` through a client, alone and with a filter; of NumPy on one core
over packed bits in memory; of DuckDB with one thread over the table's texts, for a part of the rows; and, with a GPU,
the time that CuPy takes to read as many bytes. Answers must agree: it fails if they do not.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Answer, Row, answers_equal, make_row, save_results, time_runs
from tests.support.server_program import running_server

K = 10
CHUNK = 1 << 18
DUCKDB_ROWS = 1_000_000
DENSITY = 3  # of 16 random bits each is kept by as many: an eighth is set


def make_chunk(number: int, rows: int, bits: int) -> np.ndarray:
    """Returns the packed fingerprints of a chunk, the same on each machine."""
    drawn = np.random.default_rng(number).integers(0, 256, (DENSITY, rows, bits // 8), np.uint8)
    return np.asarray(np.bitwise_and.reduce(drawn))


def write_chunk(folder: Path, number: int, packed: np.ndarray, first: int) -> None:
    """Writes a chunk as a Parquet file of ids and texts of 0 and 1."""
    digits = np.unpackbits(packed, axis=1) + np.uint8(ord("0"))
    offsets = np.arange(len(packed) + 1, dtype=np.int64) * digits.shape[1]
    texts = pa.Array.from_buffers(pa.large_string(), len(packed), [None, pa.py_buffer(offsets), pa.py_buffer(digits)])
    table = pa.table({"id": pa.array(np.arange(first, first + len(packed), dtype=np.int32)), "b": texts})
    pq.write_table(table, folder / f"{number:05}.parquet", use_dictionary=["id"], compression="lz4")


def make_files(folder: Path, rows: int, bits: int) -> np.ndarray:
    """Writes the table's files; returns all packed fingerprints."""
    every = np.empty((rows, bits // 8), np.uint8)

    def make(number: int) -> None:
        first = number * CHUNK
        count = min(CHUNK, rows - first)
        every[first : first + count] = make_chunk(number, count, bits)
        write_chunk(folder, number, every[first : first + count], first)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(-(-rows // CHUNK))))
    return every


def search(packed: np.ndarray, query: np.ndarray, kept: np.ndarray | None = None) -> Answer:
    """Returns the ids and similarities of the most similar rows, on one core."""
    words, one = packed.view(np.uint64), query.view(np.uint64)
    similarity = np.empty(len(words))
    for start in range(0, len(words), 1 << 14):  # what a core's cache holds
        part = words[start : start + (1 << 14)]
        common = np.bitwise_count(part & one).sum(axis=1, dtype=np.uint32)
        similarity[start : start + len(part)] = common / np.bitwise_count(part | one).sum(axis=1, dtype=np.uint32)
    if kept is not None:
        similarity[~kept] = -1
    best = np.argpartition(-similarity, K)[: 2 * K]
    best = best[np.lexsort((best, -similarity[best]))][:K]
    return [(int(row), float(similarity[row])) for row in best]


def measure_bandwidth(size: int) -> list[float] | None:
    """Returns the times that a GPU takes to read so many bytes, once; None without CuPy."""
    if not Path("/dev/nvidiactl").exists() or not find_spec("cupy"):
        return None
    import cupy

    held = cupy.zeros(size // 8, cupy.uint64)

    def read(array: Any) -> None:
        array.max()
        cupy.cuda.Device().synchronize()

    times, _ = time_runs(partial(read, held), warm=3, runs=9)
    del held
    cupy.get_default_memory_pool().free_all_blocks()
    return times


def fetch(db: psycopg.Connection, sql: str) -> Answer:
    """Returns the rows of a query."""
    return db.execute(sql).fetchall()


def measure(folder: Path, given: argparse.Namespace, found: list[Row]) -> bool:
    """Times each way and prints it; returns whether answers agree."""
    rows, bits = given.rows, given.bits
    size = rows * bits // 8
    case, filtered = f"Tanimoto top-{K} of {bits} bits", "the same, an id of each three"

    def add(row: Row) -> None:
        found.append(row)
        rate = size / row.min_s / 1e9 if row.min_s else 0
        print(f"{row.case:44}{row.system:34}{1000 * (row.median_s or 0):12.3f} ms{rate:10.1f} GB/s", flush=True)

    bandwidth = measure_bandwidth(size)
    if bandwidth is not None:
        add(make_row(case, "bound: the GPU reads the bits (CuPy)", bandwidth, rows, bytes=size))
    (folder / "files").mkdir()
    at = time.perf_counter()
    packed = make_files(folder / "files", rows, bits)
    print(f"made {rows} rows in {time.perf_counter() - at:.1f} s", flush=True)
    query = packed[rows // 2] & make_chunk(-1 & 0xFFFF, 1, bits)[0] | packed[rows // 3]
    literal = "".join(map(str, np.unpackbits(query)))
    kept = np.arange(rows) % 3 == 0
    wanted = {}
    for name, mask in ((case, None), (filtered, kept)):
        times, wanted[name] = time_runs(partial(search, packed, query, mask), warm=0, runs=3)
        add(make_row(name, "NumPy, one core", times, rows, result_rows=K, bytes=size))
    with duckdb.connect(config={"threads": 1}) as peer:
        part = min(rows, DUCKDB_ROWS)
        pattern = f"{folder}/files/*.parquet"
        peer.execute(f"CREATE TABLE p AS SELECT id, b FROM read_parquet('{pattern}') WHERE id < {part}")
        zeros = "0" * bits
        both = f"(hamming(b, '{zeros}') + {literal.count('1')} - hamming(b, '{literal}')) / 2"
        either = f"(hamming(b, '{zeros}') + {literal.count('1')} + hamming(b, '{literal}')) / 2"
        sql = f"SELECT id, {both} / {either} AS s FROM p ORDER BY s DESC, id LIMIT {K}"
        times, _ = time_runs(lambda: peer.execute(sql).fetchall(), warm=1, runs=3)
        scaled = [each * rows / part for each in times]
        add(make_row(case, "DuckDB, one thread", scaled, rows, note=f"of {part} rows, times {rows / part:g}"))
    agree = True
    with running_server(folder / "data", "--engine", given.engine) as dsn, psycopg.connect(dsn, autocommit=True) as db:
        at = time.perf_counter()
        db.execute(f"CREATE TABLE prints (id int, b bit({bits}))")
        db.execute(f"INSERT INTO prints SELECT id, b::bit({bits}) FROM '{pattern}'")
        print(f"loaded in {time.perf_counter() - at:.1f} s", flush=True)
        db.execute("SET gpudb.fallback = off")
        for name, where in ((case, ""), (filtered, "WHERE id % 3 = 0")):
            sql = f"SELECT id, gpu_similarity(b, B'{literal}') AS s FROM prints {where} ORDER BY s DESC LIMIT {K}"
            ask = partial(fetch, db, sql)
            at = time.perf_counter()
            ask()
            print(f"first run: {time.perf_counter() - at:.1f} s", flush=True)
            times, answer = time_runs(ask, warm=2, runs=15)
            # Of equally similar rows any may be the last.
            same = answers_equal([(s,) for _, s in answer], [(s,) for _, s in wanted[name]])
            agree &= same
            add(make_row(name, f"gpudb ({given.engine})", times, rows, result_rows=K, bytes=size, answers_agree=same))
    return agree


def main() -> int:
    """Makes the table, serves it and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--bits", type=int, default=1024)
    parser.add_argument("--engine", default="gpu")
    parser.add_argument("--folder", type=Path, help="where files are made (a folder of its own is removed again)")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    found: list[Row] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        agree = measure(Path(folder), given, found)
    if given.save:
        save_results(
            "fingerprints",
            found,
            {"duckdb": version("duckdb"), "numpy": version("numpy")},
            program="bench_fingerprints",
        )
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
