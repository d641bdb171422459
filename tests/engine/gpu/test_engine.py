"""A real cluster of worker processes behind a session: answers, EXPLAIN, fallback, cancel, and a lost worker."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.config.database import EMBEDDED
from gpudb.errors import GpudbError, OutOfMemory
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run

WORKERS = 2
pytestmark = pytest.mark.timeout(300)  # starting workers takes long on a busy machine


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None, replace(EMBEDDED, engine="twin", workers=WORKERS))
    yield made
    made.close()


@pytest.fixture(scope="module")
def session(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    run(
        made,
        "CREATE TABLE orders AS SELECT i AS id, i % 7 AS k, (i % 100) / 4.0::numeric(10,2) AS price,"
        " 'n' || i % 3 AS name FROM generate_series(1, 20000) i",
    )
    run(made, "CREATE TABLE kinds AS SELECT i AS k, 'kind ' || i AS label FROM generate_series(0, 5) i")
    yield made
    made.close()


def _lines(session: Session, sql: str) -> list[str]:
    return [line for (line,) in run(session, sql)]


def test_files_are_read_by_workers(session: Session, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [0, 1, 1]}), tmp_path / "k.parquet")
    query = f"SELECT label, count(*) FROM kinds JOIN '{tmp_path}/k.parquet' AS f USING (k) GROUP BY 1 ORDER BY 1"
    assert run(session, query) == [("kind 0", 1), ("kind 1", 2)]
    assert "Engine: twin" in _lines(session, f"EXPLAIN {query}")
    (tmp_path / "k.json").write_text('[{"k": 0}, {"k": 1}]', encoding="utf-8")
    query = query.replace("k.parquet", "k.json")
    assert run(session, query) == [("kind 0", 1), ("kind 1", 1)]


def test_brytlytdbs_script(session: Session, tmp_path: Path) -> None:
    """The statements by which BrytlytDB's cluster of GPUs was set up and loaded, as they stand."""
    path = tmp_path / "trips.csv"
    path.write_text("".join(f"{n},CMT,2009-01-0{n % 9 + 1},{n}.5\n" for n in range(1, 101)), encoding="utf-8")
    nodes = [f"CREATE NODE d{n} WITH (HOST='127.0.0.1', TYPE='datanode', PORT={15432 + n})" for n in range(WORKERS)]
    load = f"SELECT load_data(''trips'', ''{path}'', '','', '''', 100000, ''0'', '''', ''append'')"
    for statement in (
        *nodes,
        "CREATE EXTENSION gpu_manager_fdw",
        "CREATE SERVER gm FOREIGN DATA WRAPPER gpu_manager_fdw",
        "CREATE FOREIGN TABLE trips (trip_id INT, vendor_id VARCHAR(3), pickup DATE, total DOUBLE PRECISION)"
        " SERVER gm OPTIONS (max_size '38000000', index '24') DISTRIBUTE BY HASH (trip_id)",
        f"EXECUTE DIRECT ON (d0) '{load}'",
    ):
        run(session, statement)
    query = "SELECT vendor_id, count(*), sum(total) FROM trips WHERE trip_id > 50 GROUP BY vendor_id"
    session.take_notices()
    assert run(session, query) == [("CMT", 50, 3800.0)]
    assert session.take_notices() == []  # the workers ran it
    run(session, "DROP EXTENSION gpu_manager_fdw CASCADE; " + "; ".join(f"DROP NODE d{n}" for n in range(WORKERS)))


def test_workers_join_group_and_sort(session: Session) -> None:
    sql = """SELECT label, count(*), sum(price), min(name) FROM orders JOIN kinds USING (k)
        GROUP BY label HAVING count(*) > 10 ORDER BY 2 DESC, 1 LIMIT 3"""
    session.take_notices()
    rows = run(session, sql)
    assert session.take_notices() == []
    run(session, "SET gpudb.fallback = off")
    assert run(session, sql) == rows
    run(session, "RESET gpudb.fallback")
    assert [(row[0], row[1]) for row in rows] == [("kind 1", 2858), ("kind 0", 2857), ("kind 2", 2857)]


