"""Files as tables on every engine: the same rows as a stored table, read by the workers themselves."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import json
import os
import random
import re
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
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def client(engine_name: str, folder: Path) -> Iterator[Client]:
    """A client of an engine without fallback; table `stored` has the rows of the files."""
    setup = (
        f"{_STORED}; COPY stored FROM '{folder}/2024.csv' (FORMAT csv, HEADER);"
        f"COPY stored FROM '{folder}/2025.csv' (FORMAT csv, HEADER); {_NO_FALLBACK}"
    )
    with client_of_engine(engine_name, setup) as connection:
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


def test_declared_types_of_text(client: Client, folder: Path) -> None:
    query = "SELECT id, fare, total, ratio, day, start, ends FROM {0} AS t {1} WHERE id % 50 = 3 ORDER BY id"
    expected = client.execute(query.format("stored", "")).fetchall()
    files = f"read_csv('{folder}/csv/**/*.csv', hive_partitioning => false)"
    assert client.execute(query.format(files, _DECLARED)).fetchall() == expected


# ---- what is read


def _explain(client: Client, query: str) -> str:
    return "\n".join(line for (line,) in client.execute(f"EXPLAIN (ANALYZE) {query}").fetchall())


def _count_read(plan: str) -> int:
    return sum(int(number) for number in re.findall(r"Files Read: (\d+) bytes", plan))


def test_only_the_needed_columns_and_parts_are_read(client: Client, tmp_path: Path, engine_name: str) -> None:
    """Bytes are counted: of one column, of one row group of it, and of nothing the second time."""
    if engine_name == "cpu":
        pytest.skip("the embedded engine does not count bytes")
    rows = pa.table({"id": pa.array(range(40_000)), "x": pa.array(range(40_000)), "y": pa.array(range(40_000))})
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, row_group_size=10_000, compression="none", use_dictionary=False)
    footer = pq.read_metadata(path)
    sizes = [footer.row_group(group).column(1).total_compressed_size for group in range(4)]
    plan = _explain(client, f"SELECT sum(x) FROM '{path}'")
    assert _count_read(plan) == sum(sizes)
    assert "Row Groups: 4 of 4" in plan
    assert "GB/s" in plan
    assert _count_read(_explain(client, f"SELECT sum(x) FROM '{path}'")) == 0  # they are resident
    path = path.rename(tmp_path / "others.parquet")
    plan = _explain(client, f"SELECT sum(x) FROM '{path}' WHERE x BETWEEN 15000 AND 15010")
    assert _count_read(plan) == sizes[1]
    assert "Row Groups: 1 of 4, 3 skipped with 30000 rows" in plan
    arrow = tmp_path / "rows.arrow"
    _write_arrow(rows, arrow)
    plan = _explain(client, f"SELECT sum(x) FROM '{arrow}'")
    assert _count_read(plan) == 8 * 40_000


def test_folders_and_names_of_files_exclude_files(client: Client, folder: Path, engine_name: str) -> None:
    if engine_name == "cpu":
        pytest.skip("the embedded engine has other words for it")
    files = f"'{folder}/parquet/**/*.parquet'"
    assert "Row Groups: 10 of 20" in _explain(client, f"SELECT max(id) FROM {files} WHERE year = 2025")
    named = f"filename = '{folder}/parquet/year=2024/part.parquet'"
    assert "Row Groups: 10 of 20" in _explain(client, f"SELECT max(id) FROM {files} WHERE {named}")
    assert client.execute(f"SELECT count(*), min(filename) FROM {files} WHERE {named}").fetchone() == (
        _ROWS,
        f"{folder}/parquet/year=2024/part.parquet",
    )


def test_a_file_that_changes_has_new_rows_or_an_error(client: Client, tmp_path: Path) -> None:
    for format, write in (("parquet", _write_parquet), ("arrow", _write_arrow), ("csv", _write_csv)):
        path = tmp_path / f"rows.{format}"
        for value in range(3):
            write(pa.table({"id": [value] * 500, "text": [f"of {value}"] * 500}), path)
            found = client.execute(f"SELECT min(id), max(id), max(text), count(*) FROM '{path}'").fetchone()
            assert found == (value, value, f"of {value}", 500)


def test_a_file_that_changes_after_a_statement_was_bound(client: Client, tmp_path: Path) -> None:
    """The rows of both files are those of the time when the statement was bound, or it fails."""
    path = tmp_path / "rows.parquet"
    _write_parquet(pa.table({"id": [1] * 500}), path)
    with client.transaction():
        client.execute(f"DECLARE rows CURSOR FOR SELECT sum(id) FROM '{path}'")
        _write_parquet(pa.table({"id": [2] * 700}), path)
        with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState), client.transaction():
            assert client.execute("FETCH rows").fetchone() in ((500,), (1400,))


def test_missing_columns_are_null_and_integers_are_widened(client: Client, tmp_path: Path) -> None:
    for format, write in (("parquet", _write_parquet), ("arrow", _write_arrow)):
        write(pa.table({"a": pa.array([1, 2], pa.int16()), "b": ["x", "y"]}), tmp_path / f"1.{format}")
        write(pa.table({"a": pa.array([1 << 40], pa.int64()), "c": [1.5]}), tmp_path / f"2.{format}")
        query = f"SELECT a, b, c FROM read_files('{tmp_path}/*.{format}', union_by_name => true) ORDER BY a"
        assert client.execute(query).fetchall() == [(1, "x", None), (2, "y", None), (1 << 40, None, 1.5)]


def test_foreign_tables(client: Client, folder: Path) -> None:
    """Tables of parquet_fdw and arrow_fdw are read by workers; those of file_fdw are not, which is said."""
    client.execute("CREATE EXTENSION IF NOT EXISTS parquet_fdw; CREATE EXTENSION IF NOT EXISTS arrow_fdw")
    client.execute("CREATE SERVER lake FOREIGN DATA WRAPPER parquet_fdw")
    path = folder / "parquet" / "year=2024" / "part.parquet"
    client.execute(
        f"CREATE FOREIGN TABLE rides (id bigint, fare numeric(10,2), note text) SERVER lake OPTIONS (filename '{path}')"
    )
    arrow = path.parents[2] / "arrow" / "year=2024" / "part.arrow"
    client.execute(f"CREATE FOREIGN TABLE arrows (note text, id bigint) SERVER arrow_fdw OPTIONS (file '{arrow}')")
    query = "SELECT note, count(*), sum(id) FROM {} GROUP BY 1 ORDER BY 1"
    expected = client.execute(query.format("stored WHERE year = 2024")).fetchall()
    try:
        assert client.execute(query.format("rides")).fetchall() == expected
        assert client.execute(query.format("arrows")).fetchall() == expected
        joined = "SELECT count(*), sum(r.fare) FROM rides r JOIN arrows a USING (id) JOIN stored s USING (id)"
        assert (
            client.execute(joined).fetchone()
            == client.execute("SELECT count(*), sum(fare) FROM stored WHERE year = 2024").fetchone()
        )
    finally:
        client.execute("DROP FOREIGN TABLE rides, arrows; DROP SERVER lake")


def test_what_workers_do_not_read_is_said(client: Client, tmp_path: Path, engine_name: str) -> None:
    """Columns, values and files that only the embedded engine reads: it answers, with a notice."""
    pq.write_table(pa.table({"a": [1, 2], "s": [{"x": 1}, {"x": 2}]}), tmp_path / "nested.parquet")
    (tmp_path / "quoted.csv").write_text('a,b\n1,5"\n2,x\n')
    with gzip.open(tmp_path / "packed.csv.gz", "wt") as file:
        file.write("a\n1\n")
    plain = client.execute(f"SELECT sum(a) FROM '{tmp_path}/nested.parquet'").fetchone()
    assert plain == (3,)
    notices: list[str] = []
    client.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    cases = {
        f"SELECT s FROM '{tmp_path}/nested.parquet' WHERE a = 1": [({"x": 1},)],
        f"SELECT b FROM '{tmp_path}/quoted.csv' ORDER BY a": [('5"',), ("x",)],
        f"SELECT a FROM '{tmp_path}/packed.csv.gz'": [(1,)],
    }
    for query, rows in cases.items():
        if engine_name != "cpu":
            with pytest.raises(psycopg.errors.FeatureNotSupported):
                client.execute(query)
        client.execute("SET gpudb.fallback = on")
        notices.clear()
        assert client.execute(query).fetchall() == rows
        assert engine_name == "cpu" or "runs on the embedded engine" in notices[0]
        client.execute(_NO_FALLBACK)


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


# ---- text whose records are not lines, damaged files, files that hide a change


@pytest.mark.parametrize(
    ("name", "text", "records"),
    [
        ("blank.csv", "a,b\n1,x\n\n2,y\n", 2),
        ("returns.csv", "a,b\r1,x\r2,y\r3,z\r", 3),
        ("array.json", '[\n{"a": 1},\n{"a": 2}\n]\n', 2),
        ("pretty.json", '{\n"a": 1\n}\n{\n"a": 2\n}\n', 2),
        ("joined.jsonl", '{"a": 1} {"a": 2}\n', 2),
    ],
)
def test_records_are_counted_by_who_reads_their_values(
    client: Client, tmp_path: Path, name: str, text: str, records: int
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    with client.transaction():
        client.execute("SET LOCAL gpudb.fallback = on")
        for query in (f"SELECT count(*) FROM '{path}'", f"SELECT count(a) FROM '{path}'"):
            assert client.execute(query).fetchall() == [(records,)]
        assert client.execute(f"SELECT filename FROM '{path}'").fetchall() == [(str(path),)] * records


def test_a_number_cast_to_text_is_not_the_field_of_the_file(client: Client, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,d\n 7,2024-01-01\n-0,\n0x1F,2024-01-02\n")
    query = f"SELECT a::text FROM read_csv('{tmp_path}/rows.csv') AS t (a bigint, d date)"
    assert sorted(client.execute(query).fetchall()) == [("0",), ("31",), ("7",)]


def test_columns_of_csv_without_a_name(client: Client, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,\n1,x,\n2,y,\n")
    assert client.execute(f"SELECT * FROM '{tmp_path}/rows.csv' ORDER BY a").fetchall() == [
        (1, "x", None),
        (2, "y", None),
    ]
    assert client.execute(f"SELECT column3, a FROM '{tmp_path}/rows.csv' WHERE a = 2").fetchall() == [(None, 2)]


def test_an_arrow_stream_with_a_negative_length_is_damaged(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrows"
    _write_arrow_stream(pa.table({"a": [1, 2, 3]}), path)
    damaged = path.read_bytes().replace((24).to_bytes(8, "little"), (-24).to_bytes(8, "little", signed=True))
    path.write_bytes(damaged)
    with pytest.raises(psycopg.errors.DataCorrupted):
        client.execute(f"SELECT sum(a) FROM '{path}'")


def _write_arrow_stream(rows: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as out:
        out.write_table(rows)


def test_another_file_of_the_same_size_and_time_is_read(client: Client, tmp_path: Path) -> None:
    """As programs that copy files with their times leave it."""
    path = tmp_path / "rows.arrow"
    for value in (1, 2):
        _write_arrow(pa.table({"a": [value] * 100}), path)
        os.utime(path, ns=(10**18, 10**18))
        assert client.execute(f"SELECT min(a), max(a) FROM '{path}'").fetchall() == [(value, value)]


def test_folders_of_weeks_are_texts(client: Client, tmp_path: Path) -> None:
    for name in ("2024-W01-1", "2024-01-01"):
        (tmp_path / f"k={name}").mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"k={name}" / "part.parquet")
    query = f"SELECT k FROM '{tmp_path}/*/*.parquet' ORDER BY k"
    assert client.execute(query).fetchall() == [("2024-01-01",), ("2024-W01-1",)]


def test_much_text_that_kernels_do_not_parse_is_left_to_the_embedded_engine(
    client: Client, tmp_path: Path, engine_name: str
) -> None:
    """A GPU's host would parse it many times slower."""
    (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f'{i},"a text, {i}"\n' for i in range(250_000)))
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"a": {i}, "b": "text {i}"}}\n' for i in range(200_000)))
    for name, rows in (("csv", 250_000), ("jsonl", 200_000)):
        query = f"SELECT count(b), sum(a) FROM '{tmp_path}/rows.{name}'"
        if "gpu" in engine_name:
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="much text"):
                client.execute(query)
        with client.transaction():
            if "gpu" in engine_name:
                client.execute("SET LOCAL gpudb.fallback = on")
            assert client.execute(query).fetchall() == [(rows, rows * (rows - 1) // 2)]
