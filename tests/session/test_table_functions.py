"""Functions in FROM over queries: forms of the query, where calls may stand, errors, privileges, cancellation."""

from __future__ import annotations

import threading

import pytest

from gpudb.errors import GpudbError
from gpudb.processes.pool import ProcessPool
from gpudb.session.database import Database
from gpudb.session.execution.queries import table_functions
from gpudb.session.session import Session
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run, state, value, wait_until

ROWS = """
CREATE TABLE points AS SELECT i AS id, (i % 2 * 10)::float8 AS x, i % 5 AS y, 'p' || i AS name
    FROM generate_series(1, 100) AS i;
CREATE VIEW far AS SELECT * FROM points WHERE x > 5;
CREATE SCHEMA other;
CREATE TABLE other.few AS SELECT 1 AS a UNION ALL SELECT 2;
CREATE ROLE reader; CREATE ROLE stranger;
GRANT SELECT (id, x) ON points TO reader;
"""


@pytest.fixture(scope="module", autouse=True)
def rows(database: Database) -> None:
    made = database.session("gpudb")
    run(made, ROWS)
    made.close()


COUNTS = {
    "gpu_kmeans('SELECT x, y FROM points WHERE id > 50', 2)": 50,
    "gpu_kmeans($$SELECT x, y FROM points;$$, k => 2, seed => 1, iterations => 10)": 100,
    "gpu_kmeans('points', 2, ARRAY['x'])": 100,
    "gpu_kmeans('\"points\"', 2, columns => '{x,y}')": 100,
    "gpu_kmeans('other.few', 1 + 1)": 2,
    "gpu_kmeans('far', 2, columns => NULL)": 50,
    "gpu_kmeans('VALUES (1, 2.5), (3, 4)', 2)": 2,
    "gpu_kmeans('WITH w AS (SELECT 1 AS a UNION ALL SELECT 2) TABLE w', 2)": 2,
    "gpu_kmeans('SELECT x, count(*) AS n FROM points GROUP BY x', 2)": 2,
    "gpu_kmeans('SELECT x, cluster FROM gpu_kmeans(''points'', 2)', 2)": 100,
    "pg_catalog.gpu_kmeans('points', 2) AS k (id, a, b)": 100,
    "gpu_kmeans('SELECT NULL::int AS a UNION ALL SELECT 3', 1)": 2,
}


@pytest.mark.parametrize("call", COUNTS)
def test_forms_of_the_query(session: Session, call: str) -> None:
    assert value(session, f"SELECT count(*) FROM {call}") == COUNTS[call]


def test_the_columns_of_the_result(session: Session) -> None:
    (result,) = session.run("SELECT * FROM gpu_kmeans('SELECT name, x FROM points', 2) LIMIT 1")
    assert result.columns is not None
    assert [(each.name, str(each.type)) for each in result.columns] == [
        ("name", "text"),
        ("x", "double precision"),
        ("cluster", "integer"),
        ("distance", "double precision"),
    ]
    result.close()
    (result,) = session.run("SELECT * FROM gpu_kmeans_centers('points', 2, '{y,x}')")
    assert result.columns is not None
    assert [each.name for each in result.columns] == ["cluster", "size", "y", "x"]
    result.close()


STATEMENTS = {
    "a join": "SELECT count(*) FROM points p JOIN gpu_kmeans('points', 2, '{x}') k USING (id) WHERE k.distance = 0",
    "WITH": "WITH w AS (SELECT * FROM gpu_kmeans('points', 2, '{x}')) SELECT count(*) FROM w",
    "a subquery": "SELECT count(*) FROM points WHERE id IN (SELECT id FROM gpu_kmeans('points', 2, '{x}'))",
    "a correlated subquery": "SELECT sum((SELECT count(*) FROM gpu_kmeans('points', 2, '{x}') k WHERE k.id = p.id))"
    " FROM points p",
    "UNION": "SELECT count(*) FROM (SELECT id FROM gpu_kmeans('points', 2, '{x}') UNION SELECT id FROM points) u",
    "a window": "SELECT max(n) FROM (SELECT row_number() OVER () AS n FROM gpu_kmeans('points', 2, '{x}')) w",
    "a whole row": "SELECT count(k) FROM gpu_kmeans('points', 2, '{x}') k",
}


@pytest.mark.parametrize("sql", STATEMENTS.values(), ids=STATEMENTS)
def test_where_calls_may_stand(session: Session, sql: str) -> None:
    assert value(session, sql) == 100


