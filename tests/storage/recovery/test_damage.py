"""One damaged table is one damaged table: it raises XX001 by name, everything else is served, and it can be dropped."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from gpudb.storage.recovery.check import check
from tests.support.server_program import Program

STATEMENTS = (
    "SELECT count(*) FROM broken",
    "SELECT * FROM broken LIMIT 1",
    "SELECT 1 FROM sound JOIN broken USING (a)",
    "INSERT INTO broken VALUES (1)",
    "UPDATE broken SET a = 2",
    "DELETE FROM broken",
    "TRUNCATE broken",
    "COPY broken TO STDOUT",
    "ALTER TABLE broken ADD COLUMN b int",
    "CREATE TABLE copied AS TABLE broken",
    "ANALYZE broken",
)


def _metadata(directory: Path, name: str, dsn: str) -> Path:
    with psycopg.connect(dsn, autocommit=True) as connection:
        (oid,) = connection.execute("SELECT oid FROM pg_class WHERE relname = %s", (name,)).fetchone() or (0,)
    return max((directory / "tables" / str(oid) / "metadata").glob("*.metadata.json"))


@pytest.mark.parametrize("damage", [b"{", None])
@pytest.mark.parametrize("engine", ["cpu", "twin"])
def test_damaged_metadata(tmp_path: Path, engine: str, damage: bytes | None) -> None:
    directory = tmp_path / "data"
    with Program(directory, "--engine", engine) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE sound AS SELECT g AS a FROM generate_series(1, 10) g")
            connection.execute("CREATE TABLE broken AS SELECT g AS a FROM generate_series(1, 10) g")
        path = _metadata(directory, "broken", server.dsn)
        server.stop()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert [name for name, _ in check(directory).problems] == ["public.broken"]
    kept = sorted(each for each in path.parents[1].rglob("*.parquet"))
    with (
        Program(directory, "--engine", engine) as server,
        psycopg.connect(server.dsn, autocommit=True) as connection,
    ):
        assert connection.execute("SELECT sum(a) FROM sound").fetchall() == [(55,)]
        for statement in STATEMENTS:
            with pytest.raises(psycopg.Error) as raised:
                connection.execute(statement)  # type: ignore[arg-type]
            assert raised.value.sqlstate == "XX001", statement
            assert path.name in str(raised.value), statement
        listed = "SELECT relname FROM pg_class WHERE relname IN ('sound', 'broken') ORDER BY 1"
        assert connection.execute(listed).fetchall() == [("broken",), ("sound",)]
        assert connection.execute("SELECT pg_total_relation_size('sound') > 0").fetchall() == [(True,)]
        connection.execute("INSERT INTO sound VALUES (11)")
        assert all(each.exists() for each in kept)
        connection.execute("DROP TABLE broken")
        connection.execute("CREATE TABLE broken (a int)")
        assert connection.execute("SELECT count(*) FROM broken").fetchall() == [(0,)]
        server.stop()
    assert not check(directory, deep=True).problems


@pytest.mark.parametrize("engine", ["cpu", "twin"])
def test_a_missing_data_file(tmp_path: Path, engine: str) -> None:
    directory = tmp_path / "data"
    options = ("--engine", "twin", "--workers", "2") if engine == "twin" else ("--engine", engine)
    with Program(directory, *options) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE sound AS SELECT g AS a FROM generate_series(1, 10) g")
            connection.execute("CREATE TABLE broken AS SELECT g AS a FROM generate_series(1, 10) g")
        data = _metadata(directory, "broken", server.dsn).parents[1] / "data"
        server.stop()
    (path,) = data.glob("*.parquet")
    path.unlink()
    with Program(directory, *options) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        fallback = "off" if engine == "twin" else "on"
        connection.execute(f"SET gpudb.fallback = {fallback}")  # type: ignore[arg-type]
        reads = (
            "SELECT sum(a) FROM broken",
            "SELECT * FROM broken LIMIT 1",
            "SELECT 1 FROM sound JOIN broken USING (a)",
        )
        for statement in reads:
            with pytest.raises(psycopg.Error) as raised:
                connection.execute(statement)  # type: ignore[arg-type]
            assert raised.value.sqlstate == "XX001", statement
            assert path.name in str(raised.value), statement
        connection.execute("SET gpudb.fallback = on")
        for statement in ("UPDATE broken SET a = 2", "COPY broken TO STDOUT", "CREATE TABLE copied AS TABLE broken"):
            with pytest.raises(psycopg.Error) as raised:
                connection.execute(statement)  # type: ignore[arg-type]
            assert raised.value.sqlstate == "XX001", statement
            assert path.name in str(raised.value), statement
        assert connection.execute("SELECT sum(a) FROM sound").fetchall() == [(55,)]
        server.stop()
