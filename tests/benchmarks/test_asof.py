"""The suite of ASOF joins: gpudb and DuckDB answer its queries alike."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq

import gpudb
from benchmarks import tables
from benchmarks.harness import answers_equal
from benchmarks.systems import DuckDb


def test_answers_agree(tmp_path: Path) -> None:
    suite = tables.asof(0.01, tmp_path)
    assert suite.rows == 20_000
    with gpudb.connect() as ours, closing(DuckDb()) as duck:
        duck.load(suite.schema, suite.tables, [])
        for name, folder in suite.tables.items():
            ours.execute(next(each for each in suite.schema if f"TABLE {name} " in each))
            ours.append(name, pq.read_table(folder))
        for name, text in suite.queries.items():
            answer = ours.sql(text).fetchall()
            assert answers_equal(answer, duck.query(text)), name
            assert "AsofJoin" in ours.sql(text).explain(), name