def test_statements_that_change_rows(session: Session) -> None:
    run(session, "CREATE TABLE found AS SELECT id, cluster FROM gpu_kmeans('points', 2, '{x}')")
    run(session, "INSERT INTO found SELECT id + 100, cluster FROM gpu_kmeans('points', 2, '{x}')")
    run(session, "UPDATE found SET cluster = k.cluster + 5 FROM gpu_kmeans('points', 2, '{x}') k WHERE k.id = found.id")
    assert run(session, "SELECT count(*), count(*) FILTER (WHERE cluster > 4) FROM found") == [(200, 100)]
    run(session, "DROP TABLE found")


def test_views_and_functions(session: Session) -> None:
    run(session, "CREATE VIEW sizes AS SELECT cluster, count(*) AS n FROM gpu_kmeans('points', 2, '{x}') GROUP BY 1")
    assert run(session, "SELECT * FROM sizes ORDER BY 1") == [(0, 50), (1, 50)]
    run(session, "CREATE MATERIALIZED VIEW kept AS SELECT * FROM sizes")
    assert value(session, "SELECT sum(n) FROM kept") == 100
    body = "SELECT count(DISTINCT cluster) FROM gpu_kmeans('points', k, '{y}')"
    run(session, f"CREATE FUNCTION count_clusters(k int) RETURNS bigint LANGUAGE sql AS $$ {body} $$")
    assert run(session, "SELECT count_clusters(2), count_clusters(5)") == [(2, 5)]
    body = "BEGIN RETURN (SELECT count(DISTINCT cluster) FROM gpu_kmeans('points', k, '{y}')); END"
    run(session, f"CREATE FUNCTION count_by_steps(k int) RETURNS bigint LANGUAGE plpgsql AS $$ {body} $$")
    assert value(session, "SELECT count_by_steps(4)") == 4
    run(session, "DROP MATERIALIZED VIEW kept; DROP VIEW sizes")


def test_parameters(connect: Connect) -> None:
    sql = "SELECT count(DISTINCT cluster) FROM gpu_kmeans('points', %s, '{y}', seed => %s)"
    with connect() as client:
        for k in (3, 2):
            assert client.execute(sql, (k, 4)).fetchone() == (k,)
        assert client.execute("SELECT * FROM gpu_kmeans_centers('points', %s, '{x}')", (2,)).fetchall() == [
            (0, 50, 10.0),
            (1, 50, 0.0),
        ]


def test_the_same_rows_in_another_order_have_the_same_clusters(session: Session) -> None:
    call = "(SELECT id, cluster, distance FROM gpu_kmeans('SELECT * FROM points ORDER BY {}', 7, '{{x,y}}', seed => 3))"
    assert run(session, f"{call.format('id')} EXCEPT {call.format('name DESC')}") == []


ERRORS = {
    "gpu_kmeans('points', 0)": "22023",
    "gpu_kmeans('points', 101)": "22023",
    "gpu_kmeans('SELECT x FROM points WHERE false', 1)": "22023",
    "gpu_kmeans('SELECT NULL::int AS a', 1)": "22023",
    "gpu_kmeans('points', NULL)": "22004",
    "gpu_kmeans(NULL, 2)": "22004",
    "gpu_kmeans('points', 2, '{x,NULL}')": "22004",
    "gpu_kmeans('points', 2, '{}')": "22023",
    "gpu_kmeans('points', 2, '{{x,y}}')": "22023",
    "gpu_kmeans('points', 2, iterations => 0)": "22023",
    "gpu_kmeans('points', 2, seed => -1)": "22023",
    "gpu_kmeans('SELECT name FROM points', 2)": "22023",
    "gpu_kmeans('points', 2, '{z}')": "42703",
    "gpu_kmeans('points', 2, '{x,x}')": "42701",
    "gpu_kmeans('SELECT x, y AS x FROM points', 2, '{x}')": "42702",
    "gpu_kmeans('points', 2, '{name}')": "42804",
    "gpu_kmeans('SELECT ''1 day''::interval AS i', 1, '{i}')": "42804",
    "gpu_kmeans('SELECT ''NaN''::float8 AS a', 1)": "22023",
    "gpu_kmeans('SELECT ''-Infinity''::float8 AS a', 1)": "22023",
    "gpu_kmeans('SELECT 1 / 0 AS a', 1)": "22012",
    "gpu_kmeans('nowhere', 2)": "42P01",
    "gpu_kmeans('SELECT nothing FROM points', 2)": "42703",
    "gpu_kmeans('SELECT FROM WHERE', 2)": "42601",
    "gpu_kmeans('', 2)": "42601",
    "gpu_kmeans('SELECT 1; SELECT 2', 2)": "42601",
    "gpu_kmeans('SELECT $1::int AS a', 2)": "42P02",
    "gpu_kmeans('DELETE FROM points', 2)": "0A000",
    "gpu_kmeans('SELECT x INTO there FROM points', 2)": "0A000",
    "gpu_kmeans('SELECT x FROM points FOR UPDATE', 2)": "0A000",
    "gpu_kmeans('WITH d AS (DELETE FROM points RETURNING x) SELECT x FROM d', 2)": "0A000",
    "gpu_kmeans('po' || 'ints', 2)": "0A000",
    "gpu_kmeans('points', 2) WITH ORDINALITY": "0A000",
    "gpu_kmeans('points', 2) AS (a int)": "42601",
    "points p RIGHT JOIN LATERAL gpu_kmeans('points', p.id) k USING (id)": "42P10",
    "points p, gpu_kmeans(p.name, 2)": "0A000",
    "points p, gpu_kmeans('points', 2, ARRAY[p.name])": "0A000",
    "gpu_kmeans('points')": "42883",
    "gpu_kmeans('points', 2, clusters => 3)": "42883",
    "gpu_kmeans('points', 2, k => 3)": "42883",
    "gpu_kmeans('points', 'two')": "22P02",
    "other.gpu_kmeans('points', 2)": "42883",
}


