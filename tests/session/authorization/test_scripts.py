"""Scripts in the form of PostgreSQL's tests, of which every statement shows the same on PostgreSQL and on gpudb."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import psql_script
from tests.support.role_scenarios import RoleOracle
from tests.support.script_comparison import compare, describe
from tests.support.wire_server import running_database

_SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.sql"))


@pytest.mark.parametrize("script", _SCRIPTS, ids=lambda path: path.stem)
def test_script(script: Path, role_oracle: RoleOracle, tmp_path: Path) -> None:
    entries = psql_script.read(script.read_text(encoding="utf-8"))
    try:
        with running_database(tmp_path / "data") as dsn:
            compared, skipped = compare(entries, role_oracle.dsn, dsn)
    finally:
        role_oracle.clear()
    different = [describe(each) for each in compared if each.differences]
    assert not different, "\n".join(different)
    assert len(compared) > 10
    assert not skipped
