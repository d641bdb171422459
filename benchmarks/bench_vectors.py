"""Nearest vectors of a served table, exact and by an index, beside NumPy, DuckDB, cuVS and the bandwidth, in one run.

`python -m benchmarks.bench_vectors [--rows N] [--dimensions N] [--engine cpu|twin|gpu] [--index cagra|hnsw|none]
[--save]` prints the milliseconds of a search for 10 neighbours through a client, exact, with a filter, and by an index
with its recall and its searches per second from one client and from eight. Beside them: NumPy on one core and DuckDB
with one thread, for a part of the rows; with a GPU, cuVS's exact search and CAGRA by hand, and the time that CuPy takes
to read as many bytes. Exact answers must agree: it fails if they do not. Files are made, loaded and removed part by
part, since a disk may not hold all vectors twice.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

from benchmarks.harness import Row, make_row, save_results, time_runs
from tests.support.server_program import running_server

K, QUERIES, CLIENTS = 10, 48, 8
CHUNK = 1 << 16
LOADED_CHUNKS = 32
"""Chunks whose files lie on the disk at once."""
THREADS = min(16, os.cpu_count() or 1)
CLUSTERS, RANK = 1000, 32
PART_ROWS = 500_000
"""Rows that NumPy and DuckDB search; their times are scaled."""
EFFORTS = {"cagra": ("cagra.itopk_size", (64, 128, 256)), "hnsw": ("hnsw.ef_search", (40, 100, 200))}
ON_GPU = Path("/dev/nvidiactl").exists() and find_spec("cuvs") is not None


@dataclass
class Data:
    """Vectors around clusters, of few intrinsic dimensions, as embeddings are: the same ones on each machine."""

    rows: int
    dimensions: int

    def __post_init__(self) -> None:
        draw = np.random.default_rng(1)
        self._centres = draw.standard_normal((CLUSTERS, self.dimensions), np.float32)
        self._basis = draw.standard_normal((RANK, self.dimensions), np.float32) * np.float32(0.3)
        self.queries = self.draw(np.random.default_rng(2), QUERIES)
        self.matrix: Any = None
        """All of them on the GPU, if there is one."""
        self._best: list[tuple[np.ndarray, np.ndarray]] = []

    def draw(self, draw: np.random.Generator, rows: int) -> np.ndarray:
        """Draws some vectors."""
        inside = draw.standard_normal((rows, RANK), np.float32) @ self._basis
        made = self._centres[draw.integers(0, CLUSTERS, rows)] + inside
        made += draw.standard_normal((rows, self.dimensions), np.float32) * np.float32(0.05)
        return np.asarray(made)

    @property
    def chunks(self) -> range:
        """The numbers of the chunks."""
        return range(-(-self.rows // CHUNK))

    def _make(self, number: int) -> tuple[int, np.ndarray]:
        """Makes a chunk; returns the number of its first row, and its vectors."""
        first = number * CHUNK
        return first, self.draw(np.random.default_rng(1000 + number), min(CHUNK, self.rows - first))

    def write(self, folder: Path, number: int) -> None:
        """Writes a chunk as a Parquet file."""
        first, made = self._make(number)
        ids = np.arange(first, first + len(made), dtype=np.int32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), self.dimensions).cast(pa.list_(pa.float32()))
        table = pa.table({"id": ids, "kind": ids % 10, "v": lists})
        pq.write_table(table, folder / f"{number:05}.parquet", use_dictionary=False, compression=None)

    def search(self, number: int) -> None:
        """Copies a chunk to the GPU, if there is one, and finds its rows nearest to the queries."""
        first, made = self._make(number)
        rows = len(made)
        if self.matrix is not None:
            import cupy

            self.matrix[first : first + rows] = cupy.asarray(made)
        squares = (made * made).sum(axis=1)[:, None] - 2 * made @ self.queries.T
        near = np.argpartition(squares, min(4 * K, rows - 1), axis=0)[: 4 * K]
        exact = np.sqrt(((made[near].astype(np.float64) - self.queries) ** 2).sum(axis=2))
        self._best.append((near + first, exact))

    def find_nearest(self) -> np.ndarray:
        """Returns the ids of the K nearest vectors to each query, (QUERIES, K)."""
        ids, distances = (np.concatenate(each) for each in zip(*self._best, strict=True))
        order = np.lexsort((ids, distances), axis=0)[:K]
        return np.asarray(np.take_along_axis(ids, order, axis=0).T)


def recall(found: Sequence[Sequence[int]], nearest: np.ndarray) -> float:
    """Returns the share of the nearest rows that are found."""
    return sum(len(set(one) & set(other)) for one, other in zip(found, nearest.tolist(), strict=True)) / nearest.size


class Report:
    """The rows of the result, printed as they come."""

    def __init__(self, data: Data) -> None:
        self.rows: list[Row] = []
        self._data = data

    def add(self, case: str, system: str, times: Sequence[float], *, reads: float = 1.0, **more: Any) -> None:
        """Adds the times of searches that read a part of all vectors."""
        row = make_row(case, system, times, self._data.rows, **more)
        self.rows.append(row)
        rate = reads * self._data.rows * self._data.dimensions * 4 / (row.median_s or 1) / 1e9
        shown = f"{rate:8.0f} GB/s" if reads else " " * 13
        print(f"{case:34}{system:40}{1000 * (row.median_s or 0):11.3f} ms{shown}  {row.note or ''}", flush=True)


def measure_hosts(data: Data, folder: Path, report: Report) -> None:
    """Times NumPy on one core and DuckDB with one thread over a part of the rows."""
    part = min(data.rows, PART_ROWS)
    scale = data.rows / part
    note = f"of {part} rows, times {scale:g}"
    case = f"exact, {data.dimensions} dimensions"
    with duckdb.connect(config={"threads": 1}) as peer:
        peer.execute(f"CREATE TABLE t AS SELECT id, v FROM read_parquet('{folder}/*.parquet') WHERE id < {part}")
        held = peer.sql("SELECT v FROM t").to_arrow_table().column(0).combine_chunks()
        matrix = held.flatten().to_numpy().reshape(part, data.dimensions)
        query = data.queries[0]

        def search() -> Any:
            squares = np.empty(part, np.float32)
            for start in range(0, part, 512):  # what a core's cache holds
                difference = matrix[start : start + 512] - query
                squares[start : start + 512] = np.einsum("ij,ij->i", difference, difference)
            return np.argpartition(squares, K)[:K]

        times, _ = time_runs(search, warm=1, runs=3)
        report.add(case, "NumPy, one core", [each * scale for each in times], note=note)
        sql = f"SELECT id FROM t ORDER BY list_distance(v, {query.tolist()}::FLOAT[]) LIMIT {K}"
        times, _ = time_runs(lambda: peer.execute(sql).fetchall(), warm=1, runs=3)
        report.add(case, "DuckDB, one thread", [each * scale for each in times], note=note)


def measure_cuvs(data: Data, nearest: np.ndarray, report: Report, index: str) -> None:
    """Times cuVS by hand over the matrix in the GPU's memory, and CuPy's reading of it; frees the matrix."""
    import cupy
    from cuvs.neighbors import brute_force, cagra

    matrix, data.matrix = data.matrix, None
    case = f"exact, {data.dimensions} dimensions"
    report.add(case, "bound: the GPU reads the vectors (CuPy)", _time_on_gpu(matrix.reshape(-1).max))
    query, every = cupy.asarray(data.queries[:1]), cupy.asarray(data.queries)
    flat = brute_force.build(matrix, metric="sqeuclidean")
    report.add(case, "cuVS brute_force by hand", _time_on_gpu(partial(brute_force.search, flat, query, K)))
    at = time.perf_counter()
    if index == "none":
        return
    graph = cagra.build(cagra.IndexParams(metric="sqeuclidean"), matrix)
    print(f"cuVS built CAGRA in {time.perf_counter() - at:.1f} s", flush=True)
    for breadth in EFFORTS["cagra"][1]:
        parameters = cagra.SearchParams(itopk_size=breadth)
        times = _time_on_gpu(partial(cagra.search, parameters, graph, query, K))
        _, found = cagra.search(parameters, graph, every, K)
        share = recall(cupy.asarray(found).get().tolist(), nearest)
        report.add(f"cagra, itopk {breadth}", "cuVS by hand", times, reads=0, note=f"recall {share:.3f}")


def free_gpu() -> None:
    """Gives the GPU's memory back, for the server's workers."""
    import cupy

    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()


def _time_on_gpu(run: Any) -> list[float]:
    import cupy

    def call() -> None:
        run()
        cupy.cuda.Device().synchronize()

    times, _ = time_runs(call, warm=3, runs=15)
    return times


class Clients:
    """Connections to the server, each of which prepares its statement once."""

    def __init__(self, dsn: str, data: Data) -> None:
        self._texts = ["[" + ",".join(map(str, query.tolist())) + "]" for query in data.queries]
        self.connections = [psycopg.connect(dsn, autocommit=True, prepare_threshold=1) for _ in range(CLIENTS)]

    def execute(self, sql: str) -> None:
        """Runs a statement on each connection."""
        for each in self.connections:
            each.execute(sql)

    def ask(self, number: int, where: str = "", client: int = 0) -> list[int]:
        """Searches for one of the queries; returns the ids."""
        sql = f"SELECT id FROM items {where} ORDER BY v <-> %s::vector LIMIT {K}"
        return [row[0] for row in self.connections[client].execute(sql, (self._texts[number],)).fetchall()]

    def count_per_second(self, clients: int, seconds: float = 3.0) -> float:
        """Returns how many searches clients get answered in a second."""
        counts = [0] * clients
        end = time.perf_counter() + seconds

        def search(client: int) -> None:
            while time.perf_counter() < end:
                self.ask((counts[client] + client) % QUERIES, client=client)
                counts[client] += 1

        threads = [threading.Thread(target=search, args=(client,)) for client in range(clients)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return sum(counts) / seconds


def measure_gpudb(clients: Clients, nearest: np.ndarray, given: argparse.Namespace, report: Report) -> bool:
    """Times searches of the served table; returns whether the exact ones agree."""
    system = f"gpudb ({given.engine})"
    clients.execute("SET enable_indexscan = off")
    at = time.perf_counter()
    clients.ask(0)
    print(f"first exact search: {time.perf_counter() - at:.1f} s", flush=True)
    agree = True
    cases = {f"exact, {given.dimensions} dimensions": "", "exact, a tenth of the rows": "WHERE kind = 3"}
    for name, where in cases.items():
        times, _ = time_runs(partial(clients.ask, 0, where), warm=3, runs=15)
        same = recall([clients.ask(n) for n in range(QUERIES)], nearest) if not where else None
        agree &= same is None or same > 0.999  # of equally near rows any may be the last
        one, several = clients.count_per_second(1), clients.count_per_second(CLIENTS)
        note = f"{one:.0f}/s from one client, {several:.0f}/s from {CLIENTS}"
        more = {} if same is None else {"answers_agree": agree}
        report.add(name, system, times, result_rows=K, note=None if where else note, **more)
    if given.index == "none":
        return agree
    clients.execute("SET enable_indexscan = on")
    at = time.perf_counter()
    clients.connections[0].execute(f"CREATE INDEX near ON items USING {given.index} (v vector_l2_ops)")
    clients.ask(0)
    print(f"{given.index} built, and searched once: {time.perf_counter() - at:.1f} s", flush=True)
    setting, values = EFFORTS[given.index]
    for value in values:
        clients.execute(f"SET {setting} = {value}")
        share = recall([clients.ask(n) for n in range(QUERIES)], nearest)
        times, _ = time_runs(lambda: clients.ask(0), warm=3, runs=15)
        one, several = clients.count_per_second(1), clients.count_per_second(CLIENTS)
        note = f"recall {share:.3f}, {one:.0f}/s from one client, {several:.0f}/s from {CLIENTS}"
        report.add(f"{given.index}, {setting} {value}", system, times, reads=0, result_rows=K, note=note)
    return agree


def load(connection: psycopg.Connection, data: Data, files: Path) -> None:
    """Makes the served table, part by part."""
    at = time.perf_counter()
    kind = f"vector({data.dimensions})"
    connection.execute(f"CREATE TABLE items (id int, kind int, v {kind})")
    for first in range(0, len(data.chunks), LOADED_CHUNKS):
        for each in files.glob("*.parquet"):
            each.unlink()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(partial(data.write, files), data.chunks[first : first + LOADED_CHUNKS]))
        connection.execute(f"INSERT INTO items SELECT id, kind, v::{kind} FROM '{files}/*.parquet'")
    print(f"made files and loaded them in {time.perf_counter() - at:.1f} s", flush=True)


def main() -> int:
    """Makes the table, serves it and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--engine", default="gpu")
    parser.add_argument("--index", choices=(*EFFORTS, "none"), default="cagra")
    parser.add_argument("--folder", type=Path, help="where files are made (a folder of its own is removed again)")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    data = Data(given.rows, given.dimensions)
    report = Report(data)
    if ON_GPU:
        import cupy

        data.matrix = cupy.empty((given.rows, given.dimensions), cupy.float32)
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = Path(made)
        files = folder / "files"
        files.mkdir()
        at = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(data.search, data.chunks))
            print(f"made {given.rows} rows in {time.perf_counter() - at:.1f} s", flush=True)
            nearest = data.find_nearest()
            list(pool.map(partial(data.write, files), data.chunks[: -(-PART_ROWS // CHUNK)]))
        measure_hosts(data, files, report)
        if ON_GPU:
            measure_cuvs(data, nearest, report, given.index)
            free_gpu()
        with running_server(folder / "data", "--engine", given.engine) as dsn:
            clients = Clients(dsn, data)
            load(clients.connections[0], data, files)
            clients.execute("SET gpudb.fallback = off")
            agree = measure_gpudb(clients, nearest, given, report)
    if given.save:
        versions = {name: version(name) for name in ("duckdb", "numpy")}
        save_results("vectors", report.rows, versions, program="bench_vectors")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