@pytest.mark.parametrize("call", ERRORS)
def test_errors(session: Session, call: str) -> None:
    assert state(session, f"SELECT * FROM {call}") == ERRORS[call]


MODELS = {
    "gpu_dbscan('points', 0)": "22023",
    "gpu_dbscan('points', 'NaN')": "22023",
    "gpu_dbscan('points', 1, min_samples => 0)": "22023",
    "gpu_pca('points', 0)": "22023",
    "gpu_pca('points', 3, '{x,y}')": "22023",
    "gpu_pca('points', id)": "42703",
    "gpu_pca('points', 1 + 1)": "0A000",
    "gpu_pca('points', NULL)": "22004",
    "gpu_pca('SELECT x, y FROM points LIMIT 1', 1)": "22023",
    "gpu_pca_components('points', 9)": "22023",
    "gpu_linear_regression('points', 'name')": "42804",
    "gpu_linear_regression('points', 'z')": "42703",
    "gpu_linear_regression('points', NULL)": "22004",
    "gpu_linear_regression('SELECT x, x * 2 AS z, y FROM points', 'y')": "22023",
    "gpu_linear_regression('SELECT x, y FROM points WHERE false', 'y')": "22023",
    "gpu_linear_regression('SELECT y FROM points', 'y')": "22023",
    "gpu_linear_regression('points', 'y', weights => 'name')": "42804",
    "gpu_ridge('points', 'y', -1)": "22023",
    "gpu_ridge('SELECT NULL::int AS x, 1 AS y', 'y')": "22023",
    "gpu_logistic_regression('SELECT x, 1 AS c FROM points', 'c')": "22023",
    "gpu_logistic_regression('points', 'y', c => 0)": "22023",
    "gpu_nearest_neighbors('points', 'points', 0)": "22023",
    "gpu_nearest_neighbors('points', 'points', 101)": "22023",
    "gpu_nearest_neighbors('points', 'points', 1, metric => 'taxicab')": "22023",
    "gpu_nearest_neighbors('points', 'SELECT id, x FROM points', 1)": "42703",
    "gpu_nearest_neighbors('points', 'points', 1, id => 'z')": "42703",
    "gpu_nearest_neighbors('points', 'nowhere', 1)": "42P01",
    "gpu_nearest_neighbors('points', NULL, 1)": "22004",
}


@pytest.mark.parametrize("call", MODELS)
def test_errors_of_other_functions(session: Session, call: str) -> None:
    assert state(session, f"SELECT * FROM {call}") == MODELS[call]


def test_a_call_for_each_row(session: Session) -> None:
    sql = "SELECT k, m.clusters, m.rows FROM generate_series(1, 3) AS k, gpu_kmeans_metrics('points', k, '{y}') AS m"
    assert run(session, f"{sql} ORDER BY k") == [(1, 1, 100), (2, 2, 100), (3, 3, 100)]
    sql = "SELECT k, count(DISTINCT cluster) FROM generate_series(2, 3) k LEFT JOIN LATERAL gpu_kmeans('points', k) ON true"
    assert run(session, f"{sql} GROUP BY k ORDER BY k") == [(2, 2), (3, 3)]


def test_no_convergence_is_noticed(session: Session) -> None:
    run(session, "SELECT * FROM gpu_logistic_regression('points', 'y', iterations => 1)")
    (notice,) = session.take_notices()
    assert notice.message == "the logistic regression did not converge within 1 iterations"


def test_an_error_in_the_query_names_it(session: Session) -> None:
    error = fails(session, "SELECT * FROM gpu_kmeans('SELECT nothing FROM points', 2)")
    assert error.message == 'column "nothing" does not exist'
    assert error.where == 'SQL statement "SELECT nothing FROM points"'
    assert not error.position


def test_calls_outside_from_are_refused(session: Session) -> None:
    assert state(session, "SELECT gpu_kmeans('points', 2)") == "0A000"


