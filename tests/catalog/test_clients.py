"""Client libraries that introspect the catalog: both servers return the same."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from tests.support.catalog_sides import Side

sqlalchemy = pytest.importorskip("sqlalchemy")


def _keywords(dsn: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in dsn.split())


def _inspected(side: Side) -> dict[str, Any]:
    """Everything that SQLAlchemy's inspector reports about the test's objects."""
    parts = _keywords(side.dsn)
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://gpudb@/gpudb", connect_args={k: v for k, v in parts.items() if k in ("host", "port")}
    )
    try:
        inspector = sqlalchemy.inspect(engine)
        found: dict[str, Any] = {
            "schemas": inspector.get_schema_names(),
            "tables": sorted(inspector.get_table_names()),
            "views": sorted(inspector.get_view_names()),
            "sales": sorted(inspector.get_table_names(schema="sales")),
            "has": [inspector.has_table("customers"), inspector.has_table("nothing")],
            "sequences": inspector.get_sequence_names(),
        }
        for schema, table in (
            (None, "customers"),
            (None, "orders"),
            (None, "parts"),
            ("sales", "regions"),
            (None, "v_cust"),
        ):
            found[table] = {
                "columns": [{**each, "type": str(each["type"])} for each in inspector.get_columns(table, schema)],
                "key": inspector.get_pk_constraint(table, schema),
                "foreign keys": inspector.get_foreign_keys(table, schema),
                "indexes": inspector.get_indexes(table, schema),
                "unique": inspector.get_unique_constraints(table, schema),
                "checks": inspector.get_check_constraints(table, schema),
                "comment": inspector.get_table_comment(table, schema),
            }
        reflected = sqlalchemy.MetaData()
        reflected.reflect(engine, views=True)
        found["reflected"] = sorted(reflected.tables)
        return found
    finally:
        engine.dispose()


def test_sqlalchemy(postgresql: Side, gpudb: Side) -> None:
    """SQLAlchemy's inspector and reflection."""
    assert _inspected(gpudb) == _inspected(postgresql)


def test_psycopg_type_info(postgresql: Side, gpudb: Side) -> None:
    """psycopg looks up types by name."""
    import psycopg
    from psycopg.types import TypeInfo

    def found(side: Side) -> list[Any]:
        with psycopg.connect(side.dsn) as connection:
            names = ("int4", "text", "numeric", "nothing", "timestamp with time zone")
            infos = [TypeInfo.fetch(connection, name) for name in names]
            return [info and (info.name, info.oid, info.array_oid, info.regtype, info.delimiter) for info in infos]

    assert found(gpudb) == found(postgresql)


def test_asyncpg(postgresql: Side, gpudb: Side) -> None:
    """asyncpg sends parameters in binary format and introspects types that it does not know."""
    import asyncpg

    async def ask(side: Side) -> list[Any]:
        parts = _keywords(side.dsn)
        port = int(parts.get("port", 0)) or None
        connection = await asyncpg.connect(
            host=parts["host"], port=port, user="gpudb", database="gpudb", timeout=20, ssl=False
        )
        try:
            made: list[Any] = [
                [tuple(row) for row in await connection.fetch(sql, *args, timeout=20)]
                for sql, args in (
                    ("SELECT typname, typarray FROM pg_type WHERE oid = $1", [23]),
                    ("SELECT relname FROM pg_class WHERE relkind = ANY($1::\"char\"[]) AND relname LIKE $2", (
                        [b"r"], "cust%")),
                    ("SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = $1::regclass"
                     " AND attnum > 0 ORDER BY attnum", ["customers"]),
                    ("SELECT 'customers'::regclass", []),
                    ("SELECT conkey FROM pg_constraint WHERE conname = $1", ["orders_pkey"]),
                )
            ]  # fmt: skip
            return made
        finally:
            await connection.close(timeout=20)

    assert asyncio.run(ask(gpudb)) == asyncio.run(ask(postgresql))


def test_view_definition(gpudb: Side) -> None:
    """A view's definition is a statement that creates the same view."""
    shown = gpudb.run("SELECT pg_get_viewdef('{v_cust}'::regclass)").rows[0][0]
    assert shown is not None
    assert gpudb.client.execute(f"CREATE VIEW again AS {shown}").sqlstate is None
    again = gpudb.client.execute("SELECT pg_get_viewdef('again'::regclass)").rows[0][0]
    assert gpudb.client.execute("DROP VIEW again").sqlstate is None
    assert re.sub(r"\s+", " ", again or "") == re.sub(r"\s+", " ", shown)
