"""Files as tables on every engine: the same rows as a stored table, read by the workers themselves."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

from tests.support.lab import ENGINES, client_of_engine
from tests.support.lake_deletes import add_position_deletes

Client = psycopg.Connection[tuple[Any, ...]]
_ROWS = 1000
_STORED = """
    CREATE TABLE stored (
        id bigint, small smallint, big bigint, fare numeric(10,2), total numeric(30,3), share float8, ratio real,
        paid boolean, note text, day date, start timestamp, ends timestamptz, nanos timestamp, year bigint
    )"""
_NO_FALLBACK = "SET gpudb.fallback = off"


def _make_rows(year: int) -> pa.Table:
    """Rides of a year: every type that workers read, with NULLs; `id` grows, so that parts have distinct ranges."""
    chance = random.Random(year)
    numbers = range(_ROWS)
    moment = dt.datetime(year, 1, 1)

    def some(values: list[Any]) -> list[Any]:
        return [None if chance.random() < 0.1 else value for value in values]

    return pa.table(
        {
            "id": pa.array([year * _ROWS + number for number in numbers], pa.uint32()),
            "small": pa.array(some([number % 100 - 50 for number in numbers]), pa.int16()),
            "big": pa.array(some([number << 40 for number in numbers]), pa.int64()),
            "fare": pa.array(some([Decimal(number) / 100 for number in numbers]), pa.decimal128(10, 2)),
            "total": pa.array(some([Decimal(number) * 10**20 for number in numbers]), pa.decimal128(30, 3)),
            "share": pa.array(some([number / 7 for number in numbers]), pa.float64()),
            "ratio": pa.array(some([number / 4 for number in numbers]), pa.float32()),
            "paid": pa.array(some([number % 3 == 0 for number in numbers]), pa.bool_()),
            "note": pa.array(some([f"ride {number % 17} – ✓" for number in numbers])),
            "day": pa.array(some([moment.date() + dt.timedelta(number % 365) for number in numbers]), pa.date32()),
            "start": pa.array(some([moment + dt.timedelta(minutes=number) for number in numbers]), pa.timestamp("ms")),
            "ends": pa.array(
                some([moment + dt.timedelta(minutes=number, microseconds=number) for number in numbers]),
                pa.timestamp("us", "UTC"),
            ),
            "nanos": pa.array(some([number * 1_000_002 - 10**9 + 1 for number in numbers]), pa.timestamp("ns")),
        }
    )


def _write_parquet(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, row_group_size=100)


def _write_arrow(rows: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as out:
        out.write_table(rows, max_chunksize=300)


def _write_stream(rows: pa.Table, path: Path) -> None:
    """Compressed, with other offsets and nested columns between those that are read."""
    nested = pa.array([{"a": 1, "b": [1, 2]}] * len(rows))
    texts = rows.column("note").cast(pa.large_string())
    rows = rows.set_column(rows.column_names.index("note"), "note", texts).add_column(3, "nested", nested)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema, options=options) as out:
        out.write_table(rows, max_chunksize=300)


def _write_csv(rows: pa.Table, path: Path) -> None:
    """With the types that csv tells: `id` is bigint, decimals are floats, a real is one of 64 bits."""
    pa.csv.write_csv(rows, path, pa.csv.WriteOptions(quoting_style="needed"))


def _write_json(rows: pa.Table, path: Path) -> None:
    """The texts, integers and floats that JSON has, and NULLs that are left out."""
    plain = rows.select(["id", "small", "big", "share", "paid", "note"]).to_pylist()
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in plain))


_WRITERS = {
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "arrows": _write_stream,
    "csv": _write_csv,
    "jsonl": _write_json,
}
_DECLARED = (
    "(id bigint, small smallint, big bigint, fare numeric(10,2), total numeric(30,3), share float8, ratio real,"
    " paid boolean, note text, day date, start timestamp, ends timestamptz, nanos timestamp)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two years in each format, in folders `year=…`."""
    made = tmp_path_factory.mktemp("files")
    for suffix, write in _WRITERS.items():
        for year in (2024, 2025):
            below = made / suffix / f"year={year}"
            below.mkdir(parents=True)
            write(_make_rows(year), below / f"part.{suffix}")
    for year in (2024, 2025):
        rows = _make_rows(year)
        pa.csv.write_csv(rows.append_column("year", pa.array([year] * len(rows))), made / f"{year}.csv")
    return made


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest, folder: Path) -> Iterator[Client]:
    """A client of an engine without fallback; table `stored` has the rows of the files."""
    setup = (
        f"{_STORED}; COPY stored FROM '{folder}/2024.csv' (FORMAT csv, HEADER);"
        f"COPY stored FROM '{folder}/2025.csv' (FORMAT csv, HEADER); {_NO_FALLBACK}"
    )
    with client_of_engine(request.param, setup) as connection:
        yield connection


