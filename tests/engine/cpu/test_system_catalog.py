"""What the embedded engine renders of the system catalog's views, and what it looks up by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.cpu import statement
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Cancel, Request, Settings
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.parse.parser import parse
from tests.support.lab import Lab


@pytest.fixture
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    engine = CpuEngine(spill=lab.database.store.spill)
    yield engine
    engine.close()


def _render(cpu: CpuEngine, lab: Lab, sql: str) -> str:
    catalog = lab.request("SELECT 1").snapshot
    binder = StatementBinder(catalog, sql, system_columns=cpu.system_columns)
    query = bind_query(binder, parse(sql)[0].node, None)
    settings = Settings(values={"current_user": "gpudb", "current_database": "gpudb"})
    request = Request(query, catalog, settings, (), Cancel())
    with cpu.instance.loaded.open_reader() as reading:
        return statement.statement_sql(cpu.instance, request, reading).text


def test_views_look_up_only_what_is_read(cpu: CpuEngine, lab: Lab) -> None:
    lengths = "SELECT column_name, character_maximum_length FROM information_schema.columns"
    assert "sys_char_length" in _render(cpu, lab, lengths)
    for sql in (
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'a'",
        "SELECT count(*) FROM information_schema.columns",
    ):
        assert "sys_char_length" not in _render(cpu, lab, sql)


def test_the_current_role_needs_no_look_up(cpu: CpuEngine, lab: Lab) -> None:
    text = _render(cpu, lab, "SELECT has_table_privilege(current_user, c.oid, 'SELECT') FROM pg_class c")
    assert "sys_own(" in text
    assert "sys_role" not in text
