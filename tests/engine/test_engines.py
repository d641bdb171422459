"""The contract of the engine protocol, for every engine."""

from __future__ import annotations

import threading
import time

import pytest

from gpudb.engine.protocol import Cancel, Engine, PlanNode, Settings
from gpudb.errors import GpudbError
from tests.support.lab import Lab, answer

LONG = "SELECT x FROM generate_series(1, 2000000000) g(x)"


@pytest.fixture(scope="module", autouse=True)
def tables(lab: Lab) -> None:
    lab.run("CREATE TABLE nums AS SELECT i AS n, 'text ' || i AS t FROM generate_series(1, 1000) i")
    lab.run("CREATE TABLE none (a int, b numeric(10, 2), c text[], d interval, e uuid)")


def test_rows(engine: Engine, lab: Lab) -> None:
    rows = answer(engine, lab.request("SELECT n, t FROM nums WHERE n BETWEEN 5 AND 7 ORDER BY n DESC"))
    assert rows == [(7, "text 7"), (6, "text 6"), (5, "text 5")]


def test_batches_have_exactly_the_declared_types(engine: Engine, lab: Lab) -> None:
    sql = """SELECT 1::smallint, 2, 3::bigint, 1.5::real, 2.5::float8, 1.25::numeric(5,2), 'x'::text, 'y'::char(3), true,
        date '2024-02-29', time '12:00', timestamp '2024-01-01', timestamptz '2024-01-01 00:00+00', interval '1 day',
        '00000000-0000-0000-0000-000000000001'::uuid, '\\x00ff'::bytea, ARRAY[1, NULL], ARRAY['a'], n FROM nums"""
    request = lab.request(sql)
    stream = engine.run(request)
    batches = list(stream)
    assert [field.type for field in stream.schema] == [column.type.arrow for column in request.query.columns]
    assert all(batch.schema.types == stream.schema.types for batch in batches)
    assert sum(batch.num_rows for batch in batches) == 1000


@pytest.mark.parametrize("sql", ["SELECT * FROM none", "SELECT * FROM nums WHERE false", "SELECT n FROM nums LIMIT 0"])
def test_an_empty_result_has_its_columns(engine: Engine, lab: Lab, sql: str) -> None:
    request = lab.request(sql)
    stream = engine.run(request)
    assert [field.type for field in stream.schema] == [column.type.arrow for column in request.query.columns]
    assert sum(batch.num_rows for batch in stream) == 0


def test_parameters(engine: Engine, lab: Lab) -> None:
    sql = "SELECT count(*), $2::text FROM nums WHERE n > $1"
    assert answer(engine, lab.request(sql, (990, "p"))) == [(10, "p")]
    assert answer(engine, lab.request(sql, (None, None))) == [(0, None)]


def test_settings_reach_the_engine(engine: Engine, lab: Lab) -> None:
    sql = "SELECT timestamptz '2024-07-01 00:00+00'::text"
    for zone, text in (("UTC", "2024-07-01 00:00:00+00"), ("Asia/Tokyo", "2024-07-01 09:00:00+09")):
        assert answer(engine, lab.request(f"{sql} FROM nums LIMIT 1", settings=Settings(timezone=zone))) == [(text,)]


def test_the_first_batch_comes_before_the_last_row_is_made(engine: Engine, lab: Lab) -> None:
    """Two billion rows are streamed, not held: the first rows come at once."""
    started = time.monotonic()
    stream = engine.run(lab.request(LONG))
    batches = iter(stream)
    first = next(batches)
    assert time.monotonic() - started < 20
    assert first.column(0)[0].as_py() == 1
    assert 0 < first.num_rows <= 1 << 20
    second = next(batches)
    assert second.column(0)[0].as_py() == first.num_rows + 1
    stream.close()


def test_closing_a_stream_stops_it(engine: Engine, lab: Lab) -> None:
    stream = engine.run(lab.request(LONG))
    next(iter(stream))
    started = time.monotonic()
    stream.close()
    stream.close()
    assert time.monotonic() - started < 20
    assert answer(engine, lab.request("SELECT count(*) FROM nums")) == [(1000,)]


