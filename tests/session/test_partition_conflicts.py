"""Partitions that are added while others write: no row ends in a partition that its key does not lead to."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.support.session_fixtures import Connect

Connection = psycopg.Connection[tuple[Any, ...]]
ADD = {
    "create": ["CREATE TABLE fresh PARTITION OF parted FOR VALUES FROM (10) TO (20)"],
    "attach": [
        "CREATE TABLE fresh (a integer)",
        "ALTER TABLE parted ATTACH PARTITION fresh FOR VALUES FROM (10) TO (20)",
    ],
}


@pytest.fixture
def one(connect: Connect) -> Connection:
    """A session; `parted` has a partition below 10 and a default one, which is partitioned itself."""
    connection = connect()
    connection.execute("""
        DROP TABLE IF EXISTS parted;
        CREATE TABLE parted (a integer) PARTITION BY RANGE (a);
        CREATE TABLE low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (10);
        CREATE TABLE rest PARTITION OF parted DEFAULT PARTITION BY LIST (a);
        CREATE TABLE other PARTITION OF rest DEFAULT
    """)
    return connection


@pytest.mark.parametrize("how", ADD)
@pytest.mark.parametrize("first", ["partition", "row"])
@pytest.mark.parametrize("target", ["parted", "other"])
def test_a_row_of_the_default_partition_conflicts_with_a_new_one(
    connect: Connect, one: Connection, how: str, first: str, target: str
) -> None:
    """Of two transactions, one that adds a partition and one that writes a row of its range, the second one fails."""
    two = connect()
    for each in (one, two):
        each.execute("BEGIN")
        each.execute("SELECT count(*) FROM parted")
    for statement in ADD[how]:
        one.execute(statement)
    two.execute(f"INSERT INTO {target} VALUES (15)".encode())
    order = (one, two) if first == "partition" else (two, one)
    order[0].execute("COMMIT")
    with pytest.raises(psycopg.errors.SerializationFailure):
        order[1].execute("COMMIT")
    with connect() as third:
        found = third.execute("SELECT count(*), count(*) FILTER (WHERE a = 15) FROM parted").fetchone()
        assert found == ((0, 0) if first == "partition" else (1, 1))
        assert third.execute("SELECT count(*) FROM parted WHERE a = 15").fetchone() == found[:1]


def test_rows_that_a_new_partition_does_not_take_are_merged(connect: Connect, one: Connection) -> None:
    """A row of another partition is no conflict."""
    two = connect()
    for each in (one, two):
        each.execute("BEGIN")
        each.execute("SELECT count(*) FROM parted")
    one.execute(ADD["create"][0])
    two.execute("INSERT INTO parted VALUES (5)")
    one.execute("COMMIT")
    two.execute("COMMIT")
    assert two.execute("SELECT a, tableoid::regclass::text FROM low").fetchall() == [(5, "low")]
