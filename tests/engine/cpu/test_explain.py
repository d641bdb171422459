"""Plans of the CPU engine: every scan has the name of what it reads, and its columns their own names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudb
from gpudb.api import Connection

BOTH = "SELECT sum(stored.b) FROM stored JOIN small USING (a) WHERE stored.b > 5"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    """A database opened anew: its tables are in files alone."""
    with gpudb.connect(tmp_path / "data") as made:
        made.execute("CREATE TABLE stored AS SELECT i AS a, i % 10 AS b FROM generate_series(1, 20000) AS i")
        made.execute("CREATE TABLE small AS SELECT i AS a FROM generate_series(1, 5) AS i")
        made.execute(f"COPY small TO '{tmp_path}/small.csv' (FORMAT csv, HEADER)")
        made.execute(f"COPY small TO '{tmp_path}/small.parquet'")
    with gpudb.connect(tmp_path / "data") as opened:
        yield opened


def explain(db: Connection, query: str, *, analyze: bool) -> str:
    return "\n".join(row[0] for row in db.execute(f"EXPLAIN (ANALYZE {analyze}, COSTS off) {query}").fetchall())


@pytest.mark.parametrize("analyze", [False, True])
def test_scans_of_files_have_the_tables_name_and_its_columns(db: Connection, analyze: bool) -> None:
    plan = explain(db, BOTH, analyze=analyze)
    assert "CpuScan on stored" in plan
    assert "CpuScan on small" in plan
    assert "Filters: (b > 5)" in plan
    assert ".parquet" not in plan
    assert "CpuScan on stored" in explain(db, "SELECT count(*) FROM stored WHERE a > 7", analyze=analyze)


@pytest.mark.parametrize("analyze", [False, True])
def test_a_count_that_is_known_without_a_scan_has_a_plan(db: Connection, analyze: bool) -> None:
    db.execute("SELECT * FROM stored").fetchall()  # loads the table
    assert "CpuColumnDataScan" in explain(db, "SELECT count(*) FROM stored", analyze=analyze)


@pytest.mark.parametrize("analyze", [False, True])
@pytest.mark.parametrize(("name", "operator"), [("small.csv", "CpuReadCsv"), ("small.parquet", "CpuParquetScan")])
def test_scans_of_a_file_have_its_path(db: Connection, tmp_path: Path, name: str, operator: str, analyze: bool) -> None:
    assert f"{operator} on {tmp_path / name}" in explain(db, f"SELECT a FROM '{tmp_path / name}'", analyze=analyze)


def test_what_reads_no_table_has_the_name_of_none(db: Connection) -> None:
    plan = explain(db, "SELECT count(*) FROM stored, generate_series(1, 3) AS g", analyze=True)
    assert plan.count("on stored") == 1


def test_an_earlier_state_has_the_name_of_its_table(db: Connection) -> None:
    ((moment,),) = db.execute("SELECT clock_timestamp()::text").fetchall()
    db.execute("DELETE FROM stored WHERE a = 7")
    past = f"SELECT a FROM stored FOR SYSTEM_TIME AS OF '{moment}' WHERE b = 7"
    assert len(db.execute(past).fetchall()) == 2000
    plan = explain(db, past, analyze=False)
    assert "CpuScan on stored" in plan
    assert "Filters: (b = 7)" in plan
