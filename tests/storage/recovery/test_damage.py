"""One damaged table is one damaged table: it raises XX001 by name, everything else is served, and it can be dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from gpudb.storage.recovery.check import check
from tests.support.data_directory import run_over
from tests.support.lab import client_of_engine

STATEMENTS = (
    "SELECT count(*) FROM {}",
    "SELECT * FROM {} LIMIT 1",
    "SELECT 1 FROM sound JOIN {} USING (a)",
    "INSERT INTO {} VALUES (1)",
    "UPDATE {} SET a = 2",
    "DELETE FROM {}",
    "TRUNCATE {}",
    "COPY {} TO STDOUT",
    "ALTER TABLE {} ADD COLUMN b int",
    "CREATE TABLE copied AS TABLE {}",
    "ANALYZE {}",
)
READS = ("SELECT sum(a) FROM {}", "SELECT * FROM {} LIMIT 1", "SELECT 1 FROM sound JOIN {} USING (a)")
CHANGES = ("UPDATE {} SET a = 2", "COPY {} TO STDOUT", "CREATE TABLE copied AS TABLE {}")
ENGINES = ["cpu", pytest.param("twin", marks=pytest.mark.timeout(600))]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A client of a server, and by a table's name the file of it that is damaged."""

    engine: str
    connection: psycopg.Connection
    paths: Mapping[str, Path]

    def assert_told(self, statements: tuple[str, ...], table: str) -> None:
        """Each statement raises XX001 with the name of the table's file."""
        for statement in statements:
            with pytest.raises(psycopg.Error) as raised:
                self.connection.execute(statement.format(table))  # type: ignore[arg-type]
            assert raised.value.sqlstate == "XX001", statement
            assert self.paths[table].name in str(raised.value), statement


@pytest.fixture(scope="module", params=ENGINES)
def damaged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    """A server over a sound table and one of each damage; once all are dropped, nothing damaged is left."""
    directory = tmp_path_factory.mktemp("damaged") / "data"
    names = ("sound", "unreadable", "headless", "incomplete")
    oids = run_over(
        directory,
        *(f"CREATE TABLE {name} AS SELECT g AS a FROM generate_series(1, 10) g" for name in names),
        f"SELECT relname, oid FROM pg_class WHERE relname IN {names}",
    )
    folders = {name: directory / "tables" / str(oid) for name, oid in oids}
    paths = {name: max((folders[name] / "metadata").glob("*.metadata.json")) for name in ("unreadable", "headless")}
    paths["unreadable"].write_bytes(b"{")
    paths["headless"].unlink()
    assert sorted(name for name, _ in check(directory).problems) == ["public.headless", "public.unreadable"]
    (paths["incomplete"],) = (folders["incomplete"] / "data").glob("*.parquet")
    paths["incomplete"].unlink()
    with client_of_engine(request.param, directory=directory) as connection:
        yield Damaged(request.param, connection, paths)
        connection.execute("DROP TABLE IF EXISTS unreadable, headless, incomplete")
    assert not check(directory, deep=True).problems


@pytest.mark.parametrize("name", ["unreadable", "headless"])
def test_damaged_metadata(damaged: Damaged, name: str) -> None:
    connection, path = damaged.connection, damaged.paths[name]
    kept = sorted(each for each in path.parents[1].rglob("*.parquet"))
    assert kept
    assert connection.execute("SELECT sum(a) FROM sound WHERE a < 11").fetchall() == [(55,)]
    damaged.assert_told(STATEMENTS, name)
    listed = f"SELECT relname FROM pg_class WHERE relname IN ('sound', '{name}') ORDER BY 1"
    assert sorted(connection.execute(listed).fetchall()) == sorted([(name,), ("sound",)])  # type: ignore[arg-type]
    assert connection.execute("SELECT pg_total_relation_size('sound') > 0").fetchall() == [(True,)]
    connection.execute("INSERT INTO sound VALUES (11)")
    assert all(each.exists() for each in kept)
    connection.execute(f"DROP TABLE {name}")  # type: ignore[arg-type]
    connection.execute(f"CREATE TABLE {name} (a int)")  # type: ignore[arg-type]
    assert connection.execute(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]  # type: ignore[arg-type]


def test_a_missing_data_file(damaged: Damaged) -> None:
    connection = damaged.connection
    fallback = "off" if damaged.engine == "twin" else "on"
    connection.execute(f"SET gpudb.fallback = {fallback}")  # type: ignore[arg-type]
    damaged.assert_told(READS, "incomplete")
    connection.execute("SET gpudb.fallback = on")
    damaged.assert_told(CHANGES, "incomplete")
    assert connection.execute("SELECT sum(a) FROM sound WHERE a < 11").fetchall() == [(55,)]
