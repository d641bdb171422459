"""Loads the benchmark tables into any server over COPY FROM STDIN, with the same bytes."""

from __future__ import annotations

import io
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from benchmarks import tables
from benchmarks.data import tpcds
from gpudb.demo import taxi
from gpudb.demo.star_schema import data as ssb
from tests.support.oracle.wire import WireClient

TPCH_TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
TPCH_SCALE = 0.01
TPCDS_SCALE = 0.01
SSB_SCALE = 0.05
TAXI_ROWS = 100_000
TAXI_SEED = 2009

LOAD_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a benchmark."""

    benchmark: str
    name: str
    sql: str

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The result columns that the query orders by, up to the first key that is an expression."""
        flat = self.sql.lower()
        while (shorter := re.sub(r"\([^()]*\)", "§", flat)) != flat:  # subqueries and windows order separately
            flat = shorter
        _, found, tail = flat.rpartition("order by")
        keys = re.split(r"\blimit\b|;", tail)[0] if found else ""
        names = (key.split()[0].rpartition(".")[2] for key in keys.split(",") if key.strip())
        return tuple(takewhile(re.compile(r"[a-z_]\w*").fullmatch, names))


def queries(benchmark: str) -> list[Query]:
    """A benchmark's queries in the order of their names."""
    return [
        Query(benchmark, path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(tables.find_folder(benchmark).glob("q*.sql"))
    ]


def create_tables(client: WireClient, benchmark: str) -> None:
    """Creates a schema named after the benchmark with its tables, and puts it on the search path.

    Raises AssertionError if the server reports an error.
    """
    for sql in (f"CREATE SCHEMA {benchmark}", f"SET search_path TO {benchmark}", *tables.schema(benchmark)):
        outcome = client.execute(sql)
        assert not outcome.failed, f"{sql}\n{outcome.sqlstate} {outcome.message}"


def contents(benchmark: str, folder: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yields each table's name and its rows as CSV without a header; temporary files go into `folder`."""
    match benchmark:
        case "tpch":
            make_tpch(folder)
            for table in TPCH_TABLES:
                yield table, _file(folder / f"{table}.csv")
        case "tpcds":
            tpcds.write(folder, TPCDS_SCALE, "csv")
            for table in tpcds.TABLES:
                yield table, _file(folder / f"{table}.csv")
        case "ssb":
            for table in ssb.TABLES:
                yield table, (_csv(batch) for batch in ssb.batches(table, SSB_SCALE))
        case "taxi":
            yield "trips", taxi.generate_csv(TAXI_ROWS, TAXI_SEED)


def load(client: WireClient, table: str, chunks: Iterator[bytes]) -> None:
    """Copies CSV into a table; raises AssertionError if the server reports an error."""
    outcome = client.copy_in(f"COPY {table} FROM STDIN (FORMAT csv)", chunks)
    assert not outcome.failed, f"COPY {table}: {outcome.sqlstate} {outcome.message}"


def make_tpch(folder: Path) -> None:
    """Writes the eight TPC-H tables as CSV files with a header."""
    program = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    command = [
        str(program),
        "csv",
        "--scale-factor",
        str(TPCH_SCALE),
        "--output-dir",
        str(folder),
        "--overwrite",
    ]
    subprocess.run(command, check=True, timeout=60, capture_output=True)


def _file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.readline()  # the header
        while chunk := file.read(1 << 18):
            yield chunk


def _csv(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    pyarrow.csv.write_csv(batch, sink, options)
    return sink.getvalue()
