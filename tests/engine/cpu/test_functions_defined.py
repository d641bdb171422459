"""DuckDB's functions and macros are defined for the first statement that calls one."""

from __future__ import annotations

import gpudb
from gpudb.duckdb.instance import PREFIXES, Instance

_NAMES = "SELECT DISTINCT function_name FROM duckdb_functions()"


def test_names_have_the_prefixes_by_which_statements_are_known() -> None:
    instance = Instance({})
    own = instance.connection.execute(_NAMES).fetchall()
    instance.define()
    added = {name for (name,) in instance.connection.execute(_NAMES).fetchall()} - {name for (name,) in own}
    instance.close()
    assert len(added) > 500
    assert not [name for name in added if not name.startswith(PREFIXES)]


def test_plain_statements_define_nothing() -> None:
    instance = Instance({})
    instance.define_for("SELECT a + 1 FROM segment_1")
    assert not instance.defined
    instance.define_for("SELECT pg_error('22012', 'x')")
    assert instance.defined
    instance.close()


def test_the_first_call_of_a_function_finds_it_on_every_cursor() -> None:
    with gpudb.connect() as db, gpudb.connect() as other:
        for each in (db, other):
            assert each.execute("SELECT 1 + 1").fetchall() == [(2,)]
            assert each.execute("SELECT to_char(timestamp '2026-01-02', 'DD.MM.YYYY')").fetchall() == [("02.01.2026",)]
