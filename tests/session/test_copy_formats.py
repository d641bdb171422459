"""COPY TO in the formats parquet and json, and to folders by PARTITION_BY, over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from psycopg import errors

from tests.support.oracle.server import Oracle
from tests.support.session_fixtures import Connect

Connection = psycopg.Connection[tuple[Any, ...]]

ROWS = """SELECT i AS id, (i % 3)::int2 AS k, CASE WHEN i % 5 > 0 THEN 'a/b=' || i % 2 END AS s, i * 1.5 AS n,
    (i * 0.25)::numeric(8,2) AS m, date '2024-01-01' + i AS d, timestamptz '2024-01-01 00:00+00' AS t,
    interval '1 day' AS v, ('550e8400-e29b-41d4-a716-44665544' || lpad(i::text, 4, '0'))::uuid AS u,
    ARRAY[i, NULL] AS l, E'{"a":\\n1}'::json AS j, i > 1 AS b FROM generate_series(1, 100) AS i"""


@pytest.fixture
def client(connect: Connect) -> Iterator[Connection]:
    with connect() as connection:
        connection.execute(f"CREATE TABLE rows AS {ROWS}")
        yield connection
        connection.execute("DROP TABLE rows")


def test_a_parquet_file_has_postgresqls_types(client: Connection, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    assert client.execute(f"COPY rows TO '{path}' (FORMAT parquet)").statusmessage == "COPY 100"
    schema = pq.read_schema(path)
    expected = {
        "k": pa.int16(), "n": pa.decimal128(38, 20), "m": pa.decimal128(8, 2), "d": pa.date32(),
        "t": pa.timestamp("us", "UTC"), "v": pa.string(), "u": pa.uuid(), "b": pa.bool_(),
    }  # fmt: skip
    assert {name: schema.field(name).type for name in expected} == expected
    listed = "id, k, s, n, m, d, t, u, l, b, j::text"
    difference = f"(SELECT {listed}, v::text FROM rows) EXCEPT ALL SELECT {listed}, v FROM '{path}'"
    assert client.execute(difference).fetchall() == []
    client.execute(f"COPY (SELECT 1 AS a, 2 AS a WHERE false) TO '{path}' (FORMAT parquet, COMPRESSION snappy)")
    assert client.execute(f"SELECT * FROM '{path}'").fetchall() == []
    with client.cursor().copy("COPY (SELECT id FROM rows) TO STDOUT (FORMAT parquet)") as copy:
        content = b"".join(map(bytes, copy))
    assert pq.read_table(pa.BufferReader(content)).column("id").to_pylist() == list(range(1, 101))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.PQ", "rows.arrow", "rows.feather"])
def test_a_file_s_name_decides_where_no_format_is_given(client: Connection, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    client.execute(f"COPY (SELECT id FROM rows) TO '{path}'")
    read = pq.read_table if name.lower().endswith(("parquet", "pq")) else pa.feather.read_table
    assert read(path).column("id").to_pylist() == list(range(1, 101))
    with pytest.raises(errors.FeatureNotSupported):
        client.execute(f"COPY rows FROM '{path}'")
    client.execute(f"COPY (SELECT id FROM rows WHERE id < 3) TO '{path}' (FORMAT text)")
    assert path.read_text() == "1\n2\n"


def test_a_csv_file_in_the_format_text_is_warned_of(client: Connection, tmp_path: Path) -> None:
    heard: list[str | None] = []
    client.add_notice_handler(lambda notice: heard.append(notice.sqlstate))
    for options in ("", " (FORMAT csv)"):
        client.execute(f"COPY (SELECT id, k FROM rows WHERE id < 3) TO '{tmp_path / 'rows.csv'}'{options}")
    client.execute(f"COPY (SELECT id, k FROM rows) TO '{tmp_path / 'rows.json'}'")
    assert heard == ["01000"]
    assert (tmp_path / "rows.csv").read_text() == "1,1\n2,2\n"
    assert (tmp_path / "rows.json").read_text().startswith("1\t1\n")


def test_lines_of_json_are_postgresqls_objects(client: Connection, oracle: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    client.execute(f"COPY rows TO '{path}' (FORMAT json)")
    expected = oracle.execute(f"SELECT row_to_json(q)::text FROM ({ROWS}) AS q").rows
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines == [str(line).replace("\n", " ") for (line,) in expected]
    assert client.execute(f"SELECT sum(id), count(s) FROM '{path}'").fetchall() == [(5050, 80)]
    with client.cursor().copy("COPY (SELECT 1 AS a, E'x\\n' AS b) TO STDOUT (FORMAT json)") as copy:
        assert b"".join(map(bytes, copy)) == b'{"a":1,"b":"x\\n"}\n'


@pytest.mark.parametrize("format", ["parquet", "csv, HEADER", "json", "arrow"])
def test_a_folder_for_each_value(client: Connection, tmp_path: Path, format: str) -> None:
    target = tmp_path / "out"
    copied = client.execute(f"COPY (SELECT id, k, s, m FROM rows) TO '{target}' (FORMAT {format}, PARTITION_BY (k, s))")
    assert copied.statusmessage == "COPY 100"
    assert {each.name for each in target.iterdir()} == {"k=0", "k=1", "k=2"}
    assert {each.name for each in (target / "k=1").iterdir()} == {
        "s=a%2Fb%3D0", "s=a%2Fb%3D1", "s=__HIVE_DEFAULT_PARTITION__",
    }  # fmt: skip
    files = f"'{target}/**/*.*'" if format == "json" else f"'{target}/**/*.{format.partition(',')[0]}'"
    source = f"read_files({files})"
    difference = f"(SELECT id, k, s, m::float8 FROM rows) EXCEPT ALL SELECT id, k, s, m::float8 FROM {source}"
    assert client.execute(difference).fetchall() == []
    assert client.execute(f"SELECT count(*) FROM {source} WHERE s IS NULL").fetchall() == [(20,)]
    with pytest.raises(errors.DuplicateFile):
        client.execute(f"COPY rows TO '{target}' (FORMAT {format}, PARTITION_BY (k))")
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_what_is_refused_leaves_nothing(client: Connection, connect: Connect, tmp_path: Path) -> None:
    for statement, state in (
        ("COPY rows TO '{}/x' (FORMAT csv, PARTITION_BY (missing))", "42703"),
        ("COPY (SELECT k FROM rows) TO '{}/x' (FORMAT csv, PARTITION_BY (k))", "0A000"),
        ("COPY rows TO '{}/x' (FORMAT text, PARTITION_BY (k))", "0A000"),
        ("COPY rows TO '{}/x' (FORMAT csv, COMPRESSION zstd)", "22023"),
        ("COPY rows TO '{}/x' (FORMAT parquet, COMPRESSION zip)", "22023"),
        ("COPY rows TO '{}/x' (FORMAT parquet, HEADER)", "0A000"),
        ("COPY rows FROM '{}/x' (FORMAT parquet)", "0A000"),
        ("COPY rows FROM '{}/x' (FORMAT csv, PARTITION_BY (k))", "22023"),
        ("COPY rows TO '{}/x' (FORMAT parquet, DELIMITER ';')", "42601"),
        ("COPY (SELECT id / (id - 50) AS a, k FROM rows) TO '{}/x' (FORMAT parquet, PARTITION_BY k)", "22012"),
        ("COPY (SELECT id / (id - 50) AS a FROM rows) TO '{}/x' (FORMAT json)", "22012"),
        ("COPY rows TO STDOUT (FORMAT csv, PARTITION_BY (k))", "0A000"),
        ("COPY rows TO '{}/none/x' (FORMAT parquet)", "58P01"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            client.execute(statement.replace("{}", str(tmp_path)))
        assert caught.value.sqlstate == state, statement
    client.execute("CREATE ROLE plain LOGIN; GRANT SELECT ON rows TO plain")
    try:
        with connect(user="plain") as plain, pytest.raises(errors.InsufficientPrivilege):
            plain.execute(f"COPY rows TO '{tmp_path}/x' (FORMAT parquet, PARTITION_BY (k))")
    finally:
        client.execute("DROP OWNED BY plain; DROP ROLE plain")
    assert list(tmp_path.iterdir()) == []
