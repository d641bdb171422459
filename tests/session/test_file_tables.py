"""Files as tables over the wire: formats, globs, folders, what is read of them, and who may read them."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from psycopg import errors

import gpudb
from gpudb.engine.protocol import Request
from gpudb.session.execution.requests import requests
from gpudb.session.execution.requests.requests import build_request
from gpudb.sql.bound import Query
from tests.support.lab import Lab
from tests.support.session_fixtures import Connect

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def client(connect: Connect) -> Iterator[Connection]:
    with connect() as connection:
        yield connection


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    """Two months of rides in folders `year=…/month=…`, ten row groups each."""
    for year, month in ((2024, "01"), (2025, "02")):
        folder = tmp_path / "rides" / f"year={year}" / f"month={month}"
        folder.mkdir(parents=True)
        numbers = range(year * 1000, year * 1000 + 1000)
        table = pa.table(
            {
                "id": pa.array(numbers, pa.uint32()),
                "fare": pa.array([Decimal(number) / 100 for number in numbers], pa.decimal128(10, 2)),
                "note": pa.array([f"ride {number}" for number in numbers]),
            }
        )
        pq.write_table(table, folder / "part.parquet", row_group_size=100, compression="none", use_dictionary=False)
    return tmp_path / "rides"


def _rows(client: Connection, query: str) -> list[tuple[Any, ...]]:
    return client.execute(query).fetchall()


def _fail(client: Connection, query: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(query)
    return caught.value


def _types(client: Connection, query: str) -> list[str]:
    described = client.execute(query).description or ()
    return [_rows(client, f"SELECT {each.type_code}::regtype::text")[0][0] for each in described]


# ---- what files hold


def test_folders_are_columns_and_the_name_of_the_file_can_be_asked_for(client: Connection, rides: Path) -> None:
    files = f"'{rides}/**/*.parquet'"
    assert _rows(client, f"SELECT year, month, count(*), sum(fare) FROM {files} GROUP BY 1, 2 ORDER BY 1") == [
        (2024, "01", 1000, Decimal("20244995.00")),
        (2025, "02", 1000, Decimal("20254995.00")),
    ]
    assert _types(client, f"SELECT * FROM {files}") == ["bigint", "numeric", "text", "bigint", "text"]
    named = f"SELECT DISTINCT filename, month FROM {files} WHERE filename LIKE '%2025%'"
    assert _rows(client, named) == [(f"{rides}/year=2025/month=02/part.parquet", "02")]
    plain = f"SELECT * FROM read_parquet({files}, hive_partitioning => false, filename => true) LIMIT 1"
    assert [each.name for each in client.execute(plain).description or ()] == ["id", "fare", "note", "filename"]


def test_a_row_group_that_no_row_needs_is_not_read(client: Connection, rides: Path) -> None:
    """Damage to what a statement does not need is not seen: the other columns, row groups and files."""
    path = rides / "year=2024" / "month=01" / "part.parquet"
    footer = pq.read_metadata(path)
    content = bytearray(path.read_bytes())
    for group in range(footer.num_row_groups):
        for number in range(3):
            column = footer.row_group(group).column(number)
            if (group, number) != (7, 1) and (group, number) != (7, 0):
                start = column.data_page_offset
                content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)
    files = f"'{rides}/**/*.parquet'"
    needed = f"SELECT sum(fare) FROM {files} WHERE year = 2024 AND id BETWEEN 2024710 AND 2024711"
    assert _rows(client, needed) == [(Decimal("40494.21"),)]
    assert _rows(client, f"SELECT count(note) FROM {files} WHERE year = 2025") == [(1000,)]
    for damaged in ("id = 2024610", "id = 2024710 AND length(note) > 3"):
        assert _fail(client, f"SELECT sum(fare) FROM {files} WHERE year = 2024 AND {damaged}").sqlstate == "XX001"


def test_filters_keep_nan(client: Connection, tmp_path: Path) -> None:
    """The ranges in files leave NaN out, which is the greatest value."""
    for number, values in enumerate([[1.0, math.nan], [1.0, 2.0], [math.nan, 3.0]]):
        table = pa.table({"x": values, "y": pa.array(values, pa.float32()), "n": [number, number]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
        pyarrow.feather.write_feather(table, tmp_path / f"{number}.arrow")
        with pa.OSFile(str(tmp_path / f"{number}.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
            out.write_table(table)
    client.execute(f"COPY (SELECT x, y, n FROM '{tmp_path}/0.arrow') TO '{tmp_path}/copied.parquet' (FORMAT parquet)")
    client.execute("CREATE TABLE measured (x float8, y real, n int)")
    for number in range(3):
        client.execute(f"INSERT INTO measured SELECT x, y, n FROM '{tmp_path}/{number}.arrow'")
    sources = [f"'{tmp_path}/?.{suffix}'" for suffix in ("parquet", "arrow", "arrows")]
    for condition, count in (
        ("x > 100", 2),
        ("y > 100", 2),
        ("x = 'NaN'", 2),
        ("x <> 1", 4),
        ("x IN (7, 'NaN')", 2),
        ("x >= 3 AND n > 0", 2),
        ("x BETWEEN 2 AND 'NaN'", 4),
        ("x < 'NaN'", 4),
    ):
        for source in (*sources, "measured"):
            assert _rows(client, f"SELECT count(*) FROM {source} WHERE {condition}") == [(count,)], (source, condition)
    assert _rows(client, f"SELECT count(*) FROM '{tmp_path}/copied.parquet' WHERE x > 100") == [(1,)]
    joined = f"SELECT count(*) FROM {sources[0]} f JOIN measured m ON f.x = m.x WHERE m.y > 2.5"
    assert _rows(client, joined) == [(5,)]
    assert client.execute("UPDATE measured SET n = 5 WHERE x = 'NaN'").rowcount == 2
    assert client.execute("DELETE FROM measured WHERE y > 100").rowcount == 2
    client.execute("DROP TABLE measured")


def test_types_of_parquet(client: Connection, tmp_path: Path) -> None:
    table = pa.table(
        {
            "small": pa.array([255], pa.uint8()),
            "large": pa.array([2**64 - 1], pa.uint64()),
            "moment": pa.array([-1_500_000_001_501], pa.timestamp("ns")),
            "zoned": pa.array([1_500_000_001_499], pa.timestamp("ms", "UTC")),
            "items": pa.array([[1, None]], pa.list_(pa.int32())),
            "nested": pa.array([{"a": [1], "b": "x"}]),
            "price": pa.array([Decimal("-0.125")], pa.decimal128(38, 3)),
            "bytes": pa.array([b"\x00\x01"]),
            "day": pa.array([1], pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "types.parquet")
    assert _types(client, f"SELECT * FROM '{tmp_path}/types.parquet'") == [
        "smallint", "numeric", "timestamp without time zone", "timestamp with time zone", "integer[]", "json",
        "numeric", "bytea", "date",
    ]  # fmt: skip
    (row,) = _rows(
        client, f"SELECT small, large, moment::text, items, nested ->> 'b', price FROM '{tmp_path}/types.parquet'"
    )
    assert row == (255, Decimal(2**64 - 1), "1969-12-31 23:34:59.999998", [1, None], "x", Decimal("-0.125"))


def test_moments_of_nanoseconds(client: Connection, tmp_path: Path) -> None:
    """They are rounded to microseconds, with a zone as without, on either side of 1970."""
    moments = [1_500_000_001_501, None, -1_500_000_001_501, 1_499]
    table = pa.table(
        {
            "zoned": pa.array(moments, pa.timestamp("ns", "Europe/Berlin")),
            "plain": pa.array(moments, pa.timestamp("ns")),
            "listed": pa.array([[each] for each in moments], pa.list_(pa.timestamp("ns", "UTC"))),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow")
    expected = [
        ("1970-01-01 00:25:00.000002", True),
        (None, None),
        ("1969-12-31 23:34:59.999998", True),
        ("1970-01-01 00:00:00.000001", True),
    ]
    for name in ("a.parquet", "a.arrow"):
        source = f"'{tmp_path}/{name}'"
        assert _types(client, f"SELECT * FROM {source}") == [
            "timestamp with time zone", "timestamp without time zone", "timestamp with time zone[]",
        ]  # fmt: skip
        shown = "(zoned AT TIME ZONE 'UTC')::text, zoned = listed[1] AND plain = zoned AT TIME ZONE 'UTC'"
        assert _rows(client, f"SELECT {shown} FROM {source}") == expected
        assert _rows(client, f"SELECT count(*), count(zoned) FROM {source}") == [(4, 3)]


def test_decimals_of_more_than_38_digits_are_refused(client: Connection, tmp_path: Path) -> None:
    """They would be read as doubles, or not at all."""
    values = [Decimal("9007199254740993.0000000001")]
    for number, wide in enumerate(
        (pa.array(values, pa.decimal256(50, 10)), pa.array([values], pa.list_(pa.decimal256(50, 10))))
    ):
        table = pa.table({"a": [1], "wide": wide})
        pq.write_table(table, tmp_path / f"{number}.parquet")
        pyarrow.feather.write_feather(table, tmp_path / f"{number}.arrow")
        for name in (f"{number}.parquet", f"{number}.arrow"):
            error = _fail(client, f"SELECT * FROM '{tmp_path}/{name}'")
            assert (error.sqlstate, '"wide"' in (error.diag.message_primary or "")) == ("0A000", True), name


def test_columns_without_values_take_the_type_of_other_files(client: Connection, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.nulls(2), "b": ["x", "y"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [5], "b": pa.nulls(1)}), tmp_path / "2.parquet")
    for files in ("[12].parquet", "[21].parquet"):
        merged = f"SELECT * FROM read_parquet('{tmp_path}/{files}', union_by_name => true) ORDER BY a, b"
        assert _types(client, merged) == ["bigint", "text"]
        assert _rows(client, merged) == [(5, None), (None, "x"), (None, "y")]


def test_csv_and_json_and_arrow(client: Connection, tmp_path: Path) -> None:
    text = 'id,name,at\n1,"a, b",2024-01-01\n2,,\n3,"",2024-01-02\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    with pa.CompressedOutputStream(str(tmp_path / "a.csv.zst"), "zstd") as packed:
        packed.write(text.encode())
    lines = [{"id": 1, "name": "a, b", "at": "2024-01-01"}, {"id": 2}, {"id": 3, "name": "", "at": "2024-01-02"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(lines), encoding="utf-8")
    table = client.execute(f"SELECT * FROM '{tmp_path}/a.csv'").fetchall()
    dates = [each[2] for each in table]
    arrow = pa.table({"id": pa.array([1, 2, 3]), "name": ["a, b", None, ""], "at": pa.array(dates, pa.date32())})
    pyarrow.feather.write_feather(arrow, tmp_path / "a.arrow")
    with pa.OSFile(str(tmp_path / "a.arrows"), "wb") as file, pa.ipc.new_stream(file, arrow.schema) as writer:
        writer.write_table(arrow)
    for name in ("a.csv", "a.csv.gz", "a.csv.zst", "a.jsonl", "b.json", "a.arrow", "a.arrows"):
        source = f"'{tmp_path}/{name}'"
        assert _types(client, f"SELECT * FROM {source}") == ["bigint", "text", "date"], name
        assert _rows(client, f"SELECT * FROM {source} ORDER BY id") == table, name
        assert _rows(client, f"SELECT filename FROM {source} WHERE id = 3") == [(f"{tmp_path}/{name}",)]
    assert table[1] == (2, None, None)
    declared = (
        f"SELECT * FROM read_csv('{tmp_path}/a.csv') AS t (id numeric(5,1), name varchar(10), at text) WHERE id = 1"
    )
    assert _rows(client, declared) == [(Decimal("1.0"), "a, b", "2024-01-01")]
    options = f"read_csv('{tmp_path}/a.csv', header => false, delimiter => ';', \"null\" => '2,,')"
    assert _rows(client, f"SELECT count(*), count(column1) FROM {options}") == [(4, 3)]


def test_files_whose_columns_differ(client: Connection, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["y"], "a": [2]}), tmp_path / "2.parquet")
    files = f"{tmp_path}/*.parquet"
    assert _rows(client, f"SELECT a, b FROM '{files}' ORDER BY a") == [(1, "x"), (2, "y")]
    pq.write_table(pa.table({"a": pa.array([3], pa.int32()), "c": [0.5]}), tmp_path / "3.parquet")
    error = _fail(client, f"SELECT a FROM '{files}'")
    assert (error.sqlstate, error.diag.message_hint is None) == ("42804", False)
    assert str(tmp_path / "3.parquet") in (error.diag.message_primary or "")
    merged = f"SELECT * FROM read_parquet('{files}', union_by_name => true) ORDER BY a"
    assert _rows(client, merged) == [(1, "x", None), (2, "y", None), (3, None, 0.5)]
    pq.write_table(pa.table({"a": ["text"]}), tmp_path / "4.parquet")
    assert _fail(client, merged).sqlstate == "42804"


def test_names_that_look_like_patterns(client: Connection, tmp_path: Path) -> None:
    for number, name in enumerate(("a[1]", "a1", "b*", "bc", "it's")):
        pq.write_table(pa.table({"n": [number]}), tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.csv").write_text(f"n\n{number}\n", encoding="utf-8")
    for suffix in ("parquet", "csv"):
        for number, name in ((0, "a[1]"), (2, "b*"), (4, "it''s")):
            found = _rows(client, f"SELECT n, filename FROM '{tmp_path}/{name}.{suffix}'")
            assert found == [(number, f"{tmp_path}/{name}.{suffix}".replace("''", "'"))]
        assert _rows(client, f"SELECT count(*) FROM '{tmp_path}/*.{suffix}'") == [(5,)]


def test_explain_analyze_counts_row_groups(client: Connection, rides: Path) -> None:
    query = f"SELECT sum(fare) FROM '{rides}/**/*.parquet' WHERE year = 2024 AND id BETWEEN 2024710 AND 2024711"
    lines = [line.strip() for (line,) in _rows(client, f"EXPLAIN ANALYZE {query}")]
    assert "Row Groups: 1 of 10" in lines
    assert "Scanning Files: 1/2" in lines


# ---- views and changes


def test_a_view_over_files_and_rows_from_files(client: Connection, rides: Path) -> None:
    client.execute(f"CREATE VIEW rides AS SELECT id, year FROM '{rides}/**/*.parquet' AS r WHERE month = '01'")
    client.execute(f"CREATE TABLE kept AS SELECT id, fare FROM '{rides}/*/*/*.parquet'")
    try:
        assert _rows(client, "SELECT count(*), min(year) FROM rides") == [(1000, 2024)]
        joined = f"SELECT count(*) FROM kept JOIN '{rides}/year=2025/*/*.parquet' AS r USING (id, fare)"
        assert _rows(client, joined) == [(1000,)]
        repeated = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, rides WHERE id = 2024000 AND i < 5)"
        assert _rows(client, f"{repeated} SELECT count(*) FROM n") == [(5,)]
    finally:
        client.execute("DROP VIEW rides; DROP TABLE kept")


def test_a_prepared_statement_sees_the_file_as_it_is_now(client: Connection, tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    for number in range(1, 8):
        pq.write_table(pa.table({"n": [number] * number}), path)
        assert client.execute(f"SELECT sum(n) FROM '{path}' WHERE n > %s", [0], prepare=True).fetchone() == (number**2,)


def test_a_file_that_changes_while_it_is_read(client: Connection, tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"n": range(2_000_000)}), path)
    with client.transaction():
        client.execute(f"DECLARE c CURSOR FOR SELECT n FROM '{path}'")
        assert client.execute("FETCH 10 FROM c").fetchall()[9] == (9,)
        other = tmp_path / "other.parquet"
        pq.write_table(pa.table({"n": range(3)}), other)
        other.replace(path)
        with (
            pytest.raises(errors.ObjectNotInPrerequisiteState, match="changed while it was read"),
            client.transaction(),
        ):
            client.execute("FETCH ALL FROM c").fetchall()


# ---- errors and rights


def test_errors_name_the_file(client: Connection, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "late.csv").write_text("a,b\n" + "1,2\n" * 30_000 + "x,3\n", encoding="utf-8")
    (tmp_path / "short.csv").write_text("a,b\n1,2\n1\n", encoding="utf-8")
    (tmp_path / "broken.json").write_text('{"a": 1}\n{"a": ', encoding="utf-8")
    for query, state, place in (
        ("SELECT * FROM '{}/none.parquet'", "58P01", "none.parquet"),
        ("SELECT * FROM '{}/none-*.csv'", "58P01", "none-*.csv"),
        ("SELECT * FROM '{}/broken.parquet'", "XX001", "broken.parquet"),
        ("SELECT * FROM '{}/broken.json'", "XX001", "broken.json"),
        ("SELECT sum(a) FROM '{}/late.csv'", "22P02", "late.csv"),
        ("SELECT sum(a) FROM '{}/short.csv'", "22P04", "short.csv"),
        ("SELECT * FROM read_csv('{}/late.csv', delimiter => 'ab')", "0A000", "delimiter"),
        ("SELECT * FROM read_csv('{}/late.csv', speed => 1)", "22023", "speed"),
        ("SELECT * FROM 'ftp://bucket/a.parquet'", "0A000", "ftp"),
        ("DELETE FROM '{}/late.csv'", "42601", "late.csv"),
    ):
        error = _fail(client, query.replace("{}", str(tmp_path)))
        shown = f"{error.diag.message_primary} {error.diag.message_detail}"
        assert (error.sqlstate, place in shown) == (state, True), (query, shown)
    with pytest.raises(errors.FeatureNotSupported, match="must be constants"):
        client.execute("SELECT * FROM read_csv('a' || %s)", ["late.csv"])


def test_parameters_name_files_and_options(client: Connection, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(f"n;word\n{number};x\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("a,b\n5,\n", encoding="utf-8")
    query = "SELECT * FROM read_csv(%s, delim => %s) WHERE n < %s"
    for prepare in (None, True, True):
        found = client.execute(query, [str(tmp_path / "1.csv"), ";", 7], prepare=prepare)
        assert ([each.name for each in found.description or ()], found.fetchall()) == (["n", "word"], [(1, "x")])
    other = client.execute("SELECT * FROM read_csv(%s)", [str(tmp_path / "other.csv")], prepare=True)
    assert ([each.name for each in other.description or ()], other.fetchall()) == (["a", "b"], [(5, None)])
    listed = [[str(tmp_path / "1.csv"), str(tmp_path / "2.csv")]]
    assert client.execute("SELECT sum(n) FROM read_csv(%s::text[])", listed).fetchall() == [(3,)]
    client.execute("CREATE TEMP TABLE kept AS SELECT 0 AS n, ''::text AS word")
    client.execute("INSERT INTO kept SELECT * FROM read_csv(%s)", [str(tmp_path / "2.csv")])
    assert client.execute("SELECT max(n) FROM kept").fetchall() == [(2,)]
    with pytest.raises(errors.UndefinedFile):
        client.execute("SELECT * FROM read_csv(%s)", [str(tmp_path / "none.csv")])
    with pytest.raises(errors.FeatureNotSupported, match="no values yet"):
        client.execute("PREPARE late(text) AS SELECT * FROM read_csv($1)")
    with gpudb.connect() as embedded:
        relation = embedded.sql("SELECT * FROM read_csv($1, all_varchar => $2)", [str(tmp_path / "1.csv"), True])
        assert (relation.columns, relation.fetchall()) == (("n", "word"), [("1", "x")])


def test_columns_whose_names_differ_in_case_alone_are_refused(client: Connection, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("a,A\n1,2\n", encoding="utf-8")
    (tmp_path / "cases.json").write_text('{"a": 1, "A": 2}\n', encoding="utf-8")
    (tmp_path / "numbered.json").write_text('{"a": 1, "A_1": 2}\n{"a": 3, "A_1": 4}\n', encoding="utf-8")
    error = _fail(client, f"SELECT * FROM '{tmp_path}/cases.json'")
    assert (error.sqlstate, "differ by the case" in (error.diag.message_primary or "")) == ("0A000", True)
    assert _rows(client, f"SELECT a, \"A_1\" FROM '{tmp_path}/cases.csv'") == [(1, 2)]
    client.execute("CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER cased FOREIGN DATA WRAPPER file_fdw")
    options = f"OPTIONS (filename '{tmp_path}/cases.csv', format 'csv', header 'true')"
    client.execute(f'CREATE FOREIGN TABLE cased_rows ("A" int, a int) SERVER cased {options}')
    error = _fail(client, "SELECT * FROM cased_rows")
    assert (error.sqlstate, "differ by the case" in (error.diag.message_primary or "")) == ("0A000", True)
    client.execute("DROP SERVER cased CASCADE")
    assert _rows(client, f"SELECT a, \"A_1\" FROM '{tmp_path}/numbered.json'") == [(1, 2), (3, 4)]


def test_only_some_roles_read_files(client: Connection, connect: Connect, rides: Path) -> None:
    client.execute("CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN")
    client.execute("GRANT pg_read_server_files TO reader")
    client.execute(f"CREATE VIEW shown AS SELECT id FROM '{rides}/**/*.parquet'; GRANT SELECT ON shown TO PUBLIC")
    try:
        with connect(user="reader") as reader, connect(user="stranger") as stranger:
            for query in (f"SELECT count(*) FROM '{rides}/**/*.parquet'", "SELECT count(*) FROM shown"):
                assert _rows(reader, query) == [(2000,)]
                error = _fail(stranger, query)
                assert (error.sqlstate, "pg_read_server_files" in (error.diag.message_detail or "")) == ("42501", True)
            assert _fail(stranger, "SELECT * FROM '/none.parquet'").sqlstate == "42501"
    finally:
        client.execute("DROP VIEW shown; DROP ROLE reader; DROP ROLE stranger")


def test_a_repeated_query_is_planned_anew_only_for_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files give the same query object, which holds its plans; a foreign table's files do, too."""
    queries: list[Query] = []

    def record(*arguments: Any) -> Request:
        request = build_request(*arguments)
        queries.append(request.query)
        return request

    monkeypatch.setattr(requests, "build_request", record)
    lab = Lab()
    try:
        path = tmp_path / "numbers.parquet"
        pq.write_table(pa.table({"n": [1, 2]}), path)
        lab.run("CREATE EXTENSION parquet_fdw; CREATE SERVER local FOREIGN DATA WRAPPER parquet_fdw")
        lab.run(f"CREATE FOREIGN TABLE numbers (n bigint) SERVER local OPTIONS (filename '{path}')")
        for source in (f"'{path}'", "numbers"):
            queries.clear()
            assert [lab.run(f"SELECT sum(n) FROM {source} AS f") for _ in range(2)] == [[(3,)]] * 2
            assert queries[0] is queries[1]
        pq.write_table(pa.table({"n": [1, 2, 3]}), path)
        for source in (f"'{path}'", "numbers"):
            assert lab.run(f"SELECT sum(n) FROM {source} AS f") == [(6,)]
    finally:
        lab.close()
