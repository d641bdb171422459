"""Scripts in PL/pgSQL give the same rows, notices and errors as on PostgreSQL, with position and CONTEXT."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.emptying import empty_database
from tests.support.oracle.server import Oracle
from tests.support.plpgsql_scripts import CASES, connect, read_script, run_statement

_SCRIPTS = sorted(CASES.glob("*.sql"))


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path, oracle: Oracle, gpudb_server: str) -> None:
    with oracle.database(f"plpgsql_{path.stem}") as dsn, connect(dsn) as expected, connect(gpudb_server) as got:
        wrong = []
        for sql in read_script(path):
            one, other = run_statement(expected, sql), run_statement(got, sql)
            if one != other:
                wrong.append(f"{sql}\n  PostgreSQL: {one}\n  gpudb:      {other}")
    empty_database(gpudb_server)
    assert not wrong, "\n".join(wrong)


def test_there_are_enough_statements() -> None:
    assert sum(len(read_script(path)) for path in _SCRIPTS) >= 100
