"""Every engine reads partitioned tables as their partitions' rows, and only the partitions that a filter leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.protocol import Engine
from gpudb.storage.iceberg.column_ranges import column_ranges
from gpudb.storage.partitions.pruning import list_leaves, prune_table
from tests.support.lab import Lab, answer

QUERIES = (
    "SELECT count(*), sum(a), min(d), max(d) FROM {}",
    "SELECT count(*), sum(a) FROM {} WHERE d >= '2021-02-01' AND d < '2021-03-01'",
    "SELECT count(*), sum(a) FROM {} WHERE d = '2020-05-05'",
    "SELECT c, count(*), sum(a), max(n) FROM {} WHERE d > '2020-11-11' GROUP BY c ORDER BY c",
    "SELECT c, count(*) FROM {} WHERE d IN ('2020-01-02', '2022-01-02') GROUP BY c ORDER BY c",
    "SELECT a, d, c, n FROM {} WHERE a BETWEEN 360 AND 370 ORDER BY a",
    "SELECT count(*) FROM {} WHERE d < '1999-01-01'",
    "SELECT a FROM {} ORDER BY a DESC LIMIT 3",
    "SELECT count(*), sum(x.a) FROM {} AS x JOIN {} AS y ON x.a = y.a + 1 WHERE y.d > '2021-06-01'",
)
CREATED = """
    CREATE TABLE parted (a int, d date, c text, n numeric(10, 2)) PARTITION BY RANGE (d);
    CREATE TABLE p20 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('2021-01-01');
    CREATE TABLE p21 PARTITION OF parted FOR VALUES FROM ('2021-01-01') TO ('2022-01-01') PARTITION BY LIST (c);
    CREATE TABLE p21x PARTITION OF p21 FOR VALUES IN ('c0', 'c1', NULL);
    CREATE TABLE p21d PARTITION OF p21 DEFAULT;
    CREATE TABLE late (n numeric(10, 2), c text, a int, d date);
    INSERT INTO late SELECT 5, 'first', 5000, '2022-06-06';
    ALTER TABLE parted ATTACH PARTITION late FOR VALUES FROM ('2022-01-01') TO (MAXVALUE);
    INSERT INTO parted SELECT k, date '2020-01-01' + k, nullif('c' || k % 7, 'c6'), k / 4.0
        FROM generate_series(0, 1000) k;
    CREATE TABLE plain AS SELECT * FROM parted;
"""


@pytest.fixture
def table(lab: Lab) -> Iterator[Lab]:
    lab.run(CREATED)
    yield lab
    lab.run("DROP TABLE parted, plain")


def test_every_engine_reads_the_rows_of_the_partitions(engine: Engine, table: Lab) -> None:
    for change in (
        "",
        "UPDATE {} SET d = d + 400, n = 1 WHERE a BETWEEN 100 AND 200",
        "DELETE FROM {} WHERE a % 10 = 3",
        "INSERT INTO {} SELECT k, date '2021-12-30' + k, 'new', 3 FROM generate_series(1, 5) k",
    ):
        if change:
            table.run(change.format("parted"))
            table.run(change.format("plain"))
        for query in QUERIES:
            found = answer(engine, table.request(query.format("parted", "parted")))
            assert found == answer(engine, table.request(query.format("plain", "plain"))), query


@pytest.mark.parametrize(
    ("where", "partitions"),
    [
        ("d = '2020-05-05'", {"p20"}),
        ("d >= '2021-12-31' AND d < '2022-01-01'", {"p21x", "p21d"}),
        ("d > '2021-12-31' AND c = 'c1'", {"p21x", "late"}),
        ("d = '2021-05-05' AND c = 'zz'", {"p21d"}),
        ("d IN ('2020-05-05', '2023-05-05')", {"p20", "late"}),
        ("d < '2021-01-01'", {"p20"}),
        ("d <= '2021-01-01' AND c IN ('c0', 'c1')", {"p20", "p21x"}),
        ("a > 5", {"p20", "p21x", "p21d", "late"}),
    ],
)
def test_a_filter_leaves_the_partitions_that_can_match(table: Lab, where: str, partitions: set[str]) -> None:
    request = table.request(f"SELECT * FROM parted WHERE {where}")
    scan = request.query.source  # type: ignore[union-attr]
    current = request.table(scan.table)  # type: ignore[union-attr]
    ranges = column_ranges(request.query.where, scan.rel, current, ())  # type: ignore[union-attr]
    names = {relation.oid: relation.name for relation in request.snapshot.relations.values()}
    everything = {names[file.partition] for file in current.files}
    assert everything == {"p20", "p21x", "p21d", "late"}
    assert {each.name for each in list_leaves(current, ranges)} == partitions
    read = {names[file.partition] for file in prune_table(current, ranges)}
    assert read <= partitions  # their files' own ranges may exclude more
    shown = "\n".join(line for (line,) in table.run(f"EXPLAIN SELECT * FROM parted WHERE {where}"))
    assert {name for name in everything if f" on {name} " in shown} == read
