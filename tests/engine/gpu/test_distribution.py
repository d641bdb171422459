"""Tables DISTRIBUTE BY HASH and REPLICATION: joins and groups that move no rows, and equal answers everywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudb.catalog.distribution import get_bucket_worker
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.cache.partition import Partition, scan_partition
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.errors import GpudbError
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import WHOLE
from gpudb.plan.tree.stage_nodes import Partial, Receive
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab, table_of
from tests.support.plan_text import stages

SETUP = """
CREATE TABLE ds_order (o int, c bigint, day date, total numeric(10,2)) DISTRIBUTE BY HASH (o);
INSERT INTO ds_order SELECT nullif(i, 77), i % 40, '2024-01-01'::date + i % 9, i / 4.0 FROM generate_series(1, 900) i;
CREATE TABLE ds_line (o bigint, n int, what text, price numeric(12,2)) DISTRIBUTE BY HASH (o);
INSERT INTO ds_line SELECT nullif(i % 700, 5), i, 'w' || i % 11, i / 8.0 FROM generate_series(1, 2500) i;
CREATE TABLE ds_nation (c int, name varchar(20)) DISTRIBUTE BY REPLICATION;
INSERT INTO ds_nation SELECT i, 'n' || i % 6 FROM generate_series(0, 30) i;
CREATE TABLE ds_region (name text, region text) DISTRIBUTE BY REPLICATION;
INSERT INTO ds_region SELECT 'n' || i, 'r' || i % 2 FROM generate_series(0, 5) i;
CREATE TABLE ds_word (what varchar(9), k int) DISTRIBUTE BY HASH (what);
INSERT INTO ds_word SELECT 'w' || i, i FROM generate_series(0, 20) i;
CREATE TABLE ds_loose (o int, x int) DISTRIBUTE BY ROUNDROBIN;
INSERT INTO ds_loose SELECT i, i * 3 FROM generate_series(1, 600) i;
CREATE TABLE ds_cents (total numeric(14,2), y int) DISTRIBUTE BY HASH (total);
INSERT INTO ds_cents SELECT i / 4.0, i FROM generate_series(1, 300) i;
CREATE TABLE ds_totals (total numeric(10,2)) DISTRIBUTE BY HASH (total);
INSERT INTO ds_totals SELECT i / 2.0 FROM generate_series(1, 300) i
"""
STILL = {
    "join on the columns, of other widths": "SELECT a.o, n, price FROM ds_order a JOIN ds_line l ON a.o = l.o",
    "left join": "SELECT a.o, n FROM ds_order a LEFT JOIN ds_line l ON a.o = l.o AND n > 100",
    "semi-join": "SELECT o, total FROM ds_order a WHERE EXISTS (SELECT FROM ds_line l WHERE l.o = a.o AND n < 300)",
    "anti-join": "SELECT o FROM ds_order a WHERE NOT EXISTS (SELECT FROM ds_line l WHERE l.o = a.o)",
    "group by the column": "SELECT o, count(*), sum(price) FROM ds_line GROUP BY o",
    "group by it and more": "SELECT o, what, count(distinct n) FROM ds_line GROUP BY o, what",
    "join, then groups": """SELECT a.o, count(*), max(day) FROM ds_order a JOIN ds_line l ON a.o = l.o
        WHERE what <> 'w3' GROUP BY a.o""",
    "window by the column": "SELECT o, n, row_number() OVER (PARTITION BY o ORDER BY n) FROM ds_line",
    "replicated side": "SELECT a.o, name FROM ds_order a JOIN ds_nation r ON a.c = r.c WHERE name < 'n4'",
    "replicated join as a side": """SELECT l.n, region FROM ds_line l JOIN ds_order a ON a.o = l.o
        JOIN ds_nation r ON r.c = a.c JOIN ds_region g ON g.name = r.name""",
    "two replicated": "SELECT r.c, region FROM ds_nation r JOIN ds_region g ON g.name = r.name",
    "replicated, filtered by NOT EXISTS": """SELECT o FROM ds_order a
        WHERE NOT EXISTS (SELECT FROM ds_nation r WHERE r.c = a.c AND r.name = 'n1')""",
    "decimals of one scale": "SELECT y FROM ds_cents c JOIN ds_totals t ON c.total = t.total",
    "of a union": "SELECT o FROM ds_order UNION ALL SELECT o FROM ds_loose",
}
MOVED = {
    "another column": "SELECT a.c, count(*) FROM ds_order a JOIN ds_line l ON a.c = l.o GROUP BY a.c",
    "a spread table": "SELECT a.o, x FROM ds_order a JOIN ds_loose l ON a.o = l.o",
    "texts": "SELECT what, count(*), min(k) FROM ds_word JOIN ds_line USING (what) GROUP BY what",
    "no keys": "SELECT count(*), sum(price), count(distinct what) FROM ds_line",
    "full join": "SELECT a.o, l.o FROM ds_order a FULL JOIN ds_line l ON a.o = l.o",
    "all of a replicated table": "SELECT * FROM ds_nation",
    "groups of one": "SELECT name, count(*) FROM ds_nation GROUP BY name",
    "not in": "SELECT o FROM ds_loose WHERE o NOT IN (SELECT c FROM ds_nation)",
    "the last of an order": "SELECT o, n FROM ds_line ORDER BY n DESC LIMIT 5",
    "no columns": "SELECT count(*) FROM ds_order, ds_nation",
    "one bucket": "SELECT * FROM ds_line WHERE o = 33",
    "set operation": "SELECT o FROM ds_order EXCEPT SELECT o FROM ds_line",
}
TO_BUCKETS = {
    "of another table": "SELECT a.o, x FROM ds_order a JOIN ds_loose l ON a.o = l.o",
    "of another column": "SELECT a.o, n FROM ds_order a JOIN ds_line l ON a.o = l.n",
    "outer, on the left": "SELECT l.o, x, total FROM ds_loose l LEFT JOIN ds_order a ON a.o = l.o",
    "outer, on the right": "SELECT a.o, x FROM ds_order a LEFT JOIN ds_loose l ON a.o = l.o",
    "of an expression, then groups": """SELECT a.o, count(*), sum(x) FROM ds_order a
        JOIN ds_loose l ON a.o = l.x / 3 GROUP BY a.o""",
    "semi-join": "SELECT o, n FROM ds_line WHERE o IN (SELECT x FROM ds_loose WHERE x > 30)",
    "anti-join": "SELECT o FROM ds_order a WHERE NOT EXISTS (SELECT FROM ds_loose l WHERE l.x = a.o)",
    "texts": "SELECT l.n, k FROM ds_word w JOIN ds_line l ON w.what = l.what",
    "decimals": "SELECT y, n FROM ds_cents c JOIN ds_line l ON c.total = l.price",
}
LOCAL = {
    "join on the column": """SELECT what, count(*), sum(price), max(total) FROM ds_line l JOIN ds_order a ON a.o = l.o
        GROUP BY what""",
    "groups by the column": "SELECT o, count(*), sum(price) FROM ds_line GROUP BY o",
    "join, groups, first of them": """SELECT l.o, day, sum(price) FROM ds_line l JOIN ds_order a ON a.o = l.o
        WHERE day > '2024-01-03' GROUP BY l.o, day ORDER BY 3 DESC, 1 LIMIT 5""",
    "semi-join": """SELECT what, count(*) FROM ds_line l
        WHERE EXISTS (SELECT FROM ds_order a WHERE a.o = l.o AND total > 5) GROUP BY what""",
    "anti-join": """SELECT what, count(*) FROM ds_line l
        WHERE NOT EXISTS (SELECT FROM ds_order a WHERE a.o = l.o AND total > 50) GROUP BY what""",
    "left join": """SELECT what, count(total), min(day) FROM ds_line l LEFT JOIN ds_order a ON a.o = l.o
        GROUP BY what""",
    "replicated beside it": """SELECT name, count(*), sum(price) FROM ds_line l JOIN ds_order a ON a.o = l.o
        JOIN ds_nation r ON r.c = a.c GROUP BY name""",
    "distinct values by the column": "SELECT o, count(DISTINCT what) FROM ds_line GROUP BY o",
    "a kernel's rows": """SELECT l.n, total FROM ds_line l JOIN ds_order a ON a.o = l.o
        WHERE day = '2024-01-05' AND price < 100""",
}
BESIDE = {
    "to buckets": "SELECT what, sum(x) FROM ds_line l JOIN ds_loose x ON x.o = l.o GROUP BY what",
    "not by the column": "SELECT what, sum(y) FROM ds_line l JOIN ds_cents c ON c.y = l.n GROUP BY what",
    "not in": "SELECT what, count(*) FROM ds_line WHERE o NOT IN (SELECT o FROM ds_order WHERE o > 9) GROUP BY what",
    "not in, of NULLs": "SELECT what, count(*) FROM ds_line WHERE o NOT IN (SELECT o FROM ds_order) GROUP BY what",
    "two keys": """SELECT what, count(*) FROM ds_line l JOIN ds_order a ON a.o = l.o AND a.c = l.n
        GROUP BY what""",
}
APART = Costs(exchange=0, broadcast=64, range=10**9, groups=10**9)


@pytest.mark.parametrize("name", STILL)
def test_no_row_moves(lab: Lab, name: str) -> None:
    (only,) = stages(lab, STILL[name], APART)
    assert only.output == "result"


SMALL = replace(APART, small=1000)
READ_WHOLE = {
    "a side": "SELECT l.n, y FROM ds_line l JOIN ds_cents c ON c.y = l.n",
    "the left side": "SELECT l.n, x FROM ds_loose x JOIN ds_line l ON l.n = x.x + 1",
    "both sides are small": "SELECT x, y FROM ds_loose x JOIN ds_cents c ON c.y = x.x",
    "a join as a side": "SELECT n, y FROM ds_line l JOIN (ds_cents c JOIN ds_loose x ON x.x = c.y) ON x.o = l.n",
    "anti-join": "SELECT n FROM ds_line l WHERE NOT EXISTS (SELECT FROM ds_cents c WHERE c.y = l.n AND y > 20)",
    "not in": "SELECT n FROM ds_line l WHERE n NOT IN (SELECT y FROM ds_cents WHERE y % 2 = 0)",
    "no keys": "SELECT n, k FROM ds_line, ds_word WHERE k < n AND n < 5",
}
NOT_READ_WHOLE = {
    "groups": "SELECT n, t FROM ds_line l JOIN (SELECT y % 9 AS k, sum(total) AS t FROM ds_cents GROUP BY 1) c ON k = n",
    "large": "SELECT l.n, m.what FROM ds_line l JOIN ds_line m ON m.n = l.o",
    "a large join": """SELECT count(*) FROM ds_line l
        JOIN (SELECT x.x + c.y AS s FROM ds_loose x, ds_cents c) d ON d.s = l.n""",
}


@pytest.mark.parametrize("name", READ_WHOLE)
def test_small_tables_that_are_joined_are_read_by_every_worker(lab: Lab, name: str) -> None:
    (only,) = stages(lab, READ_WHOLE[name], SMALL)
    assert only.output == "result"
    assert len(stages(lab, READ_WHOLE[name], APART)) > 1


@pytest.mark.parametrize("name", NOT_READ_WHOLE)
def test_groups_large_tables_and_large_joins_are_made_once(lab: Lab, name: str) -> None:
    found = stages(lab, NOT_READ_WHOLE[name], replace(SMALL, small=301))
    assert len(found) > 1
    scans = [node for stage in found for node in walk_nodes(stage.root) if isinstance(node, nodes.Scan)]
    assert not any(scan.part == nodes.WHOLE for scan in scans if scan.table.name == "ds_line")
    assert name != "groups" or not any(scan.part for scan in scans)


@pytest.mark.parametrize("name", TO_BUCKETS)
def test_only_the_other_side_moves(lab: Lab, name: str) -> None:
    moved, last = stages(lab, TO_BUCKETS[name], APART)
    assert (moved.output, moved.hash_name != "", last.output) == ("hash", True, "result")


@pytest.mark.parametrize("name", LOCAL)
def test_build_sides_and_groups_of_kernels_stay(lab: Lab, name: str) -> None:
    """Tables distributed by one hash, which kernels join and group by it."""
    planner = Planner(lab.database.cpu, Costs(workers=3, scan=0), fuse=True)
    made = planner.plan(lab.request(LOCAL[name]))
    fused = [node for stage in made.stages for node in walk_nodes(stage.root) if isinstance(node, Fused)]
    assert fused
    assert not any(isinstance(node, Receive) for each in fused for node in walk_nodes(each))
    assert made.two_phase is not None
    # Only groups by other columns move, apart from the result.
    moved = [each for each in made.stages if each.output == "hash"]
    assert all(isinstance(each.root, Fused) and isinstance(each.root.root, Partial) for each in moved)
    assert len(moved) == (0 if "GROUP BY o" in LOCAL[name] or "GROUP BY l.o" in LOCAL[name] else "GROUP" in LOCAL[name])
    assert {each.output for each in made.stages} <= {"hash", "gather", "result"}


def test_a_large_build_side_goes_where_its_partners_lie(lab: Lab) -> None:
    for exchange, wanted in ((0, "hash"), (2**20, "broadcast")):
        planner = Planner(lab.database.cpu, Costs(workers=3, scan=0, exchange=exchange), fuse=True)
        moved = planner.plan(lab.request(BESIDE["to buckets"])).stages[0]
        assert (moved.output, moved.hash_name != "") == (wanted, wanted == "hash")


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_answers_of_kernels_are_the_same(lab: Lab, workers: int) -> None:
    for sql in [*LOCAL.values(), *BESIDE.values()]:
        request = lab.request(sql)
        wanted = sorted_rows(embedded(lab, request))
        assert wanted or "NOT IN" in sql, sql
        for chunks, exchange in ((1, 0), (1, 2**20), (5, 0)):
            costs, kernels = Costs(scan=0, exchange=exchange), NumpyRunner(local_stages.PACKED)
            given = local_stages.rows(request, workers, lab.database.cpu, costs, chunks=chunks, kernels=kernels)
            assert sorted_rows(given) == wanted, sql
            assert kernels.ran


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_answers_are_the_same(lab: Lab, workers: int) -> None:
    for sql in [*STILL.values(), *MOVED.values(), *TO_BUCKETS.values(), *READ_WHOLE.values(), *NOT_READ_WHOLE.values()]:
        request = lab.request(sql)
        wanted = sorted_rows(embedded(lab, request))
        assert wanted, sql
        for costs in (APART, SMALL, Costs()):
            given = local_stages.rows(request, workers, lab.database.cpu, costs)
            assert sorted_rows(given) == wanted, sql
        for costs in (None, Costs(scan=1000, small=1000)):
            fused = local_stages.rows(
                request, workers, lab.database.cpu, costs, kernels=NumpyRunner(local_stages.PACKED)
            )
            assert sorted_rows(fused) == wanted, sql


@pytest.mark.parametrize("workers, chunks", [(1, 3), pytest.param(3, 11, marks=pytest.mark.soak)])
def test_answers_are_the_same_in_chunks(lab: Lab, workers: int, chunks: int) -> None:
    for sql in [*STILL.values(), *MOVED.values(), *TO_BUCKETS.values()]:
        request = lab.request(sql)
        wanted = sorted_rows(embedded(lab, request))
        for costs in (APART, SMALL):
            given = local_stages.rows(
                request, workers, lab.database.cpu, costs, chunks=chunks, kernels=NumpyRunner(local_stages.PACKED)
            )
            assert sorted_rows(given) == wanted, sql


def test_a_worker_reads_its_buckets_alone(lab: Lab) -> None:
    table = table_of(lab, "ds_line")
    held = [ResidentTables(2**30) for _ in range(3)]
    rows = [
        tables.frame(nodes.Scan(table, (0,)), Partition(n, 3), ()).lazy.collect().height
        for n, tables in enumerate(held)
    ]
    assert sum(rows) == 2500
    assert rows == [sum(f.rows for f in table.files if get_bucket_worker(f.bucket or 0, 3) == n) for n in range(3)]
    assert len(table.files) == 33  # NULL has a file of its own


def test_a_replicated_table_is_held_once(lab: Lab) -> None:
    table, tables = table_of(lab, "ds_nation"), ResidentTables(2**30)
    for whole, rows in ((False, 15), (True, 31)):
        scan = nodes.Scan(table, (0,), part=WHOLE if whole else None)
        assert tables.frame(scan, Partition(0, 2), ()).lazy.collect().height == rows
        assert scan_partition(scan, Partition(0, 2)).count == (1 if whole else 2)
    size = tables.bytes
    tables.frame(nodes.Scan(table, (0,)), Partition(1, 2), ())
    assert tables.bytes == size


def test_writes_and_changes_keep_the_buckets(lab: Lab) -> None:
    lab.run(
        "CREATE TABLE ds_kept AS SELECT i AS k, 'v' || i AS v FROM generate_series(1, 500) i DISTRIBUTE BY HASH (k)"
    )
    lab.run("UPDATE ds_kept SET k = k + 1000 WHERE k % 3 = 0; DELETE FROM ds_kept WHERE k < 20")
    assert table_of(lab, "ds_kept").bucketed
    before = lab.run("SELECT count(*), sum(k) FROM ds_kept")
    for clause, bucketed in (("HASH (v)", True), ("REPLICATION", False), ("ROUNDROBIN", False), ("HASH (k)", True)):
        lab.run(f"ALTER TABLE ds_kept DISTRIBUTE BY {clause}")
        assert table_of(lab, "ds_kept").bucketed is bucketed
        assert lab.run("SELECT count(*), sum(k) FROM ds_kept") == before
    lab.run("ALTER TABLE ds_kept ALTER COLUMN k TYPE bigint; ALTER TABLE ds_kept RENAME COLUMN k TO key")
    assert table_of(lab, "ds_kept").bucketed
    assert len(stages(lab, "SELECT key FROM ds_kept GROUP BY key", APART)) == 1


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("CREATE TABLE ds_bad (a float8) DISTRIBUTE BY HASH (a)", "0A000"),
        ("CREATE TABLE ds_bad (a int, b int) DISTRIBUTE BY HASH (a, b)", "0A000"),
        ("CREATE TABLE ds_bad (a int) DISTRIBUTE BY HASH (b)", "42703"),
        ("CREATE TABLE ds_bad (a int) DISTRIBUTE BY HASH", "42601"),
        ("CREATE TABLE ds_bad (a int) DISTRIBUTE BY REPLICATION (a)", "42601"),
        ("ALTER TABLE ds_line DISTRIBUTE BY HASH (nope)", "42703"),
        ("ALTER TABLE ds_line DROP COLUMN o", "0A000"),
        ("ALTER TABLE ds_line ALTER COLUMN o TYPE float8", "0A000"),
        ("ALTER TABLE ds_line SET TABLESPACE spread", "0A000"),
    ],
)
def test_what_is_refused(lab: Lab, sql: str, state: str) -> None:
    with pytest.raises(GpudbError) as refused:
        lab.run(sql)
    assert refused.value.sqlstate == state