def test_the_query_has_the_rights_of_its_place(session: Session) -> None:
    run(session, "SET ROLE reader")
    assert value(session, "SELECT count(*) FROM gpu_kmeans('SELECT x FROM points', 2)") == 100
    assert state(session, "SELECT count(*) FROM gpu_kmeans('points', 2, '{x}')") == "42501"
    assert state(session, "SELECT count(*) FROM gpu_kmeans('SELECT x, y FROM points', 2)") == "42501"
    assert state(session, "SELECT count(*) FROM gpu_kmeans('other.few', 2)") == "42501"
    run(session, "RESET ROLE; CREATE VIEW open AS SELECT id, cluster FROM gpu_kmeans('points', 2, '{y}')")
    run(session, "GRANT SELECT ON open TO stranger; SET ROLE stranger")
    assert value(session, "SELECT count(*) FROM open") == 100
    assert state(session, "SELECT * FROM gpu_kmeans('points', 2)") == "42501"
    run(session, "RESET ROLE; DROP VIEW open")


def test_a_function_of_a_database_keeps_its_name(session: Session) -> None:
    run(session, "CREATE FUNCTION gpu_dbscan(text, float8) RETURNS int LANGUAGE sql AS 'SELECT 42'")
    assert value(session, "SELECT * FROM gpu_dbscan('points', 2)") == 42
    run(session, "DROP FUNCTION gpu_dbscan(text, float8)")


def test_explain(session: Session) -> None:
    plan = [
        line.partition("  (cost")[0]
        for (line,) in run(session, "EXPLAIN SELECT id FROM gpu_kmeans('SELECT * FROM points WHERE id > 3', 2, '{x}')")
    ]
    assert plan == [
        "FunctionScan on gpu_kmeans",
        "  Features: x",
        "  Options: k => 2, iterations => 300, seed => 0, scale => False",
        "  ->  CpuScan on points",
        "        Projections: id, x, y, name",
        "        Filters: (id > 3)",
        "Engine: cpu",
    ]
    plan = run(session, "EXPLAIN (COSTS OFF) SELECT * FROM gpu_kmeans('points', 2), gpu_kmeans_centers('points', 2)")
    assert [line.strip(" ->") for (line,) in plan if "gpu_" in line] == [
        "FunctionScan on gpu_kmeans",
        "FunctionScan on gpu_kmeans_centers",
    ]
    assert state(session, "EXPLAIN ANALYZE SELECT * FROM gpu_kmeans('points', 2)") == "0A000"


SLOW = (
    "SELECT count(*) FROM gpu_kmeans('SELECT random() AS a, random() AS b, random() AS c, random() AS d FROM"
    " generate_series(1, 200000)', 200, iterations => 100000)"
)


def test_a_cancel_ends_it_and_others_go_on(session: Session, other: Session) -> None:
    errors: list[GpudbError] = []
    thread = threading.Thread(target=lambda: errors.append(fails(session, SLOW)))
    thread.start()
    wait_until(lambda: session.running.text == SLOW, "it runs")
    assert value(other, "SELECT 1") == 1
    session.cancel()
    thread.join(30)
    assert [each.sqlstate for each in errors] == ["57014"]


def test_a_timeout_ends_it(session: Session) -> None:
    run(session, "SET statement_timeout = '500ms'")
    assert state(session, SLOW) == "57014"
    run(session, "RESET statement_timeout")


def test_memory_is_limited(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = ProcessPool("gpudb.analytics.table_functions", memory_bytes=1 << 30)
    monkeypatch.setattr(table_functions, "_get_pool", lambda limit: limited)
    neighbours = "gpu_dbscan('SELECT random() AS a FROM generate_series(1, 20000)', eps => 10)"  # 3.2 GB of them
    assert state(session, f"SELECT count(*) FROM {neighbours}") == "53200"
    assert value(session, "SELECT count(*) FROM gpu_dbscan('points', eps => 1)") == 100
    limited.close()


def test_psql_describes_it(session: Session) -> None:
    of_query = "SELECT pg_get_function_arguments(oid) FROM pg_proc WHERE proname = 'gpu_kmeans' AND proretset"
    shown = value(session, of_query)
    of_matrix = "SELECT array_agg(pg_get_function_arguments(oid) ORDER BY oid) FROM pg_proc"
    assert value(session, of_matrix + " WHERE proname = 'gpu_kmeans' AND NOT proretset") == [
        "data matrix, k integer",
        "data matrix, k integer, iterations integer",
        "data matrix, k integer, iterations integer, seed integer",
    ]
    assert shown == (
        "query text, k integer, columns text[] DEFAULT NULL::text[], iterations integer DEFAULT 300,"
        " seed bigint DEFAULT 0, scale boolean DEFAULT false, weights text DEFAULT NULL::text"
    )
