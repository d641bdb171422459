"""Tables that were loaded into DuckDB's memory are freed once their rows change."""

from __future__ import annotations

from pathlib import Path

from gpudb.session.database import Database


def _memory(database: Database) -> int:
    """The bytes of memory and of temporary files that DuckDB uses."""
    with database.cpu.instance.connection.cursor() as cursor:
        ((size,),) = cursor.execute(
            "SELECT sum(memory_usage_bytes + temporary_storage_bytes)::BIGINT FROM duckdb_memory()"
        ).fetchall()
    return int(size)


def test_replaced_tables_are_freed(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    session = database.session("gpudb")

    def run(sql: str) -> None:
        for result in session.run(sql):
            list(result.batches)

    try:
        run("CREATE TABLE t AS SELECT g AS a, 'text ' || g AS b FROM generate_series(1, 100000) g")
        run("SELECT sum(a), max(b) FROM t")
        before = _memory(database)
        for _ in range(20):
            run("UPDATE t SET a = a + 1 WHERE a < 100")
            run("SELECT sum(a), max(b) FROM t")
        assert _memory(database) < 3 * before
    finally:
        session.close()
        database.close()
