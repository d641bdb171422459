"""Drawn questions: the same for a seed, of every kind, and answered as DuckDB answers them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from benchmarks import tables
from benchmarks.data import questions
from benchmarks.data.questions import Schema
from benchmarks.harness import answers_equal
from benchmarks.systems import DuckDb, Gpudb
from benchmarks.tables import Suite

SCALE = 0.01
COUNT, SOAK_COUNT = 40, 1000


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return tables.tpch(SCALE, tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def schema(suite: Suite) -> Schema:
    with duckdb.connect() as connection:
        for table, path in suite.tables.items():
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{path}')")
        return questions.read_schema(suite.schema, questions.TPCH_KEYS, connection)


def test_a_seed_has_its_questions(schema: Schema) -> None:
    drawn = questions.ask(schema, 300, 5)
    assert drawn == questions.ask(schema, 300, 5)
    assert drawn != questions.ask(schema, 300, 6)
    assert {kind for kind, _ in drawn} == set(questions.KINDS)
    assert len({sql for _, sql in drawn}) > 290


@pytest.mark.parametrize(
    "count", [COUNT, pytest.param(SOAK_COUNT, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_same_answers_as_duckdb(suite: Suite, schema: Schema, tmp_path: Path, count: int) -> None:
    wrong = []
    with closing(DuckDb()) as duck, closing(Gpudb(tmp_path / "data")) as ours:
        for system in (duck, ours):
            system.load(suite.schema, suite.tables, [])
        for _, sql in questions.ask(schema, count, 11):
            expected, answer = duck.query(sql), ours.query(sql)
            if not answers_equal(answer, expected, 1e-6):
                wrong.append(f"{sql}: {answer[:2]} and {expected[:2]}")
    assert not wrong, "\n".join(wrong)
