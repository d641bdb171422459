"""Functions in Python and CUDA over a table, with each engine: the engine computes the rows, the session the calls."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.support.server_program import Program

SETUP = """
CREATE EXTENSION plpython3u;
CREATE EXTENSION plcuda;
CREATE TABLE t AS SELECT n, n * 2.0::float8 AS x FROM generate_series(1, 1000) n;
CREATE FUNCTION p(a int) RETURNS int LANGUAGE plpython3u AS 'return a + 1';
CREATE FUNCTION v(a float8) RETURNS float8 LANGUAGE plpython3u AS E'# vectorized numpy\\nreturn a * 3';
CREATE FUNCTION k(a float8) RETURNS float8 LANGUAGE plcuda STRICT AS 'return a / 2;';
"""


@pytest.mark.timeout(300)  # starting workers takes long on a busy machine
@pytest.mark.parametrize("engine", ["cpu", "twin"])
def test_answers_of_engines(engine: str, tmp_path: Path) -> None:
    with (
        Program(tmp_path / "data", "--engine", engine) as program,
        psycopg.connect(program.dsn, autocommit=True) as client,
    ):
        client.execute(SETUP)
        sql = "SELECT count(*), sum(p(n)), sum(v(x)), sum(k(x)) FROM t WHERE p(n) % 2 = 0"
        odd = range(1, 1001, 2)
        expected = (500, sum(odd) + 500, 6.0 * sum(odd), float(sum(odd)))
        assert client.execute(sql).fetchall() == [expected]
        grouped = "SELECT p(n) % 3, count(*) FROM t GROUP BY 1 ORDER BY 1"
        assert client.execute(grouped).fetchall() == [(0, 333), (1, 333), (2, 334)]
