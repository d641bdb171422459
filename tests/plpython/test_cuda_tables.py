"""Table functions in PL/CUDA: whole arrays and matrices in, columns out; on the host one thread after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.lab import ON_GPUS, client_of_engine
from tests.support.sessions import fails, run

SETUP = """
CREATE EXTENSION plcuda;
CREATE TABLE points AS SELECT n, n * 0.5::float8 AS x, (n % 7)::float8 AS y FROM generate_series(1, 2000) n;
CREATE FUNCTION moving(x float8[], width int) RETURNS TABLE (place int, total float8) STRICT LANGUAGE plcuda AS $$
#plcuda_rows x_count - width + 1
#plcuda_block 128
  if (width < 1) RAISE_ERROR("22023", "the width must be positive");
  double sum = 0;
  for (int i = 0; i < width; i++) sum += x[thread + i];
  place[thread] = thread + 1;
  total[thread] = sum;
  total_isnull[thread] = sum > 1999;
$$;
CREATE FUNCTION column_sums(m matrix) RETURNS SETOF float8 STRICT LANGUAGE plcuda AS $$
#plcuda_rows m_columns
#plcuda_threads m_rows * m_columns
  atomicAdd(result + thread % m_columns, m[thread]);
$$;
CREATE FUNCTION evens(x int[]) RETURNS TABLE (value int) STRICT LANGUAGE plcuda AS $$
#plcuda_rows x_count
  if (x[thread] % 2) return;
  value[atomicAdd(row_count, 1ull)] = x[thread];
$$;
CREATE FUNCTION counted(x bigint[], day date) RETURNS TABLE (n bigint, next date) LANGUAGE plcuda AS $$
#plcuda_rows 1
#plcuda_threads x_isnull ? 1 : x_count
#plcuda_workspace 8
  if (x_isnull) { n_isnull[0] = true; return; }
  n[0] = atomicAdd((unsigned long long *)workspace, 1ull) + 1;
  next[0] = day + 1;
  next_isnull[0] = day_isnull;
$$;
CREATE FUNCTION endless(x int[]) RETURNS TABLE (value int) STRICT LANGUAGE plcuda AS $$
#plcuda_rows 1
  volatile int go = 1;
  while (go) { }
$$;
CREATE FUNCTION outside(x int[]) RETURNS TABLE (value int) STRICT LANGUAGE plcuda AS $$
#plcuda_rows 1
  volatile int *at = (int *)8;
  *at = x[0];
$$;
CREATE FUNCTION by_blocks(x int[]) RETURNS TABLE (total int) STRICT LANGUAGE plcuda AS $$
#plcuda_rows (x_count + 255) / 256
#plcuda_threads x_count
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (thread < threads) atomicAdd(&sum, x[thread]);
  __syncthreads();
  if (threadIdx.x == 0) total[blockIdx.x] = sum;