def test_what_workers_lack_runs_whole_and_says_so(session: Session) -> None:
    sql = "SELECT label FROM kinds WHERE random() < 2"
    session.take_notices()
    assert len(run(session, sql)) == 6
    (notice,) = session.take_notices()
    assert "random" in notice.message
    assert any("Fallback: " in line and "random" in line for line in _lines(session, "EXPLAIN " + sql))
    run(session, "SET gpudb.fallback = off")
    with pytest.raises(GpudbError) as refused:
        run(session, sql)
    assert refused.value.sqlstate == "0A000"
    run(session, "RESET gpudb.fallback")


def test_errors_of_workers_are_the_statements(session: Session) -> None:
    with pytest.raises(GpudbError) as failed:
        run(session, "SELECT 1 / (k - k) FROM orders")
    assert failed.value.sqlstate == "22012"
    with pytest.raises(GpudbError) as failed:
        run(session, "SELECT (SELECT label FROM kinds) FROM orders")
    assert failed.value.sqlstate == "21000"


def test_explain_tells_stages_and_workers(session: Session) -> None:
    lines = _lines(session, "EXPLAIN ANALYZE SELECT k, sum(price) FROM orders WHERE name = 'n1' GROUP BY k")
    text = "\n".join(lines)
    assert "Engine: twin" in text
    assert "Exchange (Hash)" in text
    assert "Scan on orders" in text
    assert "Worker 0: rows=" in text
    assert "Worker 1: rows=" in text


def test_explain_tells_planning_and_loading_apart_from_running(session: Session) -> None:
    run(session, "CREATE TABLE read_anew AS SELECT i AS n FROM generate_series(1, 1000) i")
    sql = "EXPLAIN (ANALYZE, FORMAT json) SELECT sum(n) FROM read_anew"
    first, second = (json.loads(run(session, sql)[0][0])[0] for _ in range(2))
    assert list(first)[-4:] == ["Engine", "Planning Time", "Loading Time", "Execution Time"]
    assert 0 < first["Loading Time"] < first["Execution Time"]
    assert "Loading Time" not in second
    run(session, "DROP TABLE read_anew")


def test_explain_in_json_tells_estimates_and_what_each_worker_did(session: Session) -> None:
    sql = "SELECT k, sum(price) FROM orders WHERE name = 'n1' GROUP BY k"
    ((told,),) = run(session, f"EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {sql}")
    (whole,) = json.loads(told)
    plan = whole["Plan"]
    found = [plan]
    for each in found:
        found += each.get("Plans", [])
    (exchange,) = [each for each in found if each["Node Type"] == "Exchange (Hash)"]
    assert exchange["Keys"] == "k"
    assert exchange["Output"] == ["k", "sum"]
    assert exchange["Actual Rows"] == sum(each["Actual Rows"] for each in exchange["Workers"]) == 7 * WORKERS
    assert [each["Worker Number"] for each in exchange["Workers"]] == list(range(WORKERS))
    assert all(each["Bytes"] > 0 and each["Actual Time (ms)"] > 0 for each in exchange["Workers"])
    assert plan["Actual Rows"] == 7
    assert all(each["Plan Rows"] >= 1 and each["Plan Width"] >= 1 for each in found)
    (plain,) = json.loads(run(session, f"EXPLAIN (ANALYZE, TIMING off, COSTS off, FORMAT JSON) {sql}")[0][0])
    assert "Plan Rows" not in plain["Plan"]
    assert "Output" not in plain["Plan"]
    assert "Actual Time (ms)" not in plain["Plan"]["Workers"][0]


