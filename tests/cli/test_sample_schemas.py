"""Whole schemas: restored by psql, queried, dumped and restored again; the same as on PostgreSQL at each step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client_programs import run
from tests.support.oracle.server import Oracle

_SCHEMAS = Path(__file__).parent / "schemas"
_NAMES = ("rentals", "trade", "music")
_STRICT = ("-Xq", "-v", "ON_ERROR_STOP=1")


def query(dsn: str, name: str) -> str:
    """The results of a schema's queries, of which some change it, undone at the end."""
    text = (_SCHEMAS / f"{name}.queries.sql").read_text(encoding="utf-8")
    return run(dsn, "psql", "-XAt", "-v", "ON_ERROR_STOP=1", "-c", f"BEGIN; {text}; ROLLBACK")


def list_catalog(dsn: str) -> str:
    """What the catalog says of the schema's relations."""
    return run(
        dsn,
        "psql",
        "-XAt",
        "-c",
        "SET search_path = ''",
        "-c",
        "SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,"
        " a.attgenerated, pg_get_expr(d.adbin, d.adrelid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
        " WHERE n.nspname IN ('public', 'trade') AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY 1, 2, a.attnum",
        "-c",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'trade')) ORDER BY 1, 2",
        "-c",
        "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
    )


@pytest.fixture
def databases(gpudb_server: str) -> Iterator[tuple[str, str]]:
    """Two empty databases of gpudb's."""
    names = ("schemas_first", "schemas_second")
    for name in names:
        run(gpudb_server, "psql", "-Xqc", f"CREATE DATABASE {name}")
    yield tuple(gpudb_server.replace("dbname=gpudb", f"dbname={name}") for name in names)  # type: ignore[misc]
    for name in names:
        run(gpudb_server, "psql", "-Xqc", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("name", _NAMES)
def test_a_schema_comes_and_goes_as_with_postgresql(
    name: str, databases: tuple[str, str], oracle: Oracle, tmp_path: Path
) -> None:
    first, second = databases
    file, dump = _SCHEMAS / f"{name}.sql", tmp_path / "dump.sql"
    with oracle.database(f"schema_{name}") as postgres:
        for dsn in (postgres, first):
            run(dsn, "psql", *_STRICT, "-f", str(file))
        run(first, "pg_dump", "--no-table-access-method", "-f", str(dump))
        expected, catalog = query(postgres, name), list_catalog(postgres)
        assert query(first, name) == expected
        assert list_catalog(first) == catalog
        run(second, "psql", *_STRICT, "-f", str(dump))
        assert query(second, name) == expected
        assert list_catalog(second) == catalog
        # what gpudb dumps goes into PostgreSQL, too
        with oracle.database(f"schema_{name}_again") as again:
            text = dump.read_text(encoding="utf-8").replace("OWNER TO gpudb", "OWNER TO CURRENT_USER")
            dump.write_text(text, encoding="utf-8")
            run(again, "psql", *_STRICT, "-f", str(dump))
            assert query(again, name) == expected