_QUERIES = (
    "SELECT count(*), count(note), count(fare) FROM {0}",
    "SELECT year, sum(small), sum(big), sum(fare), sum(total), min(ratio), max(day) FROM {0} GROUP BY 1 ORDER BY 1",
    "SELECT id, small, big, fare, total, share, ratio, paid, note, day, start, ends, nanos, year FROM {0}"
    " WHERE small = 7 ORDER BY id",
    "SELECT note, paid, count(*), min(start), max(ends) FROM {0} GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT sum(id) FROM {0} WHERE id BETWEEN 2024350 AND 2024351",
    "SELECT id, nanos, share FROM {0} WHERE year = 2025 AND nanos < '1970-01-01' ORDER BY id",
    "SELECT count(*) FROM {0} AS a JOIN {0} AS b ON a.id = b.id AND a.note = b.note WHERE a.year = 2024",
    "SELECT id FROM {0} WHERE ends >= '2025-01-01 10:00+00' AND note IS NOT NULL ORDER BY id LIMIT 5",
    "SELECT count(*) FROM {0} WHERE id < 0",
)


@pytest.mark.parametrize("format", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("query", _QUERIES)
def test_files_have_the_rows_of_a_stored_table(client: Client, folder: Path, format: str, query: str) -> None:
    expected = client.execute(query.format("stored")).fetchall()
    assert client.execute(query.format(f"'{folder}/{format}/**/*.{format}'")).fetchall() == expected


_TEXT_QUERIES = (
    "SELECT count(*), count(note), count(share), sum(id) FROM {0}",
    "SELECT year, sum(small), sum(big), min(share), max(note) FROM {0} GROUP BY 1 ORDER BY 1",
    "SELECT id, small, big, share, paid, note FROM {0} WHERE small = 7 ORDER BY id",
    "SELECT note, paid, count(*) FROM {0} WHERE year = 2025 GROUP BY 1, 2 ORDER BY 1, 2",
)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("query", _TEXT_QUERIES)
def test_files_of_text_have_the_rows_of_a_stored_table(client: Client, folder: Path, format: str, query: str) -> None:
    expected = client.execute(query.format("stored")).fetchall()
    assert client.execute(query.format(f"'{folder}/{format}/**/*.{format}'")).fetchall() == expected


def test_tables_of_others_are_left_to_the_embedded_engine(
    client: Client, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    rows = _make_rows(2024).select(["id", "note"]).cast(pa.schema([("id", pa.int64()), ("note", pa.string())]))
    table = catalog.create_table("n.rides", schema=rows.schema)
    table.append(rows)
    (task,) = table.scan().plan_files()
    add_position_deletes(StaticTable.from_metadata(table.metadata_location), task.file.file_path, [0])
    catalog.close()
    query = f"SELECT count(*), min(id) FROM '{tmp_path}/n/rides'"
    if "cpu" not in request.node.callspec.id:
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            client.execute(query)
    with client.transaction():
        client.execute("SET LOCAL gpudb.fallback = on")
        assert client.execute(query).fetchall() == [(len(rows) - 1, 2024 * _ROWS + 1)]
