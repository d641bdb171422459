"""Tables larger than the workers' memory: statements run chunk by chunk, with the same answers."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from gpudb.catalog.tables import ColumnStatistics
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes
from gpudb.engine.gpu.coordinator import coordinator
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.lower.nodes import StageLowering
from gpudb.engine.gpu.planning import request_planner
from gpudb.engine.gpu.planning.request_planner import CHUNKED_SECONDS, Planner
from gpudb.engine.gpu.stage import batching as cut
from gpudb.engine.gpu.stage.batching import MAX_CHUNKS, MemorySpace, choose_chunks, next_chunks
from gpudb.engine.protocol import Cancel, Engine, PlanNode, Request
from gpudb.errors import GpudbError, SqlError
from gpudb.plan.dask.dask_sql_planner import warm_up
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Scan
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.gpu import faults, local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab, table_of
from tests.support.plan_text import plan

WORKERS = 2
ROWS = 200_000
SPACE = MemorySpace(2**20, 3 * 2**20)
"""Memory of each worker for tables and for statements: the tables take more than three times as much."""
SETUP = f"""
CREATE TABLE ch_big AS SELECT i AS id, i * 7919 % 50021 AS k, (i % 1000) / 4.0::numeric(10,2) AS price,
    i * 31 % 1000003 AS v, 'a name of ' || i % 977 AS name FROM generate_series(1::bigint, {ROWS}) i;
