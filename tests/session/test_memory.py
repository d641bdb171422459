"""A memory limit: work beyond it spills to disk or raises 53200, and the next statement runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.config.database import EMBEDDED
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import run, value

LIMIT = 64 << 20


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Session]:
    database = Database(tmp_path / "data", replace(EMBEDDED, memory_limit=LIMIT))
    session = database.session("gpudb")
    yield session
    session.close()
    database.close()


def test_a_sort_larger_than_the_limit(limited: Session) -> None:
    """700,000 rows of over 100 bytes, at least 70 MB, are sorted through the disk."""
    sql = """SELECT lpad((x * 379::bigint % 700000)::text, 100, 'x') AS k, x FROM generate_series(1, 700000) g(x) ORDER BY k"""
    last = ""
    rows = 0
    for result in limited.run(sql):
        for batch in result.batches:
            keys = batch.column(0)
            assert last <= keys[0].as_py()
            last = keys[-1].as_py()
            rows += batch.num_rows
    assert rows == 700_000


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT lpad(x::text, 60, 'y') AS k, count(*) FROM generate_series(1, 1000000) g(x) GROUP BY 1) t",
        "SELECT length(string_agg(lpad(x::text, 100, 'z'), ',')) FROM generate_series(1, 1600000) g(x)",
        "SELECT count(*) FROM (SELECT lpad(x::text, 80, 'a') k FROM generate_series(1, 700000) g(x)) a"
        " JOIN (SELECT lpad(x::text, 80, 'a') k FROM generate_series(1, 700000) g(x)) b USING (k)",
    ],
)
def test_work_beyond_the_limit_ends_or_fails_cleanly(limited: Session, sql: str) -> None:
    error: GpudbError | None = None
    try:
        assert value(limited, sql) >= 700_000
    except GpudbError as raised:
        error = raised
    assert error is None or (error.sqlstate == "53200" and "memory" in error.message)
    assert value(limited, "SELECT sum(x) FROM generate_series(1, 1000) g(x)") == 500500


def test_what_was_spilled_is_removed(limited: Session) -> None:
    run(
        limited,
        "SELECT x FROM generate_series(1, 1000000) g(x) ORDER BY lpad((x % 1000)::text, 100, 'x'), x DESC LIMIT 1 OFFSET 999999",
    )
    spill = limited.database.store.spill
    assert sum(file.stat().st_size for file in spill.rglob("*") if file.is_file()) < LIMIT