$$;
"""
MOVING = "SELECT * FROM moving((SELECT array_agg(x ORDER BY n) FROM points), 2) ORDER BY place"


@pytest.fixture(scope="module")
def cuda(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    run(made, SETUP)
    yield made
    made.close()


def test_columns(cuda: Session) -> None:
    x = np.arange(1, 2001) / 2
    totals = [None if each > 1999 else each for each in (x[:-1] + x[1:]).tolist()]
    assert run(cuda, MOVING) == list(enumerate(totals, 1))
    sums = run(cuda, "SELECT * FROM column_sums((SELECT array_matrix(x, y) FROM points))")
    assert sums == [(each,) for each in run(cuda, "SELECT sum(x), sum(y) FROM points")[0]]
    assert sorted(run(cuda, "SELECT value FROM evens(ARRAY[1, 2, 3, 4])")) == [(2,), (4,)]
    assert run(cuda, "SELECT t.n, value FROM (VALUES (1), (4)) t (n), evens(ARRAY[n, 2])") == [(1, 2), (4, 4), (4, 2)]
    assert run(cuda, "SELECT * FROM evens('{}')") == []


def test_nulls(cuda: Session) -> None:
    assert run(cuda, "SELECT * FROM moving(NULL, 2)") == []
    assert run(cuda, "SELECT n, next::text FROM counted('{5,6,7}', '2024-02-28')") == [(3, "2024-02-29")]
    assert run(cuda, "SELECT n, next IS NULL FROM counted('{5}', NULL)") == [(1, True)]
    assert run(cuda, "SELECT n FROM counted(NULL, NULL)") == [(None,)]
    assert fails(cuda, "SELECT * FROM evens(ARRAY[1, NULL])").sqlstate == "22004"


def test_errors(cuda: Session) -> None:
    error = fails(cuda, "SELECT * FROM moving('{1,2}', 0)")
    assert (error.sqlstate, error.message) == ("22023", "the width must be positive")
    assert fails(cuda, "SELECT * FROM moving('{1,2}', 9)").sqlstate == "22023"
    assert fails(cuda, "SELECT * FROM outside('{1}')").sqlstate == "58000"
    assert fails(cuda, "SELECT * FROM by_blocks('{1}')").sqlstate == "0A000"
    run(cuda, "SET statement_timeout = '300ms'")
    assert fails(cuda, "SELECT * FROM endless('{1}')").sqlstate == "57014"
    run(cuda, "RESET statement_timeout")
    assert run(cuda, "SELECT count(*) FROM evens('{2}')") == [(1,)]


@pytest.mark.parametrize(
    ("head", "body", "sqlstate"),
    [
        ("x int[]) RETURNS TABLE (value int)", "value[thread] = 1;", "42601"),
        ("x int[]) RETURNS TABLE (value int)", "#plcuda_rows y_count\nvalue[thread] = 1;", "42601"),
        ("x int[]) RETURNS TABLE (value int)", "#plcuda_rows x_count\nvalues[thread] = 1;", "42601"),
        ("x int[]) RETURNS TABLE (value int)", "#plcuda_rows 1\n#plcuda_grid 7\n", "42601"),
        ("x int[]) RETURNS TABLE (value int)", "#plcuda_rows 1\n#plcuda_block 33\n", "42601"),
        ("x text[]) RETURNS TABLE (value int)", "#plcuda_rows 1\n", "0A000"),
        ("x int[]) RETURNS TABLE (value text)", "#plcuda_rows 1\n", "0A000"),
    ],
)
def test_definitions(cuda: Session, head: str, body: str, sqlstate: str) -> None:
    assert fails(cuda, f"CREATE FUNCTION wrong({head} LANGUAGE plcuda AS $${body}$$").sqlstate == sqlstate


@pytest.mark.parametrize("engine", [pytest.param("gpu", marks=ON_GPUS)])
def test_tables_on_a_gpu(engine: str) -> None:
    import psycopg

    with client_of_engine(engine, SETUP) as client:
        totals = client.execute(MOVING).fetchall()
        assert totals[0] == (1, 1.5)
        assert len(totals) == 1999
        assert client.execute("SELECT sum(total), count(*) FROM by_blocks((SELECT array_agg(n) FROM points))").fetchone() \
            == (2000 * 2001 // 2, 8)  # fmt: skip
        sums = client.execute("SELECT * FROM column_sums((SELECT array_matrix(x, y) FROM points))").fetchall()
        (wanted,) = client.execute("SELECT sum(x), sum(y) FROM points").fetchall()
        assert [each for (each,) in sums] == pytest.approx(wanted)
        for call, error in (("outside('{1}')", psycopg.errors.SystemError), ("moving('{1}', 0)", psycopg.DataError)):
            with pytest.raises(error):
                client.execute(f"SELECT * FROM {call}")
        client.execute("SET statement_timeout = '2s'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("SELECT * FROM endless('{1}')")
        client.execute("RESET statement_timeout")  # the next call starts a process, and its libraries
        assert sorted(client.execute("SELECT value FROM evens('{1,2,4}')").fetchall()) == [(2,), (4,)]