CREATE TABLE ch_other AS SELECT i * 17 % {ROWS} AS id, i AS w FROM generate_series(1::bigint, {ROWS // 2}) i;
CREATE TABLE ch_kinds AS SELECT i AS w, 'kind ' || i % 5 AS label FROM generate_series(0, 99) i
"""
STATEMENTS = {
    "scan and aggregate": "SELECT count(*), sum(price), min(name), max(id) FROM ch_big WHERE v % 3 = 0",
    "many groups": "SELECT k, count(*), sum(v) FROM ch_big GROUP BY k",
    "join of two large": "SELECT name, count(*), sum(v), sum(w) FROM ch_big JOIN ch_other USING (id) GROUP BY name",
    "join with a small side": "SELECT label, count(*) FROM ch_big JOIN ch_kinds ON v % 90 = w GROUP BY label",
    "sort": "SELECT id, v, name FROM ch_big WHERE id % 3 = 0 ORDER BY v DESC, id",
    "distinct": "SELECT count(*) FROM (SELECT DISTINCT k, v, name FROM ch_big) t",
    "distinct values": """SELECT count(DISTINCT v), sum(price), count(DISTINCT name) FILTER (WHERE k > 100), count(*),
        sum(DISTINCT price), avg(DISTINCT k) FROM ch_big""",
    "distinct values of a join": "SELECT count(DISTINCT v), count(DISTINCT w), max(v) FROM ch_big JOIN ch_other USING (id)",
    "distinct values of few groups": "SELECT id % 3, count(DISTINCT v), min(DISTINCT v) FROM ch_big GROUP BY 1",
    "distinct values beside others of groups": """SELECT id % 3, count(DISTINCT v), count(DISTINCT v) FILTER (WHERE k > 9),
        sum(v) FROM ch_big GROUP BY 1""",
    "no distinct values": "SELECT count(DISTINCT v), sum(DISTINCT k), sum(k), count(*) FROM ch_big WHERE id < 0",
    "window": """SELECT k, max(n), sum(s) FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS n,
        sum(v) OVER (PARTITION BY k) AS s FROM ch_big) t GROUP BY k""",
    "window over one partition": """SELECT id, row_number() OVER w AS n, rank() OVER w, lag(name, 5) OVER w,
        lead(price) OVER w, sum(price) OVER w FROM ch_big WHERE v % 2 = 0 WINDOW w AS (ORDER BY v)""",
    "anti-join": "SELECT id FROM ch_big b WHERE NOT EXISTS (SELECT FROM ch_other o WHERE o.id = b.id AND w > 1000)",
    "set operation": "SELECT id FROM ch_big EXCEPT SELECT id FROM ch_other",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    warm_up()  # importing the planner's modules would delay the workers' heartbeats in this process
    made = Cluster(cpu_processes(WORKERS, WORKERS * 600 * 2**20))
    faults.install(made)
    yield made
    made.close()


@pytest.fixture
def engine(cluster: Cluster, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> ClusterEngine:
    """Workers with little memory."""
    monkeypatch.setattr(cluster, "memory_space", lambda: SPACE)
    assert faults.whole(cluster)
    return ClusterEngine(cluster, lab.database.cpu)


def _rows(engine: Engine, request: Request) -> list[tuple[str | None, ...]]:
    return local_stages.as_text(engine.run(request), [column.type for column in request.query.columns])


def _told(node: PlanNode, label: str) -> list[str]:
    found = [value for name, value in node.details if name == label]
    return found + [value for each in node.inputs for value in _told(each, label)]


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_answer_is_the_same(engine: ClusterEngine, lab: Lab, cluster: Cluster, name: str) -> None:
    request = lab.request(STATEMENTS[name])
    planned = engine._plan(request)
    assert planned.chunks > 1
    given, wanted = _rows(engine, request), embedded(lab, request)
    assert (given if name == "sort" else sorted_rows(given)) == (wanted if name == "sort" else sorted_rows(wanted))
    assert _left(cluster) == []
    assert faults.idle(cluster, within=60)


def test_a_share_asks_each_worker_once_for_all_its_chunks(
    engine: ClusterEngine, lab: Lab, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "memory_space", lambda: MemorySpace(SPACE.tables, 2**18))
    request = lab.request(STATEMENTS["many groups"])
    planned, before = engine._plan(request), faults.asked(cluster)
    _rows(engine, request)
    assert planned.chunks > 10
    assert 0 < faults.asked(cluster) - before <= WORKERS * planned.chunks * (WORKERS - 1) * len(planned.stages)


def test_explain_analyze_tells_chunks_and_what_was_spilled(engine: ClusterEngine, lab: Lab) -> None:
    request = lab.request(STATEMENTS["join of two large"])
    told = engine.explain(request, analyze=True)
    chunks = engine._plan(request).chunks
    assert _told(told, "Chunks") == [f"{chunks} of each worker's rows"]
    # Both sides' columns are written at least once.
    assert sum(map(int, _told(told, "Bytes Spilled"))) > 8 * 3 * ROWS
    assert {share.worker for node in _walk(told) for share in node.shares} == set(range(WORKERS))
    assert not _told(engine.explain(request, analyze=False), "Bytes Spilled")


@pytest.mark.parametrize("measured", [False, True])
def test_explain_analyze_of_what_runs_out_of_memory(
    cluster: Cluster, lab: Lab, monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    """The run that measures stages may use smaller chunks, and the run that measures operators uses the same ones.

    If the latter lacks memory, its operators are not reported.
    """
    monkeypatch.setattr(cluster, "memory_space", lambda: MemorySpace(2**30, 2**30))
    assert faults.whole(cluster)
    engine = ClusterEngine(cluster, lab.database.cpu)
    ended = engine._run_to_end

    def armed(*given: Any, measure: bool = False) -> Any:
        if measure == measured:
            faults.arm(cluster, 0, "full", "compute", "hash")
        return ended(*given, measure=measure)

    monkeypatch.setattr(engine, "_run_to_end", armed)
    request = lab.request("SELECT k, sum(v), count(*) FROM ch_big GROUP BY k")
    assert engine._plan(request).chunks == 1
    told = engine.explain(request, analyze=True)
    assert _told(told, "Chunks") == ([] if measured else ["4 of each worker's rows"])
    # Stages are measured on both workers; a scan, which is an operator, only in the second run.
    assert all({share.worker for share in node.shares} == {0, 1} for node in _walk(told) if "Exchange" in node.operator)
    (scan,) = (node for node in _walk(told) if node.operator.endswith("Scan"))
    assert scan.rows == (None if measured else ROWS)


def _walk(node: PlanNode) -> Iterator[PlanNode]:
    yield node
    for each in node.inputs:
        yield from _walk(each)


def test_a_statement_that_runs_out_of_memory_goes_on_in_smaller_chunks(
    cluster: Cluster, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "memory_space", lambda: MemorySpace(2**30, 2**30))
    assert faults.whole(cluster)
    engine = ClusterEngine(cluster, lab.database.cpu)
    sql = "SELECT k, sum(price), count(*) FROM ch_big GROUP BY k"
    request = lab.request(sql)
    assert engine._plan(request).chunks == 1
    faults.arm(cluster, 0, "full", "compute", "hash")
    assert sorted_rows(_rows(engine, request)) == sorted_rows(embedded(lab, request))
    # The plan keeps its smaller chunks for a while.
    assert engine._plan(request).chunks > 1
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + CHUNKED_SECONDS)
    monkeypatch.setattr(request_planner, "time", later)
    assert engine._plan(request).chunks == 1


def test_what_the_smallest_chunks_do_not_help_ends_in_an_error(
    engine: ClusterEngine, lab: Lab, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "next_chunks", lambda chunks: None)
    faults.arm(cluster, 0, "full", "compute", "hash")
    with pytest.raises(GpudbError) as failed:
        _rows(engine, lab.request(STATEMENTS["many groups"]))
    assert failed.value.sqlstate == "53200"
    assert _left(cluster) == []
    assert faults.idle(cluster, within=60)


def test_rows_that_have_to_come_together_beyond_memory_are_a_clear_error(
    engine: ClusterEngine, lab: Lab, cluster: Cluster
) -> None:
    """No worker is lost by it, and smaller chunks are not tried: all rows are one partition."""
    request = lab.request("SELECT max(n), sum(v) FROM (SELECT ntile(9) OVER (ORDER BY v, id) AS n, v FROM ch_big) t")
    workers = [nanny.pid for nanny in cluster._launcher.cluster.workers.values()]
    # While rows are received, and while they are sorted.
    for left in (ROWS, 8 * 2 * 3 * ROWS):
        cluster._client.run(faults.room, left)
        try:
            with pytest.raises(GpudbError) as failed:
                _rows(engine, request)
        finally:
            cluster._client.run(faults.room, 2**60)
        assert failed.value.sqlstate == "53200"
        assert "come together" in str(failed.value.detail)
        assert _left(cluster) == []
    assert faults.idle(cluster, within=60)
    assert sorted_rows(_rows(engine, request)) == sorted_rows(embedded(lab, request))
    assert [nanny.pid for nanny in cluster._launcher.cluster.workers.values()] == workers


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(DISTINCT v), count(DISTINCT id), sum(k) FROM ch_big",
        "SELECT k % 2, count(DISTINCT id) FROM ch_big GROUP BY 1",
        "SELECT k % 2 AS b, id FROM ch_big ORDER BY b, id DESC",
        "SELECT max(n), sum(l), max(s) FROM (SELECT row_number() OVER w AS n, lag(v) OVER w AS l, sum(k) OVER w AS s"
        " FROM ch_big WINDOW w AS (ORDER BY v, id)) t",
    ],
)
def test_rows_that_need_not_come_together_do_not(lab: Lab, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """However few groups there are, or values of an order's first key: no stage receives more than some of the rows."""
    most, compute = 0, local_stages.execute_stage

    def measured(task: Any, tables: Any, received: Any, *more: Any) -> Any:
        nonlocal most
        most = max(most, sum(each.rows for parts in received.values() for each in parts))
        return compute(task, tables, received, *more)

    monkeypatch.setattr(local_stages, "execute_stage", measured)
    request = lab.request(sql)
    given, wanted = (
        local_stages.rows(request, 1, lab.database.cpu, Costs(broadcast=2**16), chunks=16),
        embedded(lab, request),
    )
    assert (given if "ORDER" in sql else sorted_rows(given)) == (wanted if "ORDER" in sql else sorted_rows(wanted))
    assert 0 < most < ROWS / 4


@pytest.mark.parametrize("given", [faults.room, faults.space])
def test_memory_that_runs_out_over_rows_that_have_to_come_together_ends_the_statement(
    engine: ClusterEngine, lab: Lab, cluster: Cluster, given: Callable[..., None]
) -> None:
    """One worker would hold as many rows however small chunks are."""
    request = lab.request("SELECT max(n) FROM (SELECT ntile(9) OVER (ORDER BY v, id) AS n FROM ch_big) t")
    chunks = engine._plan(request).chunks
    assert chunks > 1
    cluster._client.run(given, 8 * 2 * 8 * ROWS)
    try:
        faults.arm(cluster, 0, "full", "compute", "result")
        with pytest.raises(GpudbError) as failed:
            _rows(engine, request)
    finally:
        cluster._client.run(given, 2**60)
    assert (failed.value.sqlstate, "come together" in str(failed.value.detail)) == ("53200", True)
    assert engine._plan(request).chunks == chunks
    assert _left(cluster) == []
    assert faults.idle(cluster, within=60)
    # With room for many more copies, something else exhausted memory.
    faults.arm(cluster, 0, "full", "compute", "result")
    assert _rows(engine, request) == embedded(lab, request)
    assert engine._plan(request).chunks > chunks


def test_workers_that_do_not_come_back_from_a_lack_of_memory_are_told_as_that(
    engine: ClusterEngine, lab: Lab, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers, asked = cluster.peers, 0

    async def gone(within: float) -> tuple[str, ...]:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise SqlError.of("system_error", "the workers of the cluster are starting again")
        return await peers()

    monkeypatch.setattr(cluster, "peers", gone)
    faults.arm(cluster, 0, "full", "compute", "hash")
    with pytest.raises(GpudbError) as failed:
        _rows(engine, lab.request(STATEMENTS["many groups"]))
    assert (failed.value.sqlstate, asked) == ("53200", 2)


def test_there_is_an_end_to_smaller_chunks() -> None:
    tried = [1]
    while (chunks := next_chunks(tried[-1])) is not None:
        tried.append(chunks)
    assert tried[-1] == MAX_CHUNKS
    assert len(tried) <= 5


def test_a_cancel_leaves_no_file(engine: ClusterEngine, lab: Lab, cluster: Cluster) -> None:
    cancel = Cancel()
    request = lab.request(STATEMENTS["join of two large"], cancel=cancel)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            _rows(engine, request)
        except GpudbError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    ends = time.monotonic() + 20
    while not _temporary(cluster) and time.monotonic() < ends and thread.is_alive():
        time.sleep(0.005)
    cancel.stop("canceling statement due to user request")
    thread.join(60)
    assert [getattr(error, "sqlstate", error) for error in failed] == ["57014"]
    assert _left(cluster) == []
    assert faults.idle(cluster, within=60)


def test_a_killed_worker_leaves_no_file(engine: ClusterEngine, lab: Lab, cluster: Cluster) -> None:
    request = lab.request(STATEMENTS["many groups"])
    faults.arm(cluster, 0, "kill", "compute", "result")
    assert sorted_rows(_rows(engine, request)) == sorted_rows(embedded(lab, request))
    assert faults.whole(cluster)
    assert _left(cluster) == []
    assert faults.idle(cluster, within=60)


def _left(cluster: Cluster) -> list[str]:
    """Returns the files that workers hold for a statement, if they hold them for long."""
    ends = time.monotonic() + 60
    while (left := _temporary(cluster)) and time.monotonic() < ends:
        time.sleep(0.05)
    return left


def _temporary(cluster: Cluster) -> list[str]:
    """Returns the temporary files that workers have open, and those in their folders."""
    found: list[str] = []
    for nanny in cluster._launcher.cluster.workers.values():
        if nanny.pid is None:
            continue
        try:
            links = [str(each.readlink()) for each in Path(f"/proc/{nanny.pid}/fd").iterdir() if each.is_symlink()]
        except FileNotFoundError:  # closed meanwhile
            continue
        found += [each for each in links if "/results-" in each]
    folders = {Path(nanny.local_directory) for nanny in cluster._launcher.cluster.workers.values()}
    lying = (each for folder in folders for each in folder.glob("**/results-*/*") if not each.is_socket())
    return found + list(map(str, lying))


def test_chunks_are_a_worker_s_rows_each_once(lab: Lab) -> None:
    for name in ("ch_big", "ch_other"):
        table = table_of(lab, name)
        for workers, chunks in ((1, 4), (3, 5)):
            for worker in range(workers):
                own = Partition(worker, workers).row_ranges(table)
                parts = [
                    Partition(worker * chunks + n, workers * chunks, chunks).row_ranges(table) for n in range(chunks)
                ]
                for file in table.files:
                    runs = sorted(rows for each in parts for rows in [each[file.path]] if rows[0] < rows[1])
                    assert [n for run in runs for n in range(*run)] == list(range(*own[file.path]))


def test_what_fits_is_not_cut(lab: Lab) -> None:
    root = plan(lab, STATEMENTS["join of two large"])
    assert choose_chunks(root, WORKERS, MemorySpace(2**30, 2**30)) == 1
    few, many = (choose_chunks(root, WORKERS, MemorySpace(2**20, size)) for size in (2**24, 2**22))
    assert 1 < few < many <= MAX_CHUNKS
    assert choose_chunks(root, WORKERS, MemorySpace(2**10, 2**10)) == MAX_CHUNKS


def test_a_window_takes_more_memory_than_its_rows(lab: Lab) -> None:
    space = MemorySpace(2**30, 2**23)
    rows, window = (
        choose_chunks(plan(lab, f"SELECT v, id, {more} AS n FROM ch_big"), 1, space)
        for more in ("k", "row_number() OVER (ORDER BY v, id)")
    )
    assert window > 2 * rows > 2


def test_rows_on_their_way_and_raw_texts_take_memory(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root = plan(lab, STATEMENTS["join of two large"])
    space = MemorySpace(2**30, 2**22)
    # With the same rows per worker, one more copy if there are other workers to send them to.
    assert choose_chunks(root, 2, MemorySpace(2**30, 2**21)) > choose_chunks(root, 1, space) > 1
    monkeypatch.setattr(cut, "MANY_ROWS", ROWS)
    table = table_of(lab, "ch_big")
    place = next(place for place, column in enumerate(table.columns) if column.name == "name")
    for distinct, taken in ((977, 4), (ROWS, 28)):
        found = ColumnStatistics(table.columns[place].field_id, ROWS, 0, distinct, 14)
        assert cut._packed_row_bytes(Scan(replace(table, statistics=(found,)), (place,))) == taken


def test_a_part_that_has_no_memory_is_tried_in_one_chunk_alone(lab: Lab) -> None:
    tried: list[Partition] = []

    def full(node: object, builds: object, share: Partition, parameters: object, key: object) -> pl.DataFrame | None:
        tried.append(share)
        raise MemoryError("injected")

    request = lab.request("SELECT count(*), sum(v) FROM ch_big WHERE k > 7")
    given = local_stages.rows(request, 2, lab.database.cpu, Costs(scan=0), kernels=full, chunks=4)
    assert sorted_rows(given) == sorted_rows(embedded(lab, request))
    # Once more, after memory was freed.
    assert len(tried) == 2
    assert len(set(tried)) == 1


def test_a_build_side_that_would_fill_the_memory_is_not_fused(lab: Lab) -> None:
    """Each chunk would build its table anew, of all its rows."""

    def joins(statements: int) -> bool:
        planner = Planner(lab.database.cpu, Costs(workers=1, scan=0), fuse=True)
        planned = planner.plan(lab.request(STATEMENTS["join of two large"]), MemorySpace(2**30, statements))
        return any(
            node.builds for stage in planned.stages for node in walk_nodes(stage.root) if isinstance(node, Fused)
        )

    assert joins(2**30)
    assert not joins(3 * 2**20)


def test_a_stage_leaves_nothing_that_only_a_search_for_cycles_frees(lab: Lab) -> None:
    """It would hold a GPU's memory meanwhile."""
    request = lab.request(
        "SELECT name, count(*) FROM ch_big JOIN ch_kinds ON v % 90 = w GROUP BY name ORDER BY 2 LIMIT 3"
    )
    gc.collect()
    gc.disable()
    try:
        for fused in (None, NumpyRunner(PackedTables(2**30))):
            local_stages.rows(request, 2, lab.database.cpu, kernels=fused, chunks=2)
            assert not [each for each in gc.get_objects() if isinstance(each, StageLowering)]
    finally:
        gc.enable()