def test_an_error_in_mid_stream(engine: Engine, lab: Lab) -> None:
    """Rows before an error are returned, then the error with its SQLSTATE; the next query runs."""
    stream = engine.run(lab.request("SELECT 1 / (x - 3000000) FROM generate_series(1, 4000000) g(x)"))
    rows = 0
    with pytest.raises(GpudbError) as caught:
        for batch in stream:
            rows += batch.num_rows
    assert caught.value.sqlstate == "22012"
    assert 0 < rows < 3_000_000
    assert answer(engine, lab.request("SELECT count(*) FROM nums")) == [(1000,)]


@pytest.mark.parametrize(
    "sql, sqlstate",
    [
        ("SELECT n / (n - n) FROM nums", "22012"),
        ("SELECT (n * 2000000000)::int FROM nums", "22003"),
        ("SELECT t::int FROM nums", "22P02"),
        ("SELECT (SELECT n FROM nums)", "21000"),
        ("SELECT sum(n::bigint * 9000000000000000000) FROM nums", "22003"),
        ("SELECT date '2024-01-01' + (n + 2147000000) FROM nums", "22008"),
        ("SELECT ln(n - 1) FROM nums", "2201E"),
        ("SELECT 1 / (x - 3000000) FROM generate_series(1, 4000000) g(x)", "22012"),
        ("SELECT x * 1000 FROM generate_series(1, 4000000) g(x)", "22003"),
        (
            "SELECT (x || CASE WHEN x > 3000000 THEN 'x' ELSE '' END)::int FROM generate_series(1, 4000000) g(x)",
            "22P02",
        ),
    ],
)
def test_errors_have_postgresqls_sqlstate(engine: Engine, lab: Lab, sql: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        answer(engine, lab.request(sql))
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize("moment", ["before", "at start", "in mid stream"])
def test_cancel(engine: Engine, lab: Lab, moment: str) -> None:
    cancel = Cancel()
    request = lab.request(LONG if moment == "in mid stream" else LONG + " ORDER BY -x", cancel=cancel)
    if moment == "before":
        cancel.stop("told so")
    else:
        threading.Timer(0.2, cancel.stop, ("told so",)).start()
    with pytest.raises(GpudbError) as caught:
        for _ in engine.run(request):
            pass
    assert (caught.value.sqlstate, caught.value.message) == ("57014", "told so")
    assert answer(engine, lab.request("SELECT count(*) FROM nums")) == [(1000,)]


def test_a_late_cancel_does_not_reach_another_statement(engine: Engine, lab: Lab) -> None:
    cancel = Cancel()
    assert answer(engine, lab.request("SELECT count(*) FROM nums", cancel=cancel)) == [(1000,)]
    for _ in range(20):
        cancel.stop()
        assert answer(engine, lab.request("SELECT count(*) FROM nums")) == [(1000,)]


def test_a_request_reads_its_snapshot(engine: Engine, lab: Lab) -> None:
    lab.run("CREATE TABLE moving AS SELECT 1 AS a")
    before = lab.request("SELECT a FROM moving ORDER BY a")
    lab.run("INSERT INTO moving VALUES (2)")
    after = lab.request("SELECT a FROM moving ORDER BY a")
    lab.run("DELETE FROM moving")
    emptied = lab.request("SELECT a FROM moving ORDER BY a")
    lab.run("DROP TABLE moving")
    for _ in range(3):
        assert answer(engine, after) == [(1,), (2,)]
        assert answer(engine, before) == [(1,)]
        assert answer(engine, emptied) == []


def test_uncommitted_rows_of_a_transaction(engine: Engine, lab: Lab) -> None:
    lab.run("CREATE TABLE pending AS SELECT 1 AS a")
    lab.run("BEGIN; INSERT INTO pending VALUES (2); ALTER TABLE pending ADD COLUMN b text DEFAULT 'new'")
    transaction = lab.session.transactions.current
    assert transaction is not None
    own = lab.request("SELECT a, b FROM pending ORDER BY a", transaction=transaction)
    assert answer(engine, own) == [(1, "new"), (2, "new")]
    assert answer(engine, lab.request("SELECT * FROM pending")) == [(1,)]
    lab.run("ROLLBACK")
    assert answer(engine, lab.request("SELECT * FROM pending")) == [(1,)]
    lab.run("DROP TABLE pending")


def test_columns_come_and_go(engine: Engine, lab: Lab) -> None:
    lab.run("CREATE TABLE shape AS SELECT 1 AS a, 'x' AS b")
    steps = (
        ("ALTER TABLE shape ADD COLUMN c int DEFAULT 7", [(1, "x", 7)]),
        ("ALTER TABLE shape DROP COLUMN b", [(1, 7)]),
        ("ALTER TABLE shape ADD COLUMN b int", [(1, 7, None)]),
        ("ALTER TABLE shape RENAME COLUMN a TO z", [(1, 7, None)]),
        ("ALTER TABLE shape ALTER COLUMN z TYPE bigint", [(1, 7, None)]),
    )
    requests = []
    for change, rows in steps:
        lab.run(change)
        requests.append((lab.request("SELECT * FROM shape"), rows))
    for request, rows in [*requests, *reversed(requests)]:
        assert answer(engine, request) == rows
    lab.run("DROP TABLE shape")


def test_queries_at_once(engine: Engine, lab: Lab) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(10):
                request = lab.request("SELECT count(*), sum(n) FROM nums WHERE n % $1 = 0", (number + step + 1,))
                divisor = number + step + 1
                expected = list(range(divisor, 1001, divisor))
                assert answer(engine, request) == [(len(expected), sum(expected))]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures


def _operators(node: PlanNode) -> list[PlanNode]:
    return [node, *(below for each in node.inputs for below in _operators(each))]


def test_explain(engine: Engine, lab: Lab) -> None:
    request = lab.request(
        "SELECT t, count(*) FROM nums JOIN nums AS more USING (n, t) WHERE n > 10 GROUP BY t ORDER BY 2 LIMIT 5"
    )
    nodes = _operators(engine.explain(request, analyze=False))
    assert len(nodes) >= 4
    assert all(node.rows is None and node.milliseconds is None for node in nodes)
    shown = " ".join(str(node) for node in nodes)
    assert "nums" in shown
    assert "segment_" not in shown


def test_explain_analyze_counts_rows(engine: Engine, lab: Lab) -> None:
    """Workers measure a stage as a whole, not each of its operators."""
    root = engine.explain(lab.request("SELECT n FROM nums WHERE n <= 300 ORDER BY t"), analyze=True)
    spent = [node.milliseconds for node in _operators(root) if node.milliseconds is not None]
    assert root.rows == 300
    assert spent
    assert min(spent) >= 0


def test_explain_does_not_run_the_query(engine: Engine, lab: Lab) -> None:
    started = time.monotonic()
    engine.explain(lab.request(LONG + " ORDER BY -x"), analyze=False)
    engine.explain(lab.request("SELECT n / (n - n) FROM nums"), analyze=False)
    assert time.monotonic() - started < 20
    with pytest.raises(GpudbError) as caught:
        engine.explain(lab.request("SELECT n / (n - n) FROM nums"), analyze=True)
    assert caught.value.sqlstate == "22012"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM ROWS FROM (generate_series(1, 2147483648), unnest(ARRAY[1, 2])) LIMIT 1",
        "SELECT generate_series(-9223372036854775808, 9223372036854775807), 1",
        "SELECT generate_series(10000000000, 1, -2), 1",
    ],
)
def test_a_set_that_memory_would_not_hold_is_refused(engine: Engine, lab: Lab, sql: str) -> None:
    with pytest.raises(GpudbError) as refused:
        answer(engine, lab.request(sql))
    assert refused.value.sqlstate == "54000"
