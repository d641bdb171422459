"""Files as tables of statements of an embedded database."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gpudb
from gpudb.api import Connection
from gpudb.errors import GpudbError, SyntaxError_, UndefinedColumn
from tests.support.connection_urls import to_url

ROWS = pl.DataFrame({"id": [1, 2, 3], "name": ["a", None, ""], "x": [0.5, 1.5, None]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the same rows in files of every kind."""
    monkeypatch.chdir(tmp_path)
    ROWS.write_parquet("rows.parquet")
    pyarrow.feather.write_feather(ROWS.to_arrow(), "rows.arrow")
    ROWS.write_ndjson("rows.jsonl")
    text = 'id,name,x\n1,a,0.5\n2,,1.5\n3,"",\n'
    Path("rows.csv").write_text(text, encoding="utf-8")
    Path("rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("rows.tsv").write_text(text.replace(",", "\t"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.jsonl", "rows.csv", "rows.csv.gz", "rows.tsv"])
def test_a_file_of_each_kind(db: Connection, folder: Path, name: str) -> None:
    for path in (name, str(folder / name)):
        relation = db.sql(f"SELECT * FROM '{path}' AS r ORDER BY id")
        assert [str(kind) for kind in relation.types] == ["bigint", "text", "double precision"]
        assert relation.fetchall() == [(1, "a", 0.5), (2, None, 1.5), (3, "", None)]
    assert db.sql(f"SELECT count(*) FROM '{name}' WHERE x > $1", [1]).fetchone() == (1,)


def test_several_files_in_one_statement(db: Connection, folder: Path) -> None:
    query = """
        WITH c AS (SELECT id FROM 'rows.csv' WHERE name IS DISTINCT FROM 'a.csv')
        SELECT p.id, j.x FROM 'rows.parquet' AS p JOIN 'rows.jsonl' AS j USING (id), c
        WHERE c.id = p.id AND p.id IN (SELECT id FROM 'rows.arrow') ORDER BY 1"""
    assert db.sql(query).fetchall() == [(1, 0.5), (2, 1.5), (3, None)]
    assert db.execute("CREATE TABLE kept AS SELECT * FROM 'rows.parquet'").rowcount == 3
    assert db.execute("INSERT INTO kept SELECT id + $1::int8, name, x FROM 'rows.csv'", [10]).rowcount == 3
    assert db.sql("SELECT sum(id) FROM kept").fetchone() == (42,)


def test_a_glob_reads_many_files_as_one_table(db: Connection, folder: Path) -> None:
    for number in range(3):
        pq.write_table(pa.table({"n": pa.array([number], pa.int8())}), folder / f"part-{number}.parquet")
    assert db.sql("SELECT sum(n), count(*) FROM 'part-*.parquet'").fetchall() == [(3, 3)]
    assert db.sql("SELECT n FROM 'part-*.parquet'").columns == ("n",)


def test_columns_that_are_converted(db: Connection, folder: Path) -> None:
    table = pa.table(
        {
            "small": pa.array([1], pa.uint8()),
            "coded": pa.array(["x"]).dictionary_encode(),
            "moment": pa.array([1_500_000_001_499], pa.timestamp("ns")),
            "price": pa.array([Decimal("1.25")], pa.decimal128(10, 2)),
        }
    )
    pq.write_table(table, folder / "kinds.parquet")
    (row,) = db.sql("SELECT small, coded, moment::text, price FROM 'kinds.parquet'").fetchall()
    assert row == (1, "x", "1970-01-01 00:25:00.000001", Decimal("1.25"))


def test_a_relation_shows_the_file_as_it_is_written(db: Connection, folder: Path) -> None:
    relation = db.sql("SELECT id FROM 'rows.parquet' AS r")
    assert relation.query == "SELECT id FROM 'rows.parquet' AS r"
    assert len(relation.filter("id > 1")) == 2
    with pytest.raises(UndefinedColumn) as caught:
        db.sql("SELECT\nnothing FROM 'rows.parquet'").fetchall()
    assert str(caught.value).splitlines()[1] == "LINE 2: nothing FROM 'rows.parquet'"


def test_what_cannot_be_read(db: Connection, folder: Path) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 nothing")
    (folder / "wrong.csv").write_text("a\n" + "1\n" * 2_000_000 + "x\n", encoding="utf-8")
    for query, state in (
        ("SELECT * FROM 'missing.parquet'", "58P01"),
        ("SELECT * FROM 'missing-*.csv'", "58P01"),
        ("SELECT * FROM 'broken.parquet'", "XX001"),
        ("SELECT * FROM 'ftp://bucket/a.parquet'", "0A000"),
        ("SELECT sum(a) FROM 'wrong.csv'", "22P02"),
    ):
        with pytest.raises(GpudbError) as caught:
            db.sql(query).fetchall()
        assert caught.value.sqlstate == state, query
    for query in ("SELECT * FROM 'rows.unknown'", "SELECT * FROM 'rows'", "SELECT 'rows.csv' 'rows.csv'"):
        with pytest.raises(SyntaxError_):
            db.sql(query).fetchall()
    assert db.sql("SELECT trim(both FROM 'rows.csv')").fetchone() == ("rows.csv",)


def test_a_server_reads_its_own_files_and_a_role_needs_the_right(gpudb_server: str, folder: Path) -> None:
    with gpudb.connect(to_url(gpudb_server)) as remote:
        relation = remote.sql(f"SELECT id FROM '{folder}/rows.parquet' WHERE x > $1", [1])
        assert (relation.columns, relation.fetchall()) == (("id",), [(2,)])
    with gpudb.connect(folder / "data") as db:
        db.execute("CREATE ROLE reader LOGIN")
        with gpudb.connect(folder / "data", user="reader") as reader:
            with pytest.raises(GpudbError) as caught:
                reader.sql("SELECT * FROM 'rows.parquet'").fetchall()
            assert caught.value.sqlstate == "42501"
            db.execute("GRANT pg_read_server_files TO reader")
            assert reader.sql("SELECT count(*) FROM 'rows.parquet'").fetchone() == (3,)


def test_a_relative_name_is_written_in_the_folder_of_an_embedded_databases_process(
    db: Connection, folder: Path, gpudb_server: str
) -> None:
    assert db.execute("COPY (FROM 'rows.parquet') TO 'again.parquet'").tag == "COPY 3"
    assert pl.read_parquet(folder / "again.parquet").equals(ROWS)
    with gpudb.connect(to_url(gpudb_server)) as other, pytest.raises(GpudbError, match="relative path") as refused:
        other.execute("COPY (SELECT 1) TO 'again.csv' (FORMAT csv)")
    assert refused.value.sqlstate == "42602"