def _plans(session: Session, sql: str) -> list[dict[str, Any]]:
    """Returns every operator of a plan from EXPLAIN ANALYZE in JSON."""
    ((told,),) = run(session, f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
    found = [json.loads(told)[0]["Plan"]]
    for each in found:
        found += each.get("Plans", [])
    return found


def test_explain_analyze_tells_what_each_operator_did(session: Session) -> None:
    sql = """SELECT label, count(*) FROM orders JOIN kinds USING (k) WHERE name = 'n1' GROUP BY label
        HAVING count(*) > 952"""
    found = {each["Node Type"]: each for each in _plans(session, sql)}
    scan = next(each for each in _plans(session, sql) if each.get("Table") == "orders")
    assert (scan["Actual Rows"], scan["Rows Removed by Filter"]) == (6667, "13333")
    join = found["HashJoin"]
    wanted = run(session, "SELECT count(*) FROM orders JOIN kinds USING (k) WHERE name = 'n1'")
    assert [(join["Actual Rows"],)] == wanted
    assert int(join["Hash Rows"]) in {6, 3334}
    assert int(join["Hash Bytes"]) > 0
    groups = found["Aggregate (Final)"]
    assert groups["Actual Rows"] == 6
    assert 0 < int(groups["Hash Rows"]) <= 6
    having = run(session, sql)
    assert found["Filter"]["Actual Rows"] == len(having)
    assert int(found["Filter"]["Rows Removed by Filter"]) == 6 - len(having)
    assert all(each["Actual Time (ms)"] >= 0 for each in found.values() if "Actual Rows" in each)
    text = "\n".join(_lines(session, "EXPLAIN ANALYZE " + sql))
    assert "Rows Removed by Filter: 13333" in text
    assert "Hash Bytes: " in text
    assert "Rows Removed" not in "\n".join(_lines(session, "EXPLAIN " + sql))


def test_explain_analyze_tells_the_time_of_the_statement_s_own_run(
    session: Session, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT k, sum(price) FROM orders WHERE name = 'n1' GROUP BY k"
    engine: Any = database.engine._cluster  # type: ignore[attr-defined]
    started, measured = engine._start, []

    def slow(planned: Any, request: Any, *, measure: bool = False) -> Any:
        measured.append(measure)
        if measure:
            time.sleep(2)
            if len(measured) > 2:
                raise OutOfMemory("injected")
        return started(planned, request, measure=measure)

    monkeypatch.setattr(engine, "_start", slow)
    for rows in (True, False):
        began = time.monotonic()
        ((told,),) = run(session, f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        most = 1000 * (time.monotonic() - began - 2)
        (whole,) = json.loads(told)
        assert whole["Execution Time"] < most
        found = [whole["Plan"]]
        for each in found:
            found += each.get("Plans", [])
        assert ("Actual Rows" in next(each for each in found if "Scan" in each["Node Type"])) == rows
        assert all("Actual Rows" in each for each in found if "Workers" in each)
    assert measured == [False, True] * 2


def test_explain_analyze_raises_what_the_statement_does(session: Session) -> None:
    with pytest.raises(GpudbError) as failed:
        run(session, "EXPLAIN ANALYZE SELECT 1 / (k - k) FROM orders")
    assert failed.value.sqlstate == "22012"


def test_a_transaction_sees_its_own_rows(session: Session) -> None:
    run(session, "BEGIN")
    run(session, "INSERT INTO kinds VALUES (6, 'new')")
    assert run(session, "SELECT count(*) FROM kinds") == [(7,)]
    run(session, "ROLLBACK")
    assert run(session, "SELECT count(*) FROM kinds") == [(6,)]


def test_parameters(session: Session) -> None:
    run(session, "PREPARE p (int, text) AS SELECT count(*) FROM orders WHERE k = $1 AND name LIKE $2")
    assert run(session, "EXECUTE p (1, 'n%')") == run(session, "SELECT count(*) FROM orders WHERE k = 1")
    assert run(session, "EXECUTE p (1, 'n1')") == run(
        session, "SELECT count(*) FROM orders WHERE k = 1 AND name = 'n1'"
    )


def test_a_limit_of_0_that_is_a_parameter_asks_no_worker(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run(
        session,
        "PREPARE none (int, bigint) AS SELECT k, sum(price) FROM orders GROUP BY k ORDER BY k LIMIT $1 OFFSET $2",
    )
    assert [k for k, _ in run(session, "EXECUTE none (2, 1)")] == [1, 2]
    with monkeypatch.context() as patched:
        for where in ("ClusterEngine._start", "FastPath.try_run"):
            patched.setattr(f"gpudb.engine.gpu.engine.{where}", lambda *_, **__: pytest.fail("workers were asked"))
        assert run(session, "EXECUTE none (0, 1)") == run(session, "EXECUTE none (0, NULL)") == []
    assert fails(session, "EXECUTE none (0, -1)").sqlstate == "2201X"
    assert len(run(session, "EXECUTE none (NULL, 0)")) == 7


def test_explain_tells_files_and_bytes(session: Session) -> None:
    run(session, "CREATE TABLE dated (day int, v int)")
    for day in range(3):
        run(session, f"INSERT INTO dated SELECT {day}, i FROM generate_series(1, 1000) i")
    (text,) = run(session, "EXPLAIN (ANALYZE, FORMAT json) SELECT sum(v) FROM dated WHERE day = 1")[0]
    plan = json.loads(text)[0]["Plan"]
    found = [plan]
    while "Plans" in found[-1]:
        found += found[-1]["Plans"]
    assert found[-1]["Files"] == "1 of 3, 2 skipped with 2000 rows"
    moved = next(each for each in found if "Bytes Moved" in each)
    assert moved["Node Type"] == "Exchange (Gather)"
    assert int(moved["Bytes Moved"]) == moved["Workers"][1]["Bytes"] > 0
    assert "Files: 3 of 3" in "\n".join(_lines(session, "EXPLAIN SELECT sum(v) FROM dated"))


def test_explain_tells_what_join_keys_leave_out(session: Session) -> None:
    run(session, "CREATE TABLE rides (day int, v int); CREATE TABLE days (day int, label text)")
    for day in range(3):
        run(session, f"INSERT INTO rides SELECT {day}, i FROM generate_series(1, 40000) i")
    run(session, "INSERT INTO days SELECT i, 'day ' || i FROM generate_series(0, 9) i; ANALYZE days")
    sql = "SELECT v % 2, max(label), sum(v) FROM rides JOIN days USING (day) WHERE label = 'day 1' GROUP BY 1"
    assert run(session, sql + " ORDER BY 1") == [(0, "day 1", 400020000), (1, "day 1", 400000000)]
    text = "\n".join(_lines(session, "EXPLAIN ANALYZE " + sql))
    assert "Join Keys: day from 1 to 1 (1 values): 2 of 3 files skipped with 80000 rows" in text
    ((told,),) = run(session, "EXPLAIN (ANALYZE, FORMAT json) " + sql)
    assert '"Join Keys": "day from 1 to 1' in told


def test_nodes_are_names_of_workers(session: Session) -> None:
    run(session, "CREATE TABLE spread (k int, v text) DISTRIBUTE BY HASH (k)")
    run(session, "INSERT INTO spread SELECT i, 'v' || i FROM generate_series(1, 1000) i")
    run(session, "CREATE TABLE copied (a int) DISTRIBUTE BY REPLICATION; INSERT INTO copied VALUES (1), (2), (3)")
    run(
        session,
        "CREATE NODE d0 WITH (HOST = 'localhost', TYPE='datanode', PORT=15432); CREATE NODE \"D 1\" WITH (TYPE='datanode')",
    )
    run(session, "ALTER NODE d0 WITH (PREFERRED)")
    shown = run(
        session, "SELECT node_name, node_type, node_port = 15432, nodeis_preferred FROM pgxc_node ORDER BY node_id"
    )
    assert shown == [("coordinator", "C", False, False), ("d0", "D", True, True), ("D 1", "D", False, False)]
    placed = (
        "SELECT pcrelid::regclass::text, pclocatortype, pcattnum FROM pgxc_class WHERE pclocatortype <> 'N' ORDER BY 1"
    )
    assert run(session, placed) == [("copied", "R", 0), ("spread", "H", 1)]
    parts = [
        run(session, f"EXECUTE DIRECT ON ({node}) 'SELECT count(*), sum(k) FROM spread'")[0] for node in ("d0", '"D 1"')
    ]
    assert [sum(each) for each in zip(*parts, strict=True)] == [1000, 500500]
    assert all(part[0] > 300 for part in parts)
    for _ in range(2):  # by itself the same text is of all nodes, whichever came first
        assert run(session, "SELECT count(*), sum(k) FROM spread") == [(1000, 500500)]
        assert run(session, "EXECUTE DIRECT ON (d0) 'SELECT count(*), sum(k) FROM spread'") == [parts[0]]
    assert run(session, "EXECUTE DIRECT ON (d0) 'SELECT count(*) FROM copied, orders'")[0] == (30000,)
    for sql, state in (
        ("CREATE NODE d2 WITH (TYPE='datanode')", "55000"),
        ("CREATE NODE d0 WITH (TYPE='datanode')", "42710"),
        ("EXECUTE DIRECT ON (nope) 'SELECT 1'", "42704"),
        ("EXECUTE DIRECT ON (coordinator) 'SELECT 1'", "0A000"),
        ("EXECUTE DIRECT ON (d0) 'DELETE FROM spread'", "0A000"),
        ("EXECUTE DIRECT ON (d0) 'SELECT count(*) FROM spread, pg_class'", "0A000"),
    ):
        with pytest.raises(GpudbError) as refused:
            run(session, sql)
        assert refused.value.sqlstate == state, sql
    run(session, 'DROP NODE d0; DROP NODE "D 1"')
    assert [name for (name,) in run(session, "SELECT node_name FROM pgxc_node WHERE node_type = 'D'")] == [
        "datanode_1",
        "datanode_2",
    ]


def test_columns_are_loaded_pinned_and_let_go(session: Session) -> None:
    held = 'SELECT "column", sum(bytes), bool_and(pinned), count(*) FROM gpudb_resident WHERE "table" = \'kinds\'::regclass GROUP BY 1 ORDER BY 1'
    run(session, "SELECT gpudb_evict('kinds')")
    assert run(session, held) == []
    assert run(session, "SELECT pg_prewarm('kinds'::regclass)")[0][0] > 0
    assert [(row[0], row[2], row[3]) for row in run(session, held)] == [("k", False, 2), ("label", False, 2)]
    (size,) = run(session, "SELECT gpudb_pin('kinds')")[0]
    assert size == sum(row[1] for row in run(session, held))
    assert all(row[2] for row in run(session, held))
    before = run(session, "SELECT sum(hits) FROM gpudb_resident")
    run(session, "SELECT k, label FROM kinds ORDER BY 1")
    assert run(session, "SELECT sum(hits) FROM gpudb_resident") > before
    assert run(session, "SELECT gpudb_unpin('kinds')") == [(size,)]
    assert run(session, "SELECT gpudb_evict('kinds')") == [(size,)]
    devices = run(
        session, "SELECT worker, kind, memory_bytes > 0, utilization, memory_utilization FROM gpudb_devices ORDER BY 1"
    )
    assert devices == [(0, "cpu", True, None, None), (1, "cpu", True, None, None)]
    facts = run(session, "SELECT DISTINCT att_name FROM pgstrom_device_info()")
    assert ("DEVICE_TOTAL_MEM",) in facts


def test_foreign_tables_of_files_are_loaded_and_let_go(session: Session, tmp_path: Path) -> None:
    """Their columns are those that statements read; files that only the embedded engine reads are refused."""
    path = tmp_path / "kept.parquet"
    pq.write_table(pa.table({"id": range(1000), "small": [number % 7 for number in range(1000)]}), path)
    run(session, "CREATE EXTENSION IF NOT EXISTS parquet_fdw")
    run(session, "CREATE EXTENSION IF NOT EXISTS file_fdw")
    for name in ("parquet", "file"):
        run(session, f"CREATE SERVER {name}_files FOREIGN DATA WRAPPER {name}_fdw")
    run(
        session,
        f"CREATE FOREIGN TABLE kept (id bigint, small bigint) SERVER parquet_files OPTIONS (filename '{path}')",
    )
    run(session, "CREATE FOREIGN TABLE refused (id bigint) SERVER file_files OPTIONS (filename '/dev/null')")
    try:
        assert run(session, "SELECT gpudb_evict('kept')") == [(0,)]
        assert run(session, "SELECT sum(small) FROM kept") == [(2997,)]
        (freed,) = run(session, "SELECT gpudb_evict('kept')")[0]
        assert freed > 0
        query = "EXPLAIN ANALYZE SELECT sum(id), sum(small) FROM kept"
        assert any("Files Read" in line for line in _lines(session, query))
        run(session, "SELECT gpudb_evict('kept')")
        assert run(session, "SELECT pg_prewarm('kept')")[0][0] > 0
        assert not any("Files Read" in line for line in _lines(session, query))
        assert fails(session, "SELECT pg_prewarm('refused')").sqlstate == "42809"
    finally:
        run(session, "DROP FOREIGN TABLE kept, refused")
        run(session, "DROP SERVER parquet_files, file_files")


def test_a_statement_knows_how_many_stages_have_finished(session: Session) -> None:
    """Workers count them, and say so in their heartbeats."""
    slow = "SELECT count(*) FROM orders a, orders b, orders c WHERE (a.id * b.id + c.id) % 7 = 3 AND a.price < c.price"
    run(session, "SET gpudb.fallback = off")

    def run_slow() -> None:
        with suppress(GpudbError):  # it is cancelled
            run(session, slow)

    thread = threading.Thread(target=run_slow)
    thread.start()
    try:
        deadline, found = time.monotonic() + 60, None
        while not found and time.monotonic() < deadline:
            found = session.running.measure_progress()
            time.sleep(0.02)
        assert found is not None
        assert 0 < found < 1
    finally:
        session.cancel()
        thread.join(60)
        run(session, "RESET gpudb.fallback")
    assert session.running.measure_progress() is None


def test_columns_of_a_dropped_table_are_let_go(session: Session) -> None:
    run(session, "CREATE TABLE gone AS SELECT i, 'text ' || i AS t FROM generate_series(1, 100) i")
    ((oid,),) = run(session, "SELECT 'gone'::regclass::oid")
    members = session.database.members
    assert members is not None

    def held() -> bool:
        return any(column.table == oid for member in members.list_members() for column in member.held)

    for _ in range(2):
        assert run(session, "SELECT count(t) FROM gone WHERE i > 50") == [(50,)]
        assert held()
        run(session, "CREATE TABLE other (i int); DROP TABLE other")
        assert _answers_again(session)
    run(session, "DROP TABLE gone")
    assert _answers_again(session)
    ends = time.monotonic() + 60
    while held():
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_a_cancel_ends_the_statement(session: Session) -> None:
    """Both workers run a cross join of 2.4 billion rows, which Polars does not stop."""
    timer = threading.Timer(1.0, session.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(GpudbError) as ended:
        run(session, "SELECT sum(a.price * b.price) FROM orders a, orders b, kinds c WHERE a.id <> b.id")
    timer.cancel()
    assert ended.value.sqlstate == "57014"
    assert time.monotonic() - started < 60
    assert _answers_again(session)


def test_a_lost_worker_is_an_error_and_comes_back(database: Database, session: Session) -> None:
    engine = database.engine
    nanny = next(iter(engine._cluster._cluster._launcher.cluster.workers.values()))  # type: ignore[attr-defined]
    os.kill(nanny.process.pid, signal.SIGKILL)
    assert _answers_again(session)


def _answers_again(session: Session) -> bool:
    """Returns whether the right answer comes within the workers' start-up time; until then the error must be clear."""
    ends = time.monotonic() + 90
    while time.monotonic() < ends:
        try:
            return run(session, "SELECT count(*), sum(id) FROM orders WHERE k < 7") == [(20000, 200010000)]
        except GpudbError as error:
            if error.sqlstate not in {"57P01", "58000"}:
                raise
            time.sleep(0.2)
    return False


def _run_everywhere(client: Any, function: Callable[..., int]) -> set[int]:
    """What the existing workers return: one may end meanwhile."""
    return {each for each in client.run(function, on_error="return").values() if isinstance(each, int)}


def _mended(dask_worker: Any) -> None:
    dask_worker.plugins["gpudb"].executor.failure = lambda: None


def test_a_broken_device_ends_its_worker_alone(database: Database, session: Session) -> None:
    """The device layer is faked: its report of its context. The error, the end and the restart are real."""
    assert _answers_again(session)
    client = database.engine._cluster._cluster._client  # type: ignore[attr-defined]

    def broken(dask_worker: Any) -> int:
        dask_worker.plugins["gpudb"].executor.failure = lambda: "cudaErrorIllegalAddress"
        return os.getpid()

    before: set[int] = set()
    ends = time.monotonic() + 90
    while not before and time.monotonic() < ends:  # a worker may just have been started again
        before = _run_everywhere(client, broken)
    assert before
    with pytest.raises(GpudbError) as failed:
        run(session, "SELECT 1 / (k - k) FROM orders")
    # It runs once more, and has its own error if its worker has been started again by then; the loss of the worker may
    # be known before its report.
    assert failed.value.sqlstate in {"57P01", "22012"}
    assert _answers_again(session)
    ends = time.monotonic() + 20
    while before & _run_everywhere(client, os.getpid) and time.monotonic() < ends:
        time.sleep(0.2)  # one may end later, or without an error
    assert not before <= _run_everywhere(client, os.getpid)
    client.run(_mended, on_error="return")
